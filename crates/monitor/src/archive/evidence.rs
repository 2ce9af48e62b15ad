//! The time that recordings are old by: what has passed for certain, whatever the wall clock shows.
//!
//! The age of a recording decides whether it goes, so a wall clock that jumps must not make all of them old at once. Ages are
//! differences on a scale of the collector's own. It grows by what `CLOCK_BOOTTIME` counts; by a step of the wall clock (a
//! machine that was off for a month) only when that is believed: the kernel says that the clock is synchronised, or as much
//! time has passed since; and once in the life of a process.

use serde::{Deserialize, Serialize};

/// A wall clock that goes off by less is followed without a word: no age changes by it.
const TOLERANCE_NS: i64 = 600_000_000_000;

/// The clocks at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockReadings {
    /// UTC since 1970, ns.
    pub wall_ns: i64,
    /// `CLOCK_BOOTTIME`, ns: it goes on in a suspend, and cannot be set.
    pub boot_ns: u64,
    /// Identity of this boot; empty where it is not known.
    pub boot: String,
}

/// A step of the wall clock that is not believed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pending {
    step_ns: i64,
    since_lived_ns: i64,
}

/// What a collector knows of time; it stays beside the recordings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Evidence {
    /// Time that passed while the machine was on, ns.
    lived_ns: i64,
    /// The scale of ages, ns: `lived_ns`, and steps of the wall clock that were believed.
    passed_ns: i64,
    /// How much of it is believed steps, ns.
    believed_ns: i64,
    /// How far the wall clock is expected to be ahead of `passed_ns`, ns.
    offset_ns: i64,
    /// The furthest that it was: a clock that was set back and comes forth again makes nothing older.
    furthest_ns: i64,
    boot: String,
    boot_ns: u64,
    pending: Option<Pending>,
    /// A step was believed in this process.
    #[serde(skip)]
    has_stepped: bool,
}

/// What became of a step of the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Recordings are older by so much, ns.
    Believed(i64),
    /// They are not, ns; said once per step.
    Withheld(i64),
    /// A step that was believed before was taken back, ns.
    TakenBack(i64),
}

impl Evidence {
    /// Time begins.
    pub(crate) fn begin(now: &ClockReadings) -> Self {
        Self {
            lived_ns: 0,
            passed_ns: now.wall_ns,
            believed_ns: 0,
            offset_ns: 0,
            furthest_ns: 0,
            boot: now.boot.clone(),
            boot_ns: now.boot_ns,
            pending: None,
            has_stepped: false,
        }
    }

    /// Time goes on from what recordings prove: what was known beside them is lost.
    pub(crate) fn resume(now: &ClockReadings, passed_ns: i64) -> Self {
        let offset_ns = now.wall_ns.saturating_sub(passed_ns);
        Self { passed_ns, offset_ns, furthest_ns: offset_ns, ..Self::begin(now) }
    }

    /// The scale of ages, ns.
    pub(crate) fn passed_ns(&self) -> i64 {
        self.passed_ns
    }

    /// Time with the machine on since the collector was first started, ns.
    pub(crate) fn lived_ns(&self) -> i64 {
        self.lived_ns
    }

    /// Takes in a moment. `is_synchronised` is asked only where the wall clock stepped.
    pub(crate) fn see(&mut self, now: &ClockReadings, is_synchronised: &dyn Fn() -> bool) -> Option<Step> {
        let lived_ns = self.lived_since(now);
        (self.boot, self.boot_ns) = (now.boot.clone(), now.boot_ns);
        self.lived_ns = self.lived_ns.saturating_add(lived_ns);
        self.passed_ns = self.passed_ns.saturating_add(lived_ns);
        let expected_ns = self.passed_ns.saturating_add(self.offset_ns);
        let step_ns = now.wall_ns.saturating_sub(expected_ns);
        if step_ns.saturating_abs() <= TOLERANCE_NS {
            self.follow(step_ns);
            None
        } else if step_ns > 0 {
            self.ahead(step_ns, is_synchronised)
        } else {
            self.back(step_ns, is_synchronised)
        }
    }

