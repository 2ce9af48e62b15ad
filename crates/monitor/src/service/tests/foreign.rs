//! Everything that others can have put into a collector's directory, into its recordings and into its work folder, and
//! what was changed of it: nothing.

use super::*;
use rustix::fs::{CWD, FileType, Mode, mkfifoat, mknodat};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};

/// A collector's directory, and a place outside that nothing may reach.
struct Scene {
    home: ArchiveFolder,
    outside: PathBuf,
    clock: ManualClock,
}

/// Where something is put.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Directory,
    Recording,
    Work,
}
use Place::{Directory, Recording, Work};

/// What it is, where, and how it comes there: at `path`, which is free (in a recording, the recording's own folder).
type Kind = (&'static str, Place, fn(&Scene, &Path));

fn file(path: &Path, text: &str) {
    std::fs::write(path, text).expect("written");
}

fn folder(path: &Path) {
    std::fs::create_dir(path).expect("made");
    file(&path.join("precious"), "mine");
}

/// A recording of another command.
fn run(path: &Path, is_sealed: bool) {
    let mut writer = Writer::create(path, Manifest::new(&["iodyno".into(), "run".into()])).expect("a writer");
    commit(&mut writer, &[RowBatch::from_rows(&[disk(1, "sda", 5)]).expect("a batch")]).expect("written");
    if is_sealed {
        writer.seal().expect("sealed");
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp").arg("-a").args([from, to]).status().expect("cp");
    assert!(copied.success(), "{} {}", from.display(), to.display());
}

/// The newest recording of the collector, which nothing removes.
fn newest(scene: &Scene) -> PathBuf {
    scene.home.path().join("2026-12-31")
}

fn others_recording(scene: &Scene, path: &Path) {
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    let directory = scene.outside.join(format!("other of {name}"));
    let other = ArchiveFolder::open(&directory, &scene.clock).expect("a directory");
    copy(&tiny(&other, &name, DAY_NS), path);
}

fn table(path: &Path) -> PathBuf {
    path.join("disk")
}

fn host(path: &Path) -> PathBuf {
    std::fs::read_dir(table(path)).expect("a table").flatten().next().expect("a host").path()
}

fn mount(arguments: &[&OsStr]) {
    let mounted = std::process::Command::new("mount").args(arguments).status().expect("mount");
    assert!(mounted.success(), "{arguments:?}");
}

fn bind(from: &Path, on: &Path) {
    mount(&[OsStr::new("--bind"), from.as_os_str(), on.as_os_str()]);
}

const KINDS: [Kind; 68] = [
    ("a file", Directory, |_, path| file(path, "mine")),
    ("an empty file", Directory, |_, path| file(path, "")),
    ("a hidden file", Directory, |_, path| file(&path.with_file_name(".profile"), "mine")),
    ("a name of two lines", Directory, |_, path| file(&path.with_file_name("two\nlines"), "mine")),
    ("a name that writes to terminals", Directory, |_, path| file(&path.with_file_name("\u{1b}]0;owned\u{7}"), "mine")),
    ("a name that is no text", Directory, |_, path| file(&path.with_file_name(OsStr::from_bytes(b"\xff\xfe")), "mine")),
    ("a long name", Directory, |_, path| file(&path.with_file_name("x".repeat(255)), "mine")),
    ("a folder", Directory, |_, path| folder(path)),
    ("an empty folder", Directory, |_, path| std::fs::create_dir(path).expect("made")),
    ("a folder that older versions took for theirs", Directory, |_, path| {
        folder(&path.with_file_name(".thin-clients"))
    }),
    ("another one", Directory, |_, path| folder(&path.with_file_name(".old-photos"))),
    ("what an older version had begun", Directory, |_, path| folder(&path.with_file_name(".thin-2026-01-01"))),
    ("what it had put aside", Directory, |_, path| run(&path.with_file_name(".old-2026-01-01"), true)),
    ("a day of an older version", Directory, |_, path| run(&path.with_file_name("2026-01-02"), true)),
    ("one that it did not seal", Directory, |_, path| run(&path.with_file_name("2026-01-03"), false)),
    ("an empty folder called like a day", Directory, |_, path| {
        std::fs::create_dir(path.with_file_name("2026-01-04")).expect("made");
    }),
    ("photos called like a day", Directory, |_, path| folder(&path.with_file_name("2026-01-05"))),
    ("a recording of a run", Directory, |_, path| run(path, true)),
    ("a recording of a run with notes", Directory, |_, path| {
        run(path, true);
        file(&path.join("NOTES.txt"), "mine");
        file(&path.join("report.html"), "<html>");
    }),
    ("a recording of another collector", Directory, others_recording),
    ("a copy of a recording", Directory, |scene, path| copy(&newest(scene), path)),
    ("a link to a folder", Directory, |scene, path| symlink(&scene.outside, path).expect("a link")),
    ("a link called like a day", Directory, |scene, path| {
        symlink(&scene.outside, path.with_file_name("2026-01-06")).expect("a link");
    }),
    ("a link to a recording", Directory, |scene, path| symlink(newest(scene), path).expect("a link")),
    ("a link to nothing", Directory, |_, path| symlink("nowhere", path).expect("a link")),
    ("a link to a file", Directory, |scene, path| symlink(scene.outside.join("precious"), path).expect("a link")),
    ("a second name of a file", Directory, |scene, path| {
        std::fs::hard_link(scene.home.path().join("2026-12-31/manifest.json"), path).expect("a name");
    }),
    ("a FIFO", Directory, |_, path| mkfifoat(CWD, path, Mode::RWXU).expect("a FIFO")),
    ("a socket", Directory, |_, path| drop(std::os::unix::net::UnixListener::bind(path).expect("a socket"))),
    ("a folder that may not be written", Directory, |_, path| {
        folder(path);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o555)).expect("set");
    }),
    ("a file with a hole", Directory, |_, path| {
        std::fs::File::create(path).and_then(|file| file.set_len(1 << 20)).expect("made");
    }),
    ("a mark by itself", Directory, |scene, path| {
        copy(&newest(scene).join(recording::MARK), &path.with_file_name(recording::MARK));
    }),
    ("a folder with a mark", Directory, |scene, path| {
        folder(path);
        copy(&newest(scene).join(recording::MARK), &path.join(recording::MARK));
    }),
    ("a folder called like one that goes", Directory, |_, path| {
        folder(&path.with_file_name("gone-1-0123456789abcdef"))
    }),
    ("a folder called like a work folder", Directory, |_, path| folder(&path.with_file_name(".iodyno-work-x"))),
    ("a file called like the state", Directory, |_, path| {
        file(&path.with_file_name(".iodyno-collector-state.bak"), "x")
    }),
    ("a flight of an older version", Directory, |_, path| run(&path.with_file_name("flight-2026.iodyno"), true)),
    ("notes", Recording, |_, path| file(&path.join("NOTES.txt"), "mine")),
    ("a report", Recording, |_, path| file(&path.join("report.html"), "<html>")),
    ("a hidden note", Recording, |_, path| file(&path.join(".note"), "mine")),
    ("a folder of notes", Recording, |_, path| folder(&path.join("notes"))),
    ("a file called like a table", Recording, |_, path| file(&path.join("net"), "mine")),
    ("a table of others", Recording, |_, path| folder(&path.join("cpu"))),
    ("a file in a table", Recording, |_, path| file(&table(path).join("notes"), "mine")),
    ("a host of others", Recording, |_, path| folder(&table(path).join("host=other"))),
    ("a second part", Recording, |_, path| file(&host(path).join("000002.parquet"), "mine")),
    ("a file beside a part", Recording, |_, path| file(&host(path).join("precious"), "mine")),
    ("a link for a journal", Recording, |scene, path| {
        symlink(scene.outside.join("precious"), path.join("journal")).expect("a link");
    }),
    ("a FIFO for a journal", Recording, |_, path| mkfifoat(CWD, path.join("journal"), Mode::RWXU).expect("a FIFO")),
    ("a link for a part", Recording, |scene, path| {
        std::fs::remove_file(host(path).join("000001.parquet")).expect("removed");
        symlink(scene.outside.join("precious"), host(path).join("000001.parquet")).expect("a link");
    }),
    ("a link for a table", Recording, |scene, path| {
        std::fs::rename(table(path), scene.outside.join("moved table")).expect("moved");
        symlink(scene.outside.join("moved table"), table(path)).expect("a link");
    }),
    ("a link for a mark", Recording, |scene, path| {
        std::fs::rename(path.join(recording::MARK), scene.outside.join("moved mark")).expect("moved");
        symlink(scene.outside.join("moved mark"), path.join(recording::MARK)).expect("a link");
    }),
    ("no mark", Recording, |_, path| std::fs::remove_file(path.join(recording::MARK)).expect("removed")),
    ("a manifest of another", Recording, |scene, path| {
        std::fs::remove_file(path.join("manifest.json")).expect("removed");
        copy(&newest(scene).join("manifest.json"), &path.join("manifest.json"));
    }),
    ("a manifest that is none", Recording, |_, path| file(&path.join("manifest.json"), "{")),
    ("notes called journal", Recording, |_, path| file(&path.join("journal"), "mine")),
    ("long notes called journal", Recording, |_, path| file(&path.join("journal"), &"mine ".repeat(99))),
    ("a journal of another", Recording, |scene, path| {
        let other = scene.outside.join("a run");
        run(&other, false);
        copy(&other.join("journal"), &path.join("journal"));
    }),
    ("notes for a second manifest", Recording, |_, path| file(&path.join("manifest.json.copy"), "mine")),
    ("notes for a part", Recording, |_, path| file(&host(path).join("000001.parquet"), "mine")),
    ("a part with another byte", Recording, |_, path| {
        let part = host(path).join("000001.parquet");
        let mut bytes = std::fs::read(&part).expect("read");
        bytes[20] ^= 1;
        std::fs::write(&part, bytes).expect("written");
    }),
    ("a report that was edited", Recording, |_, path| {
        let page = String::from_utf8(recording::append_checksum("<html>as it was")).expect("text");
        file(&path.join(recording::PAGE), &page.replace("was", "now"));
    }),
    ("another name", Recording, |_, path| {
        std::fs::rename(path, path.with_file_name("keep this one")).expect("renamed")
    }),
    ("a file", Work, |_, path| file(path, "mine")),
    ("a recording of a run", Work, |_, path| run(&path.with_file_name("fresh-1-x"), true)),
    ("a folder called like one that goes", Work, |_, path| folder(&path.with_file_name("gone-1-x"))),
    ("a link called so", Work, |scene, path| symlink(&scene.outside, path.with_file_name("gone-2-x")).expect("a link")),
    ("a recording of another collector", Work, |scene, path| others_recording(scene, &path.with_file_name("old-3-x"))),
];

