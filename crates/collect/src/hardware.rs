//! What the machine is made of, as far as it explains a result.

use crate::devices::{DeviceNumber, DeviceResolver, ResolvedPath, kernel_name};
use crate::link_bandwidth::{self, Limit};
use crate::net;
use crate::text::{lines, small, words as words_of};
use quantity::text::format_throughput;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The inventory of this machine and of what lies under targets (name, path), without targets of all its disks. Unknown values
/// are null.
#[must_use]
pub fn hardware(targets: &[(String, PathBuf)]) -> Value {
    hardware_of(Path::new("/"), targets)
}

/// As [`hardware`] with the `/proc` and `/sys` under `root`.
#[must_use]
pub fn hardware_of(root: &Path, targets: &[(String, PathBuf)]) -> Value {
    let map = DeviceResolver::new(root);
    let mut devices: BTreeMap<DeviceNumber, (String, Value)> = BTreeMap::new();
    let mut described = Vec::new();
    for (name, path) in targets {
        let resolution = map.resolve(path);
        for device in &resolution.devices {
            devices.entry(device.number).or_insert_with(|| {
                let directory = map.directory(device.number).unwrap_or_default();
                (device.name.clone(), describe_device(root, &directory))
            });
        }
        described.push(describe_target(name, path, &resolution));
    }
    let devices: Map<String, Value> =
        if targets.is_empty() { every_device(root) } else { devices.into_values().collect() };
    json!({
        "cpu": cpu(root),
        "memory_bytes": memory_bytes(root),
        "kernel": small(&root.join("proc/version")),
        "system": {
            "vendor": small(&root.join("sys/class/dmi/id/sys_vendor")),
            "product": small(&root.join("sys/class/dmi/id/product_name")),
        },
        "targets": described,
        "devices": devices,
        "controllers": controllers(root),
        "over": over(&map, root),
        "interfaces": interfaces(root),
    })
}

/// Every disk that holds something: of hundreds of loop devices those that have a file.
fn every_device(root: &Path) -> Map<String, Value> {
    let entries = std::fs::read_dir(root.join("sys/block")).into_iter().flatten().flatten();
    let of = |entry: std::fs::DirEntry| {
        let directory = std::fs::canonicalize(entry.path()).ok()?;
        let device = describe_device(root, &directory);
        let is_empty = device["size_bytes"] == 0;
        (!is_empty).then(|| (kernel_name(&directory), device))
    };
    entries.filter_map(of).collect()
}

/// Interfaces that have hardware or are a bond; a host of containers has thousands of others.
fn interfaces(root: &Path) -> Map<String, Value> {
    let entries = std::fs::read_dir(root.join("sys/class/net")).into_iter().flatten().flatten();
    let of = |entry: std::fs::DirEntry| {
        let (name, folder) = (entry.file_name().into_string().ok()?, entry.path());
        let hardware = std::fs::canonicalize(folder.join("device")).ok();
        let is_bond = folder.join("bonding").exists();
        (hardware.is_some() || is_bond).then_some(())?;
        let link = net::link(root, &name);
        let driver = std::fs::read_link(folder.join("device/driver")).ok();
        let driver = driver.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        let limit = link_bandwidth::of_interface(hardware.as_deref(), link.speed_bits_per_s);
        let described = json!({
            "driver": driver.or(is_bond.then(|| "bonding".to_string())),
            "mbit_per_s": link.speed_bits_per_s.map(|bits| bits / 1_000_000),
            "duplex": link.full_duplex.map(|full| if full { "full" } else { "half" }),
            "mtu_bytes": link.mtu_bytes,
            "member_of": link.master,
            "numa_node": small(&folder.join("device/numa_node")),
            "link": hardware.as_deref().map_or(Value::Null, self::link),
            "path": limit.as_ref().map(words),
            "path_bytes_per_s": limit.map(|limit| limit.bytes_per_s),
        });
        Some((name, described))
    };
    entries.filter_map(of).collect()
}

/// Behind the word "path".
fn words(limit: &Limit) -> String {
    format!("carries at most {} ({})", format_throughput(limit.bytes_per_s as f64), limit.what)
}

fn describe_target(name: &str, path: &Path, resolution: &ResolvedPath) -> Value {
    let mount = resolution.mount.as_ref().map(|mount| {
        json!({
            "file_system": mount.file_system,
            "mount_point": mount.mount_point,
            "source": mount.source,
            "options": mount.options,
        })
    });
    json!({
        "target": name,
        "path": path.display().to_string(),
        "mount": mount,
        "devices": resolution.devices.iter().map(|device| &device.name).collect::<Vec<_>>(),
        "chain": resolution.devices.iter().map(|device| &device.chain).collect::<Vec<_>>(),
        "nfs_mounts": resolution.nfs_mounts,
        "reasons": resolution.reasons,
    })
}

