// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Every block I/O: one record when it completes. Kept in step with records.rs, which reads what is written here.
 *
 * A request is known by its address from block_io_start (6.5; block_rq_insert or block_rq_issue before) to
 * block_rq_complete; a bio of a driver without requests (zram, dm, md) from block_bio_queue to block_bio_complete.
 * Who issued it is asked at the start: at completion the current task is a bystander. */
#include "filter.h"
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static __always_inline __u64 wake_flags(struct counters *count, __u64 now)
{
	/* In this order: how much there is is a call, and its answer lies where the consumer writes. */
	if (now - count->woken_ns < 1000000 || bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < wake_bytes)
		return BPF_RB_NO_WAKEUP;
	count->woken_ns = now;
	return BPF_RB_FORCE_WAKEUP;
}

/* May an I/O begin when it is issued, because its start went missing or was before the trace? Not where its issuer
 * matters, or the exact time. */
static __always_inline bool begins_at_issue(void)
{
	return !has_io_start || (sample_limit == ~0u && !only_pids && !only_comms && !only_cgroups);
}

/* Are there I/Os that are not entered? */
static __always_inline bool leaves_some(void)
{
	return only_devices || only_ops != ~0u || sample_limit != ~0u || only_pids || only_comms || only_cgroups;
}

/* Hands a finished I/O over; `now` is 0 when its end was not seen. */
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
	struct origin origin;
	struct actor actor;
	__u64 again; /* should there be no room for it, that is tried once more */
};

/* Puts it where its end finds it. */
static __always_inline long keep_start(__u64 key, struct start *start, struct counters *count)
{
	struct place *place = place_of(key);
	if (place) {
		__u64 whose = __sync_val_compare_and_swap(&place->key, 0, key);
		if (whose == key && place->start.queue_ns) {
			/* Of an I/O whose end was not seen. */
			COUNT(lost_end);
			emit(count, &place->start, 0);
		}
		if (!whose || whose == key) {
			place->start = *start;
			return 0;
		}
	}
	long refused = bpf_map_update_elem(&in_flight, &key, start, BPF_NOEXIST);
	if (!refused) {
		__sync_fetch_and_add(&displaced, 1);
	} else if (refused == -EEXIST) {
		struct start *stale = bpf_map_lookup_elem(&in_flight, &key);
		if (stale && stale->queue_ns) {
			COUNT(lost_end);
			emit(count, stale, 0);
		}
		refused = bpf_map_update_elem(&in_flight, &key, start, BPF_ANY);
	}
	return refused;
}

/* What still stands under this address is of an I/O whose end was not seen: without this, the next one there would end it,
 * with its own size and place, where it is not entered itself. */
static __always_inline void drop_stale(__u64 key)
{
	struct start *stale = find_start(key);
	struct counters *count = cpu_counters();
	if (!stale || !count)
		return;
	if (stale->queue_ns) {
		COUNT(lost_end);
		emit(count, stale, 0);
	}
	stale->queue_ns = 0;
	forget_start(key);
}

/* Enters an I/O that begins now, if it is wanted.
 * Global, so that the verifier looks at it once and not at each call. */
__noinline int begin(struct beginning *beginning)
{
	if (!beginning)
		return 0;
	__u64 key = beginning->key;
	/* On this stack: before 6.2 a map takes nothing from that of the caller. */
	struct start own = beginning->start;
	struct start *start = &own;
	struct counters *count = cpu_counters();
	struct actor actor = beginning->actor;
	struct inode *inode = (void *)beginning->origin.inode;
	struct dirtier *owner = 0;
	if (!count)
		return 0;
	if (inode && BPF_CORE_READ(inode, i_sb, s_magic) == BDEVFS_MAGIC) {
		start->flags |= FLAG_DEVICE;
		inode = 0;
	}
	if (inode && beginning->origin.cached && start->op == OP_WRITE) {
		struct inode_key cached = {};
		cached.ino = BPF_CORE_READ(inode, i_ino);
		cached.dev = BPF_CORE_READ(inode, i_sb, s_dev);
		owner = bpf_map_lookup_elem(&dirtiers, &cached);
	}
	if (!wanted_actor(&actor) && !(owner && wanted_actor(&owner->actor)))
		return 0;
	if (!sampled(start->sector, start->queue_ns)) {
		COUNT(started);
		return 0;
	}
	if (!start->issuer)
		start->issuer = actor_id(&actor, &count->next_id, &count->lost_names);
	if (inode)
		start->file = file_id((__u64)inode, beginning->origin.dentry, &count->next_id, &count->lost_names);
	if (owner)
		start->owner = actor_id(&owner->actor, &count->next_id, &count->lost_names);
	beginning->start.issuer = start->issuer;
	long refused = keep_start(key, start, count);
	if (refused && beginning->again)
		return 0;
	COUNT(started);
	COUNT(taken);
	if (refused)
		COUNT(lost_table);
	return 0;
}

static __always_inline bool same_actor(struct actor *one, struct actor *other)
{
	__u64 *a = (__u64 *)one, *b = (__u64 *)other;
	_Static_assert(sizeof(struct actor) == 32, "compared as four numbers");
	return a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3];
}

