//! Which processes of a device are one in a model: the busiest alone, all others together.

use super::WorkloadModel;
use super::processes::IoOwner;
use std::collections::BTreeMap;

/// A process with less than this share of its device's I/Os is one of the others.
const SHARE_MIN: f64 = 0.02;
/// Processes of one name that are counted separately; when there are more, a name is one.
const SAME_NAME: usize = 4;
/// Part of the I/Os of a name that such processes have together; where it is less, a name is one.
const SAME_NAME_PART: f64 = 0.8;
/// Part of a process's I/Os of which it need not be known where they were.
const DISPLACED: f64 = 0.05;

/// Processes of a device that are one in a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Member {
    /// The owner, on all devices; `None`: all others together, or no owner is known.
    pub(super) who: Option<IoOwner>,
    /// Positions in [`WorkloadModel::cells`].
    pub(super) cells: Vec<usize>,
    /// What no place had room for is its.
    pub(super) has_later: bool,
}

/// A name's processes, together or one by one.
struct Unit {
    who: IoOwner,
    cells: Vec<usize>,
    ios: u64,
}

/// Processes of a device by what they become: each of the busiest alone, then all others together; at most `most`.
pub(super) fn members(observed: &WorkloadModel, device: usize, most: usize) -> Vec<Member> {
    let own = |at: &usize| observed.cells[*at].device == device && observed.cells[*at].ios() > 0;
    let cells: Vec<usize> = (0..observed.cells.len()).filter(own).collect();
    let all: u64 = cells.iter().map(|at| observed.cells[*at].ios()).sum();
    let least = SHARE_MIN * all as f64;
    let mut units = units(observed, &cells, least);
    units.sort_by_key(|unit| (std::cmp::Reverse(unit.ios), unit.cells[0]));
    let is_own = |unit: &&Unit| unit.who.name > 0 && unit.ios as f64 >= least;
    let known = units.iter().filter(is_own).count();
    let beside: u64 = units.iter().filter(|unit| !is_own(unit)).map(|unit| unit.ios).sum();
    // What is left needs a place of its own, unless it is next to nothing.
    let alone = if known < most || (known == most && (beside as f64) < least) { known } else { most - 1 };
    let mut out: Vec<Member> = Vec::new();
    let mut others = Member::default();
    for unit in units {
        if out.len() < alone && is_own(&&unit) {
            out.push(Member { who: Some(unit.who), cells: unit.cells, has_later: false });
        } else {
            others.cells.extend(unit.cells);
        }
    }
    let rest: u64 = others.cells.iter().map(|at| observed.cells[*at].ios()).sum();
    match out.first_mut().filter(|_| (rest as f64) < least) {
        Some(first) => first.cells.append(&mut others.cells),
        None if others.cells.is_empty() => {}
        None => out.push(others),
    }
    placed(observed, out)
}

/// The same, if it is known of each where it is. A place tells some processes apart only: what came later may be of one
/// member; where it is of several, all are one.
fn placed(observed: &WorkloadModel, mut members: Vec<Member>) -> Vec<Member> {
    let displaced = |member: &Member| member.cells.iter().map(|at| observed.places.displaced(*at)).sum::<u64>();
    let most = (0..members.len()).max_by_key(|at| displaced(&members[*at])).unwrap_or(0);
    let is_known = |(at, member): (usize, &Member)| {
        let ios: u64 = member.cells.iter().map(|at| observed.cells[*at].ios()).sum();
        at == most || displaced(member) as f64 <= DISPLACED * ios as f64
    };
    if !members.iter().enumerate().all(is_known) {
        let cells = members.into_iter().flat_map(|member| member.cells).collect();
        return vec![Member { who: None, cells, has_later: true }];
    }
    if let Some(member) = members.get_mut(most) {
        member.has_later = true;
    }
    members
}

/// All processes of a name as one; where a few processes do nearly all that is done under a name, each of them.
fn units(observed: &WorkloadModel, cells: &[usize], least: f64) -> Vec<Unit> {
    let mut names: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for at in cells {
        names.entry(observed.cells[*at].who.name).or_default().push(*at);
    }
    let sum = |cells: &[usize]| cells.iter().map(|at| observed.cells[*at].ios()).sum::<u64>();
    let mut out = Vec::new();
    for (name, cells) in names {
        let is_big = |at: &usize| observed.cells[*at].who.pid.is_some() && observed.cells[*at].ios() as f64 >= least;
        let (big, small): (Vec<usize>, Vec<usize>) = cells.iter().copied().partition(is_big);
        let is_few = (2..=SAME_NAME).contains(&big.len()) && sum(&big) as f64 >= SAME_NAME_PART * sum(&cells) as f64;
        let (alone, together) = if is_few && name > 0 { (big, small) } else { (Vec::new(), cells) };
        for at in alone {
            let cell = &observed.cells[at];
            out.push(Unit { who: cell.who, ios: cell.ios(), cells: vec![at] });
        }
        if !together.is_empty() {
            out.push(Unit { who: IoOwner { name, pid: None }, ios: sum(&together), cells: together });
        }
    }
    out
}
