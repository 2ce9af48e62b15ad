//! Text that other tools printed for people, into the tables of a recording: one reader per tool, by the words of its
//! headings. Rates become counters again ([`emit`]); values without a column in a table become figures.

mod columns;
mod emit;
mod excerpts;
mod iostat;
mod lanes;
mod link;
mod netstat;
mod nicstat;
mod pairs;
mod parsed_file;
mod resolve_times;
mod ss;
mod syslog;
mod sysstat;
mod sysstat_json;
mod table;
mod timestamp;
mod vmstat;
mod words;
mod zpool;
mod zpool_status;

use crate::ImportError;
use crate::options::{ImportOptions, ImportSummary};
use crate::source::{self, Lines};
use parsed_file::ParsedFile;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Bytes at the beginning of a file by which its format is known.
const SNIFFED: usize = 64 << 10;

/// So many machines are named in a sentence.
const SHOWN: usize = 6;

/// A tool whose text can be read.
#[derive(Debug)]
pub(super) struct TextFormat {
    /// Name for `--format`.
    pub(super) name: &'static str,
    /// What it is.
    pub(super) help: &'static str,
    sniff: fn(&str) -> bool,
    read: fn(&mut Lines, &mut ParsedFile) -> Result<(), ImportError>,
}

/// All of them, in the order in which they are tried.
pub(super) const FORMATS: [TextFormat; 22] = [
    TextFormat {
        name: "nicstat",
        help: "nicstat's text in all layouts, -p and -l as well, of Linux and Solaris",
        sniff: nicstat::sniff,
        read: nicstat::read,
    },
    TextFormat {
        name: "iostat",
        help: "iostat's text: sysstat's of any version (-x, -d, -s, -t), and Solaris' (-x, -n, -c, -z)",
        sniff: iostat::sniff,
        read: iostat::read,
    },
    TextFormat {
        name: "vmstat",
        help: "vmstat's text: Linux (-a, -w, -t, -S, -d, -s) and Solaris",
        sniff: vmstat::sniff,
        read: vmstat::read,
    },
    TextFormat {
        name: "mpstat-solaris",
        help: "mpstat's text of Solaris (-a as well)",
        sniff: excerpts::mpstat_solaris::sniff,
        read: excerpts::mpstat_solaris::read,
    },
    TextFormat { name: "sysstat", help: "text of mpstat, pidstat and sar", sniff: sysstat::sniff, read: sysstat::read },
    TextFormat {
        name: "sysstat-json",
        help: "JSON of sysstat: sadf -j, iostat -o JSON, mpstat -o JSON",
        sniff: sysstat_json::sniff,
        read: sysstat_json::read,
    },
    TextFormat {
        name: "zpool-iostat",
        help: "zpool iostat's text (-v, -y, -l, -q, -T, -p; with --format, also -H)",
        sniff: zpool::sniff,
        read: zpool::read,
    },
    TextFormat {
        name: "prstat",
        help: "prstat's text of Solaris, and pstime's",
        sniff: excerpts::prstat::sniff,
        read: excerpts::prstat::read,
    },
    TextFormat {
        name: "netstat",
        help: "counters by name: netstat -s of Linux and Solaris, nstat",
        sniff: netstat::sniff,
        read: netstat::read,
    },
    TextFormat {
        name: "dtrace",
        help: "distributions that DTrace's quantize prints, and lines with date, time and figures",
        sniff: excerpts::dtrace::sniff,
        read: excerpts::dtrace::read,
    },
    TextFormat { name: "ss", help: "sockets and their queues from ss", sniff: ss::sniff, read: ss::read },
    TextFormat {
        name: "nfsstat",
        help: "mounts and their options from nfsstat -m",
        sniff: excerpts::nfsstat::sniff,
        read: excerpts::nfsstat::read,
    },
    TextFormat {
        name: "syslog",
        help: "messages of the kernel and of daemons: syslog of Linux and Solaris, journalctl, dmesg",
        sniff: syslog::sniff,
        read: syslog::read,
    },
    TextFormat {
        name: "zpool-status",
        help: "errors of the devices of pools from zpool status",
        sniff: zpool_status::sniff,
        read: zpool_status::read,
    },
    TextFormat {
        name: "netperf",
        help: "netperf's stream tests",
        sniff: excerpts::netperf::sniff,
        read: excerpts::netperf::read,
    },
    TextFormat {
        name: "time",
        help: "real, user and sys of commands, as `time` of a shell says them",
        sniff: excerpts::time::sniff,
        read: excerpts::time::read,
    },
    TextFormat {
        name: "rfileio",
        help: "files by reads, from rfileio",
        sniff: excerpts::rfileio::sniff,
        read: excerpts::rfileio::read,
    },
    TextFormat {
        name: "lockstat",
        help: "lockstatI's table",
        sniff: excerpts::lockstat::sniff,
        read: excerpts::lockstat::read,
    },
    TextFormat {
        name: "oracle",
        help: "timed events of Oracle's reports",
        sniff: excerpts::oracle::sniff,
        read: excerpts::oracle::read,
    },
    TextFormat {
        name: "stmsboot",
        help: "names of devices with and without multipathing from stmsboot -L",
        sniff: excerpts::stmsboot::sniff,
        read: excerpts::stmsboot::read,
    },
    TextFormat {
        name: "glued",
        help: "results of compressors, and of connections of mysqld, whose line breaks or blanks were lost",
        sniff: excerpts::glued::sniff,
        read: excerpts::glued::read,
    },
    TextFormat {
        name: "table",
        help: "any heading with rows of numbers below it; never chosen by itself",
        sniff: table::sniff,
        read: table::read,
    },
];

