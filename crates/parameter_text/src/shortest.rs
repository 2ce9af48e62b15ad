//! Numbers as the shortest text that reads back as the same number.

/// Bytes with the units of 1024 that fio and Vdbench have.
pub fn bytes(bytes: u64) -> String {
    let units = [(1_u64 << 50, "p"), (1 << 40, "t"), (1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];
    match units.iter().find(|(size, _)| bytes > 0 && bytes.is_multiple_of(*size)) {
        Some((size, unit)) => format!("{}{unit}", bytes / size),
        None => bytes.to_string(),
    }
}

/// The number near `guess` with the fewest digits that `fits`; `guess` when none does.
pub fn inverse(guess: f64, fits: impl Fn(f64) -> bool) -> String {
    for digits in 0..=15 {
        let text = format!("{guess:.digits$}");
        if text.parse().is_ok_and(&fits) {
            return text;
        }
    }
    let near = [guess, guess.next_up(), guess.next_down(), guess.next_up().next_up(), guess.next_down().next_down()];
    near.into_iter().find(|value| fits(*value)).unwrap_or(guess).to_string()
}
