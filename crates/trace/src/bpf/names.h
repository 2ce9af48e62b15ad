/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* Tasks and files by short numbers; their names go through the probe's ring before a number is used. names.rs reads them. */
#ifndef IODYNO_NAMES_H
#define IODYNO_NAMES_H

#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define PF_IO_WORKER 0x10

/* A task as it was when it did something. */
struct actor {
	__u32 tgid;
	__u32 tid;
	__u64 cgroup;
	char comm[16];
};

struct actor_name {
	__u32 id;
	__u32 pad;
	struct actor actor;
};
_Static_assert(sizeof(struct actor_name) == 40, "names.rs tells records apart by their length");

/* A file under one name: a new name, and a new file in an old inode, are something else. */
struct file_key {
	__u64 ino;
	__u64 name_hash;
	__u64 parent;
	__u32 dev;
	__u32 generation;
};

#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_IFBLK 0060000

#define NAMES_BYTES 4096
#define NAME_MAX 256
#define DEPTH_MAX 24
/* A file's name goes out with at least so many bytes, so that its length differs from all others. */
#define FILE_BYTES_MIN 72

struct file_name {
	__u32 id;
	__u32 dev;
	__u64 ino;
	__u32 names_bytes;
	__u8 whole;   /* the walk reached the root */
	__u8 deleted;
	__u8 device;  /* not a file: a block device; ino is its number */
	__u8 pad;
	char names[NAMES_BYTES + NAME_MAX]; /* from the file up, each with its 0 */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, struct actor);
	__type(value, __u32);
} actors SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, struct file_key);
	__type(value, __u32);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct file_name);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");

/* Whose doings are wanted. */
const volatile bool only_pids;
const volatile bool only_comms;
const volatile bool only_cgroups;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 10);
	__type(key, __u32);
	__type(value, __u8);
} pids SEC(".maps");

struct comm_key {
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 8);
	__type(key, struct comm_key);
	__type(value, __u8);
} comms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 8);
	__type(key, __u64);
	__type(value, __u8);
} cgroups SEC(".maps");

static __always_inline __u32 next_id(__u64 *last)
{
	return (__u32)(__sync_fetch_and_add(last, 1) + 1) << 10 | (bpf_get_smp_processor_id() & 1023);
}

/* A short number for a task; its name goes into the ring before the number is used. 0 when that was not possible. */
static __always_inline __u32 actor_id(struct actor *actor, __u64 *last, __u64 *lost)
{
	__u32 *known = bpf_map_lookup_elem(&actors, actor);
	if (known)
		return *known;
	struct actor_name name = {};
	name.id = next_id(last);
	name.actor = *actor;
	if (bpf_ringbuf_output(&ring, &name, sizeof(name), BPF_RB_NO_WAKEUP)) {
		__sync_fetch_and_add(lost, 1);
		return 0;
	}
	bpf_map_update_elem(&actors, actor, &name.id, BPF_ANY);
	return name.id;
}

static __always_inline void current_actor(struct actor *actor)
{
	__u64 both = bpf_get_current_pid_tgid();
	actor->tgid = both >> 32;
	actor->tid = (__u32)both;
	actor->cgroup = bpf_get_current_cgroup_id();
	struct task_struct *task = bpf_get_current_task_btf();
	/* A worker of io_uring acts for its process. */
	if (task->flags & PF_IO_WORKER)
		BPF_CORE_READ_STR_INTO(&actor->comm, task, group_leader, comm);
	else
		bpf_get_current_comm(actor->comm, sizeof(actor->comm));
}

static __always_inline bool wanted_actor(struct actor *actor)
{
	if (only_pids && !bpf_map_lookup_elem(&pids, &actor->tgid))
		return false;
	if (only_comms) {
		struct comm_key key;
		__builtin_memcpy(key.comm, actor->comm, sizeof(key.comm));
		if (!bpf_map_lookup_elem(&comms, &key))
			return false;
	}
	return !only_cgroups || bpf_map_lookup_elem(&cgroups, &actor->cgroup);
}

/* Its first name in the tree, if it has one in memory. */
static __always_inline struct dentry *inode_dentry(struct inode *inode)
{
	struct hlist_node *first = BPF_CORE_READ(inode, i_dentry.first);
	return first ? (void *)first - bpf_core_field_offset(struct dentry, d_u.d_alias) : 0;
}

/* A short number for a file; its path goes into the ring before the number is used. 0 when that was not possible. */
/* Global, so that the verifier looks at it once and not at each call. */
__noinline __u32 file_id(__u64 inode_at, __u64 dentry_at, __u64 *last, __u64 *lost)
{
	struct inode *inode = (void *)inode_at;
	struct dentry *dentry = (void *)dentry_at;
	if (!last || !lost)
		return 0;
	if (!dentry)
		dentry = inode_dentry(inode);
	struct file_key key = {};
	key.ino = BPF_CORE_READ(inode, i_ino);
	key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	key.generation = BPF_CORE_READ(inode, i_generation);
	if (dentry) {
		key.name_hash = BPF_CORE_READ(dentry, d_name.hash_len);
		key.parent = (__u64)BPF_CORE_READ(dentry, d_parent);
	}
	__u32 *known = bpf_map_lookup_elem(&files, &key);
	if (known)
		return *known;
	__u32 zero = 0;
	struct file_name *name = bpf_map_lookup_elem(&scratch, &zero);
	if (!name)
		return 0;
	name->id = next_id(last);
	name->dev = key.dev;
	name->ino = key.ino;
	name->whole = 0;
	name->deleted = !BPF_CORE_READ(inode, i_nlink);
	name->device = (BPF_CORE_READ(inode, i_mode) & S_IFMT) == S_IFBLK;
	__u32 used = 0;
	for (int i = 0; i < DEPTH_MAX && dentry; i++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);
		if (parent == dentry) {
			name->whole = 1;
			break;
		}
		if (used > NAMES_BYTES - NAME_MAX)
			break;
		long length = bpf_probe_read_kernel_str(&name->names[used & (NAMES_BYTES - 1)], NAME_MAX,
							 BPF_CORE_READ(dentry, d_name.name));
		if (length <= 0)
			break;
		used += length & (NAME_MAX * 2 - 1);
		dentry = parent;
	}
	name->names_bytes = used;
	__u32 bytes = used + __builtin_offsetof(struct file_name, names);
	bytes = bytes < FILE_BYTES_MIN ? FILE_BYTES_MIN : bytes;
	if (bytes > sizeof(*name))
		return 0;
	if (bpf_ringbuf_output(&ring, name, bytes, BPF_RB_NO_WAKEUP)) {
		__sync_fetch_and_add(lost, 1);
		return 0;
	}
	__u32 id = name->id;
	bpf_map_update_elem(&files, &key, &id, BPF_ANY);
	return id;
}

#endif
