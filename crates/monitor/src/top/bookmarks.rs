//! Moments that the user wants to come back to. They last as long as the page is open: a sealed recording is not
//! written to.

/// Moments, ns on the monotonic clock.
#[derive(Debug, Default)]
pub(crate) struct Bookmarks {
    times: Vec<i64>,
}

impl Bookmarks {
    /// In the order of time.
    pub(crate) fn times(&self) -> &[i64] {
        &self.times
    }

    /// Sets one at a moment, or takes away those within `slack_ns` of it; true when it was set.
    pub(crate) fn turn(&mut self, t_ns: i64, slack_ns: i64) -> bool {
        let before = self.times.len();
        self.times.retain(|time| (time - t_ns).abs() > slack_ns);
        if self.times.len() < before {
            return false;
        }
        let at = self.times.partition_point(|time| *time < t_ns);
        self.times.insert(at, t_ns);
        true
    }

    /// The first one after a moment, not within `slack_ns` of it; after the last one the first of all. With its number, from 1.
    pub(crate) fn after(&self, t_ns: i64, slack_ns: i64) -> Option<(usize, i64)> {
        let at = self.times.partition_point(|time| *time <= t_ns + slack_ns);
        let at = if at == self.times.len() { 0 } else { at };
        self.times.get(at).map(|time| (at + 1, *time))
    }
}

#[cfg(test)]
mod tests {
    use super::Bookmarks;

    #[test]
    fn bookmarks_are_gone_through_in_the_order_of_time_and_round_again() {
        let mut marks = Bookmarks::default();
        assert_eq!(marks.after(0, 5), None);
        assert!(marks.turn(300, 5));
        assert!(marks.turn(100, 5), "whatever the order in which they are set");
        assert_eq!(marks.times(), [100, 300]);
        assert_eq!(marks.after(0, 5), Some((1, 100)));
        assert_eq!(marks.after(98, 5), Some((2, 300)), "it stands on the first");
        assert_eq!(marks.after(300, 5), Some((1, 100)));
        assert!(!marks.turn(103, 5), "the one that stands there is gone");
        assert_eq!((marks.times(), marks.after(300, 5)), (&[300][..], Some((1, 300))));
    }
}
