#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, clippy::allow_attributes, reason = "tests")]
use super::fold::ObservedIo;
use super::*;
use crate::model::address_distribution::{KINDS, Used, zones};
use plan::AddressOrder;
use plan::generate::OperationKind;
use std::path::PathBuf;

/// I/Os of 4 KiB at these times (ms) and places (4 KiB).
fn observed(ios: impl IntoIterator<Item = (i64, OperationKind, u64)>) -> WorkloadModel {
    let mut observed = WorkloadModel::new(0, None);
    let mut end_ns = 0;
    for (t_ms, op, place) in ios {
        let bytes = if op == OperationKind::Flush { 0 } else { 4096 };
        end_ns = (t_ms + 1) * 1_000_000;
        let seen = ObservedIo {
            t_ns: t_ms * 1_000_000,
            complete_ns: None,
            op,
            offset: place * 4096,
            bytes,
            who: IoOwner::default(),
        };
        observed.add("a", &seen);
    }
    observed.finish(end_ns);
    observed
}

fn figure(all: &[FigureLikeness], name: &str) -> FigureLikeness {
    all.iter().find(|one| one.figure == name).cloned().unwrap_or_else(|| panic!("{name} in {all:?}"))
}

/// Numbers without an order.
fn scattered(at: u64) -> u64 {
    let x = at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 17
}

#[test]
fn a_load_is_not_far_from_itself() {
    let ios = || {
        (0..5000_i64).map(|at| {
            (at, if at % 3 == 0 { OperationKind::Write } else { OperationKind::Read }, scattered(at.unsigned_abs()))
        })
    };
    let (a, b) = (observed(ios()), observed(ios()));
    for one in compare(&a, &b) {
        let least = if one.figure == "burstiness" { 1.0 } else { 0.0 };
        assert_eq!(one.distance, Some(least), "{}", one.figure);
        assert!(one.is_within());
    }
}

#[test]
fn distances_are_what_docs_say() {
    // Reads only against half writes; one rate against twice that; every I/O elsewhere against all in one place.
    let a = observed((0..4000_i64).map(|at| (at, OperationKind::Read, scattered(at.unsigned_abs()) % (1 << 20))));
    let b = observed((0..8000_i64).map(|at| {
        (at / 2, if at % 2 == 0 { OperationKind::Read } else { OperationKind::Write }, at.unsigned_abs() % 7 * 2)
    }));
    let found = compare(&a, &b);
    assert_eq!(figure(&found, "read share").distance, Some(0.5));
    assert_eq!(figure(&found, "size mix").distance, Some(0.5));
    assert!((figure(&found, "IOPS").distance.unwrap() - 1.0).abs() < 1e-9);
    assert!((figure(&found, "IOPS per second").distance.unwrap() - 1.0).abs() < 1e-9);
    assert!(figure(&found, "places used").distance.unwrap() > 0.99);
    assert!(!figure(&found, "hot addresses").is_within() || figure(&found, "hot addresses").model == Some(0.1));
}

#[test]
fn nothing_to_compare_is_not_known() {
    let (empty, flushes) = (observed([]), observed([(0, OperationKind::Flush, 0)]));
    for one in compare(&empty, &flushes) {
        assert!(one.trace.is_none() || one.figure == "IOPS", "{one:?}");
        assert_eq!(one.shown(None), "?");
    }
    assert!(course(&empty, &flushes).ios.is_none());
}