/// Kinds that need root.
const ROOTS: [Kind; 8] = [
    ("a folder that may not be read", Directory, |_, path| {
        folder(path);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o000)).expect("set");
    }),
    ("a device", Directory, |_, path| {
        mknodat(CWD, path, FileType::CharacterDevice, Mode::RWXU, rustix::fs::makedev(1, 3)).expect("a device");
    }),
    ("a mounted disk with a recording", Directory, |scene, path| {
        std::fs::create_dir(path).expect("made");
        mount(&["-t", "tmpfs", "-o", "size=1m", "tmpfs", path.to_str().expect("text")].map(OsStr::new));
        copy(&newest(scene), &path.join("2026-01-07"));
    }),
    ("a folder that is mounted on a day", Directory, |scene, path| {
        let day = path.with_file_name("2026-01-08");
        std::fs::create_dir(&day).expect("made");
        bind(&scene.outside, &day);
    }),
    ("a folder that is mounted on a table", Recording, |scene, path| {
        let from = scene.outside.join("like a table");
        std::fs::create_dir_all(from.join(host(path).file_name().expect("a name"))).expect("made");
        file(&from.join(host(path).file_name().expect("a name")).join("000001.parquet"), "mine");
        bind(&from, &table(path));
    }),
    ("a recording that is mounted on itself", Recording, |_, path| bind(path, path)),
    ("a file that is mounted on a part", Recording, |scene, path| {
        bind(&scene.outside.join("precious"), &host(path).join("000001.parquet"));
    }),
    ("a manifest that is mounted on itself", Recording, |_, path| {
        bind(&path.join("manifest.json"), &path.join("manifest.json"));
    }),
];

