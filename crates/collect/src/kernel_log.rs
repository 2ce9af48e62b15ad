//! The kernel's messages as events, from `/dev/kmsg` (the kernel's `ABI/testing/dev-kmsg`).

use crate::subject::Stamp;
use recording::rows::Event;
use recording::{EventKind, EventSeverity, Label};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Different messages of one sample that become events; further ones are counted in one.
const MOST: usize = 100;
/// `O_NONBLOCK`.
const NONBLOCK: i32 = 0o4000;
/// Records longer than the kernel makes them are no records.
const RECORD_BYTES: usize = 8192;

/// Follows the log from the time that it was opened.
#[derive(Debug)]
pub(crate) struct KernelLog {
    file: File,
    buffer: Vec<u8>,
    /// Number of the next message, once one was seen.
    next: Option<u64>,
    start_ns: i64,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    priority: u32,
    sequence: u64,
    t_ns: i64,
    text: String,
}

impl KernelLog {
    /// Messages from now on. Needs root, or `kernel.dmesg_restrict=0`.
    pub(crate) fn new(root: &Path, start_ns: i64) -> std::io::Result<Self> {
        let mut file = File::options().read(true).custom_flags(NONBLOCK).open(root.join("dev/kmsg"))?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { file, buffer: vec![0; RECORD_BYTES], next: None, start_ns })
    }

    /// What has come since: each message once per sample, with how often it came.
    pub(crate) fn sample(&mut self, stamp: Stamp, t0_ns: u64) -> Vec<Event> {
        let mut found: BTreeMap<(u32, String), (i64, i64)> = BTreeMap::new();
        let mut left_out = 0_i64;
        loop {
            let count = match self.file.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // The ring went round; the next read goes on behind what was lost, whose number tells how much that was.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => continue,
                Err(_) => break,
            };
            for record in records(&self.buffer[..count]) {
                left_out += missing(&mut self.next, record.sequence);
                let is_new = !found.contains_key(&(record.priority & 7, record.text.clone()));
                if is_new && found.len() >= MOST {
                    left_out += 1;
                    continue;
                }
                let entry = found.entry((record.priority & 7, record.text)).or_insert((record.t_ns, 0));
                entry.1 += 1;
            }
        }
        let mut events: Vec<Event> = found
            .into_iter()
            .map(|((level, text), (t_ns, count))| {
                // The log has a clock of its own, which is near ours; a message that comes now was not logged before
                // the last sample.
                let t_ns = t_ns.clamp(self.start_ns, stamp.t_ns);
                let at = Stamp::at(u64::try_from(t_ns).unwrap_or(0), t0_ns);
                event(at, severity(level), text, count)
            })
            .collect();
        events.sort_by_key(|event| event.t_ns);
        if left_out > 0 {
            events.push(event(
                stamp,
                EventSeverity::Warning,
                "messages of the kernel that were not kept".to_string(),
                left_out,
            ));
        }
        self.start_ns = stamp.t_ns;
        events
    }
}

/// How many messages are missing before the one with this number.
fn missing(next: &mut Option<u64>, sequence: u64) -> i64 {
    let next = next.replace(sequence + 1);
    next.and_then(|next| i64::try_from(sequence.checked_sub(next)?).ok()).unwrap_or(0)
}

fn event(stamp: Stamp, severity: EventSeverity, message: String, count: i64) -> Event {
    Event {
        t_ns: stamp.t_ns,
        t_s: stamp.t_s,
        severity,
        kind: EventKind::Kernel,
        class: Some(Label::from(kernel_message::class(&message))),
        message,
        count,
        ..Event::default()
    }
}

fn severity(level: u32) -> EventSeverity {
    match level {
        0..=3 => EventSeverity::Error,
        4 => EventSeverity::Warning,
        _ => EventSeverity::Info,
    }
}

/// Reads `priority,sequence,microseconds,flags;text`; lines that begin with a space belong to the record before.
fn records(data: &[u8]) -> impl Iterator<Item = Record> {
    crate::text::lines(data).filter(|line| !line.starts_with(b" ")).filter_map(|line| {
        let line = String::from_utf8_lossy(line);
        let (head, text) = line.split_once(';')?;
        let mut fields = head.split(',');
        Some(Record {
            priority: fields.next()?.parse().ok()?,
            sequence: fields.next()?.parse().ok()?,
            t_ns: fields.next()?.parse::<i64>().ok()?.checked_mul(1000)?,
            text: text.to_string(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn messages_since_then_repeated_ones_counted() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("dev")).unwrap();
        let path = root.path().join("dev/kmsg");
        std::fs::write(&path, "6,10,1000,-;long ago\n").unwrap();
        let mut log = KernelLog::new(root.path(), 0).unwrap();
        let mut end = File::options().append(true).open(&path).unwrap();
        let text = "3,11,5000000,-;I/O error, dev sda, sector 8\n SUBSYSTEM=block\n DEVICE=b8:0\n\
             4,12,5000001,-;sd 0:0:0:0: [sda] retry\n3,15,5000002,-;I/O error, dev sda, sector 8\nnonsense\n";
        end.write_all(text.as_bytes()).unwrap();
        let events = log.sample(Stamp::at(6_000_000_000, 0), 0);
        let logged: Vec<_> =
            events.iter().map(|one| (one.severity.as_str(), one.message.as_str(), one.count)).collect();
        assert_eq!(
            logged,
            [
                ("error", "I/O error, dev sda, sector 8", 2),
                ("warning", "sd 0:0:0:0: [sda] retry", 1),
                ("warning", "messages of the kernel that were not kept", 2),
            ]
        );
        let classes: Vec<_> = events.iter().map(|one| one.class.as_deref()).collect();
        assert_eq!(classes, [Some("io_error"), Some("other"), Some("other")]);
        assert_eq!(events[0].t_ns, 5_000_000_000);
        assert!(log.sample(Stamp::at(7_000_000_000, 0), 0).is_empty());
    }

    #[test]
    fn a_flood_is_counted() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("dev")).unwrap();
        let path = root.path().join("dev/kmsg");
        std::fs::write(&path, "").unwrap();
        let mut log = KernelLog::new(root.path(), 0).unwrap();
        let text: String = (0..500).map(|n| format!("4,{n},1,-;message {n}\n")).collect();
        std::fs::write(&path, text).unwrap();
        let events = log.sample(Stamp::at(1_000_000, 0), 0);
        // A record that lies across two reads of a plain file is lost; the device gives them whole.
        assert_eq!(events.len(), MOST + 1);
        assert!((395..=400).contains(&events[MOST].count), "{}", events[MOST].count);
    }
}
