//! Vdbench's utilities: their names are typed out of habit, and each has something here that does the same, or a reason why not.

use std::ffi::OsString;

/// Words behind `vdbench`, and what to use.
const UTILITIES: &[(&str, &str)] = &[
    ("sds", "`lsblk -o PATH,SIZE,MODEL` lists the devices; write a line sd=NAME,lun=PATH,openflags=o_direct for each"),
    ("print", "`xxd -s OFFSET -l BYTES DEVICE` prints a block"),
    (
        "parse",
        "`iodyno export RECORDING TABLE --csv` prints a table, `iodyno query` selects from it; results of Vdbench's go through `iodyno import` first",
    ),
    (
        "parseflat",
        "`iodyno export RECORDING TABLE --csv` prints a table, `iodyno query` selects from it; results of Vdbench's go through `iodyno import` first",
    ),
    ("showlba", "`iodyno trace` records where I/Os go, and `iodyno report` draws it"),
    (
        "csim",
        "no counterpart: how well data compresses is not simulated; compratio= says how well what is written does",
    ),
    ("dsim", "no counterpart: duplicates are not counted; dedupratio= says how many what is written has"),
    ("printjournal", "`iodyno verify TARGET --journal DIR` checks a target against what its journal says"),
    ("dvpost", "the report of a run names what happened to each damaged block, and `iodyno inspect` shows one"),
    ("edit", "no counterpart: any editor does; `iodyno run FILE --dry-run` says what is wrong with a parameter file"),
    ("jstack", "no counterpart: there is no Java machine; `iodyno probe stacks` shows where processor time goes"),
    ("jmap", "no counterpart: there is no Java machine"),
    ("rsh", "no counterpart: running on other hosts is not built yet"),
    ("slavejvm", "no counterpart: there are no Java machines, a run is one process"),
    (
        "kill",
        "Ctrl-C ends a run and keeps its results; a script writes `end_vdbench` into the file that monitor= names",
    ),
];

/// The advice for the name of one of Vdbench's utilities where a command stands; none for anything else.
pub(crate) fn advice(arguments: &[OsString]) -> Option<String> {
    let word = arguments.get(1)?.to_str()?;
    let plain = word.trim_start_matches('-').to_lowercase();
    let (_, sentence) = UTILITIES.iter().find(|(name, _)| *name == plain)?;
    Some(format!("`{word}` is a utility of Vdbench's: {sentence} (docs/vdbench.md)"))
}

#[cfg(test)]
mod tests {
    use super::{UTILITIES, advice};
    use std::ffi::OsString;

    #[test]
    fn no_command_of_ours_is_hidden() {
        let command = crate::command();
        for (name, _) in UTILITIES {
            assert!(command.get_subcommands().all(|ours| ours.get_name() != *name), "{name}");
        }
        let words = ["iodyno", "compare", "print"].map(OsString::from);
        assert_eq!(advice(&words), None);
    }
}
