//! `iodyno top`: samples to the page, keys to what is shown. Where samples come from is a [`Source`]: this machine, a
//! recording, or one that a collector is writing.

mod attach;
mod bookmarks;
mod last_rows;
mod live;
mod missing;
mod play;
mod probes;
mod recorded;
mod requests;
mod snapshot;
mod window;

pub use live::LiveRequest;

use crate::{MonitorError, StopFlag};
use bookmarks::Bookmarks;
use findings::{Finding, Thresholds};
use play::Play;
use quantity::clock;
use quantity::text::format_wall;
use recording::RowBatch;
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;
use top_page::{
    Grid, MachineFacts, PageInterval, PageScene, ServerFacts, TABLES, TimeStrip, WatchedRequests, compare, compared,
};
use tui::top::{PageCommand, PageMode, ProfiledCpus, Screen, TopLook, TopPage, TopState, plain_text};
use window::Window;

/// How long a stop request may go unnoticed.
const NAP_NS: u64 = 200_000_000;
/// Lengths of a window that is compared, of which one is chosen, and its samples at least.
const MARKS_NS: [i64; 4] = [60_000_000_000, 600_000_000_000, 3_600_000_000_000, 10_000_000_000];
const MARK_SAMPLES: i64 = 12;
/// Samples that the page looks back on, with room for steps without reading again.
pub(crate) const WINDOW_SAMPLES: usize = 240;

/// What to show.
#[derive(Debug)]
pub enum TopOf {
    /// This machine.
    Live(LiveRequest),
    /// A recording.
    Recorded(PathBuf),
    /// What a collector writes in this directory.
    Attached(PathBuf),
}

/// Everything that `top` needs to know.
#[derive(Debug)]
pub struct TopRequest {
    /// What.
    pub of: TopOf,
    /// Thresholds of findings.
    pub thresholds: Thresholds,
    /// Print the page once as text, in so many columns and rows, and end.
    pub once: Option<(u16, u16)>,
    /// Where snapshots go.
    pub directory: PathBuf,
}

/// Where samples come from.
pub(crate) trait Source {
    /// The machine.
    fn machine(&self) -> &MachineFacts;
    /// Samples that are new, in order.
    fn advance(&mut self) -> Result<Vec<Vec<RowBatch>>, MonitorError>;
    /// When there may be new ones, `CLOCK_MONOTONIC`; `None`: never.
    fn due_ns(&self) -> Option<u64>;
    /// Batches of some tables in a stretch of the past.
    fn between(&self, tables: &[&str], range: Range<i64>) -> Result<Vec<RowBatch>, MonitorError>;
    /// First and last moment that there is.
    fn span(&self) -> Option<(i64, i64)>;
    /// Time between samples, s.
    fn interval_s(&self) -> f64;
    /// UTC of a monotonic time.
    fn wall_ns(&self, t_ns: i64) -> i64;
    /// Findings up to now.
    fn findings(&self) -> Vec<Finding>;
    /// How far they have been judged, when that is not up to the end.
    fn judging(&self) -> Option<String> {
        None
    }
    /// Why nothing new comes though it should, in words.
    fn stalled(&self) -> Option<&'static str> {
        None
    }
    /// Is it still being looked through?
    fn is_busy(&self) -> bool {
        false
    }
    /// I/Os that are missing from all of it.
    fn lost(&self) -> i64 {
        0
    }
    /// What is shown, when it is not this machine.
    fn name(&self) -> Option<String> {
        None
    }
    /// Is there something new besides samples: findings, the strip?
    fn is_news(&mut self) -> bool {
        false
    }
    /// All of its time, when that is known.
    fn strip(&self) -> Option<TimeStrip> {
        None
    }
    /// Does it begin in the middle of a recording?
    fn joins(&self) -> bool {
        false
    }
    /// Why there are no distributions of response times, nothing of files, and nothing of what programs are at.
    fn missing(&self) -> [Option<String>; 3];
    /// The CPUs whose stacks the page shows: sampling costs CPU time, and is done only then.
    fn look_at_stacks(&mut self, _looks: ProfiledCpus) {}
    /// The same of servers.
    fn look_at_requests(&mut self, _watch: WatchedRequests) {}
    /// What is known of servers besides rows.
    fn servers(&self) -> ServerFacts<'_>;
    /// Writes what is remembered as a recording; `None`: it is one already.
    fn save(&self, directory: &std::path::Path) -> Option<Result<PathBuf, MonitorError>>;
}

