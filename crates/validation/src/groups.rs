//! Damaged blocks after the fact: the two ends of writes that went astray, and what happened to many blocks at once.

use stamp::{BlockFinding, DamageClass, SectorFault, StampFlags, Version};
use std::collections::BTreeMap;

/// A group names so many of its ranges.
pub const RANGES_MAX: usize = 16;
/// So many causes are kept apart, of one class on one target.
const CAUSES_MAX: usize = 64;

/// A target (by its index in the plan), and the number of the file where that is a tree.
pub type DamagePlace = (usize, Option<u32>);

/// A damaged block without what was read of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Indexed {
    place: DamagePlace,
    t_ns: u64,
    address: u64,
    bytes: u64,
    class: DamageClass,
    is_transient: bool,
    expected: Version,
    cause: Option<DamageCause>,
    /// Where on this target the data found belong, and their version.
    belongs: Option<(u64, u16)>,
}

/// What groups of one class differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DamageCause {
    /// The execution whose data were found.
    Run(u64),
    /// The device whose data were found.
    Device(u64),
}

/// A damaged block with its final class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedDamage {
    /// Index of the target in the plan.
    pub target: usize,
    /// Number of the file, where that is a tree.
    pub file: Option<u32>,
    /// When it was found, `CLOCK_MONOTONIC`, ns.
    pub t_ns: u64,
    /// Where, bytes.
    pub address: u64,
    /// Length of the block.
    pub bytes: u64,
    /// What happened, by all that was found.
    pub class: DamageClass,
    /// It was right when it was read again.
    pub is_transient: bool,
    /// The block at the other end of a write that went astray or was done twice.
    pub other: Option<u64>,
    cause: Option<DamageCause>,
}

/// Blocks in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamageRange {
    /// Number of the file, where the target is a tree.
    pub file: Option<u32>,
    /// Of the first, bytes.
    pub address: u64,
    /// Of all.
    pub bytes: u64,
}

/// Blocks of a target to which the same happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamageGroup {
    /// What.
    pub class: DamageClass,
    /// Index of the target in the plan.
    pub target: usize,
    /// Whose data were found, where they are another execution's or device's.
    pub cause: Option<DamageCause>,
    /// How many; one that went wrong several times is one.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of those, blocks that were right when they were read again.
    pub transient: u64,
    /// The first [`RANGES_MAX`] ranges, in order.
    pub ranges: Vec<DamageRange>,
    /// All ranges.
    pub range_count: u64,
}

/// All damages of an execution, judged together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DamageOverview {
    /// Each place once, by target and address.
    pub damages: Vec<JudgedDamage>,
    /// By what happened: the largest first.
    pub groups: Vec<DamageGroup>,
    /// Damages beyond those that could be kept, by the class of each alone.
    pub beyond: BTreeMap<DamageClass, u64>,
}

impl Indexed {
    pub(crate) fn of((place, t_ns): (DamagePlace, u64), bytes: usize, finding: &BlockFinding) -> Self {
        Self {
            place,
            t_ns,
            address: finding.must.address,
            bytes: bytes as u64,
            class: finding.class,
            is_transient: finding.is_transient,
            expected: finding.must.version,
            cause: cause_of(finding),
            belongs: place_of(finding),
        }
    }
}

fn cause_of(finding: &BlockFinding) -> Option<DamageCause> {
    let with = |fault: SectorFault| finding.sectors.iter().find(|sector| sector.fault == Some(fault))?.origin;
    match finding.class {
        DamageClass::OtherDevice => with(SectorFault::Device).map(|stamp| DamageCause::Device(stamp.device)),
        DamageClass::OlderRun | DamageClass::OtherRun => {
            with(SectorFault::Run).map(|stamp| DamageCause::Run(stamp.run))
        }
        _ => None,
    }
}

/// Where the first sector for another address belongs, as the address of its block.
fn place_of(finding: &BlockFinding) -> Option<(u64, u16)> {
    let astray = finding.sectors.iter().find(|sector| sector.fault == Some(SectorFault::Address))?;
    // Copies belong to many places.
    let origin = astray.origin.filter(|origin| !origin.flags.has(StampFlags::COPY))?;
    let within = astray.address.wrapping_sub(finding.must.address);
    Some((origin.address.wrapping_sub(within), origin.version))
}

