//! Command-line forms of Vdbench and fio that no argument parser knows, put into the forms of [`crate::args`].
//!
//! `-t1`, `-l 30m`, `-l` alone, `--direct 1`, everything after `+`: rewritten for the `run` subcommand only.

use crate::fio_flags::{in_full, is_switch};
use crate::validation_args::is_value;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Rewrites the arguments of `iodyno run`; others pass unchanged. The first element is the program's name.
pub(crate) fn normalise(arguments: Vec<OsString>) -> Vec<OsString> {
    if arguments.get(1).is_none_or(|command| command != "run") {
        return arguments;
    }
    let mut out = Vec::with_capacity(arguments.len());
    let mut rest = arguments.into_iter().peekable();
    while let Some(argument) = rest.next() {
        // What is no text is a path.
        let Some(word) = argument.to_str() else {
            out.push(argument);
            continue;
        };
        // Vdbench's own forms of a letter and its value come first.
        let full = if is_vdbench(word) { None } else { in_full(word) };
        let (word, argument) = match &full {
            Some(full) => (full.as_str(), OsString::from(full)),
            None => (word, argument.clone()),
        };
        match word {
            // What follows is a command and its words.
            "--" => {
                out.push(argument);
                out.extend(rest.by_ref());
            }
            // `+elapsed=80`, too; a path with a plus in front is none with an equals sign.
            _ if word == "+" || (word.starts_with('+') && word.contains('=')) => {
                let first = Some(OsString::from(&word[1..])).filter(|first| !first.is_empty());
                let addition: Vec<OsString> = first.into_iter().chain(rest.by_ref()).collect();
                let mut joined = OsString::from("--add=");
                joined.push(addition.join(OsStr::new(" ")));
                out.push(joined);
            }
            "-l" | "--loop" => match rest.next_if(|next| next.to_str().is_some_and(is_loop_amount)) {
                Some(amount) => out.push(with_value("--loop", &amount)),
                None => out.push("--loop".into()),
            },
            // Vdbench takes the letters as a word of their own, too.
            "-v" | "-j" => match rest.next_if(|next| is_letters(word, next)) {
                Some(letters) => out.push(with_value(word, &letters)),
                None => out.push(argument),
            },
            "--verify" => match rest.next_if(|next| next.to_str().is_some_and(is_value)) {
                Some(value) => out.push(with_value("--verify", &value)),
                None => out.push(argument),
            },
            "-simulate" => out.push("--dry-run".into()),
            "-mb" => out.push("--decimal".into()),
            // As people type fio's switches, and as its manual has them: `--direct 1`.
            switch if is_switch(switch) => match rest.next_if(|next| next == "0" || next == "1") {
                Some(value) => out.push(with_value(switch, &value)),
                None => out.push(argument),
            },
            _ => match attached_value(word) {
                Some(attached) => out.push(attached.into()),
                None => out.push(argument),
            },
        }
    }
    out
}

/// A letter with its value behind it, or one of Vdbench's few words behind a single dash?
fn is_vdbench(word: &str) -> bool {
    matches!(word, "-simulate" | "-mb")
        || attached_value(word).is_some_and(|_| !word.starts_with("-v") && !word.starts_with("-j"))
}

fn with_value(flag: &str, value: &OsStr) -> OsString {
    let mut attached = OsString::from(flag);
    attached.push("=");
    attached.push(value);
    attached
}

/// `-t1` → `--quick=1`, `-l30m` → `--loop=30m`, `-vr` → `-v=r`: options whose value is optional must be attached.
fn attached_value(argument: &str) -> Option<String> {
    let (flag, value) = argument.split_at_checked(2)?;
    if value.is_empty() || value.starts_with('=') {
        return None;
    }
    match flag {
        "-t" if ["1", "2", "d", "f"].contains(&value) => Some(format!("--quick={value}")),
        "-l" if is_loop_amount(value) => Some(format!("--loop={value}")),
        "-c" if ["o", "y", "n"].contains(&value) => Some(format!("-c={value}")),
        "-v" | "-j" => Some(format!("{flag}={value}")),
        _ => None,
    }
}

/// Are these letters of `-v` or `-j`, and no file?
fn is_letters(flag: &str, word: &OsStr) -> bool {
    let known = if flag == "-v" { "rw2tqc" } else { "ro2tnmis" };
    let is_known = |text: &str| !text.is_empty() && text.chars().all(|letter| known.contains(letter));
    word.to_str().is_some_and(is_known) && !Path::new(word).exists()
}