#[test]
fn a_sequence_is_a_scan_and_what_follows_a_place_is_not() {
    let scan = observed((0..40_000_i64).map(|at| (at, OperationKind::Read, at.unsigned_abs())));
    let model = fit(&scan, &[PathBuf::from("/dev/sdx")]);
    let workloads = &model.plan.runs[0].workloads;
    let largest = workloads.iter().max_by(|a, b| a.share.total_cmp(&b.share)).unwrap();
    assert_eq!(largest.address.order, AddressOrder::Sequential { once: false, backward: false });
    assert!(largest.share > 0.9, "{}", largest.share);
    assert!(model.plan.targets[0].skip_first_block && model.plan.targets[0].open.direct);

    // Runs of four from random places.
    let runs =
        observed((0..4000_i64).map(|at| {
            (at, OperationKind::Read, scattered(at.unsigned_abs() / 4) % (1 << 22) * 8 + at.unsigned_abs() % 4)
        }));
    let model = fit(&runs, &[]);
    assert!(
        model.plan.runs[0].workloads.iter().all(|one| one.address.order
            == AddressOrder::Mixed { seek: 0.25, distribution: plan::AddressDistribution::Uniform })
    );
    assert_eq!(model.plan.targets[0].path, PathBuf::from("$lun"));
    let driven = model_of_plan(&model.plan, &runs).unwrap();
    assert!(figure(&compare(&runs, &driven), "sequential share").distance.unwrap() < 0.02);
}

#[test]
fn shares_sum_to_one_and_ranges_lie_in_order() {
    let ios = (0..20_000_u64).map(|at| {
        let op = [OperationKind::Read, OperationKind::Write, OperationKind::Trim, OperationKind::Flush]
            [usize::try_from(at % 7).unwrap().min(3)];
        (i64::try_from(at).unwrap(), op, if at % 3 == 0 { scattered(at) % 4096 } else { scattered(at) % (1 << 22) })
    });
    let run = &fit(&observed(ios), &[]).plan.runs[0];
    let sum: f64 = run.workloads.iter().map(|one| one.share).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    assert!(
        run.workloads.iter().any(|one| one.mix.flush == 1.0) && run.workloads.iter().any(|one| one.mix.trim == 1.0)
    );
    let names: std::collections::BTreeSet<&str> = run.workloads.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names.len(), run.workloads.len(), "names are different");
}

/// Places with so many I/Os each, divided by chance between the halves.
fn used(counts: impl IntoIterator<Item = u32>) -> Vec<Used> {
    let mut parting = super::address_distribution::Parting::default();
    let one = |count: u32| {
        let mut ios = [[0; 2]; KINDS];
        (0..count).for_each(|_| ios[0][parting.next()] += 1);
        Used { ios, visits: Some(count) }
    };
    counts.into_iter().map(one).collect()
}

#[test]
fn chance_does_not_make_hot_places() {
    // 20,000 I/Os on 10,000 equal places: some have six, many have none, and none is hot.
    let mut counts = vec![0_u32; 10_000];
    (0..20_000).for_each(|at| counts[usize::try_from(scattered(at) % 10_000).unwrap()] += 1);
    let found = zones(&used(counts), 6, 0.01);
    let most = found.iter().map(|zone| zone.heat / zone.places as f64).fold(0.0, f64::max) * 10_000.0;
    assert!(most < 1.5, "the hottest zone has {most} times its share: {found:?}");
    let places: u64 = found.iter().map(|zone| zone.places).sum();
    assert!((9_300..10_700).contains(&places), "{places} of 10,000 places, of which an eighth was not used yet");
}

#[test]
fn hot_places_are_found_with_their_share() {
    // A tenth of the places gets nine tenths of the I/Os.
    let found = zones(&used((0..1000).map(|at| if at % 10 == 0 { 180 } else { 2 })), 6, 0.01);
    let hottest = found[0];
    assert!(hottest.places.abs_diff(100) <= 2, "{found:?}");
    assert!((hottest.heat - 180.0 / 198.0).abs() < 0.02, "{found:?}");
    assert!(zones(&[], 6, 0.01).is_empty());
}

