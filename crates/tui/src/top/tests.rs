//! The page drawn from a fixed recording.

use super::*;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use findings::{Finding, RuleEngine, Thresholds};
use quantity::histogram::Histogram;
use ratatui::style::Color;
use rates::Availability;
use recording::rows::{
    Cpu, Disk, Exited, FileInterval, Interrupt, IoInterval, IoPlace, Memory, Net, Pressure, Process, Profile, RunQueue,
    System, Tcp,
};
use recording::{Label, Row, RowBatch, Sink, SizeHistogram};
use top_page::{MachineFacts, PageFold, PageScene};

const SECOND_NS: i64 = 1_000_000_000;
const SECONDS: i64 = 75;

fn cpu(n: i64, name: &str, busy: i64) -> Cpu {
    Cpu {
        t_ns: n * SECOND_NS,
        t_s: n as f64,
        cpu: name.to_string(),
        user_ns: n * busy * 10_000_000,
        nice_ns: Some(0),
        system_ns: 0,
        idle_ns: n * (100 - busy) * 10_000_000,
        iowait_ns: Some(0),
        irq_ns: Some(0),
        softirq_ns: Some(0),
        steal_ns: Some(0),
        clock: "tick".to_string(),
    }
}

fn disk(n: i64) -> Disk {
    // From second 40 on, all the time busy.
    let busy = if n > 40 { 40 * 100 + (n - 40) * 980 } else { n * 100 };
    Disk {
        t_ns: n * SECOND_NS,
        t_s: n as f64,
        device: "sdq".to_string(),
        target: String::new(),
        read_ios: Some(n * 200),
        read_merges: Some(0),
        read_sectors: Some(n * 200 * 16),
        read_ticks_ms: Some(n * 200 * 3),
        write_ios: Some(n * 547),
        write_merges: Some(0),
        write_sectors: Some(n * 547 * 110),
        write_ticks_ms: Some(n * 547 * 17),
        in_flight: Some(9),
        io_ticks_ms: Some(busy),
        weighted_ticks_ms: Some(n * 9300),
        ..Disk::default()
    }
}

fn net(n: i64) -> Net {
    Net {
        t_ns: n * SECOND_NS,
        t_s: n as f64,
        interface: "ixgbe2".to_string(),
        rx_bytes: n * 887_500_000,
        rx_packets: Some(n * 600_000),
        rx_errors: Some(0),
        rx_drops: Some(0),
        rx_fifo: Some(0),
        rx_frame: Some(0),
        rx_multicast: Some(0),
        tx_bytes: n * 50_000_000,
        tx_packets: Some(n * 40_000),
        tx_errors: Some(0),
        tx_drops: Some(0),
        tx_fifo: Some(0),
        tx_collisions: Some(0),
        tx_carrier: Some(0),
        speed_bits_per_s: Some(10_000_000_000),
        full_duplex: Some(true),
        up: Some(true),
        qdisc_backlog_bytes: Some(0),
        qdisc_drops: Some(0),
        qdisc_overlimits: Some(0),
        qdisc_requeues: Some(0),
        qdisc: Some("mq".to_string()),
        mtu_bytes: Some(1500),
        ..Net::default()
    }
}

fn tcp(n: i64) -> Tcp {
    Tcp {
        t_ns: n * SECOND_NS,
        t_s: n as f64,
        in_segments: Some(n * 1000),
        out_segments: Some(n * 900),
        retransmits: Some(n),
        in_errors: Some(0),
        active_opens: Some(n),
        passive_opens: Some(n * 40),
        attempt_fails: Some(0),
        established_resets: Some(0),
        resets_sent: Some(n * 2),
        established: Some(812),
        listen_overflows: Some(n * 27),
        listen_drops: Some(n * 27),
        timeouts: Some(0),
        syn_retransmits: Some(0),
        request_queue_drops: Some(0),
        request_queue_cookies: Some(0),
    }
}

fn process(n: i64, pid: i64, comm: &str, percent: i64) -> Process {
    Process {
        t_ns: n * SECOND_NS,
        t_s: n as f64,
        pid,
        start_ns: Some(-pid * SECOND_NS),
        parent: Some(1),
        comm: comm.to_string(),
        state: Some("R".to_string()),
        threads: Some(1),
        user_ns: Some(n * percent * 10_000_000),
        system_ns: Some(0),
        resident_bytes: Some(34 << 20),
        major_faults: Some(0),
        read_bytes: Some(n * 1_000_000),
        ..Process::default()
    }
}

