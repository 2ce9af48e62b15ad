//! The probes held against the types of other kernels (fixtures/btf): which tracepoints are there, and whether every
//! field that a probe reads is where it looks for it, or is one that it does without. That they load there as well is
//! seen by booting these kernels (bench/kernels.sh).

use crate::{Kernel, ProgramState, block, errors, files, irq, profile, requests, sched};
use libbpf_rs::btf::types::{Struct, Union};
use libbpf_rs::btf::{Btf, BtfType, TypeId};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Structures of ours, in case a kernel has one of the same name.
const OURS: [&str; 17] = [
    "key",
    "record",
    "start",
    "queued",
    "origin",
    "beginning",
    "counters",
    "actor",
    "flood",
    "slot",
    "thread",
    "pair",
    "cpu",
    "sums",
    "name",
    "victim",
    "stack",
];

/// The kernel's types, decompressed into `folder`.
fn unpacked(folder: &Path, version: &str) -> PathBuf {
    let packed = format!("{}/../../fixtures/btf/linux-{version}.btf.zst", env!("CARGO_MANIFEST_DIR"));
    let path = folder.join(version);
    let done = Command::new("zstd").args(["-dqf", &packed, "-o"]).arg(&path).status().expect("zstd is installed");
    assert!(done.success(), "{packed}");
    path
}

/// Names of the fields of a structure, those of nameless ones inside of it included.
fn fields(btf: &Btf<'_>, id: TypeId, depth: u32) -> Vec<String> {
    let mut names = Vec::new();
    let mut add = |name: Option<&std::ffi::OsStr>, ty: TypeId| match name.filter(|name| !name.is_empty()) {
        Some(name) => names.push(name.to_string_lossy().into_owned()),
        None if depth < 6 => {
            let inner = btf.type_by_id::<BtfType<'_>>(ty).map(|inner| inner.skip_mods_and_typedefs().type_id());
            names.extend(inner.into_iter().flat_map(|inner| fields(btf, inner, depth + 1)));
        }
        None => {}
    };
    if let Some(found) = btf.type_by_id::<Struct<'_>>(id) {
        found.iter().for_each(|member| add(member.name, member.ty));
    } else if let Some(found) = btf.type_by_id::<Union<'_>>(id) {
        found.iter().for_each(|member| add(member.name, member.ty));
    }
    names
}

/// `structure.field` that the probe declares and the kernel does not have, of structures that the kernel has.
fn absent(object: &Btf<'_>, kernel: &Btf<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for number in 1..object.len() {
        let id = TypeId::from(u32::try_from(number).unwrap());
        let Some(declared) = object.type_by_id::<Struct<'_>>(id) else { continue };
        let Some(name) = declared.name().map(|name| name.to_string_lossy().into_owned()) else { continue };
        let plain = name.split("___").next().unwrap_or(&name);
        let theirs = kernel.type_by_name::<Struct<'_>>(plain).filter(|_| !OURS.contains(&plain));
        let Some(theirs) = theirs else { continue };
        let there = fields(kernel, theirs.type_id(), 0);
        out.extend(
            fields(object, id, 0)
                .into_iter()
                .filter(|field| !there.contains(field))
                .map(|field| format!("{name}.{field}")),
        );
    }
    out.sort();
    out.dedup();
    out
}

/// What is missing of all probes: tracepoints, then fields.
fn missing(version: &str) -> (Vec<&'static str>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = unpacked(folder.path(), version);
    let kernel = Kernel::of_file(&path).unwrap();
    let sets = [block::SET, errors::SET, files::SET, irq::SET, profile::SET, sched::SET];
    let verdicts: Vec<_> = sets.iter().flat_map(|set| set.verdicts(&kernel).unwrap()).collect();
    let tracepoints = verdicts.iter().filter(|verdict| verdict.state == ProgramState::Missing);
    let mut tracepoints: Vec<&str> = tracepoints.map(|verdict| verdict.tracepoint).collect();
    tracepoints.sort_unstable();
    tracepoints.dedup();
    let btf = Btf::from_path(&path).unwrap();
    let mut lacks = Vec::new();
    for set in sets {
        let object = Btf::from_raw("probe", set.object).unwrap().expect("the object has types");
        lacks.extend(absent(&object, &btf));
    }
    lacks.sort();
    lacks.dedup();
    (tracepoints, lacks)
}

#[test]
fn what_other_kernels_lack_is_known_and_done_without() {
    let faults = ["mm_filemap_fault", "mm_filemap_map_pages"];
    // Each field that is absent is looked for before it is read (`bpf_core_field_exists`), or stands in for another.
    let kernels = [
        (
            "6.12",
            vec![],
            vec![
                "bio.issue_time_ns",
                "folio___before_6_6._folio_order",
                "io_kiocb___before_5_19.result",
                "task_struct___before_5_14.state",
                "task_struct___cpu_outside.cpu",
            ],
        ),
        (
            "6.1",
            [&["block_io_done", "block_io_start"], &faults[..]].concat(),
            vec![
                "bio.issue_time_ns",
                "io_kiocb___before_5_19.result",
                "task_struct___before_5_14.state",
                "task_struct___cpu_outside.cpu",
            ],
        ),
        // But for these: `bi_bdev` and `bd_queue` are read as they are, and the probe refuses this kernel as too old.
        (
            "5.10",
            [&["block_io_done", "block_io_start"], &faults[..], &["writeback_dirty_folio"]].concat(),
            vec![
                "bio.bi_bdev",
                "bio.issue_time_ns",
                "block_device.bd_queue",
                "io_kiocb.cqe",
                "request_queue.disk",
                "task_struct.__state",
                "thread_info.cpu",
            ],
        ),
    ];
    for (version, tracepoints, lacks) in kernels {
        let found = missing(version);
        assert_eq!(found.0, tracepoints, "Linux {version}");
        assert_eq!(found.1, lacks, "Linux {version}");
    }
}

#[test]
fn requests_are_seen_where_the_kernel_tells_of_reads_and_writes_of_sockets() {
    let folder = tempfile::tempdir().unwrap();
    let new = unpacked(folder.path(), "6.12");
    let verdicts = requests::SET.verdicts(&Kernel::of_file(&new).unwrap()).unwrap();
    let missing: Vec<_> = verdicts.iter().filter(|verdict| verdict.state == ProgramState::Missing).collect();
    assert_eq!(missing.iter().map(|verdict| verdict.tracepoint).collect::<Vec<_>>(), ["tcp_sendmsg_locked"]);
    assert!(missing[0].words().contains("to the end of the write"), "{}", missing[0].words());
    let object = Btf::from_raw("probe", requests::SET.object).unwrap().expect("the object has types");
    let none: [&str; 0] = [];
    assert_eq!(absent(&object, &Btf::from_path(&new).unwrap()), none);
    for old in ["6.1", "5.10"] {
        let kernel = Kernel::of_file(&unpacked(folder.path(), old)).unwrap();
        let refused = requests::SET.verdicts(&kernel).unwrap_err().to_string();
        assert!(
            refused.contains("no tracepoint sock_send_length") && refused.contains("Linux 6.3 or newer"),
            "{refused}"
        );
    }
}
