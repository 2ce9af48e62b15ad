//! What is kept: which recordings go and which become coarser, in which order, and how many at once. Knows no files.

use quantity::text::{format_bytes, format_ns};

pub(crate) const DAY_NS: i64 = 86_400_000_000_000;

/// Recordings that ended so long ago have samples so far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionTier {
    /// Age of the end, ns.
    pub after_ns: i64,
    /// Time between two samples, ns.
    pub step_ns: i64,
}

/// What is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Recordings that ended longer ago are removed, ns.
    pub keep_ns: Option<i64>,
    /// The newest recordings that cover so much time stay, whatever the clock says, `max_bytes` asks for and other files take, ns;
    /// they go only where recordings themselves fill the disk.
    pub keep_at_least_ns: i64,
    /// All recordings together take no more; the oldest go first.
    pub max_bytes: Option<u64>,
    /// So much stays free on the disk; the oldest go first.
    pub min_free_bytes: Option<u64>,
    /// Older ones are thinned.
    pub tiers: Vec<RetentionTier>,
}

impl Default for RetentionPolicy {
    /// 90 days, the newest week in any case; 10 s after two days, 5 minutes after two weeks; 1 GB stays free.
    fn default() -> Self {
        Self {
            keep_ns: Some(90 * DAY_NS),
            keep_at_least_ns: 7 * DAY_NS,
            max_bytes: None,
            min_free_bytes: Some(1_000_000_000),
            tiers: vec![
                RetentionTier { after_ns: 2 * DAY_NS, step_ns: 10_000_000_000 },
                RetentionTier { after_ns: 14 * DAY_NS, step_ns: 300_000_000_000 },
            ],
        }
    }
}

/// An old recording of this collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordingEntry {
    /// Name of its directory.
    pub(crate) name: String,
    /// Place in the order in which the collector began them.
    pub(crate) number: u64,
    /// When it began, on the scale of ages.
    pub(crate) begun_ns: i64,
    /// When it ended, on that scale; the latest that it can have been.
    pub(crate) end_ns: i64,
    /// Time that it covers by the monotonic clock, ns.
    pub(crate) length_ns: i64,
    /// Written by the flight recorder around a finding: covers no time of its own.
    pub(crate) is_flight: bool,
    /// All its files.
    pub(crate) bytes: u64,
    /// How far its samples are apart since it was thinned; 0 when it was not.
    pub(crate) step_ns: i64,
}

/// Room on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DiskSpace {
    /// What there is.
    pub(crate) total: u64,
    /// What is free for everybody.
    pub(crate) free: u64,
}

/// Where recordings are.
pub(crate) trait RecordingStore {
    /// Removes one; false when it stays.
    fn remove(&mut self, recording: &RecordingEntry, why: &str) -> bool;
    /// Makes one coarser; false when it stays as it is.
    fn thin(&mut self, recording: &RecordingEntry, step_ns: i64) -> bool;
    /// Room on the disk now; `None` where it is not known.
    fn room(&mut self) -> Option<DiskSpace>;
    /// Says something, once in the life of a process for each `key`.
    fn say_once(&mut self, key: &str, said: String);
    /// Is everything to be left for the next time?
    fn is_enough(&self) -> bool;
}

/// The present.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    /// On the scale of ages.
    pub(crate) passed_ns: i64,
    /// When the recording under way began, on that scale; `None`: there is none.
    pub(crate) open_begun_ns: Option<i64>,
    /// What it takes.
    pub(crate) open_bytes: u64,
}

/// How many may go, and become coarser, by age alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) removals: u64,
    pub(crate) thinnings: u64,
}

/// How many of `count` recordings may go by age in a day: a tenth, or what a day brings when they are kept for less than ten
/// days; one in any case.
pub(crate) fn share(count: usize, keep_ns: Option<i64>) -> u64 {
    let days = (keep_ns.unwrap_or(i64::MAX) / DAY_NS).clamp(1, 10).unsigned_abs();
    (count as u64 / days).max(1)
}

/// Puts them in their order and finds out when each ended: at the latest when the next day began.
pub(crate) fn order(kept: &mut [RecordingEntry], now: &Now) {
    kept.sort_by_key(|recording| recording.number);
    let mut next_ns = now.open_begun_ns.unwrap_or(now.passed_ns);
    for recording in kept.iter_mut().rev() {
        recording.end_ns = if recording.is_flight { recording.begun_ns } else { next_ns };
        if !recording.is_flight {
            next_ns = recording.begun_ns;
        }
    }
}

/// Place of the first of those that stay: the newest that cover `at_least_ns`, and the newest day in any case.
pub(crate) fn first_protected(kept: &[RecordingEntry], at_least_ns: i64) -> usize {
    let mut covered_ns = 0_i64;
    for (place, recording) in kept.iter().enumerate().rev() {
        if recording.is_flight {
            continue;
        }
        // A damaged manifest may say anything.
        let most_ns = recording.end_ns.saturating_sub(recording.begun_ns).max(0);
        covered_ns = covered_ns.saturating_add(recording.length_ns.clamp(0, most_ns.max(1)));
        if covered_ns >= at_least_ns {
            return place;
        }
    }
    0
}

/// Applies the policy; gives what of the budget is left.
pub(crate) fn retain(
    mut kept: Vec<RecordingEntry>,
    now: Now,
    retention: &RetentionPolicy,
    budget: Budget,
    store: &mut dyn RecordingStore,
) -> Budget {
    order(&mut kept, &now);
    let mut left = budget;
    by_age(&mut kept, now, retention, &mut left, store);
    by_size(&mut kept, now, retention, store);
    by_room(&mut kept, now, retention, store);
    by_tier(&kept, now, retention, &mut left, store);
    left
}

