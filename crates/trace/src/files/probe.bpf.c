// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Reads and writes of files as programs ask for them, and what of them the page cache did not have; summed per file and
 * process in the kernel. mod.rs reads the sums.
 *
 * All of a call is known when it returns: its number and arguments are still in the registers, the file is still open,
 * and its position is behind what was done. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "names.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Set before loading. */
const volatile __u32 o_direct;
const volatile __u32 page_shift = 12;

/* A call of a 32-bit program: other numbers. */
#define TS_COMPAT 2
/* As many operations of one io_submit are looked at. */
#define SUBMITTED_MAX 64
#define VECTORS_MAX 16

#if defined(__TARGET_ARCH_x86)
#define NUMBER(regs) ((long)(regs)->orig_ax)
#define PARAMETER_1(regs) ((regs)->di)
#define PARAMETER_2(regs) ((regs)->si)
#define PARAMETER_3(regs) ((regs)->dx)
#define PARAMETER_4(regs) ((regs)->r10)
enum {
	NR_READ = 0, NR_WRITE = 1, NR_PREAD64 = 17, NR_PWRITE64 = 18, NR_READV = 19, NR_WRITEV = 20, NR_SENDFILE = 40,
	NR_IO_SUBMIT = 209, NR_SPLICE = 275, NR_PREADV = 295, NR_PWRITEV = 296, NR_COPY_FILE_RANGE = 326,
	NR_PREADV2 = 327, NR_PWRITEV2 = 328,
};
#elif defined(__TARGET_ARCH_arm64)
#define NUMBER(regs) ((long)(regs)->syscallno)
#define PARAMETER_1(regs) ((regs)->orig_x0)
#define PARAMETER_2(regs) ((regs)->regs[1])
#define PARAMETER_3(regs) ((regs)->regs[2])
#define PARAMETER_4(regs) ((regs)->regs[3])
enum {
	NR_READ = 63, NR_WRITE = 64, NR_PREAD64 = 67, NR_PWRITE64 = 68, NR_READV = 65, NR_WRITEV = 66, NR_SENDFILE = 71,
	NR_IO_SUBMIT = 2, NR_SPLICE = 76, NR_PREADV = 69, NR_PWRITEV = 70, NR_COPY_FILE_RANGE = 285,
	NR_PREADV2 = 286, NR_PWRITEV2 = 287,
};
#else
#error "calls are not known on this machine"
#endif

/* include/uapi/linux/io_uring.h */
enum {
	IORING_OP_READV = 1, IORING_OP_WRITEV = 2, IORING_OP_READ_FIXED = 4, IORING_OP_WRITE_FIXED = 5,
	IORING_OP_READ = 22, IORING_OP_WRITE = 23,
};

/* include/uapi/linux/aio_abi.h */
enum {
	IOCB_CMD_PREAD = 0, IOCB_CMD_PWRITE = 1, IOCB_CMD_PREADV = 7, IOCB_CMD_PWRITEV = 8,
};
struct iocb {
	__u64 data;
	__u32 key;
	__u32 rw_flags;
	__u16 opcode;
	__s16 priority;
	__u32 fd;
	__u64 buffer;
	__u64 bytes;
	__s64 offset;
};
struct iovec {
	__u64 base;
	__u64 length;
};

struct key {
	__u32 file;
	__u32 actor;
};

/* In step with mod.rs, Counts. */
struct totals {
	__u64 reads;
	__u64 read_bytes;
	__u64 read_pages;     /* of the page cache, that they touched */
	__u64 direct_reads;
	__u64 direct_read_bytes;
	__u64 writes;
	__u64 write_bytes;
	__u64 direct_writes;
	__u64 direct_write_bytes;
	__u64 mapped_pages;   /* touched for the first time through a mapping */
	__u64 pages_in;       /* brought into the page cache by reading */
	__u64 pages_made;     /* made in the page cache by writing */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, struct key);
	__type(value, struct totals);
} sums SEC(".maps");

