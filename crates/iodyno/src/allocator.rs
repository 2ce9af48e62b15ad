//! Memory of the process: counted while a command has a limit (`--memory`), and never a reason to abort. Where the limit is
//! passed, or the system has no more, the process says what it was reading and ends with exit code 6.
#![expect(unsafe_code, reason = "GlobalAlloc is an unsafe trait: the system's allocator is handed on to")]

use crate::exit::RECORDING;
use quantity::oom_context;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// No limit, and nothing is counted.
const NONE: i64 = i64::MAX;
/// Bytes that a shard keeps to itself.
const KEPT: i64 = 64 << 10;
/// Shards, a power of two.
const SHARDS: usize = 64;
/// Size of a thread's stack: what a thread needs at once, and the least that "there is memory" means.
const PROBE_BYTES: usize = 8 << 20;
/// Ending takes no longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Most bytes that may be allocated.
static LIMIT: AtomicI64 = AtomicI64::new(NONE);
/// Bytes allocated, but for what the shards keep.
static COUNTED: AtomicI64 = AtomicI64::new(0);
/// Threads count in different cache lines, so that they do not wait for each other.
static SHARD: [Shard; SHARDS] = [const { Shard(AtomicI64::new(0)) }; SHARDS];
static NEXT_SHARD: AtomicUsize = AtomicUsize::new(0);
static ENDING: AtomicBool = AtomicBool::new(false);
/// The command has taken the terminal.
static HAS_TERMINAL: AtomicBool = AtomicBool::new(false);

thread_local! {
    static OWN_SHARD: Cell<Option<usize>> = const { Cell::new(None) };
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

#[repr(align(64))]
struct Shard(AtomicI64);

/// The system's allocator with a count.
struct Counting;

/// What glibc takes for a piece of memory: a header of 8 bytes, multiples of 16, 32 at least.
///
/// Only what the language has itself: this crate is compiled fast, and would call copies of `max` and `try_from` that other such crates
/// made, a call for each piece of memory (docs/building.md).
#[expect(clippy::cast_possible_wrap, reason = "no piece is larger than half of all addresses")]
#[inline]
fn taken(bytes: usize) -> i64 {
    let whole = bytes.saturating_add(8 + 15) & !15;
    let whole = if whole < 32 { 32 } else { whole };
    (whole & (usize::MAX >> 1)) as i64
}

/// Adds to the count; what passes the limit does not come back.
#[inline]
fn count(bytes: i64, asked: usize) {
    let own = OWN_SHARD.try_with(|own| {
        own.get().unwrap_or_else(|| {
            let next = NEXT_SHARD.fetch_add(1, Ordering::Relaxed) % SHARDS;
            own.set(Some(next));
            next
        })
    });
    let shard = &SHARD[own.unwrap_or(0) % SHARDS].0;
    let kept = shard.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
    if kept.abs() < KEPT {
        return;
    }
    let kept = shard.swap(0, Ordering::Relaxed);
    let all = COUNTED.fetch_add(kept, Ordering::Relaxed).saturating_add(kept);
    if bytes > 0 && all > LIMIT.load(Ordering::Relaxed) {
        end(Why::Limit, asked);
    }
}

#[inline]
fn is_counted() -> bool {
    LIMIT.load(Ordering::Relaxed) != NONE
}

// SAFETY: every call goes on to `System`, which keeps the contract; what happens before and after neither unwinds nor
// allocates, and a call that cannot be fulfilled does not return.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_counted() {
            count(taken(layout.size()), layout.size());
        }
        // SAFETY: the caller's promises are those that `System` asks for.
        let place = unsafe { System.alloc(layout) };
        if place.is_null() {
            end(Why::System, layout.size());
        }
        place
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_counted() {
            count(taken(layout.size()), layout.size());
        }
        // SAFETY: see `alloc`.
        let place = unsafe { System.alloc_zeroed(layout) };
        if place.is_null() {
            end(Why::System, layout.size());
        }
        place
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        if is_counted() {
            count(-taken(layout.size()), 0);
        }
        // SAFETY: see `alloc`; whatever came from here came from `System`.
        unsafe { System.dealloc(place, layout) };
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_counted() {
            count(taken(size) - taken(layout.size()), size);
        }
        // SAFETY: see `dealloc`.
        let moved = unsafe { System.realloc(place, layout, size) };
        if moved.is_null() {
            end(Why::System, size);
        }
        moved
    }
}

