//! The moments that the page looks at: at the newest end, or around one of the past.

use super::WINDOW_SAMPLES;
use super::last_rows::LookBack;
use crate::MonitorError;
use quantity::text::{civil, parse_duration_s, wall_ns_of};
use recording::{RowBatch, Sink as _};
use std::ops::Range;
use top_page::{PageFold, PageInterval, TABLES, samples};

/// Moments in a row.
#[derive(Debug, Default)]
pub(crate) struct Window {
    fold: PageFold,
    /// The newest ones.
    edge: Vec<PageInterval>,
    /// What is held, and how many of it are shown.
    held: Option<(Vec<PageInterval>, usize)>,
}

/// Seconds that are read before a window, so that figures are there from its beginning.
const LEAD: i64 = 3;

impl Window {
    /// Nothing yet. `joins`: samples come out of the middle of a recording.
    pub(crate) fn new(joins: bool) -> Self {
        Self { fold: PageFold::new(joins), ..Self::default() }
    }

    /// The moments up to the one that is shown.
    pub(crate) fn shown(&self) -> &[PageInterval] {
        match &self.held {
            Some((moments, count)) => moments.get(..*count).unwrap_or(moments),
            None => &self.edge,
        }
    }

    /// A sample that has just come; gives its moments.
    pub(crate) fn grow(&mut self, sample: &[RowBatch]) -> Result<&[PageInterval], MonitorError> {
        sample.iter().try_for_each(|batch| self.fold.accept(batch))?;
        self.fold.commit()?;
        if self.edge.len() >= 2 * WINDOW_SAMPLES {
            self.edge.drain(..WINDOW_SAMPLES);
        }
        let before = self.edge.len();
        self.edge.extend(self.fold.take());
        Ok(&self.edge[before..])
    }

    /// Holds what is shown.
    pub(crate) fn hold(&mut self) {
        if self.held.is_none() {
            self.held = Some((self.edge.clone(), self.edge.len()));
        }
    }

    /// Shows the newest again.
    pub(crate) fn follow(&mut self) {
        self.held = None;
    }

    /// Some moments on or back; false when they are not here, or what is before them is not.
    pub(crate) fn step(&mut self, steps: i64) -> bool {
        let Some((moments, count)) = &mut self.held else { return false };
        let wanted = i64::try_from(*count).unwrap_or(0).saturating_add(steps);
        let Ok(wanted) = usize::try_from(wanted) else { return false };
        let is_here = (1..=moments.len()).contains(&wanted) && (steps > 0 || wanted > WINDOW_SAMPLES / 4);
        if is_here {
            *count = wanted;
        }
        is_here
    }

    /// Shows the last moment at or before `t_ns` when that one is here, without reading; false: it may not be.
    pub(crate) fn show(&mut self, t_ns: i64) -> bool {
        let Some((moments, count)) = &mut self.held else { return false };
        let wanted = moments.partition_point(|moment| moment.t_ns <= t_ns);
        let is_here = wanted >= *count && wanted < moments.len();
        if is_here {
            *count = wanted;
        }
        is_here
    }

    /// Shows the last moment at or before `t_ns`; `read` gives the batches of some tables in a stretch of time, of which
    /// there are some from `first_ns` on.
    pub(crate) fn go(
        &mut self,
        t_ns: i64,
        (first_ns, interval_s): (i64, f64),
        read: impl Fn(&[&str], Range<i64>) -> Result<Vec<RowBatch>, MonitorError>,
    ) -> Result<(), MonitorError> {
        #[expect(clippy::cast_possible_truncation, reason = "an interval")]
        let interval_ns = (interval_s * 1e9) as i64;
        let half_ns = interval_ns.saturating_mul(i64::try_from(WINDOW_SAMPLES / 2).unwrap_or(0));
        let from_ns = t_ns.saturating_sub(half_ns).saturating_sub(LEAD * interval_ns.max(1_000_000_000));
        let batches = read(&TABLES, from_ns..t_ns.saturating_add(half_ns))?;
        let before = LookBack { first_ns, from_ns, interval_ns }.last_rows(&batches, read)?;
        let moments = moments(&before, &batches)?;
        // A sample takes a few milliseconds; its own time may be a little after the one that was asked for.
        let count = moments.partition_point(|moment| moment.t_ns <= t_ns + interval_ns / 10);
        let count = if count == 0 { moments.len().min(1) } else { count };
        self.held = Some((moments, count));
        Ok(())
    }
}