/// Shows the page until the user quits; gives true when it was a signal that ended it.
///
/// # Errors
/// A recording that cannot be read, a terminal that goes away.
pub fn top(request: TopRequest, stop: &StopFlag) -> Result<bool, MonitorError> {
    let TopRequest { of, thresholds, once, directory } = request;
    let look = TopLook::of_environment();
    let (source, is_recorded): (Box<dyn Source>, bool) = match of {
        TopOf::Live(live) => (Box::new(live::Live::start(&live, thresholds.clone())), false),
        TopOf::Recorded(path) => (Box::new(recorded::Recorded::open(&path, thresholds.clone(), once.is_some())?), true),
        TopOf::Attached(path) => (Box::new(attach::Attached::open(&path, thresholds.clone())?), false),
    };
    let mut top = Top {
        window: Window::new(source.joins()),
        strip: None,
        marks: Vec::new(),
        compared: None,
        bookmarks: Bookmarks::default(),
        play: Play::default(),
        mark_length: 0,
        state: TopState::new(look, is_recorded),
        mode: if is_recorded { PageMode::Recorded } else { PageMode::Live },
        findings: source.findings(),
        lost: source.lost(),
        source,
        thresholds,
        directory,
    };
    if is_recorded {
        let last_ns = top.source.span().map_or(0, |span| span.1);
        top.go(last_ns)?;
    }
    match once {
        Some(size) => top.once(size, stop).map(|()| false),
        None => top.live(stop),
    }
}

struct Top {
    source: Box<dyn Source>,
    window: Window,
    state: TopState,
    mode: PageMode,
    findings: Vec<Finding>,
    lost: i64,
    strip: Option<TimeStrip>,
    /// The ends of the windows that are to be compared.
    marks: Vec<i64>,
    compared: Option<Grid>,
    bookmarks: Bookmarks,
    play: Play,
    /// Which length windows have that are compared.
    mark_length: usize,
    thresholds: Thresholds,
    directory: PathBuf,
}

/// The page as it is now.
macro_rules! page {
    ($top:ident, $missing:ident, $wall:ident) => {
        TopPage {
            scene: PageScene {
                moments: $top.window.shown(),
                findings: &$top.findings,
                no_blocks: $missing[0].as_deref(),
                no_files: $missing[1].as_deref(),
                no_stacks: $missing[2].as_deref(),
                servers: $top.source.servers(),
                verdicts: &$top.source.machine().verdicts,
            },
            machine: $top.source.machine(),
            mode: $top.mode,
            interval_s: $top.source.interval_s(),
            wall: &$wall,
            thresholds: &$top.thresholds,
            source: $top.source.name(),
            lost: $top.lost,
            judging: $top.source.judging(),
            stalled: $top.source.stalled(),
            plays: $top.play.goes(),
            strip: $top.strip.as_ref(),
            compared: $top.compared.as_ref(),
            bookmarks: $top.bookmarks.times(),
        }
    };
}

impl Top {
    /// Prints the page once there is something on it.
    fn once(&mut self, size: (u16, u16), stop: &StopFlag) -> Result<(), MonitorError> {
        loop {
            // What a recording suffers from is waited for.
            let is_busy = self.source.is_busy();
            self.advance()?;
            // A recording that was read gets no other sample, however little it holds.
            let is_waited_for = self.window.shown().is_empty() && self.source.due_ns().is_some();
            if stop.is_requested() || !(is_busy || is_waited_for) {
                break;
            }
            let due_ns = self.source.due_ns().unwrap_or_else(|| clock::now_ns() + NAP_NS / 10);
            std::thread::sleep(Duration::from_nanos(due_ns.saturating_sub(clock::now_ns()).min(NAP_NS)));
        }
        let text = self.text(size);
        match quantity::output::stdout().write_all(text.as_bytes()) {
            // A reader that has seen enough is no failure.
            Err(source) if source.kind() != io::ErrorKind::BrokenPipe => {
                Err(MonitorError::Write { path: PathBuf::from("standard output"), source })
            }
            _ => Ok(()),
        }
    }

    fn text(&mut self, (columns, rows): (u16, u16)) -> String {
        let missing = self.source.missing();
        let source = &self.source;
        let wall = |t_ns| source.wall_ns(t_ns);
        let page = page!(self, missing, wall);
        plain_text(&mut self.state, &page, columns, rows)
    }

