//! Closed sets of names that stand in text columns: the kinds and severities of events, the phases of a run.
//!
//! Writers use the variants, so that no name is spelled twice; readers compare variants. A name of another version of
//! iodyno becomes `Other`, and is written as it was read.

use crate::RecordingError;
use crate::cell::{CellType, cut, mismatch};
use crate::label::Label;
use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray as _;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

macro_rules! stored_names {
    ($( #[doc = $help:literal] $names:ident { $( #[doc = $name_help:literal] $variant:ident = $name:literal; )* } )*) => {$(
        #[doc = $help]
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum $names {
            $( #[doc = $name_help] $variant, )*
            /// A name that this version of iodyno does not know.
            Other(Label),
        }

        impl $names {
            /// The names that this version knows.
            pub const ALL: &[Self] = &[$( Self::$variant ),*];

            /// The name as it is stored and shown.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $name, )*
                    Self::Other(name) => name,
                }
            }
        }

        impl From<&str> for $names {
            fn from(name: &str) -> Self {
                match name {
                    $( $name => Self::$variant, )*
                    other => Self::Other(Label::from(other)),
                }
            }
        }

        /// No name, as in a recording that does not have the column.
        impl Default for $names {
            fn default() -> Self {
                Self::Other(Label::default())
            }
        }

        /// Names stand in the order of their letters.
        impl Ord for $names {
            fn cmp(&self, other: &Self) -> Ordering {
                self.as_str().cmp(other.as_str())
            }
        }

        impl PartialOrd for $names {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl fmt::Display for $names {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.pad(self.as_str())
            }
        }

        impl serde::Serialize for $names {
            fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $names {
            fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                Ok(Self::from(<String as serde::Deserialize>::deserialize(input)?.as_str()))
            }
        }

        impl CellType for $names {
            const TYPE: &'static str = <String as CellType>::TYPE;
            fn fields(name: &str, out: &mut Vec<Field>) {
                out.push(Field::new(name, DataType::Utf8, false));
            }
            fn arrays<'a>(values: impl Iterator<Item = &'a Self> + Clone, out: &mut Vec<ArrayRef>) {
                let mut builder = StringBuilder::new();
                values.for_each(|value| builder.append_value(cut(value.as_str())));
                out.push(Arc::new(builder.finish()));
            }
            fn read(batch: &RecordBatch, table: &'static str, name: &str) -> Result<Vec<Self>, RecordingError> {
                let Some(column) = batch.column_by_name(name) else { return Ok(vec![Self::default(); batch.num_rows()]) };
                let column = column.as_string_opt::<i32>().ok_or_else(|| mismatch(table, name, Self::TYPE))?;
                Ok(column.iter().map(|value| value.map(Self::from).unwrap_or_default()).collect())
            }
        }
    )*};
}

