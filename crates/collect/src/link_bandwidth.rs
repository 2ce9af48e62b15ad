//! What the way to a device or out of an interface can carry at most: bytes per second of payload in one direction, by the links
//! in between. What the kernel does not tell of a link limits nothing here.

use crate::text::small;
use std::path::Path;

/// One link, or several side by side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    pub(crate) bytes_per_s: u64,
    /// `PCIe 8.0 GT/s x4`.
    pub(crate) what: String,
}

/// The narrowest of all links on the way to a disk: `directory` is its own in `/sys/devices`, without symbolic links.
pub(crate) fn of_disk(root: &Path, directory: &Path) -> Option<Limit> {
    // The block device of NVMe with several paths is not below its controller; its first path tells.
    let controller = std::fs::canonicalize(directory.join("device")).ok();
    let ways = [Some(directory.to_path_buf()), controller].into_iter().flatten();
    let limits = ways.flat_map(|way| {
        let above = way.ancestors().filter_map(|part| pcie(part).or_else(|| sas(root, part)));
        above.chain(transport(root, &way)).collect::<Vec<Limit>>()
    });
    limits.min_by_key(|limit| limit.bytes_per_s)
}

/// The narrower of an interface's own speed and of the links between it and the memory; `directory` is that of its hardware.
pub(crate) fn of_interface(directory: Option<&Path>, bits_per_s: Option<i64>) -> Option<Limit> {
    let port = bits_per_s
        .and_then(|bits| u64::try_from(bits).ok())
        .map(|bits| Limit { bytes_per_s: bits / 8, what: format!("port {} Mbit/s", bits / 1_000_000) });
    let above = directory.into_iter().flat_map(Path::ancestors).filter_map(pcie);
    above.chain(port).min_by_key(|limit| limit.bytes_per_s)
}

/// A PCIe function's link, as it was negotiated: transfers per second and lane × lanes × what the encoding leaves (8b/10b up to
/// 5 GT/s, 128b/130b up to 32, 242 of 256 bytes of a flit at 64).
fn pcie(function: &Path) -> Option<Limit> {
    let speed = small(&function.join("current_link_speed"))?;
    let width: u64 = small(&function.join("current_link_width"))?.parse().ok().filter(|lanes| *lanes > 0)?;
    let giga: f64 = speed.split(' ').next()?.parse().ok()?;
    let left = match giga {
        giga if giga <= 5.0 => 8.0 / 10.0,
        giga if giga <= 32.0 => 128.0 / 130.0,
        _ => 242.0 / 256.0,
    };
    Some(limit(giga * left, width, format!("PCIe {giga:.1} GT/s x{width}")))
}

/// A SAS port: the slowest rate of its phys × their number; 8b/10b up to 12 Gbit/s, 128b/150b above.
fn sas(root: &Path, port: &Path) -> Option<Limit> {
    port.file_name()?.to_str()?.strip_prefix("port-")?;
    let phys = std::fs::read_dir(port).ok()?.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok().filter(|name| name.starts_with("phy-"))?;
        let rate = small(&root.join("sys/class/sas_phy").join(name).join("negotiated_linkrate"))?;
        rate.split(' ').next()?.parse::<f64>().ok()
    });
    let phys: Vec<f64> = phys.collect();
    let slowest = phys.iter().copied().reduce(f64::min)?;
    let left = if slowest > 12.0 { 128.0 / 150.0 } else { 8.0 / 10.0 };
    Some(limit(slowest * left, phys.len() as u64, format!("SAS {slowest:.1} Gbit/s x{}", phys.len())))
}