    fn live(&mut self, stop: &StopFlag) -> Result<bool, MonitorError> {
        let mut screen = Screen::take().map_err(terminal)?;
        let mut is_stale = true;
        while !stop.is_requested() {
            is_stale |= self.advance()? | self.play_on()?;
            if is_stale {
                self.draw(&mut screen)?;
                is_stale = false;
            }
            let now_ns = clock::now_ns();
            let due_ns = self.source.due_ns().into_iter().chain(self.play.due_ns(self.source.interval_s())).min();
            let nap_ns = due_ns.map_or(NAP_NS, |due_ns| due_ns.saturating_sub(now_ns).min(NAP_NS));
            match screen.key(Duration::from_nanos(nap_ns)) {
                Ok(None) => {}
                Ok(Some(None)) => is_stale = true,
                Ok(Some(Some(key))) => {
                    is_stale = true;
                    let command = self.state.key(key);
                    if self.obey(command, &mut screen)? {
                        screen.end();
                        return Ok(false);
                    }
                    self.source.look_at_stacks(self.state.looks());
                    self.source.look_at_requests(self.state.watches());
                }
                // A signal that came while waiting; whatever is worse comes again.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(terminal(error)),
            }
        }
        screen.end();
        Ok(true)
    }

    fn draw(&mut self, screen: &mut Screen) -> Result<(), MonitorError> {
        let missing = self.source.missing();
        let source = &self.source;
        let wall = |t_ns| source.wall_ns(t_ns);
        let page = page!(self, missing, wall);
        screen.draw(&mut self.state, &page).map_err(terminal)
    }

    /// Takes in what is new; true when the page changed.
    fn advance(&mut self) -> Result<bool, MonitorError> {
        let samples = self.source.advance()?;
        if samples.is_empty() {
            let is_news = self.source.is_news();
            if is_news {
                self.findings = self.source.findings();
                self.strip = self.source.strip();
            }
            return Ok(is_news);
        }
        for sample in &samples {
            let fresh = self.window.grow(sample)?;
            self.lost += fresh.iter().map(|moment| moment.lost).sum::<i64>();
        }
        self.findings = self.source.findings();
        // What is held does not move.
        Ok(self.mode == PageMode::Live || self.window.shown().is_empty())
    }

    /// Does what a key asks; true: end.
    fn obey(&mut self, command: PageCommand, screen: &mut Screen) -> Result<bool, MonitorError> {
        match command {
            PageCommand::Draw => {}
            PageCommand::Quit => return Ok(true),
            PageCommand::Pause => self.pause(),
            PageCommand::Samples(steps) => self.step(steps)?,
            PageCommand::Seconds(seconds) => self.seconds(seconds)?,
            PageCommand::First => {
                if let Some((first_ns, _)) = self.source.span() {
                    self.go(first_ns)?;
                }
            }
            PageCommand::Last => self.newest()?,
            PageCommand::Finding { on } => self.finding(on)?,
            PageCommand::GoTo(text) => self.go_to(&text)?,
            PageCommand::Snapshot => self.snapshot(),
            PageCommand::Mark => self.mark()?,
            PageCommand::Bookmark => self.bookmark(),
            PageCommand::NextBookmark => self.next_bookmark()?,
            PageCommand::Speed { faster } => self.speed(faster),
            PageCommand::MarkLength => self.mark_length(),
            PageCommand::Suspend => screen.suspend().map_err(terminal)?,
        }
        // Wherever that led, time goes on from there.
        if let Some(now_ns) = self.now_ns() {
            self.play.from(clock::now_ns(), now_ns);
        }
        Ok(false)
    }

    /// Shows the moment up to which a recording that is played has come; true when the page changed.
    fn play_on(&mut self) -> Result<bool, MonitorError> {
        let Some(t_ns) = self.play.moment(clock::now_ns(), self.source.interval_s()) else { return Ok(false) };
        if !self.window.show(t_ns) {
            self.go(t_ns)?;
        }
        if self.source.span().is_none_or(|span| t_ns >= span.1) {
            self.play.stop();
            self.state.say("this is its end");
        }
        Ok(true)
    }

