//! Rows and columns of the page, as text.

/// Where a line of the page leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrillTarget {
    /// Nowhere.
    Nothing,
    /// A finding, by its number.
    Finding(usize),
    /// A page.
    Sheet(PageSheet),
}

/// A page below the first one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageSheet {
    /// CPUs.
    Cpu,
    /// One CPU, by its number.
    OneCpu(u32),
    /// Block devices.
    Disks,
    /// One block device: its files and processes.
    Disk(String),
    /// Network interfaces, listeners.
    Net,
    /// Memory and paging.
    Memory,
    /// Interrupts.
    Interrupts,
    /// Files.
    Files,
    /// One file: its processes.
    File(String),
    /// Processes.
    Processes,
    /// One process.
    Process(i64),
    /// One stack of a process: its functions, the outermost first, with `;` between them.
    Stack(i64, String),
    /// Ports of servers, one to be chosen.
    Ports,
    /// How long the servers on a port take for an answer.
    Requests(u16),
    /// All findings.
    Findings,
    /// Two windows of time.
    Compared,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct GridRow {
    /// Texts of its cells; the first is the name.
    pub cells: Vec<String>,
    /// What Enter opens.
    pub drill: DrillTarget,
}

/// A table of texts with a heading; the first column is flush left, the others are flush right.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// What it is.
    pub title: String,
    /// Headings.
    pub columns: Vec<String>,
    /// Lines.
    pub rows: Vec<GridRow>,
    /// Said below: what is missing, and why.
    pub note: Option<String>,
}

impl Grid {
    pub(crate) fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|column| (*column).to_string()).collect();
        Self { title: title.into(), columns, rows: Vec::new(), note: None }
    }

    pub(crate) fn push(&mut self, cells: Vec<String>, drill: DrillTarget) {
        self.rows.push(GridRow { cells, drill });
    }
}