/* Who and what for; then enters it. `last` is the task's own memory. */
static __always_inline void begin_for(struct beginning *beginning, struct bio *bio, struct queued *last)
{
	__u32 zero = 0;
	__u32 *now = bpf_map_lookup_elem(&generation, &zero);
	bool is_known = false;
	if (!wanted_op(beginning->start.op))
		return;
	current_actor(&beginning->actor);
	if (last && now && last->generation == *now && same_actor(&last->actor, &beginning->actor)) {
		beginning->start.issuer = last->issuer;
		is_known = last->issuer != 0;
	}
	if (with_files && bio)
		find_origin(bio, &beginning->start, &beginning->origin);
	begin(beginning);
	if (last && now && !is_known) {
		last->actor = beginning->actor;
		last->issuer = beginning->start.issuer;
		last->generation = *now;
	}
}

static __always_inline void finish(__u64 key, struct start *start, __u64 now)
{
	struct counters *count = cpu_counters();
	if (count)
		emit(count, start, now);
	/* Should the entry stay, it belongs to no I/O. */
	start->queue_ns = 0;
	forget_start(key);
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

static __always_inline __u32 current_tgid(void)
{
	return bpf_get_current_pid_tgid() >> 32;
}

/* The bio came back from block_bio_queue because it was not to wait for a free request. */
static __always_inline void note_attempt(struct bio *bio)
{
	struct queued *last = task_queued(0);
	if (!last || last->bio != (__u64)bio)
		return;
	struct attempt_key key = {};
	key.sector = bio->bi_iter.bi_sector;
	key.dev = dev_of(bio->bi_bdev->bd_disk);
	key.tgid = current_tgid();
	key.bytes = bio->bi_iter.bi_size;
	key.op = bio->bi_opf & OP_MASK;
	bpf_map_update_elem(&attempts, &key, &last->queue_ns, BPF_ANY);
	last->bio = 0;
}

/* When io_uring tried to queue what its worker queues now; 0 if it did not. */
static __always_inline __u64 attempted(struct start *start, __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (!(task->flags & PF_IO_WORKER))
		return 0;
	struct attempt_key key = {};
	key.sector = start->sector;
	key.dev = start->dev;
	key.tgid = current_tgid();
	key.bytes = start->bytes;
	key.op = start->op;
	__u64 *first = bpf_map_lookup_elem(&attempts, &key);
	if (!first)
		return 0;
	__u64 queue_ns = *first;
	bpf_map_delete_elem(&attempts, &key);
	return now - queue_ns < ATTEMPT_NS ? queue_ns : 0;
}

/* When the request's bio was queued: exact from the task's slot, else as the kernel remembers it (a time that all
 * bios of a plug may share), else now. */
static __always_inline __u64 queue_time(struct request *rq, struct start *start, struct queued *last, __u64 now)
{
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
	struct queued *last = task_queued(BPF_LOCAL_STORAGE_GET_F_CREATE);
	__u64 first = attempted(start, now);
	start->queue_ns = first ? first : queue_time(rq, start, last, now);
	if (is_issued)
		start->issue_ns = now;
	beginning.key = (__u64)rq;
	beginning.again = !is_issued && begins_at_issue();
	begin_for(&beginning, bio, last);
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio_queue, struct bio *bio)
{
	__u32 dev = dev_of(bio->bi_bdev->bd_disk);
	if (leaves_some())
		drop_stale((__u64)bio);
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
	beginning.key = (__u64)bio;
	begin_for(&beginning, bio, task_queued(BPF_LOCAL_STORAGE_GET_F_CREATE));
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

/* For tests. */
static __always_inline bool is_left_out(__u64 sector)
{
	return left_out_below && sector < left_out_below;
}

static __always_inline void bio_completed(struct bio *bio)
{
	__u64 key = (__u64)bio;
	struct start *start = find_start(key);
	if (start && !is_left_out(bio->bi_iter.bi_sector)) {
		start->status = bio->bi_status;
		finish(key, start, bpf_ktime_get_ns());
	} else if (bio->bi_status == STATUS_AGAIN) {
		note_attempt(bio);
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
	if (leaves_some())
		drop_stale((__u64)rq);
	begin_request(rq, false);
	return 0;
}

/* The driver has it, so what begins now or is issued now is another. */
static __always_inline bool is_issued(struct start *start)
{
	return start && start->issue_ns;
}

/* Only where there is no block_io_start. */
SEC("tp_btf/block_rq_insert")
int BPF_PROG(on_rq_insert, struct request *rq)
{
	__u64 key = (__u64)rq;
	struct start *start = find_start(key);
	if (is_issued(start)) {
		drop_stale(key);
		start = 0;
	}
	/* One that the driver gave back comes here again. */
	if (!start)
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
	struct start *start = find_start(key);
	if (is_issued(start)) {
		drop_stale(key);
		start = 0;
	}
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
	struct start *start = find_start(key);
	if (!start)
		return 0;
	if (start->requeues < 255)
		start->requeues++;
	start->issue_ns = 0;
	return 0;
}

/* `rq` has been merged into its neighbour and goes away. */
SEC("tp_btf/block_rq_merge")
int BPF_PROG(on_rq_merge, struct request *rq)
{
	__u64 key = (__u64)rq;
	struct counters *count = cpu_counters();
	if (forget_start(key) && count)
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
	struct start *start = find_start(key);
	if (!start || is_left_out(rq->__sector))
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
	struct start *start = find_start(key);
	if (start && !is_left_out(rq->__sector))
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
