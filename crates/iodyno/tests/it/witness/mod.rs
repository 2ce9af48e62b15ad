//! What a load did, by a witness that does not ask iodyno: a disk that logs every request.

mod coverage;
mod depth;
mod engine_choice;
mod rates;

use crate::support::FaultyDisk;

/// A disk whose device merges no requests, so that its log has one entry for each.
fn witness() -> Option<FaultyDisk> {
    let place = FaultyDisk::new()?;
    let name = place.device.path().file_name()?.to_str()?;
    std::fs::write(format!("/sys/block/{name}/queue/nomerges"), "2").unwrap();
    Some(place)
}