    fn speed(&mut self, faster: bool) {
        if self.mode == PageMode::Recorded {
            self.play.change(faster);
            let goes = if self.play.goes().is_some() { "" } else { "; space begins" };
            self.state.say(format!("plays ×{}{goes}", self.play.speed()));
        }
    }

    fn mark_length(&mut self) {
        self.mark_length = (self.mark_length + 1) % MARKS_NS.len();
        let length = view::Unit::Seconds.format(Some((self.mark_ns() as f64 / 1e9).round()));
        self.state.say(format!("windows that D marks are {length} long"));
    }

    /// Length of a window that is compared.
    fn mark_ns(&self) -> i64 {
        let wanted_ns = MARKS_NS.get(self.mark_length).copied().unwrap_or(MARKS_NS[0]);
        #[expect(clippy::cast_possible_truncation, reason = "an interval")]
        let least_ns = (self.source.interval_s() * 1e9) as i64 * MARK_SAMPLES;
        wanted_ns.max(least_ns)
    }

    fn pause(&mut self) {
        match self.mode {
            PageMode::Live => self.hold(),
            PageMode::Paused => {
                self.mode = PageMode::Live;
                self.window.follow();
            }
            PageMode::Recorded => {
                if let Some(now_ns) = self.now_ns() {
                    self.play.turn(clock::now_ns(), now_ns);
                }
            }
        }
    }

    fn hold(&mut self) {
        if self.mode == PageMode::Live {
            self.mode = PageMode::Paused;
            self.window.hold();
        }
    }

    fn now_ns(&self) -> Option<i64> {
        self.window.shown().last().map(|moment: &PageInterval| moment.t_ns)
    }

    fn step(&mut self, steps: i64) -> Result<(), MonitorError> {
        self.hold();
        if !self.window.step(steps) {
            #[expect(clippy::cast_possible_truncation, reason = "an interval")]
            let interval_ns = (self.source.interval_s() * 1e9) as i64;
            self.by(steps.saturating_mul(interval_ns))?;
        }
        Ok(())
    }

    fn seconds(&mut self, seconds: i64) -> Result<(), MonitorError> {
        self.hold();
        self.by(seconds.saturating_mul(1_000_000_000))
    }

    fn by(&mut self, ns: i64) -> Result<(), MonitorError> {
        let Some(now_ns) = self.now_ns() else { return Ok(()) };
        self.go(now_ns.saturating_add(ns))
    }

    /// Shows the last moment at or before a time.
    fn go(&mut self, t_ns: i64) -> Result<(), MonitorError> {
        self.hold();
        let Some((first_ns, last_ns)) = self.source.span() else { return Ok(()) };
        let wanted_ns = t_ns.clamp(first_ns, last_ns);
        let interval_s = self.source.interval_s();
        let source = &self.source;
        self.window.go(wanted_ns, (first_ns, interval_s), |tables, range| source.between(tables, range))?;
        if t_ns < first_ns {
            self.state.say("nothing older is remembered");
        } else if t_ns > last_ns && self.mode == PageMode::Paused {
            self.state.say("this is the newest; space goes on");
        }
        Ok(())
    }

    fn newest(&mut self) -> Result<(), MonitorError> {
        if self.mode == PageMode::Recorded {
            let last_ns = self.source.span().map_or(0, |span| span.1);
            return self.go(last_ns);
        }
        self.mode = PageMode::Live;
        self.window.follow();
        Ok(())
    }

    /// To where the next finding begins, or the one before.
    fn finding(&mut self, on: bool) -> Result<(), MonitorError> {
        let Some(now_ns) = self.now_ns() else { return Ok(()) };
        let starts = self.findings.iter().filter(|finding| finding.counts()).map(|finding| finding.start_ns);
        #[expect(clippy::cast_possible_truncation, reason = "an interval")]
        let slack_ns = (self.source.interval_s() * 1e9) as i64;
        let next = if on {
            starts.filter(|start_ns| *start_ns > now_ns).min()
        } else {
            starts.filter(|start_ns| start_ns + slack_ns < now_ns).max()
        };
        match next {
            // The first moment at which it is seen.
            Some(start_ns) => self.go(start_ns.saturating_add(slack_ns)),
            None => {
                self.state.say(if on { "no finding after this moment" } else { "no finding before this moment" });
                Ok(())
            }
        }
    }

