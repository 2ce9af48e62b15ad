//! The reader in docs/histogram-v1.md, run by a real Python, reads what we write.

use quantity::histogram::Histogram;
use std::fmt::Write as _;
use std::process::Command;

#[test]
fn the_documented_reader_agrees() {
    if Command::new("python3").arg("--version").output().is_err() {
        testkit::lacks("python3");
        return;
    }
    let page = include_str!("../../../../docs/histogram-v1.md");
    let code = page.split("```python").nth(1).and_then(|rest| rest.split("```").next()).expect("the page has a reader");
    let mut script = code.to_string();
    for (sub_bits, values) in [
        (5, vec![]),
        (5, vec![0, 31, 32, 33, 1_000_000, 7_200_000_000_000]),
        (7, (0..2000).map(|n| n * n * 977).collect()),
    ] {
        let mut histogram = Histogram::new(sub_bits);
        values.iter().for_each(|value| histogram.record(*value));
        let hex: String = histogram.encode().iter().map(|byte| format!("{byte:02x}")).collect();
        let buckets: Vec<String> =
            histogram.buckets().map(|(low, high, count)| format!("({low}, {high}, {count})")).collect();
        let optional = |value: Option<u64>| value.map_or("None".to_string(), |value| value.to_string());
        writeln!(
            script,
            "got = histogram(bytes.fromhex('{hex}')); want = ({}, {}, {}, {}, [{}]); assert got == want, (got, want)",
            histogram.count(),
            histogram.sum(),
            optional(histogram.min()),
            optional(histogram.max()),
            buckets.join(", ")
        )
        .expect("a string takes all");
    }
    let output = Command::new("python3").args(["-c", &script]).output().expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