    /// The wall clock is expected elsewhere from now on, and nothing is older for it.
    fn follow(&mut self, step_ns: i64) {
        self.offset_ns = self.offset_ns.saturating_add(step_ns);
        self.furthest_ns = self.furthest_ns.max(self.offset_ns);
        self.pending = None;
    }

    /// Time on the machine since the last moment: of another boot, at least what that lasts by now.
    fn lived_since(&self, now: &ClockReadings) -> i64 {
        let is_same = !now.boot.is_empty() && now.boot == self.boot;
        let ns = if is_same { now.boot_ns.saturating_sub(self.boot_ns) } else { now.boot_ns };
        // Of a boot without identity, it may be the same one.
        let ns = if now.boot.is_empty() && now.boot_ns >= self.boot_ns { now.boot_ns - self.boot_ns } else { ns };
        i64::try_from(ns).unwrap_or(0)
    }

    fn ahead(&mut self, step_ns: i64, is_synchronised: &dyn Fn() -> bool) -> Option<Step> {
        let back_ns = self.furthest_ns.saturating_sub(self.offset_ns);
        let step_ns = step_ns.saturating_sub(back_ns);
        if step_ns <= TOLERANCE_NS {
            self.follow(back_ns.saturating_add(step_ns));
            return None;
        }
        let before = self.pending.filter(|before| (before.step_ns - step_ns).abs() <= TOLERANCE_NS);
        let has_passed = before.is_some_and(|before| self.lived_ns - before.since_lived_ns >= step_ns);
        if !self.has_stepped && (has_passed || is_synchronised()) {
            self.has_stepped = true;
            self.follow(back_ns);
            self.passed_ns = self.passed_ns.saturating_add(step_ns);
            self.believed_ns = self.believed_ns.saturating_add(step_ns);
            return Some(Step::Believed(step_ns));
        }
        if before.is_some() {
            return None;
        }
        self.pending = Some(Pending { step_ns, since_lived_ns: self.lived_ns });
        Some(Step::Withheld(step_ns))
    }