/// What to do with a line under a heading.
enum Passed {
    /// It is a row of so many fields as the heading asks for.
    Row,
    /// It was left out, and said or counted.
    Over,
}

/// Is it a row under a heading of `width` fields, the first `names` of which are no figures? A last line that is cut off and
/// lines of other kinds are left out; one that begins like a row, or is one by most of its fields, and has not as many of them
/// is an error: what a tool printed must not vanish.
fn passed(
    lines: &Lines,
    parsed: &mut ParsedFile,
    words: &[&str],
    (names, width): (usize, usize),
) -> Result<Passed, ImportError> {
    let figures = words.iter().filter(|word| words::is_figure(word)).count();
    if words.len() == width && (figures > 0 || width == 0) {
        return Ok(Passed::Row);
    }
    let begins = words.iter().skip(names).take_while(|word| words::is_figure(word)).count();
    if lines.may_be_cut() {
        parsed.note(&format!("line {} is cut off, and left out", lines.number()));
    } else if width > 0 && (begins >= 2 || (words.len() >= 3 && figures * 2 > words.len())) {
        return Err(lines.malformed(format!("has {} fields under {width} headings", words.len())));
    } else {
        parsed.tally("lines of other kinds (messages, prompts) left out");
    }
    Ok(Passed::Over)
}

/// Files to import together, each with its format.
#[derive(Debug)]
pub(super) struct Texts {
    path: PathBuf,
    files: Vec<(PathBuf, &'static TextFormat)>,
    /// Files of the folder whose format is unknown.
    unknown: Vec<PathBuf>,
}

/// What the text at `path` is: a file, or a folder of files of such tools; `None` when it is something else.
pub(super) fn recognise(path: &Path, format: Option<&str>) -> Result<Option<Texts>, ImportError> {
    let wanted = format.map(|name| FORMATS.iter().find(|format| format.name == name));
    if let Some(None) = wanted {
        return Ok(None);
    }
    let wanted = wanted.flatten();
    let known = |file: &Path| -> Result<Option<&'static TextFormat>, ImportError> {
        let head = source::head(file, SNIFFED)?;
        if head.contains(&0) {
            return Ok(None);
        }
        let head = String::from_utf8_lossy(&head);
        Ok(FORMATS
            .iter()
            .find(|format| wanted.is_none_or(|wanted| wanted.name == format.name) && (format.sniff)(&head)))
    };
    let mut texts = Texts { path: path.to_path_buf(), files: Vec::new(), unknown: Vec::new() };
    if !path.is_dir() {
        let format = if wanted.is_some() { wanted } else { known(path)? };
        texts.files.extend(format.map(|format| (path.to_path_buf(), format)));
        return Ok((!texts.files.is_empty()).then_some(texts));
    }
    let failed = || ImportError::io("read", path);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed())? {
        found.push(entry.map_err(failed())?.path());
    }
    found.sort();
    for file in found.into_iter().filter(|file| file.is_file()) {
        match known(&file)? {
            Some(format) => texts.files.push((file, format)),
            None => texts.unknown.push(file),
        }
    }
    Ok((!texts.files.is_empty()).then_some(texts))
}

