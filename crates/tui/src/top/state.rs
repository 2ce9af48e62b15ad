//! What the user has chosen, and what the page is given to show.

use super::TopLook;
use findings::Thresholds;
use top_page::{DrillTarget, Grid, MachineFacts, MapOf, PageScene, PageSheet, TimeStrip, WatchedRequests};

/// Whether time goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageMode {
    /// The newest moment is shown.
    Live,
    /// A moment of the past is shown, or the newest one is held.
    Paused,
    /// A recording that does not grow.
    Recorded,
}

/// The CPUs whose stacks the page shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProfiledCpus {
    /// On none.
    #[default]
    Nowhere,
    /// On all of them.
    Everywhere,
    /// On this one.
    Cpu(u32),
}

/// What is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Prompt {
    Filter,
    GoTo(String),
}

/// All that is shown.
pub struct TopPage<'a> {
    /// Moments and findings.
    pub scene: PageScene<'a>,
    /// The machine.
    pub machine: &'a MachineFacts,
    /// Does time go on?
    pub mode: PageMode,
    /// Time between samples, s.
    pub interval_s: f64,
    /// From the monotonic clock to UTC, ns.
    pub wall: &'a dyn Fn(i64) -> i64,
    /// What findings compare with.
    pub thresholds: &'a Thresholds,
    /// What is shown, when it is not this machine: a recording, a collector.
    pub source: Option<String>,
    /// Lost, missed or not counted so far.
    pub lost: i64,
    /// How far the findings have been judged, when that is not up to the end: words.
    pub judging: Option<String>,
    /// Why nothing new comes though it should, in words: the page does not say that it is live then.
    pub stalled: Option<&'static str>,
    /// A recording goes on by itself, so many times as fast as it was.
    pub plays: Option<u32>,
    /// All of a recording's time.
    pub strip: Option<&'a TimeStrip>,
    /// Two windows of time, compared.
    pub compared: Option<&'a Grid>,
    /// Moments with a bookmark, in the order of time, ns.
    pub bookmarks: &'a [i64],
}

impl std::fmt::Debug for TopPage<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("TopPage").field("mode", &self.mode).finish_non_exhaustive()
    }
}

/// What the user has chosen.
#[derive(Debug)]
pub struct TopState {
    pub(crate) look: TopLook,
    /// Pages that were opened, the one that is seen last; none: the first page.
    pub(crate) sheets: Vec<PageSheet>,
    /// Which of the lines that can be chosen.
    pub(crate) selected: usize,
    /// First line of a page that is longer than the terminal.
    pub(crate) scroll: usize,
    /// Where the lines on the terminal lead, in their order.
    pub(crate) lines: Vec<DrillTarget>,
    /// Which of them are rows of a disk or an interface, to be cycled.
    pub(crate) disk_line: Option<usize>,
    pub(crate) net_line: Option<usize>,
    /// Chosen instead of the worst.
    pub(crate) disk: Option<String>,
    pub(crate) net: Option<String>,
    pub(crate) cycle: Option<Cycle>,
    /// Which map of a disk is seen, where there is room for one.
    pub(crate) map: MapOf,
    /// The page has just been opened: the first line that leads somewhere is chosen.
    pub(crate) is_fresh: bool,
    /// Whose requests were looked at last.
    pub(crate) port: Option<u16>,
    pub(crate) filter: String,
    pub(crate) prompt: Option<Prompt>,
    pub(crate) help: bool,
    /// The finding that is explained.
    pub(crate) explained: Option<usize>,
    /// Words about what was last done.
    pub(crate) message: Option<String>,
    pub(crate) is_recorded: bool,
}

/// What is to be cycled when the page is next drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cycle {
    Disk,
    Net,
}

impl TopState {
    /// The first page. `is_recorded`: n and N go to findings, not to the network.
    #[must_use]
    pub fn new(look: TopLook, is_recorded: bool) -> Self {
        Self {
            look,
            sheets: Vec::new(),
            selected: 0,
            scroll: 0,
            lines: Vec::new(),
            disk_line: None,
            net_line: None,
            disk: None,
            net: None,
            cycle: None,
            map: MapOf::default(),
            is_fresh: false,
            port: None,
            filter: String::new(),
            prompt: None,
            help: false,
            explained: None,
            message: None,
            is_recorded,
        }
    }

