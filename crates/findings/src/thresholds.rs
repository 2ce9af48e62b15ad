//! Every number that a rule compares with, in one file of TOML that says what each is for.

use rates::stat::{LinkDuplex, SpeedOverride};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One threshold as a finding's explanation shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Name in the section of its rule.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Unit of the value; empty for a plain number.
    pub unit: &'static str,
    /// What it is for.
    pub help: &'static str,
}

/// Defines the sections with their defaults; the shipped file is printed from here.
macro_rules! thresholds {
    ($( #[doc = $help:literal] $section:ident: $type:ident {
        $( #[doc = $field_help:literal] $field:ident = $default:literal, $unit:literal; )*
    } )*) => {
        $(
            #[doc = $help]
            #[derive(Clone, Debug, PartialEq, Deserialize)]
            #[serde(default, deny_unknown_fields)]
            pub struct $type {
                $( #[doc = $field_help] pub $field: f64, )*
            }

            impl Default for $type {
                fn default() -> Self {
                    Self { $( $field: $default, )* }
                }
            }

            impl $type {
                fn list(&self) -> Vec<Threshold> {
                    vec![$( Threshold {
                        name: stringify!($field),
                        value: self.$field,
                        unit: $unit,
                        help: $field_help,
                    } ),*]
                }
            }
        )*

        /// All of them. [`Thresholds::default`] is what iodyno ships.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Thresholds {
            $( #[doc = $help] pub $section: $type, )*
            /// What network links can carry, by interface: `10g`, `200m`, of half duplex `100mhd`. It goes before what the interface says.
            pub speed: BTreeMap<String, String>,
        }

        impl Thresholds {
            /// The thresholds of one section, in order; none when there is no such section.
            #[must_use]
            pub fn section(&self, name: &str) -> Vec<Threshold> {
                match name {
                    $( stringify!($section) => self.$section.list(), )*
                    _ => Vec::new(),
                }
            }

            /// Sections in the order of the file: name and help.
            const SECTIONS: &'static [(&'static str, &'static str)] = &[$( (stringify!($section), $help) ),*];
        }
    };
}

thresholds! {
    /// All rules.
    general: General {
        /// A finding closes when its condition has not held for this long.
        clear_s = 10.0, "s";
        /// A sample that comes this many intervals after the one before means that samples were lost: all windows begin anew.
        lost_after_intervals = 2.5, "";
    }
    /// R1: one CPU, or one thread, is the limit while the system looks idle.
    one_cpu: OneCpu {
        /// The window over which everything is averaged, on machines of four CPUs and more.
        for_s = 10.0, "s";
        /// On machines of fewer CPUs the window is this divided by the number of CPUs: there, one busy CPU hides less, and compilers are busy in one thread for a while.
        for_cpu_s = 40.0, "s";
        /// A CPU that is this busy is saturated.
        busy_percent = 95.0, "%";
        /// One thread uses this share of that CPU.
        owner_percent = 85.0, "%";
        /// One thread runs for this share of the time, whichever CPU it runs on.
        thread_percent = 95.0, "%";
        /// Where time is sampled by ticks, this much may be missing from one thread's figure.
        tick_margin_percent = 2.0, "%";
        /// All CPUs together are no busier than this, or than two of them are.
        system_percent = 25.0, "%";
        /// The other CPUs together are no busier than this.
        rest_percent = 25.0, "%";
    }
    /// R2: a listener refuses connections because its accept queue is full.
    listen_queue: ListenQueue {
        /// The window.
        for_s = 10.0, "s";
        /// In this many samples of the window the kernel counted overflows, or saw a queue beyond its backlog.
        samples = 2.0, "";
        /// A queue filled this far in all samples of the window gives a note.
        near_percent = 80.0, "%";
    }
    /// R3: a network link is full, shaped, or handles too many packets.
    network: Network {
        /// The window over which everything is averaged.
        for_s = 5.0, "s";
        /// The busier direction carries this share of the link's capacity, frames counted with their gaps.
        full_percent = 90.0, "%";
        /// The same where the link also drops or holds packets back.
        full_with_drops_percent = 70.0, "%";
        /// From here on a note says that the link is near its limit.
        near_percent = 80.0, "%";
        /// A CPU left packets for later this often per second, at less than `packet_util_percent`: packets are the limit, not bytes.
        squeezed_per_s = 50.0, "1/s";
        /// See `squeezed_per_s`.
        packet_util_percent = 50.0, "%";
        /// Packets below this mean size are small.
        small_packet_bytes = 300.0, "B";
        /// Members of a bond that differ by more than this ratio are out of balance.
        bond_ratio = 3.0, "";
    }
    /// R4: interrupts take a CPU, or the kernel keeps one to itself.
    kernel_cpu: KernelCpu {
        /// The window for interrupts.
        interrupt_for_s = 5.0, "s";
        /// Interrupts and soft interrupts take this share of one CPU.
        interrupt_percent = 50.0, "%";
        /// The window for a CPU that is stuck in the kernel.
        stuck_for_s = 10.0, "s";
        /// The kernel takes this share of one CPU, and no thread accounts for it.
        stuck_percent = 95.0, "%";
        /// A thread that uses this share of that CPU accounts for it.
        owner_percent = 85.0, "%";
        /// On a CPU that is stuck, tasks switch less often per second than this, where that is counted (the event clock).
        stuck_switches_per_s = 5.0, "1/s";
        /// An interrupt that comes this often per second …
        storm_per_s = 20000.0, "1/s";
        /// … and this many times as often as usual (the median of the last five minutes) …
        storm_ratio = 10.0, "";
        /// … and goes to one CPU with this share, is a storm.
        storm_share_percent = 80.0, "%";
    }
    /// R5: a block device is the limit.
    device: Device {
        /// The window over which everything is averaged.
        for_s = 10.0, "s";
        /// Part of the time with a request in flight. Alone it says nothing: it only makes a note.
        busy_percent = 95.0, "%";
        /// Requests take this many times as long as on this device without a queue.
        response_ratio = 3.0, "";
        /// A mean queue up to this counts as without a queue.
        unloaded_queue = 1.5, "op";
        /// An interval with fewer requests than this says nothing about the unloaded response time.
        unloaded_ops = 20.0, "op";
        /// From this mean queue on, the rule checks whether a longer queue gave more throughput.
        queue = 4.0, "op";
        /// The longer queue is this many times as long; a little less than twice, because queues are means.
        queue_ratio = 1.8, "";
        /// A gain below this means that the device has reached its limit.
        gain_percent = 5.0, "%";
    }
    /// R6: the page cache fills, and what was measured before that is not what comes after.
    cache: Cache {
        /// A forecast needs growth over this time.
        forecast_s = 60.0, "s";
        /// Straightness of the growth: R² of the line.
        forecast_r2 = 0.9, "";
        /// Growth below this share of the cache's room in that time is not reported.
        forecast_growth_percent = 1.0, "%";
        /// The forecast says that the cache will be full within this time.
        within_s = 1800.0, "s";
        /// The cache is full when it has this share of its maximum.
        full_percent = 95.0, "%";
        /// Results must have changed within this time of that moment.
        around_s = 60.0, "s";
        /// Pages that were needed again soon after they were given up, per second, times as many as before …
        refault_ratio = 10.0, "";
        /// … and at least this many …
        refaults_per_s = 100.0, "1/s";
        /// … and reads from devices, times as many as before …
        reads_ratio = 3.0, "";
        /// (cache of ZFS: or hits fell by this many points, regardless of refaults)
        hit_points = 10.0, "points";
        /// … and response time, times as long as before.
        response_ratio = 3.0, "";
        /// A control group is held back at its `memory.high`: over this window …
        held_for_s = 10.0, "s";
        /// … it uses this share of it, …
        held_at_percent = 90.0, "%";
        /// … had to free memory this often, …
        held_per_s = 1.0, "1/s";
        /// … and at least one of its tasks waited for memory for this share of the time.
        held_wait_percent = 10.0, "%";
    }
    /// R7: a device answers nothing, or lost a path; a network link is down.
    stall: Stall {
        /// Requests wait and none has completed for this long.
        for_s = 2.0, "s";
        /// The same for rotating disks, which may pause for good reasons.
        rotational_for_s = 5.0, "s";
        /// Only a device that completed a request within this time before.
        active_s = 60.0, "s";
        /// Messages about the same path within this time belong together.
        together_s = 600.0, "s";
        /// This many losses of a path within `together_s` are flapping.
        flapping = 3.0, "";
    }
    /// R8: work waits for other work, or interrupts take its time. Needs the event clock.
    preempted: Preempted {
        /// The window.
        for_s = 10.0, "s";
        /// Only processes that are ready or run for this share of one CPU.
        least_percent = 10.0, "%";
        /// A ready process waits for a CPU for this share of that time …
        wait_percent = 20.0, "%";
        /// … and one other process causes this share of the wait, by preempting it or by running on when it woke …
        one_percent = 50.0, "%";
        /// … and either it waits for that one this often, and leaves its CPU voluntarily at least as often as it is preempted (it answers requests, and does not only compute) …
        waits_per_s = 25.0, "1/s";
        /// … or all CPUs together are idle for this share of the time, and a CPU was idle for at least this share of its wait.
        idle_percent = 25.0, "%";
        /// Interrupts take this share of the run time of a process.
        stolen_percent = 5.0, "%";
    }
    /// R10: the tick and events disagree about how busy a CPU is. Needs the event clock.
    clocks: Clocks {
        /// The window over which both are averaged.
        for_s = 10.0, "s";
        /// They differ by this share of that CPU's time.
        points = 5.0, "points";
    }
    /// R9: programs that live too briefly to be seen use the CPUs.
    short_lived: ShortLived {
        /// The window.
        for_s = 10.0, "s";
        /// Tasks that lived less than 10 s and ended used this share of the time in which CPUs were busy …
        busy_percent = 20.0, "%";
        /// … and those of one name this share of that …
        one_name_percent = 50.0, "%";
        /// … and the CPUs were busy for at least this share of one CPU.
        least_percent = 10.0, "%";
        /// At least this many of that name ended per second: fewer show in a list of processes.
        per_s = 10.0, "1/s";
        /// Each used no more than this: a process that uses more, like a compiler, shows in a list of processes, and is work.
        each_ms = 50.0, "ms";
    }
    /// R12: a check sum was wrong: data was damaged.
    checksum: Checksum {
        /// The finding closes when no further check sum was wrong for this long.
        clear_s = 60.0, "s";
    }
    /// R13: I/Os of a device fail.
    io_errors: IoErrors {
        /// This many since the finding began.
        errors = 1.0, "";
        /// It closes when no I/O has failed for this long.
        clear_s = 60.0, "s";
    }
    /// R14: the kernel's messages tell of resets, time-outs, file systems that fail, processes that were killed or hang.
    told: KernelMessages {
        /// This many resets of one device are trouble; fewer are a note.
        resets = 3.0, "";
        /// It closes when the kernel has printed no further message for this long.
        clear_s = 60.0, "s";
    }
    /// R11: frames are small although the link takes large ones, and a CPU is busy with them.
    frames: Frames {
        /// The window over which everything is averaged.
        for_s = 10.0, "s";
        /// A link with this MTU or more takes jumbo frames.
        jumbo_mtu_bytes = 4000.0, "B";
        /// A mean frame below this wastes them.
        frame_bytes = 2000.0, "B";
        /// Soft interrupts take this share of one CPU.
        softirq_percent = 70.0, "%";
    }
}

/// A file of thresholds that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ThresholdsError(String);

impl Thresholds {
    /// Reads a file: what it names goes before the shipped value, all else stays.
    ///
    /// # Errors
    /// Not TOML, a name that does not exist, a value that is no number or is negative; with line and column.
    pub fn parse(text: &str) -> Result<Self, ThresholdsError> {
        let read: Self =
            toml::from_str(text).map_err(|error| ThresholdsError(error.to_string().trim_end().to_string()))?;
        for (section, _) in Self::SECTIONS {
            for threshold in read.section(section) {
                if !threshold.value.is_finite() || threshold.value < 0.0 {
                    let Threshold { name, value, .. } = threshold;
                    return Err(ThresholdsError(format!("[{section}] {name} = {value}: a threshold is 0 or more")));
                }
            }
        }
        for (interface, speed) in &read.speed {
            if link_speed(speed).is_none() {
                return Err(ThresholdsError(format!(
                    "[speed] {interface} = \"{speed}\": a speed is a number of bits per second with k, m, g or t behind it, as 200m or 10g, and then fd or hd, where it is full or half duplex"
                )));
            }
        }
        Ok(read)
    }

    /// What the user says that a network link can carry, bit/s.
    #[must_use]
    pub fn speed_bits_per_s(&self, interface: &str) -> Option<f64> {
        link_speed(self.speed.get(interface)?).map(|(bits_per_s, _)| bits_per_s)
    }

    /// Duplex that the user gave for this interface; `None` where none was given.
    #[must_use]
    pub fn is_full_duplex(&self, interface: &str) -> Option<bool> {
        link_speed(self.speed.get(interface)?)?.1
    }

    /// What a user knows of a link goes before what the file says.
    pub fn set_speed(&mut self, link: &SpeedOverride) {
        let duplex = match link.duplex {
            LinkDuplex::Full => "fd",
            LinkDuplex::Half => "hd",
        };
        self.speed.insert(link.interface.clone(), format!("{}k{duplex}", link.bits_per_s / 1e3));
    }

    /// The whole file with these values, every threshold explained; [`Thresholds::parse`] reads it again.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = String::from(
            "# Thresholds of iodyno's findings (docs/findings.md). `iodyno diagnose --thresholds FILE` takes a file like this;\n\
             # what it leaves out keeps the value that stands here.\n",
        );
        for (section, help) in Self::SECTIONS {
            let _ = write!(text, "\n#{help}\n[{section}]\n");
            for Threshold { name, value, unit, help } in self.section(section) {
                let unit = if unit.is_empty() { String::new() } else { format!(" Unit: {unit}.") };
                let _ = write!(text, "#{help}{unit}\n{name} = {value:?}\n");
            }
        }
        text.push_str(
            "\n# What network links can carry, where the interface does not tell it or tells it wrongly (R3): bits per second.\n\
             # fd or hd behind it says that the link is full or half duplex.\n\
             [speed]\n# \"eth0\" = \"10g\"\n",
        );
        for (interface, speed) in &self.speed {
            let _ = writeln!(text, "{interface:?} = {speed:?}");
        }
        text
    }
}