/* Per CPU; in step with mod.rs, Losses. */
struct counters {
	__u64 lost_table; /* no room for another file and process */
	__u64 lost_names;
	__u64 lost_operations; /* of an io_submit with too many */
	__u64 next_id;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counters SEC(".maps");

/* The page that this task put into the page cache last: should it be changed at once, it was made for a write. */
struct added {
	__u64 folio;
	__u64 pages;
	struct key key;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct added);
} last_added SEC(".maps");

#define ADD(field, value) __sync_fetch_and_add(&(field), value)

static __always_inline struct counters *cpu_counters(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&counters, &zero);
}

/* File systems whose files are not data. */
static __always_inline bool is_pseudo(unsigned long magic)
{
	switch (magic) {
	case 0x9fa0:     /* proc */
	case 0x62656572: /* sysfs */
	case 0x27e0eb:   /* cgroup */
	case 0x63677270: /* cgroup2 */
	case 0x74726163: /* tracefs */
	case 0x64626720: /* debugfs */
	case 0x73636673: /* securityfs */
	case 0xcafe4a11: /* bpf */
	case 0x62656570: /* configfs */
	case 0x6165676c: /* pstore */
	case 0xde5e81e4: /* efivarfs */
	case 0x6e736673: /* nsfs */
		return true;
	}
	return false;
}

/* The sums of an inode and of the current process; NULL when they are not wanted. */
static __always_inline struct totals *totals_of(struct inode *inode, struct key *key)
{
	struct counters *count = cpu_counters();
	__u32 mode = inode ? BPF_CORE_READ(inode, i_mode) & S_IFMT : 0;
	if (!count || (mode != S_IFREG && mode != S_IFBLK) || is_pseudo(BPF_CORE_READ(inode, i_sb, s_magic)))
		return 0;
	struct actor actor = {};
	current_actor(&actor);
	if (!wanted_actor(&actor))
		return 0;
	/* One sum per process. */
	actor.tid = actor.tgid;
	struct task_struct *task = (void *)bpf_get_current_task();
	BPF_CORE_READ_STR_INTO(&actor.comm, task, group_leader, comm);
	key->actor = actor_id(&actor, &count->next_id, &count->lost_names);
	key->file = file_id((__u64)inode, 0, &count->next_id, &count->lost_names);
	struct totals *totals = bpf_map_lookup_elem(&sums, key);
	if (totals)
		return totals;
	struct totals none = {};
	if (bpf_map_update_elem(&sums, key, &none, BPF_NOEXIST) && !bpf_map_lookup_elem(&sums, key)) {
		ADD(count->lost_table, 1);
		return 0;
	}
	return bpf_map_lookup_elem(&sums, key);
}

#define NO_POSITION -1

/* Pages that so many bytes from there touch. */
static __always_inline __u64 pages_of(__s64 from, __u64 bytes)
{
	if (from < 0)
		from = 0;
	return bytes ? ((from + bytes - 1) >> page_shift) - ((__u64)from >> page_shift) + 1 : 0;
}

/* Global, so that the verifier looks at it once and not at each call. */
__noinline int count_io(__u64 opened_at, __u32 is_write, __s64 from, __u64 bytes)
{
	struct file *file = (void *)opened_at;
	struct key key = {};
	struct totals *totals = file ? totals_of(BPF_CORE_READ(file, f_mapping, host), &key) : 0;
	if (!totals)
		return 0;
	bool is_direct = BPF_CORE_READ(file, f_flags) & o_direct;
	if (is_write && is_direct) {
		ADD(totals->direct_writes, 1);
		ADD(totals->direct_write_bytes, bytes);
	} else if (is_write) {
		ADD(totals->writes, 1);
		ADD(totals->write_bytes, bytes);
	} else if (is_direct) {
		ADD(totals->direct_reads, 1);
		ADD(totals->direct_read_bytes, bytes);
	} else {
		ADD(totals->reads, 1);
		ADD(totals->read_bytes, bytes);
		ADD(totals->read_pages, pages_of(from, bytes));
	}
	return 0;
}

static __always_inline __u64 file_of(__u32 fd)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	if (!table || fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	struct file **files = BPF_CORE_READ(table, fd);
	struct file *file = 0;
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	return (__u64)file;
}

