/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The kernel's types, as far as the probes look at them. Every field is found through the running kernel's BTF
 * (preserve_access_index), so neither order nor size matters here, and no generated vmlinux.h is needed. */
#ifndef IODYNO_KERNEL_H
#define IODYNO_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1024,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
};
enum {
	EEXIST = 17,
};

#define KERNEL_TYPE __attribute__((preserve_access_index))

/* Bits of bi_opf and cmd_flags; their positions come from BTF. */
enum req_flag_bits {
	__REQ_SYNC = 11,
	__REQ_META = 12,
	__REQ_FUA = 17,
	__REQ_PREFLUSH = 18,
	__REQ_RAHEAD = 19,
	__REQ_BACKGROUND = 20,
};

struct blk_mq_ops;
struct gendisk {
	int major;
	int first_minor;
} KERNEL_TYPE;

struct request_queue {
	const struct blk_mq_ops *mq_ops;
	struct gendisk *disk; /* 5.15 */
} KERNEL_TYPE;

struct block_device {
	__u32 bd_dev;
	struct gendisk *bd_disk;
	struct request_queue *bd_queue;
} KERNEL_TYPE;

struct bvec_iter {
	__u64 bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;
} KERNEL_TYPE;

struct page;
struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
} KERNEL_TYPE;

struct bio;
typedef void bio_end_io_t(struct bio *bio);

struct bio {
	struct bio *bi_next;
	bio_end_io_t *bi_end_io;
	void *bi_private;
	struct bio_vec *bi_io_vec;
	unsigned short bi_vcnt;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	unsigned short bi_flags;
	__u8 bi_status;
	struct bvec_iter bi_iter;
	__u64 issue_time_ns; /* 6.18; bi_issue before */
} KERNEL_TYPE;

struct bio_issue {
	__u64 value;
} KERNEL_TYPE;

/* How it was called until 6.17: the time in the low 51 bits. */
struct bio___before_6_18 {
	struct bio_issue bi_issue;
} KERNEL_TYPE;

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
	struct bio *bio;
	struct bio *biotail;
	struct block_device *part;
} KERNEL_TYPE;

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
	struct block_device *s_bdev;
} KERNEL_TYPE;

struct hlist_node {
	struct hlist_node *next;
} KERNEL_TYPE;

struct hlist_head {
	struct hlist_node *first;
} KERNEL_TYPE;

struct inode {
	unsigned short i_mode;
	unsigned int i_nlink;
	unsigned int i_generation;
	unsigned long i_ino;
	struct super_block *i_sb;
	struct address_space *i_mapping;
	struct hlist_head i_dentry;
} KERNEL_TYPE;

struct qstr {
	__u64 hash_len;
	const unsigned char *name;
} KERNEL_TYPE;

union d_union {
	struct hlist_node d_alias;
} KERNEL_TYPE;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	union d_union d_u;
} KERNEL_TYPE;

struct path {
	struct dentry *dentry;
} KERNEL_TYPE;

struct address_space;
struct file {
	struct inode *f_inode;
	struct path f_path;
	struct address_space *f_mapping;
	unsigned int f_flags;
	__s64 f_pos;
} KERNEL_TYPE;

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} KERNEL_TYPE;

struct files_struct {
	struct fdtable *fdt;
} KERNEL_TYPE;

struct kiocb {
	struct file *ki_filp;
	__s64 ki_pos;
} KERNEL_TYPE;

struct io_cqe {
	__s32 res;
} KERNEL_TYPE;

struct io_kiocb {
	struct file *file;
	__u8 opcode;
	struct io_cqe cqe; /* 5.19 */
} KERNEL_TYPE;

struct io_kiocb___before_5_19 {
	__s32 result;
} KERNEL_TYPE;

struct io_rw {
	struct kiocb kiocb;
} KERNEL_TYPE;


struct iomap_dio {
	struct kiocb *iocb;
} KERNEL_TYPE;

struct address_space {
	struct inode *host;
} KERNEL_TYPE;

struct page {
	unsigned long compound_head;
	struct address_space *mapping;
} KERNEL_TYPE;

enum pageflags {
	PG_head = 6,
};

struct folio {
	struct address_space *mapping;
	unsigned long _flags_1; /* its low byte is the order, 6.6 */
} KERNEL_TYPE;

/* Until 6.5. */
struct folio___before_6_6 {
	unsigned char _folio_order;
} KERNEL_TYPE;

struct btrfs_inode {
	struct inode vfs_inode;
} KERNEL_TYPE;

struct btrfs_bio {
	struct btrfs_inode *inode;
	struct bio bio;
} KERNEL_TYPE;

struct thread_info {
	__u32 status;
	__u32 cpu; /* 5.16 on x86 */
} KERNEL_TYPE;

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	struct files_struct *files;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	char comm[16];
	int pid;
	int tgid;
	__u64 start_boottime;
	unsigned int __state; /* 5.14 */
} KERNEL_TYPE;

/* Where thread_info has none. */
struct task_struct___cpu_outside {
	unsigned int cpu;
} KERNEL_TYPE;

struct task_struct___before_5_14 {
	long state;
} KERNEL_TYPE;

struct sock_common {
	unsigned short skc_family;
	unsigned char skc_state;
	__u16 skc_num; /* the port on this side */
} KERNEL_TYPE;

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
} KERNEL_TYPE;

struct irqaction {
	const char *name;
} KERNEL_TYPE;

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long di, si, dx, r10, r8, orig_ax;
} KERNEL_TYPE;
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	__u64 regs[31];
	__u64 orig_x0;
	__s32 syscallno;
} KERNEL_TYPE;
#endif

#endif
