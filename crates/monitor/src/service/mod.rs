//! `iodyno record -d DIR`: a collector that runs for months. One recording a day, switched at local midnight; old ones
//! thinned and removed by policy; a full disk costs the samples that had no room, and nothing else.

mod keeper;

use crate::archive::home::ArchiveFolder;
use crate::archive::retention_policy::RetentionPolicy;
use crate::archive::service_clock::ServiceClock;
use crate::counters::{SUBJECTS, subjects};
use crate::days::{Days, name_of};
use crate::event_cpu_time::{CpuClock, EventCpuTime, sample_both};
use crate::events::clock_step;
use crate::io_errors::IoErrors;
use crate::manifest_keys::CPU_CLOCK;
use crate::profile::{Losses, Profiler, lost_since};
use crate::watch::SampleConsumers;
use crate::{MonitorError, StopFlag};
use collect::{MachineReader, SubjectName};
use keeper::Keeper;
use quantity::clock;
use quantity::zone::LocalZone;
use recording::rows::Event;
use recording::{
    ClockAnchor, EventKind, EventSeverity, Manifest, RecordingError, RecordingExit, RowBatch, Sink, Writer,
};
use std::collections::VecDeque;
use std::sync::Arc;
use views::ZONE_AHEAD_S;

/// How long a stop request may go unnoticed.
const NAP_NS: u64 = 100_000_000;
/// Old recordings are looked after so often.
const TIDY_EVERY_NS: u64 = 600_000_000_000;
/// At most one message about a full disk in this time.
const COMPLAIN_EVERY_NS: u64 = 60_000_000_000;
/// So many events wait for room on the disk.
const EVENTS: usize = 1000;

/// What to collect, and what to keep of it.
#[derive(Clone, Debug)]
pub struct ServiceRequest {
    /// Time between two samples.
    pub interval_ns: u64,
    /// CPU time by event beside that of the tick.
    pub events: EventCpuTime,
    /// Look at every CPU so many times a second for what programs are at, where that can be; `None`: do not.
    pub profile_hz: Option<u32>,
    /// What is kept, and for how long.
    pub retention: RetentionPolicy,
    /// The machine's time zone: a day ends at its midnight.
    pub zone: LocalZone,
    /// Longest time; `None`: until stopped.
    pub for_ns: Option<u64>,
    /// The command line, for manifests.
    pub command_line: Vec<String>,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceOutcome {
    /// Samples taken.
    pub samples: u64,
    /// Samples that were due while the machine slept or the collector could not run.
    pub missed: u64,
    /// Samples for which the disk had no room.
    pub unwritten: u64,
    /// Samples at the end for which there was no room up to then: no event in a recording tells of them.
    pub short: u64,
    /// Recordings begun.
    pub recordings: u64,
    /// Recordings that others removed while they were written.
    pub removed: u64,
    /// Samples that were in those.
    pub lost: u64,
    /// Recordings that could not be sealed.
    pub unsealed: u64,
}

impl ServiceOutcome {
    /// What is not on the disk as it was to be, a sentence each without a full stop; nothing when all is.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let mut said = Vec::new();
        if self.removed > 0 {
            let (removed, lost) = (self.removed, self.lost);
            said.push(format!(
                "{removed} recordings were removed by others while they were written: {lost} samples are lost"
            ));
        }
        if self.short > 0 {
            said.push(format!("the last {} samples had no room on the disk and are lost", self.short));
        }
        if self.unsealed > 0 {
            said.push(format!(
                "{} recordings could not be sealed: what is there of them can be read, and the next start seals them when there \
                 is room",
                self.unsealed
            ));
        }
        said
    }
}

/// Collects until a stop is requested; gives each sample to its `company`, and each message to `tell`.
///
/// # Errors
/// The directory cannot be written to at the start.
pub fn serve<'a>(
    home: &'a Arc<ArchiveFolder>,
    request: &'a ServiceRequest,
    clock: &'a dyn ServiceClock,
    company: SampleConsumers<'a>,
    tell: &'a mut dyn FnMut(&str),
    stop: &StopFlag,
) -> Result<ServiceOutcome, MonitorError> {
    let mut service = Service {
        home,
        request,
        clock,
        company,
        tell,
        days: Days::new(request.zone.clone(), clock.wall_ns()),
        keeper: Keeper::start(home, &request.retention, stop)?,
        machine: MachineReader::new(&SubjectName::ALL),
        cpu_clock: CpuClock::start(request.events)?,
        io_errors: (request.events != EventCpuTime::Off).then(IoErrors::if_possible),
        profiler: request.profile_hz.map(Profiler::if_possible),
        lost_before: Losses::new(),
        open: None,
        outcome: ServiceOutcome::default(),
        unwritten: 0,
        unsaid: VecDeque::new(),
        complained_ns: None,
    };
    service.follow_time();
    service.keeper.tidy(None);
    let begun = service.begin(clock.wall_ns());
    service.say_news();
    begun?;
    let lived = service.live(stop);
    service.finish(stop);
    lived.map(|()| service.outcome)
}

