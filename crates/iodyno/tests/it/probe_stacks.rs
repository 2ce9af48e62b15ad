//! What programs are at: a program whose functions share its time as it is known, shown by every face.

use crate::support::Scratch;
use serde_json::Value;
use std::path::PathBuf;
use testkit::TestCommand;

/// Works in `three_parts` three times as long as in `one_part`.
const TWO_PARTS: &str = "
static volatile unsigned long sum;
__attribute__((noinline)) void one_part(long n) { for (long i = 0; i < n; i++) sum += i; }
__attribute__((noinline)) void three_parts(long n) { for (long i = 0; i < 3 * n; i++) sum += i; }
int main(void) { for (;;) { one_part(50000); three_parts(50000); } }
";

/// Comes to where it works in a million ways.
const MANY_WAYS: &str = "
static volatile unsigned long sum;
__attribute__((noinline)) void a(unsigned long way, int depth);
__attribute__((noinline)) void b(unsigned long way, int depth) {
    if (depth) { if (way & 1) a(way >> 1, depth - 1); else b(way >> 1, depth - 1); }
    for (long i = 0; i < 100; i++) sum += i;
}
__attribute__((noinline)) void a(unsigned long way, int depth) {
    if (depth) { if (way & 1) a(way >> 1, depth - 1); else b(way >> 1, depth - 1); }
    for (long i = 0; i < 100; i++) sum += i;
}
int main(void) { for (unsigned long way = 1; ; way = way * 6364136223846793005ul + 1442695040888963407ul) a(way >> 40, 20); }
";

/// The program, compiled; `None` where it cannot be (or probes are not permitted), which is said.
fn two_parts(scratch: &Scratch) -> Option<PathBuf> {
    compiled(scratch, TWO_PARTS)
}

fn compiled(scratch: &Scratch, text: &str) -> Option<PathBuf> {
    if !testkit::require_root_or_skip() {
        return None;
    }
    let (source, program) = (scratch.path("parts.c"), scratch.path("parts"));
    std::fs::write(&source, text).unwrap();
    // Optimised, gcc gives leaf functions no frame, and their callers are not seen.
    let arguments = ["-O0", "-fno-omit-frame-pointer", "-o", program.to_str().unwrap(), source.to_str().unwrap()];
    let Ok(made) = TestCommand::new("cc").args(arguments).run() else {
        testkit::lacks("a C compiler");
        return None;
    };
    made.expect_code(0);
    Some(program)
}

/// Leaves of the program.
const PARTS: [&str; 2] = ["one_part", "three_parts"];

/// Whether it was seen often enough to say what shares it has; without a processor it is not seen.
fn are_enough([one, three]: &[f64; 2]) -> bool {
    one + three > 100.0
}

/// Looks at a leaf, and whether three to one is what was seen.
fn three_to_one([one, three]: [f64; 2]) {
    let looks = one + three;
    // Four standard deviations of so many looks, and a hundredth for what surrounds the loops.
    let error = 4.0 * (0.75_f64 * 0.25 / looks).sqrt() + 0.01;
    assert!((three / looks - 0.75).abs() < error, "{three} of {looks}, ± {error}");
}

fn ends(text: &Value, name: &str) -> bool {
    text.as_str().is_some_and(|text| text.ends_with(name))
}

#[test]
fn stacks_live_in_words_for_programs_and_for_flame_graphs() {
    let scratch = Scratch::new();
    let Some(program) = two_parts(&scratch) else { return };
    let busy = TestCommand::new(&program).spawn().unwrap();
    let looks = || {
        let looks = ["probe", "stacks", "2s", "2", "--hz", "497", "--json"];
        let output = scratch.iodyno(&looks).run().unwrap().expect_code(0);
        let objects = output.ndjson();
        assert_eq!(objects.len(), 3, "{}", output.stdout);
        let all = &objects[2];
        assert_eq!((all["probe"].as_str(), all["total"].as_bool()), (Some("stacks"), Some(true)));
        PARTS.map(|name| {
            let rows = all["stacks"].as_array().unwrap().iter();
            let rows = rows.filter(|row| row["pid"] == busy.id() && ends(&row["user"], name));
            rows.map(|row| row["samples"].as_f64().unwrap()).sum::<f64>()
        })
    };
    three_to_one(testkit::until_enough(looks, are_enough));
    let heading = format!("{} parts: ", busy.id());
    let text = || {
        let text = scratch.iodyno(&["probe", "stacks", "1s", "1", "--cost"]).run().unwrap().expect_code(0);
        assert!(text.stderr.contains("the probes ran"), "{}", text.stderr);
        text.stdout
    };
    testkit::until_enough(text, |text| text.contains(&heading) && text.contains("main;three_parts"));
    let folded = || {
        let looks = ["probe", "stacks", "2s", "1", "--hz", "497", "--folded"];
        let folded = scratch.iodyno(&looks).run().unwrap().expect_code(0);
        PARTS.map(|name| {
            let lines = folded.stdout.lines().filter_map(|line| line.rsplit_once(' '));
            let lines = lines.filter(|(stack, _)| stack.starts_with("parts;") && stack.ends_with(name));
            lines.map(|(_, count)| count.parse::<f64>().unwrap()).sum::<f64>()
        })
    };
    three_to_one(testkit::until_enough(folded, are_enough));
    drop(busy);
}