/* At the file's own position, which has moved on by as much. */
static __always_inline void count_here(__u32 fd, bool is_write, __u64 bytes)
{
	struct file *file = (void *)file_of(fd);
	if (file)
		count_io((__u64)file, is_write, BPF_CORE_READ(file, f_pos) - (__s64)bytes, bytes);
}

static __always_inline __u64 vector_bytes(__u64 vectors, __u64 length)
{
	__u64 bytes = 0;
	for (int i = 0; i < VECTORS_MAX && i < length; i++) {
		struct iovec vector = {};
		bpf_probe_read_user(&vector, sizeof(vector), (void *)(vectors + i * sizeof(vector)));
		bytes += vector.length;
	}
	return bytes;
}

/* What was submitted counts at once, as long as it was asked for: the end of such an operation cannot be seen. */
static __noinline int count_submitted(__u64 iocbs, long submitted)
{
	for (int i = 0; i < SUBMITTED_MAX && i < submitted; i++) {
		__u64 at = 0;
		struct iocb one = {};
		if (bpf_probe_read_user(&at, sizeof(at), (void *)(iocbs + i * sizeof(at))) ||
		    bpf_probe_read_user(&one, sizeof(one), (void *)at))
			continue;
		bool is_vector = one.opcode == IOCB_CMD_PREADV || one.opcode == IOCB_CMD_PWRITEV;
		if (!is_vector && one.opcode != IOCB_CMD_PREAD && one.opcode != IOCB_CMD_PWRITE)
			continue;
		__u64 bytes = is_vector ? vector_bytes(one.buffer, one.bytes) : one.bytes;
		bool is_write = one.opcode == IOCB_CMD_PWRITE || one.opcode == IOCB_CMD_PWRITEV;
		count_io(file_of(one.fd), is_write, one.offset, bytes);
	}
	struct counters *count = cpu_counters();
	if (count && submitted > SUBMITTED_MAX)
		ADD(count->lost_operations, submitted - SUBMITTED_MAX);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long done)
{
	if (done <= 0)
		return 0;
	long number = NUMBER(regs);
	switch (number) {
	case NR_READ:
	case NR_READV:
	case NR_WRITE:
	case NR_WRITEV:
	case NR_PREAD64:
	case NR_PREADV:
	case NR_PREADV2:
	case NR_PWRITE64:
	case NR_PWRITEV:
	case NR_PWRITEV2:
	case NR_SENDFILE:
	case NR_SPLICE:
	case NR_COPY_FILE_RANGE:
	case NR_IO_SUBMIT:
		break;
	default:
		return 0;
	}
#if defined(__TARGET_ARCH_x86)
	struct task_struct *task = (void *)bpf_get_current_task();
	if (BPF_CORE_READ(task, thread_info.status) & TS_COMPAT)
		return 0;
#endif
	__u32 fd = PARAMETER_1(regs);
	__s64 at = PARAMETER_4(regs);
	switch (number) {
	case NR_READ:
	case NR_READV:
		count_here(fd, false, done);
		break;
	case NR_WRITE:
	case NR_WRITEV:
		count_here(fd, true, done);
		break;
	case NR_PREAD64:
	case NR_PREADV:
		count_io(file_of(fd), false, at, done);
		break;
	case NR_PWRITE64:
	case NR_PWRITEV:
		count_io(file_of(fd), true, at, done);
		break;
	case NR_PREADV2:
	case NR_PWRITEV2:
		if (at == -1)
			count_here(fd, number == NR_PWRITEV2, done);
		else
			count_io(file_of(fd), number == NR_PWRITEV2, at, done);
		break;
	case NR_SENDFILE:
		/* out, in */
		count_io(file_of(PARAMETER_2(regs)), false, NO_POSITION, done);
		count_io(file_of(fd), true, NO_POSITION, done);
		break;
	case NR_SPLICE:
	case NR_COPY_FILE_RANGE:
		/* in, its offset, out */
		count_io(file_of(fd), false, NO_POSITION, done);
		count_io(file_of(PARAMETER_3(regs)), true, NO_POSITION, done);
		break;
	case NR_IO_SUBMIT:
		count_submitted(PARAMETER_3(regs), done);
		break;
	}
	return 0;
}

