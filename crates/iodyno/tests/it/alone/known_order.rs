//! In which order the kernel's block tracepoints saw a run: a thread that waits for a CPU is overtaken.

use crate::known_workload::{of, traced};
use crate::support::sum;
use testkit::{BlockOp, BlockRecord};

#[test]
fn sequential_writes_follow_each_other() {
    let parameters =
        "wd=wd1,sd=sd1,xfersize=64k,rdpct=0,seekpct=eof\nrd=rd1,wd=wd1,iorate=max,elapsed=600,interval=1\n";
    let Some((records, totals)) = traced(parameters) else { return };
    let writes = of(&records, BlockOp::Write);
    assert_eq!(i64::try_from(writes.len()).unwrap(), sum(&totals, "ops", |row| row["op"] == "write"));
    // Submitted in order. The kernel hands a request that would block to a thread of its own now and then, where the
    // seven behind it may overtake it; never further than the depth, and rarely.
    let mut sorted = writes.clone();
    sorted.sort_unstable_by_key(|record| record.offset);
    let adjoin = |pair: &[&BlockRecord]| pair[1].offset == pair[0].offset + pair[0].bytes;
    assert!(sorted.windows(2).all(adjoin), "each place once, without a gap");
    let pairs = writes.iter().zip(&sorted);
    let displaced: Vec<_> = pairs.filter(|(record, place)| record.offset != place.offset).collect();
    assert!(displaced.len() * 20 < writes.len(), "{} of {} out of order", displaced.len(), writes.len());
    let is_near =
        |(record, place): &(&&BlockRecord, &&BlockRecord)| record.offset.abs_diff(place.offset) <= 8 * (64 << 10);
    assert!(displaced.iter().all(is_near), "{displaced:?}");
    let expect = sorted.last().map_or(0, |last| last.offset + last.bytes);
    assert!(expect >= (64 << 20) - (64 << 10), "to the end");
}