stored_names! {
    /// How serious an event is.
    EventSeverity {
        /// It is good to know.
        Info = "info";
        /// A figure may be wrong or missing.
        Warning = "warning";
        /// Something failed.
        Error = "error";
    }

    /// What an event is: the column `kind` of the table `event`.
    EventKind {
        /// Operations were due and waited for submission when the run ended.
        Backlog = "backlog";
        /// A target's page cache could not be left out.
        Cache = "cache";
        /// The wall clock was set.
        ClockStep = "clock_step";
        /// A command of the plan ended.
        Command = "command";
        /// What a command of the plan wrote.
        CommandOutput = "command_output";
        /// Counters of the machine went or came back.
        Counters = "counters";
        /// The search for the highest rate ended early.
        CurveStopped = "curve_stopped";
        /// Data that was read is not what was written, or what was proved of it.
        Data = "data";
        /// A job ended because its device was full.
        DeviceFull = "device_full";
        /// Samples had no room on the disk.
        DiskFull = "disk full";
        /// How the engine does the I/O of a run.
        Engine = "engine";
        /// A run was stopped because too many operations failed.
        ErrorsMax = "errors_max";
        /// A job went on after operations that failed.
        ErrorsPassed = "errors_passed";
        /// How much a replay is like its trace.
        Fidelity = "fidelity";
        /// What the flight recorder did.
        Flight = "flight";
        /// What was made of files or trees before they are measured, or could not be written out.
        Format = "format";
        /// Operations that synchronise files.
        Fsync = "fsync";
        /// Samples were due while the collector did not run.
        Gap = "gap";
        /// A remark of an import.
        Import = "import";
        /// Where imported rows come from.
        Imported = "imported";
        /// One operation failed.
        IoError = "io_error";
        /// Operations of a run failed.
        IoErrors = "io_errors";
        /// A job ended with an error.
        JobError = "job_error";
        /// A job ended, and others with it.
        JobExit = "job_exit";
        /// A message of the kernel.
        Kernel = "kernel";
        /// Lines of a job's log were not kept.
        LogLost = "log_lost";
        /// What is known of the marks on a target.
        Mark = "mark";
        /// A job ended because an operation took too long.
        MaxLatency = "max_latency";
        /// An objective that was not met or not known.
        Objective = "objective";
        /// What the engine itself costs.
        EngineOverhead = "own_cost";
        /// iodyno itself did not run for a time.
        Paused = "paused";
        /// Targets were read before a run.
        PreRead = "pre_read";
        /// What a probe in the kernel can and cannot see.
        Probe = "probe";
        /// What a probe in the kernel saw and could not count.
        ProbeLost = "probe_lost";
        /// A recording of the collector was removed by another program.
        RecordingRemoved = "recording removed";
        /// What a replay does otherwise than its trace.
        Replay = "replay";
        /// What the collector removed, thinned or sealed.
        Retention = "retention";
        /// The seed of the plan.
        Seed = "seed";
        /// Workloads did not get the shares that were asked for.
        Skew = "skew";
        /// A run reached its steady state.
        Steady = "steady";
        /// What is known of a target.
        Target = "target";
        /// I/Os are not in the trace.
        TraceLost = "trace_lost";
        /// The flight recorder was told of trouble.
        Trouble = "trouble";
        /// Operations did not come back until the run was given up.
        Unfinished = "unfinished";
    }

    /// Phases of a run: the column `phase` of the load's tables.
    LoadPhase {
        /// Commands are executed on the idle machine, before the load begins.
        Baseline = "baseline";
        /// New files are filled.
        Format = "format";
        /// The load runs, and no figure counts it.
        Warmup = "warmup";
        /// The load runs, and figures count it.
        Measure = "measure";
        /// iodyno itself did not run; no figure counts it.
        Paused = "paused";
        /// The load has ended, and operations still come back.
        Drain = "drain";
        /// Behind the last run, everything that was written is read once more.
        Verify = "verify";
    }

    /// How an execution of a command ended: the column `ending` of the table `command`.
    ExecutionEnding {
        /// By itself, with an exit code.
        Exited = "exited";
        /// By itself, with another exit code than 0 that was to be ignored: it counts.
        Accepted = "accepted";
        /// By a signal that iodyno did not send.
        Signalled = "signalled";
        /// iodyno ended it and all of its process group, because the run was over.
        Stopped = "stopped";
        /// It did not start: not found, not allowed, or what was to prepare it failed.
        NotStarted = "not_started";
        /// It was due, and the run was over before it could start.
        Waiting = "waiting";
    }

    /// Whether a machine lets a subject be measured: the words that the sentences of the manifest's `subjects` begin with.
    AvailabilityKind {
        /// It is measured.
        Works = "works";
        /// This kernel cannot, or this user may not.
        Unsupported = "unsupported here";
        /// Every kernel can, and here it failed.
        Broken = "broken";
        /// This machine has nothing of the kind.
        NotApplicable = "not applicable";
        /// The kernel does not keep this column.
        NotMeasured = "not measured";
    }

    /// What is missing in a recording: the names in the manifest's `losses`.
    LossName {
        /// Switches and interrupts, because a table of the probe was full.
        CpuClockTableFull = "cpu_clock_table_full";
        /// I/Os that the memory of the flight recorder could not hold.
        FlightMemoryFull = "flight_memory_full";
        /// I/Os that no interval counts.
        IoIntervalLost = "io_interval_lost";
        /// Bytes of the journal that could not be read.
        JournalUnreadable = "journal_bytes_unreadable";
        /// Requests that the probe did not see whole.
        ProbeMissed = "probe_missed";
        /// Names of files; their operations are there.
        ProbeNames = "probe_names";
        /// Operations on files that the probe could not follow.
        ProbeOperations = "probe_operations";
        /// Operations on files, because a table of the probe was full.
        ProbeTableFull = "probe_table_full";
        /// Samples whose stack found no room.
        ProfileStacksFull = "profile_stacks_full";
        /// Samples that found no room.
        ProfileTableFull = "profile_table_full";
        /// I/Os, because the buffer of the trace was full.
        TraceBufferFull = "trace_buffer_full";
        /// Names of tasks and files; their I/Os are there.
        TraceNames = "trace_names";
        /// I/Os whose records could not be read.
        TraceNotUnderstood = "trace_not_understood";
        /// I/Os whose start the probe did not see.
        TraceStartUnseen = "trace_start_unseen";
        /// I/Os, because a table of the probe was full.
        TraceTableFull = "trace_table_full";
        /// I/Os that began and of which nothing more is known.
        TraceUnaccounted = "trace_unaccounted";
    }

    /// How the command that made a recording ended: `exit` of the manifest.
    RecordingExit {
        /// A load came to its end.
        Complete = "complete";
        /// Data that was read is not what was written.
        DataWrong = "data wrong";
        /// The command failed.
        Failed = "failed";
        /// A watch came to its end.
        Fine = "fine";
        /// The rows are those of another tool.
        Imported = "imported";
        /// The user ended it.
        Interrupted = "interrupted";
        /// The program was killed; another one sealed the recording.
        Killed = "killed";
        /// A run did not meet its objectives.
        ObjectiveMissed = "objective missed";
        /// Rows are missing.
        RecordingIncomplete = "recording incomplete";
        /// Operations failed.
        TargetFailed = "target failed";
    }

    /// What happened to a phase: the column `event` of the table `phase`.
    PhaseEdge {
        /// It began.
        Start = "start";
        /// It ended.
        End = "end";
    }
}