/// Judges all damages together. `held` says of a block that was read and right which version it has.
pub(crate) fn judge(index: &[Indexed], held: impl Fn(DamagePlace, u64) -> Option<u16>) -> Vec<JudgedDamage> {
    let mut by_place: BTreeMap<(DamagePlace, u64), Vec<usize>> = BTreeMap::new();
    for (at, damage) in index.iter().enumerate() {
        by_place.entry((damage.place, damage.address)).or_default().push(at);
    }
    let mut judged: Vec<JudgedDamage> = index.iter().map(JudgedDamage::alone).collect();
    for (at, victim) in index.iter().enumerate() {
        let Some((home, version)) = victim.belongs.filter(|_| victim.class == DamageClass::MisdirectedWrite) else {
            continue;
        };
        let at_home = by_place.get(&(victim.place, home)).map(Vec::as_slice).unwrap_or_default();
        let of_version = |wanted: fn(DamageClass) -> bool| {
            let is_it = |at: &&usize| {
                index
                    .get(**at)
                    .is_some_and(|one| one.expected == Version::Is(version) && !one.is_transient && wanted(one.class))
            };
            at_home.iter().find(is_it).copied()
        };
        if let Some(lost) = of_version(lacks_its_write) {
            note(&mut judged, lost, DamageClass::WriteWentAstray, victim.address);
            note(&mut judged, at, DamageClass::MisdirectedWrite, home);
        } else if held(victim.place, home) == Some(version) || of_version(has_its_write).is_some() {
            note(&mut judged, at, DamageClass::DuplicatedWrite, home);
        }
    }
    // A place that goes wrong in two runs is one.
    judged.sort_by_key(JudgedDamage::place);
    judged.dedup_by(|later, kept| {
        let is_same = later.place() == kept.place();
        // What lasted says more, and of two alike the later.
        if is_same && (kept.is_transient || !later.is_transient) {
            *kept = *later;
        }
        is_same
    });
    judged
}

fn note(judged: &mut [JudgedDamage], at: usize, class: DamageClass, other: u64) {
    if let Some(damage) = judged.get_mut(at) {
        (damage.class, damage.other) = (class, Some(other));
    }
}

/// What is found where a write never came.
fn lacks_its_write(class: DamageClass) -> bool {
    use DamageClass as Class;
    matches!(class, Class::LostWrite | Class::OlderRun | Class::Zeroes | Class::Foreign | Class::OtherDevice)
}

/// What is found where a write came, and something happened to it.
fn has_its_write(class: DamageClass) -> bool {
    matches!(class, DamageClass::BitRot | DamageClass::TornWrite | DamageClass::SwappedSectors | DamageClass::Corrupt)
}

impl JudgedDamage {
    /// Which block, or which whole file.
    fn place(&self) -> (usize, Option<u32>, u64, bool) {
        (self.target, self.file, self.address, self.bytes > 0)
    }

    fn alone(damage: &Indexed) -> Self {
        Self {
            target: damage.place.0,
            file: damage.place.1,
            t_ns: damage.t_ns,
            address: damage.address,
            bytes: damage.bytes,
            class: damage.class,
            is_transient: damage.is_transient,
            other: None,
            cause: damage.cause,
        }
    }
}

/// Target, class and cause: what is the same in a group.
type GroupKey = (usize, DamageClass, Option<DamageCause>);

/// Groups what was judged, in order of targets and addresses.
pub(crate) fn group(judged: &[JudgedDamage]) -> Vec<DamageGroup> {
    let mut groups: BTreeMap<GroupKey, DamageGroup> = BTreeMap::new();
    let mut causes: BTreeMap<(usize, DamageClass), usize> = BTreeMap::new();
    // Where the last range of a group ends.
    let mut ends: BTreeMap<GroupKey, (Option<u32>, u64)> = BTreeMap::new();
    for damage in judged {
        let (target, class) = (damage.target, damage.class);
        let mut key = (target, class, damage.cause);
        if !groups.contains_key(&key) {
            let known = causes.entry((target, class)).or_default();
            *known += 1;
            if *known > CAUSES_MAX {
                key.2 = None;
            }
        }
        let new = || DamageGroup {
            class,
            target,
            cause: key.2,
            blocks: 0,
            bytes: 0,
            transient: 0,
            ranges: Vec::new(),
            range_count: 0,
        };
        let group = groups.entry(key).or_insert_with(new);
        group.blocks += 1;
        group.bytes += damage.bytes;
        group.transient += u64::from(damage.is_transient);
        let after = damage.address.saturating_add(damage.bytes);
        let end = ends.insert(key, (damage.file, after));
        match end {
            // The same block again, or the one behind it.
            Some((file, end)) if file == damage.file && damage.address <= end => {
                if group.range_count == group.ranges.len() as u64
                    && let Some(last) = group.ranges.last_mut()
                {
                    last.bytes = after.saturating_sub(last.address).max(last.bytes);
                }
            }
            _ => {
                group.range_count += 1;
                if group.ranges.len() < RANGES_MAX {
                    group.ranges.push(DamageRange { file: damage.file, address: damage.address, bytes: damage.bytes });
                }
            }
        }
    }
    let mut groups: Vec<DamageGroup> = groups.into_values().collect();
    groups.sort_by_key(|group| (std::cmp::Reverse(group.blocks), group.target, group.class));
    groups
}