    /// Set back: nothing becomes younger, but for a step ahead that was believed and was wrong.
    fn back(&mut self, step_ns: i64, is_synchronised: &dyn Fn() -> bool) -> Option<Step> {
        self.pending = None;
        if !is_synchronised() {
            return None;
        }
        let taken_ns = step_ns.saturating_neg().min(self.believed_ns);
        self.believed_ns -= taken_ns;
        self.passed_ns -= taken_ns;
        self.follow(step_ns.saturating_add(taken_ns));
        (taken_ns > 0).then_some(Step::TakenBack(taken_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_NS: i64 = 86_400_000_000_000;

    /// A machine whose wall clock can be set.
    struct Clocks {
        now: ClockReadings,
    }

    impl Clocks {
        fn pass(&mut self, ns: i64) -> &ClockReadings {
            self.now.boot_ns += ns.unsigned_abs();
            self.now.wall_ns += ns;
            &self.now
        }

        fn set(&mut self, by_ns: i64) -> &ClockReadings {
            self.now.wall_ns += by_ns;
            &self.now
        }

        fn reboot(&mut self, off_ns: i64) -> &ClockReadings {
            self.now.boot.push('x');
            self.now.boot_ns = 1_000_000_000;
            self.now.wall_ns += off_ns;
            &self.now
        }
    }

    fn begin() -> (Clocks, Evidence) {
        let now = ClockReadings { wall_ns: 20_000 * DAY_NS, boot_ns: 5, boot: "a".to_string() };
        let evidence = Evidence::begin(&now);
        (Clocks { now }, evidence)
    }

    #[test]
    fn a_clock_that_jumps_ahead_makes_nothing_old_until_as_much_time_has_passed() {
        let (mut clocks, mut evidence) = begin();
        let begun_ns = evidence.passed_ns();
        assert_eq!(evidence.see(clocks.pass(DAY_NS), &|| false), None);
        let step = 120 * DAY_NS;
        assert_eq!(evidence.see(clocks.set(step), &|| false), Some(Step::Withheld(step)));
        for _ in 1..120 {
            assert_eq!(evidence.see(clocks.pass(DAY_NS), &|| false), None, "said once");
        }
        assert_eq!(evidence.passed_ns() - begun_ns, 120 * DAY_NS);
        assert_eq!(evidence.see(clocks.pass(DAY_NS), &|| false), Some(Step::Believed(step)));
        assert_eq!(evidence.passed_ns() - begun_ns, 241 * DAY_NS);
    }

    #[test]
    fn a_clock_that_goes_back_and_forth_makes_nothing_old() {
        for is_synchronised in [false, true] {
            let (mut clocks, mut evidence) = begin();
            let begun_ns = evidence.passed_ns();
            for round in 0..50 {
                evidence.see(clocks.set(-120 * DAY_NS), &|| is_synchronised);
                evidence.see(clocks.pass(DAY_NS / 2), &|| is_synchronised);
                evidence.see(clocks.set(120 * DAY_NS), &|| is_synchronised);
                evidence.see(clocks.pass(DAY_NS / 2), &|| is_synchronised);
                let passed_ns = evidence.passed_ns() - begun_ns;
                assert_eq!(passed_ns, (round + 1) * DAY_NS, "{round}");
            }
        }
    }

    #[test]
    fn a_month_without_power_counts_where_the_clock_is_synchronised_and_once() {
        let (mut clocks, mut evidence) = begin();
        let begun_ns = evidence.passed_ns();
        let step = evidence.see(clocks.reboot(30 * DAY_NS), &|| true);
        assert!(matches!(step, Some(Step::Believed(ns)) if ns > 29 * DAY_NS), "{step:?}");
        assert!(evidence.passed_ns() - begun_ns >= 30 * DAY_NS);
        let before_ns = evidence.passed_ns();
        assert!(matches!(evidence.see(clocks.set(50 * DAY_NS), &|| true), Some(Step::Withheld(_))));
        assert_eq!(evidence.passed_ns(), before_ns);
        // Wrong, and set right: what was believed of it goes.
        let (mut clocks, mut evidence) = begin();
        let begun_ns = evidence.passed_ns();
        assert_eq!(evidence.see(clocks.set(120 * DAY_NS), &|| true), Some(Step::Believed(120 * DAY_NS)));
        assert_eq!(evidence.see(clocks.set(-120 * DAY_NS), &|| true), Some(Step::TakenBack(120 * DAY_NS)));
        assert_eq!(evidence.passed_ns(), begun_ns);
    }

    #[test]
    fn what_was_kept_on_the_disk_goes_on_after_a_restart_and_a_reboot() {
        let (mut clocks, mut evidence) = begin();
        let begun_ns = evidence.passed_ns();
        evidence.see(clocks.pass(3 * DAY_NS), &|| false);
        let text = serde_json::to_vec(&evidence).expect("JSON");
        let mut again: Evidence = serde_json::from_slice(&text).expect("the same");
        assert_eq!(again, evidence);
        // Time while no collector ran, of the same boot.
        assert_eq!(again.see(clocks.pass(2 * DAY_NS), &|| false), None);
        assert_eq!(again.passed_ns() - begun_ns, 5 * DAY_NS);
        assert!(matches!(again.see(clocks.reboot(DAY_NS), &|| false), Some(Step::Withheld(_))));
        assert_eq!(again.passed_ns() - begun_ns, 5 * DAY_NS + 1_000_000_000);
        // A clock that goes back to 1970 at boot, as without a battery.
        let wall_ns = clocks.now.wall_ns;
        assert_eq!(again.see(clocks.reboot(-wall_ns), &|| false), None);
        assert_eq!(again.passed_ns() - begun_ns, 5 * DAY_NS + 2_000_000_000);
    }
}
