//! General parameters and host definitions.

use crate::param::{Param, Text};
use crate::shared::{self, DedupParams};
use crate::statement::{self, Statement};
use crate::validation::{self, Asked};
use crate::value::{self, Unit};
use parameter_text::{Diagnostic, ReadingContext};
use plan::{HistogramEdges, Objective, PlanSettings, RunRepeat, TextSpan};
use std::path::PathBuf;

/// What the general section says.
#[derive(Clone, Debug)]
pub(crate) struct General {
    pub(crate) settings: PlanSettings,
    pub(crate) objectives: Vec<Objective>,
    pub(crate) compress_ratio: f64,
    pub(crate) content_seed: u64,
    pub(crate) pattern: Option<PathBuf>,
    pub(crate) pattern_span: Option<TextSpan>,
    /// Where validation was asked for first; `None`: by a flag, or not at all.
    pub(crate) validation_span: Option<TextSpan>,
    pub(crate) dedup: DedupParams,
    /// The directories above anchors are made too (`create_anchors=`).
    pub(crate) makes_parents: bool,
}

impl Default for General {
    fn default() -> Self {
        Self {
            settings: PlanSettings::default(),
            objectives: Vec::new(),
            compress_ratio: 1.0,
            content_seed: 0,
            pattern: None,
            pattern_span: None,
            validation_span: None,
            dedup: DedupParams::default(),
            makes_parents: false,
        }
    }
}

/// Most buckets of a histogram (Vdbench's limit).
const BUCKETS_MAX: usize = 64;

/// Reads the general section into what flags say.
pub(crate) fn read(context: &mut ReadingContext, statement: &Statement, mut general: General) -> General {
    statement::each(context, statement, |context, name, param| general.set(context, name, param));
    general
}

impl General {
    fn set(&mut self, context: &mut ReadingContext, name: &str, param: &Param) {
        match name {
            "compratio" => self.compress_ratio = shared::compression_ratio(context, param).unwrap_or(1.0),
            "compression" => {
                if let Some(percent) = value::bounded(context, name, param, Unit::Plain, 0.1..=100.0) {
                    self.compress_ratio = 100.0 / percent;
                }
            }
            "compressionseed" => self.seed(context, param),
            "pattern" => {
                (self.pattern, self.pattern_span) = (shared::path(context, name, param), Some(param.span));
            }
            "data_errors" => self.data_errors(context, param),
            "validate" => validation::validate(context, &mut self.validation(), param),
            "journal" => validation::journal(context, &mut self.validation(), param),
            "fail_if" => self.objectives.extend(shared::objectives(param)),
            "monitor" => self.settings.monitor = shared::path(context, name, param),
            "histogram" => self.histogram(context, param),
            "abort_failed_skew" => self.settings.skew_tolerance = value::fraction(context, name, param),
            "create_anchors" => {
                self.makes_parents = value::yes_no(context, name, param).unwrap_or(self.makes_parents);
            }
            _ if name.starts_with("dedup") => self.dedup.set(context, name, param),
            _ => self.set_plain(context, name, param),
        }
    }