/// A count, or a count with a unit of time.
fn is_loop_amount(text: &str) -> bool {
    let digits = text.trim_end_matches(['s', 'm', 'h']);
    !digits.is_empty() && text.len() - digits.len() <= 1 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::normalise;
    use std::ffi::OsString;

    fn check(input: &str, expect: &str) {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        assert_eq!(normalise(words(input)), words(expect), "{input}");
    }

    #[test]
    fn vdbench_forms_are_put_right() {
        check("iodyno run -t", "iodyno run -t");
        check("iodyno run -t1 -o x", "iodyno run --quick=1 -o x");
        check("iodyno run a.vdb -l 5 -e5", "iodyno run a.vdb --loop=5 -e5");
        check("iodyno run a.vdb -l", "iodyno run a.vdb --loop");
        check("iodyno run -l a.vdb", "iodyno run --loop a.vdb");
        check("iodyno run a.vdb -l30m", "iodyno run a.vdb --loop=30m");
        check("iodyno run a.vdb -vr", "iodyno run a.vdb -v=r");
        check("iodyno run -f a.vdb -v rt -j ro", "iodyno run -f a.vdb -v=rt -j=ro");
        check("iodyno run -v a.vdb -j ./r", "iodyno run -v a.vdb -j ./r");
        check("iodyno run a.vdb -mb -m 2 -cy -r rd5", "iodyno run a.vdb --decimal -m 2 -c=y -r rd5");
        check("iodyno report -t1", "iodyno report -t1");
        check("iodyno run --verify reads a.vdb --verify", "iodyno run --verify=reads a.vdb --verify");
        check("iodyno run --verify a.vdb --verify md5", "iodyno run --verify a.vdb --verify=md5");
    }

    #[test]
    fn switches_of_fio_take_their_value_as_the_next_word() {
        check("iodyno run --direct 1 a.fio", "iodyno run --direct=1 a.fio");
        check("iodyno run --time-based 0 --end_fsync 1", "iodyno run --time-based=0 --end_fsync=1");
        check("iodyno run --direct a.fio", "iodyno run --direct a.fio");
        check("iodyno run --direct=1 1", "iodyno run --direct=1 1");
        check("iodyno run --iodepth 1 --direct ./1", "iodyno run --iodepth 1 --direct ./1");
        check("iodyno replay --direct 1", "iodyno replay --direct 1");
    }

    #[test]
    fn flags_of_fio_may_have_one_dash_and_be_abbreviated() {
        check("iodyno run -name=a -rw=read -direct 1 -size 1m", "iodyno run --name=a --rw=read --direct=1 --size 1m");
        check(
            "iodyno run --runt=10 -rwmixr=7 -output-f json",
            "iodyno run --runtime=10 --rwmixread=7 --output-format json",
        );
        check("iodyno run --rate_p poisson -bs=4k -sect=a", "iodyno run --rate-process poisson --bs=4k --section=a");
        // Ambiguous, our own, or Vdbench's.
        check("iodyno run --rate-i 5 --rep 5 --file=x -filen=x", "iodyno run --rate-i 5 --rep 5 --file=x -filen=x");
        // Our own flags, too: `-dry-run` is no `-d` of Vdbench's. What other commands have is no abbreviation of fio's.
        check(
            "iodyno run -dry-run -dry_run -junit=x.xml -repeat=2",
            "iodyno run --dry-run --dry-run --junit=x.xml --repeat=2",
        );
        check("iodyno run --force --dry_run --dry-run", "iodyno run --force --dry-run --dry-run");
        check("iodyno run -d27 -m2 -p 5570", "iodyno run -d27 -m2 -p 5570");
        check("iodyno run -o out -fx.vdb -e5 -i1 -rrd5 -w 5", "iodyno run -o out -fx.vdb -e5 -i1 -rrd5 -w 5");
        check("iodyno run -t1 -tf -l30m -co -vr", "iodyno run --quick=1 --quick=f --loop=30m -c=o -v=r");
        check("iodyno stat -size", "iodyno stat -size");
    }

    #[test]
    fn words_of_a_command_stay_as_they_are() {
        check(
            "iodyno run -l 5 -- prog -t1 -l 5 + a=b --direct 1",
            "iodyno run --loop=5 -- prog -t1 -l 5 + a=b --direct 1",
        );
    }

    #[test]
    fn bytes_that_are_no_text_stay_as_they_are() {
        use std::os::unix::ffi::OsStringExt as _;
        let strange = OsString::from_vec(b"/tmp/\xff.vdb".to_vec());
        let words = vec!["iodyno".into(), "run".into(), strange.clone(), "-t1".into(), "-o".into(), strange.clone()];
        let expect: Vec<OsString> =
            vec!["iodyno".into(), "run".into(), strange.clone(), "--quick=1".into(), "-o".into(), strange];
        assert_eq!(normalise(words), expect);
    }

    #[test]
    fn everything_after_plus_is_one_addition() {
        for plus in [&["+", "iorate=max,"][..], &["+iorate=max,"]] {
            let words = ["iodyno", "run", "a.vdb"].iter().chain(plus).chain(&["elapsed=3"]);
            let words = words.map(OsString::from).collect();
            assert_eq!(normalise(words), ["iodyno", "run", "a.vdb", "--add=iorate=max, elapsed=3"]);
        }
        check("iodyno run +a.vdb -e5", "iodyno run +a.vdb -e5");
    }
}
