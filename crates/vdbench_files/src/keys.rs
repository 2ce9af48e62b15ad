//! The keywords of each section, in the order in which Vdbench looks for them: the first that begins with what was
//! written wins.

use crate::param::Param;
use parameter_text::{Diagnostic, ReadingContext};
use quantity::suggest::did_you_mean;

/// What becomes of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It is read.
    Used,
    /// It belongs to a world that is not here: accepted, reported once.
    None(&'static str),
    /// Refused, with this advice.
    Refused(&'static str),
}

/// One keyword.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    /// Not to be shortened.
    pub(crate) exact: bool,
    pub(crate) effect: Effect,
    /// What it is called from here on, when several words mean the same.
    pub(crate) means: &'static str,
}

const fn key(name: &'static str) -> Key {
    Key { name, exact: false, effect: Effect::Used, means: name }
}
const fn exact(name: &'static str) -> Key {
    Key { name, exact: true, effect: Effect::Used, means: name }
}
const fn alias(name: &'static str, means: &'static str) -> Key {
    Key { name, exact: false, effect: Effect::Used, means }
}
/// Another name, not to be shortened.
const fn same(name: &'static str, means: &'static str) -> Key {
    Key { name, exact: true, effect: Effect::Used, means }
}
const fn with(name: &'static str, effect: Effect) -> Key {
    Key { name, exact: false, effect, means: name }
}
const fn only(name: &'static str, effect: Effect) -> Key {
    Key { name, exact: true, effect, means: name }
}

const JAVA: &str = "it belongs to Vdbench's Java machines";
const SOLARIS: &str = "it belongs to Solaris";
const WINDOWS: &str = "it belongs to Windows";
const REPORTS: &str = "the recording holds all of it, and the report shows it";
const HOSTS: &str = "there is one host, this one";
const DEDUP: &str = "Vdbench refuses it as well; it is a general parameter: put it before the first fsd=";

/// Sections in the order in which they must come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    General,
    Host,
    Group,
    FileSystem,
    Storage,
    Workload,
    FileWorkload,
    Run,
}

impl Section {
    pub(crate) const ALL: [Self; 8] = [
        Self::General,
        Self::Host,
        Self::Group,
        Self::FileSystem,
        Self::Storage,
        Self::Workload,
        Self::FileWorkload,
        Self::Run,
    ];

    /// The word that begins a definition.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Host => "hd",
            Self::Group => "rg",
            Self::FileSystem => "fsd",
            Self::Storage => "sd",
            Self::Workload => "wd",
            Self::FileWorkload => "fwd",
            Self::Run => "rd",
        }
    }

    /// The section whose definitions begin with this word.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().skip(1).find(|section| section.word() == word)
    }

    /// How the section is called in messages.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::General => "a general parameter (before the first hd=, fsd=, sd=)",
            Self::Host => "a parameter of hd=",
            Self::Group => "a parameter of rg=",
            Self::FileSystem => "a parameter of fsd=",
            Self::Storage => "a parameter of sd=",
            Self::Workload => "a parameter of wd=",
            Self::FileWorkload => "a parameter of fwd=",
            Self::Run => "a parameter of rd=",
        }
    }

    pub(crate) fn keys(self) -> &'static [Key] {
        match self {
            Self::General => GENERAL,
            Self::Host => HOST,
            Self::Group => GROUP,
            Self::FileSystem => FILE_SYSTEM,
            Self::Storage => STORAGE,
            Self::Workload => WORKLOAD,
            Self::FileWorkload => FILE_WORKLOAD,
            Self::Run => RUN,
        }
    }
}

static GENERAL: &[Key] = &[
    exact("compression"),
    key("compratio"),
    key("compressionseed"),
    exact("dedupratio"),
    exact("dedupunit"),
    exact("dedupsets"),
    exact("deduphotsets"),
    exact("dedupflipflop"),
    exact("dedupacross"),
    exact("dedupmaxkey"),
    with("port", Effect::None(HOSTS)),
    key("pattern"),
    key("data_errors"),
    alias("dataerrors", "data_errors"),
    with("swat", Effect::Refused("Vdbench refuses it as well; take the line out")),
    key("validate"),
    exact("journal"),
    exact("startcmd"),
    same("start_cmd", "startcmd"),
    exact("endcmd"),
    same("end_cmd", "endcmd"),
    only("heartbeat_error", Effect::None(HOSTS)),
    only("debug", Effect::None(JAVA)),
    with("unix2windows", Effect::None(WINDOWS)),
    key("formatxfersize"),
    key("create_anchors"),
    key("formatsds"),
    with("report", Effect::None(REPORTS)),
    with("report_run_totals", Effect::None(REPORTS)),
    key("histogram"),
    with("psrset", Effect::None(SOLARIS)),
    with("auxreport", Effect::None(JAVA)),
    key("monitor"),
    key("concatenatesds"),
    with("messagescan", Effect::None("the kernel's messages are not scanned")),
    key("abort_failed_skew"),
    with("misc", Effect::None(JAVA)),
    only("pattern_buffer", Effect::None("a pattern is read whole")),
    only("showlba", Effect::None("a trace will show it")),
    exact("loop"),
    with("timeout", Effect::None(HOSTS)),
    with("ios_per_jvm", Effect::None(JAVA)),
    with("fwd_thread_adjust", Effect::None(JAVA)),
    // Not Vdbench's.
    exact("fail_if"),
];