/// Unmounts what was mounted below, and what is mounted on that.
struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let below = |line: &&str| {
            line.split(' ').nth(4).is_some_and(|at| Path::new(at).starts_with(&self.0) && Path::new(at) != self.0)
        };
        for line in text.lines().rev().filter(below) {
            let at = line.split(' ').nth(4).unwrap_or_default();
            let _ = rustix::mount::unmount(at, rustix::mount::UnmountFlags::DETACH);
        }
    }
}

/// Everything about everything below that a change would change.
fn digest(top: &Path, leave_out: &dyn Fn(&Path) -> bool) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![top.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if leave_out(&path) {
                continue;
            }
            let data = path.symlink_metadata().expect("it");
            let kind = data.file_type();
            let content = if kind.is_symlink() {
                std::fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
            } else if kind.is_file() {
                std::fs::read(&path).expect("a file")
            } else {
                Vec::new()
            };
            if kind.is_dir() {
                folders.push(path.clone());
            }
            let is_special = kind.is_fifo() || kind.is_socket() || kind.is_char_device();
            let (mode, links, device) = (data.mode(), data.nlink(), data.rdev());
            // Names come and go around what is mounted on; times and sizes of all else are as they were.
            let about =
                format!("{mode:o} {links} {device} {is_special} {} {}.{}", data.ino(), data.mtime(), data.mtime_nsec());
            found.insert(path, format!("{about} {content:?}"));
        }
    }
    found
}