#[test]
fn the_comparison_shows_a_mix_that_changes_in_time_because_a_model_has_one_mix() {
    // Reads for two seconds, then half as many writes for two seconds, and so on.
    let (mut t_ms, mut times) = (0, Vec::new());
    while t_ms < 40_000 {
        let is_reading = t_ms / 2000 % 2 == 0;
        t_ms += if is_reading { 1 } else { 2 };
        times.push((
            t_ms,
            if is_reading { OperationKind::Read } else { OperationKind::Write },
            scattered(times.len() as u64),
        ));
    }
    let load = observed(times);
    let driven = model_of_plan(&fit(&load, &[]).plan, &load).unwrap();
    let course = super::course(&load, &driven);
    assert!(course.ios.unwrap() > 0.95, "{course:?}");
    assert!(course.read_share.is_none_or(|with| with.abs() < 0.5), "{course:?}");
    assert!((course.read_share_deviation - 0.5).abs() < 0.05 && course.is_changing(), "{course:?}");
    let mixed = (0..40_000_i64).map(|t_ms| {
        (t_ms, if t_ms % 3 == 0 { OperationKind::Write } else { OperationKind::Read }, scattered(t_ms.unsigned_abs()))
    });
    let mixed = observed(mixed);
    let course = super::course(&mixed, &mixed);
    assert!(course.read_share_deviation < 0.01 && !course.is_changing(), "{course:?}");
}

#[test]
fn a_rate_that_changes_is_followed_and_one_that_does_not_is_one() {
    // 100/s and 1000/s in turn, two seconds each.
    let mut t_ms = 0.0;
    let mut times = Vec::new();
    while t_ms < 20_000.0 {
        let is_busy = (t_ms / 2000.0) as i64 % 2 == 1;
        t_ms += if is_busy { 1.0 } else { 10.0 };
        times.push((t_ms as i64, OperationKind::Read, scattered(times.len() as u64)));
    }
    let load = observed(times);
    let model = fit(&load, &[]);
    let burst = model.plan.runs[0].arrivals.burst.clone().unwrap();
    assert_eq!(burst.steps.len(), 10, "{burst:?}");
    let driven = model_of_plan(&model.plan, &load).unwrap();
    assert!(course(&load, &driven).ios.unwrap() > 0.99);

    let steady = observed((0..20_000_i64).map(|at| (at, OperationKind::Read, scattered(at.unsigned_abs()))));
    let run = &fit(&steady, &[]).plan.runs[0];
    assert!(
        run.arrivals.burst.is_none() && run.arrivals.gaps == plan::GapDistribution::Deterministic,
        "{:?}",
        run.arrivals
    );
}

#[test]
fn many_devices_become_few_targets() {
    let mut observed = WorkloadModel::new(0, None);
    for at in 0..30_000_u64 {
        let device = format!("disk{}", scattered(at) % 700);
        let seen = ObservedIo {
            t_ns: i64::try_from(at).unwrap() * 100_000,
            complete_ns: None,
            op: OperationKind::Read,
            offset: scattered(at) << 9,
            bytes: 512,
            who: IoOwner::default(),
        };
        observed.add(&device, &seen);
    }
    observed.finish(3_000_000_000);
    let model = fit(&observed, &[]);
    assert!(model.plan.targets.len() <= 5 && model.plan.runs[0].workloads.len() <= 30);
}

/// I/Os of 4 KiB on device `a`, one a millisecond; `of` gives the owner, the operation and the place (4 KiB) of each.
fn shared(count: u64, mut of: impl FnMut(u64, &mut ProcessNames) -> (IoOwner, OperationKind, u64)) -> WorkloadModel {
    let (mut observed, mut people) = (WorkloadModel::new(0, None), ProcessNames::default());
    for at in 0..count {
        let (who, op, place) = of(at, &mut people);
        let t_ns = i64::try_from(at).unwrap() * 1_000_000;
        observed.add("a", &ObservedIo { t_ns, complete_ns: None, op, offset: place * 4096, bytes: 4096, who });
    }
    observed.finish(i64::try_from(count).unwrap() * 1_000_000);
    observed
}

/// Beginnings of the names of workloads.
fn prefixes(model: &FittedModel) -> std::collections::BTreeSet<String> {
    let names = model.plan.runs[0].workloads.iter().map(|one| one.name.split('_').next().unwrap().to_string());
    names.collect()
}