/// The moments of a stretch of time out of the middle of a recording; `before`: the last rows before it of what has rows
/// only when it changed.
pub(crate) fn moments(before: &[RowBatch], batches: &[RowBatch]) -> Result<Vec<PageInterval>, MonitorError> {
    let mut fold = PageFold::new(true);
    before.iter().try_for_each(|batch| fold.accept(batch))?;
    // No sample: it makes no moment.
    fold.commit()?;
    for sample in samples(batches) {
        sample.iter().try_for_each(|batch| fold.accept(batch))?;
        fold.commit()?;
    }
    Ok(fold.take())
}

/// How far a time that the user typed is from the moment `wall_ns` (UTC): `-10m`, `+30s`, `2026-11-20 03:12`; `hh:mm`,
/// `hh:mm:ss`, the last such time at or before that moment, or the next one where that is before the first of all, `first_ns`.
pub(crate) fn moment_of(text: &str, wall_ns: i64, first_ns: i64) -> Option<i64> {
    let text = text.trim();
    let length = |text: &str| parse_duration_s(text).ok().and_then(|ns| i64::try_from(ns).ok());
    if let Some(back) = text.strip_prefix('-') {
        return length(back).map(|ns| -ns);
    }
    if let Some(on) = text.strip_prefix('+') {
        return length(on);
    }
    if let Some((date, time)) = text.split_once([' ', 'T']) {
        let mut parts = date.split('-').map(|part| part.parse::<i64>().ok());
        let date = (parts.next()??, parts.next()??, parts.next()??);
        let wanted_ns = wall_ns_of(date, time_of_day(time.trim().trim_end_matches('Z'))?)?;
        return if parts.next().is_none() { wanted_ns.checked_sub(wall_ns) } else { None };
    }
    let (hour, minute, second) = time_of_day(text)?;
    let (_, (now_hour, now_minute, now_second)) = civil(wall_ns);
    let of_day = |hour: i64, minute: i64, second: i64| (hour * 60 + minute) * 60 + second;
    let by_s = of_day(hour, minute, second) - of_day(now_hour, now_minute, now_second);
    let back_ns = if by_s > 0 { by_s - DAY_S } else { by_s } * 1_000_000_000;
    // Within the second in which all begins it is that one.
    let is_there = wall_ns.saturating_add(back_ns) > first_ns.saturating_sub(1_000_000_000);
    Some(if is_there || back_ns == 0 { back_ns } else { back_ns + DAY_S * 1_000_000_000 })
}

const DAY_S: i64 = 86_400;

/// `hh:mm` or `hh:mm:ss`.
fn time_of_day(text: &str) -> Option<(i64, i64, i64)> {
    let mut parts = text.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    (is_time && parts.next().is_none()).then_some((hour, minute, second))
}

#[cfg(test)]
mod tests {
    use super::{Window, moment_of};
    use rates::stat::CounterSubject;
    use recording::rows::{Cpu, Interrupt, Process};
    use recording::{Row, RowBatch};

    const SECOND_NS: i64 = 1_000_000_000;

    fn batch<R: Row>(rows: Vec<R>) -> RowBatch {
        RowBatch::from_rows(&rows).expect("a batch")
    }

