// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Run time by event: every switch of a CPU from one task to another says exactly how long the first one ran. Summed per
 * CPU, per thread, and per pair of who waited for a CPU and whose work it was that came instead, or first; mod.rs reads the
 * sums.
 *
 * Tables are allocated beforehand: with a run queue's lock held no memory may be asked for. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "buckets.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Two ticks of the slowest clock: who runs for so long is seen by the tick. In step with mod.rs. */
#define LONG_NS 20000000
#define CPUS_MAX 4096
#define TASK_DEAD 0x80
/* A shorter wait is not behind another task: a switch itself takes as long, and so does a waker that then sleeps. */
#define BEHIND_NS_MIN 10000

/* What a CPU did. `end` and `begin` count the changes: as the reader copies upwards, it has a whole one when both are
 * equal. In step with totals.rs, Slot. */
struct slot {
	__u64 end;
	__u64 since_ns;    /* of the task on it; 0 before the first switch that was seen */
	__u64 start_ns;    /* of the task on it, when it was started */
	__u32 tid;         /* 0: idle */
	__u32 tgid;
	__u64 run_ns;
	__u64 long_ns;     /* of that, at least LONG_NS at a stretch */
	__u64 idle_ns;
	__u64 wait_ns;
	__u64 switches;
	__u64 preemptions;
	__u64 lost;        /* no room for another thread or pair */
	__u64 begin;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set to the number of CPUs before loading */
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct thread_key {
	__u64 start_ns;
	__u32 tid;
	__u32 pad;
};

/* In step with totals.rs, Thread. */
struct thread {
	__u64 run_ns;
	__u64 wait_ns;     /* ready to run, on no CPU */
	__u64 switches;    /* away from it by its own will */
	__u64 preemptions; /* and against it */
	__u64 queued_ns;   /* ready since then; 0: not waiting */
	__u64 leader_ns;   /* when its process was started */
	__u32 tgid;
	__u32 by;          /* process that came instead at the last pre-emption */
	__u32 dead;
	__u32 parent;      /* process that made it */
	__u32 queued_cpu;  /* in whose queue it is since then */
	__u32 pad;
	char comm[16];
	char leader_comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 15); /* at least; more where there are many CPUs */
	__type(key, struct thread_key);
	__type(value, struct thread);
} threads SEC(".maps");

struct pair_key {
	__u32 victim;
	__u32 by;
};

struct pair {
	__u64 count;
	__u64 wait_ns;   /* until the victim ran again */
	__u64 behind;    /* it woke, and the other one ran on for most of its wait */
	__u64 behind_ns; /* that wait */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 13); /* at least; more where there are many CPUs */
	__type(key, struct pair_key);
	__type(value, struct pair);
} pairs SEC(".maps");

/* How long tasks were ready before they ran: 4 buckets to an octave, up to two minutes. In step with waits.rs. */
#define WAIT_SUB_BITS 2
#define WAIT_BUCKETS 144
#define WAIT_LONGEST_NS ((1ULL << 37) - 1)

struct waits {
	__u64 sum_ns;
	__u64 buckets[WAIT_BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct waits);
} waits SEC(".maps");

#define ADD(field, value) __sync_fetch_and_add(&(field), value)

static __always_inline struct slot *cpu_slot(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	return bpf_map_lookup_elem(&slots, &cpu);
}

static __always_inline struct thread *thread_of(struct task_struct *task)
{
	struct thread_key key = { .start_ns = task->start_boottime, .tid = task->pid };
	struct thread *known = bpf_map_lookup_elem(&threads, &key);
	if (known)
		return known;
	struct thread new = {
		.tgid = task->tgid,
		.leader_ns = task->group_leader->start_boottime,
		.parent = task->group_leader->real_parent->tgid,
	};
	bpf_probe_read_kernel_str(new.comm, sizeof(new.comm), task->comm);
	bpf_probe_read_kernel_str(new.leader_comm, sizeof(new.leader_comm), task->group_leader->comm);
	bpf_map_update_elem(&threads, &key, &new, BPF_NOEXIST);
	known = bpf_map_lookup_elem(&threads, &key);
	if (!known) {
		struct slot *slot = cpu_slot();
		if (slot)
			ADD(slot->lost, 1);
	}
	return known;
}

static __always_inline struct pair *pair_of(struct slot *slot, __u32 victim, __u32 by)
{
	struct pair_key key = { .victim = victim, .by = by };
	struct pair *known = bpf_map_lookup_elem(&pairs, &key);
	if (known)
		return known;
	struct pair none = {};
	bpf_map_update_elem(&pairs, &key, &none, BPF_NOEXIST);
	known = bpf_map_lookup_elem(&pairs, &key);
	if (!known)
		ADD(slot->lost, 1);
	return known;
}

static __always_inline long state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return ((struct task_struct___before_5_14 *)task)->state;
}

