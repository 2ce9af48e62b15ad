// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Every block I/O: one record when it completes. Kept in step with records.rs, which reads what is written here.
 *
 * A request is known by its address from block_io_start (6.5; block_rq_insert or block_rq_issue before) to
 * block_rq_complete; a bio of a driver without requests (zram, dm, md) from block_bio_queue to block_bio_complete.
 * Who issued it is asked at the start: at completion the current task is a bystander. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "names.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define REQ(name) (1u << bpf_core_enum_value(enum req_flag_bits, __REQ_##name))
#define OP_MASK 0xff
#define OP_WRITE 1
#define OP_FLUSH 2

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
};

/* Magic numbers of file systems. */
#define BDEVFS_MAGIC 0x62646576
#define BTRFS_MAGIC 0x9123683e

/* Set before loading. */
const volatile bool has_io_start = true;
const volatile bool only_devices;
const volatile __u32 only_ops = ~0u;       /* bit per operation; 31 for all above */
const volatile __u32 bytes_min;
const volatile __u32 bytes_max = ~0u;
const volatile __u32 sample_limit = ~0u;    /* traced when the I/O's hash is not above */
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

/* The bio that this task queued last: its request starts next, however long the task waits for a tag. */
struct queued {
	__u64 bio;
	__u64 split;
	__u64 queue_ns;
	__u64 rest_sector;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, __u64);
	__type(value, struct start);
} in_flight SEC(".maps");

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

static __always_inline __u32 dev_of(struct gendisk *disk)
{
	return (__u32)disk->major << 20 | (__u32)disk->first_minor;
}

static __always_inline __u32 request_dev(struct request *rq)
{
	if (bpf_core_field_exists(rq->q->disk)) {
		struct gendisk *disk = rq->q->disk;
		return disk ? dev_of(disk) : 0;
	}
	struct block_device *part = rq->part;
	return part ? dev_of(part->bd_disk) : 0;
}

static __always_inline __u16 flags_of(__u32 opf)
{
	__u16 flags = 0;
	if (opf & REQ(SYNC))
		flags |= FLAG_SYNC;
	if (opf & REQ(META))
		flags |= FLAG_META;
	if (opf & REQ(FUA))
		flags |= FLAG_FUA;
	if (opf & REQ(PREFLUSH))
		flags |= FLAG_PREFLUSH;
	if (opf & REQ(RAHEAD))
		flags |= FLAG_RAHEAD;
	if (opf & REQ(BACKGROUND))
		flags |= FLAG_BACKGROUND;
	return flags;
}

/* An empty write that asks for a flush is a flush. */
static __always_inline __u8 op_of(__u32 opf, __u32 bytes)
{
	__u8 op = opf & OP_MASK;
	if (op == OP_WRITE && !bytes && (opf & REQ(PREFLUSH)))
		return OP_FLUSH;
	return op;
}

static __always_inline __u64 wake_flags(struct counters *count, __u64 now)
{
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < wake_bytes || now - count->woken_ns < 1000000)
		return BPF_RB_NO_WAKEUP;
	count->woken_ns = now;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline bool wanted_device(__u32 dev, __u32 part)
{
	if (!dev)
		return false;
	if (!only_devices)
		return true;
	return bpf_map_lookup_elem(&devices, &dev) || (part && bpf_map_lookup_elem(&devices, &part));
}

static __always_inline bool wanted_op(__u8 op)
{
	return only_ops & (1u << (op < 31 ? op : 31));
}