impl AvailabilityKind {
    /// The sentence with the reason.
    #[must_use]
    pub fn because(&self, reason: impl fmt::Display) -> String {
        format!("{self}: {reason}")
    }

    /// That of a sentence.
    #[must_use]
    pub fn of(sentence: &str) -> Self {
        Self::from(sentence.split_once(": ").map_or(sentence, |(kind, _)| kind))
    }
}

impl LossName {
    /// Is it missing in a trace, or in what a flight recorder wrote? Later versions may name other losses so.
    #[must_use]
    pub fn is_of_trace(&self) -> bool {
        let name = self.as_str();
        name.starts_with("trace_") || name.starts_with("flight_")
    }

    /// Are these I/Os that a trace does not have?
    #[must_use]
    pub fn is_of_traced_ios(&self) -> bool {
        *self != Self::TraceNames && self.as_str().starts_with("trace_")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Event;
    use crate::schema::Row as _;

    #[test]
    fn each_name_is_read_as_it_is_written_and_a_name_of_another_version_as_it_is() {
        let stored = |severity: EventSeverity, kind: EventKind| Event { severity, kind, ..Event::default() };
        let mut rows: Vec<Event> =
            EventKind::ALL.iter().map(|kind| stored(EventSeverity::Warning, kind.clone())).collect();
        rows.push(stored(EventSeverity::from("fatal"), EventKind::from("of_the_next_version")));
        rows.push(Event::default());
        assert_eq!(Event::from_batch(&Event::to_batch(&rows).unwrap()).unwrap(), rows);
        assert_eq!(rows[rows.len() - 2].kind.as_str(), "of_the_next_version");
        assert!(matches!(&rows[rows.len() - 1].kind, EventKind::Other(name) if name.is_empty()));
    }

    #[test]
    fn a_loss_of_a_later_version_is_still_one_of_a_trace() {
        let counted = |name: &str| (LossName::from(name).is_of_trace(), LossName::from(name).is_of_traced_ios());
        assert_eq!(counted("trace_buffer_full"), (true, true));
        assert_eq!(counted("trace_of_the_next_version"), (true, true));
        assert_eq!(counted("trace_names"), (true, false));
        assert_eq!(counted("flight_memory_full"), (true, false));
        assert_eq!(counted("journal_bytes_unreadable"), (false, false));
    }

    #[test]
    fn a_sentence_about_a_subject_begins_with_its_kind() {
        for kind in AvailabilityKind::ALL {
            assert_eq!(AvailabilityKind::of(&kind.because("there is no /proc/pressure/cpu: gone")), *kind);
        }
        assert_eq!(AvailabilityKind::Broken.because("no"), "broken: no");
        assert_eq!(AvailabilityKind::of("works"), AvailabilityKind::Works);
        assert_eq!(AvailabilityKind::of("later: a reason").as_str(), "later");
    }

    #[test]
    fn names_are_text_in_columns_in_order_and_in_words() {
        assert_eq!(Event::TABLE.columns.iter().find(|column| column.name == "kind").unwrap().type_name, "text");
        assert!(LoadPhase::Drain < LoadPhase::Format && LoadPhase::Format < LoadPhase::from("g"));
        assert_eq!(format!("{:<7}|", EventSeverity::Info), "info   |");
        assert_eq!(serde_json::json!(LoadPhase::Warmup), "warmup");
        for (text, exit) in [("killed", RecordingExit::Killed), ("later", RecordingExit::from("later"))] {
            assert_eq!(serde_json::from_value::<RecordingExit>(text.into()).unwrap(), exit);
        }
        for phase in LoadPhase::ALL {
            assert_eq!(LoadPhase::from(phase.as_str()), *phase);
        }
    }
}
