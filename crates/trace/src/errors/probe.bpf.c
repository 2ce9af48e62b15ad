// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* I/Os that failed, counted by device, operation, error and file. Of one that succeeds, the only cost is the event
 * itself and one comparison. mod.rs reads the counts. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The function that completes direct I/O of file systems; 0: its address is not known. */
const volatile __u64 end_iomap_dio = 0;
/* Those that complete I/O of btrfs, whose bios lie in ones that know the file; 0 as well. */
const volatile __u64 end_btrfs_simple = 0;
const volatile __u64 end_btrfs_orig_write = 0;

#define OP_MASK 0xff
#define OP_WRITE 1
#define OP_FLUSH 2
/* Drivers' own commands from here on: programs that ask a device whether it is there expect errors. */
#define OP_DRIVERS 34
/* It was not to wait, and is tried again. */
#define STATUS_AGAIN 12
#define BDEVFS_MAGIC 0x62646576
#define NO_SECTOR (~0ull)
/* A bio's flag, bit 0. From 6.5 on: its pages are a program's, pinned for direct I/O; before: the bio holds no reference to them, as
 * those that others hand over. Either way they are not in the page cache for the sake of this I/O. */
#define BIO_FOREIGN_PAGES 1

/* In step with mod.rs, Key. */
struct key {
	__u32 dev;
	__u8 op;
	__u8 status;
	__u16 pad;
	__u64 inode; /* 0: no file's */
	__u32 file_system;
	__u32 pad2;
};

/* In step with mod.rs, Value. */
struct value {
	__u64 count;
	__u64 first_ns;
	__u64 last_ns;
	__u64 sector;
	char file[48];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 12);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct key);
	__type(value, struct value);
} failed SEC(".maps");

/* Failures for which there was no room, even without their file. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

static __always_inline __u32 dev_of(struct gendisk *disk)
{
	return (__u32)BPF_CORE_READ(disk, major) << 20 | (__u32)BPF_CORE_READ(disk, first_minor);
}

static __always_inline __u32 request_dev(struct request *rq)
{
	struct gendisk *disk = 0;
	if (bpf_core_field_exists(rq->q->disk)) {
		disk = BPF_CORE_READ(rq, q, disk);
	} else {
		disk = BPF_CORE_READ(rq, part, bd_disk);
	}
	return disk ? dev_of(disk) : 0;
}

/* The inode of a file on the bio's device in whose page cache its first page is. A program may hand over pages of any file
 * for direct I/O, by mmap: such a file has nothing to do with the device. */
static __always_inline struct inode *page_inode(struct bio *bio)
{
	__u64 at = (__u64)BPF_CORE_READ(bio, bi_io_vec);
	struct page *page = 0;
	if (!at || BPF_CORE_READ(bio, bi_flags) & BIO_FOREIGN_PAGES)
		return 0;
	at += (__u64)(BPF_CORE_READ(bio, bi_iter.bi_idx) & 0xff) * bpf_core_type_size(struct bio_vec);
	bpf_probe_read_kernel(&page, sizeof(page), (void *)(at + bpf_core_field_offset(struct bio_vec, bv_page)));
	unsigned long head = BPF_CORE_READ(page, compound_head);
	if (head & 1)
		page = (void *)(head - 1);
	unsigned long mapping = (unsigned long)BPF_CORE_READ(page, mapping);
	if (!mapping || mapping & 3)
		return 0;
	struct inode *inode = BPF_CORE_READ((struct address_space *)mapping, host);
	/* In memory of the kernel's own this is something else, which the file does not know of. */
	if (!inode || (unsigned long)BPF_CORE_READ(inode, i_mapping) != mapping)
		return 0;
	return BPF_CORE_READ(inode, i_sb, s_dev) == BPF_CORE_READ(bio, bi_bdev, bd_dev) ? inode : 0;
}

