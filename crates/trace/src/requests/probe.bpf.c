// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT
/* How long servers take for an answer: from the first read of a request on a TCP socket with a watched port to the begin of
 * the next write on that socket (its end, where the kernel does not tell of the begin). Summed per port, program, and whether the thread that wrote had waited for a CPU
 * meanwhile; mod.rs reads the sums.
 *
 * Tables of threads and of open requests are allocated beforehand: they are used with a run queue's lock held, and in soft
 * interrupts. */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "buckets.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define IPPROTO_MPTCP 262
#define MSG_PEEK 2
#define MSG_ERRQUEUE 0x2000
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_CLOSE 7
/* Who woke and runs within so long has not waited: that much a switch itself takes. As in the probe `sched`. */
#define WAIT_NS_MIN 10000

/* Buckets as those of crates/quantity, 32 to an octave, up to an hour and more. In step with sums.rs. */
#define SUB_BITS 5
#define BUCKETS 1216
#define LONGEST_NS 3600000000000ULL

/* In step with sums.rs. */
enum waited {
	DID_NOT_WAIT = 0,
	DID_WAIT = 1,
	IS_NOT_KNOWN = 2,
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 8);
	__type(key, __u32);
	__type(value, __u8);
} ports SEC(".maps");

/* A request that was read, by the address of its socket. */
struct unanswered {
	__u64 since_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 16);
	__type(key, __u64);
	__type(value, struct unanswered);
} open_requests SEC(".maps");

/* A thread that read or wrote on such a socket. */
struct server_thread {
	__u64 watched_ns; /* since then */
	__u64 waited_ns;  /* ready without a CPU at this time; 0: never */
	__u64 woken_ns;   /* ready without a CPU since then; 0: not known to be */
	/* The socket that it writes to, since when, and when it had last waited before that. */
	__u64 writes_to;
	__u64 writes_ns;
	__u64 waited_before_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 14);
	__type(key, __u32);
	__type(value, struct server_thread);
} threads SEC(".maps");

struct key {
	__u32 port;
	__u32 waited;
	char comm[16];
};

/* In step with sums.rs. Extremes are those of two of the reader's intervals, an even and an odd one. */
struct sums {
	__u64 count;
	__u64 sum_ns;
	__u64 interval[2];
	__u64 min_ns[2];
	__u64 max_ns[2];
	__u64 buckets[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 9);
	__type(key, struct key);
	__type(value, struct sums);
} answered SEC(".maps");

/* Nothing yet; too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sums);
} nothing SEC(".maps");

/* Number of the reader's interval, from 1 on; only the reader writes it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} interval SEC(".maps");

/* In step with sums.rs. */
struct losses {
	__u64 open;     /* no room for another open request */
	__u64 answered; /* no room for another port and program */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct losses);
} lost SEC(".maps");

#define ADD(field, value) __sync_fetch_and_add(&(field), value)

static __always_inline struct losses *losses(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&lost, &zero);
}

/* The port of a TCP socket that is watched, else 0. */
static __always_inline __u32 watched_port(struct sock *sk)
{
	__u16 family = sk->__sk_common.skc_family;
	if (family != AF_INET && family != AF_INET6)
		return 0;
	__u16 protocol = sk->sk_protocol;
	if (protocol != IPPROTO_TCP && protocol != IPPROTO_MPTCP)
		return 0;
	__u32 port = sk->__sk_common.skc_num;
	return bpf_map_lookup_elem(&ports, &port) ? port : 0;
}

/* The thread, watched from now on; null when there is no room. */
static __always_inline struct server_thread *watch(__u32 tid, __u64 now)
{
	struct server_thread *known = bpf_map_lookup_elem(&threads, &tid);
	if (known)
		return known;
	struct server_thread fresh = { .watched_ns = now };
	bpf_map_update_elem(&threads, &tid, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&threads, &tid);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_receive, struct sock *sk, int length, int flags)
{
	/* Who only looks has not taken it; the queue of errors has no requests. */
	if (length <= 0 || flags & (MSG_PEEK | MSG_ERRQUEUE))
		return 0;
	if (!watched_port(sk))
		return 0;
	/* What a connection that was reset has left: no client waits for an answer, and on_state has seen its end. */
	if (sk->__sk_common.skc_state == TCP_CLOSE)
		return 0;
	__u64 socket = (__u64)sk;
	/* More of the same request. */
	if (bpf_map_lookup_elem(&open_requests, &socket))
		return 0;
	struct unanswered request = { .since_ns = bpf_ktime_get_ns() };
	watch((__u32)bpf_get_current_pid_tgid(), request.since_ns);
	long failed = bpf_map_update_elem(&open_requests, &socket, &request, BPF_NOEXIST);
	struct losses *lost = losses();
	if (failed && failed != -EEXIST && lost)
		lost->open++;
	return 0;
}

static __always_inline struct sums *sums_of(struct key *key)
{
	struct sums *known = bpf_map_lookup_elem(&answered, key);
	if (known)
		return known;
	__u32 zero = 0;
	struct sums *none = bpf_map_lookup_elem(&nothing, &zero);
	if (!none)
		return 0;
	bpf_map_update_elem(&answered, key, none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&answered, key);
}

