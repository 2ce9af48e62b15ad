//! Makes a trace of many I/Os, like one of a database server with a backup: `generate_trace ROWS DIRECTORY`.
//!
//! Three disks at 15,000 I/Os per second in all, bursts every ten seconds, a hot twentieth of each disk, sequential reads
//! of a backup, a log that is written in order, 200 files, 12 processes, a stall now and then.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench: it prints, and what fails ends it")]

use arrow_array::builder::{Int32Builder, Int64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use quantity::clock;
use recording::rows::Io;
use recording::{LabelBuilder, Manifest, Row as _, RowBatch, Sink as _, Writer};
use std::path::Path;
use std::sync::Arc;

/// Rows of a batch.
const BATCH: u64 = 64 * 1024;
/// Of each disk.
const SECTORS: u64 = 2 << 30;

/// xorshift64*.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 1
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Exponential with this mean.
    fn wait(&mut self, mean: f64) -> u64 {
        let part = (self.next() as f64 + 1.0) / (u64::MAX >> 1) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small")]
        let wait = (-part.ln() * mean) as u64;
        wait
    }
}

/// Where the sequential streams are.
struct State {
    dice: Dice,
    now_ns: u64,
    backup: u64,
    log: u64,
    files: Vec<String>,
    comms: Vec<String>,
}

/// One I/O.
struct Made {
    /// Per cent: below 60 a page of a table, 75 the log, 85 the backup, above write-back.
    kind: u64,
    disk: usize,
    is_read: bool,
    bytes: u64,
    sector: u64,
    file: usize,
    process: usize,
}

#[derive(Default)]
struct Builders {
    longs: [Int64Builder; 6],
    ints: [Int32Builder; 6],
    labels: [LabelBuilder; 7],
}

impl State {
    fn draw(&mut self) -> Made {
        let dice = &mut self.dice;
        let kind = dice.below(100);
        let one_of = |dice: &mut Dice, limit: u64| usize::try_from(dice.below(limit)).unwrap_or(0);
        match kind {
            0..60 => {
                let is_hot = dice.below(10) < 8;
                let page = if is_hot { dice.below(SECTORS / 320) } else { dice.below(SECTORS / 16) };
                let (disk, is_read) = (one_of(dice, 2), dice.below(10) < 7);
                let (file, process) = (one_of(dice, 180), one_of(dice, 8));
                Made { kind, disk, is_read, bytes: 8192, sector: page * 16, file, process }
            }
            60..75 => {
                self.log += 8;
                Made { kind, disk: 2, is_read: false, bytes: 4096, sector: self.log, file: 199, process: 8 }
            }
            75..85 => {
                self.backup += 1024;
                let file = 190 + usize::try_from(self.backup / 1_024_000 % 8).unwrap_or(0);
                let sector = self.backup % SECTORS;
                Made { kind, disk: 0, is_read: true, bytes: 512 << 10, sector, file, process: 9 }
            }
            _ => {
                let (disk, bytes) = (one_of(dice, 3), 4096 << dice.below(5));
                let (sector, file) = (dice.below(SECTORS / 8) * 8, one_of(dice, 180));
                Made { kind, disk, is_read: false, bytes, sector, file, process: 10 }
            }
        }
    }

    fn row(&mut self, to: &mut Builders) {
        let is_burst = (self.now_ns / 1_000_000_000).is_multiple_of(10);
        self.now_ns += self.dice.wait(if is_burst { 20_000.0 } else { 75_000.0 });
        let made = self.draw();
        let wait = self.dice.wait(8_000.0);
        let stall = if self.dice.below(200_000) == 0 { 200_000_000 } else { 0 };
        let service = self.dice.wait(if made.is_read { 90_000.0 } else { 40_000.0 });
        let device = 60_000 + service + made.bytes / 4 + stall;
        let queue = self.now_ns;
        let inode = 1000 + made.file as u64;
        let longs = [queue, queue + wait, queue + wait + device, made.sector, made.bytes, inode];
        let long = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        to.longs.iter_mut().zip(longs).for_each(|(column, value)| column.append_value(long(value)));
        let is_background = made.kind >= 85;
        let pid = i32::try_from(2000 + made.process).unwrap_or(0);
        let ints = [Some(pid), Some(pid), is_background.then_some(2001), None, Some(1), Some(0)];
        to.ints.iter_mut().zip(ints).for_each(|(column, value)| column.append_option(value));
        let flags = match made.kind {
            60..75 => "sync+fua+direct",
            85.. => "background",
            _ => "sync+direct",
        };
        let cgroup = if made.process < 9 { "/system.slice/postgresql.service" } else { "/system.slice/backup.service" };
        let labels = [
            Some(["nvme0n1", "nvme1n1", "nvme2n1"][made.disk]),
            Some(if made.is_read { "read" } else { "write" }),
            Some(flags),
            Some(self.comms[made.process].as_str()),
            Some(cgroup),
            Some(self.files[made.file].as_str()),
            is_background.then_some("checkpointer"),
        ];
        to.labels.iter_mut().zip(labels).for_each(|(column, value)| column.append_name(value));
    }
}

impl Builders {
    fn finish(self) -> Vec<ArrayRef> {
        let [queue, issue, complete, sector, bytes, inode] =
            self.longs.map(|mut column| Arc::new(column.finish()) as ArrayRef);
        let [pid, tid, owner_pid, error, bios, requeues] =
            self.ints.map(|mut column| Arc::new(column.finish()) as ArrayRef);
        let [dev, op, flags, comm, cgroup, file, owner] = self.labels.map(LabelBuilder::finish);
        vec![
            queue, issue, complete, dev, op, flags, sector, bytes, pid, tid, comm, cgroup, inode, file, owner_pid,
            owner, error, bios, requeues,
        ]
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let rows: u64 = arguments.next().map_or(50_000_000, |text| text.parse().unwrap());
    let directory = arguments.next().unwrap_or_else(|| "generated.iodyno".to_string());
    let started_ns = clock::now_ns();
    let mut writer = Writer::create(Path::new(&directory), Manifest::new(&["trace".to_string()])).unwrap();
    let backends = (0..8).map(|backend| format!("postgres-{backend}"));
    let others = ["walwriter", "pg_basebackup", "kworker/u8:3", "jbd2"].map(str::to_string);
    let mut state = State {
        dice: Dice(88_172_645_463_325_252),
        now_ns: started_ns,
        backup: 0,
        log: SECTORS / 2,
        files: (0..200).map(|file| format!("/var/lib/postgresql/15/main/base/16384/{}", 24_576 + file)).collect(),
        comms: backends.chain(others).collect(),
    };
    let mut left = rows;
    while left > 0 {
        let now = left.min(BATCH);
        let mut builders = Builders::default();
        (0..now).for_each(|_| state.row(&mut builders));
        let rows = RecordBatch::try_new(Io::TABLE.schema(), builders.finish()).unwrap();
        writer.accept(&RowBatch { table: Io::TABLE, rows }).unwrap();
        writer.commit().unwrap();
        left -= now;
    }
    writer.seal().unwrap();
    let seconds = (clock::now_ns() - started_ns) as f64 / 1e9;
    println!("{rows} I/Os over {:.0} s, made in {seconds:.1} s", (state.now_ns - started_ns) as f64 / 1e9);
}