/// The kinds that this user can make.
fn kinds() -> impl Iterator<Item = (usize, &'static Kind)> {
    let roots = if testkit::is_root() { &ROOTS[..] } else { &[] };
    KINDS.iter().chain(roots).enumerate()
}

/// Puts every kind into its place.
fn furnish(scene: &Scene) {
    for (number, (name, place, make)) in kinds() {
        let path = match place {
            Directory => scene.home.path().join(format!("{number} {name}")),
            Work => scene.home.work().path().join(format!("{number} {name}")),
            Recording => scene.home.path().join(format!("held-{number}")),
        };
        make(scene, &path);
    }
}

/// A recording with rows in the table `disk`.
fn recorded(home: &ArchiveFolder, name: &str) {
    let mut manifest = Manifest::new(&[]);
    (manifest.started_t_ns, manifest.started_wall_ns) = (0, wall(1, (0, 0, 0)));
    manifest.clock_anchors = [0, DAY_NS].map(|t_ns| ClockAnchor { t_ns, wall_ns: t_ns }).to_vec();
    let mut writer = Writer::create_marked(&home.path().join(name), manifest, &home.next_mark(name)).expect("a writer");
    let rows: Vec<Disk> = (0..40).map(|second| disk(second, "sda", second)).collect();
    commit(&mut writer, &[RowBatch::from_rows(&rows).expect("a batch")]).expect("written");
    writer.seal_past().expect("sealed");
}

/// A collector of 200 days ago with a recording for each kind that comes into one, twelve untouched ones, and a newest
/// one; and everything that others can put there.
fn scene(top: &Path) -> Scene {
    let (directory, outside) = (top.join("collected"), top.join("outside"));
    std::fs::create_dir(&outside).expect("made");
    file(&outside.join("precious"), "mine");
    let clock = ManualClock::at(wall(1, (0, 0, 0)));
    let home = ArchiveFolder::open(&directory, &clock).expect("a directory");
    let held = kinds().filter(|(_, kind)| kind.1 == Recording).map(|(number, _)| format!("held-{number}"));
    for name in held.chain((1..=12).map(|day| format!("clean-{day}"))) {
        recorded(&home, &name);
        clock.pass(DAY_NS, &home);
    }
    recorded(&home, "2026-12-31");
    clock.pass(200 * DAY_NS, &home);
    let scene = Scene { home, outside, clock };
    furnish(&scene);
    scene
}

/// All that is not the collector's to change.
fn foreign(scene: &Scene) -> BTreeMap<PathBuf, String> {
    let (directory, work) = (scene.home.path(), scene.home.work().path());
    let ours = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_furniture = [".iodyno-collector-state", ".lock", "2026-12-31"].contains(&name.as_str());
        // The time of the work folder changes when something is moved through it; what is in it is looked at by itself.
        path == work || (path.parent() == Some(directory) && (name.starts_with("clean-") || is_furniture))
    };
    let all = [digest(directory, &ours), digest(work, &|_| false), digest(&scene.outside, &|_| false)];
    all.into_iter().flatten().collect()
}