    /// Shows the comparison of two windows.
    pub fn show_compared(&mut self) {
        self.open(PageSheet::Compared);
    }

    /// Where what programs are at is looked for: by the page of a process or of a CPU, the one that was opened last.
    #[must_use]
    pub fn looks(&self) -> ProfiledCpus {
        let of = |sheet: &PageSheet| match sheet {
            PageSheet::Process(_) | PageSheet::Stack(..) => Some(ProfiledCpus::Everywhere),
            PageSheet::OneCpu(cpu) => Some(ProfiledCpus::Cpu(*cpu)),
            _ => None,
        };
        self.sheets.iter().rev().find_map(of).unwrap_or(ProfiledCpus::Nowhere)
    }

    /// Is a disk's page seen?
    pub(crate) fn shows_maps(&self) -> bool {
        matches!(self.sheets.last(), Some(PageSheet::Disk(_) | PageSheet::Disks))
    }

    /// What of requests is looked at.
    #[must_use]
    pub fn watches(&self) -> WatchedRequests {
        let of = |sheet: &PageSheet| match sheet {
            PageSheet::Requests(port) => Some(WatchedRequests::Port(*port)),
            PageSheet::Ports => Some(WatchedRequests::Servers),
            _ => None,
        };
        // A port goes on being watched also behind another page; the page of the network needs the list only.
        let net = if self.sheets.last() == Some(&PageSheet::Net) {
            WatchedRequests::Servers
        } else {
            WatchedRequests::Nothing
        };
        self.sheets.iter().rev().find_map(of).unwrap_or(net)
    }

    /// The servers, and above them the one that was chosen before.
    pub(crate) fn open_requests(&mut self) {
        let is_open = self.sheets.iter().any(|sheet| matches!(sheet, PageSheet::Ports | PageSheet::Requests(_)));
        if !is_open || self.port.is_none() {
            self.open(PageSheet::Ports);
        }
        if let Some(port) = self.port {
            self.open(PageSheet::Requests(port));
        }
    }

    /// Says something in the last line until the next key.
    pub fn say(&mut self, words: impl Into<String>) {
        self.message = Some(words.into());
    }

    pub(crate) fn open(&mut self, sheet: PageSheet) {
        if let PageSheet::Requests(port) = &sheet {
            self.port = Some(*port);
        }
        if self.sheets.last() != Some(&sheet) {
            self.sheets.push(sheet);
        }
        self.is_fresh = true;
        (self.selected, self.scroll, self.explained) = (0, 0, None);
    }

    /// Begins to draw: the lines that can be chosen are collected anew.
    pub(crate) fn begin(&mut self) {
        self.lines.clear();
        (self.disk_line, self.net_line) = (None, None);
    }

    /// One more line that can be chosen; true when it is the chosen one.
    pub(crate) fn line(&mut self, drill: DrillTarget) -> bool {
        self.lines.push(drill);
        self.lines.len() - 1 == self.selected
    }

    /// The next instance after the one chosen; after the last one, the worst again.
    pub(crate) fn cycle(&mut self, scene: &PageScene<'_>) {
        let next = |names: Vec<String>, chosen: &Option<String>| match chosen {
            None => names.get(1).or(names.first()).cloned(),
            Some(name) => names.iter().position(|one| one == name).and_then(|at| names.get(at + 1)).cloned(),
        };
        match self.cycle.take() {
            Some(Cycle::Disk) => {
                let mut names = scene.disks();
                // An order that does not change from second to second.
                let worst = if names.is_empty() { None } else { Some(names.remove(0)) };
                names.sort();
                names.splice(0..0, worst);
                self.disk = next(names, &self.disk);
            }
            Some(Cycle::Net) => {
                let mut names = scene.links();
                let worst = if names.is_empty() { None } else { Some(names.remove(0)) };
                names.sort();
                names.splice(0..0, worst);
                self.net = next(names, &self.net);
            }
            None => {}
        }
    }
}
