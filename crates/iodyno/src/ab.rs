//! `iodyno ab`.

use crate::ab_args::AbArgs;
use crate::compare;
use crate::exit::{Failure, PARAMETERS};
use crate::foreign_commands::{self, FileOwner};
use crate::load_files::{Inputs, read_files_with, split_inputs};
use crate::recording_dir;
use crate::run::{check_destroy, dry_run_code};
use crate::signals::watch_signals;
use crate::time_args::{INTERVAL_MIN_NS, interval, time};
use crate::{objectives, open};
use ::objectives::{ComparedCondition, SelectableNames};
use monitor::StopFlag;
use output::OverwritePolicy;
use params::VdbenchOptions;
use plan::RunRepeat;
use quantity::text::format_ns;
use session::{AbLoad, AbOutcome, AbRequest, RoundSide, RunObserver, order_of};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use views::{ComparisonQuestion, ROUND_S_MIN};

/// A longer value of a variable is no name of a side.
const LABEL_MAX: usize = 24;
/// Sentences about rounds that went wrong in the JUnit file.
const TROUBLES_SHOWN: usize = 5;
/// Rounds whose order a dry run writes out.
const ORDER_MAX: u32 = 20;

/// Variables of a parameter file.
type Variables = Vec<(String, String)>;

/// What one side is made of.
struct Input {
    file: PathBuf,
    variables: Variables,
}

/// Runs two loads in turn and compares them, or shows what would happen; gives the exit code.
pub(crate) fn run(args: &AbArgs, command_line: &[String]) -> Result<u8, Failure> {
    let question = compare::question(&args.question)?;
    let conditions = compare::conditions(&args.judge)?;
    if let Some(path) = &args.judge.junit {
        session::check_junit_file(path, OverwritePolicy::Never)?;
    }
    let (inputs, shared) = inputs(args)?;
    let labels = labels(&inputs);
    let (mut loads, mut owners) = (Vec::new(), Vec::new());
    let others = inputs.iter().rev();
    for (((input, other), label), side) in inputs.iter().zip(others).zip(labels).zip([RoundSide::A, RoundSide::B]) {
        let words = words(input, &shared);
        say_side(side, &label, &words, args.judge.json);
        let (load, of_files) =
            load(args, input, &shared, label).inspect_err(|_| say_lone(side, input, other, &shared))?;
        loads.push(load);
        owners.push(of_files);
    }
    let loads: [AbLoad; 2] = loads.try_into().map_err(|_| Failure::new(PARAMETERS, "two loads are needed"))?;
    compare::check_names(&conditions, &names(&loads))?;
    let policies = args.load.policy(false);
    let mut both = loads[0].plan.clone();
    both.targets.extend(loads[1].plan.targets.iter().cloned());
    check_destroy(&both, &policies)?;
    let elapsed_ns = time(Some(&args.elapsed), "-e")?.unwrap_or(0);
    // Times of commands are judged however short a round is.
    let has_io = loads.iter().any(|load| !load.plan.runs.iter().all(plan::Run::is_of_commands));
    if has_io && (elapsed_ns as f64) < ROUND_S_MIN * 1e9 {
        say!("iodyno: rounds of {} get no verdict: {ROUND_S_MIN:.0} s are needed (-e)", format_ns(elapsed_ns));
    }
    if args.dry_run {
        return dry_run(args, &loads, &owners);
    }
    args.judge.junit.as_deref().map_or(Ok(()), session::begin_junit_file)?;
    let place = recording_dir::take(args.output.as_deref(), "ab")?;
    let request = AbRequest {
        loads,
        directory: place.path().to_path_buf(),
        rounds: args.rounds,
        engine: args.load.engine.choice(),
        workers: args.load.workers,
        command_line: command_line.to_vec(),
        counters: !args.load.no_counters,
    };
    let stop = StopFlag::default();
    watch_signals(&stop)?;
    // Standard output is for JSON where that was asked for.
    let mut face: Box<dyn RunObserver> =
        if args.judge.json { Box::new(session::error_face()) } else { Box::new(session::terminal_face()) };
    let outcome = session::ab(&request, face.as_mut(), &stop)?;
    let _ = face.finish(&[]);
    for message in &outcome.messages {
        say!("iodyno: {message}");
    }
    let trouble = trouble(&outcome);
    let shown = show(&request.directory, args, question, (&conditions, trouble.as_deref()));
    // What ended it comes first; then how its rounds went; then what is wrong with the recordings.
    if let Some(error) = outcome.failure {
        let _ = shown.map_err(|failure| say!("iodyno: {}", failure.message));
        return Err(error.into());
    }
    match (outcome.ending.exit_code(), shown) {
        (0, shown) => shown,
        (code, Ok(_)) => Ok(code),
        (code, Err(failure)) => {
            say!("iodyno: {}", failure.message);
            end_junit(args, &failure.message)?;
            Ok(code)
        }
    }
}