    fn validation(&mut self) -> Asked<'_> {
        Asked { settings: &mut self.settings.validation, span: &mut self.validation_span }
    }

    /// Those that fill one field of the settings.
    fn set_plain(&mut self, context: &mut ReadingContext, name: &str, param: &Param) {
        let settings = &mut self.settings;
        match name {
            "startcmd" => shared::commands(context, param, &mut settings.start_commands),
            "endcmd" => shared::commands(context, param, &mut settings.end_commands),
            "formatsds" => settings.format = value::yes_no(context, name, param),
            "formatxfersize" => {
                if let Some(bytes) = value::bytes(context, name, param, 512..=1 << 30) {
                    settings.format_transfer_bytes = bytes;
                    if bytes % 512 != 0 {
                        let found =
                            Diagnostic::error("alignment", param.span, format!("`{name}` must be a multiple of 512"));
                        context.push(found);
                    }
                }
            }
            "concatenatesds" => settings.concatenate = value::yes_no(context, name, param).unwrap_or(false),
            "loop" => {
                if let Some(text) = value::text(context, name, param) {
                    match repeat(&text.text) {
                        Ok(repeat) => settings.repeat = repeat,
                        Err(why) => context.push(Diagnostic::error("loop", text.span, why)),
                    }
                }
            }
            _ => {}
        }
    }

    fn seed(&mut self, context: &mut ReadingContext, param: &Param) {
        if param.values.iter().any(|text| text.text.eq_ignore_ascii_case("tod")) {
            self.content_seed = quantity::clock::wall_ns().unsigned_abs();
        } else if let Some(seed) = value::bytes(context, "compressionseed", param, 0..=1 << 53) {
            self.content_seed = seed;
            self.settings.is_data_seeded = true;
        }
    }

    fn data_errors(&mut self, context: &mut ReadingContext, param: &Param) {
        let Some(first) = param.values.first() else { return };
        if first.text == "remove_device" {
            context.unsupported(
                param.key_span,
                "taking failed targets out of a run (data_errors=remove_device) is not built yet",
            );
        } else if value::parse(&first.text, Unit::Plain).is_none() {
            // Anything that is no number is a command, at the first error.
            (self.settings.errors_command, self.settings.errors_max) = (Some(first.text.clone()), 0);
        } else if let Some(numbers) = value::numbers(context, "data_errors", param, Unit::Plain) {
            if let Some(errors) = value::bytes_of(context, "data_errors", &numbers[0], 0..=1 << 40) {
                self.settings.errors_max = errors;
            }
            if numbers.len() > 1 {
                let found =
                    Diagnostic::note("no-effect", numbers[1].span, "the seconds of data_errors= have no effect here");
                context.note_once("data_errors seconds", found);
            }
        }
    }

    /// `histogram=(name,20,40,100-500,100,1m,2s,suppress)`: without a unit microseconds.
    fn histogram(&mut self, context: &mut ReadingContext, param: &Param) {
        let Some((name, rest)) = param.values.split_first() else { return };
        let mut edges = HistogramEdges { name: name.text.clone(), edges_ns: Vec::new(), suppress: false };
        let mut rest = rest.iter();
        while let Some(text) = rest.next() {
            if text.text.eq_ignore_ascii_case("suppress") {
                edges.suppress = true;
            } else if let Some((from, to)) = text.text.split_once('-').and_then(|(a, b)| edge(a).zip(edge(b))) {
                let step = rest.next().and_then(|text| edge(&text.text)).filter(|step| *step > 0 && from <= to);
                let Some(step) = step else {
                    let found = Diagnostic::error(
                        "histogram",
                        text.span,
                        format!("`{}` needs an increment behind it", text.text),
                    );
                    context.push(found.help("write (name,100-500,100)"));
                    continue;
                };
                edges
                    .edges_ns
                    .extend((from..=to).step_by(usize::try_from(step).unwrap_or(usize::MAX)).take(BUCKETS_MAX + 1));
            } else if let Some(ns) = edge(&text.text) {
                edges.edges_ns.push(ns);
            } else {
                let found = Diagnostic::error("histogram", text.span, format!("`{}` is no bucket", text.text));
                context.push(found.help("write (name,20,40,1m,2s): microseconds, or with u, m (milli) or s"));
            }
        }
        if edges.edges_ns.len() > BUCKETS_MAX {
            let message = format!("{} buckets; at most {BUCKETS_MAX}", edges.edges_ns.len());
            context.push(Diagnostic::error("histogram", param.span, message));
        } else if !edges.edges_ns.is_sorted_by(|a, b| a < b) {
            context.push(Diagnostic::error("histogram", param.span, "the buckets must rise"));
        }
        if self.settings.histograms.len() >= BUCKETS_MAX {
            let message = format!("more than {BUCKETS_MAX} histograms");
            context.note_once("histograms", Diagnostic::error("too-much", param.span, message));
            return;
        }
        self.settings.histograms.retain(|other| other.name != edges.name);
        self.settings.histograms.push(edges);
    }
}

