//! Where in time the blocks of files are: those that tell the day, those that tell only the time of day, and those that
//! tell nothing.

use super::parsed_file::{LogEpoch, ParsedFile, Section};
use super::syslog::{ANY_YEAR, in_year};
use super::timestamp::{DAY_NS, Epoch, SECOND_NS};
use crate::ImportError;
use crate::options::ImportOptions;
use quantity::text::{civil, format_ns, format_wall};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// A file with the time of each block, UTC ns since 1970.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) path: PathBuf,
    pub(super) parsed: ParsedFile,
    /// By section, by block.
    pub(super) times: Vec<Vec<i64>>,
    /// By section: the usual length of an interval, ns.
    pub(super) steps: Vec<i64>,
}

/// Puts all blocks where they belong.
pub(super) fn place(files: Vec<(PathBuf, ParsedFile)>, options: &ImportOptions) -> Result<Vec<Placed>, ImportError> {
    files
        .into_iter()
        .map(|(path, mut parsed)| {
            let changed_ns = changed_ns(&path)?;
            // As clocks showed it there.
            let changed_there_ns = options.zone.as_ref().map_or(changed_ns, |zone| {
                changed_ns.saturating_add(zone.offset_s(changed_ns.div_euclid(SECOND_NS)).saturating_mul(SECOND_NS))
            });
            let day_ns = day(&mut parsed, changed_there_ns, options);
            let mut set_back = 0;
            let (mut times, mut steps) = (Vec::new(), Vec::new());
            let mut asked = Asked { options, changed_ns, is_assumed: false };
            for at in 0..parsed.sections.len() {
                let section = &parsed.sections[at];
                let step_ns = match section.timeline.epoch {
                    Epoch::Sample => options.interval_ns.unwrap_or(SECOND_NS),
                    _ => section.usual_step().or(options.interval_ns).unwrap_or(SECOND_NS),
                };
                let (from_ns, unit) = match section.timeline.epoch {
                    Epoch::Wall => (0, 1),
                    Epoch::Day => (day_ns, 1),
                    Epoch::Sample => (asked.first_ns(section, step_ns), step_ns),
                };
                let of_block =
                    |block: &super::parsed_file::Block| from_ns.saturating_add(block.at.saturating_mul(unit));
                if let (Epoch::Day, Some(zone)) = (section.timeline.epoch, &options.zone) {
                    let blocks = section.blocks.iter().map(|block| block.at);
                    let (found, other) = section.timeline.of_days(day_ns, blocks, zone);
                    set_back += other;
                    times.push(found);
                } else {
                    set_back += section.timeline.set_back;
                    times.push(section.blocks.iter().map(of_block).collect());
                }
                steps.push(step_ns);
            }
            asked.tell(&mut parsed);
            if set_back > 0 {
                let why = if options.zone.is_some() {
                    "the clock was set"
                } else {
                    "the clock was set, or summer time ended"
                };
                parsed.note(&format!("times of day that went back ({why}): {set_back}; time goes on there"));
            }
            events(&mut parsed, (changed_ns, changed_there_ns), options);
            Ok(Placed { path, parsed, times, steps })
        })
        .collect()
}

fn changed_ns(path: &Path) -> Result<i64, ImportError> {
    let metadata = std::fs::metadata(path).map_err(ImportError::io("read", path))?;
    let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(changed.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(0)))
}