    fn go_to(&mut self, text: &str) -> Result<(), MonitorError> {
        let Some(now_ns) = self.now_ns() else { return Ok(()) };
        let first_ns = self.source.span().map_or(now_ns, |span| span.0);
        match window::moment_of(text, self.source.wall_ns(now_ns), self.source.wall_ns(first_ns)) {
            Some(by_ns) => self.by(by_ns),
            None => {
                let words = "is no time: write 03:12, 03:12:44, 2026-11-20 03:12, -10m or +30s";
                self.state.say(format!("`{text}` {words}"));
                Ok(())
            }
        }
    }

    /// Marks the window that ends here; the second one is compared with the first.
    fn mark(&mut self) -> Result<(), MonitorError> {
        let Some(now_ns) = self.now_ns() else { return Ok(()) };
        let time = |t_ns: i64| format_wall(self.source.wall_ns(t_ns)).get(11..19).unwrap_or("?").to_string();
        if self.marks.len() >= 2 {
            self.marks.clear();
        }
        self.marks.push(now_ns);
        let [a_ns, b_ns] = self.marks[..] else {
            let length = view::Unit::Seconds.format(Some((self.mark_ns() as f64 / 1e9).round()));
            let said = format!("A is {length} up to {}; go elsewhere and press D for B (w: length)", time(now_ns));
            self.state.say(said);
            return Ok(());
        };
        let interval_s = self.source.interval_s();
        let length_ns = self.mark_ns();
        let read = |t_ns: i64| {
            #[expect(clippy::cast_possible_truncation, reason = "an interval")]
            let lead_ns = (interval_s * 1.5e9) as i64;
            let range = t_ns - length_ns - lead_ns..t_ns + lead_ns / 2;
            window::moments(&[], &self.source.between(&TABLES, range)?)
        };
        let changes = compare(&read(a_ns)?, &read(b_ns)?);
        let length = view::Unit::Seconds.format(Some((length_ns as f64 / 1e9).round()));
        let title = format!(
            "what differs most: A = {length} up to {}, B = {length} up to {} (medians; z: robust)",
            time(a_ns),
            time(b_ns)
        );
        self.compared = Some(compared(title, &changes));
        self.state.show_compared();
        Ok(())
    }

    /// Sets a bookmark at the moment that is shown, or takes it away.
    fn bookmark(&mut self) {
        let Some(now_ns) = self.now_ns() else { return };
        let is_set = self.bookmarks.turn(now_ns, self.slack_ns());
        let time = self.time(now_ns);
        self.state.say(match (is_set, self.bookmarks.times().len()) {
            (true, 1) => format!("bookmark at {time}: B comes back to it, b here takes it away"),
            (true, many) => format!("bookmark at {time}: B goes through all {many}, b here takes it away"),
            (false, _) => format!("bookmark at {time} is gone"),
        });
    }

    fn next_bookmark(&mut self) -> Result<(), MonitorError> {
        let Some(now_ns) = self.now_ns() else { return Ok(()) };
        let Some((number, t_ns)) = self.bookmarks.after(now_ns, self.slack_ns()) else {
            self.state.say("no bookmark yet: b sets one");
            return Ok(());
        };
        self.go(t_ns)?;
        // What is no longer remembered has said so.
        if self.now_ns().is_some_and(|now_ns| (now_ns - t_ns).abs() <= self.slack_ns()) {
            let words = format!("bookmark {number} of {} at {}", self.bookmarks.times().len(), self.time(t_ns));
            self.state.say(words);
        }
        Ok(())
    }

    /// Moments nearer than this are the same one.
    fn slack_ns(&self) -> i64 {
        #[expect(clippy::cast_possible_truncation, reason = "an interval")]
        let slack_ns = (self.source.interval_s() * 0.5e9) as i64;
        slack_ns
    }

    /// `10:44:07` of a monotonic time.
    fn time(&self, t_ns: i64) -> String {
        format_wall(self.source.wall_ns(t_ns)).get(11..19).unwrap_or("?").to_string()
    }

    fn snapshot(&mut self) {
        let wall_ns = self.now_ns().map_or_else(clock::wall_ns, |t_ns| self.source.wall_ns(t_ns));
        let text = self.text(snapshot::SIZE);
        let said = snapshot::write(&self.directory, wall_ns, &text, |path| self.source.save(path));
        self.state.say(said);
    }
}

fn terminal(source: io::Error) -> MonitorError {
    MonitorError::Write { path: PathBuf::from("the terminal"), source }
}
