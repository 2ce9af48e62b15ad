//! Writes a journal.

mod files;

use crate::error::JournalError;
use crate::file_source::FileSource;
use crate::header::{Crash, JournalTarget, SegmentHeader, SessionHeader};
use crate::reader::{segment_name, segments};
use crate::record::{Kind, RECORD_BYTES, Record, crc};
use crate::recovered::Recovered;
use output::{FileAccess, Folder, OutputError, ReplacePolicy};
use quantity::clock;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Records are kept in memory up to so many bytes.
const BATCH_BYTES: usize = 4096;
/// … and for so long.
const BATCH_TIME: Duration = Duration::from_millis(5);
/// What is written is made durable at the latest after so long, without a flush.
const SYNC_NS: u64 = 1_000_000_000;
/// Blocks of a part of a checkpoint.
const PART_BLOCKS: usize = 8192;

/// What a journal may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalOptions {
    /// A checkpoint is wanted after so many bytes.
    pub checkpoint_bytes: u64,
}

impl Default for JournalOptions {
    fn default() -> Self {
        Self { checkpoint_bytes: 64 << 20 }
    }
}

/// What a journal came to; all of these only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalCounts {
    /// Bytes that were written, headers too.
    pub bytes: u64,
    /// Records.
    pub records: u64,
    /// Calls that wrote.
    pub writes: u64,
    /// Calls that made it durable.
    pub syncs: u64,
    /// Time that operations waited for it, ns: for the disk, and for the calls that write.
    pub waited_ns: u64,
}

/// The states of a target's blocks, for a checkpoint.
pub trait StateSource {
    /// Which target of the session.
    fn target(&self) -> u16;
    /// Number of the next write to it.
    fn sequence(&self) -> u64;
    /// How many blocks there are.
    fn blocks(&self) -> u64;
    /// Adds the states of at most `count` blocks from `first` on to `states`: 0 unknown, 1 trimmed, 2 damaged, otherwise a version, with
    /// bit 14 where newer ones may be there too, as where a write is under way (0 where it was trimmed before). Nothing: all of them are
    /// unknown.
    fn states(&self, first: u64, count: usize, states: &mut Vec<u16>);
}

/// A journal that is being written. All methods may be called by many threads. When its disk fails it stops, and says why
/// ([`failure`](Journal::failure)); nothing else stops or is harmed.
#[derive(Debug)]
pub struct Journal {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Held while a checkpoint is made: there is one at a time.
    checkpointing: Mutex<()>,
}

#[derive(Debug)]
struct Shared {
    folder: Folder,
    options: JournalOptions,
    inner: Mutex<Inner>,
    /// The thread has something to do.
    wake: Condvar,
    /// More is durable, or nothing will be.
    durable: Condvar,
    waited_ns: AtomicU64,
    syncs: AtomicU64,
    /// By target: how far apart the first blocks of its files are numbered; 0: it is no tree.
    file_blocks: Vec<u64>,
}

#[derive(Debug)]
struct Inner {
    directory: PathBuf,
    file: Arc<File>,
    header: SegmentHeader,
    salt: u64,
    /// Units of 32 bytes of this segment, those in the buffer too.
    place: u64,
    buffer: Vec<u8>,
    counts: JournalCounts,
    /// Records that were appended, written and made durable, over all segments.
    written: u64,
    synced: u64,
    synced_at_ns: u64,
    wants_sync: bool,
    /// Nothing is appended any more.
    is_closed: bool,
    /// The thread ends when all is written.
    is_over: bool,
    /// The segment before, whose last records are not durable yet.
    unsynced: Option<Arc<File>>,
    failure: Option<Arc<JournalError>>,
    /// Bytes since the last checkpoint began.
    since_checkpoint: u64,
    /// Trims that were announced and did not come back.
    trims: Vec<(u16, u64, u64)>,
    /// What was announced of files and did not come back.
    announced: Vec<Record>,
    /// No checkpoint is made in this session: a flush failed, and states do not say what it may have lost; or the journal knows of blocks
    /// that this session does not have, and a checkpoint would forget them.
    keeps_all: bool,
    checkpoint: Option<Checkpoint>,
}

