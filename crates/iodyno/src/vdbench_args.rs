//! Command-line forms of Vdbench and fio that no argument parser knows, put into the forms of [`crate::args`].
//!
//! `-t1`, `-l 30m`, `-l` alone, `--direct 1`, everything after `+`: rewritten for the `run` subcommand only.

use crate::fio_flags::is_switch;

/// Rewrites the arguments of `iodyno run`; others pass unchanged. The first element is the program's name.
pub(crate) fn normalise(arguments: Vec<String>) -> Vec<String> {
    if arguments.get(1).map(String::as_str) != Some("run") {
        return arguments;
    }
    let mut out = Vec::with_capacity(arguments.len());
    let mut rest = arguments.into_iter().peekable();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "+" => {
                let addition: Vec<String> = rest.by_ref().collect();
                out.push(format!("--add={}", addition.join(" ")));
            }
            "-l" | "--loop" => match rest.next_if(|next| is_loop_amount(next)) {
                Some(amount) => out.push(format!("--loop={amount}")),
                None => out.push("--loop".to_string()),
            },
            "-simulate" => out.push("--dry-run".to_string()),
            // As people type fio's switches, and as its manual has them: `--direct 1`.
            switch if is_switch(switch) => match rest.next_if(|next| ["0", "1"].contains(&next.as_str())) {
                Some(value) => out.push(format!("{switch}={value}")),
                None => out.push(argument),
            },
            _ => out.push(attached_value(&argument).unwrap_or(argument)),
        }
    }
    out
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
        "-v" | "-j" => Some(format!("{flag}={value}")),
        _ => None,
    }
}

/// A count, or a count with a unit of time.
fn is_loop_amount(text: &str) -> bool {
    let digits = text.trim_end_matches(['s', 'm', 'h']);
    !digits.is_empty() && text.len() - digits.len() <= 1 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::normalise;

    fn check(input: &str, expect: &str) {
        let words = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
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
        check("iodyno report -t1", "iodyno report -t1");
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
    fn everything_after_plus_is_one_addition() {
        let words = ["iodyno", "run", "a.vdb", "+", "iorate=max,", "elapsed=3"].map(String::from).to_vec();
        assert_eq!(normalise(words), ["iodyno", "run", "a.vdb", "--add=iorate=max, elapsed=3"]);
    }
}