    /// `%CPU` of the process db in the last second of a recording, and its vector's rate. Both had rows in the first two
    /// seconds and in the last one only.
    fn last_second(slept_s: i64) -> (Option<f64>, Option<f64>) {
        let last_s = slept_s + 2;
        let cpu = |n: i64| Cpu { t_ns: n * SECOND_NS, cpu: "all".into(), idle_ns: n * SECOND_NS, ..Cpu::default() };
        // It used 100 ms in each second in which it ran.
        let db = |(n, used_ms): (i64, i64)| Process {
            t_ns: n * SECOND_NS,
            pid: 100,
            start_ns: Some(-SECOND_NS),
            comm: "db".into(),
            user_ns: Some(used_ms * 1_000_000),
            system_ns: Some(0),
            ..Process::default()
        };
        let irq = |(n, count): (i64, i64)| Interrupt {
            t_ns: n * SECOND_NS,
            kind: "irq".into(),
            vector: "36 virtio".into(),
            count,
            ..Interrupt::default()
        };
        let web = |n: i64| Process { pid: 200, comm: "web".into(), ..db((n, 10 * n)) };
        let mut ran: Vec<Process> = [(1, 100), (2, 200), (last_s, 300)].into_iter().map(db).collect();
        ran.extend((1..=last_s).map(web));
        ran.sort_by_key(|row| row.t_ns);
        let rare = [(1, 1000), (2, 2000), (last_s, 2000 + 100 * slept_s)].into_iter().map(irq);
        let all = [batch((1..=last_s).map(cpu).collect()), batch(ran), batch(rare.collect())];
        let mut window = Window::default();
        let read = |tables: &[&str], range: std::ops::Range<i64>| {
            let mut found = Vec::new();
            for whole in all.iter().filter(|batch| tables.contains(&batch.table.name)) {
                let times: Vec<i64> = match whole.table.name {
                    "cpu" => whole.to_rows::<Cpu>()?.iter().map(|row| row.t_ns).collect(),
                    "process" => whole.to_rows::<Process>()?.iter().map(|row| row.t_ns).collect(),
                    _ => whole.to_rows::<Interrupt>()?.iter().map(|row| row.t_ns).collect(),
                };
                let from = times.partition_point(|t_ns| *t_ns < range.start);
                let to = times.partition_point(|t_ns| *t_ns < range.end);
                if from < to {
                    found.push(RowBatch { table: whole.table, rows: whole.rows.slice(from, to - from) });
                }
            }
            Ok(found)
        };
        window.go(last_s * SECOND_NS, (SECOND_NS, 1.0), read).expect("it is read");
        let now = window.shown().last().expect("a moment");
        assert_eq!((now.t_ns, now.seconds), (last_s * SECOND_NS, 1.0));
        let rate = now.interrupts.iter().find(|rate| rate.vector == "36 virtio");
        (now.figure(CounterSubject::Process, "db", "cpu_percent"), rate.and_then(|rate| rate.per_s))
    }

    #[test]
    fn a_process_that_slept_for_long_has_figures_in_the_second_in_which_it_wakes() {
        for slept_s in [1, 60, 90, 130, 200, 1200] {
            assert_eq!(last_second(slept_s), (Some(10.0), Some(100.0)), "after {slept_s} s");
        }
    }

    #[test]
    fn times_that_people_write() {
        let noon = quantity::text::wall_ns_of((2026, 11, 20), (12, 0, 0)).expect("a moment");
        let check = |text: &str, seconds: Option<i64>| {
            assert_eq!(
                moment_of(text, noon, noon - 86_400_000_000_000),
                seconds.map(|seconds| seconds * 1_000_000_000),
                "{text}"
            );
        };
        check("12:00", Some(0));
        check("12:00:05", Some(5 - 86_400));
        check("03:12", Some(-(8 * 60 + 48) * 60));
        check("-10m", Some(-600));
        check("+30", Some(30));
        check("2026-11-20 12:00:05", Some(5));
        check("2026-11-19T12:00", Some(-86_400));
        check("2026-11-20 12", None);
        check("2026-11-20-1 12:00", None);
        check("2026-13-20 12:00", None);
        check("24:00", None);
        check("12", None);
        check("12:00:00:00", None);
        check("soon", None);
    }

    #[test]
    fn a_time_of_the_day_is_the_last_one_that_was() {
        let at = |day, hour, minute| quantity::text::wall_ns_of((2026, 11, day), (hour, minute, 0)).expect("a moment");
        let check = |(now, first): (i64, i64), text: &str, expect: i64| {
            assert_eq!(moment_of(text, now, first).map(|by_ns| now + by_ns), Some(expect), "{text}");
        };
        let days = (at(22, 0, 10), at(20, 0, 0));
        check(days, "23:50", at(21, 23, 50));
        check(days, "00:05", at(22, 0, 5));
        // Of a day whose cursor stands at its beginning.
        check((at(20, 3, 0), at(20, 0, 0)), "05:00", at(20, 5, 0));
        check((at(20, 3, 0), at(20, 0, 0)), "00:00", at(20, 0, 0));
    }
}