static HOST: &[Key] = &[
    key("host"),
    key("system"),
    with("vdbench", Effect::None(HOSTS)),
    with("shell", Effect::None(HOSTS)),
    with("user", Effect::None(HOSTS)),
    with("jvms", Effect::None(JAVA)),
    key("clients"),
    key("mount"),
];

static GROUP: &[Key] = &[key("devices")];

static STORAGE: &[Key] = &[
    key("host"),
    same("hd", "host"),
    key("lun"),
    key("count"),
    key("size"),
    key("threads"),
    key("hitarea"),
    key("offset"),
    key("align"),
    with("kstat", Effect::None(SOLARIS)),
    with("instance", Effect::None(SOLARIS)),
    key("replay"),
    key("journal"),
    with("resetlun", Effect::None(SOLARIS)),
    with("resetbus", Effect::None(SOLARIS)),
    key("openflags"),
    key("range"),
    exact("dedupratio"),
    only("dedupunit", Effect::Refused("dedupunit= is a general parameter: put it before the first sd=")),
    exact("dedupsets"),
    exact("deduphotsets"),
    exact("dedupflipflop"),
    exact("dedupacross"),
    with("streams", Effect::Refused("streams= moved to wd=")),
];

static WORKLOAD: &[Key] = &[
    exact("sd"),
    key("skew"),
    key("xfersize"),
    alias("readpct", "rdpct"),
    key("rdpct"),
    alias("writepct", "wrpct"),
    key("wrpct"),
    key("range"),
    // Before `host`: ho=(10,20) is a band.
    key("hotband"),
    key("seekpct"),
    key("stride"),
    key("priority"),
    key("iorate"),
    key("rhpct"),
    key("whpct"),
    key("host"),
    same("hd", "host"),
    key("openflags"),
    exact("user"),
    key("threads"),
    key("streams"),
    // Not Vdbench's; no shortened Vdbench keyword is one of these words.
    exact("trimpct"),
    exact("flushpct"),
    exact("fsync_every"),
    exact("fdatasync_every"),
    exact("thinktime"),
    exact("random_distribution"),
    exact("coverage"),
];

static RUN: &[Key] = &[
    exact("wd"),
    exact("sd"),
    exact("fsd"),
    key("iorate"),
    exact("maxdata"),
    exact("maxdataread"),
    exact("maxdatawritten"),
    key("curve"),
    key("stopcurve"),
    key("elapsed"),
    key("interval"),
    key("warmup"),
    exact("replay"),
    key("pause"),
    // The loops stand before the rest: fo= and for= are forxfersize=.
    alias("forxfersize", "xfersize"),
    alias("forthreads", "threads"),
    alias("forrdpct", "rdpct"),
    alias("forrhpct", "rhpct"),
    alias("forwhpct", "whpct"),
    alias("forseekpct", "seekpct"),
    alias("forhitarea", "hitarea"),
    alias("forcompratio", "compratio"),
    alias("forcompression", "compression"),
    alias("fordepth", "depth"),
    alias("forwidth", "width"),
    alias("forfiles", "files"),
    alias("forsizes", "sizes"),
    alias("fortotalsize", "totalsize"),
    alias("forwss", "wss"),
    alias("forworkingsetsize", "wss"),
    key("foroperations"),
    key("xfersize"),
    key("threads"),
    key("rdpct"),
    key("rhpct"),
    key("whpct"),
    key("seekpct"),
    key("hitarea"),
    key("compratio"),
    key("compression"),
    key("depth"),
    key("width"),
    key("files"),
    key("sizes"),
    key("totalsize"),
    key("wss"),
    alias("workingsetsize", "wss"),
    key("distribution"),
    key("startcmd"),
    alias("start_cmd", "startcmd"),
    key("endcmd"),
    alias("end_cmd", "endcmd"),
    exact("fwd"),
    alias("fwdrate", "iorate"),
    key("operations"),
    key("format"),
    key("openflags"),
    key("mount"),
    with("skew", Effect::Refused("give each wd= its skew=")),
    // Not Vdbench's; no shortened Vdbench keyword is one of these words.
    same("foriorate", "iorate"),
    same("forreadpct", "rdpct"),
    same("readpct", "rdpct"),
    exact("maxops"),
    exact("fail_if"),
    exact("cmd"),
    exact("at"),
    exact("times"),
    exact("warmups"),
    exact("baseline"),
    exact("prepare"),
    exact("vary"),
];

