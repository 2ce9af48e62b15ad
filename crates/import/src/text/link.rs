//! Speed of a link, out of the utilisation that nicstat printed: it is not printed, but what was printed fits one speed.

use super::columns::Subject;
use super::resolve_times::Placed;

/// A link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Link {
    pub(super) bits_per_s: f64,
    /// Utilisation is that of the busier direction; otherwise, of both together. Old versions of nicstat added both on
    /// all links.
    pub(super) is_full: bool,
}

/// Speeds that links have.
const SPEEDS: [f64; 10] = [1e7, 1e8, 1e9, 2.5e9, 5e9, 1e10, 2.5e10, 4e10, 5e10, 1e11];
/// Below this the printed digits fit several speeds.
const LOWEST_UTIL: f64 = 0.1;

/// The speed that fits all that was printed of an interface; `None` when none does, several do, or too little went over it.
pub(super) fn of(files: &[Placed], owners: &[usize], name: &str) -> Option<Link> {
    let mut samples: Vec<[f64; 3]> = Vec::new();
    for section in owners.iter().flat_map(|index| &files[*index].parsed.sections) {
        let find = |header: &str| section.columns.iter().position(|column| column.name == header);
        let bytes = |key: &str| {
            let spec = |column: &super::parsed_file::Column| column.specs.iter().find(|spec| spec.key == key).copied();
            section.columns.iter().enumerate().find_map(|(at, column)| Some((at, spec(column)?)))
        };
        let (Some(rx), Some(tx), Some(util)) = (bytes("rx_bytes"), bytes("tx_bytes"), find("%Util")) else { continue };
        let Some(series) = section.series.get(name).filter(|_| section.subject == Some(Subject::Net)) else { continue };
        let rate = |row: &[f64], (at, spec): (usize, &super::columns::Spec)| match spec.how {
            super::columns::How::Rate(scale) => row[at] * scale,
            _ => f64::NAN,
        };
        samples.extend(
            series.cells.chunks(section.columns.len().max(1)).map(|row| [rate(row, rx), rate(row, tx), row[util]]),
        );
    }
    samples.retain(|[rx, tx, util]| *util >= LOWEST_UTIL && *util < 100.0 && rx.is_finite() && tx.is_finite());
    let fits = |link: &Link| {
        !samples.is_empty()
            && samples.iter().all(|[rx, tx, util]| {
                let bytes = if link.is_full { rx.max(*tx) } else { rx + tx };
                // Two digits behind the point below 10, one below 100; rates have three or four digits.
                let slack = if *util < 10.0 { 0.0051 } else { 0.051 } + util * 0.001;
                (bytes * 800.0 / link.bits_per_s - util).abs() <= slack
            })
    };
    let links = SPEEDS.iter().flat_map(|speed| [true, false].map(|is_full| Link { bits_per_s: *speed, is_full }));
    let found: Vec<Link> = links.filter(fits).collect();
    match found.as_slice() {
        [only] => Some(*only),
        // One direction was silent all the time: both rules fit.
        [first, second] if first.bits_per_s == second.bits_per_s => Some(Link { is_full: true, ..*first }),
        _ => None,
    }
}
