//! R3: a network link is full, shaped, or handles too many packets.

use crate::interval_sample::{LinkUse, SystemUse};
use crate::window::{Window, WindowSlice};
use crate::{FindingEvidence, FindingSeverity, Rule, RuleConfidence, RuleId, Symptom, Thresholds, figure, thresholds};
use rates::is_loopback;

/// Averages over a window; needs no memory of its own.
pub(crate) struct NetworkRule;

/// What it can carry in a direction, and what says so.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Capacity {
    Speed(f64),
    Shaper(f64),
}

impl Capacity {
    fn bits_per_s(self) -> f64 {
        match self {
            Self::Speed(bits) | Self::Shaper(bits) => bits,
        }
    }
}

/// A link over a window.
struct Link<'a> {
    now: &'a LinkUse,
    /// Receiving, sending; as the link carries it.
    bits: [f64; 2],
    packets: [Option<f64>; 2],
    bytes: [f64; 2],
    /// The busier direction.
    way: usize,
    /// By the user or the interface.
    full_duplex: Option<bool>,
    /// What the user or the interface says, bit/s.
    speed: Option<f64>,
    /// What is used there, and of what; `None` when what it can carry is not known.
    used: Option<(f64, Capacity)>,
    rx_drops: Option<f64>,
    qdisc_drops: Option<f64>,
    overlimits: Option<f64>,
}

impl Link<'_> {
    fn util_percent(&self) -> Option<f64> {
        self.used.map(|(bits, room)| (100.0 * bits / room.bits_per_s()).min(100.0))
    }

    fn suffers(&self) -> bool {
        [self.rx_drops, self.qdisc_drops, self.overlimits].into_iter().flatten().any(|rate| rate > 0.0)
    }
}

impl Rule for NetworkRule {
    fn look(&mut self, window: &Window, thresholds: &Thresholds) -> Vec<Symptom> {
        let limit = &thresholds.network;
        let (Some(stretch), Some(now)) = (window.last(limit.for_s), window.now()) else { return Vec::new() };
        let speed = |link: &LinkUse| thresholds.speed_bits_per_s(&link.interface).or(link.speed_bits_per_s);
        let duplex = |link: &LinkUse| thresholds.is_full_duplex(&link.interface).or(link.full_duplex);
        let over = |link| over(stretch, link, (speed(link), duplex(link)));
        let links: Vec<Link<'_>> = now.links.iter().filter_map(over).collect();
        let mut found: Vec<Symptom> = links.iter().filter_map(|link| bandwidth(link, &links, stretch, limit)).collect();
        // A note of one link does not say why another one drops packets.
        if !found.iter().any(|symptom| symptom.severity == FindingSeverity::Finding) {
            found.extend(packets(stretch, &links, limit));
        }
        found
    }
}

/// Means over the stretch; `None` for links that came in between, and for the loopback, which has no wire.
fn over<'a>(
    stretch: WindowSlice<'_>,
    now: &'a LinkUse,
    (speed, full_duplex): (Option<f64>, Option<bool>),
) -> Option<Link<'a>> {
    if is_loopback(&now.interface) {
        return None;
    }
    let of = |value: &dyn Fn(&LinkUse) -> Option<f64>| stretch.mean(|moment| value(moment.link(&now.interface)?));
    let both = |value: &dyn Fn(&LinkUse) -> [f64; 2]| {
        Some([of(&|link| Some(value(link)[0]))?, of(&|link| Some(value(link)[1]))?])
    };
    let (bits, bytes) = (both(&|link| link.wire_bits_per_s)?, both(&|link| link.bytes_per_s)?);
    let room = speed.map(Capacity::Speed);
    let (way, used) = if full_duplex.unwrap_or(true) {
        let receiving = room.map(|room| (bits[0], room));
        // A shaper counts frames as the interface does, without preamble and gap.
        let shaped = now.shaped_bits_per_s.map(|room| (bytes[1] * 8.0, Capacity::Shaper(room)));
        let share = |used: &Option<(f64, Capacity)>| used.map_or(0.0, |(bits, room)| bits / room.bits_per_s());
        let sending = [room.map(|room| (bits[1], room)), shaped]
            .into_iter()
            .max_by(|a, b| share(a).total_cmp(&share(b)))
            .flatten();
        let way = usize::from(share(&sending) >= share(&receiving));
        (way, [receiving, sending][way])
    } else {
        (usize::from(bits[1] >= bits[0]), room.map(|room| (bits[0] + bits[1], room)))
    };
    Some(Link {
        now,
        bits,
        bytes,
        packets: [of(&|link| link.packets_per_s[0]), of(&|link| link.packets_per_s[1])],
        way,
        full_duplex,
        speed,
        used,
        rx_drops: of(&|link| link.rx_drops_per_s),
        qdisc_drops: of(&|link| link.qdisc_drops_per_s),
        overlimits: of(&|link| link.qdisc_overlimits_per_s),
    })
}