/* The file whose data a bio moves, and what it is called. */
static __always_inline void find_file(__u64 address, struct key *key, struct value *fresh)
{
	struct bio *bio = (void *)address;
	struct inode *inode = 0;
	struct dentry *dentry = 0;
	if (!bio)
		return;
	__u64 end = (__u64)BPF_CORE_READ(bio, bi_end_io);
	if (end && end == end_iomap_dio) {
		struct iomap_dio *dio = BPF_CORE_READ(bio, bi_private);
		struct file *file = BPF_CORE_READ(dio, iocb, ki_filp);
		inode = BPF_CORE_READ(file, f_inode);
		dentry = BPF_CORE_READ(file, f_path.dentry);
	} else if (end && (end == end_btrfs_simple || end == end_btrfs_orig_write) &&
		   bpf_core_field_exists(((struct btrfs_bio *)0)->inode)) {
		struct btrfs_bio *outer = (void *)bio - bpf_core_field_offset(struct btrfs_bio, bio);
		struct btrfs_inode *own = BPF_CORE_READ(outer, inode);
		inode = own ? (void *)own + bpf_core_field_offset(struct btrfs_inode, vfs_inode) : 0;
	} else {
		inode = page_inode(bio);
	}
	if (!inode || BPF_CORE_READ(inode, i_sb, s_magic) == BDEVFS_MAGIC)
		return;
	key->inode = BPF_CORE_READ(inode, i_ino);
	key->file_system = BPF_CORE_READ(inode, i_sb, s_dev);
	if (!dentry) {
		struct hlist_node *first = BPF_CORE_READ(inode, i_dentry.first);
		dentry = first ? (void *)first - bpf_core_field_offset(struct dentry, d_u.d_alias) : 0;
	}
	if (dentry)
		bpf_probe_read_kernel_str(fresh->file, sizeof(fresh->file), BPF_CORE_READ(dentry, d_name.name));
}

static __always_inline struct value *count_in(struct key *key, struct value *fresh)
{
	struct value *known = bpf_map_lookup_elem(&failed, key);
	if (known)
		return known;
	/* Another CPU may be faster, or there is no room. */
	bpf_map_update_elem(&failed, key, fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&failed, key);
}

struct failure {
	__u32 dev;
	__u8 op;
	__u8 status;
	__u64 sector;
	__u64 bio;
};

/* Global, so that the verifier looks at it once. */
__noinline int count_failure(struct failure *failure)
{
	if (!failure)
		return 0;
	if (!failure->dev || failure->op >= OP_DRIVERS || failure->status == STATUS_AGAIN)
		return 0;
	__u64 now = bpf_ktime_get_ns();
	struct key key = {};
	struct value fresh = {};
	key.dev = failure->dev;
	key.op = failure->op;
	key.status = failure->status;
	fresh.first_ns = now;
	fresh.sector = failure->sector;
	find_file(failure->bio, &key, &fresh);
	struct value *value = count_in(&key, &fresh);
	if (!value && key.inode) {
		key.inode = 0;
		key.file_system = 0;
		fresh.file[0] = 0;
		value = count_in(&key, &fresh);
	}
	if (value) {
		__sync_fetch_and_add(&value->count, 1);
		value->last_ns = now;
		return 0;
	}
	__u32 zero = 0;
	__u64 *none = bpf_map_lookup_elem(&lost, &zero);
	if (none)
		__sync_fetch_and_add(none, 1);
	return 0;
}

static __always_inline __u8 op_of(__u32 opf, __u32 bytes)
{
	__u8 op = opf & OP_MASK;
	return op == OP_WRITE && !bytes ? OP_FLUSH : op;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_rq_complete, struct request *rq, int error, unsigned int nr_bytes)
{
	if (!error)
		return 0;
	struct failure failure = {};
	failure.dev = request_dev(rq);
	failure.op = op_of(rq->cmd_flags, rq->__data_len);
	/* A blk_status_t (a byte), or a negative errno before 5.16. */
	failure.status = error < 0 ? (__u8)-error | 0x80 : (__u8)error;
	failure.sector = rq->__sector;
	failure.bio = (__u64)BPF_CORE_READ(rq, bio);
	count_failure(&failure);
	return 0;
}

/* Devices without requests: dm, md, zram. A bio of the others ends with its request. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(on_bio_complete, struct request_queue *q, struct bio *bio)
{
	__u8 status = bio->bi_status;
	if (!status)
		return 0;
	struct gendisk *disk = BPF_CORE_READ(bio, bi_bdev, bd_disk);
	if (BPF_CORE_READ(bio, bi_bdev, bd_queue, mq_ops) || !disk)
		return 0;
	struct failure failure = {};
	failure.dev = dev_of(disk);
	failure.op = op_of(bio->bi_opf, bio->bi_iter.bi_size);
	if (failure.op == OP_FLUSH && !bio->bi_io_vec)
		failure.sector = NO_SECTOR;
	else
		failure.sector = bio->bi_iter.bi_sector;
	failure.status = status;
	failure.bio = (__u64)bio;
	count_failure(&failure);
	return 0;
}