/// The recording under way.
struct Open {
    writer: Writer,
    number: u64,
    samples: u64,
}

struct Service<'a> {
    home: &'a Arc<ArchiveFolder>,
    request: &'a ServiceRequest,
    clock: &'a dyn ServiceClock,
    company: SampleConsumers<'a>,
    tell: &'a mut dyn FnMut(&str),
    days: Days,
    keeper: Keeper,
    machine: MachineReader,
    cpu_clock: Option<CpuClock>,
    io_errors: Option<IoErrors>,
    profiler: Option<Profiler>,
    /// What of the probes was lost on the days before.
    lost_before: Losses,
    open: Option<Open>,
    outcome: ServiceOutcome,
    /// Samples in a row for which there was no room.
    unwritten: u64,
    /// Events for which there was no recording or no room.
    unsaid: VecDeque<Event>,
    complained_ns: Option<u64>,
}

impl Service<'_> {
    fn live(&mut self, stop: &StopFlag) -> Result<(), MonitorError> {
        let interval_ns = self.request.interval_ns.max(1);
        let start_ns = self.clock.now_ns();
        let end_ns = self.request.for_ns.map(|length_ns| start_ns.saturating_add(length_ns));
        let (mut due_ns, mut tidied_ns) = (start_ns, start_ns);
        // What happens after it is said that it is recorded lies behind the first sample.
        let mut is_announced = false;
        loop {
            self.be_there()?;
            self.sample(due_ns);
            if !std::mem::replace(&mut is_announced, true) {
                (self.tell)(&format!("recording to {}, a recording a day; Ctrl-C ends it", self.home.path().display()));
            }
            self.follow_time();
            let wall_ns = self.clock.wall_ns();
            if self.days.is_over(wall_ns) {
                self.turn(wall_ns);
            }
            if self.clock.now_ns().saturating_sub(tidied_ns) >= TIDY_EVERY_NS {
                tidied_ns = self.clock.now_ns();
                self.tidy();
            }
            self.say_news();
            due_ns += interval_ns;
            // After a suspend the samples in between are gone; the next one keeps its place in the raster.
            let late = self.clock.now_ns().saturating_sub(due_ns) / interval_ns;
            if late > 0 {
                due_ns += late * interval_ns;
                self.outcome.missed += late;
                self.event(
                    EventKind::Gap,
                    EventSeverity::Warning,
                    &format!("{late} samples were due while the collector could not run"),
                );
            }
            let until_ns = end_ns.map_or(due_ns, |end_ns| due_ns.min(end_ns));
            while self.clock.now_ns() < until_ns && !stop.is_requested() {
                self.clock.nap((until_ns - self.clock.now_ns()).min(NAP_NS));
            }
            if stop.is_requested() || end_ns.is_some_and(|end_ns| self.clock.now_ns() >= end_ns) {
                // The interval under way counts as well.
                self.be_there()?;
                self.sample(self.clock.now_ns());
                return Ok(());
            }
        }
    }

    /// Begins the recording of a day.
    fn begin(&mut self, wall_ns: i64) -> Result<(), RecordingError> {
        let mut manifest = Manifest::new(&self.request.command_line);
        manifest.hardware = collect::hardware(&[]);
        let probes = self.cpu_clock.iter().flat_map(CpuClock::verdicts);
        let probes = probes.chain(self.io_errors.iter().map(IoErrors::verdict));
        let probes = probes.chain(self.profiler.iter().map(Profiler::verdict));
        let wall_s = wall_ns.div_euclid(1_000_000_000);
        manifest.extra.insert(ZONE_AHEAD_S.into(), self.request.zone.offset_s(wall_s).into());
        manifest.extra.insert(SUBJECTS.into(), subjects(probes));
        if let Some(clock) = &self.cpu_clock {
            manifest.extra.insert(CPU_CLOCK.into(), clock.word().into());
        }
        manifest.started_wall_ns = wall_ns;
        if let Some(anchor) = manifest.clock_anchors.first_mut() {
            anchor.wall_ns = wall_ns;
        }
        let name = name_of(self.days.begin(wall_ns));
        // After a restart there is one of this day already.
        for number in 1_u32.. {
            let name = if number == 1 { name.clone() } else { format!("{name}-{number}") };
            match self.home.begin(&name, manifest.clone()) {
                Err(RecordingError::Exists(_)) => {}
                Err(error) => return Err(error),
                Ok((writer, number)) => {
                    self.open = Some(Open { writer, number, samples: 0 });
                    self.outcome.recordings += 1;
                    // The first sample of a recording has everything, also of what did nothing lately.
                    self.machine = MachineReader::new(&SubjectName::ALL);
                    self.cpu_clock.iter_mut().for_each(CpuClock::tell_all);
                    self.io_errors.iter_mut().for_each(IoErrors::begin_anew);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Others may have removed the recording under way: its samples are lost, and another one begins. Where the directory itself is
    /// gone, there is nothing more to be done.
    fn be_there(&mut self) -> Result<(), MonitorError> {
        if let Some(gone) = self.open.take_if(|open| !open.writer.is_there()) {
            self.outcome.removed += 1;
            self.outcome.lost += gone.samples;
            let name = gone.writer.directory().file_name().unwrap_or_default().to_string_lossy().into_owned();
            let said = format!(
                "{} was removed while it was being written: its {} samples are lost",
                name.escape_debug(),
                gone.samples
            );
            self.event(EventKind::RecordingRemoved, EventSeverity::Warning, &said);
        }
        if self.home.is_removed() {
            let directory = self.home.path().to_path_buf();
            return Err(MonitorError::Removed { directory, samples: self.outcome.lost });
        }
        if self.open.is_none()
            && let Err(error) = self.begin(self.clock.wall_ns())
        {
            self.complain(&format!("another recording cannot begin yet: {error}"));
        }
        Ok(())
    }

    /// Midnight: the sample that was just taken ends one day, and another one at once begins the next.
    fn turn(&mut self, wall_ns: i64) {
        let old = self.open.take();
        match self.begin(wall_ns) {
            Ok(()) => {
                if let Some(mut old) = old {
                    let (anchor, losses) = (self.anchor(), self.losses_of_day());
                    // Without it the end is where the anchor of the last minute puts it.
                    let _ = old.writer.update_manifest(|manifest| {
                        manifest.clock_anchors.push(anchor);
                        manifest.losses.extend(losses);
                        manifest.exit = Some(RecordingExit::Fine);
                    });
                    self.keeper.seal(old.writer);
                }
                self.sample(self.clock.now_ns());
                self.tidy();
            }
            // No room for a new one: the old day goes on, and the next sample tries again.
            Err(error) => {
                self.open = old;
                self.days.go_on();
                self.complain(&format!("the recording of the new day cannot begin yet: {error}"));
            }
        }
    }

    fn sample(&mut self, due_ns: u64) {
        let Some(open) = &mut self.open else {
            self.unwritten += 1;
            self.outcome.unwritten += 1;
            return;
        };
        let origin_ns = open.writer.started_t_ns();
        let (mut batches, events) = sample_both(&mut self.machine, self.cpu_clock.as_mut(), due_ns, origin_ns);
        batches.extend(events.unwrap_or_default());
        if let Some(Ok(rows)) = self.io_errors.as_mut().map(|errors| errors.sample(origin_ns)) {
            batches.extend(rows);
        }
        if let Some(Ok(rows)) = self.profiler.as_mut().map(|profiler| profiler.sample(origin_ns)) {
            batches.extend(rows);
        }
        self.outcome.samples += 1;
        let now = anchor(self.clock);
        let written = commit(&mut open.writer, &batches).and_then(|()| {
            let Some(step_ns) = open.writer.follow_clock(now)? else { return Ok(()) };
            commit(&mut open.writer, &[RowBatch::from_rows(&[clock_step(step_ns, origin_ns)])?])
        });
        if let Some(face) = self.company.face.as_mut() {
            // Shown also when the disk has no room: who looks must see the machine.
            let _ = batches.iter().try_for_each(|batch| face.accept(batch)).and_then(|()| face.commit());
        }
        let mut news = Vec::new();
        if let Some(flight) = self.company.flight.as_mut() {
            let _ = batches.iter().try_for_each(|batch| flight.accept(batch)).and_then(|()| flight.commit());
            news = flight.news(origin_ns);
        }
        self.note(news);
        if let Some(open) = self.open.as_mut().filter(|_| written.is_ok()) {
            open.samples += 1;
        }
        match written {
            Ok(()) if self.unwritten > 0 => {
                let lost = std::mem::take(&mut self.unwritten);
                self.event(
                    EventKind::DiskFull,
                    EventSeverity::Warning,
                    &format!("{lost} samples had no room on the disk"),
                );
            }
            Ok(()) => {}
            Err(error) => {
                self.unwritten += 1;
                self.outcome.unwritten += 1;
                self.complain(&format!("{error}; samples are lost until there is room"));
                self.tidy();
            }
        }
    }

    /// What the probes have not in the recording that ends now, for its manifest.
    fn losses_of_day(&mut self) -> Vec<(String, u64)> {
        let clock = self.cpu_clock.iter().map(CpuClock::losses);
        let now: Losses = clock.chain(self.profiler.iter().flat_map(Profiler::losses)).collect();
        let lost = lost_since(&self.lost_before, &now);
        self.lost_before = now;
        lost.into_iter().filter(|(_, lost)| *lost > 0).map(|(name, lost)| (name.to_string(), lost)).collect()
    }

    fn anchor(&self) -> ClockAnchor {
        anchor(self.clock)
    }

    /// Lets old recordings be looked after, beside the sampling.
    fn tidy(&self) {
        self.keeper.tidy(self.open.as_ref().map(|open| open.number));
    }

    /// What has passed, for the age of recordings.
    fn follow_time(&mut self) {
        if let Some(said) = self.home.see(self.clock) {
            self.event(EventKind::Retention, EventSeverity::Warning, &said);
        }
    }

    fn event(&mut self, kind: EventKind, severity: EventSeverity, message: &str) {
        let row = Event {
            t_ns: i64::try_from(clock::now_ns()).unwrap_or(i64::MAX),
            t_s: 0.0,
            severity,
            kind,
            class: None,
            run: None,
            target: None,
            message: message.to_string(),
            count: 1,
        };
        if self.unsaid.len() == EVENTS {
            self.unsaid.pop_front();
        }
        self.unsaid.push_back(row);
        self.write_events();
        (self.tell)(message);
    }

    /// Journals the events that wait; without a recording, or without room, they go on waiting.
    fn write_events(&mut self) {
        let Some(open) = self.open.as_mut().filter(|_| !self.unsaid.is_empty()) else { return };
        let origin_ns = i64::try_from(open.writer.started_t_ns()).unwrap_or(0);
        // One that waited since before the recording belongs to its beginning.
        for row in &mut self.unsaid {
            row.t_ns = row.t_ns.max(origin_ns);
            row.t_s = (row.t_ns - origin_ns) as f64 / 1e9;
        }
        let rows: Vec<Event> = self.unsaid.iter().cloned().collect();
        if RowBatch::from_rows(&rows).and_then(|batch| commit(&mut open.writer, &[batch])).is_ok() {
            self.unsaid.clear();
        }
    }

    /// Journals what the flight recorder says, and says it.
    fn note(&mut self, news: Vec<Event>) {
        if news.is_empty() {
            return;
        }
        if let Some(open) = &mut self.open {
            let _ = RowBatch::from_rows(&news).and_then(|batch| commit(&mut open.writer, &[batch]));
        }
        news.iter().for_each(|event| (self.tell)(&event.message));
    }

    /// Says it, unless it was said lately.
    fn complain(&mut self, message: &str) {
        let now_ns = self.clock.now_ns();
        if self.complained_ns.is_none_or(|last_ns| now_ns.saturating_sub(last_ns) >= COMPLAIN_EVERY_NS) {
            self.complained_ns = Some(now_ns);
            (self.tell)(message);
        }
    }

    fn say_news(&mut self) {
        for news in self.keeper.news() {
            self.event(EventKind::Retention, news.severity, &news.message);
        }
        self.write_events();
    }

    /// Seals the day under way. Asked twice, it leaves that to the next start.
    fn finish(&mut self, stop: &StopFlag) {
        if let Some(flight) = self.company.flight.take() {
            let news = flight.end(self.open.as_ref().map_or(0, |open| open.writer.started_t_ns()));
            self.note(news);
        }
        // What is removed now belongs into this recording.
        self.keeper.settle(stop);
        self.say_news();
        if let Some(mut open) = self.open.take() {
            let word = if stop.is_requested() { RecordingExit::Interrupted } else { RecordingExit::Fine };
            let (anchor, losses) = (self.anchor(), self.losses_of_day());
            let _ = open.writer.update_manifest(|manifest| {
                manifest.clock_anchors.push(anchor);
                manifest.losses.extend(losses);
                manifest.exit = Some(word);
            });
            self.keeper.seal(open.writer);
        }
        self.keeper.end(stop);
        self.say_news();
        (self.outcome.short, self.outcome.unsealed) = (self.unwritten, self.keeper.unsealed());
        self.home.save();
    }
}

/// Both clocks now.
fn anchor(clock: &dyn ServiceClock) -> ClockAnchor {
    ClockAnchor { t_ns: i64::try_from(clock.now_ns()).unwrap_or(i64::MAX), wall_ns: clock.wall_ns() }
}

/// Journals batches, all or none.
fn commit(writer: &mut Writer, batches: &[RowBatch]) -> Result<(), RecordingError> {
    batches.iter().try_for_each(|batch| writer.accept(batch))?;
    writer.commit()
}

#[cfg(test)]
mod tests;