fn memory(n: i64) -> Memory {
    let mib = |mib: i64| Some(mib << 20);
    Memory {
        t_ns: n * SECOND_NS,
        t_s: n as f64,
        total_bytes: mib(512 << 10),
        free_bytes: mib(40 << 10),
        available_bytes: mib(200 << 10),
        cached_bytes: mib(203 << 10),
        anonymous_bytes: mib(100 << 10),
        slab_bytes: mib(4 << 10),
        dirty_bytes: mib(3),
        writeback_bytes: Some(0),
        swap_total_bytes: Some(0),
        swap_free_bytes: Some(0),
        page_in_bytes: Some(0),
        page_out_bytes: Some(0),
        swap_in_pages: Some(0),
        swap_out_pages: Some(0),
        faults: Some(n * 1000),
        major_faults: Some(0),
        file_refaults: Some(0),
        direct_reclaimed: Some(0),
        oom_kills: Some(0),
    }
}

fn io(n: i64, op: &str, file: &str, times: &[(u64, u64)]) -> IoInterval {
    let mut response = Histogram::new(5);
    for (ns, count) in times {
        (0..*count).for_each(|_| response.record(*ns));
    }
    let mut sizes = Histogram::new(5);
    times.iter().zip([8192, 65_536]).for_each(|((_, count), bytes)| (0..*count).for_each(|_| sizes.record(bytes)));
    IoInterval {
        t_ns: n * SECOND_NS,
        t_s: n as f64,
        interval_ns: SECOND_NS,
        dev: Label::from("sdq"),
        op: Label::from(op),
        pid: Some(911),
        comm: Some(Label::from("oracle")),
        file: Some(Label::from(file)),
        ios: i64::try_from(response.count()).expect("few"),
        bytes: i64::try_from(response.count()).expect("few") * 8192,
        response,
        asynchronous: Some(if op == "write" { 500 } else { 0 }),
        sizes: SizeHistogram(sizes),
        sequential: None,
        errors: Some(0),
    }
}

fn place(n: i64, band: i32, reads: i64, writes: i64) -> IoPlace {
    IoPlace {
        t_ns: n * SECOND_NS,
        t_s: n as f64,
        interval_ns: SECOND_NS,
        dev: Label::from("sdq"),
        capacity_bytes: 4_000_000_000_000,
        band,
        reads,
        writes,
        bytes: (reads + writes) * 8192,
    }
}

fn file(n: i64, name: &str, reads: i64, filled: i64) -> FileInterval {
    FileInterval {
        t_ns: n * SECOND_NS,
        t_s: n as f64,
        interval_ns: SECOND_NS,
        mount: Some(Label::from("/u")),
        inode: Some(7),
        file: Some(Label::from(name)),
        pid: Some(911),
        comm: Some(Label::from("oracle")),
        reads,
        read_bytes: reads * 8192,
        touched_bytes: reads * 8192,
        mapped_bytes: 0,
        filled_bytes: filled,
        direct_reads: 0,
        direct_read_bytes: 0,
        writes: 0,
        write_bytes: 0,
        made_bytes: 0,
        direct_writes: 0,
        direct_write_bytes: 0,
    }
}

fn batch<R: Row>(rows: &[R]) -> RowBatch {
    RowBatch::from_rows(rows).expect("a batch")
}