/// A SATA link, or the port of Fibre Channel.
fn transport(root: &Path, way: &Path) -> Option<Limit> {
    let numbered = |word: &str| {
        let mut parts = way.iter().filter_map(|part| part.to_str()?.strip_prefix(word));
        parts.rfind(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let number = |text: String| text.split(' ').next()?.parse::<f64>().ok().filter(|giga| *giga > 0.0);
    let sata = numbered("ata").and_then(|at| {
        let giga = number(small(&root.join(format!("sys/class/ata_link/link{at}/sata_spd")))?)?;
        Some(limit(giga * 8.0 / 10.0, 1, format!("SATA {giga:.1} Gbit/s")))
    });
    let fibre = || {
        let giga = number(small(&root.join(format!("sys/class/fc_host/host{}/speed", numbered("host")?)))?)?;
        // Its names are round: 16GFC carries 1600 MB/s, whatever the line's rate and encoding are.
        Some(limit(giga * 0.8, 1, format!("Fibre Channel {giga:.0} Gbit/s")))
    };
    sata.or_else(fibre)
}

/// So many payload Gbit/s on each of `lanes`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate that hardware has")]
fn limit(giga: f64, lanes: u64, what: String) -> Limit {
    Limit { bytes_per_s: (giga * 1e9 / 8.0 * lanes as f64).round() as u64, what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};

    /// Files (path, content) of a tree.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            create_dir_all(path.parent().unwrap()).unwrap();
            write(path, content).unwrap();
        }
        root
    }

    fn check(disk: &str, files: &[(&str, &str)], expect: Option<(u64, &str)>) {
        let root = tree(files);
        let directory = root.path().join("sys/devices").join(disk);
        create_dir_all(&directory).unwrap();
        let found = of_disk(root.path(), &directory);
        let found = found.as_ref().map(|limit| (limit.bytes_per_s, limit.what.as_str()));
        assert_eq!(found, expect, "{disk}");
    }

    #[test]
    fn pcie_by_generation() {
        for (speed, width, bytes_per_s, what) in [
            ("2.5 GT/s PCIe", "1", 250_000_000, "PCIe 2.5 GT/s x1"),
            ("5 GT/s", "4", 2_000_000_000, "PCIe 5.0 GT/s x4"),
            ("8.0 GT/s PCIe", "4", 3_938_461_538, "PCIe 8.0 GT/s x4"),
            ("16.0 GT/s PCIe", "4", 7_876_923_077, "PCIe 16.0 GT/s x4"),
            ("64.0 GT/s PCIe", "16", 121_000_000_000, "PCIe 64.0 GT/s x16"),
        ] {
            let nvme = [
                ("sys/devices/pci0/0000:02:00.0/current_link_speed", speed),
                ("sys/devices/pci0/0000:02:00.0/current_link_width", width),
            ];
            check("pci0/0000:02:00.0/nvme/nvme0/nvme0n1", &nvme, Some((bytes_per_s, what)));
        }
        let unknown = [
            ("sys/devices/pci0/0000:02:00.0/current_link_speed", "Unknown"),
            ("sys/devices/pci0/0000:02:00.0/current_link_width", "0"),
        ];
        check("pci0/0000:02:00.0/virtio1/block/vda", &unknown, None);
    }

    #[test]
    fn the_narrowest_link_on_the_way_counts() {
        let behind_a_switch = [
            ("sys/devices/pci0/0000:00:01.0/current_link_speed", "8.0 GT/s PCIe"),
            ("sys/devices/pci0/0000:00:01.0/current_link_width", "1"),
            ("sys/devices/pci0/0000:00:01.0/0000:02:00.0/current_link_speed", "8.0 GT/s PCIe"),
            ("sys/devices/pci0/0000:00:01.0/0000:02:00.0/current_link_width", "4"),
        ];
        let expect = Some((984_615_385, "PCIe 8.0 GT/s x1"));
        check("pci0/0000:00:01.0/0000:02:00.0/nvme/nvme0/nvme0n1", &behind_a_switch, expect);
    }

    #[test]
    fn sas_sata_and_fibre_channel() {
        let hba = |speed| {
            [
                ("sys/devices/pci0/0000:05:00.0/current_link_speed", speed),
                ("sys/devices/pci0/0000:05:00.0/current_link_width", "8"),
            ]
        };
        let wide =
            "pci0/0000:05:00.0/host0/port-0:0/expander-0:0/port-0:0:3/end_device-0:0:3/target0:0:3/0:0:3:0/block/sdd";
        let mut files = hba("8.0 GT/s PCIe").to_vec();
        files.extend([
            ("sys/devices/pci0/0000:05:00.0/host0/port-0:0/phy-0:0/x", ""),
            ("sys/devices/pci0/0000:05:00.0/host0/port-0:0/phy-0:1/x", ""),
            ("sys/devices/pci0/0000:05:00.0/host0/port-0:0/expander-0:0/port-0:0:3/phy-0:0:3/x", ""),
            ("sys/class/sas_phy/phy-0:0/negotiated_linkrate", "12.0 Gbit"),
            ("sys/class/sas_phy/phy-0:1/negotiated_linkrate", "12.0 Gbit"),
            ("sys/class/sas_phy/phy-0:0:3/negotiated_linkrate", "6.0 Gbit"),
        ]);
        check(wide, &files, Some((600_000_000, "SAS 6.0 Gbit/s x1")));
        // The port that the expander hangs on, where sysfs does not show the disk's own.
        files.pop();
        check(wide, &files, Some((2_400_000_000, "SAS 12.0 Gbit/s x2")));
        let sata = [("sys/class/ata_link/link3/sata_spd", "6.0 Gbps")];
        check(
            "pci0/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sda",
            &sata,
            Some((600_000_000, "SATA 6.0 Gbit/s")),
        );
        let fibre = [("sys/class/fc_host/host7/speed", "16 Gbit")];
        let path = "pci0/0000:05:00.0/host7/rport-7:0-1/target7:0:1/7:0:1:0/block/sdb";
        check(path, &fibre, Some((1_600_000_000, "Fibre Channel 16 Gbit/s")));
        check(path, &[("sys/class/fc_host/host7/speed", "unknown")], None);
    }

    #[test]
    fn an_interface_in_a_slot_that_is_too_narrow() {
        let root = tree(&[
            ("sys/devices/pci0/0000:03:00.0/current_link_speed", "5.0 GT/s PCIe"),
            ("sys/devices/pci0/0000:03:00.0/current_link_width", "1"),
        ]);
        let card = root.path().join("sys/devices/pci0/0000:03:00.0");
        let of = |bits| of_interface(Some(&card), bits).map(|limit| (limit.bytes_per_s, limit.what));
        assert_eq!(of(Some(10_000_000_000)), Some((500_000_000, "PCIe 5.0 GT/s x1".to_string())));
        assert_eq!(of(Some(1_000_000_000)), Some((125_000_000, "port 1000 Mbit/s".to_string())));
        assert_eq!(of_interface(None, None), None);
    }
}