static FILE_SYSTEM: &[Key] = &[
    key("anchor"),
    key("journal"),
    with("host", Effect::Refused("Vdbench refuses it as well; host= belongs to fwd=")),
    key("width"),
    key("depth"),
    key("sizes"),
    key("shared"),
    key("wss"),
    alias("workingsetsize", "wss"),
    alias("total_size", "totalsize"),
    key("totalsize"),
    key("files"),
    key("distribution"),
    with("cleanup", Effect::Refused("Vdbench refuses it as well; take it out, and format=yes deletes what is there")),
    key("openflags"),
    only("log", Effect::None("the journal of data validation says what was done")),
    key("count"),
    only("dedupratio", Effect::Refused(DEDUP)),
    only("dedupunit", Effect::Refused(DEDUP)),
    only("dedupsets", Effect::Refused(DEDUP)),
    only("deduphotsets", Effect::Refused(DEDUP)),
    only("dedupflipflop", Effect::Refused(DEDUP)),
    only("dedupacross", Effect::Refused(DEDUP)),
    // Not Vdbench's.
    exact("shape"),
];

/// Operations of file workloads that Vdbench has.
pub(crate) static FILE_OPERATIONS: &[&str] = &[
    "read", "write", "mkdir", "rmdir", "copy", "move", "create", "delete", "getattr", "setattr", "access", "open",
    "close",
];

/// Those that it does not have.
pub(crate) static OWN_OPERATIONS: &[&str] = &[
    "append",
    "readfile",
    "writefile",
    "mmapread",
    "mmapwrite",
    "fsync",
    "fdatasync",
    "truncate",
    "fallocate",
    "punch",
    "rename",
    "link",
    "symlink",
    "readlink",
    "readdir",
    "getxattr",
    "setxattr",
    "listxattr",
    "removexattr",
    "tmpfile",
    "temp",
    "statfs",
    "flock",
    "copyrange",
    "reflink",
    "tail",
];

static FILE_WORKLOAD: &[Key] = &[
    exact("fsd"),
    alias("readpct", "rdpct"),
    key("rdpct"),
    key("stopafter"),
    // Vdbench knows only the first; the second is the word of rd=.
    key("operation"),
    same("operations", "operation"),
    key("fileselect"),
    exact("fileio"),
    key("xfersizes"),
    key("skew"),
    key("threads"),
    key("target"),
    key("host"),
    same("hd", "host"),
    key("openflags"),
    // Not Vdbench's; no shortened Vdbench keyword is one of these words.
    exact("flow"),
    exact("fsync"),
    exact("fdatasync"),
];

/// The meaning of a parameter's keyword in a section, with an error when it has none.
pub(crate) fn resolve(context: &mut ReadingContext, section: Section, param: &Param) -> Option<&'static Key> {
    let found = lookup(section, &param.key);
    let Some(found) = found else {
        unknown(context, section, param);
        return None;
    };
    match found.effect {
        Effect::None(why) => {
            let message = format!("`{}` has no effect here: {why}", found.name);
            context.note_once(found.name, Diagnostic::note("no-effect", param.key_span, message));
            None
        }
        Effect::Refused(help) => {
            let message = format!("`{}` is not accepted in {}=", found.name, section.word());
            context.push(Diagnostic::error("refused-keyword", param.key_span, message).help(help));
            None
        }
        _ => Some(found),
    }
}

fn lookup(section: Section, word: &str) -> Option<&'static Key> {
    let fits = |key: &&Key| if key.exact { key.name == word } else { word.len() >= 2 && key.name.starts_with(word) };
    section.keys().iter().find(fits)
}

fn unknown(context: &mut ReadingContext, section: Section, param: &Param) {
    let word: String = param.key.chars().take(40).collect();
    let place = if section == Section::General { "the general section".into() } else { format!("{}=", section.word()) };
    let found = Diagnostic::error("unknown-keyword", param.key_span, format!("unknown keyword `{word}` in {place}"));
    let whole = |section: &Section| section.keys().iter().any(|key| key.name == word);
    let elsewhere = || Section::ALL.into_iter().find(|other| *other != section && whole(other));
    let help = if context.full() || word.len() < 2 {
        None
    } else if let Some(other) = elsewhere() {
        Some(format!("`{word}` is {}", other.title()))
    } else {
        let names = section.keys().iter().map(|key| key.name);
        let definitions = Section::ALL.into_iter().skip(1).map(Section::word);
        did_you_mean(&word, names.chain(definitions))
    };
    context.push(found.help_if(help));
}

/// A keyword of a section that is written exactly so.
pub(crate) fn exact_name(section: Section, word: &str) -> Option<&'static str> {
    section.keys().iter().map(|key| key.name).find(|name| *name == word)
}

/// Is this a keyword of any section?
pub(crate) fn known_anywhere(word: &str) -> bool {
    Section::of(word).is_some() || Section::ALL.into_iter().any(|section| lookup(section, word).is_some())
}

/// Keywords that are accepted without effect, each with its section and the reason; for the documentation.
pub(crate) fn without_effect() -> Vec<(&'static str, &'static str, &'static str)> {
    let mut out = Vec::new();
    for section in Section::ALL {
        for key in section.keys() {
            if let Effect::None(why) = key.effect {
                out.push((section.word(), key.name, why));
            }
        }
    }
    out
}