/// How the rounds went wrong; `None` where they did not.
fn trouble(outcome: &AbOutcome) -> Option<String> {
    let end = match &outcome.failure {
        Some(error) => error.to_string(),
        None if outcome.ending.exit_code() != 0 => outcome.ending.exit().to_string(),
        None => return None,
    };
    let words = std::iter::once(end).chain(outcome.messages.iter().take(TROUBLES_SHOWN).cloned());
    Some(words.collect::<Vec<String>>().join("; "))
}

/// The JUnit file says that there is no comparison, and why.
fn end_junit(args: &AbArgs, words: &str) -> Result<(), Failure> {
    let path = args.judge.junit.as_deref();
    Ok(path.map_or(Ok(()), |path| session::end_junit_file(path, OverwritePolicy::Never, words))?)
}

/// Shows the comparison, judges it, and writes its page.
fn show(
    directory: &Path,
    args: &AbArgs,
    question: ComparisonQuestion,
    (conditions, trouble): (&[ComparedCondition], Option<&str>),
) -> Result<u8, Failure> {
    let parts = session::half_rounds(directory)?;
    let lack = open::lack_of(parts.iter().map(PathBuf::as_path))?;
    let tell = |words: &str, path: &Path| {
        if !args.judge.json {
            outln!("{words}  {}", path.display());
        }
    };
    if !args.judge.json {
        outln!("");
    }
    if parts.is_empty() {
        tell("recordings", directory);
        end_junit(args, trouble.unwrap_or("no round was run"))?;
        return Ok(lack.code);
    }
    let made = compare::show(&[directory.to_path_buf()], None, question, &args.judge).and_then(|mut comparison| {
        let code = compare::judge(&mut comparison, (&args.judge, OverwritePolicy::No), conditions, (&lack, trouble))?;
        Ok((comparison, code))
    });
    if !args.judge.json {
        outln!("");
    }
    tell("recordings", directory);
    let (comparison, code) = made?;
    if !args.no_report {
        let page = directory.join(recording::PAGE);
        session::comparison_file(&comparison, &page, OverwritePolicy::No)?;
        tell("report    ", &page);
    }
    Ok(code)
}

/// The files of both sides, and the variables of both.
fn inputs(args: &AbArgs) -> Result<([Input; 2], Variables), Failure> {
    let wrong = |message: String| Err(Failure::new(PARAMETERS, message));
    let ((files, shared), between) = split_sides(&args.inputs)?;
    let mut sides = Vec::new();
    for (flag, texts) in [("--a", &args.a), ("--b", &args.b)] {
        let (rest, variables) = split_inputs(texts);
        if let Some(rest) = rest.first() {
            return wrong(format!("{flag} {}: NAME=VALUE is needed; files stand before {flag}", rest.display()));
        }
        sides.push(variables);
    }
    let (mut b, mut a) = (sides.pop().unwrap_or_default(), sides.pop().unwrap_or_default());
    a.extend(between.0);
    b.extend(between.1);
    let (first, second) = match &files[..] {
        [one] if a.is_empty() && b.is_empty() => {
            return wrong(format!(
                "{} is one load: name the file of the other one as well, or give --a NAME=VALUE and --b NAME=VALUE for \
                 variables in it; `iodyno ab {0} {0}` shows how much equal loads differ here",
                one.display()
            ));
        }
        [one] => (one.clone(), one.clone()),
        [one, other] => (one.clone(), other.clone()),
        [] => return wrong("no parameter file given: `iodyno ab A.vdb B.vdb`".to_string()),
        more => {
            return wrong(format!(
                "{} files: two loads are compared, each of one file (include= adds others)",
                more.len()
            ));
        }
    };
    let with = |own: Variables, file: PathBuf| Input { file, variables: own };
    Ok(([with(a, first), with(b, second)], shared))
}

/// Files and variables of both, as they were split by [`split_inputs`].
type Shared = (Vec<PathBuf>, Variables);