fn bandwidth(
    link: &Link<'_>,
    links: &[Link<'_>],
    stretch: WindowSlice<'_>,
    limit: &thresholds::Network,
) -> Option<Symptom> {
    let (bits, room) = link.used?;
    let util = link.util_percent()?;
    let is_full = util >= limit.full_percent || (util >= limit.full_with_drops_percent && link.suffers());
    if !is_full && util < limit.near_percent {
        return None;
    }
    let name = &link.now.interface;
    let verb = match (link.full_duplex, link.way) {
        (Some(false), _) => "transferring",
        (_, 1) => "transmitting",
        (_, _) => "receiving",
    };
    let duplex = match link.full_duplex {
        Some(true) => "duplex full",
        Some(false) => "duplex half",
        None => "duplex unknown",
    };
    let limited = match (is_full, room) {
        (false, _) => "That is near its limit.".to_string(),
        (true, Capacity::Speed(_)) => "Limit is bandwidth.".to_string(),
        (true, Capacity::Shaper(_)) => format!("Limit is the shaper {}.", link.now.qdisc.as_deref().unwrap_or("?")),
    };
    Some(Symptom {
        rule: RuleId::R3,
        subject: name.clone(),
        severity: if is_full { FindingSeverity::Finding } else { FindingSeverity::Note },
        confidence: RuleConfidence::Certain,
        since_ns: stretch.start_ns(),
        sentence: format!(
            "{name} is {verb} {} = {util:.0} % of {} ({duplex}) for {{for}}; queue {}, {} overlimits/s. {limited}{}{}",
            rate_words(bits),
            rate_words(room.bits_per_s()),
            figure(link.now.qdisc_backlog_bytes, "B"),
            figure(link.overlimits, ""),
            small(link, limit),
            imbalance(link, links, limit),
        ),
        evidence: evidence(link),
        next: match room {
            Capacity::Speed(_) => "Move traffic to another link, use a faster one or a bond, or make the load smaller; `iodyno stat net -x` shows both directions and the queue.",
            Capacity::Shaper(_) => "Raise the shaper's rate if it is not meant to be the limit (`tc -s qdisc show`); the link itself could carry more.",
        }
        .to_string(),
        explains: vec![(RuleId::R11, Some(name.clone()))],
        clear_s: None,
    })
}

/// " Small packets (90 B)." where they are.
fn small(link: &Link<'_>, limit: &thresholds::Network) -> String {
    match link.packets[link.way].map(|packets| link.bytes[link.way] / packets) {
        Some(size) if size < limit.small_packet_bytes => format!(" Small packets ({size:.0} B)."),
        _ => String::new(),
    }
}

/// Says that the other members of its bond have less to do.
fn imbalance(link: &Link<'_>, links: &[Link<'_>], limit: &thresholds::Network) -> String {
    let Some(master) = &link.now.master else { return String::new() };
    let members: Vec<&Link<'_>> = links.iter().filter(|other| other.now.master.as_ref() == Some(master)).collect();
    let least = members.iter().min_by(|a, b| a.bits[link.way].total_cmp(&b.bits[link.way]));
    match least {
        Some(least) if members.len() > 1 && link.bits[link.way] > limit.bond_ratio * least.bits[link.way] => format!(
            " {master} is out of balance: its member {} carries only {}.",
            least.now.interface,
            rate_words(least.bits[link.way])
        ),
        _ => String::new(),
    }
}