/// What a collector would have written in second `n`: one thread takes CPU 48 of 64, a disk is at its end, a listener
/// refuses connections, and 41 programs lived too briefly to be sampled.
fn sample(n: i64) -> Vec<RowBatch> {
    let mut cpus = vec![cpu(n, "all", 2)];
    cpus.extend((0..64).map(|at| cpu(n, &at.to_string(), if at == 48 { 100 } else { 0 })));
    let pressure = |resource: &str, some: i64, full: i64| Pressure {
        t_ns: n * SECOND_NS,
        t_s: n as f64,
        resource: resource.to_string(),
        some_ns: Some(n * some * 10_000_000),
        full_ns: Some(n * full * 10_000_000),
    };
    let system = System {
        t_ns: n * SECOND_NS,
        t_s: n as f64,
        context_switches: Some(n * 1000),
        interrupts: Some(n * 1000),
        forks: Some(n * 41),
        runnable: Some(2),
        blocked: Some(1),
        load_1m: Some(1.5),
        softnet_drops: Some(0),
        softnet_squeezed: Some(0),
    };
    let exited = Exited {
        t_ns: n * SECOND_NS,
        t_s: n as f64,
        comm: Label::from("ldapsearch"),
        tasks: 41,
        processes: 41,
        cpu_ns: 612_000_000,
        lived_ns: 700_000_000,
    };
    let slow = if n > 40 { 22_000_000 } else { 3_000_000 };
    let mut wait = Histogram::new(2);
    (0..99).for_each(|_| wait.record(4000));
    wait.record(100_000);
    let run_queue = RunQueue { t_ns: n * SECOND_NS, t_s: n as f64, interval_ns: SECOND_NS, wait };
    vec![
        batch(&cpus),
        batch(&[run_queue]),
        batch(&[system]),
        batch(&[memory(n)]),
        batch(&[pressure("cpu", 1, 0), pressure("memory", 0, 0), pressure("io", 31, 12)]),
        batch(&[disk(n)]),
        batch(&[net(n)]),
        batch(&[tcp(n)]),
        batch(&[process(n, 4711, "gzip", 100), process(n, 911, "oracle", 7)]),
        batch(&[exited]),
        batch(&[
            io(n, "read", "/u/stock.ibd", &[(180_000, 150), (900_000, 50)]),
            io(n, "write", "/u/redo.log", &[(slow, 500), (slow * 4, 47)]),
        ]),
        // Reads at the beginning, writes that go on and on from the middle.
        batch(&[place(n, 3, 200, 0), place(n, 32 + i32::try_from(n % 32).expect("few"), 0, 547)]),
        batch(&[file(n, "/d001/a/komentarz_gieldowy.wmv", 365, 0), file(n, "/u/stock.ibd", 52, 52 * 8192)]),
    ]
}

struct Fixture {
    fold: PageFold,
    findings: Vec<Finding>,
    machine: MachineFacts,
    thresholds: Thresholds,
}

impl Fixture {
    fn new() -> Self {
        Self::without(&[])
    }

    /// Of a machine that has no such tables.
    fn without(tables: &[&str]) -> Self {
        let mut fold = PageFold::default();
        let mut engine = RuleEngine::new(Thresholds::default());
        for n in 1..=SECONDS {
            for batch in sample(n).into_iter().filter(|batch| !tables.contains(&batch.table.name)) {
                fold.accept(&batch).expect("a batch");
                engine.accept(&batch).expect("a batch");
            }
            fold.commit().expect("a sample");
            engine.commit().expect("a sample");
        }
        let machine = MachineFacts {
            host: "db7".to_string(),
            kernel: "6.18.1-amd64".to_string(),
            cpus: Some(64),
            memory_bytes: Some(512 << 30),
            verdicts: Availability::default(),
        };
        Self { fold, findings: engine.findings().to_vec(), machine, thresholds: Thresholds::default() }
    }

