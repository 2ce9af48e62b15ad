//! Scales and ticks; the same rules as `web/src/scale.ts`.

use quantity::figures::without_zeros;
use view::{Unit, WallClock};

/// A tick with its label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    pub(crate) label: String,
}

/// From values to 0 … 1.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) log: bool,
    pub(crate) ticks: Vec<Tick>,
    pub(crate) minor: Vec<f64>,
}

const TIME_STEPS: [f64; 31] = [
    0.001,
    0.002,
    0.005,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    900.0,
    1800.0,
    3600.0,
    7200.0,
    14400.0,
    21600.0,
    43200.0,
    86_400.0,
    172_800.0,
    604_800.0,
    1_209_600.0,
    2_419_200.0,
];

impl Scale {
    pub(crate) fn of(&self, value: f64) -> f64 {
        if self.log {
            (value.max(1e-12) / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    #[cfg(test)]
    pub(crate) fn back(&self, part: f64) -> f64 {
        if self.log { self.low * (self.high / self.low).powf(part) } else { self.low + part * (self.high - self.low) }
    }

    /// Time of day, and dates at midnight; values are seconds since the clock's.
    pub(crate) fn time_of_day(clock: WallClock, low: f64, high: f64, count: usize) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let step = TIME_STEPS.iter().copied().find(|step| (high - low) / step <= count as f64).unwrap_or(4_838_400.0);
        let mut ticks = Vec::new();
        let zero = clock.local_s(0.0);
        let mut index = ((zero + low) / step - 1e-9).ceil();
        while index * step <= zero + high + step * 1e-9 {
            let local_s = index * step;
            ticks.push(Tick { at: local_s - zero, label: hands(local_s, step) });
            index += 1.0;
        }
        Self { low, high, log: false, ticks, minor: Vec::new() }
    }

    pub(crate) fn linear(low: f64, high: f64, unit: Unit, count: usize, nice: bool) -> Self {
        let (mut low, mut high) = (low, if high > low { high } else { low + if low == 0.0 { 1.0 } else { low.abs() } });
        let step = Some(unit == Unit::Seconds)
            .filter(|time| *time)
            .and_then(|_| TIME_STEPS.iter().copied().find(|step| (high - low) / step <= count as f64))
            .unwrap_or_else(|| nice_step(high - low, count));
        // Where nothing happened, the ticks would be parts of one byte or one operation.
        let step = if low == 0.0 && high == 1.0 && unit.is_counted() { 1.0 } else { step };
        if nice {
            low = (low / step + 1e-9).floor() * step;
            high = (high / step - 1e-9).ceil() * step;
        }
        let span = high - low;
        let mut ticks = Vec::new();
        // Adding zero makes −0 a 0.
        let mut index = (low / step - 1e-9).ceil() + 0.0;
        while index * step <= high + step * 1e-9 {
            let at = index * step;
            ticks.push(Tick { at, label: tick(unit, at, span) });
            index += 1.0;
        }
        distinguish(&mut ticks, unit, step);
        Self { low, high, log: false, ticks, minor: Vec::new() }
    }

    pub(crate) fn logarithmic(low: f64, high: f64, unit: Unit, count: usize, nice: bool) -> Self {
        let mut low = low.max(1e-9);
        let mut high = if high > low { high } else { low * 10.0 };
        if nice {
            (low, high) = (nice_down(low), nice_up(high));
        }
        let (mut all, mut decades, mut minor) = (Vec::new(), Vec::new(), Vec::new());
        let mut decade = 10_f64.powf((low.log10() - 1e-9).floor());
        while decade <= high * 1.000_001 {
            for lead in 1..10 {
                let at = f64::from(lead) * decade;
                if at < low * 0.999_999_9 || at > high * 1.000_000_1 {
                    continue;
                }
                if lead == 1 {
                    decades.push(at);
                }
                if matches!(lead, 1 | 2 | 5) {
                    all.push(at);
                }
                minor.push(at);
            }
            decade *= 10.0;
        }
        let mut chosen = if all.len() <= count + 1 { all } else { decades };
        while chosen.len() > count + 1 {
            chosen = chosen.into_iter().step_by(2).collect();
        }
        minor.retain(|at| !chosen.contains(at));
        if (high / low).log10() > 4.0 {
            minor.clear();
        }
        let mut ticks: Vec<Tick> =
            chosen.into_iter().map(|at| Tick { at, label: tick(unit, at, high - low) }).collect();
        let least = ticks.first().map_or(1.0, |tick| tick.at);
        distinguish(&mut ticks, unit, least);
        Self { low, high, log: true, ticks, minor }
    }

    /// Percentiles by nines: 0, 50, 90, 99, 99.9 …
    pub(crate) fn nines(high: f64) -> Self {
        let high = high.max(10.0);
        let ticks = [1.0, 2.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]
            .into_iter()
            .filter(|at| *at <= high * 1.0001)
            .map(|at| Tick { at, label: tick(Unit::Nines, at, high) })
            .collect();
        Self { low: 1.0, high, log: true, ticks, minor: Vec::new() }
    }
}

fn nice_step(span: f64, count: usize) -> f64 {
    let raw = span / count.max(1) as f64;
    let power = 10_f64.powf(raw.log10().floor());
    let lead = raw / power;
    power * [1.0, 2.0, 5.0].into_iter().find(|step| lead <= *step).unwrap_or(10.0)
}

fn nice_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    power * [5.0, 2.0].into_iter().find(|lead| value / power >= *lead).unwrap_or(1.0)
}

fn nice_up(value: f64) -> f64 {
    let power = 10_f64.powf((value.log10() + 1e-12).floor());
    power * [1.000_000_1, 2.0, 5.0].into_iter().find(|lead| value / power <= *lead).map_or(10.0, f64::trunc)
}

/// A number on an axis: short, with its prefix.
pub(crate) fn tick(unit: Unit, value: f64, span: f64) -> String {
    match unit {
        Unit::Seconds => clock(value, span),
        Unit::Nines => format!("{} %", unit.format(Some(value)).trim_start_matches('p')),
        Unit::OpsPerSecond => trimmed(&Unit::OpsPerSecond.format(Some(value)).replace("op/s", "")),
        Unit::Operations | Unit::Count => trimmed(&Unit::OpsPerSecond.format(Some(value)).replace("op/s", "")),
        _ if value == 0.0 => "0".to_string(),
        _ => trimmed(&unit.format(Some(value))),
    }
}

/// Labels that three digits make equal, or other than their ticks, with the digits that a step needs.
fn distinguish(ticks: &mut [Tick], unit: Unit, step: f64) {
    let alike = ticks.windows(2).any(|pair| pair[0].label == pair[1].label);
    // Below this, three digits are two or one.
    const FINE: f64 = 0.01;
    if !(alike || step < FINE) || matches!(unit, Unit::Seconds | Unit::Nines) {
        return;
    }
    let most = ticks.iter().map(|tick| tick.at.abs()).fold(0.0, f64::max);
    // The unit that the greatest has; all have the same.
    let name = tick(unit, most, most);
    let name = name.split_once(' ').map_or("", |(_, name)| name).to_string();
    let (mut factor, mut scaled) = (1.0, most);
    while scaled >= 999.5 && factor < 1e15 {
        (factor, scaled) = (factor * 1000.0, scaled / 1000.0);
    }
    let decimals =
        (0..15_usize).find(|decimals| step / factor * 10_f64.powi(i32::try_from(*decimals).unwrap_or(15)) > 0.999);
    for tick in ticks {
        let number = format!("{:.*}", decimals.unwrap_or(15), tick.at / factor);
        tick.label = if tick.at == 0.0 { "0".to_string() } else { trimmed(format!("{number} {name}").trim_end()) };
    }
}

/// `14:30`, `14:30:07` where steps are that small, `11-24` at midnight.
fn hands(local_s: f64, step: f64) -> String {
    if local_s.rem_euclid(86_400.0) < 5e-4 {
        let clock = WallClock { utc_s: local_s, ahead_s: 0 };
        return clock.date(5e-4).get(5..).unwrap_or_default().to_string();
    }
    let of_day = local_s.rem_euclid(86_400.0) + 5e-5;
    let (hour, minute, second) = ((of_day / 3600.0).floor(), (of_day % 3600.0 / 60.0).floor(), of_day % 60.0);
    if step >= 60.0 {
        format!("{hour:02.0}:{minute:02.0}")
    } else if step >= 1.0 {
        format!("{hour:02.0}:{minute:02.0}:{:02.0}", second.floor())
    } else {
        format!("{hour:02.0}:{minute:02.0}:{:06.3}", (second * 1000.0).floor() / 1000.0)
    }
}

/// `5.00 µs` → `5 µs`.
fn trimmed(text: &str) -> String {
    let text = text.trim_end();
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    format!("{} {unit}", without_zeros(number)).trim_end().to_string()
}

/// Clock-like elapsed time: `30 s`, `5:00`, `1:30 h`.
fn clock(seconds: f64, span: f64) -> String {
    if span <= 120.0 {
        return format!("{} s", (seconds * 1000.0).round() / 1000.0);
    }
    let whole = seconds.round();
    if span > 7200.0 {
        format!("{:.0}:{:02.0} h", (whole / 3600.0).floor(), (whole % 3600.0 / 60.0).floor())
    } else {
        format!("{:.0}:{:02.0}", (whole / 60.0).floor(), whole % 60.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Scale;
    use view::{Unit, WallClock};

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_carry_units() {
        assert_eq!(
            labels(&Scale::linear(0.0, 47_000.0, Unit::OpsPerSecond, 5, true)),
            ["0", "10 k", "20 k", "30 k", "40 k", "50 k"]
        );
        assert_eq!(
            labels(&Scale::logarithmic(80e3, 90e6, Unit::Nanoseconds, 5, true)),
            ["100 µs", "1 ms", "10 ms", "100 ms"]
        );
        assert_eq!(
            labels(&Scale::logarithmic(1e3, 9e3, Unit::Nanoseconds, 5, true)),
            ["1 µs", "2 µs", "5 µs", "10 µs"]
        );
        assert_eq!(
            labels(&Scale::linear(0.0, 60.0, Unit::Seconds, 6, false)),
            ["0 s", "10 s", "20 s", "30 s", "40 s", "50 s", "60 s"]
        );
        assert_eq!(labels(&Scale::linear(0.0, 10_800.0, Unit::Seconds, 6, false))[1], "0:30 h");
        assert_eq!(labels(&Scale::nines(1000.0)), ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
    }

    #[test]
    fn no_two_ticks_are_called_the_same() {
        assert_eq!(
            labels(&Scale::linear(0.0, 0.02, Unit::Count, 4, true)),
            ["0", "0.005", "0.01", "0.015", "0.02"],
            "three digits make 0.02 of 0.015"
        );
        let at = |low, high| labels(&Scale::linear(low, high, Unit::OpsPerSecond, 5, false)).join(" ");
        assert_eq!(at(123_456.0, 123_460.0), "123.456 k 123.457 k 123.458 k 123.459 k 123.46 k");
        assert_eq!(labels(&Scale::linear(0.0, 0.0, Unit::BytesPerSecond, 8, true)), ["0", "1 B/s"], "nothing happened");
        for (low, high) in [(1e-5, 3e-5), (1e-4, 7.0), (0.3, 0.31), (1e3, 1.0001e3), (1e9, 1.000_002e9)] {
            for unit in [Unit::Count, Unit::Bytes, Unit::Percent, Unit::Nanoseconds, Unit::OpsPerSecond] {
                for scale in [Scale::linear(low, high, unit, 9, false), Scale::logarithmic(low, high, unit, 9, true)] {
                    let labels = labels(&scale);
                    let apart: std::collections::BTreeSet<_> = labels.iter().collect();
                    assert_eq!(apart.len(), labels.len(), "{low} … {high} {unit:?}: {labels:?}");
                }
            }
        }
    }

    #[test]
    fn a_day_has_times_of_day_and_its_date() {
        // From 22:00 of 1970-01-01, an hour ahead of UTC.
        let clock = WallClock { utc_s: 75_600.0, ahead_s: 3600 };
        assert_eq!(labels(&Scale::time_of_day(clock, 0.0, 14_400.0, 5)), ["22:00", "23:00", "01-02", "01:00", "02:00"]);
        let scale = Scale::time_of_day(clock, 600.0, 690.0, 4);
        assert_eq!(labels(&scale), ["22:10:00", "22:10:30", "22:11:00", "22:11:30"]);
        assert_eq!(scale.ticks[0].at, 600.0);
        let weeks = Scale::time_of_day(clock, 0.0, 30.0 * 86_400.0, 6);
        assert_eq!(labels(&weeks)[0], "01-08");
    }

    #[test]
    fn scales_go_there_and_back() {
        for scale in
            [Scale::linear(0.0, 7.0, Unit::Count, 4, true), Scale::logarithmic(3.0, 4000.0, Unit::Count, 4, true)]
        {
            for part in [0.0, 0.25, 1.0] {
                assert!((scale.of(scale.back(part)) - part).abs() < 1e-9);
            }
        }
    }
}
