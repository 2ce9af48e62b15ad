//! What ends a job besides its limits, what ends with it, and what comes before it.

use crate::value::{MICROSECOND_NS, PerOp, Units, per_op};
use crate::words_out::time;
use plan::{EILSEQ, EIO, EndScope, ErrorRule, JobEnd, TakesAlong};

/// Kinds of errors, as fio has them: of reads, of all other operations, of wrong data.
const KINDS: usize = 3;

/// Names that fio knows, in the order of their numbers from 1 on.
const ERRORS: [&str; 34] = [
    "EPERM", "ENOENT", "ESRCH", "EINTR", "EIO", "ENXIO", "E2BIG", "ENOEXEC", "EBADF", "ECHILD", "EAGAIN", "ENOMEM",
    "EACCES", "EFAULT", "ENOTBLK", "EBUSY", "EEXIST", "EXDEV", "ENODEV", "ENOTDIR", "EISDIR", "EINVAL", "ENFILE",
    "EMFILE", "ENOTTY", "ETXTBSY", "EFBIG", "ENOSPC", "ESPIPE", "EROFS", "EMLINK", "EPIPE", "EDOM", "ERANGE",
];

/// What the options of a job's end say.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndOptions {
    /// Which kinds of errors do not end the job.
    continues: [bool; KINDS],
    /// Which errors of them; `None`: those that fio takes for passing.
    errors: [Option<Vec<i32>>; KINDS],
    pub(crate) slowest_ns: PerOp<Option<u64>>,
    pub(crate) exits_all: bool,
    exits_all_on_error: bool,
    reach: EndScope,
    pub(crate) new_group: bool,
    pub(crate) fills_device: bool,
    pub(crate) creates_only: bool,
    pub(crate) pre_reads: bool,
    pub(crate) keeps_apart: bool,
}

impl EndOptions {
    /// False: it is none of these.
    pub(crate) fn switch(&mut self, name: &str, on: bool) -> bool {
        match name {
            "exitall" => self.exits_all = on,
            "exitall_on_error" => self.exits_all_on_error = on,
            "new_group" => self.new_group = on,
            "fill_device" => self.fills_device = on,
            "create_only" => self.creates_only = on,
            "pre_read" => self.pre_reads = on,
            "serialize_overlap" => self.keeps_apart = on,
            _ => return false,
        }
        true
    }

