//! Arbitrary bytes and changed valid files: never a panic, never long, and what comes out keeps its promises.

use crate::support::mutate::{Random, mutate};
use params::{JobSource, MemoryLoader, VdbenchOptions, read_fio, read_vdbench, render};
use proptest::prelude::*;
use std::path::PathBuf;

#[test]
fn the_corpus_is_valid() {
    for text in crate::support::corpus::TEXTS {
        let reading =
            read_vdbench(&[PathBuf::from("job.vdb")], &VdbenchOptions::default(), &MemoryLoader::one("job.vdb", *text));
        let shown: Vec<String> = reading.diagnostics.iter().map(|found| render(found, &reading.sources)).collect();
        assert!(reading.plan.is_some(), "{}", shown.join("\n"));
    }
    for text in crate::support::corpus::JOBS {
        let source = JobSource::Text("<job>".to_string(), (*text).to_string());
        let reading = read_fio(&[source], &VdbenchOptions::default(), &MemoryLoader::default(), &|_| None);
        let shown: Vec<String> = reading.diagnostics.iter().map(|found| render(found, &reading.sources)).collect();
        assert!(reading.plan.is_some(), "{}", shown.join("\n"));
    }
}

#[test]
fn changed_files_never_panic() {
    let corpus = crate::support::corpus::corpus();
    let mut plans = 0;
    for seed in 0..2000 {
        let mut random = Random(seed);
        let text = mutate(&corpus, &mut random);
        plans += u32::from(crate::support::check::check(&text, random.next()).is_some());
    }
    assert!(plans > 50, "only {plans} of 2000 are plans: the changes test nothing but the first error");
}

#[test]
fn changed_job_files_never_panic() {
    let corpus = crate::support::corpus::job_files();
    let mut plans = 0;
    for seed in 0..3000 {
        let mut random = Random(seed);
        let text = mutate(&corpus, &mut random);
        plans += u32::from(crate::support::check::check_fio(&text, random.next()).is_some());
    }
    assert!(plans > 100, "only {plans} of 3000 are plans: the changes test nothing but the first error");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), choice: u64) {
        crate::support::check::check(&bytes, choice);
        crate::support::check::check_fio(&bytes, choice);
    }

    #[test]
    fn arbitrary_jobs_never_panic(text in "(\\[[a-z]{1,3}\\]\n([a-z_]{2,12}=[a-z0-9:/,.%()*+-]{0,12}\n){0,6}){1,3}", choice: u64) {
        crate::support::check::check_fio(text.as_bytes(), choice);
    }

    #[test]
    fn arbitrary_parameters_never_panic(text in "(sd|wd|rd|fsd|fwd|hd|[a-z]{2,9})=[a-z0-9(),.*%$!\"-]{0,20}(,[a-z]{2,9}=[(]?[0-9a-z,-]{1,12}[)]?\n?){0,8}", choice: u64) {
        crate::support::check::check(text.as_bytes(), choice);
    }
}
