//! Views of rounds that were to become steady.

use super::{View, ViewKind, all};
use crate::pts;

pub(super) static ROUNDS: [View; 3] = [
    all(
        "pts.average",
        "Averages over the measurement window",
        ViewKind::Table,
        pts::averages,
        "Mean over the rounds of the measurement window by transfer size and reads/writes in per cent. Times are service times, from submission to completion; their percentiles are those of all rounds of the window together. Where the rounds did not become steady, the window is the last rounds (docs/pts.md).",
    ),
    all(
        "pts.steady",
        "Steady state",
        ViewKind::Table,
        pts::steady,
        "The measurement window is the last rounds. It is steady when its values range over no more than so much of their average, and the best straight line through them rises or falls over the window by no more than so much of it.",
    ),
    all(
        "pts.convergence",
        "Rounds",
        ViewKind::SmallMultiples,
        pts::convergence,
        "The tracked runs round by round; in the measurement window their average, the range that is allowed around it, and the best line.",
    ),
];
