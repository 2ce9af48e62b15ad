//! Whether a journal lies on the device that it is about.

use data_journal::common_device;
use testkit::LoopDevice;

#[test]
fn a_journal_beside_its_target_is_found_out() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("target"), "x").unwrap();
    let beside = common_device(&place.path().join("new/j"), &place.path().join("target")).unwrap();
    assert!(beside.is_some());
    assert_eq!(common_device(&place.path().join("j"), &place.path().join("new file")).unwrap(), beside);
    let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
    std::fs::write(elsewhere.path().join("target"), "x").unwrap();
    assert_eq!(common_device(place.path(), &elsewhere.path().join("target")).unwrap(), None);
    assert!(common_device(place.path(), std::path::Path::new("/dev/shm/no/such/file")).is_err());
    if !testkit::require_root_or_skip() {
        return;
    }
    // A loop device stands on what its file stands on.
    let device = LoopDevice::new(1 << 20).unwrap();
    let file = device.backing().to_path_buf();
    let of_file = common_device(file.parent().unwrap(), device.path()).unwrap();
    assert!(of_file.is_some(), "{} and {}", file.display(), device.path().display());
}
