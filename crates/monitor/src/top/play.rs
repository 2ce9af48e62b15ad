//! A recording that is played: its time goes on by itself, as fast as one likes.

/// How many times as fast as it was.
const SPEEDS: [u32; 4] = [1, 10, 60, 600];
/// So often at most the page is drawn anew.
const DRAW_EVERY_NS: u64 = 200_000_000;

/// Whether time goes on, how fast, and since when.
#[derive(Debug, Default)]
pub(crate) struct Play {
    speed: usize,
    /// On the clock of this process, and in the recording, ns.
    since: Option<(u64, i64)>,
    drawn_ns: u64,
}

impl Play {
    /// Begins at a moment of the recording, or ends.
    pub(crate) fn turn(&mut self, now_ns: u64, at_ns: i64) {
        self.since = if self.since.is_some() { None } else { Some((now_ns, at_ns)) };
        self.drawn_ns = now_ns;
    }

    /// Holds.
    pub(crate) fn stop(&mut self) {
        self.since = None;
    }

    /// Goes on from another moment, where it goes on.
    pub(crate) fn from(&mut self, now_ns: u64, at_ns: i64) {
        if self.since.is_some() {
            self.since = Some((now_ns, at_ns));
        }
    }

    /// Faster or slower; from where it is.
    pub(crate) fn change(&mut self, faster: bool) {
        self.speed = if faster { (self.speed + 1).min(SPEEDS.len() - 1) } else { self.speed.saturating_sub(1) };
    }

    /// How many times as fast, whether or not time goes on.
    pub(crate) fn speed(&self) -> u32 {
        SPEEDS.get(self.speed).copied().unwrap_or(1)
    }

    /// How many times as fast time goes on; `None`: it does not.
    pub(crate) fn goes(&self) -> Option<u32> {
        self.since.map(|_| self.speed())
    }

    /// When the next moment is to be shown; samples are so far apart, s.
    pub(crate) fn due_ns(&self, interval_s: f64) -> Option<u64> {
        self.since?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an interval")]
        let step_ns = (interval_s.max(0.0) * 1e9 / f64::from(self.speed())) as u64;
        Some(self.drawn_ns.saturating_add(step_ns.max(DRAW_EVERY_NS)))
    }

    /// The moment of the recording that it is, when one is due.
    pub(crate) fn moment(&mut self, now_ns: u64, interval_s: f64) -> Option<i64> {
        let (from_ns, at_ns) = self.since?;
        if now_ns < self.due_ns(interval_s)? {
            return None;
        }
        self.drawn_ns = now_ns;
        let passed_ns = i64::try_from(now_ns.saturating_sub(from_ns)).unwrap_or(i64::MAX);
        Some(at_ns.saturating_add(passed_ns.saturating_mul(i64::from(self.speed()))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn time_goes_on_as_fast_as_one_likes() {
        let mut play = Play::default();
        assert_eq!((play.goes(), play.moment(SECOND_NS, 1.0)), (None, None));
        play.turn(SECOND_NS, 5_000_000_000);
        assert_eq!(play.moment(SECOND_NS + 100, 1.0), None, "the next sample is not due");
        assert_eq!(play.moment(2 * SECOND_NS, 1.0), Some(6_000_000_000));
        play.change(true);
        play.from(2 * SECOND_NS, 6_000_000_000);
        assert_eq!(play.goes(), Some(10));
        assert_eq!(play.due_ns(1.0), Some(2 * SECOND_NS + DRAW_EVERY_NS), "not oftener than one can see");
        assert_eq!(play.moment(3 * SECOND_NS, 1.0), Some(16_000_000_000));
        (0..9).for_each(|_| play.change(true));
        assert_eq!(play.speed(), 600);
        play.turn(4 * SECOND_NS, 0);
        assert_eq!((play.goes(), play.due_ns(1.0)), (None, None));
        (0..9).for_each(|_| play.change(false));
        assert_eq!(play.speed(), 1);
    }
}
