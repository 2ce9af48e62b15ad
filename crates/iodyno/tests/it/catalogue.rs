//! What the catalogue says of the tables holds for real recordings.

use crate::support::{Scratch, table_of};
use recording::{Reader, RowOccurrence};
use std::collections::HashSet;
use std::path::Path;

#[test]
fn the_key_of_a_table_tells_the_rows_of_a_sample_apart() {
    let scratch = Scratch::new();
    let text = "sd=sd1,lun=$file,size=1m\nsd=sd2,lun=$file.2,size=1m\n\
                wd=wd1,sd=(sd1,sd2),xfersize=4k,rdpct=50\nwd=wd2,sd=sd1,xfersize=8k,rdpct=50\n\
                rd=rd1,wd=(wd1,wd2),iorate=500,elapsed=1,interval=1\n";
    let file = format!("file={}", scratch.path("data").display());
    scratch.run("ran", text, &["-i", "100ms", &file]).expect_code(0);
    let seen = check(&scratch.path("ran"));
    assert!(["engine_interval", "op_interval", "cpu", "disk"].iter().all(|table| seen.contains(*table)), "{seen:?}");
    let record = ["record", "-o", "recorded", "-i", "100ms", "--for", "1s"];
    scratch.iodyno(&record).run().unwrap().expect_code(0);
    let seen = check(&scratch.path("recorded"));
    assert!(["process", "cpu", "disk"].iter().all(|table| seen.contains(*table)), "{seen:?}");
}

/// Checks all tables of a recording; those that have rows of several samples.
fn check(directory: &Path) -> HashSet<String> {
    let mut seen = HashSet::new();
    for name in Reader::open(directory).unwrap().tables().unwrap() {
        let table = recording::table(&name).unwrap();
        let mut known = HashSet::new();
        if table.occurrence == RowOccurrence::Once {
            continue;
        }
        for row in table_of(directory, &name) {
            let key: Vec<String> = table.key().map(|column| row[column.name].to_string()).collect();
            assert!(known.insert((row["t_ns"].to_string(), key)), "two rows of {name} with the same key: {row}");
        }
        seen.extend((known.len() > 1).then_some(name));
    }
    seen
}