/// Imports them into a new recording.
pub(super) fn import(
    texts: &Texts,
    directory: &Path,
    options: &ImportOptions,
    command_line: &[String],
) -> Result<ImportSummary, ImportError> {
    let mut all = Vec::new();
    let zone = options.zone.clone().map(Rc::new);
    for (path, format) in &texts.files {
        let mut parsed = ParsedFile::new(format.name);
        parsed.zone.clone_from(&zone);
        (parsed.is_excerpt, parsed.all_cpus) = (options.is_excerpt, options.cpus);
        parsed.wanted_host.clone_from(&options.host);
        let mut lines = Lines::open(path)?;
        (format.read)(&mut lines, &mut parsed)?;
        let is_other = parsed.host.is_none() && !parsed.hosts.is_empty();
        if parsed.is_empty() && !is_other {
            let what = format!("there is no row in it ({} was expected)", format.help);
            return Err(ImportError::Malformed { path: path.clone(), line: lines.number(), what });
        }
        if parsed.is_bare() && !is_other {
            parsed.note("there are headings, and no rows below them");
        }
        all.push((path.clone(), parsed));
    }
    let all = of_one_host(&texts.path, all, options.host.as_deref())?;
    let placed = resolve_times::place(all, options)?;
    emit::write(texts, &placed, directory, command_line)
}

/// The files of one machine: of the one that was asked for, else of the only one that they name. Two machines under one
/// manifest would be read as one that did what both did.
fn of_one_host(
    path: &Path,
    mut files: Vec<(PathBuf, ParsedFile)>,
    wanted: Option<&str>,
) -> Result<Vec<(PathBuf, ParsedFile)>, ImportError> {
    let mut hosts: Vec<(String, String)> = Vec::new();
    for (file, parsed) in &files {
        for host in &parsed.hosts {
            if !hosts.iter().any(|(known, _)| parsed_file::is_same_host(known, host)) {
                let name = file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
                hosts.push((host.clone(), name));
            }
        }
    }
    let shown = || {
        let mut shown: Vec<String> = hosts.iter().take(SHOWN).map(|(host, file)| format!("{host} in {file}")).collect();
        shown.extend((hosts.len() > SHOWN).then(|| format!("{} more", hosts.len() - SHOWN)));
        shown.join(", ")
    };
    let Some(wanted) = wanted else {
        if hosts.len() > 1 {
            return Err(ImportError::Hosts { path: path.to_path_buf(), hosts: shown() });
        }
        return Ok(files);
    };
    if !hosts.iter().any(|(host, _)| parsed_file::is_same_host(host, wanted)) {
        let known =
            if hosts.is_empty() { "no machine is named there".to_string() } else { format!("there is {}", shown()) };
        return Err(ImportError::NoHost { path: path.to_path_buf(), host: wanted.to_string(), known });
    }
    let all = files.len();
    files.retain(|(_, parsed)| {
        parsed.hosts.is_empty() || parsed.hosts.iter().any(|host| parsed_file::is_same_host(host, wanted))
    });
    let left_out = all - files.len();
    for (_, parsed) in files.iter_mut().filter(|(_, parsed)| parsed.hosts.is_empty()) {
        parsed.note(&format!("it names no machine: it was taken to be of {wanted}"));
    }
    if let Some((_, parsed)) = files.first_mut().filter(|_| left_out > 0) {
        parsed.note(&format!("files of other machines left out: {left_out}"));
    }
    Ok(files)
}

#[cfg(test)]
mod extreme_tests;
#[cfg(test)]
mod source_tests;
#[cfg(test)]
mod tests;