/// Files and the variables of both; then those of A and of B alone. Where variables stand between the two files, each side has those behind
/// its own file: `ab A.vdb lun=x B.vdb lun=y`. Otherwise they are of both.
fn split_sides(inputs: &[OsString]) -> Result<(Shared, (Variables, Variables)), Failure> {
    let is_file = |input: &OsString| !split_inputs([input]).0.is_empty();
    let places: Vec<usize> = inputs.iter().enumerate().filter(|(_, input)| is_file(input)).map(|(at, _)| at).collect();
    if let [first, second] = places[..]
        && second > first + 1
    {
        let (files, before) = split_inputs(inputs.iter().take(second).take(first + 1));
        let (_, of_a) = split_inputs(inputs.iter().take(second).skip(first + 1));
        let (second, of_b) = split_inputs(inputs.iter().skip(second));
        return Ok(((files.into_iter().chain(second).collect(), before), (of_a, of_b)));
    }
    let (files, shared) = split_inputs(inputs);
    let twice = shared.iter().enumerate().find_map(|(at, (name, value))| {
        let before = shared.iter().take(at).find(|(other, _)| other == name)?;
        Some((name, &before.1, value))
    });
    match twice {
        Some((name, a, b)) => Err(Failure::new(
            PARAMETERS,
            format!(
                "{name}={b}: both sides have {name}={a} already; a value for each side is --a {name}={a} --b {name}={b}"
            ),
        )),
        None => Ok(((files, shared), (Variables::new(), Variables::new()))),
    }
}

/// What a side is made of, as one would type it.
fn words(input: &Input, shared: &Variables) -> String {
    let variables = shared.iter().chain(&input.variables).map(|(name, value)| format!(" {name}={value}"));
    format!("{}{}", input.file.display(), variables.collect::<String>())
}

fn say_side(side: RoundSide, label: &str, words: &str, is_json: bool) {
    let name = if label == side.letter() { String::new() } else { format!(" ({label})") };
    // Standard output is for JSON where that was asked for.
    if is_json {
        say!("iodyno: {}{name}: {words}", side.letter());
    } else {
        outln!("{}{name}: {words}", side.letter());
    }
}

/// Says which variables only the other side has: those behind `--a` and `--b` reach up to the next option.
fn say_lone(side: RoundSide, input: &Input, other: &Input, shared: &Variables) {
    let has = |name: &String| input.variables.iter().chain(shared).any(|(known, _)| known == name);
    let lone = other.variables.iter().filter(|(name, _)| !has(name)).map(|(name, value)| format!("{name}={value}"));
    let lone = lone.collect::<Vec<_>>().join(" ");
    if !lone.is_empty() {
        let (own, other) = if side == RoundSide::A { ("a", "b") } else { ("b", "a") };
        say!(
            "iodyno: {own} has no {lone}: what stands behind --{other} or behind {other}'s own file belongs to {other} only; a \
             variable of both stands in front: iodyno ab NAME=VALUE FILE …"
        );
    }
}

/// The runs that will be compared, for labels of conditions.
fn names(loads: &[AbLoad; 2]) -> SelectableNames {
    let of = |run: &plan::Run| {
        let loops: String = run.loops.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        format!("{}{loops}", run.title)
    };
    SelectableNames {
        runs: loads.iter().flat_map(|load| load.plan.runs.iter().map(of)).collect(),
        ..SelectableNames::default()
    }
}

/// Short names of both sides: of their files, or of the one variable in which they differ; `a` and `b` where neither tells them apart.
fn labels(inputs: &[Input; 2]) -> [String; 2] {
    let stem = |input: &Input| input.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let of_variable = |input: &Input| match &input.variables[..] {
        [(name, value)] => Some(format!("{name}={value}")),
        _ => None,
    };
    let [a, b] = inputs;
    let letters = || [RoundSide::A, RoundSide::B].map(|side| side.letter().to_string());
    let found = if a.file == b.file { [of_variable(a), of_variable(b)] } else { [stem(a), stem(b)] };
    match found {
        [Some(a), Some(b)] if a != b && a.len().max(b.len()) <= LABEL_MAX && !a.is_empty() && !b.is_empty() => [a, b],
        _ => letters(),
    }
}

/// Reads one side.
fn load(args: &AbArgs, input: &Input, shared: &Variables, label: String) -> Result<(AbLoad, Vec<FileOwner>), Failure> {
    let options = VdbenchOptions {
        variables: shared.iter().chain(&input.variables).cloned().collect(),
        elapsed_ns: time(Some(&args.elapsed), "-e")?,
        interval_ns: args.interval.as_deref().map(|text| interval(text, "-i", INTERVAL_MIN_NS)).transpose()?,
        warmup_ns: time(args.warmup.as_deref(), "-w")?,
        // Rounds are made here.
        repeat: Some(RunRepeat::Times(1)),
        seed: args.seed,
        ..VdbenchOptions::default()
    };
    let Inputs { plan, mut jobs, owners, .. } =
        read_files_with(std::slice::from_ref(&input.file), &Vec::new(), &options, false, true)?;
    objectives::check(&plan)?;
    if !args.dry_run {
        foreign_commands::check(&plan, &owners, args.load.allow_commands)?;
    }
    if jobs.drop_logs() {
        say!(
            "iodyno: {}: fio's logs are not written for rounds; `iodyno export ROUND --format fio-logs` does, of averages",
            input.file.display()
        );
    }
    let policy = args.load.policy(plan.settings.format == Some(false));
    Ok((AbLoad { label, plan, jobs, policy }, owners))
}

