// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* What CPUs are at, sampled so many times a second: which task runs, and through which functions it came there, in the
 * kernel and in the program. Counted per process, thread name and pair of stacks; mod.rs reads the counts.
 *
 * A stack is known by a hash of 64 bits. The kernel's own map of stacks has one place for each hash of a few bits, so that
 * of two stacks that fall on one place the second is lost. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Frames of a stack; in step with mod.rs. */
#define FRAMES 127
#define BPF_F_USER_STACK (1ull << 8)
#define EEXIST 17

struct stack {
	__u64 frames[FRAMES]; /* the innermost first; 0 behind the last */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 13);
	__type(key, __u64);
	__type(value, struct stack);
} stacks SEC(".maps");

/* Too large for the program's own stack. One sample at a time on a CPU, for a sample does not interrupt a sample. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack);
} scratch SEC(".maps");

/* In step with mod.rs, Key. */
struct key {
	__u64 kernel; /* hash of the stack; 0: none */
	__u64 user;
	__u32 tgid;
	__u32 pad;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, struct key);
	__type(value, __u64);
} counts SEC(".maps");

/* Per CPU; in step with mod.rs, Counters. */
struct counters {
	__u64 samples;
	__u64 lost;        /* no room for another pair of stacks: not counted */
	__u64 lost_stacks; /* no room for another stack: counted without it */
	__u64 new_stacks;  /* put into the table */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counters SEC(".maps");

/* The stack's hash; 0 when there is none, or no room. */
static __always_inline __u64 keep(void *ctx, struct stack *stack, struct counters *counted, __u64 flags)
{
	__builtin_memset(stack, 0, sizeof(*stack));
	if (bpf_get_stack(ctx, stack, sizeof(*stack), flags) <= 0)
		return 0;
	__u64 hash = 0x9e3779b97f4a7c15ull;
	for (int at = 0; at < FRAMES; at++) {
		__u64 frame = stack->frames[at];
		if (!frame)
			break;
		hash = (hash ^ frame) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
	}
	if (!hash)
		hash = 1;
	if (bpf_map_lookup_elem(&stacks, &hash))
		return hash;
	long failed = bpf_map_update_elem(&stacks, &hash, stack, BPF_NOEXIST);
	if (!failed) {
		counted->new_stacks++;
	} else if (failed != -EEXIST) {
		/* Not: another CPU was faster. */
		counted->lost_stacks++;
		return 0;
	}
	return hash;
}

SEC("perf_event")
int on_sample(void *ctx)
{
	__u32 zero = 0;
	struct key key = { .tgid = bpf_get_current_pid_tgid() >> 32 };
	struct counters *counted = bpf_map_lookup_elem(&counters, &zero);
	struct stack *stack = bpf_map_lookup_elem(&scratch, &zero);
	/* Idle CPUs are not profiled. */
	if (!counted || !stack || !key.tgid)
		return 0;
	counted->samples++;
	bpf_get_current_comm(key.comm, sizeof(key.comm));
	key.kernel = keep(ctx, stack, counted, 0);
	key.user = keep(ctx, stack, counted, BPF_F_USER_STACK);
	__u64 *count = bpf_map_lookup_elem(&counts, &key);
	if (count) {
		__sync_fetch_and_add(count, 1);
		return 0;
	}
	__u64 one = 1;
	if (!bpf_map_update_elem(&counts, &key, &one, BPF_NOEXIST))
		return 0;
	/* Another CPU was faster, or there is no room. */
	count = bpf_map_lookup_elem(&counts, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		counted->lost++;
	return 0;
}