/// A checkpoint whose predecessors are still there.
#[derive(Debug)]
struct Checkpoint {
    /// What it makes superfluous.
    old: Vec<u64>,
    /// All of it is in the segment.
    is_whole: bool,
    /// By target: the last flush that was submitted behind it, and whether one was acknowledged.
    flushed: Vec<(Option<u64>, bool)>,
    /// The old segments go once so many records are durable.
    durable_at: Option<u64>,
}

impl Journal {
    /// Begins a journal in a directory, which is made where it is missing. Its first bytes are durable when this returns.
    ///
    /// # Errors
    /// There is one already, or nothing can be made there.
    pub fn create(path: &Path, session: SessionHeader, options: JournalOptions) -> Result<Self, JournalError> {
        let folder = Folder::open_or_create(path, FileAccess::of_recordings())?;
        if !segments(&folder)?.is_empty() {
            return Err(JournalError::Exists(path.to_path_buf()));
        }
        let journal = RandomState::new().hash_one((std::process::id(), session.run));
        let session = Arc::new(session);
        let header =
            SegmentHeader { journal, segment: 1, previous: None, previous_bytes: None, of_session: 0, session };
        Self::begin(folder, header, options, false)
    }

    /// Goes on with a journal that was read by [`recover`](crate::recover). `crash`: how its last session is taken to have ended, the same
    /// as for the states that this one begins with.
    ///
    /// # Errors
    /// Another program has gone on with it meanwhile, or nothing can be made there.
    pub fn resume(
        recovered: &Recovered,
        crash: Crash,
        mut session: SessionHeader,
        options: JournalOptions,
    ) -> Result<Self, JournalError> {
        let folder = Folder::open(recovered.path())?.with_access(FileAccess::of_recordings());
        session.after = Some(crash);
        let keeps_all = recovered.knows_more_than(&session);
        let last = recovered.last_segment();
        // What was read of it must not be lost any more: the new header says how long it is.
        let name = segment_name(last);
        let synced = folder.open_file(&name)?.sync_all();
        synced.map_err(JournalError::io("sync", &recovered.path().join(name)))?;
        let header = SegmentHeader {
            journal: recovered.journal(),
            segment: last + 1,
            previous: Some(last),
            previous_bytes: Some(recovered.last_bytes()),
            of_session: 0,
            session: Arc::new(session),
        };
        let has_failed = crash == Crash::ProcessDied && recovered.has_failed_flush();
        Self::begin(folder, header, options, keeps_all || has_failed)
    }

