// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* What an I/O is, whether it is wanted, and whose page or memory it moves. */
#ifndef IODYNO_BLOCK_FILTER_H
#define IODYNO_BLOCK_FILTER_H

#include "state.h"

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
	__u64 inode;
	__u64 dentry;
	bool cached; /* its data are in the page cache */
};

/* May what is read into the page cache of a file system's files, or written from there, go to this device? To the file
 * system's own, to any where it has several, and to what lies below a device that makes no requests (dm, md). */
static __always_inline bool may_serve(struct super_block *sb, unsigned long magic, struct bio *bio)
{
	if (magic == BDEVFS_MAGIC || magic == BTRFS_MAGIC || magic == BCACHEFS_MAGIC)
		return true;
	if (BPF_CORE_READ(sb, s_dev) == bio->bi_bdev->bd_dev)
		return true;
	struct block_device *own = BPF_CORE_READ(sb, s_bdev);
	return own && !BPF_CORE_READ(own, bd_queue, mq_ops);
}

/* Are its pages a program's, handed over for direct I/O? What was split off has the pages of the whole, and not its flag. */
static __always_inline bool has_foreign_pages(struct bio *bio, struct bio_vec *vec)
{
	if (bio->bi_flags & BIO_FOREIGN_PAGES)
		return true;
	if (!(bio->bi_flags & BIO_CLONED))
		return false;
	/* Elsewhere this is something else, with other pages. */
	struct bio *whole = bio->bi_private;
	return BPF_CORE_READ(whole, bi_io_vec) == vec && BPF_CORE_READ(whole, bi_flags) & BIO_FOREIGN_PAGES;
}

/* The inode in whose page cache a bio's first page is. A program may hand over pages of any file for direct I/O, by mmap: they
 * are memory like any other, and the I/O is not that file's. */
static __always_inline struct inode *page_inode(struct bio *bio, struct start *start)
{
	struct bio_vec *vec = bio->bi_io_vec;
	__u32 index = bio->bi_iter.bi_idx;
	struct page *page = 0;
	if (!vec || !bio->bi_iter.bi_size)
		return 0;
	if (has_foreign_pages(bio, vec)) {
		start->flags |= FLAG_DIRECT;
		return 0;
	}
	/* What the verifier knows the type of is read for nothing; the rest costs a call. */
	if (!index) {
		page = vec->bv_page;
	} else {
		/* Read again, as a number: the verifier does not let an index be added to a pointer. */
		__u64 at = (__u64)BPF_CORE_READ(bio, bi_io_vec);
		at += (__u64)(index & 0xffff) * bpf_core_type_size(struct bio_vec);
		at += bpf_core_field_offset(struct bio_vec, bv_page);
		bpf_probe_read_kernel(&page, sizeof(page), (void *)at);
	}
	unsigned long head = BPF_CORE_READ(page, compound_head);
	if (head & 1)
		page = (void *)(head - 1);
	unsigned long mapping = (unsigned long)BPF_CORE_READ(page, mapping);
	/* The low bits mark memory of programs, and pages of drivers. Metadata may lie in memory of the kernel's own
	 * (slab), where this is something else; no program's I/O is metadata. */
	if (mapping & 1 && !(start->flags & FLAG_META))
		start->flags |= FLAG_DIRECT;
	if (!mapping || mapping & 3)
		return 0;
	struct inode *host = BPF_CORE_READ((struct address_space *)mapping, host);
	/* Something else again where the file does not know of it. */
	if (!host || (unsigned long)BPF_CORE_READ(host, i_mapping) != mapping)
		return 0;
	/* Of files that are on no device, and of those on another, pages are here only where a program hands them over. */
	struct super_block *sb = BPF_CORE_READ(host, i_sb);
	unsigned long magic = BPF_CORE_READ(sb, s_magic);
	if (!may_serve(sb, magic, bio)) {
		start->flags |= FLAG_DIRECT;
		return 0;
	}
	return host;
}

static __always_inline void find_origin(struct bio *bio, struct start *start, struct origin *origin)
{
	__u64 end = (__u64)bio->bi_end_io;
	if (end && end == end_iomap_dio) {
		struct iomap_dio *dio = bio->bi_private;
		struct file *file = BPF_CORE_READ(dio, iocb, ki_filp);
		start->flags |= FLAG_DIRECT;
		origin->inode = (__u64)BPF_CORE_READ(file, f_inode);
		origin->dentry = (__u64)BPF_CORE_READ(file, f_path.dentry);
		return;
	}
	origin->inode = (__u64)page_inode(bio, start);
	origin->cached = origin->inode != 0;
	if (!end || !bpf_core_field_exists(((struct btrfs_bio *)0)->inode))
		return;
	if (end == end_btrfs_simple || end == end_btrfs_orig_write) {
		/* Compressed data are in pages without an owner, those of direct I/O may be another file's; the bio lies in one
		 * that knows. */
		struct btrfs_bio *outer = (void *)bio - bpf_core_field_offset(struct btrfs_bio, bio);
		struct btrfs_inode *inode = BPF_CORE_READ(outer, inode);
		if (!inode)
			return;
		__u64 own = (__u64)inode + bpf_core_field_offset(struct btrfs_inode, vfs_inode);
		if (origin->inode && origin->inode != own)
			start->flags |= FLAG_DIRECT;
		origin->inode = own;
		origin->cached = !(start->flags & FLAG_DIRECT);
	}
}

#endif