/* The same I/O gives the same answer wherever it is asked. */
static __always_inline bool sampled(__u64 sector, __u64 queue_ns)
{
	__u64 hash = (queue_ns ^ sector * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
	return (__u32)(hash >> 32) <= sample_limit;
}

/* What an I/O belongs to. */
struct origin {
	struct inode *inode;
	struct dentry *dentry;
	bool cached; /* its data are in the page cache */
};

/* The inode in whose page cache a bio's first page is. */
static __always_inline struct inode *page_inode(struct bio *bio, struct start *start)
{
	struct bio_vec *vec = BPF_CORE_READ(bio, bi_io_vec);
	__u32 index = BPF_CORE_READ(bio, bi_iter.bi_idx);
	if (!vec || !BPF_CORE_READ(bio, bi_iter.bi_size))
		return 0;
	struct page *page = 0;
	void *at = (void *)vec + (__u64)(index & 0xffff) * bpf_core_type_size(struct bio_vec);
	bpf_probe_read_kernel(&page, sizeof(page), at + bpf_core_field_offset(struct bio_vec, bv_page));
	unsigned long head = BPF_CORE_READ(page, compound_head);
	if (head & 1)
		page = (void *)(head - 1);
	unsigned long mapping = (unsigned long)BPF_CORE_READ(page, mapping);
	/* The low bits mark memory of programs, and pages of drivers. */
	if (mapping & 1)
		start->flags |= FLAG_DIRECT;
	if (!mapping || mapping & 3)
		return 0;
	return BPF_CORE_READ((struct address_space *)mapping, host);
}

static __always_inline void find_origin(struct bio *bio, struct start *start, struct origin *origin)
{
	__u64 end = (__u64)BPF_CORE_READ(bio, bi_end_io);
	if (end && end == end_iomap_dio) {
		struct iomap_dio *dio = BPF_CORE_READ(bio, bi_private);
		struct file *file = BPF_CORE_READ(dio, iocb, ki_filp);
		start->flags |= FLAG_DIRECT;
		origin->inode = BPF_CORE_READ(file, f_inode);
		origin->dentry = BPF_CORE_READ(file, f_path.dentry);
		return;
	}
	origin->inode = page_inode(bio, start);
	origin->cached = origin->inode != 0;
	if (origin->inode || !end || !bpf_core_field_exists(((struct btrfs_bio *)0)->inode))
		return;
	if (end == end_btrfs_simple || end == end_btrfs_orig_write) {
		/* Compressed data are in pages of nobody; the bio lies in one that knows. */
		struct btrfs_bio *outer = (void *)bio - bpf_core_field_offset(struct btrfs_bio, bio);
		struct btrfs_inode *inode = BPF_CORE_READ(outer, inode);
		if (inode)
			origin->inode = (void *)inode + bpf_core_field_offset(struct btrfs_inode, vfs_inode);
		origin->cached = !(start->flags & FLAG_DIRECT);
	}
}

/* May an I/O begin when it is issued, because its start went missing or was before the trace? Not where its issuer
 * matters, or the exact time. */
static __always_inline bool begins_at_issue(void)
{
	return !has_io_start || (sample_limit == ~0u && !only_pids && !only_comms && !only_cgroups);
}

/* Hands a finished I/O over; `now` is 0 when nobody knows when it finished. */
static __always_inline void emit(struct counters *count, struct start *start, __u64 now)
{
	if (start->bytes < bytes_min || start->bytes > bytes_max) {
		COUNT(passed_over);
		return;
	}
	struct record *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
	if (!record) {
		COUNT(lost_ring);
		return;
	}
	record->queue_ns = start->queue_ns;
	record->complete_ns = now;
	record->issue_ns = start->issue_ns;
	record->sector = start->sector;
	record->bytes = start->bytes;
	record->dev = start->dev;
	record->issuer = start->issuer;
	record->owner = start->owner;
	record->file = start->file;
	record->flags = start->flags;
	record->op = start->op;
	record->bios = start->bios;
	record->requeues = start->requeues;
	record->status = start->status;
	__builtin_memset(record->pad, 0, sizeof(record->pad));
	COUNT(emitted);
	bpf_ringbuf_submit(record, now ? wake_flags(count, now) : BPF_RB_NO_WAKEUP);
}

/* An I/O that begins now. Addresses come as numbers out of memory: a global function takes no pointers. */
struct beginning {
	struct start start;
	__u64 key;
	__u64 bio;
	__u64 again; /* should there be no room for it, that is tried once more */
};

/* Enters an I/O that begins now, if it is wanted.
 * Global, so that the verifier looks at it once and not at each call. */
__noinline int begin(struct beginning *beginning)
{
	if (!beginning)
		return 0;
	__u64 key = beginning->key;
	struct bio *bio = (void *)beginning->bio;
	/* On this stack: before 6.2 a map takes nothing from that of the caller. */
	struct start own = beginning->start;
	struct start *start = &own;
	struct counters *count = cpu_counters();
	struct actor actor = {};
	struct origin origin = {};
	struct dirtier *owner = 0;
	if (!count || !wanted_op(start->op))
		return 0;
	current_actor(&actor);
	if (with_files && bio) {
		find_origin(bio, start, &origin);
		struct inode *inode = origin.inode;
		if (inode && BPF_CORE_READ(inode, i_sb, s_magic) == BDEVFS_MAGIC) {
			start->flags |= FLAG_DEVICE;
			origin.inode = inode = 0;
		}
		if (inode && origin.cached && start->op == OP_WRITE) {
			struct inode_key cached = {};
			cached.ino = BPF_CORE_READ(inode, i_ino);
			cached.dev = BPF_CORE_READ(inode, i_sb, s_dev);
			owner = bpf_map_lookup_elem(&dirtiers, &cached);
		}
	}
	if (!wanted_actor(&actor) && !(owner && wanted_actor(&owner->actor)))
		return 0;
	if (!sampled(start->sector, start->queue_ns)) {
		COUNT(started);
		return 0;
	}
	start->issuer = actor_id(&actor, &count->next_id, &count->lost_names);
	if (origin.inode)
		start->file = file_id((__u64)origin.inode, (__u64)origin.dentry, &count->next_id, &count->lost_names);
	if (owner)
		start->owner = actor_id(&owner->actor, &count->next_id, &count->lost_names);
	long refused = bpf_map_update_elem(&in_flight, &key, start, BPF_NOEXIST);
	if (refused == -EEXIST) {
		/* Of an I/O whose end was not seen, or whose entry would not go. */
		struct start *stale = bpf_map_lookup_elem(&in_flight, &key);
		if (stale && stale->queue_ns) {
			COUNT(lost_end);
			emit(count, stale, 0);
		}
		refused = bpf_map_update_elem(&in_flight, &key, start, BPF_ANY);
	}
	if (refused && beginning->again)
		return 0;
	COUNT(started);
	COUNT(taken);
	if (refused)
		COUNT(lost_table);
	return 0;
}

static __always_inline void finish(__u64 key, struct start *start, __u64 now)
{
	struct counters *count = cpu_counters();
	if (count)
		emit(count, start, now);
	/* Should the entry stay, it is nobody's. */
	start->queue_ns = 0;
	bpf_map_delete_elem(&in_flight, &key);
}

static __always_inline __u64 bio_issue_time(struct bio *bio)
{
	if (bpf_core_field_exists(bio->issue_time_ns))
		return bio->issue_time_ns;
	struct bio___before_6_18 *old = (void *)bio;
	if (bpf_core_field_exists(old->bi_issue))
		return BPF_CORE_READ(old, bi_issue.value) & ((1ull << 51) - 1);
	return 0;
}

/* When the request's bio was queued: exact from the task's slot, else as the kernel remembers it (a time that all
 * bios of a plug may share), else now. */
static __always_inline __u64 queue_time(struct request *rq, struct start *start, __u64 now)
{
	struct queued *last = task_queued(0);
	struct bio *bio = rq->bio;
	if (!bio)
		return now;
	if (last && last->queue_ns) {
		if (last->split && (last->split == (__u64)bio || (__u32)last->rest_sector == (__u32)start->sector))
			start->flags |= FLAG_SPLIT;
		if (last->split == (__u64)bio)
			return last->queue_ns;
		if (last->bio == (__u64)bio) {
			/* Once only: the address may be another bio's tomorrow. */
			last->bio = 0;
			return last->queue_ns;
		}
	}
	__u64 issued = bio_issue_time(bio);
	if (!issued)
		return now;
	/* Only 51 bits before 6.18. */
	if (!bpf_core_field_exists(bio->issue_time_ns))
		issued |= now & ~((1ull << 51) - 1);
	return issued < now ? issued : now;
}

static __always_inline void begin_request(struct request *rq, bool is_issued)
{
	__u32 dev = request_dev(rq);
	/* At its start the request does not know its partition yet; its bio does. */
	struct bio *bio = rq->bio;
	struct block_device *part = bio ? bio->bi_bdev : rq->part;
	if (!wanted_device(dev, part ? part->bd_dev : 0))
		return;
	__u64 now = bpf_ktime_get_ns();
	struct beginning beginning = {};
	struct start *start = &beginning.start;
	start->sector = rq->__sector;
	start->bytes = rq->__data_len;
	start->dev = dev;
	start->flags = flags_of(rq->cmd_flags);
	start->op = op_of(rq->cmd_flags, start->bytes);
	/* A request without data has no place. */
	if (start->op == OP_FLUSH && !start->bytes)
		start->sector = 0;
	start->bios = 1;
	start->queue_ns = queue_time(rq, start, now);
	if (is_issued)
		start->issue_ns = now;
	beginning.key = (__u64)rq;
	beginning.bio = (__u64)rq->bio;
	beginning.again = !is_issued && begins_at_issue();
	begin(&beginning);
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio_queue, struct bio *bio)
{
	__u32 dev = dev_of(bio->bi_bdev->bd_disk);
	if (!wanted_device(dev, bio->bi_bdev->bd_dev))
		return 0;
	__u64 now = bpf_ktime_get_ns();
	if (bio->bi_bdev->bd_queue->mq_ops) {
		struct queued *last = task_queued(BPF_LOCAL_STORAGE_GET_F_CREATE);
		if (last) {
			last->bio = (__u64)bio;
			last->split = 0;
			last->queue_ns = now;
		}
		return 0;
	}
	struct beginning beginning = {};
	struct start *start = &beginning.start;
	start->queue_ns = now;
	start->issue_ns = now;
	start->sector = bio->bi_iter.bi_sector;
	start->bytes = bio->bi_iter.bi_size;
	start->dev = dev;
	start->flags = flags_of(bio->bi_opf);
	start->op = op_of(bio->bi_opf, start->bytes);
	if (start->op == OP_FLUSH)
		start->sector = 0;
	start->bios = 1;
	beginning.key = beginning.bio = (__u64)bio;
	begin(&beginning);
	return 0;
}

/* The kernel does not run a program on a CPU where an interrupt has come upon that same program. So each end is looked
 * for twice, and what the first program could not end, the second does. This tells it that the first has; when it does
 * not, the table knows. */
static __always_inline bool is_ended(__u64 key)
{
	struct counters *count = cpu_counters();
	if (!count || count->last_ended != key)
		return false;
	/* Once only: the next I/O may have the same address. */
	count->last_ended = 0;
	return true;
}

static __always_inline void set_ended(__u64 key)
{
	struct counters *count = cpu_counters();
	if (count)
		count->last_ended = key;
}

static __always_inline void bio_completed(struct bio *bio)
{
	__u64 key = (__u64)bio;
	struct start *start = bpf_map_lookup_elem(&in_flight, &key);
	if (start) {
		start->status = bio->bi_status;
		finish(key, start, bpf_ktime_get_ns());
	}
	set_ended(key);
}

SEC("tp_btf/block_bio_complete")
int BPF_PROG(on_bio_complete, struct request_queue *q, struct bio *bio)
{
	bio_completed(bio);
	return 0;
}

SEC("tp_btf/block_bio_complete")
int BPF_PROG(on_bio_complete_missed, struct request_queue *q, struct bio *bio)
{
	if (!is_ended((__u64)bio))
		bio_completed(bio);
	return 0;
}

SEC("tp_btf/block_split")
int BPF_PROG(on_split, struct bio *split, unsigned int rest_sector)
{
	struct counters *count = cpu_counters();
	struct queued *last = task_queued(0);
	if (count && wanted_device(dev_of(split->bi_bdev->bd_disk), split->bi_bdev->bd_dev))
		COUNT(splits);
	if (last) {
		last->split = (__u64)split;
		last->rest_sector = rest_sector;
	}
	return 0;
}

SEC("tp_btf/block_io_start")
int BPF_PROG(on_io_start, struct request *rq)
{
	begin_request(rq, false);
	return 0;
}

/* Only where there is no block_io_start. */
SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_rq_insert, struct request *rq)
{
	__u64 key = (__u64)rq;
	if (!bpf_map_lookup_elem(&in_flight, &key))
		begin_request(rq, false);
	return 0;
}