/// Model, number of CPUs online; cores and sockets where the kernel reports them.
fn cpu(root: &Path) -> Value {
    let text = std::fs::read(root.join("proc/cpuinfo")).unwrap_or_default();
    let value = |line: &[u8], key: &str| -> Option<String> {
        let line = String::from_utf8_lossy(line);
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_string())
    };
    let all = |key: &str| -> Vec<String> { lines(&text).filter_map(|line| value(line, key)).collect() };
    // x86 says "model name"; others name the CPU in other ways or not at all.
    let model = ["model name", "Model", "cpu", "Processor"].iter().find_map(|key| all(key).into_iter().next());
    let mut cores: Vec<(String, String)> = all("physical id").into_iter().zip(all("core id")).collect();
    cores.sort();
    cores.dedup();
    let mut sockets: Vec<&String> = cores.iter().map(|(socket, _)| socket).collect();
    sockets.dedup();
    let known = |count: usize| (count > 0).then_some(count);
    // Only x86 tells by a flag of the processor whether a hypervisor is below.
    let flags = all("flags").into_iter().next();
    json!({
        "hypervisor": flags.map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
        "model": model,
        "online": known(all("processor").len()),
        "cores": known(cores.len()),
        "sockets": known(sockets.len()),
        "governor": small(&root.join("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        "numa_nodes": small(&root.join("sys/devices/system/node/online")),
    })
}

fn memory_bytes(root: &Path) -> Option<u64> {
    let text = std::fs::read(root.join("proc/meminfo")).ok()?;
    let line = lines(&text).find(|line| line.starts_with(b"MemTotal:"))?;
    let kib: u64 = std::str::from_utf8(words_of(line).nth(1)?).ok()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// Which controller each disk hangs on: the nearest PCI function upwards, with its SCSI host where it has several. Devices
/// that lie on others have none.
fn controllers(root: &Path) -> Map<String, Value> {
    let entries = std::fs::read_dir(root.join("sys/block")).into_iter().flatten().flatten();
    let of = |entry: std::fs::DirEntry| {
        let path = std::fs::canonicalize(entry.path()).ok()?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
        let function = parts.iter().rposition(|part| is_pci_function(part))?;
        let host = parts[function..].iter().find(|part| is_numbered(part, "host") || is_numbered(part, "ata"));
        let controller = match host {
            Some(host) => format!("{} {host}", parts[function]),
            None => parts[function].to_string(),
        };
        Some((name, Value::from(controller)))
    };
    entries.filter_map(of).collect()
}

/// What each disk stands on, all the way down: of device-mapper, md and loop devices. One that stands on nothing, or on what
/// is no device here (memory, the network), is not among them.
fn over(map: &DeviceResolver, root: &Path) -> Map<String, Value> {
    let entries = std::fs::read_dir(root.join("sys/block")).into_iter().flatten().flatten();
    let of = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let below = map.below(&std::fs::canonicalize(entry.path()).ok()?);
        (!below.is_empty()).then(|| (name, Value::from(below)))
    };
    entries.filter_map(of).collect()
}

/// `0000:00:1f.2`.
fn is_pci_function(part: &str) -> bool {
    let hex = |text: &str| !text.is_empty() && text.chars().all(|letter| letter.is_ascii_hexdigit());
    let fields: Vec<&str> = part.split([':', '.']).collect();
    matches!(fields.as_slice(), [domain, bus, device, function] if hex(domain) && hex(bus) && hex(device) && hex(function))
        && part.matches('.').count() == 1
}

/// `host3` of `host`.
fn is_numbered(part: &str, word: &str) -> bool {
    part.strip_prefix(word).is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
}

/// Everything about a device that decides how fast it can be.
fn describe_device(root: &Path, directory: &Path) -> Value {
    // A partition has neither queue nor model; they are its disk's.
    let disk = if directory.join("partition").exists() { directory.parent().unwrap_or(directory) } else { directory };
    let queue = |name: &str| small(&disk.join("queue").join(name));
    let number = |name: &str| queue(name).and_then(|text| text.parse::<u64>().ok());
    let device = |names: &[&str]| names.iter().find_map(|name| small(&disk.join(name)));
    let limit = link_bandwidth::of_disk(root, disk);
    json!({
        "size_bytes": small(&directory.join("size")).and_then(|text| text.parse::<u64>().ok()).map(|sectors| sectors * 512),
        "partition": directory.join("partition").exists(),
        "vendor": device(&["device/vendor"]),
        "model": device(&["device/model", "device/name"]),
        "serial": device(&["device/serial", "serial", "device/vpd_pg80"]),
        "firmware": device(&["device/firmware_rev", "device/rev"]),
        "wwid": device(&["wwid", "device/wwid"]),
        "rotational": number("rotational").map(|flag| flag == 1),
        "scheduler": queue("scheduler").map(|text| chosen(&text)),
        "logical_block_bytes": number("logical_block_size"),
        "physical_block_bytes": number("physical_block_size"),
        "nr_requests": number("nr_requests"),
        "write_cache": queue("write_cache"),
        "max_transfer_bytes": number("max_sectors_kb").map(|kib| kib * 1024),
        "read_ahead_bytes": number("read_ahead_kb").map(|kib| kib * 1024),
        "discard_max_bytes": number("discard_max_bytes"),
        "numa_node": device(&["device/numa_node", "device/device/numa_node"]),
        "link": link(disk),
        "path": limit.as_ref().map(words),
        "path_bytes_per_s": limit.map(|limit| limit.bytes_per_s),
        "backing_file": small(&directory.join("loop/backing_file")),
        "direct_io": small(&directory.join("loop/dio")).map(|flag| flag == "1"),
        "mapped_name": small(&directory.join("dm/name")),
        "raid_level": small(&directory.join("md/level")),
        "read_only": small(&directory.join("ro")).map(|flag| flag == "1"),
    })
}

/// `[none] mq-deadline` → `none`.
fn chosen(text: &str) -> String {
    let chosen = text.split_ascii_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    chosen.unwrap_or(text).to_string()
}

/// Speed and width of the PCIe link that a device hangs on: the nearest one upwards in sysfs.
fn link(disk: &Path) -> Value {
    let found = disk
        .ancestors()
        .chain(std::fs::canonicalize(disk.join("device")).ok().iter().flat_map(|p| p.ancestors()))
        .find_map(|directory| {
            let value = |name: &str| small(&directory.join(name));
            Some(json!({
                "speed": value("current_link_speed")?,
                "width": value("current_link_width"),
                "speed_max": value("max_link_speed"),
                "width_max": value("max_link_width"),
            }))
        });
    found.unwrap_or(Value::Null)
}