/// A CPU's input queue overflows although no link is full: packets are the limit.
fn packets(stretch: WindowSlice<'_>, links: &[Link<'_>], limit: &thresholds::Network) -> Option<Symptom> {
    let of = |value: fn(&SystemUse) -> Option<f64>| stretch.mean(|moment| value(moment.system.as_ref()?));
    let (drops, squeezed) = (of(|system| system.softnet_drops_per_s), of(|system| system.softnet_squeezed_per_s));
    if !drops.is_some_and(|drops| drops > 0.0) && !squeezed.is_some_and(|times| times > limit.squeezed_per_s) {
        return None;
    }
    let received = |link: &Link<'_>| link.packets[0].unwrap_or(0.0);
    let link = links.iter().max_by(|a, b| received(a).total_cmp(&received(b)))?;
    if link.util_percent().is_some_and(|util| util >= limit.packet_util_percent) {
        return None;
    }
    let mut evidence = evidence(link);
    evidence.push(FindingEvidence::new("packets dropped from input queues", drops, "1/s"));
    evidence.push(FindingEvidence::new("times a CPU left packets for later", squeezed, "1/s"));
    let name = &link.now.interface;
    Some(Symptom {
        rule: RuleId::R3,
        subject: name.clone(),
        severity: FindingSeverity::Finding,
        // Input queues belong to CPUs: that it is this link is inferred.
        confidence: RuleConfidence::Likely,
        since_ns: stretch.start_ns(),
        sentence: format!(
            "{name} is receiving {} packets/s ({}) for {{for}}; input queues dropped {}/s and CPUs left packets for later {} times/s. Limit is packet rate{}.{}",
            figure(link.packets[0].map(f64::round), ""),
            rate_words(link.bits[0]),
            figure(drops, ""),
            figure(squeezed, ""),
            if link.used.is_none() { " (the speed of the link is not known)" } else { ", not bandwidth" },
            small(link, limit),
        ),
        evidence,
        next: "Spread the packets over more CPUs (more queues, RPS), or make them larger (GRO, larger writes)."
            .to_string(),
        explains: Vec::new(),
        clear_s: None,
    })
}

fn rate_words(bits: f64) -> String {
    if bits >= 1e9 { format!("{:.1} Gbit/s", bits / 1e9) } else { format!("{:.0} Mbit/s", bits / 1e6) }
}