/// `10g`, `200m`, `100mhd`: bit/s, and whether it is said to be full duplex.
fn link_speed(text: &str) -> Option<(f64, Option<bool>)> {
    let (speed, is_full) = match (text.strip_suffix("fd"), text.strip_suffix("hd")) {
        (Some(speed), _) => (speed, Some(true)),
        (None, Some(speed)) => (speed, Some(false)),
        (None, None) => (text, None),
    };
    Some((bits_per_s(speed)?, is_full))
}

/// `10g`, `2.5G`, `200m`.
fn bits_per_s(speed: &str) -> Option<f64> {
    let letter = speed.chars().next_back()?;
    let power = "kmgt".find(letter.to_ascii_lowercase())?;
    let number: f64 = speed[..speed.len() - letter.len_utf8()].trim().parse().ok()?;
    let bits = number * 1000_f64.powi(i32::try_from(power).ok()? + 1);
    (bits.is_finite() && bits > 0.0).then_some(bits)
}

#[cfg(test)]
mod tests {
    use super::{LinkDuplex, SpeedOverride, Thresholds};

    #[test]
    fn the_shipped_file_is_read_as_what_it_says() {
        let shipped = Thresholds::default();
        assert_eq!(Thresholds::parse(&shipped.to_toml()).unwrap(), shipped);
        assert_eq!(Thresholds::parse("").unwrap(), shipped);
    }