fn by_age(
    kept: &mut Vec<RecordingEntry>,
    now: Now,
    retention: &RetentionPolicy,
    left: &mut Budget,
    store: &mut dyn RecordingStore,
) {
    let Some(keep_ns) = retention.keep_ns else { return };
    let safe = first_protected(kept, retention.keep_at_least_ns.min(keep_ns));
    let why = format!("it ended more than {} ago", format_ns(keep_ns.unsigned_abs()));
    let mut withheld = 0;
    let mut place = 0;
    // In their order: one that stays keeps those behind it, whatever time they say.
    let mut is_due = true;
    kept.retain(|recording| {
        is_due &= place < safe && now.passed_ns.saturating_sub(recording.end_ns) > keep_ns;
        place += 1;
        if !is_due || store.is_enough() {
            return true;
        }
        if left.removals == 0 {
            withheld += 1;
            return true;
        }
        left.removals -= 1;
        !store.remove(recording, &why)
    });
    if withheld > 0 {
        let said = format!(
            "{withheld} recordings ended more than {} ago and stay for now: only a small share goes by age in a day, in \
             case the clock is wrong",
            format_ns(keep_ns.unsigned_abs())
        );
        store.say_once("age", said);
    }
}

fn total(kept: &[RecordingEntry], now: Now) -> u64 {
    kept.iter().map(|recording| recording.bytes).sum::<u64>() + now.open_bytes
}

fn by_size(kept: &mut Vec<RecordingEntry>, now: Now, retention: &RetentionPolicy, store: &mut dyn RecordingStore) {
    let Some(max) = retention.max_bytes else { return };
    let safe = first_protected(kept, retention.keep_at_least_ns);
    let why = format!("all together took more than {}", format_bytes(max));
    let mut all = total(kept, now);
    let mut place = 0;
    kept.retain(|recording| {
        let may_go = place < safe && all > max && !store.is_enough();
        place += 1;
        if !may_go || !store.remove(recording, &why) {
            return true;
        }
        all -= recording.bytes;
        false
    });
    let is_kept = first_protected(kept, retention.keep_at_least_ns) < first_protected(kept, 0);
    if all > max && is_kept && !store.is_enough() {
        let said = format!(
            "the recordings that stay take {}, more than --max-size {}: the newest {} go only with a smaller --keep-at-least",
            format_bytes(all),
            format_bytes(max),
            format_ns(retention.keep_at_least_ns.unsigned_abs())
        );
        store.say_once("size", said);
    }
}

/// What stays free: as asked, or a tenth of a disk that has not twice as much.
fn least_free(asked: u64, room: DiskSpace, store: &mut dyn RecordingStore) -> u64 {
    if asked <= room.total / 2 {
        return asked;
    }
    let least = room.total / 10;
    let said = format!(
        "--min-free {} cannot be kept on a disk of {}: {} stays free",
        format_bytes(asked),
        format_bytes(room.total),
        format_bytes(least)
    );
    store.say_once("small disk", said);
    least
}

fn by_room(kept: &mut Vec<RecordingEntry>, now: Now, retention: &RetentionPolicy, store: &mut dyn RecordingStore) {
    let Some((asked, first)) = retention.min_free_bytes.zip(store.room()) else { return };
    let least = least_free(asked, first, store);
    let why = format!("less than {} was free on the disk", format_bytes(least));
    let (newest, week) = (first_protected(kept, 0), first_protected(kept, retention.keep_at_least_ns));
    let (mut freed, mut ours) = (0_u64, total(kept, now));
    let (mut place, mut is_short, mut others) = (0, first.free < least, 0);
    kept.retain(|recording| {
        let at = place;
        place += 1;
        // Some file systems free what was removed later: it counts at once.
        let free = store.room().map_or(0, |room| room.free).max(first.free.saturating_add(freed));
        is_short = free < least;
        others = first.total.saturating_sub(first.free).saturating_sub(ours.saturating_add(freed));
        let is_theirs = others > ours;
        let may_go = at < if is_theirs { week } else { newest };
        if !is_short || !may_go || store.is_enough() || !store.remove(recording, &why) {
            return true;
        }
        freed += recording.bytes;
        ours = ours.saturating_sub(recording.bytes);
        false
    });
    let free = store.room().map_or(0, |room| room.free).max(first.free.saturating_add(freed));
    if is_short && free < least && !store.is_enough() {
        let said = format!(
            "less than {} is free on the disk, and the newest recordings stay: this collector's take {}, everything else {}",
            format_bytes(least),
            format_bytes(ours),
            format_bytes(others)
        );
        store.say_once("room", said);
    }
}

fn by_tier(
    kept: &[RecordingEntry],
    now: Now,
    retention: &RetentionPolicy,
    left: &mut Budget,
    store: &mut dyn RecordingStore,
) {
    for recording in kept {
        let age_ns = now.passed_ns.saturating_sub(recording.end_ns);
        let due = retention.tiers.iter().filter(|tier| age_ns > tier.after_ns).map(|tier| tier.step_ns).max();
        let Some(step_ns) = due.filter(|step_ns| *step_ns > recording.step_ns) else { continue };
        if left.thinnings == 0 || store.is_enough() {
            return;
        }
        left.thinnings -= u64::from(store.thin(recording, step_ns));
    }
}