#[test]
fn nothing_of_others_is_ever_touched() {
    let small = testkit::is_root().then(|| testkit::MountedFileSystem::tmpfs(24 << 20).expect("a disk"));
    let folder = tempfile::tempdir().expect("a folder");
    let top = small.as_ref().map_or(folder.path(), |small| small.path()).to_path_buf();
    let _mounts = Unmount(top.clone());
    let scene = scene(&top);
    assert!(kinds().count() >= 50);
    let before = foreign(&scene);
    let policies = [
        nothing(),
        RetentionPolicy { tiers: vec![RetentionTier { after_ns: DAY_NS, step_ns: 10_000_000_000 }], ..nothing() },
        RetentionPolicy { keep_ns: Some(DAY_NS), ..nothing() },
        RetentionPolicy { min_free_bytes: Some(11 << 20), ..nothing() },
        RetentionPolicy { max_bytes: Some(1), ..nothing() },
        RetentionPolicy { keep_ns: Some(1), max_bytes: Some(1), min_free_bytes: Some(u64::MAX), ..nothing() },
    ];
    let mut said = Vec::new();
    for retention in &policies {
        (0..3).for_each(|_| said.extend(tidy_once(&scene.home, retention, None)));
        // A disk that others have filled.
        let ballast = top.join("ballast");
        if small.is_some() {
            let _ = std::fs::write(&ballast, vec![1_u8; 32 << 20]);
        }
        said.extend(tidy_once(&scene.home, retention, None));
        let _ = std::fs::remove_file(&ballast);
        let after = foreign(&scene);
        for (path, was) in &before {
            assert_eq!(after.get(path), Some(was), "{} {retention:?} {said:#?}", path.display());
        }
        assert_eq!(before.len(), after.len(), "{retention:?}");
    }
    let directory = scene.home.path();
    let left: Vec<String> = names(directory).into_iter().filter(|name| name.starts_with("clean-")).collect();
    assert!(left.is_empty(), "what was ours and clean went: {left:?} {said:#?}");
    assert!(directory.join("2026-12-31/manifest.json").exists(), "the newest stays");
    assert!(said.iter().any(|said| said.starts_with("thinned clean-1 ")), "{said:#?}");
    assert!(said.iter().all(|said| !said.contains('\u{1b}') && !said.contains('\n')), "{said:#?}");
}

/// Cannot be removed while this lives.
struct Fixed(PathBuf);

impl Fixed {
    /// `None` where the file system has no such attribute.
    fn with(attribute: &str, path: &Path) -> Option<Self> {
        let is_set = |flag: &str| {
            let ended =
                std::process::Command::new("chattr").arg(flag).arg(path).stderr(std::process::Stdio::null()).status();
            ended.is_ok_and(|ended| ended.success())
        };
        is_set(attribute).then(|| Self(path.to_path_buf()))
    }
}

impl Drop for Fixed {
    fn drop(&mut self) {
        let _ = std::process::Command::new("chattr").arg("-i").arg("-a").arg(&self.0).status();
    }
}

#[test]
fn a_recording_with_something_that_cannot_be_removed_stays_whole_and_holds_up_no_other() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let place = tempfile::tempdir().expect("a folder");
    let clock = ManualClock::at(wall(1, (0, 0, 0)));
    let home = ArchiveFolder::open(place.path(), &clock).expect("a directory");
    let days: Vec<String> = (1..=5).map(|day| format!("2026-11-0{day}")).collect();
    for day in &days {
        recorded(&home, day);
        clock.pass(DAY_NS, &home);
    }
    let at = |day: usize| place.path().join(&days[day - 1]);
    let fixed = [
        Fixed::with("+i", &host(&at(1)).join("000001.parquet")),
        Fixed::with("+a", &at(2).join("manifest.json.copy")),
        Fixed::with("+i", &table(&at(3))),
    ];
    if fixed.iter().any(Option::is_none) {
        return;
    }
    let before = digest(place.path(), &|path| !days[..3].iter().any(|day| path.starts_with(place.path().join(day))));
    let said = tidy_once(&home, &RetentionPolicy { max_bytes: Some(1), ..nothing() }, None);
    let after = digest(place.path(), &|path| !days[..3].iter().any(|day| path.starts_with(place.path().join(day))));
    assert_eq!(before, after, "{said:#?}");
    assert_eq!(names(place.path()), [&days[..3], &days[4..]].concat(), "{said:#?}");
    assert_eq!(said.iter().filter(|said| said.contains("immutable or append-only")).count(), 3, "{said:#?}");
    assert_eq!(home.work().names().expect("names"), [recording::MARK]);
    // What an older version left of one in the work folder comes back, and goes when it can.
    home.folder().move_to(&days[0], home.work(), "gone-1-x").expect("moved");
    let said = tidy_once(&home, &nothing(), None);
    assert!(
        at(1).exists() && said.iter().any(|said| said.starts_with("2026-11-01 was being removed, and is put back"))
    );
    drop(fixed);
    tidy_once(&home, &RetentionPolicy { max_bytes: Some(1), ..nothing() }, None);
    assert_eq!(names(place.path()), &days[4..]);
}