/// Nanoseconds of a bucket's edge.
fn edge(text: &str) -> Option<u64> {
    let lower = text.to_lowercase();
    let (digits, factor) = match lower.as_bytes().last()? {
        b'u' => (&lower[..lower.len() - 1], 1e3),
        b'm' => (&lower[..lower.len() - 1], 1e6),
        b's' => (&lower[..lower.len() - 1], 1e9),
        _ => (lower.as_str(), 1e3),
    };
    let value: f64 = digits.parse().ok().filter(|value| (0.0..=1e9).contains(value))?;
    Some(value::to_u64(value * factor))
}

/// How often or how long all runs are repeated: `5`, `30s`, `10m`, `2h`, `forever`.
///
/// # Errors
/// Another text.
pub fn repeat(text: &str) -> Result<RunRepeat, String> {
    let wrong = || format!("`{text}` is no number of loops and no time; write 5, 30s, 10m or 2h");
    if text == "forever" {
        return Ok(RunRepeat::Forever);
    }
    let (digits, seconds) = match text.as_bytes().last() {
        Some(b's') => (&text[..text.len() - 1], Some(1_u64)),
        Some(b'm') => (&text[..text.len() - 1], Some(60)),
        Some(b'h') => (&text[..text.len() - 1], Some(3600)),
        _ => (text, None),
    };
    let number: u64 = digits.parse().ok().filter(|number| (1..=1_000_000_000).contains(number)).ok_or_else(wrong)?;
    match seconds {
        None => Ok(RunRepeat::Times(number)),
        Some(seconds) => number.checked_mul(seconds * 1_000_000_000).map(RunRepeat::Nanoseconds).ok_or_else(wrong),
    }
}

/// Reads the host definitions; gives the labels.
pub(crate) fn hosts(context: &mut ReadingContext, statements: &[&Statement]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for statement in statements {
        let (mut system, mut clients): (Option<Text>, u32) = (None, 1);
        statement::each(context, statement, |context, name, param| match name {
            "system" => system = value::text(context, name, param),
            "clients" => clients = value::count(context, name, param, 1..=10_000).unwrap_or(1),
            "mount" => context.unsupported(param.key_span, "mounting file systems (mount=) is not built yet"),
            _ => {}
        });
        if statement.name.text.len() > statement::NAME_MAX {
            statement::check_name(context, statement);
            continue;
        }
        let label = statement.name.text.clone();
        if label == "default" {
            continue;
        }
        let address = system.as_ref().map_or(statement.names.first().unwrap_or(&statement.name), |system| system);
        const HERE: [&str; 4] = ["localhost", "127.0.0.1", "::1", ""];
        if !HERE.contains(&address.text.as_str()) {
            let shown: String = address.text.chars().take(60).collect();
            context.unsupported(address.span, format!("running on other hosts (hd=, here {shown}) is not built yet"));
        }
        if clients > 1 {
            context.unsupported(statement.span, "several clients on one host (clients=) are not built yet");
        }
        if labels.contains(&label) {
            context.push(Diagnostic::error("duplicate", statement.span, format!("hd={label} is defined twice")));
        } else {
            labels.push(label);
        }
    }
    if labels.is_empty() {
        labels.push("localhost".to_string());
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::{edge, repeat};
    use plan::RunRepeat;

    #[test]
    fn loops_and_times() {
        assert_eq!(repeat("5"), Ok(RunRepeat::Times(5)));
        assert_eq!(repeat("30m"), Ok(RunRepeat::Nanoseconds(1_800_000_000_000)));
        assert_eq!(repeat("forever"), Ok(RunRepeat::Forever));
        for text in ["", "0", "x", "-1", "5d", "99999999999999999999", "1000000000h"] {
            assert!(repeat(text).is_err(), "{text}");
        }
    }

    #[test]
    fn edges_of_buckets() {
        assert_eq!(
            [edge("20"), edge("1m"), edge("2s"), edge("5u")],
            [Some(20_000), Some(1_000_000), Some(2_000_000_000), Some(5000)]
        );
        assert_eq!(edge("x"), None);
    }
}
