//! `kill -9` at random moments: every interval that the writer reported as committed is in the recording.

use quantity::clock::now_ns;
use recording::rows::{Event, Phase};
use recording::{
    ClockAnchor, EventSeverity, LoadPhase, Manifest, PhaseEdge, Reader, RecordingState, RowBatch, Sink, Writer,
};
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const KILLS: u64 = 60;
/// Names the directory to the child, which is this test binary again.
const CHILD: &str = "IODYNO_TEST_KILLED_RECORDING";

fn event(n: i64) -> Event {
    Event {
        t_ns: n,
        t_s: 0.0,
        severity: EventSeverity::Info,
        kind: "test".into(),
        // Frames of all lengths up to 8 KiB.
        message: "x".repeat(usize::try_from(n * 7919 % 8192).unwrap()),
        count: n,
        ..Event::default()
    }
}

fn phase(n: i64) -> Phase {
    Phase {
        t_ns: n,
        t_s: 0.0,
        run: "rd1".into(),
        run_index: 0,
        phase: LoadPhase::Measure,
        event: PhaseEdge::Start,
        offered_rate: None,
        detail: String::new(),
    }
}

#[test]
#[ignore = "the child of the test below; does nothing when it is called by itself"]
fn child_writes_until_it_is_killed() {
    let Ok(directory) = std::env::var(CHILD) else { return };
    let mut writer = Writer::create(Path::new(&directory), Manifest::new(&[])).unwrap();
    let mut out = std::io::stdout();
    for n in 1.. {
        writer.accept(&RowBatch::from_rows(&[event(n)]).unwrap()).unwrap();
        writer.accept(&RowBatch::from_rows(&[phase(n)]).unwrap()).unwrap();
        writer.commit().unwrap();
        writeln!(out, "committed {n}").unwrap();
        if n % 50 == 0 {
            writer.update_manifest(|manifest| manifest.clock_anchors.push(ClockAnchor::now())).unwrap();
        }
    }
}

#[test]
fn nothing_that_was_committed_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = now_ns() | 1;
    println!("seed {state}");
    let (mut cut, mut commits) = (0, 0);
    // On a busy machine many are killed before they have written anything: then there are more of them.
    let is_enough = |cut: u64, commits: i64| cut > KILLS / 2 && commits > 500;
    for kill in 0..KILLS * 20 {
        if kill >= KILLS && is_enough(cut, commits) {
            break;
        }
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let directory = folder.path().join(format!("r{kill}"));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::child_writes_until_it_is_killed", "--ignored", "--nocapture"])
            .env(CHILD, &directory)
            .envs([testkit::mark()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let reading = std::thread::spawn(move || {
            let numbers = out.lines().map_while(Result::ok);
            numbers.filter_map(|line| line.strip_prefix("committed ")?.parse::<i64>().ok()).last().unwrap_or(0)
        });
        std::thread::sleep(Duration::from_micros(state % 60_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let committed = reading.join().unwrap();
        if !directory.join("manifest.json").exists() {
            assert_eq!(committed, 0, "the writer committed before there was a recording");
            continue;
        }
        let reader = Reader::open(&directory).unwrap();
        assert_eq!(reader.state(), RecordingState::CutShort);
        let events: Vec<i64> = reader.table::<Event>().unwrap().iter().map(|row| row.count).collect();
        let phases: Vec<i64> = reader.table::<Phase>().unwrap().iter().map(|row| row.t_ns).collect();
        let numbers = |rows: &[i64]| (1..=i64::try_from(rows.len()).unwrap()).collect::<Vec<_>>();
        assert_eq!((&events, &phases), (&numbers(&events), &numbers(&phases)));
        assert!(phases.last().copied().unwrap_or(0) >= committed, "{committed} committed, {} there", phases.len());
        commits += committed;
        cut += 1;
    }
    println!("{cut} recordings cut short, {commits} commits reported, all there");
    assert!(is_enough(cut, commits), "killed too early to mean anything: {cut} recordings, {commits} commits");
}
