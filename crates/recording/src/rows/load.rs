//! What the load engine and a replay measured, and what happened meanwhile.

use crate::cell::SizeHistogram;
use crate::label::Label;
use crate::schema::tables;
use crate::stored_names::{EventKind, EventSeverity, ExecutionEnding, LoadPhase, PhaseEdge};
use quantity::histogram::Histogram;

tables! {
    /// One interval of one workload on one target, per operation.
    OpInterval = "op_interval" from "the load engine" since 1 rows PerInterval {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Measured length of the interval.
        interval_ns: i64, "ns", Gauge;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge in key;
        /// `format`, `warmup`, `measure`, `paused` (iodyno itself did not run: no figure counts it) or `drain`.
        phase: LoadPhase, "", Name in key;
        /// Workload.
        workload: String, "", Name in key;
        /// Target.
        target: String, "", Name in key;
        /// `read`, `write`, `trim` or `flush`; in a tree of files any of the operations in docs/files.md (`create`, `open`, `append`, `fsync`, …).
        op: String, "", Name in key;
        /// Operations that became due; null when the source of an import did not count them.
        arrivals: Option<i64>, "op", Gauge;
        /// Operations completed.
        ops: i64, "op", Gauge;
        /// Bytes moved by them.
        bytes: i64, "bytes", Gauge;
        /// Operations that failed, not in `ops`; null when the source of an import did not count them.
        errors: Option<i64>, "op", Gauge;
        /// Completion − arrival.
        response: Histogram, "ns", Histogram;
        /// Completion − submission.
        service: Histogram, "ns", Histogram;
        /// Submission − arrival, of what was submitted in the interval; null in imports and in recordings from before it was kept by workload.
        wait: Option<Histogram>, "ns", Histogram;
        /// Mean number in flight, by integral over the interval.
        in_flight_mean: Option<f64>, "op", Gauge;
        /// Arrived and not submitted at the end of the interval.
        backlog: Option<i64>, "op", Gauge;
    }

    /// What the logs of fio's jobs are made of (`write_bw_log` and its kin, `--status-interval`): as `op_interval`, in intervals as short as they ask for, of the measured phase and what came back behind it. Only of jobs that ask for it (docs/fio-output.md).
    LogInterval = "log_interval" from "the load engine" since 1 rows PerInterval {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Measured length of the interval.
        interval_ns: i64, "ns", Gauge;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge in key;
        /// Workload.
        workload: String, "", Name in key;
        /// Target.
        target: String, "", Name in key;
        /// `read`, `write`, `trim` or `flush`.
        op: String, "", Name in key;
        /// Operations completed.
        ops: i64, "op", Gauge;
        /// Bytes moved by them.
        bytes: i64, "bytes", Gauge;
        /// Operations that failed, not in `ops`.
        errors: i64, "op", Gauge;
        /// Completion − arrival.
        response: Histogram, "ns", Histogram;
        /// Completion − submission.
        service: Histogram, "ns", Histogram;
        /// Submission − arrival, of what was submitted in the interval.
        wait: Histogram, "ns", Histogram;
    }

    /// Every operation of fio's jobs that ask for a log with a line of each (`write_lat_log` and its kin without `log_avg_msec`), of the measured phase and what came back behind it; flushes and failures are not in it. What could not be kept is an event of the kind `log_lost`.
    LogIo = "log_io" from "the load engine" since 1 rows Once {
        /// Completion.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge;
        /// Workload.
        workload: Label, "", Name;
        /// Target.
        target: Label, "", Name;
        /// `read`, `write` or `trim`.
        op: Label, "", Name;
        /// Where on the target.
        offset: i64, "bytes", Gauge;
        /// How much.
        bytes: i64, "bytes", Gauge;
        /// Completion − arrival.
        response_ns: i64, "ns", Gauge;
        /// Completion − submission.
        service_ns: i64, "ns", Gauge;
        /// Priority that it was sent with, as in `ioprio_set(2)`, where that is not its job's (`cmdprio_percentage`); null otherwise, and in recordings from before it was kept.
        priority: Option<i32>, "", Gauge;
    }

    /// Exact totals of one phase of one run, per workload, target and operation, at full resolution.
    RunTotal = "run_total" from "the load engine" since 1 rows Once {
        /// End of the phase's last interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Start of the phase's first interval.
        start_t_ns: i64, "ns", Time;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge;
        /// `format`, `warmup`, `measure`, `paused` (iodyno itself did not run: no figure counts it) or `drain`.
        phase: LoadPhase, "", Name;
        /// Workload.
        workload: String, "", Name;
        /// Target.
        target: String, "", Name;
        /// `read`, `write`, `trim` or `flush`; in a tree of files any of the operations in docs/files.md (`create`, `open`, `append`, `fsync`, …).
        op: String, "", Name;
        /// Operations that became due; null when the source of an import did not count them.
        arrivals: Option<i64>, "op", Gauge;
        /// Operations completed.
        ops: i64, "op", Gauge;
        /// Bytes moved by them.
        bytes: i64, "bytes", Gauge;
        /// Operations that failed, not in `ops`; null when the source of an import did not count them.
        errors: Option<i64>, "op", Gauge;
        /// Completion − arrival.
        response: Histogram, "ns", Histogram;
        /// Completion − submission.
        service: Histogram, "ns", Histogram;
        /// Of the errors, transfers that moved less than was asked; null where `errors` is, and in recordings from before it was kept.
        short: Option<i64>, "op", Gauge;
        /// Number of the first error (errno; 5, EIO, for a transfer that was too short); null without one, and where it was not kept.
        first_error: Option<i32>, "", Gauge;
        /// When it came back.
        first_error_t_ns: Option<i64>, "ns", Time;
        /// Submission − arrival, of what was submitted in the phase; null in imports and in recordings from before it was kept by workload.
        wait: Option<Histogram>, "ns", Histogram;
    }

    /// Steps of operations in trees, in one interval, of one workload in one tree, per kind: what the operations that were asked for needed besides, such as the open and close around reads and writes, or the reads and writes of a copy. They are in no other table, and in no sum of operations or bytes.
    StepInterval = "step_interval" from "the load engine" since 1 rows PerInterval {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Measured length of the interval.
        interval_ns: i64, "ns", Gauge;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge in key;
        /// `format`, `warmup`, `measure`, `paused` or `drain`, as in `op_interval`.
        phase: LoadPhase, "", Name in key;
        /// Workload.
        workload: String, "", Name in key;
        /// Name of the tree.
        target: String, "", Name in key;
        /// What kind of step: `read`, `write`, `create`, `delete`, `open`, `close`, or another one that an operation needed besides.
        op: String, "", Name in key;
        /// Steps completed.
        ops: i64, "op", Gauge;
        /// Bytes moved by them.
        bytes: i64, "bytes", Gauge;
        /// Steps that failed, not in `ops`.
        errors: i64, "op", Gauge;
        /// Completion − submission.
        service: Histogram, "ns", Histogram;
    }

    /// Exact totals of the steps of one phase of one run, per workload, tree and kind, at full resolution; what steps are: `step_interval`.
    StepTotal = "step_total" from "the load engine" since 1 rows Once {
        /// End of the phase's last interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Start of the phase's first interval.
        start_t_ns: i64, "ns", Time;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge;
        /// `format`, `warmup`, `measure`, `paused` or `drain`, as in `run_total`.
        phase: LoadPhase, "", Name;
        /// Workload.
        workload: String, "", Name;
        /// Name of the tree.
        target: String, "", Name;
        /// What kind of step: `read`, `write`, `create`, `delete`, `open`, `close`, or another one that an operation needed besides.
        op: String, "", Name;
        /// Steps completed.
        ops: i64, "op", Gauge;
        /// Bytes moved by them.
        bytes: i64, "bytes", Gauge;
        /// Steps that failed, not in `ops`.
        errors: i64, "op", Gauge;
        /// Completion − submission.
        service: Histogram, "ns", Histogram;
    }

    /// What of a run had no end when it was given up, per workload, target and operation; a row for each of them, with 0 and empty histograms where everything came back. All ages are lower bounds of the times that the operations would have had (docs/honest-time.md).
    RunEnd = "run_end" from "the load engine" since 1 rows Once {
        /// When waiting for the target ended.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// When the load ended: nothing became due from then on.
        end_t_ns: i64, "ns", Time;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge;
        /// The phase in which the load ended, which these operations and those of `drain` belong to: `format`, `warmup`, `measure` or `paused`.
        phase: LoadPhase, "", Name;
        /// Workload.
        workload: String, "", Name;
        /// Target.
        target: String, "", Name;
        /// `read`, `write`, `trim` or `flush`; in a tree of files any of the operations in docs/files.md (`create`, `open`, `append`, `fsync`, …).
        op: String, "", Name;
        /// Operations that were submitted and had not come back at `t_ns`.
        in_flight: i64, "op", Gauge;
        /// Operations that were due and were never submitted.
        waiting: i64, "op", Gauge;
        /// Of those in flight: `t_ns` − arrival.
        in_flight_age: Histogram, "ns", Histogram;
        /// Of those in flight: `t_ns` − submission.
        in_flight_service_age: Histogram, "ns", Histogram;
        /// Of those that were never submitted: `end_t_ns` − arrival.
        waiting_age: Histogram, "ns", Histogram;
    }

    /// What one worker of the load engine did and cost in one interval.
    EngineInterval = "engine_interval" from "the load engine" since 1 rows PerInterval {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Measured length of the interval.
        interval_ns: i64, "ns", Gauge;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge in key;
        /// Number of the worker.
        worker: i32, "", Gauge in key;
        /// `io_uring` or `sync`.
        engine: String, "", Name;
        /// CPU time in user mode.
        cpu_user_ns: i64, "ns", Gauge;
        /// CPU time in the kernel.
        cpu_sys_ns: i64, "ns", Gauge;
        /// Context switches, of its own will and not; null of a synchronous crew.
        context_switches: Option<i64>, "", Gauge;
        /// Page faults without I/O; of a synchronous crew those of the process.
        minor_faults: Option<i64>, "", Gauge;
        /// Page faults with I/O; the same.
        major_faults: Option<i64>, "", Gauge;
        /// Submission − arrival, of all workloads that it served: what the generator added before the kernel had the request.
        wait: Histogram, "ns", Histogram;
        /// Greatest age of a time stamp that served a batch.
        timestamp_age_ns_max: i64, "ns", Gauge;
        /// System calls that submitted or waited.
        submit_calls: i64, "", Gauge;
        /// Times that the worker slept and was woken.
        wakeups: i64, "", Gauge;
        /// Was the generator itself the limit?
        limited: bool, "", Gauge;
    }

    /// One interval of one job (a workload with slots of its own, as each of fio's is), beside its operations: a row where something was issued or came back, or the job began or ended.
    JobInterval = "job_interval" from "the load engine" since 1 rows PerInterval {
        /// End of the interval.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Measured length of the interval.
        interval_ns: i64, "ns", Gauge;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge in key;
        /// `warmup`, `measure`, `paused` or `drain`, as in `op_interval`.
        phase: LoadPhase, "", Name in key;
        /// Workload.
        workload: String, "", Name in key;
        /// When the job began; null until then.
        began_t_ns: Option<i64>, "ns", Time;
        /// When it had come to an end of its own and all that it had issued had come back; null until then, and when the run's end ended it.
        ended_t_ns: Option<i64>, "ns", Time;
        /// Operations in flight when one was issued, itself included: a value for each that was issued.
        depth: SizeHistogram, "op", Histogram;
        /// Operations of the job that were handed over with one system call: a value for each time.
        submitted: SizeHistogram, "op", Histogram;
        /// Operations of the job that were found to have come back together: a value for each time.
        completed: SizeHistogram, "op", Histogram;
    }

    /// One execution of a command (`cmd=`, `run -- COMMAND`, `record -- COMMAND`), with what it and the children that it waited for used, by the kernel's account at its end.
    CommandExecution = "command" from "the load engine and `record`" since 1 rows Once {
        /// When it ended, or was given up.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Title of the run; empty for `record`.
        run: String, "", Name;
        /// Position of the run in the order of execution; 0 for `record`.
        run_index: i32, "", Gauge;
        /// `baseline` (on the idle machine, before the load), `warmup`, `measure`, or `paused` (iodyno itself did not run meanwhile: no figure counts it).
        phase: LoadPhase, "", Name;
        /// Workload: the command's name.
        workload: Label, "", Name;
        /// The command line.
        line: Label, "", Text;
        /// Number of the execution in its phase, from 1.
        number: i64, "", Gauge;
        /// When it was due.
        due_t_ns: i64, "ns", Time;
        /// When it was started; null when it was not.
        start_t_ns: Option<i64>, "ns", Time;
        /// `exited`, `accepted` (exited with a code other than 0 that was to be ignored), `signalled`, `stopped` (by iodyno, because the run was over), `not_started` or `waiting` (for the execution before, when the run was over).
        ending: ExecutionEnding, "", Name;
        /// Exit code; null when there is none.
        exit_code: Option<i32>, "", Gauge;
        /// Number of the signal that ended it; null when none did.
        signal: Option<i32>, "", Gauge;
        /// End − start: its real time; null when it did not start. Of one that was stopped, a lower bound.
        real_ns: Option<i64>, "ns", Gauge;
        /// CPU time in user mode.
        user_ns: Option<i64>, "ns", Gauge;
        /// CPU time in the kernel.
        sys_ns: Option<i64>, "ns", Gauge;
        /// Greatest resident memory of one of its processes; null where that is no more than what the process that starts it has, about 4 MB, which the kernel counts with it.
        max_rss_bytes: Option<i64>, "bytes", Gauge;
        /// Bytes that it had storage read; null where the kernel does not say.
        read_bytes: Option<i64>, "bytes", Gauge;
        /// Bytes that it made dirty for storage, less those that were dropped before they were written; the same.
        write_bytes: Option<i64>, "bytes", Gauge;
        /// Bytes that its calls read, caches and pipes included; the same.
        read_call_bytes: Option<i64>, "bytes", Gauge;
        /// Bytes that its calls wrote; the same.
        write_call_bytes: Option<i64>, "bytes", Gauge;
        /// Page faults without I/O.
        minor_faults: Option<i64>, "", Gauge;
        /// Page faults with I/O.
        major_faults: Option<i64>, "", Gauge;
        /// Context switches of its own will.
        voluntary_switches: Option<i64>, "", Gauge;
        /// Context switches not of its own will.
        involuntary_switches: Option<i64>, "", Gauge;
        /// Bytes that it wrote to standard output and standard error; what is kept of them is in `commands.log`. Null where iodyno does not see them.
        output_bytes: Option<i64>, "bytes", Gauge;
        /// Processes of its group that were still there when it had ended, and were ended with it; null where this is not looked at.
        left_behind: Option<i64>, "", Gauge;
        /// Why it did not start, or what else went wrong; empty when nothing did.
        error: String, "", Text;
    }

    /// Start or end of a phase of a run.
    Phase = "phase" from "the session" since 1 rows Once {
        /// When.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge;
        /// `format`, `warmup` or `measure`.
        phase: LoadPhase, "", Name;
        /// `start` or `end`.
        event: PhaseEdge, "", Name;
        /// Arrivals per second that are asked for, of the run or by all its workloads together; null at full speed.
        offered_rate: Option<f64>, "op/s", Gauge;
        /// Loop variables, `name=value name=value`.
        detail: String, "", Text;
    }

    /// What a run had to achieve, and what came of it.
    Objective = "objective" from "the session" since 1 rows Once {
        /// When it was judged: at the end of the run, or of the command.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge;
        /// The condition that must not come true (docs/objectives.md).
        condition: String, "", Text;
        /// `met`, `missed`, `undecided` (operations have no end, or the run was cut short or never began: not met) or `not judged`.
        verdict: String, "", Name;
        /// What was measured, in a sentence.
        sentence: String, "", Text;
    }

    /// One line of the comparison of a replay with its trace (docs/replay.md).
    Fidelity = "fidelity" from "a replay" since 1 rows Once {
        /// When it was compared.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge;
        /// What is compared.
        measure: String, "", Name;
        /// Unit of the figures; `r` is a correlation.
        unit: String, "", Name;
        /// In the trace; null where it has none.
        source: Option<f64>, "", Gauge;
        /// In the replay.
        replay: Option<f64>, "", Gauge;
        /// Difference, distance or error.
        error: Option<f64>, "", Gauge;
        /// How large that may be (a correlation: how small).
        limit: Option<f64>, "", Gauge;
        /// Was it kept? Null: not judged.
        kept: Option<bool>, "", Gauge;
    }

    /// One second of a replay beside its trace, both by the kernel's account (docs/replay.md).
    FidelityInterval = "fidelity_interval" from "a replay" since 1 rows PerInterval {
        /// End of the second.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// Length: a second.
        interval_ns: i64, "ns", Gauge;
        /// Title of the run.
        run: String, "", Name;
        /// Position of the run in the order of execution.
        run_index: i32, "", Gauge in key;
        /// I/Os that the trace has here, at the replay's speed.
        source_ios: i64, "", Gauge;
        /// I/Os that the replay had.
        replay_ios: i64, "", Gauge;
        /// Bytes that the trace has here.
        source_bytes: i64, "bytes", Gauge;
        /// Bytes that the replay had.
        replay_bytes: i64, "bytes", Gauge;
        /// Of I/Os due here: the kernel's queueing − due.
        late: Histogram, "ns", Histogram;
        /// Response times in the trace.
        source_response: Histogram, "ns", Histogram;
        /// Response times in the replay.
        replay_response: Histogram, "ns", Histogram;
    }

    /// Something that happened once.
    Event = "event" from "the part of iodyno that saw it" since 1 rows Once with unscraped {
        /// When.
        t_ns: i64, "ns", Time;
        /// The same since the recording's start.
        t_s: f64, "s", Time;
        /// `info`, `warning` or `error`.
        severity: EventSeverity, "", Name;
        /// Short name of what it was.
        kind: EventKind, "", Name;
        /// Of a message of the kernel (kind `kernel`) what it tells of: `link_down`, `link_up`, `path_failed`, `path_restored`, `io_error`, `io_timeout`, `device_gone`, `swap_error`, `oom`, `hung_task`, `lockup`, `filesystem_error`, `filesystem_readonly`, `machine_check`, …, or `other` (the list: `crates/kernel_message/src/kernel_messages.txt`). Of iodyno itself: `kernel_log_unread` (kind `counters`), `failures_uncounted` (kind `probe`) and `flight_dump` (kind `flight`). Null for all others, and in older recordings.
        class: Option<Label>, "", Name;
        /// Title of the run, when it belongs to one.
        run: Option<String>, "", Name;
        /// Target, when it belongs to one.
        target: Option<String>, "", Name;
        /// In words.
        message: String, "", Text;
        /// How often.
        count: i64, "", Gauge;
    }
}