#[test]
fn a_page_of_ours_goes_with_its_recording_and_outlives_thinning() {
    let place = tempfile::tempdir().expect("a folder");
    let clock = ManualClock::at(wall(1, (0, 0, 0)));
    let home = ArchiveFolder::open(place.path(), &clock).expect("a directory");
    let day = recording(&home, 1, 100);
    let page = recording::append_checksum("<html>");
    std::fs::write(day.join(recording::PAGE), &page).expect("written");
    clock.pass(2 * DAY_NS, &home);
    recording(&home, 2, 100);
    clock.pass(DAY_NS, &home);
    let tiers = vec![RetentionTier { after_ns: DAY_NS / 2, step_ns: 10_000_000_000 }];
    let said = tidy_once(&home, &RetentionPolicy { tiers, ..nothing() }, None);
    assert!(said.iter().any(|said| said.starts_with("thinned 2026-11-01 ")), "{said:?}");
    assert_eq!(std::fs::read(day.join(recording::PAGE)).expect("there"), page);
    let said = tidy_once(&home, &RetentionPolicy { max_bytes: Some(1), ..nothing() }, None);
    assert!(!day.exists() && said.iter().any(|said| said.starts_with("removed 2026-11-01 ")), "{said:?}");
}

#[test]
fn a_directory_that_others_can_write_to_is_refused() {
    let place = tempfile::tempdir().expect("a folder");
    let directory = place.path().join("collected");
    std::fs::create_dir(&directory).expect("made");
    let set =
        |path: &Path, mode: u32| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
    let clock = ManualClock::at(0);
    let open = || ArchiveFolder::open(&directory, &clock).map(drop).map_err(|error| error.to_string());
    for (mode, above, word) in
        [(0o777, 0o755, "everybody can write"), (0o1777, 0o755, "everybody can write"), (0o700, 0o777, "in its place")]
    {
        set(&directory, mode);
        set(place.path(), above);
        let error = open().expect_err("others can write there");
        assert!(error.contains(word) && error.contains("--allow-shared"), "{error}");
        assert!(names(&directory).is_empty() && std::fs::read_dir(&directory).expect("it").next().is_none());
        drop(ArchiveFolder::open_as(&directory, &clock, FolderSharing::Allowed).expect("the user says so"));
        std::fs::remove_dir_all(&directory).expect("removed");
        std::fs::create_dir(&directory).expect("made");
    }
    set(&directory, 0o755);
    set(place.path(), 0o1777);
    assert_eq!(open(), Ok(()), "as in /tmp");
    if testkit::is_root() {
        set(&directory, 0o775);
        assert!(open().expect_err("a group").contains("group 0 can write there"));
        set(&directory, 0o700);
        std::os::unix::fs::chown(&directory, Some(65534), None).expect("given");
        assert!(open().expect_err("another's").contains("it belongs to user 65534"));
    }
}

#[test]
fn a_directory_that_others_use_is_refused_and_left_as_it_is() {
    let strange: [fn(&Path); 6] = [
        |path| file(&path.join("notes.txt"), "mine"),
        |path| folder(&path.join("photos")),
        |path| run(&path.join("monday"), true),
        |path| file(&path.join(".profile"), "mine"),
        |path| symlink("/", path.join("2026-11-20")).expect("a link"),
        |path| folder(&path.join(".thin-clients")),
    ];
    for make in strange {
        let place = tempfile::tempdir().expect("a folder");
        run(&place.path().join("2026-11-19"), true);
        std::fs::create_dir(place.path().join("lost+found")).expect("made");
        make(place.path());
        let before = digest(place.path(), &|_| false);
        let error = ArchiveFolder::open(place.path(), &ManualClock::at(0)).expect_err("others use it").to_string();
        assert!(error.contains("holds what no collector made") && error.contains("such as"), "{error}");
        assert_eq!(digest(place.path(), &|_| false), before, "{error}");
    }
}

