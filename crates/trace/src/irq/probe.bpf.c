// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* Time in interrupts and soft interrupts by event: from the handler's entry to its exit. Summed per CPU and vector, and
 * per process from which it was taken; mod.rs reads the sums. Entry and exit of the processor itself are not in it. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define PF_KTHREAD 0x00200000

/* Kind in the high byte of a vector. In step with mod.rs. */
enum {
	KIND_DEVICE = 0u << 24,
	KIND_SOFT = 1u << 24,
	KIND_LOCAL = 2u << 24, /* of the processor itself */
};
enum {
	LOCAL_TIMER, LOCAL_RESCHEDULE, LOCAL_CALL, LOCAL_CALL_ONE, LOCAL_WORK,
};

/* Per CPU; in step with mod.rs, Cpu. */
struct cpu {
	__u64 irq_ns;
	__u64 softirq_ns;    /* without the interrupts that came meanwhile */
	__u64 idle_ns;       /* of both, when the CPU was idle otherwise */
	__u64 stolen_ns;     /* of both, when a task was running that has nothing to do with it */
	__u64 lost;          /* no room for another vector or process */
	/* from here on not read outside */
	__u64 hard_since;
	__u64 soft_since;
	__u64 soft_inner;    /* interrupts during the soft interrupt under way */
	__u32 hard_vector;
	__u32 soft_vector;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

struct sums {
	__u64 count;
	__u64 ns;
	__u64 max_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1 << 10);
	__type(key, __u32);
	__type(value, struct sums);
} vectors SEC(".maps");

struct name {
	char text[32];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 10);
	__type(key, __u32);
	__type(value, struct name);
} names SEC(".maps");

struct victim_key {
	__u32 tgid;
	__u32 vector;
};

struct victim {
	__u64 count;
	__u64 ns;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 14); /* at least; more where there are many CPUs */
	__type(key, struct victim_key);
	__type(value, struct victim);
} victims SEC(".maps");

#define ADD(field, value) __sync_fetch_and_add(&(field), value)

static __always_inline struct cpu *this_cpu(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&cpus, &zero);
}

static __always_inline void add_vector(struct cpu *cpu, __u32 vector, __u64 ns)
{
	struct sums *sums = bpf_map_lookup_elem(&vectors, &vector);
	if (!sums) {
		struct sums none = {};
		bpf_map_update_elem(&vectors, &vector, &none, BPF_NOEXIST);
		sums = bpf_map_lookup_elem(&vectors, &vector);
	}
	if (!sums) {
		ADD(cpu->lost, 1);
		return;
	}
	sums->count++;
	sums->ns += ns;
	if (ns > sums->max_ns)
		sums->max_ns = ns;
}

/* Is it the thread whose work soft interrupts are? */
static __always_inline bool is_softirq_thread(struct task_struct *task)
{
	if (!(BPF_CORE_READ(task, flags) & PF_KTHREAD))
		return false;
	char comm[16] = {};
	bpf_get_current_comm(comm, sizeof(comm));
	return comm[0] == 'k' && comm[1] == 's' && comm[2] == 'o' && comm[3] == 'f' && comm[4] == 't' && comm[5] == 'i' &&
	       comm[6] == 'r' && comm[7] == 'q' && comm[8] == 'd';
}

static __always_inline void charge(struct cpu *cpu, __u32 vector, __u64 ns)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct victim_key key = { .tgid = bpf_get_current_pid_tgid() >> 32, .vector = vector };
	add_vector(cpu, vector, ns);
	if (!key.tgid) {
		cpu->idle_ns += ns;
		return;
	}
	if (is_softirq_thread(task))
		return;
	cpu->stolen_ns += ns;
	struct victim *victim = bpf_map_lookup_elem(&victims, &key);
	if (!victim) {
		struct victim new = {};
		BPF_CORE_READ_STR_INTO(&new.comm, task, group_leader, comm);
		bpf_map_update_elem(&victims, &key, &new, BPF_NOEXIST);
		victim = bpf_map_lookup_elem(&victims, &key);
	}
	if (!victim) {
		ADD(cpu->lost, 1);
		return;
	}
	ADD(victim->count, 1);
	ADD(victim->ns, ns);
}

static __always_inline int hard_entry(__u32 vector)
{
	struct cpu *cpu = this_cpu();
	if (!cpu)
		return 0;
	cpu->hard_vector = vector;
	cpu->hard_since = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int hard_exit(__u32 vector)
{
	struct cpu *cpu = this_cpu();
	if (!cpu || !cpu->hard_since)
		return 0;
	__u64 ns = bpf_ktime_get_ns() - cpu->hard_since;
	cpu->hard_since = 0;
	if (cpu->hard_vector != vector)
		return 0;
	cpu->irq_ns += ns;
	if (cpu->soft_since)
		cpu->soft_inner += ns;
	charge(cpu, vector, ns);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_entry, int irq, struct irqaction *action)
{
	__u32 vector = KIND_DEVICE | (irq & 0xffffff);
	if (!bpf_map_lookup_elem(&names, &vector)) {
		struct name name = {};
		bpf_probe_read_kernel_str(name.text, sizeof(name.text), BPF_CORE_READ(action, name));
		bpf_map_update_elem(&names, &vector, &name, BPF_NOEXIST);
	}
	return hard_entry(vector);
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_exit, int irq)
{
	return hard_exit(KIND_DEVICE | (irq & 0xffffff));
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry, unsigned int vector)
{
	struct cpu *cpu = this_cpu();
	if (!cpu)
		return 0;
	cpu->soft_vector = vector;
	cpu->soft_inner = 0;
	cpu->soft_since = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int vector)
{
	struct cpu *cpu = this_cpu();
	if (!cpu || !cpu->soft_since)
		return 0;
	__u64 ns = bpf_ktime_get_ns() - cpu->soft_since;
	__u64 inner = cpu->soft_inner;
	cpu->soft_since = 0;
	if (cpu->soft_vector != vector)
		return 0;
	ns = ns > inner ? ns - inner : 0;
	cpu->softirq_ns += ns;
	charge(cpu, KIND_SOFT | (vector & 0xffffff), ns);
	return 0;
}

#define LOCAL(name, tracepoint, number)                         \
	SEC("tp_btf/" tracepoint "_entry")                      \
	int BPF_PROG(on_##name##_entry, int vector)             \
	{                                                       \
		return hard_entry(KIND_LOCAL | number);         \
	}                                                       \
	SEC("tp_btf/" tracepoint "_exit")                       \
	int BPF_PROG(on_##name##_exit, int vector)              \
	{                                                       \
		return hard_exit(KIND_LOCAL | number);          \
	}

LOCAL(timer, "local_timer", LOCAL_TIMER)
LOCAL(reschedule, "reschedule", LOCAL_RESCHEDULE)
LOCAL(call, "call_function", LOCAL_CALL)
LOCAL(call_one, "call_function_single", LOCAL_CALL_ONE)
LOCAL(work, "irq_work", LOCAL_WORK)
