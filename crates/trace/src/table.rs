//! Hash tables of probes: read whole, whatever their size, and entries taken out of them.

use libbpf_rs::{MapCore, MapFlags, MapHandle, OpenObject};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::null_mut;

/// Key and value of a table.
pub(crate) type Entry = (Vec<u8>, Vec<u8>);

/// Entries that are read with one call.
const BATCH: usize = 1024;
/// So often a bucket that is locked is asked for again.
const TRIES: u32 = 100;

/// An entry that did not grow in so many readings leaves the kernel's table, so that it does not fill over weeks.
pub(crate) const IDLE_READINGS: u32 = 60;

/// Entries of a table that has so many for each CPU, between what the probe says and eight times that.
pub(crate) fn room(least: u32, for_each_cpu: u32) -> u32 {
    let cpus = u32::try_from(libbpf_rs::num_possible_cpus().unwrap_or(1)).unwrap_or(1);
    cpus.saturating_mul(for_each_cpu).next_power_of_two().clamp(least, least * 8)
}

/// Gives a table its room, before it is loaded.
///
/// # Errors
/// The library refuses it.
pub(crate) fn set_room(open: &mut OpenObject, name: &str, entries: u32) -> Result<(), libbpf_rs::Error> {
    open.maps_mut().find(|map| map.name() == name).map_or(Ok(()), |mut map| map.set_max_entries(entries))
}

/// Is more than three quarters of it used?
pub(crate) fn is_crowded(map: &MapHandle, used: usize) -> bool {
    used > map.max_entries() as usize / 4 * 3
}

/// Room for what one call reads, and where the next one goes on.
struct Pages {
    key_bytes: usize,
    value_bytes: usize,
    keys: Vec<u8>,
    values: Vec<u8>,
    /// The kernel's number of a bucket.
    place: u64,
    is_begun: bool,
}

/// What a call came to.
enum Page {
    More,
    Last,
    /// The next bucket has more entries than there is room for.
    NoRoom,
    Locked,
}

impl Pages {
    fn of(map: &MapHandle) -> Self {
        let (key_bytes, value_bytes) = (map.key_size() as usize, map.value_size() as usize);
        let (keys, values) = (vec![0; BATCH * key_bytes], vec![0; BATCH * value_bytes]);
        Self { key_bytes, value_bytes, keys, values, place: 0, is_begun: false }
    }

    fn room(&self) -> usize {
        self.keys.len() / self.key_bytes.max(1)
    }

    fn double(&mut self) {
        self.keys.resize(self.keys.len() * 2, 0);
        self.values.resize(self.values.len() * 2, 0);
    }

    /// One call, and how many entries it gave. Those of a bucket come together, so a call may have room left in the middle.
    fn read(&mut self, map: &MapHandle) -> io::Result<(Page, usize)> {
        let mut count = u32::try_from(self.room()).unwrap_or(u32::MAX);
        let mut next = self.place;
        let from: *mut u64 = if self.is_begun { &raw mut self.place } else { null_mut() };
        let mut options = libbpf_sys::bpf_map_batch_opts::default();
        options.sz = size_of_val(&options) as _;
        #[expect(unsafe_code, reason = "libbpf-rs takes a call that has room left for the last one")]
        // SAFETY: keys and values have room for `count` entries, places are larger than the kernel's 32 bits, and all of
        // them outlive the call; the descriptor is open.
        let result = unsafe {
            libbpf_sys::bpf_map_lookup_batch(
                map.as_fd().as_raw_fd(),
                from.cast(),
                (&raw mut next).cast(),
                self.keys.as_mut_ptr().cast(),
                self.values.as_mut_ptr().cast(),
                &raw mut count,
                &raw const options,
            )
        };
        let page = match -result {
            0 => Page::More,
            libc::ENOENT => Page::Last,
            libc::ENOSPC => return Ok((Page::NoRoom, 0)),
            libc::EBUSY => Page::Locked,
            error => return Err(io::Error::from_raw_os_error(error)),
        };
        (self.place, self.is_begun) = (next, true);
        Ok((page, count as usize))
    }
}

/// All of a hash table.
///
/// # Errors
/// It cannot be read.
pub(crate) fn entries(map: &MapHandle) -> Result<Vec<Entry>, libbpf_rs::Error> {
    let mut pages = Pages::of(map);
    let mut out = Vec::new();
    let mut tries = 0;
    loop {
        let (page, count) = pages.read(map)?;
        let keys = pages.keys.chunks_exact(pages.key_bytes.max(1));
        let both = keys.zip(pages.values.chunks_exact(pages.value_bytes.max(1))).take(count);
        out.extend(both.map(|(key, value)| (key.to_vec(), value.to_vec())));
        match page {
            Page::More => tries = 0,
            Page::Last => return Ok(out),
            Page::NoRoom if pages.room() < 2 * map.max_entries() as usize => pages.double(),
            Page::Locked if tries < TRIES => tries += 1,
            Page::NoRoom => return Err(io::Error::from_raw_os_error(libc::ENOSPC).into()),
            Page::Locked => return Err(io::Error::from_raw_os_error(libc::EBUSY).into()),
        }
    }
}

/// Takes an entry out, with what it had become; `None` when it stays, or is not there.
pub(crate) fn take(map: &MapHandle, key: &[u8]) -> Option<Vec<u8>> {
    map.lookup_and_delete(key).unwrap_or_else(|_| {
        // Before Linux 5.14: what comes between the two calls is gone.
        let value = map.lookup(key, MapFlags::ANY).ok().flatten();
        map.delete(key).ok().and(value)
    })
}

#[cfg(test)]
mod tests {
    use super::{entries, take};
    use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType};
    use std::collections::HashSet;

    /// Keys of 24 bytes, values of 8.
    fn table(max_entries: u32) -> Option<MapHandle> {
        if !testkit::is_root() {
            testkit::lacks("root");
            return None;
        }
        let mut options = libbpf_sys::bpf_map_create_opts::default();
        options.sz = size_of_val(&options) as _;
        Some(MapHandle::create(MapType::Hash, Some("iodyno_test"), 24, 8, max_entries, &options).unwrap())
    }

    fn key(number: u64) -> Vec<u8> {
        [number, number ^ 0x5555, 7].iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_table_of_any_size_is_read_wholly_each_time() {
        for count in [0_u64, 1, 1023, 1024, 5000, 16_384] {
            let Some(map) = table(16_384) else { return };
            for number in 0..count {
                map.update(&key(number), &(number * 3).to_ne_bytes(), MapFlags::ANY).unwrap();
            }
            let expected: HashSet<_> =
                (0..count).map(|number| (key(number), (number * 3).to_ne_bytes().to_vec())).collect();
            for _ in 0..2 {
                let read = entries(&map).unwrap();
                assert_eq!(read.len() as u64, count, "none twice");
                assert!(read.into_iter().collect::<HashSet<_>>() == expected, "{count}");
            }
        }
    }

    #[test]
    fn what_is_taken_out_is_gone() {
        let Some(map) = table(16) else { return };
        map.update(&key(1), &9_u64.to_ne_bytes(), MapFlags::ANY).unwrap();
        assert_eq!(take(&map, &key(1)), Some(9_u64.to_ne_bytes().to_vec()));
        assert_eq!((take(&map, &key(1)), entries(&map).unwrap().len()), (None, 0));
    }
}