/// Limits what is allocated from now on, bytes.
pub(crate) fn limit(bytes: u64) {
    LIMIT.store(i64::try_from(bytes).unwrap_or(NONE).min(NONE - 1), Ordering::Relaxed);
}

/// The command has taken the terminal for a page of its own: where memory ends, it is given back first.
pub(crate) fn takes_terminal() {
    HAS_TERMINAL.store(true, Ordering::Relaxed);
}

/// Libraries in C (zstd, libbpf) ask the system themselves, and where they get nothing their callers panic; threads need a
/// stack. Such a panic ends the process with the same sentence.
pub(crate) fn panics_without_memory_end_it() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if is_short() {
            end(Why::System, PROBE_BYTES);
        }
        before(panic);
    }));
}

/// Does the system refuse as much as a thread's stack?
fn is_short() -> bool {
    let Ok(layout) = Layout::from_size_align(PROBE_BYTES, 4096) else { return false };
    // SAFETY: the layout has a size.
    let place = unsafe { System.alloc(layout) };
    if place.is_null() {
        return true;
    }
    // SAFETY: it was allocated with this layout just now.
    unsafe { System.dealloc(place, layout) };
    false
}

/// Why there is no more.
#[derive(Clone, Copy)]
enum Why {
    Limit,
    System,
}

/// Says why the process ends, and ends it, without taking memory. What it has written stays as it is: a recording under way
/// can be read up to its last interval.
#[cold]
#[inline(never)]
fn end(why: Why, asked: usize) -> ! {
    if ENDING.swap(true, Ordering::SeqCst) {
        // Again while ending: enough said.
        if ENDS.try_with(Cell::get).unwrap_or(true) {
            signal_hook::low_level::exit(RECORDING.into());
        }
        // Another thread is about to end all; it may need a lock of this one to give the terminal back.
        std::thread::sleep(PATIENCE);
        signal_hook::low_level::exit(RECORDING.into());
    }
    let _ = ENDS.try_with(|ends| ends.set(true));
    let limit = LIMIT.swap(NONE, Ordering::SeqCst);
    if HAS_TERMINAL.load(Ordering::Relaxed) {
        tui::top::give_back();
    }
    let mut words = Words::new();
    match why {
        Why::Limit => {
            words.add(b"iodyno: needs more memory than its limit of ");
            words.mebibytes(limit.unsigned_abs());
        }
        Why::System => {
            words.add(b"iodyno: the system refuses ");
            words.mebibytes(asked as u64);
            words.add(b" of memory");
        }
    }
    oom_context::with_note(|note| {
        if !note.is_empty() {
            words.add(b" while reading ");
            words.add(note);
        }
    });
    words.add(match why {
        Why::Limit => b"; raise it with --memory SIZE, or read less\n".as_slice(),
        Why::System => b"; raise its limit (ulimit -v, MemoryMax=), or free some. What was written until now stays\n",
    });
    let _ = rustix::io::write(rustix::stdio::stderr(), words.text());
    signal_hook::low_level::exit(RECORDING.into())
}

/// A sentence in place.
struct Words {
    bytes: [u8; 1024],
    length: usize,
}

impl Words {
    fn new() -> Self {
        Self { bytes: [0; 1024], length: 0 }
    }

    fn add(&mut self, words: &[u8]) {
        for byte in words {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = *byte;
                self.length += 1;
            }
        }
    }

    /// `512 MiB`, rounded up.
    fn mebibytes(&mut self, bytes: u64) {
        let mut digits = [0; 20];
        let (mut left, mut at) = (bytes.div_ceil(1 << 20), digits.len());
        while at > 0 {
            at -= 1;
            digits[at] = b'0' + u8::try_from(left % 10).unwrap_or(0);
            left /= 10;
            if left == 0 {
                break;
            }
        }
        self.add(&digits[at..]);
        self.add(b" MiB");
    }

    fn text(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::{Words, taken};

    #[test]
    fn words_take_no_more_than_their_place() {
        let mut words = Words::new();
        for bytes in [0, 1, 5 << 30, u64::MAX] {
            words.mebibytes(bytes);
            words.add(b" ");
        }
        assert_eq!(words.text(), b"0 MiB 1 MiB 5120 MiB 17592186044416 MiB ");
        words.add(&[b'x'; 5000]);
        assert_eq!(words.text().len(), 1024);
    }

    #[test]
    fn small_pieces_count_as_what_they_take() {
        assert_eq!([0, 1, 24, 25, 40, 41, 4096].map(taken), [32, 32, 32, 48, 48, 64, 4112]);
        assert!(taken(usize::MAX) > 1 << 61);
    }
}
