//! Recordings of a machine's counters, without a run.

use super::{Maker, SECOND};
use recording::Sink as _;
use recording::rows::{Disk, Net, ZfsPool};
use std::path::Path;

impl Maker {
    /// Devices behind two controllers with names that begin alike, an interface, a pool.
    fn machine(&mut self, work: i64) {
        self.counters();
        let (t_ns, t_s) = (self.t_ns, self.seconds());
        let disk = |device: &str, share: i64| Disk {
            t_ns,
            t_s,
            device: device.to_string(),
            target: String::new(),
            read_ios: Some(work * 70 / share),
            read_merges: Some(0),
            read_sectors: Some(work * 1_120 / share),
            read_ticks_ms: Some(work * 30 / share),
            write_ios: Some(work * 30 / share),
            write_merges: Some(0),
            write_sectors: Some(work * 480 / share),
            write_ticks_ms: Some(work * 20 / share),
            in_flight: Some(0),
            io_ticks_ms: Some(work * 20 / share),
            weighted_ticks_ms: Some(work * 50 / share),
            ..Disk::default()
        };
        self.publish(&[disk("sda", 1), disk("sdb", 3)]);
        if self.has_virtual {
            // Compressed memory that moves more than all others, and a volume over sda.
            self.publish(&[disk("zram0", 1)].map(|row| Disk { read_sectors: Some(work * 90_000), ..row }));
            self.publish(&[disk("dm-0", 1)].map(|row| Disk { read_sectors: Some(work * 99_000), ..row }));
        }
        self.publish(&[Net {
            t_ns,
            t_s,
            interface: "enp0s25f1np1".to_string(),
            rx_bytes: work * 14_000,
            rx_packets: Some(work * 12),
            rx_errors: Some(0),
            rx_drops: Some(0),
            rx_fifo: Some(0),
            rx_frame: Some(0),
            rx_multicast: Some(0),
            tx_bytes: work * 9_000,
            tx_packets: Some(work * 9),
            tx_errors: Some(0),
            tx_drops: Some(0),
            tx_fifo: Some(0),
            tx_collisions: Some(0),
            tx_carrier: Some(0),
            up: Some(true),
            ..Net::default()
        }]);
        self.publish(&[ZfsPool {
            t_ns,
            t_s,
            pool: "tank".to_string(),
            arc_read_ios: Some(work * 5),
            arc_read_bytes: Some(work * 600_000),
            arc_write_ios: Some(work * 4),
            arc_write_bytes: Some(work * 400_000),
            ..ZfsPool::default()
        }]);
        self.writer.commit().unwrap();
    }

    /// Samples a minute apart, with a stretch in which nothing was recorded around a single one.
    fn watched(directory: &Path, minutes: i64, work: fn(i64) -> i64, has_virtual: bool) {
        let mut maker = Self::new(directory);
        maker.has_virtual = has_virtual;
        maker
            .writer
            .update_manifest(|manifest| {
                let controllers = [("sda", "0000:00:02.0"), ("sdb", "0000:00:03.0")];
                manifest.hardware["controllers"] = serde_json::json!(std::collections::BTreeMap::from(controllers));
                if has_virtual {
                    manifest.hardware["over"] = serde_json::json!({"dm-0": ["sda"]});
                }
                manifest.extra.insert(views::ZONE_AHEAD_S.to_string(), 3600.into());
            })
            .unwrap();
        for minute in 0..minutes {
            maker.t_ns += 60 * SECOND;
            let (is_gap, is_alone) = ((minutes / 2..minutes / 2 + 20).contains(&minute), minute == minutes / 2 + 10);
            if !is_gap || is_alone {
                maker.machine(work(minute));
            }
        }
        maker.seal();
    }
}

/// A day that works at one time more than at another.
pub(crate) fn machine(directory: &Path) {
    Maker::watched(directory, 24 * 60, |minute| minute * 3_000 + minute * minute, false);
}

/// An hour in which nothing happened.
pub(crate) fn idle_machine(directory: &Path) {
    Maker::watched(directory, 60, |_| 0, false);
}

/// An hour of a machine whose busiest device has no controller.
pub(crate) fn machine_with_zram(directory: &Path) {
    Maker::watched(directory, 60, |minute| minute * 3_000, true);
}