    #[test]
    fn one_value_of_another_file() {
        let read = Thresholds::parse("[one_cpu]\nbusy_percent = 80\n").unwrap();
        assert_eq!((read.one_cpu.busy_percent, read.one_cpu.owner_percent), (80.0, 85.0));
    }

    #[test]
    fn speeds_of_links() {
        let read = Thresholds::parse("[speed]\n\"eth0\" = \"10g\"\ntun0 = \"2.5M\"\n").unwrap();
        assert_eq!((read.speed_bits_per_s("eth0"), read.speed_bits_per_s("tun0")), (Some(1e10), Some(2.5e6)));
        assert_eq!(read.speed_bits_per_s("eth1"), None);
        assert_eq!(Thresholds::parse(&read.to_toml()).unwrap(), read);
        let mut read = Thresholds::parse("[speed]\na = \"10ghd\"\nb = \"100mfd\"\nc = \"1g\"\n").unwrap();
        let link_of = |read: &Thresholds, link: &str| (read.speed_bits_per_s(link), read.is_full_duplex(link));
        assert_eq!(link_of(&read, "a"), (Some(1e10), Some(false)));
        assert_eq!(link_of(&read, "b"), (Some(1e8), Some(true)));
        assert_eq!(link_of(&read, "c"), (Some(1e9), None));
        let link = SpeedOverride { interface: "a".to_string(), bits_per_s: 2.5e6, duplex: LinkDuplex::Full };
        read.set_speed(&link);
        assert_eq!(link_of(&read, "a"), (Some(2.5e6), Some(true)));
        assert_eq!(Thresholds::parse(&read.to_toml()).unwrap(), read);
    }

    #[test]
    fn mistakes_name_their_place() {
        for (text, words) in [
            ("[one_cpu]\nbusy = 80\n", ["line 2", "busy_percent"]),
            ("[onecpu]\n", ["line 1", "one_cpu"]),
            ("[one_cpu]\nbusy_percent = \"a\"\n", ["line 2", "expected f64"]),
            ("[one_cpu\n", ["line 1", "["]),
            ("[one_cpu]\nbusy_percent = -1.0\n", ["busy_percent", "0 or more"]),
            ("[speed]\neth0 = \"10\"\n", ["eth0", "10g"]),
            ("[speed]\neth0 = \"fast\"\n", ["eth0", "200m"]),
            ("[one_cpu]\nbusy_percent = nan\n", ["busy_percent", "0 or more"]),
        ] {
            let error = Thresholds::parse(text).unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{text}: {error}");
        }
    }
}
