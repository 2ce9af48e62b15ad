//! What the options of a replay say: `read_iolog=`, `replay_*=`.

use plan::replay::ReplayOp;

/// What the options of a replay say.
#[derive(Clone, Debug)]
pub(crate) struct ReplayOptions {
    pub(crate) iolog: Option<String>,
    pub(crate) redirect: Option<String>,
    pub(crate) no_stall: bool,
    /// Addresses are divided by this.
    pub(crate) scale: u64,
    pub(crate) align: Option<u64>,
    /// Of the traced rate, per cent.
    pub(crate) time_percent: f64,
    pub(crate) skip: Vec<ReplayOp>,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            iolog: None,
            redirect: None,
            no_stall: false,
            scale: 1,
            align: None,
            time_percent: 100.0,
            skip: Vec::new(),
        }
    }
}

/// `read,trim`: kinds that are left out.
pub(crate) fn kinds(text: &str) -> Result<Vec<ReplayOp>, String> {
    let kind = |word: &str| match word.trim() {
        "read" => Ok(ReplayOp::Read),
        "write" => Ok(ReplayOp::Write),
        "trim" => Ok(ReplayOp::Trim),
        "sync" => Ok(ReplayOp::Flush),
        other => Err(format!("`{other}` is none of read, write, trim, sync")),
    };
    text.split(',').map(kind).collect()
}