/// Three processes: pages by chance, a log, and now and then a write in a third place.
fn three(at: u64, people: &mut ProcessNames) -> (IoOwner, OperationKind, u64) {
    match at % 10 {
        0..6 => (people.who("reader", Some(1)), OperationKind::Read, scattered(at) % (1 << 18)),
        6..9 => (people.who("log", Some(2)), OperationKind::Write, (1 << 19) + (at / 10 * 3 + at % 10 - 6) % (1 << 14)),
        _ => (people.who("third", None), OperationKind::Write, (1 << 20) + scattered(at) % (1 << 14)),
    }
}

#[test]
fn processes_have_workloads_and_places_of_their_own() {
    let load = shared(40_000, three);
    let model = fit(&load, &[]);
    assert_eq!(prefixes(&model), ["p1", "p2", "p3"].map(String::from).into());
    let workloads = &model.plan.runs[0].workloads;
    for (process, share, reads) in [("p1_", 0.6, 1.0), ("p2_", 0.3, 0.0), ("p3_", 0.1, 0.0)] {
        let own = || workloads.iter().filter(|one| one.name.starts_with(process));
        let sum: f64 = own().map(|one| one.share).sum();
        let reading: f64 = own().map(|one| one.share * one.mix.read).sum();
        assert!((sum - share).abs() < 0.01 && (reading / sum - reads).abs() < 0.01, "{process} {sum} {reading}");
    }
    let ranges = |process: &'static str| {
        let own = workloads.iter().filter(move |one| one.name.starts_with(process));
        own.map(|one| match one.address.range {
            Some(plan::AddressRange {
                low: plan::RangeBound::Fraction(low),
                high: plan::RangeBound::Fraction(high),
            }) => (low, high),
            other => panic!("{other:?}"),
        })
    };
    for (low, high) in ranges("p1_") {
        let common = |other: (f64, f64)| (high.min(other.1) - low.max(other.0)).max(0.0);
        let all: f64 = ranges("p2_").chain(ranges("p3_")).map(common).sum();
        assert!(all < 0.01, "{all} of all places are those of the first and of another: {workloads:#?}");
    }
    let own: Vec<&str> = workloads.iter().map(|one| one.name.as_str()).filter(|name| name.starts_with("p2_")).collect();
    assert_eq!(own, ["p2_scan_write"]);
    assert!(
        model.comments.iter().any(|(_, words)| words.starts_with("Process 2: 30.0 % of all I/Os; 0 % reads, 100 %"))
    );
    let driven = model_of_plan(&model.plan, &load).unwrap();
    for one in compare(&load, &driven) {
        assert!(one.is_within(), "{one:?}");
    }
}

#[test]
fn a_model_of_one_process_equals_one_of_unknown_processes() {
    let unnamed = shared(20_000, |at, people| (IoOwner::default(), three(at, people).1, three(at, people).2));
    // A second one that does next to nothing does not count.
    for rare in [u64::MAX, 100] {
        let one = shared(20_000, |at, people| {
            let (_, op, place) = three(at, people);
            (
                people.who(if at % rare == 7 { "rare" } else { "only" }, Some(if at % rare == 7 { 2 } else { 1 })),
                op,
                place,
            )
        });
        assert_eq!(fit(&one, &[]), fit(&unnamed, &[]));
    }
}

