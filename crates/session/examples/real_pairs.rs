//! How often `compare` calls real pairs different: recordings of `iodyno ab`, equal ones and ones of which one side is slower.
//! `bench/compare.sh` makes them; a row of the table of docs/compare.md.
//!
//! ```text
//! real_pairs NAME --equal DIR… --slower DIR…
//! ```
//!
//! Rounds are short there, and get no verdict for that; what is counted is what the interval would say of rounds that are long enough.

use quantity::output::VisibleOutput;
use std::io::Write as _;
use std::path::PathBuf;
use views::JudgedFigure;
use views::calibration::judged;

const FIGURES: [&str; 4] = ["iops", "response_ns_mean", "response_ns_p50", "response_ns_p99"];
/// As in [`views::Conclusion`]: a smaller difference is none.
const SMALLEST: f64 = 0.01;

/// Does the interval say that they differ?
fn differs(judged: &JudgedFigure) -> bool {
    judged.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0) && judged.ratio.ln().abs() > SMALLEST.ln_1p()
}

/// Of each figure, in how many of the pairs it differs, and how far it was off at most.
fn counted(directories: &[PathBuf]) -> Result<Vec<(usize, f64)>, session::SessionError> {
    let mut counts = vec![(0, 0.0); FIGURES.len()];
    for directory in directories {
        let comparison = session::comparison(std::slice::from_ref(directory), None)?;
        for (figure, (count, most)) in FIGURES.iter().zip(&mut counts) {
            let Some(judged) = judged(&comparison, figure) else { continue };
            *count += usize::from(differs(judged));
            *most = f64::max(*most, (judged.ratio.ln().abs().exp() - 1.0) * 100.0);
        }
    }
    Ok(counts)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_default();
    let (mut equal, mut slower, mut is_slower) = (Vec::new(), Vec::new(), false);
    for word in words {
        match word.as_str() {
            "--equal" => is_slower = false,
            "--slower" => is_slower = true,
            _ if is_slower => slower.push(PathBuf::from(word)),
            _ => equal.push(PathBuf::from(word)),
        }
    }
    let cells = |directories: &[PathBuf]| -> Result<Vec<String>, session::SessionError> {
        let counts = counted(directories)?;
        let of = |(count, most): (usize, f64)| match directories.len() {
            0 => "–".to_string(),
            all => format!("{count} of {all} ({most:.1} %)"),
        };
        Ok(counts.into_iter().map(of).collect())
    };
    let both: Vec<String> =
        cells(&equal)?.into_iter().zip(cells(&slower)?).map(|(equal, slower)| format!("{equal} · {slower}")).collect();
    let mut out = VisibleOutput::new(std::io::stdout());
    writeln!(out, "| {name} | {} |", both.join(" | "))?;
    Ok(())
}
