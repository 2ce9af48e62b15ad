//! What a load did, by a witness that does not ask iodyno: a disk that logs every request.

mod content;
mod coverage;
mod depth;
mod engine_choice;
mod job_ends;
mod job_files;
mod open;
mod rates;

use crate::support::FaultyDisk;

/// A disk whose device merges no requests, so that its log has one entry for each.
fn witness() -> Option<FaultyDisk> {
    without_merges(FaultyDisk::new()?)
}

/// One whose log has a hash of what every write carried.
fn witness_of_content() -> Option<FaultyDisk> {
    without_merges(FaultyDisk::of(faultfs::DiskConfig { hash: true, ..faultfs::DiskConfig::new(64 << 20) })?)
}

fn without_merges(place: FaultyDisk) -> Option<FaultyDisk> {
    let name = place.device.path().file_name()?.to_str()?;
    std::fs::write(format!("/sys/block/{name}/queue/nomerges"), "2").unwrap();
    Some(place)
}
