//! Why I/O cannot be traced.

use std::path::PathBuf;

/// A trace that cannot be taken as asked.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Capabilities are missing.
    #[error(
        "tracing needs {}, which this process lacks; run it with sudo, or once: sudo setcap cap_bpf,cap_perfmon,cap_syslog+ep $(command -v iodyno)",
        .missing.join(" and ")
    )]
    Privilege {
        /// Their names.
        missing: Vec<&'static str>,
    },
    /// The kernel does not describe its types.
    #[error(
        "failed to read the kernel's types (BTF) from {path}: {why}; a kernel with CONFIG_DEBUG_INFO_BTF=y is needed (every distribution's since 2021)"
    )]
    NoBtf {
        /// Where they should be.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A tracepoint that nothing replaces is not there.
    #[error("this kernel has no tracepoint {tracepoint}, without which {loss}; Linux {since} or newer is needed")]
    NoTracepoint {
        /// Its name.
        tracepoint: &'static str,
        /// What cannot be done.
        loss: &'static str,
        /// The first version that has it, or that its probe runs on.
        since: &'static str,
    },
    /// The kernel refused a program or a map.
    #[error("the kernel refused the probe: {why}{}", log_text(.log))]
    Refused {
        /// From the loader.
        why: String,
        /// The verifier's and libbpf's last lines.
        log: String,
    },
    /// The kernel is too old.
    #[error("this kernel is Linux {release}; probes need Linux 5.12 or newer")]
    TooOld {
        /// From uname.
        release: String,
    },
    /// The kernel refused for want of permission although the capabilities are there.
    #[error(
        "the kernel refused to load the probe ({why}); is it locked down (cat /sys/kernel/security/lockdown), or does a container or security module forbid bpf()?"
    )]
    Forbidden {
        /// From the loader.
        why: String,
    },
    /// The kernel's own tracer cannot be used either.
    #[error(
        "cannot trace through ftrace: failed to {action} {path}: {why}; root is needed, and tracefs (mount -t tracefs tracefs /sys/kernel/tracing)"
    )]
    NoFtrace {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// Not a block device.
    #[error("{name} is no block device of this machine{}", known_text(.known))]
    UnknownDevice {
        /// As given.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A filter or size that cannot be.
    #[error("{0}")]
    Parameter(String),
    /// A thread could not be started, or died.
    #[error("the trace's consumer {0}")]
    Consumer(String),
    /// Rows could not be made.
    #[error(transparent)]
    Recording(#[from] recording::RecordingError),
}

fn log_text(log: &str) -> String {
    if log.is_empty() { String::new() } else { format!("\n{}", log.trim_end()) }
}

fn known_text(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!("; there are: {}", known.join(", ")) }
}

impl TraceError {
    /// Is a privilege or a kernel feature missing?
    #[must_use]
    pub fn is_privilege(&self) -> bool {
        matches!(
            self,
            Self::Privilege { .. }
                | Self::NoBtf { .. }
                | Self::NoTracepoint { .. }
                | Self::TooOld { .. }
                | Self::Forbidden { .. }
                | Self::NoFtrace { .. }
                | Self::Refused { .. }
        )
    }

    /// Did the user ask for something that cannot be?
    #[must_use]
    pub fn is_parameter(&self) -> bool {
        matches!(self, Self::UnknownDevice { .. } | Self::Parameter(_))
    }
}