#[test]
fn stacks_are_recorded_when_asked() {
    let scratch = Scratch::new();
    let Some(program) = two_parts(&scratch) else { return };
    let command = ["record", "--profile=497", "-o", "made", "--", "timeout", "4", program.to_str().unwrap()];
    let looks = || {
        let _ = std::fs::remove_dir_all(scratch.path("made"));
        scratch.iodyno(&command).run().unwrap().expect_code(124);
        let rows = scratch.table("made", "profile");
        let of = |row: &Value, key: &str| row[key].as_f64().unwrap();
        let is_right = |row: &Value| (of(row, "cpu_ns") - of(row, "samples") * 1e9 / 497.0).abs() < 1e6;
        assert!(rows.iter().all(is_right), "{rows:?}");
        PARTS.map(|name| {
            let rows = rows.iter().filter(|row| row["comm"] == "parts" && ends(&row["user"], name));
            rows.map(|row| row["samples"].as_f64().unwrap()).sum::<f64>()
        })
    };
    three_to_one(testkit::until_enough(looks, are_enough));
    scratch.iodyno(&["record", "-o", "plain", "--for", "1s"]).run().unwrap().expect_code(0);
    assert!(scratch.table("plain", "profile").is_empty(), "no option asked for it");
}

#[test]
fn what_is_lost_is_in_the_manifest_of_the_day() {
    let scratch = Scratch::new();
    let Some(program) = compiled(&scratch, MANY_WAYS) else { return };
    let busy = TestCommand::new(&program).spawn().unwrap();
    let command = ["record", "-d", "days", "-i", "3s", "--for", "3s", "--profile=10000", "--min-free", "0"];
    let losses = || {
        let _ = std::fs::remove_dir_all(scratch.path("days"));
        scratch.iodyno(&command).run().unwrap().expect_code(0);
        let days =
            std::fs::read_dir(scratch.path("days")).unwrap().flatten().map(|entry| entry.path().join("manifest.json"));
        let manifests: Vec<String> = days.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
        let manifest: Value = serde_json::from_str(&manifests[0]).unwrap();
        manifest["losses"].clone()
    };
    testkit::until_enough(losses, |losses| losses["profile_stacks_full"].as_u64() > Some(100));
    drop(busy);
}

#[test]
fn help_names_every_subject() {
    let help = Scratch::new().iodyno(&["probe", "--help"]).run().unwrap().expect_code(0);
    let first = help.stdout.split("\n\n").next().unwrap_or_default();
    for subject in ["`io`", "`files`", "`cpu`", "`stacks`"] {
        assert!(first.contains(subject), "{first}");
    }
}

#[test]
fn without_the_privilege_it_is_said() {
    let scratch = Scratch::new();
    if !testkit::require_root_or_skip() {
        return;
    }
    let without = |arguments: &[&str]| {
        let drop = ["--bounding-set", "-all,+dac_override", "--inh-caps", "-all", "--", env!("CARGO_BIN_EXE_iodyno")];
        TestCommand::new("setpriv").args(drop).args(arguments).dir(scratch.path("")).run().unwrap()
    };
    let refused = without(&["probe", "stacks", "1s", "1"]).expect_code(8);
    assert!(refused.stderr.contains("CAP_BPF"), "{}", refused.stderr);
    // What else there is to record is recorded.
    let made = without(&["record", "--profile", "-o", "made", "--", "sleep", "0.5"]).expect_code(0);
    assert!(made.stderr.contains("what programs are at is not recorded"), "{}", made.stderr);
    assert!(scratch.table("made", "profile").is_empty() && !scratch.table("made", "cpu").is_empty());
}

#[test]
fn what_stacks_do_not_know_is_refused() {
    let scratch = Scratch::new();
    for (arguments, word) in [
        (&["probe", "stacks", "--by", "process"][..], "--by"),
        (&["probe", "stacks", "--pid", "1"], "--pid"),
        (&["probe", "cpu", "--folded"], "--folded"),
        (&["probe", "io", "--hz", "50"], "--hz"),
        (&["probe", "files", "--cost"], "--cost"),
    ] {
        let refused = scratch.iodyno(arguments).run().unwrap();
        assert!(refused.code != Some(0) && refused.stderr.contains(word), "{arguments:?}: {}", refused.stderr);
    }
}