fn dry_run(args: &AbArgs, loads: &[AbLoad; 2], owners: &[Vec<FileOwner>]) -> Result<u8, Failure> {
    let mut code = 0;
    for (load, owners) in loads.iter().zip(owners) {
        let mut future = session::dry_run(&load.plan, &load.policy);
        foreign_commands::foresee(&mut future, &load.plan, owners, args.load.allow_commands);
        code = code.max(dry_run_code(&future));
        outln!("");
        outln!("{}, in each of its {} half-rounds:", load.label, args.rounds);
        for line in &future.lines {
            outln!("  {line}");
        }
    }
    outln!("");
    outln!("order: {}", order(args.rounds));
    let [a, b] = [&loads[0], &loads[1]].map(AbLoad::duration_ns);
    match a.zip(b) {
        Some((a, b)) => {
            let all_ns = a.saturating_add(b).saturating_mul(u64::from(args.rounds));
            let each = if a == b { format_ns(a) } else { format!("{} and {}", format_ns(a), format_ns(b)) };
            outln!(
                "time: {} at most for {} rounds of two times {each}, besides fills, starts and ends; {} more for each round with a fault, two at most",
                format_ns(all_ns),
                args.rounds,
                format_ns(a.saturating_add(b))
            );
        }
        None => outln!("time: open, at least one run ends with its data and not with the clock"),
    }
    outln!("results: {}", recording_dir::name(args.output.as_deref(), "ab")?.display());
    outln!("nothing was written or read; leave out --dry-run to run it");
    Ok(code)
}

/// `a b  b a  a b`, as many as fit a line.
fn order(rounds: u32) -> String {
    let round = |round: u32| order_of(round).map(RoundSide::letter).join(" ");
    let written: Vec<String> = (1..=rounds.min(ORDER_MAX)).map(round).collect();
    let more = if rounds > ORDER_MAX { "  …" } else { "" };
    format!("{}{more}", written.join("  "))
}

#[cfg(test)]
mod tests {
    use super::{Input, labels, order, split_sides};
    use std::ffi::OsString;

    fn input(file: &str, variables: &[(&str, &str)]) -> Input {
        let variables = variables.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect();
        Input { file: file.into(), variables }
    }

    #[test]
    fn sides_are_called_by_what_tells_them_apart() {
        let check = |a: Input, b: Input, expect: [&str; 2]| assert_eq!(labels(&[a, b]), expect);
        check(input("x/old.vdb", &[]), input("y/new.vdb", &[]), ["old", "new"]);
        check(input("x/load.vdb", &[]), input("y/load.vdb", &[]), ["a", "b"]);
        check(input("l.vdb", &[("d", "sda")]), input("l.vdb", &[("d", "sdb")]), ["d=sda", "d=sdb"]);
        check(input("l.vdb", &[("d", "sda"), ("n", "1")]), input("l.vdb", &[("d", "sdb")]), ["a", "b"]);
        let long = "/dev/disk/by-id/a-very-long-name";
        check(input("l.vdb", &[("d", long)]), input("l.vdb", &[("d", "sdb")]), ["a", "b"]);
    }

    #[test]
    fn each_side_has_the_variables_behind_its_own_file() {
        let split = |words: &str| {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            split_sides(&words).map(|((files, both), (a, b))| {
                let text = |of: &[(String, String)]| {
                    of.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
                };
                assert_eq!(files.len(), words.iter().filter(|word| !word.to_string_lossy().contains('=')).count());
                [text(&both), text(&a), text(&b)]
            })
        };
        let check = |words: &str, expect: [&str; 3]| assert_eq!(split(words).unwrap(), expect, "{words}");
        check("a.vdb x=1 b.vdb x=2", ["", "x=1", "x=2"]);
        check("y=3 a.vdb x=1 z=4 a.vdb x=2", ["y=3", "x=1 z=4", "x=2"]);
        check("a.vdb x=1 b.vdb", ["", "x=1", ""]);
        check("a.vdb b.vdb x=1", ["x=1", "", ""]);
        check("x=1 a.vdb b.vdb y=2", ["x=1 y=2", "", ""]);
        check("a.vdb x=1", ["x=1", "", ""]);
        let wrong = split("a.vdb x=1 x=2").unwrap_err().message;
        assert!(wrong.contains("--a x=1 --b x=2"), "{wrong}");
        assert!(split("a.vdb b.vdb x=1 x=2").is_err());
    }

    #[test]
    fn the_order_is_written_out() {
        assert_eq!(order(5), "a b  b a  a b  b a  a b");
        assert!(order(30).ends_with("a b  b a  …"), "{}", order(30));
    }
}
