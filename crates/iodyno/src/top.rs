//! `iodyno top`.

use crate::diagnose::read_thresholds;
use crate::exit::{Failure, INTERRUPTED, PARAMETERS};
use crate::open::{over, verified};
use crate::run::{WATCHED_MIN_NS, interval, watch_signals};
use crate::top_args::TopArgs;
use findings::Thresholds;
use session::{LiveRequest, StopFlag, TopOf, TopRequest};
use signal_hook::consts::SIGHUP;
use signal_hook::iterator::Signals;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Shows the page; gives the exit code.
pub(crate) fn run(args: &TopArgs, command_line: &[String]) -> Result<u8, Failure> {
    let interval_ns = interval(&args.interval, "--interval", WATCHED_MIN_NS)?;
    let thresholds = args.thresholds.as_deref().map(read_thresholds).transpose()?.unwrap_or_else(Thresholds::default);
    let once = if args.once { Some(size(&args.size)?) } else { None };
    if once.is_none() && !tui::top::has_terminal() {
        return Err(Failure::new(
            PARAMETERS,
            "top needs a terminal that can place text (standard output is none, or TERM is dumb); \
             `iodyno top --once` prints the page as text, `iodyno stat` shows counters line by line, \
             `iodyno diagnose --live` says what is wrong",
        ));
    }
    let mut damaged = 0;
    let of = match (&args.recording, &args.attach) {
        (Some(path), _) => {
            damaged = verified(path)?.1;
            TopOf::Recorded(path.clone())
        }
        (None, Some(place)) => match remote(place) {
            Some((host, directory)) => return over_ssh(host, directory, args),
            None => TopOf::Attached(PathBuf::from(place)),
        },
        (None, None) => {
            TopOf::Live(LiveRequest { interval_ns, probes: !args.no_probes, command_line: command_line.to_vec() })
        }
    };
    let stop = StopFlag::default();
    watch_signals(&stop)?;
    end_with_the_terminal()?;
    if once.is_none() {
        crate::allocator::takes_terminal();
    }
    let request = TopRequest { of, thresholds, once, directory: PathBuf::from(".") };
    let by_signal = session::top(request, &stop)?;
    Ok(over(if by_signal { INTERRUPTED } else { 0 }, damaged))
}

/// Ends the process when its terminal was closed and it has not noticed for three seconds: a terminal that goes away while
/// crossterm looks at it is read over and over, and there is nothing that would be lost.
fn end_with_the_terminal() -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::new(1, format!("failed to watch signals: {error}"));
    let mut hang_ups = Signals::new([SIGHUP]).map_err(failed)?;
    let wait = move || {
        if hang_ups.forever().next().is_some() {
            std::thread::sleep(Duration::from_secs(3));
            signal_hook::low_level::exit(INTERRUPTED.into());
        }
    };
    std::thread::Builder::new().name("hang-up".to_string()).spawn(wait).map_err(failed)?;
    Ok(())
}

/// Host and directory of `host:/directory`; a path that is here is no host.
fn remote(place: &str) -> Option<(&str, &str)> {
    let (host, directory) = place.split_once(':')?;
    let is_host = !host.is_empty() && !host.contains('/') && !host.starts_with('-') && !directory.is_empty();
    (is_host && !Path::new(place).exists()).then_some((host, directory))
}

/// Becomes ssh, which runs `iodyno top` on the other host, on this terminal.
fn over_ssh(host: &str, directory: &str, args: &TopArgs) -> Result<u8, Failure> {
    if let Some(path) = &args.thresholds {
        let why = format!(
            "--thresholds {} is a file of this host, and findings are judged on {host}: copy it there and run \
             `ssh -t {host} iodyno top --attach {} --thresholds FILE`",
            path.display(),
            quoted(directory)
        );
        return Err(Failure::new(PARAMETERS, why));
    }
    let mut line = format!("iodyno top --attach {}", quoted(directory));
    if args.once {
        line.push_str(&format!(" --once --size {}", quoted(&args.size)));
    }
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        line.insert_str(0, "NO_COLOR=1 ");
    }
    // Given back only when it could not be started.
    let error = Command::new("ssh").args(["-t", host, "--", &line]).exec();
    Err(Failure::new(PARAMETERS, format!("failed to start ssh: {error}")))
}

/// One word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// `160x50`.
fn size(text: &str) -> Result<(u16, u16), Failure> {
    let wrong =
        || Failure::new(PARAMETERS, format!("--size {text}: write COLUMNSxROWS, like 160x50; 60x16 is the least"));
    let (columns, rows) = text.split_once(['x', '×']).ok_or_else(wrong)?;
    let (columns, rows) = (columns.parse().map_err(|_| wrong())?, rows.parse().map_err(|_| wrong())?);
    if columns < 60 || rows < 16 || columns > 1000 || rows > 500 { Err(wrong()) } else { Ok((columns, rows)) }
}

#[cfg(test)]
mod tests {
    use super::{quoted, remote, size};

    #[test]
    fn hosts_and_paths() {
        assert_eq!(remote("db7:/var/lib/iodyno"), Some(("db7", "/var/lib/iodyno")));
        assert_eq!(remote("me@db7:days"), Some(("me@db7", "days")));
        for local in ["/var/lib/iodyno", "./a:b", "-oProxyCommand=x:y", ":x", "db7:"] {
            assert_eq!(remote(local), None, "{local}");
        }
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }

    #[test]
    fn sizes() {
        assert_eq!(size("160x50").ok(), Some((160, 50)));
        assert!(["160", "59x20", "80x15", "x", "80x24x3", "-80x24"].iter().all(|text| size(text).is_err()));
    }
}