/// The midnight that times of day are counted from: the file's date, else one that fits its last change. What is not sure
/// is said.
fn day(parsed: &mut ParsedFile, changed_ns: i64, options: &ImportOptions) -> i64 {
    let of_day = parsed.sections.iter().filter(|section| section.timeline.epoch == Epoch::Day);
    let last_ns = of_day.filter_map(|section| section.blocks.last()).map(|block| block.at).max();
    let Some(last_ns) = last_ns else { return 0 };
    if let Some(start_ns) = options.start_ns {
        return start_ns.div_euclid(DAY_NS) * DAY_NS;
    }
    if let Some(date_ns) = parsed.date_ns {
        return date_ns;
    }
    // Whichever day brings the last time next to the file's last change.
    let fits = |day_ns: i64| day_ns.saturating_add(last_ns).abs_diff(changed_ns);
    let shown = |day_ns: i64| format_wall(day_ns).split(' ').next().unwrap_or_default().to_string();
    if let Some(best) = parsed.dates.iter().copied().min_by_key(|day_ns| fits(*day_ns)) {
        parsed.note(&format!(
            "its date can be read in two ways; it was taken for {}, which is nearer to the file's last change (--start says another)",
            shown(best)
        ));
        return best;
    }
    let rough = changed_ns.saturating_sub(last_ns).div_euclid(DAY_NS) * DAY_NS;
    let best = if fits(rough) <= fits(rough + DAY_NS) { rough } else { rough + DAY_NS };
    parsed.note(&format!(
        "it tells the time of day only; it was taken to begin on {}, by the file's last change (--start says another day)",
        shown(best)
    ));
    best
}

/// Puts events on the wall clock: messages tell no year, or only the time since the machine was started.
fn events(parsed: &mut ParsedFile, (changed_ns, changed_there_ns): (i64, i64), options: &ImportOptions) {
    let Some(last_ns) = parsed.events.iter().map(|(at, _)| *at).max() else { return };
    match parsed.event_clock {
        LogEpoch::Wall => {}
        LogEpoch::Yearless => {
            let end_ns = options.start_ns.unwrap_or(changed_there_ns);
            let later = civil(last_ns).0.0 - ANY_YEAR;
            let mut year = civil(end_ns).0.0 - later;
            if options.start_ns.is_none() && in_year(last_ns, year + later) > changed_there_ns.saturating_add(DAY_NS) {
                year -= 1;
            }
            let mut before = None;
            for (at, _) in &mut parsed.events {
                *at = in_year(*at, civil(*at).0.0 - ANY_YEAR + year);
                if let Some(zone) = &options.zone {
                    *at = zone.utc_ns(*at, before);
                    before = Some(*at);
                }
            }
            if options.start_ns.is_none() {
                parsed.note(&format!(
                    "its messages tell no year; {year} was taken, by the file's last change (--start says another)"
                ));
            }
        }
        LogEpoch::Boot => {
            let boot_ns = options.start_utc_ns().unwrap_or_else(|| changed_ns.saturating_sub(last_ns));
            parsed.events.iter_mut().for_each(|(at, _)| *at = at.saturating_add(boot_ns));
            if options.start_ns.is_none() {
                parsed.note("its messages tell the time since the machine was started; the last one was put at the file's last change (--start says when it was started)");
            }
        }
    }
}

/// What had to be assumed of a file without times.
struct Asked<'a> {
    options: &'a ImportOptions,
    changed_ns: i64,
    is_assumed: bool,
}

impl Asked<'_> {
    /// When the first block was printed.
    fn first_ns(&mut self, section: &Section, step_ns: i64) -> i64 {
        self.is_assumed |= !section.blocks.is_empty();
        let last = section.blocks.last().map_or(0, |block| block.at);
        self.options.start_utc_ns().unwrap_or_else(|| self.changed_ns.saturating_sub(last.saturating_mul(step_ns)))
    }

    fn tell(&self, parsed: &mut ParsedFile) {
        if !self.is_assumed {
            return;
        }
        if self.options.interval_ns.is_none() && parsed.sections.iter().any(|section| section.blocks.len() > 1) {
            parsed
                .note("it tells no times: its samples were taken to be 1 s apart (--interval says how far they were)");
        }
        if self.options.start_ns.is_none() {
            let end = format_wall(self.changed_ns);
            parsed.note(&format!("it tells no times: its last sample was put at the file's last change, {end} (--start says when it began)"));
        }
        if let Some(step_ns) = self.options.interval_ns {
            parsed.note(&format!("its samples were put {} apart, as was asked for", format_ns(step_ns.unsigned_abs())));
        }
    }
}
