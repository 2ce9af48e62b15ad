// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* The parameters of the probe of block I/O before loading, what it remembers, and how it finds it again. */
#ifndef IODYNO_BLOCK_STATE_H
#define IODYNO_BLOCK_STATE_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "names.h"

#define REQ(name) (1u << bpf_core_enum_value(enum req_flag_bits, __REQ_##name))
#define OP_MASK 0xff
#define OP_WRITE 1
#define OP_FLUSH 2
/* A bio's flag, bit 0. From 6.5 on: its pages are a program's, pinned for direct I/O; before: the bio holds no reference to them, as
 * those that others hand over. Either way they are not in the page cache for the sake of this I/O. */
#define BIO_FOREIGN_PAGES 1
/* Bit 1: its pages are those of another bio. */
#define BIO_CLONED 2
/* BLK_STS_AGAIN, the same since 4.13. */
#define STATUS_AGAIN 12
/* The kernel has given up an attempt that it has not repeated for so long. */
#define ATTEMPT_NS 60000000000ull

/* Our own flags, stable whatever the kernel's are. */
enum {
	FLAG_SYNC = 1,
	FLAG_META = 2,
	FLAG_FUA = 4,
	FLAG_PREFLUSH = 8,
	FLAG_RAHEAD = 16,
	FLAG_BACKGROUND = 32,
	FLAG_SPLIT = 64,
	FLAG_DIRECT = 128,   /* from a program's own memory */
	FLAG_DEVICE = 256,   /* page cache of the device itself: metadata of a file system, or its node was opened */
	/* 512 is put in outside: still in flight when the trace ended */
};

/* Magic numbers of file systems. */
#define BDEVFS_MAGIC 0x62646576
#define BTRFS_MAGIC 0x9123683e
#define BCACHEFS_MAGIC 0xca451a4e

/* Set before loading. */
const volatile bool has_io_start = true;
const volatile bool only_devices;
const volatile __u32 only_ops = ~0u;       /* bit per operation; 31 for all above */
const volatile __u32 bytes_min;
const volatile __u32 bytes_max = ~0u;
const volatile __u32 sample_limit = ~0u;    /* traced when the I/O's hash is not above */
const volatile __u64 left_out_below;      /* for tests: the ends of I/Os below this sector are not seen */
const volatile bool with_files = true;
/* Addresses of completion functions, which say whose a bio is; 0 when /proc/kallsyms does not tell. */
const volatile __u64 end_iomap_dio;
const volatile __u64 end_btrfs_simple;
const volatile __u64 end_btrfs_orig_write;
const volatile __u64 wake_bytes = 1 << 20;

struct record {
	__u64 queue_ns;
	__u64 complete_ns;
	__u64 issue_ns; /* 0: never given to the driver by itself */
	__u64 sector;
	__u32 bytes;
	__u32 dev;
	__u32 issuer;
	__u32 owner;
	__u32 file;
	__u16 flags;
	__u8 op;
	__u8 bios;
	__u8 requeues;
	__u8 status;
	__u8 pad[6];
};
_Static_assert(sizeof(struct record) == 64, "records.rs reads 64 bytes");

/* Who changed a file's cached data last. */
struct inode_key {
	__u64 ino;
	__u32 dev;
	__u32 pad;
};

struct dirtier {
	struct actor actor;
};

/* Per CPU; index in records.rs. */
struct counters {
	__u64 started;       /* I/Os that passed the filters, before sampling */
	__u64 emitted;
	__u64 lost_ring;     /* the ring buffer was full */
	__u64 lost_table;    /* the table of I/Os in flight was full */
	__u64 lost_names;    /* a name did not fit the ring; sent again with the next I/O */
	__u64 merged;        /* bios merged into a request */
	__u64 splits;
	__u64 taken;         /* started, and chosen by sampling: each ends in exactly one of emitted, lost_ring,
			      * lost_table, merged_away, passed_over, or is still in flight */
	__u64 lost_end;      /* their end was not seen: emitted without it when another I/O takes their place */
	__u64 merged_away;   /* requests that became part of another */
	__u64 passed_over;   /* their size was not wanted */
	__u64 next_id;       /* from here on not read outside */
	__u64 last_ended;
	__u64 woken_ns;
};

/* An I/O that is not over. */
struct start {
	__u64 queue_ns;
	__u64 issue_ns;
	__u64 sector;
	__u32 bytes;
	__u32 dev;
	__u32 issuer;
	__u32 owner;
	__u32 file;
	__u16 flags;
	__u8 op;
	__u8 bios;
	__u8 requeues;
	__u8 status;
};

/* The bio that this task queued last: its request starts next, however long the task waits for a tag. And the task's
 * number, as long as its name stays the same. */
struct queued {
	__u64 bio;
	__u64 split;
	__u64 queue_ns;
	__u64 rest_sector;
	struct actor actor;
	__u32 issuer;
	__u32 generation;
};

#define PLACE_BITS 16

/* Each I/O in flight has a place that its address gives; consumer.rs reads them. `key` 0: free. */
struct place {
	__u64 key;
	struct start start;
};
_Static_assert(sizeof(struct place) == 64, "in_flight.rs reads 64 bytes");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << PLACE_BITS);
	__type(key, __u32);
	__type(value, struct place);
} places SEC(".maps");

/* Those whose place was taken. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, __u64);
	__type(value, struct start);
} in_flight SEC(".maps");

/* How many there are: mostly 0, and then no lookup is needed. */
__u64 displaced;

/* From outside: numbers of tasks given before are no longer known there. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} generation SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct queued);
} last_queued SEC(".maps");

/* A bio that was not to wait, found no free request and came back: io_uring has a worker of its own queue it again. */
struct attempt_key {
	__u64 sector;
	__u32 dev;
	__u32 tgid;
	__u32 op;
	__u32 bytes;
};

/* When it was queued first. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, struct attempt_key);
	__type(value, __u64);
} attempts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, struct inode_key);
	__type(value, struct dirtier);
} dirtiers SEC(".maps");

/* When a queue's own flush request, which serves those that asked for one, was issued. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 10);
	__type(key, __u64);
	__type(value, __u64);
} flush_issued SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 10);
	__type(key, __u32);
	__type(value, __u8);
} devices SEC(".maps");

/* An interrupt may count between load and store. */
#define COUNT(field) __sync_fetch_and_add(&count->field, 1)

static __always_inline struct counters *cpu_counters(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&counters, &zero);
}

static __always_inline struct queued *task_queued(__u64 flags)
{
	return bpf_task_storage_get(&last_queued, bpf_get_current_task_btf(), 0, flags);
}

static __always_inline struct place *place_of(__u64 key)
{
	/* Half of the address, which the verifier takes for a number. */
	__u32 at = (__u32)key * 0x9e3779b9u >> (32 - PLACE_BITS);
	return bpf_map_lookup_elem(&places, &at);
}

static __always_inline struct start *find_start(__u64 key)
{
	struct place *place = place_of(key);
	if (place && place->key == key)
		return &place->start;
	return displaced ? bpf_map_lookup_elem(&in_flight, &key) : 0;
}

/* False when there was none. */
static __always_inline bool forget_start(__u64 key)
{
	struct place *place = place_of(key);
	/* Not before all of it has been read. */
	if (place && place->key == key)
		return __sync_val_compare_and_swap(&place->key, key, 0) == key;
	if (!displaced || bpf_map_delete_elem(&in_flight, &key))
		return false;
	__sync_fetch_and_add(&displaced, -1);
	return true;
}

#endif
