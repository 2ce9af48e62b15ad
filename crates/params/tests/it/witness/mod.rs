//! An independent witness of Vdbench parameter files: random files, what the manual's rules make of them by a deliberately
//! naive evaluation, and what iodyno makes of them.
//!
//! `IODYNO_WITNESS_SEED=n` tries one file and shows it. `IODYNO_WITNESS_DUMP=DIR` with the exam writes files and what is
//! expected of them, for a judge outside.

mod compare;
mod grammar;
mod naive;

use crate::support::mutate::Random;
use compare::{Outcome, judge};
use naive::Rule;
use std::collections::BTreeMap;
use std::path::PathBuf;

fn verdict(seed: u64, flipped: Option<Rule>) -> Outcome {
    judge(&grammar::file(&mut Random(seed)), &mut Random(!seed), flipped)
}

/// How often each documented difference came up.
fn run(seeds: impl Iterator<Item = u64>) -> BTreeMap<&'static str, u32> {
    let documented = documented();
    let mut counts = BTreeMap::new();
    for seed in seeds {
        match verdict(seed, None) {
            Outcome::Equal => *counts.entry("equal").or_insert(0) += 1,
            Outcome::BothRefuse => *counts.entry("refused by both").or_insert(0) += 1,
            Outcome::Listed(id) => {
                assert!(documented.contains(&id.to_string()), "seed {seed}: `{id}` is not listed in docs/vdbench.md");
                *counts.entry(id).or_insert(0) += 1;
            }
            Outcome::Different(what) => panic!("seed {seed} (IODYNO_WITNESS_SEED={seed} shows it):\n{what}"),
        }
    }
    counts
}

/// The ids of the table of differences in the documentation.
fn documented() -> Vec<String> {
    let path = format!("{}/../../docs/vdbench.md", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("docs/vdbench.md");
    let ids = text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
    ids.map(|(id, _)| id.to_string()).collect()
}

#[test]
fn random_files_mean_what_the_manual_says() {
    if let Some(seed) = std::env::var("IODYNO_WITNESS_SEED").ok().and_then(|seed| seed.parse().ok()) {
        let file = grammar::file(&mut Random(seed));
        let text = grammar::render(&file, &mut Random(!seed));
        let expected = naive::expand(&file, None).map_or_else(|id| format!("refused: {id}"), |lines| lines.join("\n"));
        println!("{text}\n{expected}");
        run(std::iter::once(seed));
        return;
    }
    let counts = run(0..500);
    println!("{counts:?}");
    // Files of which a difference is listed are compared as well.
    let compared: u32 = counts.iter().filter(|(id, _)| **id != "refused by both").map(|(_, count)| count).sum();
    assert!(compared > 250, "{counts:?}");
}

#[test]
#[ignore = "times: make exam"]
fn twenty_thousand_random_files_mean_what_the_manual_says() {
    let from = std::env::var("IODYNO_WITNESS_FROM").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1_000_000);
    println!("seeds from {from}: {:?}", run(from..from + 20_000));
}

/// A witness that is blind to a rule would not see it broken.
#[test]
fn each_broken_rule_is_found() {
    for rule in Rule::ALL {
        // Most files say nothing of a rule: these need not be read.
        let says = |seed: &u64| {
            let file = grammar::file(&mut Random(*seed));
            naive::expand(&file, None).map(|one| one.lines) != naive::expand(&file, Some(rule)).map(|one| one.lines)
        };
        let differs = |seed: u64, rule: Option<Rule>| matches!(verdict(seed, rule), Outcome::Different(_));
        let found = (0..500).filter(says).find(|seed| differs(*seed, Some(rule)) && !differs(*seed, None));
        assert!(found.is_some(), "{rule:?} could be otherwise and 500 files would not tell");
    }
}

/// All beginnings of all keywords, in the order in which Vdbench tries them.
#[test]
fn every_short_keyword_means_what_it_means_there() {
    let mut words = 0;
    for (section, keys) in grammar::SECTIONS {
        for key in *keys {
            for end in 2..=key.name.len() {
                let word = &key.name[..end];
                if ["rd", "sd"].contains(&word) && key.name != word {
                    // These begin definitions.
                    continue;
                }
                let Some(meant) = grammar::meaning(keys, word) else { continue };
                let Some(sample) = meant.sample else { continue };
                let (short, whole) =
                    (compare::sample(section, word, sample), compare::sample(section, meant.name, sample));
                assert_eq!(short, whole, "{section}: `{word}=` is `{}=`", meant.name);
                words += 1;
            }
        }
    }
    assert!(words > 400, "{words}");
}

#[test]
#[ignore = "times: make exam"]
fn files_for_a_judge_outside() {
    let Some(folder) = std::env::var_os("IODYNO_WITNESS_DUMP").map(PathBuf::from) else {
        println!("SKIPPED: IODYNO_WITNESS_DUMP is not set");
        return;
    };
    for seed in 0..400 {
        let file = grammar::file(&mut Random(seed));
        let expect = naive::expand(&file, None).map_or_else(|id| format!("REFUSED {id}"), |lines| lines.join("\n"));
        std::fs::write(folder.join(format!("{seed}.vdb")), grammar::render(&file, &mut Random(!seed)))
            .expect("a folder");
        std::fs::write(folder.join(format!("{seed}.expect")), expect).expect("a folder");
    }
}