#[test]
fn a_lock_of_others_is_not_written_to() {
    type Lock = (&'static str, fn(&Path, &Path));
    let locks: [Lock; 4] = [
        ("a file", |lock, _| file(lock, "resource locked by lpd")),
        ("a link", |lock, outside| symlink(outside, lock).expect("a link")),
        ("a second name", |lock, outside| std::fs::hard_link(outside, lock).expect("a name")),
        ("a FIFO", |lock, _| mkfifoat(CWD, lock, Mode::RWXU).expect("a FIFO")),
    ];
    for (name, make) in locks {
        let place = tempfile::tempdir().expect("a folder");
        file(&place.path().join("outside"), "12");
        let directory = place.path().join("collected");
        std::fs::create_dir(&directory).expect("made");
        make(&directory.join(".lock"), &place.path().join("outside"));
        let before = digest(place.path(), &|_| false);
        let error = ArchiveFolder::open(&directory, &ManualClock::at(0)).expect_err(name).to_string();
        assert_eq!(digest(place.path(), &|_| false), before, "{name}: {error}");
    }
}

#[test]
fn a_directory_of_an_older_version_goes_on_and_its_recordings_are_left_alone() {
    let place = tempfile::tempdir().expect("a folder");
    file(&place.path().join(".lock"), "4711\n");
    std::fs::create_dir(place.path().join("lost+found")).expect("made");
    for (name, is_sealed) in
        [("2026-08-01", true), ("2026-08-02", false), ("2026-08-02-2", true), (".old-2026-08-03", true)]
    {
        run(&place.path().join(name), is_sealed);
    }
    let old = |path: &Path| !path.to_string_lossy().contains("2026-08-");
    let before = digest(place.path(), &old);
    let clock = ManualClock::at(wall(20, (1, 0, 0)));
    let mut request = request(3);
    request.retention = RetentionPolicy { keep_ns: Some(DAY_NS), max_bytes: Some(1), ..RetentionPolicy::default() };
    serve_quietly(place.path(), &request, &clock);
    assert_eq!(digest(place.path(), &old), before);
    assert_eq!(samples(place.path(), "2026-11-20"), 4);
    let events = retention_events(&place.path().join("2026-11-20"));
    assert!(
        events.iter().any(|event| event.contains("left alone: .old-2026-08-03, 2026-08-01, 2026-08-02, 2026-08-02-2.")),
        "{events:?}"
    );
}

#[test]
fn what_a_collector_knows_of_itself_can_be_lost() {
    let place = tempfile::tempdir().expect("a folder");
    let clock = ManualClock::at(wall(1, (0, 0, 0)));
    let home = ArchiveFolder::open(place.path(), &clock).expect("a directory");
    assert_eq!(home.passed_ns(), wall(1, (0, 0, 0)), "a new scale begins with the wall clock");
    for day in 1..=3 {
        recording(&home, day, 60);
        clock.pass(DAY_NS, &home);
    }
    home.save();
    let (passed_ns, work) = (home.passed_ns(), home.work().path().to_path_buf());
    drop(home);
    // The state: numbers and time go on from the recordings, whatever the wall clock shows.
    file(&place.path().join(".iodyno-collector-state"), "{");
    clock.wall_ns.set(clock.wall_ns.get() + 500 * DAY_NS);
    let home = ArchiveFolder::open(place.path(), &clock).expect("a directory");
    assert_eq!(home.next_mark("x").number, 4);
    assert!(home.passed_ns() <= passed_ns && home.passed_ns() > passed_ns - 2 * DAY_NS);
    drop(home);
    // The work folder, which others have taken: there is another one.
    std::fs::remove_file(work.join(recording::MARK)).expect("removed");
    file(&work.join("precious"), "mine");
    let home = ArchiveFolder::open(place.path(), &clock).expect("a directory");
    assert_ne!(home.work().path(), work);
    tidy_once(&home, &RetentionPolicy { max_bytes: Some(1), ..nothing() }, None);
    assert_eq!(names(place.path()), ["2026-11-03"]);
    assert_eq!(std::fs::read_to_string(work.join("precious")).expect("there"), "mine");
    drop(home);
    // The identity: it is not guessed.
    file(&place.path().join(".iodyno-collector"), "{}");
    let error = ArchiveFolder::open(place.path(), &clock).expect_err("it is damaged").to_string();
    assert!(error.contains("does not tell whose directory this is") && error.contains("move it away"), "{error}");
}