    /// The page as `draw` draws it, given the state.
    fn with<T>(&mut self, draw: impl FnOnce(&TopPage<'_>) -> T) -> T {
        let moments = self.fold.take();
        let wall = |t_ns: i64| 1_795_170_000_000_000_000 + t_ns;
        draw(&TopPage {
            scene: PageScene {
                moments: &moments,
                findings: &self.findings,
                no_blocks: None,
                no_files: None,
                no_stacks: None,
                servers: top_page::ServerFacts::default(),
                verdicts: &self.machine.verdicts,
            },
            machine: &self.machine,
            mode: PageMode::Live,
            interval_s: 1.0,
            wall: &wall,
            thresholds: &self.thresholds,
            source: None,
            lost: 0,
            judging: None,
            stalled: None,
            plays: None,
            strip: None,
            compared: None,
            bookmarks: &[],
        })
    }
}

const PLAIN: TopLook = TopLook { colour: false, blocks: true };

fn state() -> TopState {
    TopState::new(PLAIN, false)
}

fn press(state: &mut TopState, code: KeyCode) -> PageCommand {
    state.key(KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn the_first_page_small_and_large() {
    Fixture::new().with(|page| {
        insta::assert_snapshot!("80x24", plain_text(&mut state(), page, 80, 24));
        insta::assert_snapshot!("160x50", plain_text(&mut state(), page, 160, 50));
        let ascii = plain_text(&mut TopState::new(TopLook { colour: false, blocks: false }, false), page, 80, 24);
        assert!(ascii.is_ascii(), "{ascii}");
        insta::assert_snapshot!("80x24 ascii", ascii);
    });
}

#[test]
fn no_figure_is_cut_at_80_columns() {
    Fixture::new().with(|page| {
        let text = plain_text(&mut state(), page, 80, 24);
        let rows = text.lines().skip_while(|line| !line.starts_with("RESOURCE")).take(6);
        rows.for_each(|row| assert!(!row.contains('…'), "{text}"));
        for word in ["run 2 of 64", "blk 1", "queue 9.3", "p99 88ms", "retr 0.1%", "rst 2/s"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    });
}

#[test]
fn a_collector_that_writes_nothing_is_not_live() {
    Fixture::new().with(|page| {
        let stalled = TopPage { stalled: Some("the collector has ended"), ..again(page) };
        let text = plain_text(&mut state(), &stalled, 80, 24);
        assert!(text.contains("■ the collector has ended") && !text.contains("LIVE"), "{text}");
    });
}

#[test]
fn a_recording_that_is_played_says_how_fast() {
    Fixture::new().with(|page| {
        let played = TopPage { mode: PageMode::Recorded, plays: Some(60), ..again(page) };
        assert!(plain_text(&mut TopState::new(PLAIN, true), &played, 80, 24).contains("▶ PLAY ×60"));
    });
    let mut state = TopState::new(PLAIN, true);
    assert_eq!(press(&mut state, KeyCode::Char('+')), PageCommand::Speed { faster: true });
    assert_eq!(press(&mut state, KeyCode::Char('-')), PageCommand::Speed { faster: false });
    assert_eq!(press(&mut state, KeyCode::Char(' ')), PageCommand::Pause);
    assert_eq!(press(&mut state, KeyCode::Char('w')), PageCommand::MarkLength);
}

/// The same page once more, to be changed.
fn again<'a>(page: &TopPage<'a>) -> TopPage<'a> {
    TopPage {
        scene: page.scene,
        machine: page.machine,
        mode: page.mode,
        interval_s: page.interval_s,
        wall: page.wall,
        thresholds: page.thresholds,
        source: None,
        lost: page.lost,
        judging: None,
        stalled: None,
        plays: None,
        strip: None,
        compared: None,
        bookmarks: &[],
    }
}

#[test]
fn what_does_not_work_says_so_where_its_figures_would_stand() {
    let mut fixture = Fixture::without(&["pressure", "tcp", "disk"]);
    let words = [
        ("cpu", "works"),
        ("disk", "broken: there is no /proc/diskstats"),
        ("tcp", "broken: /proc/net/snmp: Permission denied (os error 13)"),
        ("pressure", "unsupported here: there is no /proc/pressure/cpu"),
        ("memory", "broken: a reason that the page hides, for there are figures"),
    ];
    fixture.machine.verdicts = Availability::new(words.map(|(name, words)| (name.into(), words.into())).into());
    fixture.with(|page| {
        let mut state = state();
        let first = plain_text(&mut state, page, 80, 24);
        for (name, expect) in [
            (" disk ", "broken: there is no /proc/diskstats"),
            (" tcp ", "broken: /proc/net/snmp: Permission denied (os error 13)"),
            (" PSI: ", "unsupported here: there is no /proc/pressure/cpu"),
        ] {
            assert!(first.lines().any(|line| line.contains(name) && line.contains(expect)), "{name}: {first}");
        }
        assert!(!first.contains("the page hides"), "{first}");
        for (key, expect) in [
            ('d', "broken: there is no /proc/diskstats"),
            ('n', "broken: /proc/net/snmp: Permission denied"),
            ('m', "unsupported here: there is no /proc/pressure/cpu"),
        ] {
            press(&mut state, KeyCode::Char(key));
            let sheet = plain_text(&mut state, page, 100, 40);
            assert!(sheet.contains(expect), "{key}: {sheet}");
            press(&mut state, KeyCode::Esc);
        }
    });
}

#[test]
fn colour_adds_nothing_that_marks_do_not_say() {
    Fixture::new().with(|page| {
        let drawn = |colour: bool| {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 160, 50));
            draw(&mut TopState::new(TopLook { colour, blocks: true }, false), page, &mut buffer);
            buffer
        };
        let (coloured, plain) = (drawn(true), drawn(false));
        assert!(coloured.content.iter().any(|cell| cell.fg == Color::Red), "something is at its limit");
        assert!(plain.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
        assert!(coloured.content.iter().zip(&plain.content).all(|(a, b)| a.symbol() == b.symbol()));
    });
}

#[test]
fn enter_goes_from_the_disk_to_the_file_to_its_process() {
    Fixture::new().with(|page| {
        let mut state = state();
        let shown = |state: &mut TopState| plain_text(state, page, 100, 40);
        shown(&mut state);
        // Two findings, cpu, memory, disk.
        let at = state.disk_line.expect("a disk");
        state.selected = at;
        press(&mut state, KeyCode::Enter);
        let device = shown(&mut state);
        assert!(device.contains("files on sdq") && device.contains("/u/redo.log"), "{device}");
        insta::assert_snapshot!("disk", device);
        press(&mut state, KeyCode::Enter);
        let file = shown(&mut state);
        assert!(file.contains("/u/redo.log: asked for by") && file.contains("oracle 911 on sdq"), "{file}");
        press(&mut state, KeyCode::Enter);
        let process = shown(&mut state);
        assert!(process.contains("oracle 911:") && process.contains("its files"), "{process}");
        for _ in 0..3 {
            press(&mut state, KeyCode::Esc);
        }
        assert!(shown(&mut state).contains("RESOURCE"));
    });
}

#[test]
fn a_disk_shows_what_its_ios_are_like() {
    Fixture::new().with(|page| {
        let mut state = state();
        press(&mut state, KeyCode::Char('d'));
        let shown = |state: &mut TopState| plain_text(state, page, 80, 24);
        assert!(shown(&mut state).contains("Tab: size"));
        press(&mut state, KeyCode::Enter);
        let first = shown(&mut state);
        assert!(first.contains("operations on sdq") && first.contains("DISK RESPONSE sdq"), "{first}");
        press(&mut state, KeyCode::Tab);
        insta::assert_snapshot!("disk 80x24 sizes", shown(&mut state));
        press(&mut state, KeyCode::Tab);
        insta::assert_snapshot!("disk 80x24 addresses", shown(&mut state));
        press(&mut state, KeyCode::Tab);
        assert_eq!(shown(&mut state), first, "round again");
        insta::assert_snapshot!("disk 160x50", plain_text(&mut state, page, 160, 50));
        let mut ascii = TopState::new(TopLook { colour: false, blocks: false }, false);
        press(&mut ascii, KeyCode::Char('d'));
        let text = plain_text(&mut ascii, page, 160, 50);
        assert!(text.is_ascii() && text.contains("DISK ADDRESS sdq of 4.0TB"), "{text}");
    });
}

#[test]
fn a_cpu_shows_its_seconds_what_runs_on_it_and_its_interrupts() {
    let mut fixture = Fixture::new();
    for n in SECONDS + 1..=SECONDS + 8 {
        let interrupt = |vector: &str, cpu: i32, rate: i64| Interrupt {
            t_ns: n * SECOND_NS,
            t_s: n as f64,
            kind: Label::from("softirq"),
            vector: Label::from(vector),
            cpu,
            count: n * rate,
        };
        let look = |pid: i64, comm: &str, user: &str, samples: i64| Profile {
            t_ns: n * SECOND_NS,
            t_s: n as f64,
            interval_ns: SECOND_NS,
            pid,
            comm: Label::from(comm),
            user: Some(Label::from(user)),
            kernel: None,
            samples,
            cpu_ns: samples * 10_101_010,
            cpu: Some(48),
        };
        let looks = [look(4711, "gzip", "main;deflate;longest_match", 90), look(911, "oracle", "main;read", 7)];
        let more = [
            batch(&looks),
            batch(&[interrupt("TIMER", 48, 250), interrupt("NET_RX", 48, 1200), interrupt("NET_RX", 0, 9)]),
        ];
        sample(n).iter().chain(&more).for_each(|batch| fixture.fold.accept(batch).expect("a batch"));
        fixture.fold.commit().expect("a sample");
    }
    fixture.with(|page| {
        let mut state = state();
        assert_eq!(state.looks(), ProfiledCpus::Nowhere);
        press(&mut state, KeyCode::Char('c'));
        assert!(plain_text(&mut state, page, 80, 24).contains("CPU time"));
        // All of them, and 0 to 47 before it.
        (0..49).for_each(|_| drop(press(&mut state, KeyCode::Down)));
        press(&mut state, KeyCode::Enter);
        assert_eq!(state.looks(), ProfiledCpus::Cpu(48));
        insta::assert_snapshot!("cpu 80x24", plain_text(&mut state, page, 80, 24));
        insta::assert_snapshot!("cpu 160x50", plain_text(&mut state, page, 160, 50));
        // The first line that leads somewhere.
        press(&mut state, KeyCode::Enter);
        assert!(plain_text(&mut state, page, 80, 24).contains("gzip 4711:"));
        assert_eq!(state.looks(), ProfiledCpus::Everywhere);
        press(&mut state, KeyCode::Esc);
        assert_eq!(state.looks(), ProfiledCpus::Cpu(48));
    });
}

#[test]
fn a_finding_is_explained_with_its_evidence() {
    Fixture::new().with(|page| {
        let mut state = state();
        let before = plain_text(&mut state, page, 100, 40);
        assert!(before.contains("FINDINGS"), "{before}");
        press(&mut state, KeyCode::Char('x'));
        insta::assert_snapshot!("explained", plain_text(&mut state, page, 100, 40));
    });
}

#[test]
fn every_page_fits_every_size() {
    Fixture::new().with(|page| {
        for key in ['c', 'd', 'n', 'm', 'i', 'F', 'p', 'f', '?'] {
            for (columns, rows) in [(80, 24), (160, 50), (60, 16), (40, 5), (300, 100)] {
                let mut state = state();
                assert!(!plain_text(&mut state, page, columns, rows).is_empty());
                assert_eq!(press(&mut state, KeyCode::Char(key)), PageCommand::Draw);
                for code in [KeyCode::Down, KeyCode::PageDown, KeyCode::Enter, KeyCode::Esc, KeyCode::Tab] {
                    press(&mut state, code);
                    let text = plain_text(&mut state, page, columns, rows);
                    assert_eq!(text.lines().count(), usize::from(rows), "{key}");
                }
            }
        }
    });
}

/// The page of a recording with all of its time above it.
fn recorded(page: &TopPage<'_>, bookmarks: &[i64], look: TopLook) -> String {
    recorded_with(page, (bookmarks, None), look, (80, 24))
}

/// The same, with response times of single operations, in a terminal of this size.
fn recorded_with(
    page: &TopPage<'_>,
    (bookmarks, heat): (&[i64], Option<top_page::StripHeat>),
    look: TopLook,
    size: (u16, u16),
) -> String {
    let line = top_page::StripLine { name: "iops", greatest: "747/s".to_string(), cells: vec![Some(1.0); 10] };
    with_strip(page, bookmarks, (vec![line], heat), look, size)
}

/// The same, with these lines in the strip.
fn with_strip(
    page: &TopPage<'_>,
    bookmarks: &[i64],
    (lines, heat): (Vec<top_page::StripLine>, Option<top_page::StripHeat>),
    look: TopLook,
    (columns, rows): (u16, u16),
) -> String {
    let (from_ns, to_ns) = (SECOND_NS, SECONDS * SECOND_NS);
    let strip = top_page::TimeStrip { from_ns, to_ns, resolution: "1s raw".into(), lines, heat };
    let recorded = TopPage {
        scene: page.scene,
        machine: page.machine,
        mode: PageMode::Recorded,
        interval_s: 1.0,
        wall: page.wall,
        thresholds: page.thresholds,
        source: None,
        lost: 0,
        judging: None,
        stalled: None,
        plays: None,
        strip: Some(&strip),
        compared: None,
        bookmarks,
    };
    plain_text(&mut TopState::new(look, true), &recorded, columns, rows)
}

/// From 32 µs to 33 ms; a cache becomes full on the way: what took 0.1 ms takes 16 ms, and nothing was done for a while before.
fn a_knee() -> top_page::StripHeat {
    let cell = |second: u64| match second {
        0..25 => vec![40, 900, 300, 20, 3, 0, 0, 0, 0, 0],
        25..30 => Vec::new(),
        _ => vec![1, 9, 20, 12, 4, 2, 9, 30, 260, 1 + second % 5],
    };
    top_page::StripHeat::new(15, (0..60).map(cell).collect())
}

#[test]
fn a_counter_that_was_not_recorded_is_no_time_without_the_collector() {
    let line = |name, cells: Vec<Option<f64>>| top_page::StripLine { name, greatest: "?".to_string(), cells };
    let lines = vec![line("psi io", vec![None; 10]), line("cpu", vec![Some(0.5), None, Some(0.5)])];
    Fixture::new().with(|page| {
        let text = with_strip(page, &[], (lines.clone(), None), PLAIN, (80, 24));
        let of = |name: &str| text.lines().find(|text| text.contains(name)).expect("a line").to_string();
        assert!(of("psi io").contains("not recorded") && !of("psi io").contains('░'), "{text}");
        assert!(of("cpu  ").contains('░') && !of("cpu  ").contains("not recorded"), "{text}");
    });
}

#[test]
fn response_times_of_a_run_stand_on_its_strip() {
    Fixture::new().with(|page| {
        let small = recorded_with(page, (&[], Some(a_knee())), PLAIN, (80, 24));
        let large = recorded_with(page, (&[], Some(a_knee())), PLAIN, (160, 50));
        assert!(small.lines().all(|line| line.chars().count() <= 80), "{small}");
        insta::assert_snapshot!("strip heat 80x24", small);
        insta::assert_snapshot!("strip heat 160x50", large);
    });
}

#[test]
fn bookmarks_stand_on_the_strip_and_the_page_names_their_keys() {
    Fixture::new().with(|page| {
        let marks = [SECOND_NS, 38 * SECOND_NS, SECONDS * SECOND_NS];
        let text = recorded(page, &marks, PLAIN);
        let row: Vec<char> = text.lines().find(|line| line.starts_with("marks")).expect("a row").chars().collect();
        let at: Vec<usize> = (0..row.len()).filter(|x| row[*x] == '◆').collect();
        assert_eq!(at, [8, 39, 70], "the beginning, the middle, the end: {text}");
        assert!(text.contains("b/B mark"), "{text}");
        assert!(!recorded(page, &[], PLAIN).contains("marks"), "no row without any");
        let ascii = recorded(page, &marks, TopLook { colour: false, blocks: false });
        assert!(ascii.lines().any(|line| line.starts_with("marks   b")), "{ascii}");
    });
    let mut state = state();
    assert_eq!(press(&mut state, KeyCode::Char('b')), PageCommand::Bookmark);
    assert_eq!(press(&mut state, KeyCode::Char('B')), PageCommand::NextBookmark);
}

#[test]
fn a_filter_lets_through_what_has_its_letters() {
    Fixture::new().with(|page| {
        let mut state = state();
        press(&mut state, KeyCode::Char('p'));
        press(&mut state, KeyCode::Char('/'));
        "gzi".chars().for_each(|c| drop(press(&mut state, KeyCode::Char(c))));
        let text = plain_text(&mut state, page, 100, 40);
        assert!(text.contains("gzip 4711") && !text.contains("oracle 911") && text.contains("filter: gzi"), "{text}");
        press(&mut state, KeyCode::Esc);
        assert!(plain_text(&mut state, page, 100, 40).contains("oracle 911"));
    });
}

#[test]
fn names_cannot_move_the_cursor() {
    let mut fixture = Fixture::new();
    let evil = process(SECONDS + 1, 4712, "\x1b[2Jx\u{7}", 50);
    fixture.fold.accept(&batch(&[evil])).expect("a batch");
    sample(SECONDS + 1).iter().for_each(|batch| fixture.fold.accept(batch).expect("a batch"));
    fixture.fold.commit().expect("a sample");
    fixture.with(|page| {
        let text = plain_text(&mut state(), page, 160, 50);
        assert!(text.contains("\\x1b[2Jx\\x07 4712"), "{text}");
        assert!(!text.contains('\x1b'));
    });
}

#[test]
fn what_was_not_measured_is_a_question_mark() {
    let mut fold = PageFold::default();
    for n in 1..=3 {
        let mut row = disk(n);
        row.io_ticks_ms = None;
        // The queue follows from either.
        (row.weighted_ticks_ms, row.read_ticks_ms, row.write_ticks_ms) = (None, None, None);
        [batch(&[cpu(n, "all", 1)]), batch(&[row])].iter().for_each(|batch| fold.accept(batch).expect("a batch"));
        fold.commit().expect("a sample");
    }
    let mut fixture = Fixture::new();
    fixture.fold = fold;
    fixture.findings.clear();
    fixture.with(|page| {
        let text = plain_text(&mut state(), page, 100, 30);
        assert!(text.contains("disk sdq") && text.contains("?%  747/s"), "{text}");
        assert!(text.contains("queue ?"), "{text}");
    });
}
