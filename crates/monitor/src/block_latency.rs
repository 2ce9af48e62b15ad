//! Response times of block I/O, interval by interval: the probe of single I/Os, summed into the tables `io_interval` and `io_place`.

use crate::MonitorError;
use crate::event_cpu_time::{event, push};
use crate::events::lost_row;
use crate::numbers::signed;
use recording::rows;
use recording::{EventSeverity, LossName, RecordingError, RowBatch};
use std::time::Duration;
use top_page::IoAggregator;
use trace::TraceError;
use trace::block::{self, BlockTrace, TraceNames};

/// Bytes of the ring: I/Os are taken out many times a second.
const RING_BYTES: u64 = 4 << 20;
/// Chunks that are summed at once.
const CHUNKS_MAX: usize = 64;

/// The probe, with the sums of the interval under way.
pub(crate) struct Responses {
    trace: BlockTrace,
    columns: TraceNames,
    sums: IoAggregator,
    from_ns: u64,
}

impl Responses {
    /// Loads the probe. It follows every device, whether its driver makes requests or takes bios: an I/O through one that lies
    /// on another is summed at each of them.
    ///
    /// # Errors
    /// The kernel or a privilege does not allow it.
    pub(crate) fn start() -> Result<Self, TraceError> {
        let options = block::TraceOptions { ring_bytes: Some(RING_BYTES), ..block::TraceOptions::default() };
        let trace = BlockTrace::start(&options)?;
        let sums = IoAggregator::with_capacities(capacity_bytes);
        Ok(Self { trace, columns: TraceNames::default(), sums, from_ns: quantity::clock::now_ns() })
    }

    /// Takes I/Os out of the ring; to be called several times a second.
    pub(crate) fn drain(&mut self) -> Result<(), MonitorError> {
        // Not more than this: where I/Os come faster than they are summed, the caller must go on, and losses are counted.
        for _ in 0..CHUNKS_MAX {
            let Some(chunk) = self.trace.next(Duration::ZERO) else { break };
            self.sums.accept(&self.columns.batch(&chunk)?)?;
        }
        Ok(())
    }

    /// Ends an interval: its batches, and how many I/Os are in no sum since the probe began.
    pub(crate) fn take(&mut self, t_ns: u64, origin_ns: u64) -> Result<(Vec<RowBatch>, u64), MonitorError> {
        self.drain()?;
        let mut batches = Vec::new();
        let (rows, places) = self.sums.take(signed(self.from_ns), signed(t_ns), signed(origin_ns));
        push(&mut batches, &rows)?;
        push(&mut batches, &places)?;
        self.from_ns = t_ns;
        self.columns.take_summary();
        self.trace.bound_names(&mut self.columns);
        Ok((batches, self.trace.statistics()?.lost()))
    }
}

/// As the kernel knows it at this moment.
fn capacity_bytes(device: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/sys/class/block/{}/size", device.replace('/', "!"))).ok()?;
    text.trim().parse::<u64>().ok().map(|sectors| sectors.saturating_mul(512))
}

/// The same for a watch that was asked for it: what it has not is said once, with the first sample.
pub(crate) struct Asked {
    /// `None`: it cannot be had.
    probe: Option<Responses>,
    verdict: String,
    said: Option<String>,
    lost: u64,
}

impl Asked {
    /// Loads the probe if that may be.
    pub(crate) fn if_possible() -> Self {
        let started = Responses::start();
        let verdict = crate::counters::verdict(started.as_ref());
        let said = started.as_ref().err().map(|error| format!("percentiles are ?: {error}"));
        Self { probe: started.ok(), verdict, said, lost: 0 }
    }

    /// For the manifest: its table, and whether that is measured.
    pub(crate) fn verdict(&self) -> (&'static str, String) {
        (rows::IoInterval::NAME, self.verdict.clone())
    }

    /// For the manifest: I/Os that are in no row.
    pub(crate) fn losses(&self) -> (LossName, u64) {
        (LossName::IoIntervalLost, self.lost)
    }

    /// Takes I/Os out of the ring; to be called several times a second.
    pub(crate) fn drain(&mut self) -> Result<(), MonitorError> {
        self.probe.as_mut().map_or(Ok(()), Responses::drain)
    }

    /// Ends an interval. To be called when the counters have been read: its rows stand behind theirs in time.
    pub(crate) fn sample(&mut self, origin_ns: u64) -> Result<Vec<RowBatch>, MonitorError> {
        let t_ns = quantity::clock::now_ns();
        let at = (signed(t_ns), t_ns.saturating_sub(origin_ns) as f64 / 1e9);
        let (mut batches, lost) = match &mut self.probe {
            Some(probe) => probe.take(t_ns, origin_ns)?,
            None => (Vec::new(), 0),
        };
        let mut events = Vec::new();
        events.extend(self.said.take().map(|words| event(EventSeverity::Info, words, at)));
        if lost > self.lost {
            events.push(lost_row((t_ns, origin_ns), lost - self.lost, "I/Os"));
            self.lost = lost;
        }
        push(&mut batches, &events).map_err(|error: RecordingError| MonitorError::from(error))?;
        Ok(batches)
    }
}