#[test]
fn the_model_separates_processes_of_one_name_when_they_are_few() {
    let load = |processes: u64| {
        shared(20_000, move |at, people| {
            let pid = i32::try_from(at % processes).unwrap();
            (
                people.who("fio", Some(pid)),
                if pid == 0 { OperationKind::Read } else { OperationKind::Write },
                scattered(at) % (1 << 18),
            )
        })
    };
    assert_eq!(prefixes(&fit(&load(2), &[])), ["p1", "p2"].map(String::from).into());
    assert!(fit(&load(2), &[]).plan.runs[0].workloads.len() <= 12);
    assert!(prefixes(&fit(&load(20), &[])).iter().all(|name| name.starts_with("read") || name.starts_with("write")));
    // A number at the end of a name does not count.
    let load = |processes: u64| {
        shared(20_000, move |at, people| {
            let number = at % processes;
            let who = people.who(&format!("backend-{number}"), Some(i32::try_from(number).unwrap()));
            (if at % 4 == 0 { people.who("other", None) } else { who }, OperationKind::Read, scattered(at) % (1 << 18))
        })
    };
    assert_eq!(prefixes(&fit(&load(30), &[])), ["p1", "p2"].map(String::from).into());
    // Workers of the kernel are one, and threads of a process are it.
    let load = shared(20_000, |at, people| {
        let number = i32::try_from(at % 50).unwrap();
        let who = match number {
            0..25 => people.who(&format!("kworker/u8:{number}"), Some(number)),
            _ => people.who(&format!("thread{number}"), Some(7)),
        };
        (who, OperationKind::Write, scattered(at) % (1 << 18))
    });
    assert_eq!(prefixes(&fit(&load, &[])), ["p1", "p2"].map(String::from).into());
}

#[test]
fn the_model_separates_the_busiest_of_many_processes_and_keeps_places_in_common() {
    // Two busy ones among thousands, all over the same places.
    let load = shared(60_000, |at, people| {
        let who = match at % 10 {
            0..5 => people.who("first", Some(1)),
            5..8 => people.who("second", Some(2)),
            _ => people.who(&format!("one{}x", at % 5000), Some(i32::try_from(at % 5000).unwrap() + 10)),
        };
        (who, if at % 10 < 5 { OperationKind::Read } else { OperationKind::Write }, scattered(at) % (1 << 17))
    });
    let model = fit(&load, &[]);
    assert_eq!(prefixes(&model), ["p1", "p2", "rest"].map(String::from).into());
    let driven = model_of_plan(&model.plan, &load).unwrap();
    for one in compare(&load, &driven) {
        assert!(one.is_within(), "{one:?}");
    }
    assert!(model.comments.iter().any(|(_, words)| words.starts_with("All other processes: 20.0 %")));
}

#[test]
fn one_that_comes_where_many_have_been_is_not_lost() {
    // Forty of one name everywhere, each by itself; then another one, for a third of all, at random or in order.
    for is_scan in [false, true] {
        let load = shared(90_000, |at, people| match at {
            0..60_000 => (
                people.who("backend", Some(i32::try_from(at % 40).unwrap())),
                OperationKind::Read,
                scattered(at) % (1 << 14),
            ),
            _ if is_scan => (people.who("backup", Some(99)), OperationKind::Write, at % (1 << 14)),
            _ => (people.who("vacuum", Some(99)), OperationKind::Write, scattered(at) % (1 << 14)),
        });
        let model = fit(&load, &[]);
        let driven = model_of_plan(&model.plan, &load).unwrap();
        for one in compare(&load, &driven) {
            assert!(one.is_within(), "{is_scan} {one:?}");
        }
    }
}

#[test]
fn a_process_has_one_number_on_all_devices() {
    let (mut observed, mut people) = (WorkloadModel::new(0, None), ProcessNames::default());
    for at in 0..20_000_u64 {
        // The database is on both devices, the busier one with a backup.
        let (device, name) = match at % 5 {
            0 | 1 => ("a", "db"),
            2 => ("a", "backup"),
            _ => ("b", "db"),
        };
        let who = people.who(name, None);
        let t_ns = i64::try_from(at).unwrap() * 1_000_000;
        let offset = scattered(at) % (1 << 16) * 4096;
        observed
            .add(device, &ObservedIo { t_ns, complete_ns: None, op: OperationKind::Read, offset, bytes: 4096, who });
    }
    observed.finish(20_000_000_000);
    let names: Vec<String> =
        fit(&observed, &[]).plan.runs[0].workloads.iter().map(|one| one.name[..5].to_string()).collect();
    assert!(["d1_p1", "d1_p2", "d2_p1"].iter().all(|name| names.iter().any(|one| one == name)), "{names:?}");
    assert!(names.iter().all(|name| name != "d2_p2"), "{names:?}");
}
