//! `iodyno run pts:TEST TARGET [NAME=VALUE…]`: a test of the SNIA's specification for solid state storage.

use crate::args::RunArgs;
use crate::exit::{Failure, PARAMETERS};
use crate::load_files::{Flags, Inputs};
use crate::time_args::{INTERVAL_MIN_NS, interval, time};
use params::ParameterFormat;
use plan::JobTexts;
use plan::pts::{CAVEAT, Preconditioning, PtsCapacity, PtsRequest, PtsTest, pts_plan};
use quantity::suggest::did_you_mean;
use quantity::text::parse_bytes;
use std::path::PathBuf;

/// What a test is called by.
const PREFIX: &str = "pts:";

/// What can be different from the specification.
const NAMES: [&str; 9] =
    ["seconds", "rounds", "sizes", "mixes", "depth", "capacity", "purge", "precondition", "direct"];

fn wrong(message: impl Into<String>) -> Failure {
    Failure::new(PARAMETERS, message)
}

/// What targets advise is said in the language of parameter files.
pub(crate) fn test_words(message: &str) -> String {
    message.replace("`size=`", "`capacity=`").replace("leave out `openflags=o_direct`", "give `direct=no`")
}

/// The same of a failure.
pub(crate) fn in_its_words(failure: Failure) -> Failure {
    Failure { message: test_words(&failure.message), ..failure }
}

/// The test that the first of the inputs names; `None` where it names none.
pub(crate) fn asked(files: &[PathBuf]) -> Result<Option<PtsTest>, Failure> {
    let Some(word) = files.first().and_then(|file| file.to_str()?.strip_prefix(PREFIX)) else { return Ok(None) };
    match PtsTest::of_word(word) {
        Some(test) => Ok(Some(test)),
        None => {
            let words = PtsTest::ALL.map(PtsTest::word);
            let near = did_you_mean(word, words).unwrap_or_else(|| format!("there are {}", words.join(", ")));
            Err(wrong(format!("{PREFIX}{word}: there is no such test; {near} (docs/pts.md)")))
        }
    }
}

/// The plan of a test.
pub(crate) fn read(
    args: &RunArgs,
    flags: &Flags,
    test: PtsTest,
    (files, values): (&[PathBuf], &[(String, String)]),
) -> Result<Inputs, Failure> {
    check_alone(args, flags)?;
    let word = test.word();
    let target = match files.get(1..) {
        Some([target]) => target.clone(),
        Some([_, second, ..]) => {
            return Err(wrong(format!(
                "{}: {PREFIX}{word} tests one device or file at a time: leave it out, or start a second command",
                second.display()
            )));
        }
        _ => {
            return Err(wrong(format!(
                "{PREFIX}{word} needs the device or file to test, and overwrites it: iodyno run {PREFIX}{word} /dev/nvme1n1 --dry-run"
            )));
        }
    };
    let mut request = PtsRequest::of(test, target);
    request.interval_ns = args.interval.as_deref().map(|text| interval(text, "-i", INTERVAL_MIN_NS)).transpose()?;
    values.iter().try_for_each(|(name, value)| set(&mut request, name, value))?;
    if !request.target.exists() && !matches!(request.capacity, Some(PtsCapacity::Bytes(_))) {
        let name = request.target.display();
        return Err(wrong(format!(
            "{name}: it does not exist; name a device or file that does, or have a file made: iodyno run {PREFIX}{word} {name} capacity=1g"
        )));
    }
    let mut plan = pts_plan(&request).map_err(|mistake| wrong(mistake.to_string()))?;
    plan.settings.use_seed(args.seed);
    say!("iodyno: {CAVEAT}");
    Ok(Inputs {
        plan,
        format: ParameterFormat::Vdbench,
        jobs: JobTexts::default(),
        flags: Vec::new(),
        owners: Vec::new(),
    })
}

/// What does not go with a test: all that says what load is to be made, or how often.
fn check_alone(args: &RunArgs, flags: &Flags) -> Result<(), Failure> {
    let reading = &args.fio_reading;
    let given = [
        (args.elapsed.is_some(), "-e", "seconds= is the time of a point"),
        (args.warmup.is_some(), "-w", "what warms up here is the preconditioning: precondition=2"),
        (
            args.repeat.is_some() || args.rounds.is_some(),
            "--repeat (-l)",
            "rounds= is how many rounds there are at most",
        ),
        (args.quick.is_some(), "-t", "give either a test or a quick test"),
        (args.addition.is_some(), "+ (--add)", "it adds to rd= of a parameter file"),
        (args.restart.is_some(), "-r", "a test begins with its first run"),
        (args.clean.is_some(), "-c", "it is about files of fsd="),
        (
            !args.validate.is_empty() || !args.journal.is_empty(),
            "-v or -j",
            "a test measures a drive, and checks no data",
        ),
        (
            !flags.is_empty() || reading.showcmd || reading.parse_only || !reading.sections.is_empty(),
            "an option of fio's",
            "give either a test or a load",
        ),
    ];
    match given.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, what, help)) => Err(wrong(format!("{what} beside {PREFIX}…: {help} (docs/pts.md)"))),
        None => Ok(()),
    }
}

/// Takes one `name=value` in.
fn set(request: &mut PtsRequest, name: &str, value: &str) -> Result<(), Failure> {
    let bad = |help: &str| wrong(format!("{name}={value}: {help}"));
    let count = |help: &str| value.parse::<u64>().map_err(|_| bad(help));
    match name {
        "seconds" => request.point_ns = time(Some(value), "seconds=")?,
        "rounds" => request.rounds_max = Some(count("a number of rounds: rounds=25")?),
        "depth" => {
            let help = "operations in flight: depth=32";
            request.depth = Some(u32::try_from(count(help)?).map_err(|_| bad(help))?);
        }
        "sizes" => {
            let sizes = value.split(',').map(|size| parse_bytes(size).map_err(|why| bad(&why.to_string())));
            request.sizes = sizes.collect::<Result<Vec<u64>, Failure>>()?;
        }
        "mixes" => {
            let mix = |text: &str| text.parse::<u32>().map_err(|_| bad("per cent of reads: mixes=100,65,0"));
            request.mixes = value.split(',').map(mix).collect::<Result<Vec<u32>, Failure>>()?;
        }
        "capacity" => request.capacity = Some(capacity(value).ok_or_else(|| bad("a size or a part: 64g, 50%"))?),
        "purge" => request.purge = Some(value.to_string()).filter(|line| !line.trim().is_empty()),
        "precondition" => {
            request.precondition = Some(match value.parse::<f64>() {
                Ok(times) => Preconditioning::Times(times),
                Err(_) => Preconditioning::Command(value.to_string()),
            });
        }
        "direct" => {
            request.is_buffered = match value {
                "1" | "yes" => false,
                "0" | "no" => true,
                _ => return Err(bad("yes passes by the page cache, no uses it")),
            };
        }
        _ => {
            let near = did_you_mean(name, NAMES).unwrap_or_else(|| format!("there are {}", NAMES.join(", ")));
            return Err(wrong(format!("{name}={value}: a test has no such value; {near} (docs/pts.md)")));
        }
    }
    Ok(())
}

fn capacity(text: &str) -> Option<PtsCapacity> {
    match text.strip_suffix('%') {
        Some(percent) => Some(PtsCapacity::Fraction(percent.trim().parse::<f64>().ok()? / 100.0)),
        None => parse_bytes(text).ok().map(PtsCapacity::Bytes),
    }
}
