//! What messages of the kernel and of multipathing say of paths to storage, and of network links.

/// What a message about a path says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Lost,
    Timeout,
    Degraded,
    FailoverStarted,
    FailoverDone,
    Restored,
    FailedBack,
}

/// What one message says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathWords {
    /// Of a path to storage, or of the device behind it.
    Path { step: Step, path: String, device: Option<String> },
    /// So many paths of a device are left.
    Remaining { device: String, count: u32 },
    /// A network interface has a link, or has none any more.
    Link { interface: String, is_up: bool },
}

/// `None` when it says nothing of either.
pub(crate) fn said(message: &str) -> Option<PathWords> {
    let lower = message.to_ascii_lowercase();
    if let Some((before, behind)) = lower.split_once("remaining active paths:") {
        let device = before.split_whitespace().next_back()?.trim_matches(':').to_string();
        let count = behind.split_whitespace().next()?.trim_matches('.').parse().ok()?;
        return Some(PathWords::Remaining { device, count });
    }
    // A reset of its port: R14 tells of it.
    if lower.contains("sata link up") {
        return None;
    }
    let step = step(&lower)?;
    if matches!(step, Step::Lost | Step::Restored)
        && let Some(interface) = interface(message, &lower)
    {
        // What programs make has no cable that could break.
        let is_virtual = lower.contains("virtio") || is_virtual(interface);
        return (!is_virtual)
            .then(|| PathWords::Link { interface: interface.to_string(), is_up: step == Step::Restored });
    }
    Some(PathWords::Path { step, path: name(message), device: device(message, &lower) })
}

fn step(lower: &str) -> Option<Step> {
    const WORDS: &[(&str, Step)] = &[
        ("failback operation succeeded", Step::FailedBack),
        ("failover operation completed", Step::FailoverDone),
        ("initiating failover", Step::FailoverStarted),
        ("multipath status: degraded", Step::Degraded),
        ("multipath status: optimal", Step::Restored),
        ("offline timeout", Step::Timeout),
        ("blocked fc remote port time out", Step::Timeout),
        ("link down", Step::Lost),
        ("link is down", Step::Lost),
        ("loop down detected", Step::Lost),
        ("failing path", Step::Lost),
        ("checker failed path", Step::Lost),
        ("path is down", Step::Lost),
        ("link up", Step::Restored),
        ("link is up", Step::Restored),
        ("loop up detected", Step::Restored),
        ("reinstating path", Step::Restored),
        ("reinstated", Step::Restored),
    ];
    WORDS.iter().find(|(words, _)| lower.contains(words)).map(|(_, step)| *step)
}

fn clean(word: &str) -> &str {
    word.trim_matches(|c: char| "[]():.,".contains(c))
}

/// The network interface whose link a message is about: what stands before `NIC Link is`, `Link is` (the kernel's words for
/// networks), or before `Link down` if it is called like an interface.
fn interface<'a>(message: &'a str, lower: &str) -> Option<&'a str> {
    let find = |words: &str| lower.find(words).map(|at| &message[..at]);
    let named = |before: &'a str| before.split_whitespace().next_back().map(clean).filter(|name| !name.is_empty());
    if let Some(before) = find("nic link").or_else(|| find("link is ")) {
        return named(before);
    }
    let name = named(find("link down").or_else(|| find("link up"))?)?;
    let is_name = ["eth", "en", "em", "wl", "ww", "ib", "bond", "team", "usb", "docker", "veth", "virbr", "br-"]
        .iter()
        .filter_map(|prefix| name.strip_prefix(prefix))
        .any(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || "opsx".contains(c)) || name.contains('-'));
    // `emlxs0` is a port of a storage network.
    (is_name && !name.starts_with("emlxs")).then_some(name)
}

fn is_virtual(interface: &str) -> bool {
    const NAMES: &[&str] = &[
        "docker", "veth", "virbr", "br-", "vnet", "tap", "tun", "dummy", "cni", "flannel", "cali", "wg", "vxlan",
        "macv", "ifb", "lxc",
    ];
    rates::is_loopback(interface) || NAMES.iter().any(|name| interface.starts_with(name))
}

/// The device behind the paths: what stands before `multipath status`, in brackets if it has any, or the number of a map.
fn device(message: &str, lower: &str) -> Option<String> {
    if let Some(at) = lower.find(" multipath status") {
        return message[..at].split_whitespace().next_back().map(|word| clean(word).to_string());
    }
    let before = &message[..lower.find("failing path").or_else(|| lower.find("reinstating path"))?];
    before.split_whitespace().next_back().map(clean).filter(|word| numbers(word).is_some()).map(String::from)
}