/* Global, so that the verifier walks the loop once and not in each state that its caller can be in. */
__noinline __u32 count_bios(__u64 first)
{
	struct bio *bio = (void *)first;
	__u32 bios = 0;
	for (int i = 0; i < 255 && bio; i++) {
		bios++;
		bio = BPF_CORE_READ(bio, bi_next);
	}
	return bios;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_rq_issue, struct request *rq)
{
	__u64 key = (__u64)rq;
	struct start *start = bpf_map_lookup_elem(&in_flight, &key);
	if (!start) {
		if ((rq->cmd_flags & OP_MASK) == OP_FLUSH) {
			/* The queue's own flush request: what it serves are rows already. */
			__u64 queue = (__u64)rq->q, now = bpf_ktime_get_ns();
			bpf_map_update_elem(&flush_issued, &queue, &now, BPF_ANY);
		} else if (begins_at_issue()) {
			begin_request(rq, true);
		}
		return 0;
	}
	start->issue_ns = bpf_ktime_get_ns();
	/* Final now: nothing merges into an issued request. */
	start->sector = rq->__sector;
	start->bytes = rq->__data_len;
	if (rq->bio != rq->biotail)
		start->bios = count_bios((__u64)BPF_CORE_READ(rq, bio));
	return 0;
}

SEC("tp_btf/block_rq_requeue")
int BPF_PROG(on_rq_requeue, struct request *rq)
{
	__u64 key = (__u64)rq;
	struct start *start = bpf_map_lookup_elem(&in_flight, &key);
	if (start && start->requeues < 255)
		start->requeues++;
	return 0;
}

