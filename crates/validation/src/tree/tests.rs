use super::*;
use stamp::{DamageClass, StampFlags};

#[derive(Debug)]
struct Two([u64; 2]);

impl FileNames for Two {
    fn files(&self) -> u32 {
        2
    }

    fn bytes(&self, file: u32) -> u64 {
        self.0[file as usize]
    }

    fn path(&self, file: u32) -> String {
        format!("/anchor/{file}")
    }

    fn directory(&self, _file: u32) -> u32 {
        0
    }

    fn layout(&self) -> String {
        "two files".to_string()
    }

    fn look(&self, _file: u32) -> std::io::Result<Option<u64>> {
        Ok(None)
    }

    fn sync_all(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn syncs_names(&self) -> bool {
        false
    }
}

fn tree(sizes: [u64; 2]) -> (TreeValidation, Arc<Reports>) {
    let reports = Arc::new(Reports::default());
    let rules = TargetRules {
        target: 0,
        device: 0,
        runs: vec![7],
        size_bytes: 0,
        block_bytes: 4096,
        compress_ratio: 1.0,
        copies: None,
        flags: StampFlags::FILE,
        trims_read_zero: true,
        checks_unknown: false,
    };
    (TreeValidation::new(rules, Box::new(Two(sizes)), reports.clone()), reports)
}

fn write(tree: &TreeValidation, file: u32, (offset, bytes): (u64, u64)) -> Vec<u8> {
    let mut buffer = vec![0; usize::try_from(bytes).unwrap()];
    assert!(tree.take(file, (offset, bytes)));
    let hold = tree.stamp(file, offset, &mut buffer, 0);
    tree.written(file, (offset, bytes), hold, true);
    buffer
}

#[test]
fn files_are_apart_and_say_whose_they_are() {
    let (tree, reports) = tree([10 << 10, 4096]);
    (0..2).for_each(|file| tree.made(file, true));
    let first = write(&tree, 0, (0, 10 << 10));
    let second = write(&tree, 1, (0, 4096));
    assert_eq!(tree.must(0), FileMust::There(Some(10 << 10)));
    assert_eq!(tree.check(0, 0, &first), ReadOutcome::Right);
    assert_eq!(tree.check(1, 0, &second), ReadOutcome::Right);
    assert_eq!(tree.cells().states().written(), 4, "three blocks and one");
    // The other file's data are found out.
    assert_eq!(tree.check(1, 0, &first[..4096]), ReadOutcome::Suspect);
    assert_eq!(tree.report(1, 0, (&first[..4096], None), FoundBy::Read), 1);
    let found = reports.take();
    assert_eq!((found[0].finding.class, found[0].file), (DamageClass::OtherDevice, Some(1)));
}

#[test]
fn what_was_never_written_reads_as_zeroes() {
    let (tree, _) = tree([64 << 10, 64 << 10]);
    tree.made(0, true);
    write(&tree, 0, (16 << 10, 4096));
    assert_eq!(tree.check(0, 0, &[0; 16 << 10]), ReadOutcome::Right);
    assert_eq!(tree.check(0, 0, &[1; 4096]), ReadOutcome::Suspect);
    assert_eq!(tree.cells().states().written(), 5, "four of a hole and one");
    tree.removed(0, true);
    assert_eq!((tree.cells().states().written(), tree.must(0)), (0, FileMust::Gone));
}

#[test]
fn what_may_go_on_behind_a_write_is_not_known() {
    let (tree, _) = tree([10 << 10, 4096]);
    // It was there, and longer.
    tree.found(0, 64 << 10, FoundBy::Read);
    let data = write(&tree, 0, (8192, 2048));
    assert_eq!(tree.cells().states().written(), 0, "the end of the block is another program's");
    assert_eq!(tree.check(0, 8192, &[&data[..], &[7; 2048]].concat()), ReadOutcome::Right);
    tree.exists(1);
    assert_eq!((tree.must(0), tree.must(1)), (FileMust::There(Some(64 << 10)), FileMust::There(None)));
    assert_eq!(tree.lacking(1, FoundBy::Sweep), 1);
}

#[test]
fn a_moved_file_keeps_its_data() {
    let ((from, _), (to, reports)) = (tree([8192; 2]), tree([8192; 2]));
    from.made(1, true);
    let data = write(&from, 1, (0, 8192));
    from.renamed(1, &to, true);
    assert_eq!((from.must(1), to.must(1)), (FileMust::Gone, FileMust::There(Some(8192))));
    assert_eq!(to.check(1, 0, &data), ReadOutcome::Right);
    assert_eq!(to.found(1, 8192, FoundBy::Sweep) + to.found(1, 4096, FoundBy::Sweep), 1);
    assert_eq!(to.lacking(1, FoundBy::Sweep), 1);
    assert_eq!(from.found(1, 1, FoundBy::Sweep), 1, "it was deleted");
    let classes: Vec<DamageClass> = reports.take().iter().map(|damage| damage.finding.class).collect();
    assert_eq!(classes, [DamageClass::WrongSize, DamageClass::MissingFile]);
}