    fn begin(
        folder: Folder,
        header: SegmentHeader,
        options: JournalOptions,
        keeps_all: bool,
    ) -> Result<Self, JournalError> {
        let (file, bytes) = make_segment(&folder, &header)?;
        let of_tree = |target: &JournalTarget| target.tree.as_ref().map_or(0, |tree| tree.file_blocks);
        let file_blocks = header.session.targets.iter().map(of_tree).collect();
        let inner = Inner {
            directory: folder.path().to_path_buf(),
            file: Arc::new(file),
            salt: header.salt(),
            header,
            place: 0,
            buffer: Vec::with_capacity(2 * BATCH_BYTES),
            counts: JournalCounts { bytes, syncs: 1, ..JournalCounts::default() },
            written: 0,
            synced: 0,
            synced_at_ns: clock::now_ns(),
            wants_sync: false,
            is_closed: false,
            is_over: false,
            unsynced: None,
            failure: None,
            since_checkpoint: 0,
            trims: Vec::new(),
            announced: Vec::new(),
            keeps_all,
            checkpoint: None,
        };
        let shared = Arc::new(Shared {
            folder,
            options,
            inner: Mutex::new(inner),
            wake: Condvar::new(),
            durable: Condvar::new(),
            waited_ns: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
            file_blocks,
        });
        let of_thread = Arc::clone(&shared);
        let path = shared.folder.path().to_path_buf();
        let started = std::thread::Builder::new().name("journal".to_string()).spawn(move || of_thread.run());
        let thread = started.map_err(JournalError::io("start the thread of", &path))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)), checkpointing: Mutex::new(()) })
    }

    /// A write was done: blocks from `first` on have the versions that `version` gives. To be called when they have these in the states
    /// of a [`StateSource`], and before others may write them.
    #[inline]
    pub fn done(
        &self,
        target: u16,
        (first, count): (u64, u64),
        sequence: u64,
        mut version: impl FnMut(u64) -> Option<u16>,
    ) {
        let mut inner = self.shared.lock();
        let end = first.saturating_add(count);
        let mut block = first;
        while block < end {
            let of_run = version(block);
            let mut next = block + 1;
            while next < end && next - block < u64::from(u32::MAX) && version(next) == of_run {
                next += 1;
            }
            if let Some(version) = of_run {
                #[expect(clippy::cast_possible_truncation, reason = "below 2^32")]
                let count = (next - block) as u32;
                inner.append(&Record { count, first: block, version, sequence, ..Record::of(Kind::Done, target) });
            }
            block = next;
        }
        self.shared.write_if_full(&mut inner);
    }

    /// A write failed.
    pub fn failed(&self, target: u16, blocks: (u64, u64)) {
        let mut inner = self.shared.lock();
        inner.append_range(Kind::Failed, target, blocks, 0, true);
        self.shared.write_if_full(&mut inner);
    }

    /// A trim is about to be submitted; returns when that is durable: after a crash its blocks may be empty.
    pub fn trim_begun(&self, target: u16, blocks: (u64, u64), sequence: u64) {
        let mut inner = self.shared.lock();
        inner.append_range(Kind::TrimBegun, target, blocks, sequence, true);
        inner.trims.push((target, blocks.0, blocks.1));
        self.until_durable(inner);
    }

    /// Writes what was appended, and waits until it is durable, or the journal has failed or is over.
    fn until_durable(&self, mut inner: MutexGuard<'_, Inner>) {
        inner.write();
        let own = inner.written;
        inner.wants_sync = true;
        self.shared.wake.notify_one();
        let since = clock::now_ns();
        while inner.synced < own && inner.failure.is_none() && !inner.is_over {
            inner = self.shared.durable.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        self.shared.waited_ns.fetch_add(clock::now_ns() - since, Ordering::Relaxed);
    }

    /// A trim came back.
    pub fn trimmed(&self, target: u16, blocks: (u64, u64), sequence: u64, is_done: bool) {
        let mut inner = self.shared.lock();
        let announced = (target, blocks.0, blocks.1);
        if let Some(at) = inner.trims.iter().position(|trim| *trim == announced) {
            inner.trims.swap_remove(at);
        }
        inner.append_range(Kind::Trimmed, target, blocks, sequence, is_done);
        self.shared.write_if_full(&mut inner);
    }

    /// A flush is about to be submitted: what was done before is durable when it is acknowledged.
    pub fn flush_begun(&self, target: u16, epoch: u32) {
        let mut inner = self.shared.lock();
        inner.append(&Record { sequence: u64::from(epoch), ..Record::of(Kind::FlushBegun, target) });
        if let Some(checkpoint) = inner.checkpoint.as_mut().filter(|checkpoint| checkpoint.is_whole)
            && let Some((begun, _)) = checkpoint.flushed.get_mut(usize::from(target))
        {
            begun.get_or_insert(u64::from(epoch));
        }
        self.shared.write_if_full(&mut inner);
    }

    /// A flush came back. The caller does not wait for the journal: it becomes durable behind this call.
    pub fn flush_ended(&self, target: u16, epoch: u32, is_done: bool) {
        let mut inner = self.shared.lock();
        let record = Record { sequence: u64::from(epoch), is_ok: is_done, ..Record::of(Kind::FlushEnded, target) };
        inner.append(&record);
        inner.write();
        inner.wants_sync = true;
        inner.keeps_all |= !is_done;
        inner.note_flush(usize::from(target), u64::from(epoch), is_done);
        self.shared.wake.notify_one();
    }

    /// So much was written that a [`checkpoint`](Self::checkpoint) is worth its time.
    #[must_use]
    pub fn wants_checkpoint(&self) -> bool {
        let inner = self.shared.lock();
        let is_due = inner.since_checkpoint >= self.shared.options.checkpoint_bytes;
        is_due && inner.checkpoint.is_none() && !inner.keeps_all
    }

    /// A checkpoint was made, and waits for flushes of all its targets.
    #[must_use]
    pub fn awaits_flush(&self) -> bool {
        self.shared.lock().checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.durable_at.is_none())
    }

    /// Writes the states of all targets into a new segment. Segments before it are removed when a flush of each target that was submitted
    /// behind this call was acknowledged. Does nothing while an earlier checkpoint is made or waits for its flushes, and once a flush
    /// has failed.
    ///
    /// # Errors
    /// The new segment cannot be made. The journal goes on in the old one.
    pub fn checkpoint(&self, sources: &[&dyn StateSource]) -> Result<(), JournalError> {
        self.checkpoint_of(sources, &[])
    }

    /// The same, of trees of files too.
    ///
    /// # Errors
    /// The new segment cannot be made. The journal goes on in the old one.
    pub fn checkpoint_of(&self, sources: &[&dyn StateSource], trees: &[&dyn FileSource]) -> Result<(), JournalError> {
        let Ok(_only) = self.checkpointing.try_lock() else { return Ok(()) };
        let mut header = {
            let inner = self.shared.lock();
            let is_in_the_way = inner.checkpoint.is_some() || inner.keeps_all;
            if is_in_the_way || inner.failure.is_some() || inner.is_closed {
                return Ok(());
            }
            inner.header.clone()
        };
        (header.previous, header.previous_bytes) = (Some(header.segment), None);
        header.segment += 1;
        header.of_session += 1;
        let old = segments(&self.shared.folder)?;
        let (file, bytes) = make_segment(&self.shared.folder, &header)?;
        {
            let mut inner = self.shared.lock();
            inner.append(&Record::of(Kind::Next, 0));
            inner.write();
            let old_file = std::mem::replace(&mut inner.file, Arc::new(file));
            inner.unsynced = Some(old_file);
            inner.salt = header.salt();
            inner.place = 0;
            inner.counts.bytes += bytes;
            inner.since_checkpoint = 0;
            let flushed = vec![(None, false); header.session.targets.len()];
            inner.checkpoint = Some(Checkpoint { old, is_whole: false, flushed, durable_at: None });
            inner.header = header;
        }
        for source in sources {
            self.dump(*source);
        }
        for source in trees {
            self.dump_files(*source);
        }
        let mut inner = self.shared.lock();
        // What is under way may still take effect: the states say nothing of it.
        for (target, first, count) in inner.trims.clone() {
            inner.append_range(Kind::TrimBegun, target, (first, count), 0, true);
        }
        for record in inner.announced.clone() {
            inner.append(&record);
        }
        inner.append(&Record::of(Kind::CheckpointEnd, 0));
        inner.write();
        inner.wants_sync = true;
        if let Some(checkpoint) = &mut inner.checkpoint {
            checkpoint.is_whole = true;
        }
        self.shared.wake.notify_one();
        Ok(())
    }

    /// The states of one target. Each part is read while nothing can be appended: what is done later stands behind it.
    fn dump(&self, source: &dyn StateSource) {
        let (target, sequence) = (source.target(), source.sequence());
        let mut states = Vec::with_capacity(PART_BLOCKS);
        let mut first = 0;
        while first < source.blocks() {
            let mut inner = self.shared.lock();
            states.clear();
            source.states(first, PART_BLOCKS, &mut states);
            inner.append_states(target, first, sequence, &states);
            self.shared.write_if_full(&mut inner);
            first += PART_BLOCKS as u64;
        }
    }

    /// Why the journal stopped; `None`: it did not.
    #[must_use]
    pub fn failure(&self) -> Option<Arc<JournalError>> {
        self.shared.lock().failure.clone()
    }

    /// What it came to so far.
    #[must_use]
    pub fn counts(&self) -> JournalCounts {
        let counts = self.shared.lock().counts;
        let more = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        JournalCounts {
            syncs: counts.syncs + more(&self.shared.syncs),
            waited_ns: more(&self.shared.waited_ns),
            ..counts
        }
    }

    /// Makes all of it durable.
    ///
    /// # Errors
    /// Its disk failed, now or before.
    pub fn sync(&self) -> Result<(), Arc<JournalError>> {
        let mut inner = self.shared.lock();
        inner.write();
        let own = inner.written;
        inner.wants_sync = true;
        self.shared.wake.notify_one();
        while inner.synced < own && inner.failure.is_none() && !inner.is_over {
            inner = self.shared.durable.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        inner.failure.clone().map_or(Ok(()), Err)
    }

    /// The session is over and nothing is under way; makes all of it durable. What is appended later is dropped.
    ///
    /// # Errors
    /// Its disk failed, now or before.
    pub fn end(&self) -> Result<(), Arc<JournalError>> {
        {
            let mut inner = self.shared.lock();
            inner.append(&Record::of(Kind::End, 0));
            inner.is_closed = true;
        }
        let ended = self.sync();
        self.stop();
        ended
    }

    fn stop(&self) {
        {
            let mut inner = self.shared.lock();
            inner.is_closed = true;
            inner.is_over = true;
        }
        self.shared.wake.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn write_if_full(&self, inner: &mut Inner) {
        if inner.buffer.len() >= BATCH_BYTES {
            let since = clock::now_ns();
            inner.write();
            self.waited_ns.fetch_add(clock::now_ns() - since, Ordering::Relaxed);
        }
    }

    /// The thread: writes what waits, and makes it durable.
    fn run(&self) {
        let mut inner = self.lock();
        loop {
            if !inner.wants_sync && !inner.is_over {
                inner = self.wake.wait_timeout(inner, BATCH_TIME).unwrap_or_else(PoisonError::into_inner).0;
            }
            inner.write();
            let is_old = inner.synced < inner.written && clock::now_ns().saturating_sub(inner.synced_at_ns) > SYNC_NS;
            if (inner.wants_sync || is_old || inner.is_over) && inner.failure.is_none() {
                inner.wants_sync = false;
                let (file, until) = (Arc::clone(&inner.file), inner.written);
                let before = inner.unsynced.take();
                drop(inner);
                let synced = before.map_or(Ok(()), |before| before.sync_data()).and_then(|()| file.sync_data());
                self.syncs.fetch_add(1, Ordering::Relaxed);
                inner = self.lock();
                match synced {
                    Ok(()) => inner.synced = inner.synced.max(until),
                    Err(source) => inner.fail("sync", self.folder.path(), source),
                }
                inner.synced_at_ns = clock::now_ns();
                self.durable.notify_all();
                inner = self.remove_old(inner);
            }
            if inner.failure.is_some() {
                inner.wants_sync = false;
                self.durable.notify_all();
            }
            if inner.is_over && inner.buffer.is_empty() {
                self.durable.notify_all();
                return;
            }
        }
    }

    /// Removes what a checkpoint has made superfluous.
    fn remove_old<'a>(&'a self, inner: MutexGuard<'a, Inner>) -> MutexGuard<'a, Inner> {
        let is_due = |checkpoint: &Checkpoint, synced| checkpoint.durable_at.is_some_and(|at| at <= synced);
        let synced = inner.synced;
        let due = inner.checkpoint.as_ref().filter(|checkpoint| is_due(checkpoint, synced));
        let Some(old) = due.map(|checkpoint| checkpoint.old.clone()) else { return inner };
        drop(inner);
        // The oldest goes first, and each before the next one.
        let removed = old.iter().try_for_each(|old| {
            self.folder.remove_file(segment_name(*old))?;
            self.folder.sync()
        });
        let mut inner = self.lock();
        // Only now: the next one must not find what is being removed.
        inner.checkpoint = None;
        if let Err(error) = removed {
            inner.failure.get_or_insert(Arc::new(JournalError::Output(error)));
        }
        inner
    }
}

impl Inner {
    #[inline]
    fn append(&mut self, record: &Record) {
        if self.failure.is_some() || self.is_closed {
            return;
        }
        let bytes = record.encode(self.salt, self.place);
        self.buffer.extend_from_slice(&bytes);
        self.place += 1;
        self.counts.records += 1;
    }

    /// One record for each 2^32 blocks.
    fn append_range(
        &mut self,
        kind: Kind,
        target: u16,
        (mut first, mut count): (u64, u64),
        sequence: u64,
        is_ok: bool,
    ) {
        while count > 0 {
            let part = u32::try_from(count).unwrap_or(u32::MAX);
            self.append(&Record { count: part, first, sequence, is_ok, ..Record::of(kind, target) });
            first += u64::from(part);
            count -= u64::from(part);
        }
    }

    /// A part of a checkpoint.
    fn append_states(&mut self, target: u16, first: u64, sequence: u64, states: &[u16]) {
        let Some(&same) = states.first() else { return };
        let count = u32::try_from(states.len()).unwrap_or(u32::MAX);
        if states.iter().all(|state| *state == same) {
            if same != 0 {
                self.append(&Record { count, first, version: same, sequence, ..Record::of(Kind::Same, target) });
            }
            return;
        }
        // The number of the next write stands in a record of its own: the other one has the checksum in its place.
        self.append(&Record { first, sequence, ..Record::of(Kind::Same, target) });
        let mut bytes: Vec<u8> = states.iter().flat_map(|state| state.to_le_bytes()).collect();
        bytes.resize(bytes.len().next_multiple_of(RECORD_BYTES), 0);
        let sum = u64::from(crc(&bytes));
        self.append(&Record { count, first, sequence: sum, ..Record::of(Kind::Packed, target) });
        if self.failure.is_none() && !self.is_closed {
            self.place += (bytes.len() / RECORD_BYTES) as u64;
            self.buffer.extend_from_slice(&bytes);
        }
    }

    /// Writes what waits, in one call.
    fn write(&mut self) {
        if self.buffer.is_empty() || self.failure.is_some() {
            self.buffer.clear();
            return;
        }
        let written = (&*self.file).write_all(&self.buffer);
        let bytes = self.buffer.len() as u64;
        self.counts.bytes += bytes;
        self.counts.writes += 1;
        self.since_checkpoint += bytes;
        self.written = self.counts.records;
        self.buffer.clear();
        if let Err(source) = written {
            let path = self.directory.join(segment_name(self.header.segment));
            self.fail("write", &path, source);
        }
    }

    fn fail(&mut self, action: &'static str, path: &Path, source: std::io::Error) {
        self.failure.get_or_insert(Arc::new(JournalError::io(action, path)(source)));
    }

    /// A flush that was submitted behind the checkpoint makes it the beginning of the journal, once all targets had one.
    fn note_flush(&mut self, target: usize, epoch: u64, is_done: bool) {
        let written = self.written;
        let Some(checkpoint) = self.checkpoint.as_mut().filter(|checkpoint| checkpoint.is_whole) else { return };
        if let Some((begun, is_flushed)) = checkpoint.flushed.get_mut(target) {
            match (is_done, *begun) {
                (true, Some(first)) if epoch >= first => *is_flushed = true,
                // What it should have kept may be gone: the next one counts.
                (false, _) => *begun = None,
                _ => {}
            }
        }
        if checkpoint.durable_at.is_none() && checkpoint.flushed.iter().all(|(_, is_flushed)| *is_flushed) {
            checkpoint.durable_at = Some(written);
        }
    }
}

/// Makes a segment: it has its name when its header is durable.
fn make_segment(folder: &Folder, header: &SegmentHeader) -> Result<(File, u64), JournalError> {
    let name = segment_name(header.segment);
    let bytes = header.encode()?;
    let write = |file: &mut File| file.write_all(&bytes);
    match folder.replace(&name, ReplacePolicy::Nothing, write) {
        Err(OutputError::Taken { path, .. }) => return Err(JournalError::Exists(path)),
        made => made?,
    }
    let file = folder.open_to_append(&name)?;
    // Held as long as the file is open: a recovery sees by it that a process still writes the journal.
    let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
    Ok((file, bytes.len() as u64))
}