/* The task that leaves: what it ran, and whether it waits from now on. */
static __always_inline void leaves(struct slot *slot, struct task_struct *prev, struct task_struct *next, bool preempt,
				   __u64 now, __u64 ran)
{
	struct thread *thread = thread_of(prev);
	if (!thread)
		return;
	long state = state_of(prev);
	bool is_preempted = preempt || !state;
	ADD(thread->run_ns, ran);
	thread->queued_ns = is_preempted ? now : 0;
	thread->by = 0;
	if (state & TASK_DEAD)
		thread->dead = 1;
	if (!is_preempted) {
		ADD(thread->switches, 1);
		return;
	}
	ADD(thread->preemptions, 1);
	slot->preemptions++;
	if (!next->pid)
		return;
	thread->by = next->tgid;
	struct pair *pair = pair_of(slot, thread->tgid, next->tgid);
	if (pair)
		ADD(pair->count, 1);
}

/* No task preempted it, but it woke while others ran. */
static __always_inline void waited_behind(struct slot *slot, struct thread *thread, __u64 queued_ns, __u64 now)
{
	__u64 wait_ns = now - queued_ns;
	if (wait_ns < BEHIND_NS_MIN || !slot->tid)
		return;
	/* Elsewhere it waited for others. */
	if (thread->queued_cpu != bpf_get_smp_processor_id())
		return;
	__u64 from_ns = slot->since_ns > queued_ns ? slot->since_ns : queued_ns;
	if (2 * (now - from_ns) < wait_ns)
		return;
	struct pair *pair = pair_of(slot, thread->tgid, slot->tgid);
	if (!pair)
		return;
	ADD(pair->behind, 1);
	ADD(pair->behind_ns, wait_ns);
}

static __always_inline void count_wait(__u64 wait_ns)
{
	__u32 zero = 0;
	__u32 bucket = bucket_of(wait_ns > WAIT_LONGEST_NS ? WAIT_LONGEST_NS : wait_ns, WAIT_SUB_BITS);
	struct waits *mine = bpf_map_lookup_elem(&waits, &zero);
	if (!mine || bucket >= WAIT_BUCKETS)
		return;
	/* No other program writes here: a CPU has one switch at a time. */
	mine->sum_ns += wait_ns;
	mine->buckets[bucket]++;
}

/* The task that comes: how long it was ready, and because of whom. `slot` still tells of the one before. */
static __always_inline void comes(struct slot *slot, struct task_struct *next, __u64 now)
{
	struct thread *thread = thread_of(next);
	if (!thread)
		return;
	__u64 queued_ns = thread->queued_ns;
	thread->queued_ns = 0;
	if (!queued_ns || now < queued_ns)
		return;
	ADD(thread->wait_ns, now - queued_ns);
	slot->wait_ns += now - queued_ns;
	count_wait(now - queued_ns);
	if (!thread->by) {
		waited_behind(slot, thread, queued_ns, now);
		return;
	}
	struct pair *pair = pair_of(slot, thread->tgid, thread->by);
	if (pair)
		ADD(pair->wait_ns, now - queued_ns);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct slot *slot = cpu_slot();
	if (!slot)
		return 0;
	/* Atomic, so that nothing is moved across. Before the clock is looked at: a hypervisor may stop the CPU at the first
	 * write, for a while that then belongs to the task that leaves, as the reader has said meanwhile. */
	ADD(slot->begin, 1);
	__u64 now = bpf_ktime_get_ns();
	__u64 ran = slot->since_ns ? now - slot->since_ns : 0;
	slot->switches++;
	if (prev->pid) {
		slot->run_ns += ran;
		if (ran >= LONG_NS)
			slot->long_ns += ran;
		leaves(slot, prev, next, preempt, now, ran);
	} else {
		slot->idle_ns += ran;
	}
	if (next->pid)
		comes(slot, next, now);
	slot->tid = next->pid;
	slot->tgid = next->tgid;
	slot->start_ns = next->start_boottime;
	slot->since_ns = now;
	ADD(slot->end, 1);
	return 0;
}

/* The CPU in whose queue it is. */
static __always_inline __u32 cpu_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return ((struct task_struct___cpu_outside *)task)->cpu;
}

static __always_inline int ready(struct task_struct *task)
{
	struct thread *thread = thread_of(task);
	if (!thread)
		return 0;
	thread->queued_ns = bpf_ktime_get_ns();
	thread->queued_cpu = cpu_of(task);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	return ready(task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	return ready(task);
}

/* A program was started in it, or it gave itself a name. */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	struct thread_key key = { .start_ns = task->start_boottime, .tid = task->pid };
	struct thread *known = bpf_map_lookup_elem(&threads, &key);
	if (known)
		bpf_probe_read_kernel_str(known->comm, sizeof(known->comm), comm);
	return 0;
}