/* `rq` has been merged into its neighbour and goes away. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(on_rq_merge, struct request *rq)
{
	__u64 key = (__u64)rq;
	struct counters *count = cpu_counters();
	if (!bpf_map_delete_elem(&in_flight, &key) && count)
		COUNT(merged_away);
	return 0;
}

static __always_inline void count_merge(struct bio *bio)
{
	struct counters *count = cpu_counters();
	if (count && wanted_device(dev_of(bio->bi_bdev->bd_disk), bio->bi_bdev->bd_dev))
		COUNT(merged);
}

SEC("tp_btf/block_bio_backmerge")
int BPF_PROG(on_backmerge, struct bio *bio)
{
	count_merge(bio);
	return 0;
}

SEC("tp_btf/block_bio_frontmerge")
int BPF_PROG(on_frontmerge, struct bio *bio)
{
	count_merge(bio);
	return 0;
}

static __always_inline void request_completed(struct request *rq, int error, unsigned int nr_bytes)
{
	__u64 key = (__u64)rq;
	struct start *start = bpf_map_lookup_elem(&in_flight, &key);
	if (!start)
		return;
	/* A blk_status_t (a byte), or a negative errno before 5.16. */
	if (error)
		start->status = error < 0 ? (__u8)-error | 0x80 : (__u8)error;
	/* In parts: the last one counts. */
	if (nr_bytes < rq->__data_len)
		return;
	if (!start->issue_ns) {
		__u64 queue = (__u64)rq->q;
		__u64 *flush = bpf_map_lookup_elem(&flush_issued, &queue);
		if (flush && *flush >= start->queue_ns)
			start->issue_ns = *flush;
	}
	finish(key, start, bpf_ktime_get_ns());
	set_ended(key);
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_rq_complete, struct request *rq, int error, unsigned int nr_bytes)
{
	request_completed(rq, error, nr_bytes);
	return 0;
}