/// `8:16`.
fn numbers(word: &str) -> Option<(u32, u32)> {
    let (major, minor) = word.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// What the kernel calls a device that a message calls by its number: `8:16` is `sdb`, `253:0` is `dm-0`.
pub(crate) fn kernel_name(device: &str) -> String {
    let Some((major, minor)) = numbers(device) else { return device.to_string() };
    let disk = match major {
        8 => minor / 16,
        65..=71 => (major - 64) * 16 + minor / 16,
        252..=254 => return format!("dm-{minor}"),
        _ => return device.to_string(),
    };
    let letter = |at: u32| char::from(b'a' + u8::try_from(at % 26).unwrap_or(0));
    match disk / 26 {
        0 => format!("sd{}", letter(disk)),
        more => format!("sd{}{}", letter(more - 1), letter(disk)),
    }
}

/// Is it a port of a storage network, behind which there are paths of several devices?
pub(crate) fn is_port(path: &str) -> bool {
    numbers(path).is_none() && !path.starts_with("sd")
}

/// What the message calls the path: its number, what stands behind `path` or before ` - `, else the first word that looks
/// like a name with a number.
pub(crate) fn name(message: &str) -> String {
    let clean = |word: &str| clean(word).to_string();
    let words: Vec<&str> = message.split_whitespace().collect();
    let at = words.iter().position(|word| word.eq_ignore_ascii_case("path"));
    if at.is_some() || message.contains("reinstated") {
        let behind = at.and_then(|at| words.get(at + 1)).filter(|word| !word.eq_ignore_ascii_case("is"));
        // The last number: that of the map stands before it.
        let number = words.iter().rev().find(|word| numbers(word.trim_matches([':', '.', ','])).is_some());
        let before = words.iter().position(|word| *word == "-").and_then(|at| words.get(at.checked_sub(1)?));
        if let Some(path) = behind.or(number).or(before) {
            return clean(path);
        }
    }
    // Time stamps stand before it, in brackets: `[ 5.0314]emlxs0:`.
    let behind = message.rsplit(']').next().unwrap_or(message);
    let is_name = |word: &&str| {
        word.starts_with(|first: char| first.is_ascii_alphabetic()) && word.contains(|c: char| c.is_ascii_digit())
    };
    let found = behind.split_whitespace().find(is_name).or_else(|| behind.split_whitespace().next());
    clean(found.unwrap_or(message))
}

#[cfg(test)]
mod tests {
    use super::{PathWords, kernel_name, name, said};

    #[test]
    fn names_of_paths() {
        for (message, expect) in [
            ("[ 5.0314]emlxs0: NOTICE: 710: Link down.", "emlxs0"),
            ("device-mapper: multipath: Failing path 8:16.", "8:16"),
            ("qla2xxx [0000:05:00.0]-500b:2: LOOP DOWN detected", "-500b:2"),
            ("ixgbe 0000:03:00.0 eth2: NIC Link is Down", "eth2"),
            ("mpatha: 8:16 - tur checker reports path is down", "8:16"),
            ("mpatha: sdb - directio checker reports path is down", "sdb"),
            ("8:32: reinstated", "8:32"),
        ] {
            assert_eq!(name(message), expect, "{message}");
        }
        for (number, expect) in
            [("8:16", "sdb"), ("65:0", "sdq"), ("65:160", "sdaa"), ("253:3", "dm-3"), ("ssd1", "ssd1")]
        {
            assert_eq!(kernel_name(number), expect);
        }
    }

    #[test]
    fn network_links_are_no_paths() {
        let link = |interface: &str, is_up| Some(PathWords::Link { interface: interface.to_string(), is_up });
        for (message, expect) in [
            ("e1000e 0000:00:19.0 eth0: NIC Link is Down", link("eth0", false)),
            ("igb: enp3s0 NIC Link is Up 1000 Mbps Full Duplex", link("enp3s0", true)),
            ("mlx5_core 0000:3b:00.0 ens1f0: Link down", link("ens1f0", false)),
            ("docker0: Link is Down", None),
            ("veth12ab: Link is Up", None),
            ("virtio_net virtio0 eth0: Link is Down", None),
        ] {
            assert_eq!(said(message), expect, "{message}");
        }
        for message in ["lpfc 0000:05:00.0: 0:1305 Link Down Event x2 received", "ata1: SATA link down (SStatus 0)"] {
            assert!(matches!(said(message), Some(PathWords::Path { .. })), "{message}");
        }
        let left = Some(PathWords::Remaining { device: "mpatha".to_string(), count: 1 });
        assert_eq!(said("multipathd: mpatha: remaining active paths: 1"), left);
    }
}