/* An operation of io_uring is over; its request still has the file. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(on_ring_complete, void *ring_context, void *request)
{
	struct io_kiocb *req = request;
	if (!req)
		return 0;
	__s64 done;
	if (bpf_core_field_exists(req->cqe.res))
		done = BPF_CORE_READ(req, cqe.res);
	else
		done = BPF_CORE_READ((struct io_kiocb___before_5_19 *)request, result);
	if (done <= 0)
		return 0;
	__u8 opcode = BPF_CORE_READ(req, opcode);
	bool is_read = opcode == IORING_OP_READ || opcode == IORING_OP_READV || opcode == IORING_OP_READ_FIXED;
	bool is_write = opcode == IORING_OP_WRITE || opcode == IORING_OP_WRITEV || opcode == IORING_OP_WRITE_FIXED;
	if (!is_read && !is_write)
		return 0;
	/* Its kiocb lies at its start, and the position has moved on. */
	struct io_rw *rw = request;
	count_io((__u64)BPF_CORE_READ(req, file), is_write, BPF_CORE_READ(rw, kiocb.ki_pos) - done, done);
	return 0;
}

static __always_inline __u64 folio_pages(struct folio *folio)
{
	unsigned long flags = 0;
	/* Its first word, whatever that is made of. */
	bpf_probe_read_kernel(&flags, sizeof(flags), folio);
	if (!(flags >> bpf_core_enum_value(enum pageflags, PG_head) & 1))
		return 1;
	struct folio___before_6_6 *old = (void *)folio;
	if (bpf_core_field_exists(old->_folio_order))
		return 1ull << (BPF_CORE_READ(old, _folio_order) & 31);
	if (bpf_core_field_exists(folio->_flags_1))
		return 1ull << (BPF_CORE_READ(folio, _flags_1) & 31);
	return 1;
}

/* New in the page cache: to be read into, or to be written into. */
SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(on_added, void *page_or_folio)
{
	struct folio *folio = page_or_folio;
	struct address_space *mapping;
	if (bpf_core_type_exists(struct folio))
		mapping = BPF_CORE_READ(folio, mapping);
	else
		mapping = BPF_CORE_READ((struct page *)page_or_folio, mapping);
	struct key key = {};
	struct totals *totals = mapping ? totals_of(BPF_CORE_READ(mapping, host), &key) : 0;
	if (!totals)
		return 0;
	__u64 pages = bpf_core_type_exists(struct folio) ? folio_pages(folio) : 1;
	ADD(totals->pages_in, pages);
	struct added *last =
		bpf_task_storage_get(&last_added, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (last) {
		last->folio = (__u64)folio;
		last->pages = pages;
		last->key = key;
	}
	return 0;
}

static __always_inline int dirtied(void *page)
{
	struct added *last = bpf_task_storage_get(&last_added, bpf_get_current_task_btf(), 0, 0);
	if (!last || last->folio != (__u64)page)
		return 0;
	last->folio = 0;
	struct key key = last->key;
	struct totals *totals = bpf_map_lookup_elem(&sums, &key);
	if (totals) {
		ADD(totals->pages_in, -last->pages);
		ADD(totals->pages_made, last->pages);
	}
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(on_dirty_folio, void *folio)
{
	return dirtied(folio);
}

/* Until 5.17. */
SEC("tp_btf/writeback_dirty_page")
int BPF_PROG(on_dirty_page, void *page)
{
	return dirtied(page);
}

static __always_inline int mapped(struct address_space *mapping, __u64 pages)
{
	struct key key = {};
	struct totals *totals = mapping ? totals_of(BPF_CORE_READ(mapping, host), &key) : 0;
	if (totals)
		ADD(totals->mapped_pages, pages);
	return 0;
}

SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(on_fault, struct address_space *mapping, unsigned long index)
{
	return mapped(mapping, 1);
}

/* Those around a fault that were in memory. */
SEC("tp_btf/mm_filemap_map_pages")
int BPF_PROG(on_map_pages, struct address_space *mapping, unsigned long first, unsigned long last)
{
	return mapped(mapping, last - first + 1);
}