/* Just after it (6.5). Whether it failed is not known here. */
SEC("tp_btf/block_io_done")
int BPF_PROG(on_io_done, struct request *rq)
{
	__u64 key = (__u64)rq;
	if (is_ended(key))
		return 0;
	struct start *start = bpf_map_lookup_elem(&in_flight, &key);
	if (start)
		finish(key, start, bpf_ktime_get_ns());
	return 0;
}

/* A page of a file was changed in the page cache. */
static __always_inline int dirtied(struct address_space *mapping)
{
	struct inode *inode = mapping ? mapping->host : 0;
	if (!inode)
		return 0;
	struct super_block *sb = inode->i_sb;
	struct block_device *bdev = sb->s_bdev;
	/* Nothing on a device of interest? A btrfs may have several and names none. */
	if (sb->s_magic != BTRFS_MAGIC && (!bdev || !wanted_device(dev_of(bdev->bd_disk), bdev->bd_dev)))
		return 0;
	struct inode_key key = {};
	key.ino = inode->i_ino;
	key.dev = sb->s_dev;
	struct dirtier fresh = {};
	current_actor(&fresh.actor);
	struct dirtier *known = bpf_map_lookup_elem(&dirtiers, &key);
	if (known && known->actor.tid == fresh.actor.tid && known->actor.tgid == fresh.actor.tgid)
		return 0;
	bpf_map_update_elem(&dirtiers, &key, &fresh, BPF_ANY);
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(on_dirty_folio, struct folio *folio, struct address_space *mapping)
{
	return dirtied(mapping);
}

/* Until 5.17. */
SEC("tp_btf/writeback_dirty_page")
int BPF_PROG(on_dirty_page, struct page *page, struct address_space *mapping)
{
	return dirtied(mapping);
}

/* For benches: records of I/Os that never were, as fast as they can be made. Not loaded otherwise. */
struct flood {
	__u32 records;
	__u32 dev;
};

static long flood_one(__u32 index, struct flood *flood)
{
	struct counters *count = cpu_counters();
	if (!count)
		return 1;
	struct start start = {};
	__u64 now = bpf_ktime_get_ns();
	__u32 dice = bpf_get_prandom_u32();
	start.queue_ns = now - 50000 - (dice & 0xffff);
	start.issue_ns = start.queue_ns + 5000;
	start.sector = (dice >> 8) * 16;
	start.bytes = 8192;
	start.dev = flood->dev;
	start.flags = FLAG_SYNC | FLAG_DIRECT;
	start.op = dice % 10 < 3;
	start.bios = 1;
	COUNT(started);
	COUNT(taken);
	finish((__u64)now << 16 | (__u16)index, &start, now);
	return 0;
}

SEC("syscall")
int make_flood(struct flood *flood)
{
	/* On the stack: that is what the loop's function may be given. */
	struct flood mine = {flood->records, flood->dev};
	bpf_loop(mine.records, flood_one, &mine, 0);
	return 0;
}