static __always_inline void count(struct sums *sums, __u64 ns)
{
	__u32 zero = 0;
	__u64 *number = bpf_map_lookup_elem(&interval, &zero);
	__u32 bucket = bucket_of(ns > LONGEST_NS ? LONGEST_NS : ns, SUB_BITS);
	if (!number || bucket >= BUCKETS)
		return;
	/* Of two CPUs at the same moment one may lose its extreme; the reader holds it against the buckets. */
	__u32 half = *number & 1;
	if (sums->interval[half] != *number) {
		sums->min_ns[half] = ~0ULL;
		sums->max_ns[half] = 0;
		sums->interval[half] = *number;
	}
	if (ns < sums->min_ns[half])
		sums->min_ns[half] = ns;
	if (ns > sums->max_ns[half])
		sums->max_ns[half] = ns;
	ADD(sums->sum_ns, ns);
	ADD(sums->buckets[bucket], 1);
	ADD(sums->count, 1);
}

/* For each piece of a write. Who is woken by it, over the loopback interface, may take the writer's CPU at once; that is
 * no part of the answer. */
SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(on_piece, struct sock *sk)
{
	if (!watched_port(sk))
		return 0;
	/* Also while no request is open: one that is read while this write is blocked is not answered by it. */
	__u64 socket = (__u64)sk;
	__u64 now = bpf_ktime_get_ns();
	struct server_thread *thread = watch((__u32)bpf_get_current_pid_tgid(), now);
	if (!thread || thread->writes_to == socket)
		return 0;
	thread->writes_to = socket;
	thread->writes_ns = now;
	thread->waited_before_ns = thread->waited_ns;
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *sk, int length, int flags)
{
	__u32 port = watched_port(sk);
	if (!port)
		return 0;
	__u64 end_ns = bpf_ktime_get_ns();
	__u64 waited_ns = 0, writes_ns = 0;
	/* Watched before its first request is read, so that it is known whether it waits. */
	struct server_thread *thread = watch((__u32)bpf_get_current_pid_tgid(), end_ns);
	__u64 socket = (__u64)sk;
	if (thread) {
		waited_ns = thread->waited_ns;
		writes_ns = thread->writes_to == socket ? thread->writes_ns : 0;
		thread->writes_to = 0;
	}
	if (length <= 0)
		return 0;
	struct unanswered *request = bpf_map_lookup_elem(&open_requests, &socket);
	if (!request)
		return 0;
	__u64 since_ns = request->since_ns;
	/* Another thread read it after this write had begun, or ended: it waits for another write. */
	if (end_ns < since_ns || (writes_ns && writes_ns < since_ns))
		return 0;
	if (thread && writes_ns >= since_ns) {
		end_ns = writes_ns;
		waited_ns = thread->waited_before_ns;
	}
	/* Of two threads that write at the same moment, one answers. */
	if (bpf_map_delete_elem(&open_requests, &socket))
		return 0;
	struct key key = { .port = port, .waited = IS_NOT_KNOWN };
	if (thread && thread->watched_ns <= since_ns)
		key.waited = waited_ns >= since_ns ? DID_WAIT : DID_NOT_WAIT;
	struct task_struct *task = bpf_get_current_task_btf();
	BPF_CORE_READ_STR_INTO(&key.comm, task, group_leader, comm);
	struct sums *sums = sums_of(&key);
	if (sums) {
		count(sums, end_ns - since_ns);
		return 0;
	}
	struct losses *lost = losses();
	if (lost)
		lost->answered++;
	return 0;
}

/* Its address may be the next socket's. A connection that begins has no request, whatever became of the one before. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, const struct sock *sk, int before, int after)
{
	__u64 socket = (__u64)sk;
	if (after == TCP_CLOSE || after == TCP_SYN_RECV || after == TCP_SYN_SENT)
		bpf_map_delete_elem(&open_requests, &socket);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 leaves = prev->pid, comes = next->pid;
	/* Preempted: it could have gone on. */
	if (leaves && (preempt || !prev->__state)) {
		struct server_thread *thread = bpf_map_lookup_elem(&threads, &leaves);
		if (thread) {
			thread->waited_ns = bpf_ktime_get_ns();
			/* Ready since then: a request that another thread reads meanwhile has it wait as well. */
			thread->woken_ns = thread->waited_ns;
		}
	}
	struct server_thread *thread = comes ? bpf_map_lookup_elem(&threads, &comes) : 0;
	if (!thread)
		return 0;
	__u64 woken_ns = thread->woken_ns;
	thread->woken_ns = 0;
	/* It woke while the CPU had others to run. One that had to be woken up itself kept no task waiting. */
	__u64 now = bpf_ktime_get_ns();
	if (woken_ns && leaves && now - woken_ns >= WAIT_NS_MIN)
		thread->waited_ns = now;
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	__u32 tid = task->pid;
	struct server_thread *thread = bpf_map_lookup_elem(&threads, &tid);
	if (thread)
		thread->woken_ns = bpf_ktime_get_ns();
	return 0;
}

/* Its number may be the next thread's. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u32 tid = task->pid;
	bpf_map_delete_elem(&threads, &tid);
	return 0;
}