    /// False: it is none of these.
    pub(crate) fn set(&mut self, units: Units, name: &str, text: &str) -> Result<bool, String> {
        match name {
            "continue_on_error" => {
                self.continues = match text {
                    "none" | "0" => [false, false, false],
                    "read" => [true, false, false],
                    "write" => [false, true, false],
                    "io" => [true, true, false],
                    "verify" => [false, false, true],
                    "all" | "1" => [true, true, true],
                    _ => return Err(format!("`{text}` is none of none, read, write, io, verify, all")),
                }
            }
            "ignore_error" => {
                let lists: Vec<&str> = text.split(',').collect();
                if lists.len() > KINDS {
                    return Err(format!("`{text}` has {} lists: there are three, read,write,verify", lists.len()));
                }
                for (kind, list) in lists.into_iter().enumerate() {
                    let found = error_numbers(list.trim())?;
                    if !found.is_empty() {
                        self.continues[kind] = true;
                        self.errors[kind] = Some(found);
                    }
                }
            }
            "exit_what" => {
                self.reach = match text {
                    "group" => EndScope::Group,
                    "stonewall" => EndScope::Running,
                    "all" => EndScope::All,
                    _ => return Err(format!("`{text}` is none of group, stonewall, all")),
                }
            }
            "max_latency" => {
                let found = per_op(text, &self.slowest_ns, |one| units.time_ns(one, MICROSECOND_NS))?;
                self.slowest_ns = found.map(|limit| limit.filter(|ns| *ns > 0));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Of a job in this group; `exits_all`: `exitall` stands in any job of the file.
    pub(crate) fn job_end(&self, group: u32, exits_all: bool) -> JobEnd {
        let mut passed_over = [const { Vec::new() }; KINDS];
        for (kind, list) in passed_over.iter_mut().enumerate().filter(|(kind, _)| self.continues[*kind]) {
            *list = self.errors[kind].clone().unwrap_or_else(|| vec![EIO, EILSEQ]);
        }
        let takes_along =
            (exits_all || self.exits_all_on_error).then_some(TakesAlong { reach: self.reach, only_failed: !exits_all });
        JobEnd { passed_over, slowest_ns: self.slowest_ns, fills_device: self.fills_device, takes_along, group }
    }

    /// Wrong data does not end the job.
    pub(crate) fn passes_damage(&self) -> bool {
        self.continues[2] && self.errors[2].as_ref().is_none_or(|errors| errors.contains(&EILSEQ))
    }

    /// Which failed operation ends a replay.
    pub(crate) fn replay_errors(&self) -> ErrorRule {
        if self.continues[..2].contains(&true) { ErrorRule::Never } else { ErrorRule::First }
    }
}

/// `EIO:28`; an empty name ends the list.
fn error_numbers(list: &str) -> Result<Vec<i32>, String> {
    let names = list.split(':').map(str::trim).take_while(|name| !name.is_empty());
    names.map(|name| error_number(name).ok_or_else(|| format!("`{name}` is no error; give its number"))).collect()
}

fn error_number(name: &str) -> Option<i32> {
    let by_name = ERRORS.iter().position(|known| *known == name).and_then(|at| i32::try_from(at + 1).ok());
    by_name.or_else(|| name.parse::<i32>().ok().map(i32::abs)).filter(|number| *number > 0)
}

/// The options that say what ends a job; its group is not among them.
pub(crate) fn end_options(end: &JobEnd) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    let usual = [EIO, EILSEQ];
    let is_usual = |list: &Vec<i32>| list.is_empty() || *list == usual;
    let word = match end.passed_over.each_ref().map(|list| !list.is_empty()) {
        [false, false, false] => None,
        [true, false, false] => Some("read"),
        [false, true, false] => Some("write"),
        [true, true, false] => Some("io"),
        [false, false, true] => Some("verify"),
        [true, true, true] => Some("all"),
        [true, false, true] | [false, true, true] => Some(""),
    };
    match word {
        None => {}
        Some(word) if !word.is_empty() && end.passed_over.iter().all(is_usual) => {
            lines.push(("continue_on_error", word.to_string()));
        }
        Some(_) => {
            let lists: Vec<String> = end.passed_over.iter().map(|list| error_names(list)).collect();
            lines.push(("ignore_error", lists.join(",").trim_end_matches(',').to_string()));
        }
    }
    if end.fills_device {
        lines.push(("fill_device", "1".to_string()));
    }
    if end.slowest_ns.iter().any(Option::is_some) {
        let texts = end.slowest_ns.map(|limit| limit.map_or("0".to_string(), time));
        lines.push(("max_latency", texts.join(",")));
    }
    if let Some(along) = end.takes_along {
        lines.push((if along.only_failed { "exitall_on_error" } else { "exitall" }, "1".to_string()));
        match along.reach {
            EndScope::Group => {}
            EndScope::Running => lines.push(("exit_what", "stonewall".to_string())),
            EndScope::All => lines.push(("exit_what", "all".to_string())),
        }
    }
    lines
}

/// How a list of errors is written; the names are fio's.
fn error_names(errors: &[i32]) -> String {
    let name = |errno: &i32| {
        let at = usize::try_from(*errno - 1).ok();
        at.and_then(|at| ERRORS.get(at)).map_or_else(|| errno.to_string(), ToString::to_string)
    };
    errors.iter().map(name).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(lines: &[(&str, &str)]) -> JobEnd {
        let mut options = EndOptions::default();
        for (name, text) in lines {
            assert!(options.set(Units { base: 1024 }, name, text).unwrap(), "{name}");
        }
        options.job_end(0, false)
    }

    #[test]
    fn errors_that_are_passed_over_are_those_of_fio() {
        let usual = vec![EIO, EILSEQ];
        assert_eq!(end(&[]).passed_over, [vec![], vec![], vec![]]);
        assert_eq!(end(&[("continue_on_error", "write")]).passed_over, [vec![], usual.clone(), vec![]]);
        assert_eq!(end(&[("continue_on_error", "1")]).passed_over, [usual.clone(), usual.clone(), usual.clone()]);
        assert_eq!(end(&[("ignore_error", "EIO:-28,,ERANGE")]).passed_over, [vec![5, 28], vec![], vec![34]]);
        let both = [("continue_on_error", "io"), ("ignore_error", ",ENOSPC")];
        assert_eq!(end(&both).passed_over, [usual.clone(), vec![28], vec![]]);
        let undone = [("ignore_error", "EIO"), ("continue_on_error", "none")];
        assert_eq!(end(&undone).passed_over, [vec![], vec![], vec![]]);
        for wrong in ["EWHAT", "0", "EIO:x", "5,5,5,5"] {
            assert!(EndOptions::default().set(Units { base: 1024 }, "ignore_error", wrong).is_err(), "{wrong}");
        }
        assert_eq!(error_names(&[5, 28, 110]), "EIO:ENOSPC:110");
    }

    #[test]
    fn a_longest_service_time_is_of_each_direction() {
        assert_eq!(end(&[("max_latency", "50ms,1s")]).slowest_ns, [50_000_000, 1_000_000_000, 1_000_000_000].map(Some));
        assert_eq!(end(&[("max_latency", ",100,0")]).slowest_ns, [None, Some(100_000), None]);
    }
}