fn evidence(link: &Link<'_>) -> Vec<FindingEvidence> {
    let mega = |bits: f64| bits / 1e6;
    vec![
        FindingEvidence::new("receiving, on the wire", mega(link.bits[0]), "Mbit/s"),
        FindingEvidence::new("sending, on the wire", mega(link.bits[1]), "Mbit/s"),
        FindingEvidence::new("speed", link.speed.map(mega), "Mbit/s"),
        FindingEvidence::new("shaped to", link.now.shaped_bits_per_s.map(mega), "Mbit/s"),
        FindingEvidence::new("utilization", link.util_percent(), "%"),
        FindingEvidence::new("packets received", link.packets[0], "1/s"),
        FindingEvidence::new("packets sent", link.packets[1], "1/s"),
        FindingEvidence::new("received and dropped", link.rx_drops, "1/s"),
        FindingEvidence::new("dropped by the queueing discipline", link.qdisc_drops, "1/s"),
        FindingEvidence::new("held back by it", link.overlimits, "1/s"),
        FindingEvidence::new("waiting in it", link.now.qdisc_backlog_bytes, "B"),
    ]
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, LinkStep};
    use crate::{FindingSeverity, RuleId, Thresholds};

    /// Sends `mbit` of payload per second in full frames.
    fn sending(mbit: f64) -> LinkStep {
        let frames = mbit * 1e6 / 8.0 / 1448.0;
        LinkStep { tx_bytes_per_s: frames * 1514.0, tx_packets_per_s: frames, ..LinkStep::default() }
    }

    #[test]
    fn a_ten_gigabit_link_that_netperf_fills() {
        // netperf: 9.78 Gbit/s; with frames of 9,000 B, as it needs for that.
        let run = |share: f64| {
            let mut bench = Bench::new();
            bench.steps(12, 1.0, |step| {
                let frames = share * 9.78e9 / 8.0 / 8948.0;
                let sent =
                    LinkStep { tx_bytes_per_s: frames * 9014.0, tx_packets_per_s: frames, ..LinkStep::default() };
                step.link("ixgbe2", sent).speed_bits_per_s = Some(10_000_000_000);
            });
            bench
        };
        let full = run(1.0);
        let found = full.only(RuleId::R3);
        assert!(
            found.sentence.contains("ixgbe2 is transmitting 9.9 Gbit/s = 99 % of 10.0 Gbit/s (duplex full)"),
            "{}",
            found.sentence
        );
        assert!(found.sentence.contains("Limit is bandwidth."));
        run(0.5).is_silent();
    }

    #[test]
    fn three_gigabit_links_of_an_nfs_server() {
        let mut bench = Bench::new();
        bench.steps(12, 1.0, |step| {
            for link in ["nge0", "nge1", "nge2"] {
                step.link(link, sending(800.0));
            }
        });
        // 100 MB/s each: near the limit, not at it.
        let notes: Vec<_> =
            bench.engine().findings().iter().map(|found| (found.subject.as_str(), found.severity)).collect();
        assert_eq!(notes, ["nge0", "nge1", "nge2"].map(|link| (link, FindingSeverity::Note)));
    }

    #[test]
    fn the_source_s_eight_per_cent_is_silent() {
        let mut bench = Bench::new();
        bench.steps(12, 10.0, |step| {
            let sent = LinkStep {
                tx_bytes_per_s: 10_117.91 * 1024.0,
                tx_packets_per_s: 7120.07,
                rx_bytes_per_s: 0.34 * 1024.0,
                rx_packets_per_s: 5.4,
                ..LinkStep::default()
            };
            step.link("e1000g0", sent);
        });
        bench.is_silent();
        assert!(bench.engine().findings().is_empty());
    }

    #[test]
    fn a_shaper_is_named() {
        // veth, tbf 200 Mbit/s: nicstat showed 24,394.6 kB/s and 2 % of 10 Gbit/s.
        let run = |kbytes: f64, overlimits: f64| {
            let mut bench = Bench::new();
            bench.steps(8, 1.0, |step| {
                let sent = LinkStep {
                    tx_bytes_per_s: kbytes * 1024.0,
                    tx_packets_per_s: 16_388.4,
                    overlimits_per_s: overlimits,
                    ..LinkStep::default()
                };
                let row = step.link("vA", sent);
                row.speed_bits_per_s = Some(10_000_000_000);
                row.qdisc = Some("tbf".into());
                row.qdisc_rate_bits_per_s = Some(200_000_000);
                row.qdisc_backlog_bytes = Some(83_270);
            });
            bench
        };
        let full = run(24_394.6, 16_000.0);
        let found = full.only(RuleId::R3);
        assert!(found.sentence.contains("vA is transmitting 200 Mbit/s = 100 % of 200 Mbit/s"), "{}", found.sentence);
        assert!(found.sentence.contains("Limit is the shaper tbf."), "{}", found.sentence);
        run(12_000.0, 0.0).is_silent();
    }

    #[test]
    fn half_duplex_counts_both_directions() {
        let mut bench = Bench::new();
        bench.steps(8, 1.0, |step| {
            let both = LinkStep { rx_bytes_per_s: 6.0e6, rx_packets_per_s: 4000.0, ..sending(46.0) };
            let row = step.link("eth0", both);
            (row.speed_bits_per_s, row.full_duplex) = (Some(100_000_000), Some(false));
        });
        assert!(bench.only(RuleId::R3).sentence.contains("eth0 is transferring"));
    }

    #[test]
    fn a_duplex_that_the_user_says() {
        let run = |said: &str| {
            let mut bench = Bench::with(Thresholds::parse(&format!("[speed]\n{said}")).unwrap());
            let both = LinkStep { rx_bytes_per_s: 6.0e6, rx_packets_per_s: 4000.0, ..sending(46.0) };
            bench.steps(8, 1.0, |step| step.link("eth0", both).speed_bits_per_s = Some(100_000_000));
            bench
        };
        let half = run("eth0 = \"100mhd\"");
        assert!(half.only(RuleId::R3).sentence.contains("eth0 is transferring"));
        run("eth0 = \"100m\"").is_silent();
        run("eth0 = \"100mfd\"").is_silent();
    }

    #[test]
    fn packets_not_bytes() {
        let run = |drops: f64, squeezed: f64| {
            let mut bench = Bench::new();
            bench.steps(8, 1.0, |step| {
                let small =
                    LinkStep { rx_bytes_per_s: 400_000.0 * 60.0, rx_packets_per_s: 400_000.0, ..LinkStep::default() };
                step.link("eth0", small).speed_bits_per_s = Some(10_000_000_000);
                step.system(20_000.0, drops, squeezed);
            });
            bench
        };
        let found = run(1200.0, 0.0);
        let sentence = &found.only(RuleId::R3).sentence;
        assert!(sentence.contains("Limit is packet rate, not bandwidth. Small packets (60 B)."), "{sentence}");
        run(0.0, 100.0).only(RuleId::R3);
        run(0.0, 25.0).is_silent();
    }

    #[test]
    fn a_bond_out_of_balance() {
        let mut bench = Bench::new();
        bench.steps(8, 1.0, |step| {
            step.link("eth0", sending(940.0)).master = Some("bond0".into());
            step.link("eth1", sending(100.0)).master = Some("bond0".into());
        });
        let sentence = &bench.only(RuleId::R3).sentence;
        assert!(sentence.contains("bond0 is out of balance: its member eth1 carries only 106 Mbit/s"), "{sentence}");
    }

    #[test]
    fn an_unknown_speed_is_not_judged() {
        let mut bench = Bench::new();
        bench.steps(8, 1.0, |step| step.link("tun0", sending(9000.0)).speed_bits_per_s = None);
        bench.is_silent();
    }

    #[test]
    fn a_speed_that_the_user_says() {
        let run = |said: &str| {
            let mut bench = Bench::with(Thresholds::parse(&format!("[speed]\n{said}")).unwrap());
            bench.steps(8, 1.0, |step| step.link("tun0", sending(950.0)).speed_bits_per_s = None);
            bench
        };
        let found = run("tun0 = \"1g\"");
        assert!(found.only(RuleId::R3).sentence.contains("% of 1.0 Gbit/s"), "{:#?}", found.engine().findings());
        run("tun0 = \"10g\"").is_silent();
        run("tun1 = \"1g\"").is_silent();
    }

    #[test]
    fn a_note_of_another_link_does_not_hide_the_packets() {
        let mut bench = Bench::new();
        bench.steps(8, 1.0, |step| {
            step.link("eth1", sending(800.0));
            let small =
                LinkStep { rx_bytes_per_s: 400_000.0 * 60.0, rx_packets_per_s: 400_000.0, ..LinkStep::default() };
            step.link("eth0", small).speed_bits_per_s = Some(10_000_000_000);
            step.system(20_000.0, 1200.0, 0.0);
        });
        assert_eq!(bench.only(RuleId::R3).subject, "eth0");
        assert!(
            bench.engine().findings().iter().any(|one| one.subject == "eth1" && one.severity == FindingSeverity::Note)
        );
    }
}
