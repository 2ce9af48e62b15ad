//! A condition's text into its tree, with the place and the cure of every mistake.

use super::dimension::{self, Dimension};
use super::names;
use super::syntax::{Comparison, Measured, Number, Selector, Side, Truth};
use super::token::{Kind, Token, tokens};
use quantity::suggest::{by_distance, question};
use rates::OPS;

/// Deepest nesting of parentheses and signs.
const DEPTH_MAX: usize = 64;
/// Operations of a trace.
const TRACED_OPS: [&str; 12] = [
    "read",
    "write",
    "flush",
    "discard",
    "write_zeroes",
    "secure_erase",
    "zone_append",
    "zone_open",
    "zone_close",
    "zone_finish",
    "zone_reset",
    "zone_reset_all",
];
/// Longest text, in bytes.
const TEXT_MAX: usize = 4096;

/// A mistake in a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionError {
    /// First byte of the text that is wrong.
    pub start: usize,
    /// How many bytes are wrong; at least 1, also behind the end.
    pub len: usize,
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl std::fmt::Display for ConditionError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for ConditionError {}

type Parsed<T> = Result<T, ConditionError>;

/// A tree with the things that it refers to.
pub(super) struct Tree {
    pub(super) truth: Truth,
    pub(super) selectors: Vec<Selector>,
    /// The runs that it is about; all must fit.
    pub(super) runs: Vec<String>,
    /// Names in selectors with their places: label, value, start, length.
    pub(super) named: Vec<(&'static str, String, usize, usize)>,
}

/// What a part of the text turned out to be.
enum Part {
    Truth(Truth),
    Number(Number, Dimension),
}

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// The runs of a load.
    Run,
    /// A trace.
    Trace,
    /// Recordings side by side.
    Comparison,
}

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    over: Over,
    selectors: Vec<Selector>,
    pub(super) runs: Vec<String>,
    pub(super) named: Vec<(&'static str, String, usize, usize)>,
}

/// Reads a condition, on a trace or on runs.
pub(super) fn parse(text: &str, over: Over) -> Parsed<Tree> {
    let mut parser = Parser::new(text, over)?;
    let start = parser.peek().start;
    let part = parser.any()?;
    let Token { kind, start: left, .. } = parser.peek().clone();
    if kind != Kind::End {
        let help = match &kind {
            Kind::Sign(")") => "take the parenthesis out, or open one before it",
            Kind::Word(_) | Kind::Number(..) => "join conditions with `and` or `or`",
            _ => "a condition looks like `response_ns_p99{op=read} > 5ms for 10s`",
        };
        return Err(parser.wrong(format!("did not expect {}", parser.shown()), help));
    }
    let truth = parser.truth(part, start, left)?;
    Ok(Tree { truth, selectors: parser.selectors, runs: parser.runs, named: parser.named })
}

impl<'a> Parser<'a> {
    /// At the beginning of a text.
    ///
    /// # Errors
    /// It is longer than any condition.
    pub(super) fn new(text: &'a str, over: Over) -> Parsed<Self> {
        if text.len() > TEXT_MAX {
            let message = format!("the condition has {} bytes; {TEXT_MAX} are allowed", text.len());
            return Err(ConditionError { start: 0, len: 1, message, help: Some("use several conditions".to_string()) });
        }
        let (selectors, runs, named) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { text, tokens: tokens(text), at: 0, depth: 0, over, selectors, runs, named })
    }

    pub(super) fn peek(&self) -> &Token {
        // The last token is the end, and nothing goes beyond it.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    pub(super) fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn take(&mut self, signs: &[&str]) -> Option<&'static str> {
        match self.peek().kind {
            Kind::Sign(sign) if signs.contains(&sign) => {
                self.next();
                Some(sign)
            }
            _ => None,
        }
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let hit = matches!(&self.peek().kind, Kind::Word(found) if found.eq_ignore_ascii_case(word));
        if hit {
            self.next();
        }
        hit
    }

    /// End of the token before this one.
    pub(super) fn behind(&self) -> usize {
        self.at.checked_sub(1).map_or(0, |before| self.tokens[before].end)
    }

    pub(super) fn shown(&self) -> String {
        let token = self.peek();
        match &token.kind {
            Kind::End => "the end of the condition".to_string(),
            Kind::Open(quote) => format!("a quote {quote} that is never closed"),
            _ => format!("`{}`", &self.text[token.start..token.end]),
        }
    }

    pub(super) fn wrong(&self, message: String, help: impl Into<String>) -> ConditionError {
        let token = self.peek();
        error((token.start, token.end), message, help)
    }

    fn deeper(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(
                self.wrong(format!("more than {DEPTH_MAX} levels of nesting"), "write it with fewer parentheses")
            );
        }
        Ok(())
    }

    fn truth(&self, part: Part, start: usize, end: usize) -> Parsed<Truth> {
        let end = end.max(start);
        match part {
            Part::Truth(truth) => Ok(truth),
            Part::Number(_, dimension) => Err(error(
                (start, end),
                "this is a number, not a condition".to_string(),
                format!("compare it: `{} > {}`", self.text[start..end].trim(), first_example(dimension)),
            )),
        }
    }

    fn number(&self, part: Part, at: (usize, usize)) -> Parsed<(Number, Dimension)> {
        match part {
            Part::Number(number, dimension) => Ok((number, dimension)),
            Part::Truth(_) => {
                Err(error(at, "this is a condition, not a number".to_string(), "join conditions with `and` or `or`"))
            }
        }
    }

    /// `a or b`.
    fn any(&mut self) -> Parsed<Part> {
        let start = self.peek().start;
        let mut left = self.all()?;
        let mut end = self.behind();
        while self.take(&["||"]).is_some() || self.take_word("or") {
            let first = self.truth(left, start, end)?;
            let from = self.peek().start;
            let right = self.all()?;
            let second = self.truth(right, from, self.behind())?;
            left = Part::Truth(Truth::Or(Box::new(first), Box::new(second)));
            end = self.behind();
        }
        Ok(left)
    }

    /// `a and b`.
    fn all(&mut self) -> Parsed<Part> {
        let start = self.peek().start;
        let mut left = self.not()?;
        let mut end = self.behind();
        while self.take(&["&&"]).is_some() || self.take_word("and") {
            let first = self.truth(left, start, end)?;
            let from = self.peek().start;
            let right = self.not()?;
            let second = self.truth(right, from, self.behind())?;
            left = Part::Truth(Truth::And(Box::new(first), Box::new(second)));
            end = self.behind();
        }
        Ok(left)
    }

    fn not(&mut self) -> Parsed<Part> {
        if self.take(&["!"]).is_some() || self.take_word("not") {
            self.deeper()?;
            let from = self.peek().start;
            let part = self.not()?;
            self.depth -= 1;
            let inner = self.truth(part, from, self.behind())?;
            return Ok(Part::Truth(Truth::Not(Box::new(inner))));
        }
        self.lasting()
    }

    /// `a > b for 10s`.
    fn lasting(&mut self) -> Parsed<Part> {
        let start = self.peek().start;
        let part = self.comparison()?;
        let end = self.behind();
        if !self.take_word("for") {
            return Ok(part);
        }
        let truth = self.truth(part, start, end)?;
        if truth.has_duration() {
            let help = "`for` stands once, behind what must last";
            return Err(error((start, end), "a `for` inside a `for`".to_string(), help));
        }
        let token = self.next();
        let ns = match &token.kind {
            Kind::Number(value, unit) => match dimension::unit(unit) {
                Some((factor, Dimension::TIME)) if *value > 0.0 => Some(value * factor),
                _ => None,
            },
            _ => None,
        };
        match ns {
            // A century and more is a slip.
            Some(ns) if (1.0..3e18).contains(&ns) => {
                let shown = self.text[token.start..token.end].to_string();
                Ok(Part::Truth(Truth::For(Box::new(truth), whole(ns), shown)))
            }
            _ => Err(error(
                (token.start, token.end),
                "`for` wants a length of time".to_string(),
                "write it with its unit: `for 10s`, `for 500ms`",
            )),
        }
    }

    fn comparison(&mut self) -> Parsed<Part> {
        let start = self.peek().start;
        let left = self.sum()?;
        let left_end = self.behind();
        let sign_at = (self.peek().start, self.peek().end);
        let Some(sign) = self.take(&["<=", ">=", "==", "!=", "≤", "≥", "<", ">", "="]) else { return Ok(left) };
        let comparison = match sign {
            "<" => Comparison::Less,
            "<=" | "≤" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" | "≥" => Comparison::GreaterOrEqual,
            "!=" => Comparison::Unequal,
            _ => Comparison::Equal,
        };
        let (left, left_dimension) = self.number(left, (start, left_end))?;
        let right_start = self.peek().start;
        let right = self.sum()?;
        let (right, right_dimension) = self.number(right, (right_start, self.behind()))?;
        let (left_at, right_at) = ((start, left_end), (right_start, self.behind()));
        self.check_units((&left, left_dimension, left_at), (&right, right_dimension, right_at))?;
        if let Kind::Sign("<" | ">" | "<=" | ">=" | "==" | "!=" | "=" | "≤" | "≥") = self.peek().kind {
            return Err(self.wrong("two comparisons in a row".to_string(), "write `a < b and b < c`"));
        }
        let side = |number, dimension, (from, to): (usize, usize)| Side {
            number,
            dimension,
            text: self.text[from..to].to_string(),
        };
        let (left, right) = (side(left, left_dimension, left_at), side(right, right_dimension, right_at));
        if left.is_constant() && right.is_constant() {
            let help = "compare something that is measured: `achieved < 20k`";
            let at = (sign_at.0.min(left_at.0), right_at.1);
            return Err(error(at, "nothing in this comparison is measured".to_string(), help));
        }
        Ok(Part::Truth(Truth::Compare(comparison, Box::new(left), Box::new(right))))
    }

    /// May these two stand beside each other?
    fn check_units(
        &self,
        (left, left_dimension, left_at): (&Number, Dimension, (usize, usize)),
        (right, right_dimension, right_at): (&Number, Dimension, (usize, usize)),
    ) -> Parsed<()> {
        let zero = |number: &Number| matches!(number, Number::Constant(value) if *value == 0.0);
        if zero(left) || zero(right) {
            return Ok(());
        }
        let bare = |number: &Number, dimension: Dimension| {
            matches!(number, Number::Constant(_)) && dimension == Dimension::NUMBER
        };
        // A bare number beside a time or a share could mean anything.
        for (number, dimension, at, other) in
            [(left, left_dimension, left_at, right_dimension), (right, right_dimension, right_at, left_dimension)]
        {
            if bare(number, dimension) && (other == Dimension::TIME || other.is_percent()) {
                let shown = &self.text[at.0..at.1];
                let help = if other.is_percent() {
                    format!("write `{shown}%`")
                } else {
                    format!("write `{shown}us`, `{shown}ms` or `{shown}s`")
                };
                return Err(error(at, format!("`{shown}` needs a unit here"), help));
            }
        }
        if !left_dimension.fits(right_dimension) {
            let (a, b) = (left_dimension.word(), right_dimension.word());
            let message = format!(
                "`{}` ({a}) cannot be set against `{}` ({b})",
                &self.text[left_at.0..left_at.1],
                &self.text[right_at.0..right_at.1]
            );
            return Err(error(right_at, message, format!("write it in {a}: {}", left_dimension.example())));
        }
        Ok(())
    }

    fn sum(&mut self) -> Parsed<Part> {
        let start = self.peek().start;
        let mut left = self.product()?;
        while let Some(sign) = self.take(&["+", "-"]) {
            let left_at = (start, self.tokens[self.at - 2].end);
            let (a, a_dimension) = self.number(left, left_at)?;
            let from = self.peek().start;
            let right = self.product()?;
            let (b, b_dimension) = self.number(right, (from, self.behind()))?;
            self.check_units((&a, a_dimension, left_at), (&b, b_dimension, (from, self.behind())))?;
            let dimension = a_dimension.joined(b_dimension);
            let (a, b) = (Box::new(a), Box::new(b));
            left = Part::Number(if sign == "+" { Number::Sum(a, b) } else { Number::Difference(a, b) }, dimension);
        }
        Ok(left)
    }

    fn product(&mut self) -> Parsed<Part> {
        let start = self.peek().start;
        let mut left = self.unary()?;
        while let Some(sign) = self.take(&["*", "/", "÷"]) {
            let left_end = self.tokens[self.at - 2].end;
            let (a, a_dimension) = self.number(left, (start, left_end))?;
            let from = self.peek().start;
            let right = self.unary()?;
            let (b, b_dimension) = self.number(right, (from, self.behind()))?;
            let divide = sign != "*";
            let dimension = if divide { a_dimension.over(b_dimension) } else { a_dimension.times(b_dimension) };
            let Some(dimension) = dimension else {
                let what = if divide { "divided by" } else { "multiplied by" };
                let message = format!("{} {what} {} has no meaning here", a_dimension.word(), b_dimension.word());
                return Err(error((start, self.behind()), message, "multiply by plain numbers: `0.99 * offered`"));
            };
            let scale = a_dimension.scale_of_product(b_dimension, divide);
            let (a, b) = (Box::new(a), Box::new(b));
            let number = if divide { Number::Quotient(a, b, scale) } else { Number::Product(a, b, scale) };
            left = Part::Number(number, dimension);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Part> {
        if self.take(&["-"]).is_some() {
            self.deeper()?;
            let from = self.peek().start;
            let part = self.unary()?;
            self.depth -= 1;
            let (number, dimension) = self.number(part, (from, self.behind()))?;
            return Ok(Part::Number(Number::Negated(Box::new(number)), dimension));
        }
        self.atom()
    }

    fn atom(&mut self) -> Parsed<Part> {
        let token = self.peek().clone();
        match token.kind {
            Kind::Sign("(") => {
                self.next();
                self.deeper()?;
                let part = self.any()?;
                self.depth -= 1;
                if self.take(&[")"]).is_none() {
                    let message = format!("expected `)`, found {}", self.shown());
                    return Err(self.wrong(message, "close the parenthesis"));
                }
                Ok(part)
            }
            Kind::Number(value, unit) => {
                self.next();
                literal(value, &unit, (token.start, token.end))
            }
            Kind::Word(word) if !["and", "or", "for"].contains(&word.as_str()) => {
                self.next();
                self.measure(&word, (token.start, token.end))
            }
            _ => Err(self.wrong(
                format!("expected a name or a number, found {}", self.shown()),
                "a condition looks like `response_ns_p99{op=read} > 5ms for 10s`",
            )),
        }
    }

    fn measure(&mut self, word: &str, at: (usize, usize)) -> Parsed<Part> {
        let found = if self.over == Over::Trace { names::find_traced(word) } else { Ok(names::find(word)) };
        let found = found.map_err(|()| {
            let help = "response, service, wait (the longest) and their statistics, rate, bytes_per_s, ops, errors, read_percent, queue_depth are";
            error(at, format!("`{word}` is not known of a trace"), help)
        })?;
        let Some(found) = found else {
            return Err(error(at, format!("there is no measure `{word}`"), nearest(word)));
        };
        let selector =
            if self.take(&["{"]).is_some() { self.selector(word, found.by_lane)? } else { Selector::default() };
        let selector = match self.selectors.iter().position(|known| *known == selector) {
            Some(index) => index,
            None => {
                self.selectors.push(selector);
                self.selectors.len() - 1
            }
        };
        let text = self.text[at.0..self.behind()].to_string();
        let measured = Measured { quantity: found.quantity, dimension: found.dimension, text, selector };
        Ok(Part::Number(Number::Measured(measured), found.dimension))
    }

    /// `{workload=wd1,op=read}`, behind its brace.
    pub(super) fn selector(&mut self, measure: &str, by_lane: bool) -> Parsed<Selector> {
        const LABELS: [&str; 4] = ["workload", "target", "op", "run"];
        const TRACED: [&str; 2] = ["target", "op"];
        const COMPARED: [&str; 1] = ["run"];
        let labels: &[&'static str] = match self.over {
            Over::Run => &LABELS,
            Over::Trace => &TRACED,
            Over::Comparison => &COMPARED,
        };
        let mut selector = Selector::default();
        loop {
            if self.take(&["}"]).is_some() {
                return Ok(selector);
            }
            let Kind::Word(label) = self.peek().kind.clone() else {
                let message = format!("expected a label, found {}", self.shown());
                return Err(self.wrong(message, format!("one of: {}; `{measure}{{op=read}}`", labels.join(", "))));
            };
            let Some(label) = labels.iter().copied().find(|known| *known == label) else {
                let help = format!("one of: {}", labels.join(", "));
                return Err(self.wrong(format!("there is no label `{label}`"), help));
            };
            if !by_lane && label != "run" {
                let message = format!("`{measure}` is not known by {label}");
                return Err(self.wrong(message, "only `run` can be chosen for it"));
            }
            self.next();
            if self.take(&["=", "=="]).is_none() {
                return Err(
                    self.wrong(format!("expected `=`, found {}", self.shown()), format!("write `{label}=NAME`"))
                );
            }
            let (value, at) = self.value(label)?;
            self.named.push((label, value.clone(), at.0, at.1 - at.0));
            let place = match label {
                "workload" => &mut selector.workload,
                "target" => &mut selector.target,
                "op" => &mut selector.op,
                _ => {
                    self.runs.push(value);
                    self.comma()?;
                    continue;
                }
            };
            if place.replace(value).is_some() {
                return Err(error(at, format!("`{label}` stands here twice"), "one value for each label"));
            }
            self.comma()?;
        }
    }

    fn comma(&mut self) -> Parsed<()> {
        if self.take(&[","]).is_some() || matches!(self.peek().kind, Kind::Sign("}")) {
            return Ok(());
        }
        Err(self.wrong(format!("expected `,` or `}}`, found {}", self.shown()), "close the labels with `}`"))
    }

    /// The value of a label: quoted, or everything up to `,` or `}`.
    fn value(&mut self, label: &str) -> Parsed<(String, (usize, usize))> {
        let first = self.peek().clone();
        let (value, at) = if let Kind::Quoted(value) = first.kind {
            self.next();
            (value, (first.start, first.end))
        } else {
            // All that is written without a blank: names have dashes, dots and stars.
            while !matches!(self.peek().kind, Kind::Sign("," | "}") | Kind::End)
                && (self.peek().start == first.start || self.peek().start == self.behind())
            {
                self.next();
            }
            let at = (first.start, self.behind().max(first.start));
            (self.text[at.0..at.1].to_string(), at)
        };
        if value.is_empty() {
            return Err(self.wrong(format!("`{label}` has no value"), format!("write `{label}=NAME`")));
        }
        let ops: &[&str] = if self.over == Over::Trace { &TRACED_OPS } else { &OPS };
        if label == "op" && !value.ends_with('*') && !ops.contains(&value.as_str()) {
            let near = by_distance(&value, ops.iter().copied()).first().copied().unwrap_or("read");
            return Err(error(
                at,
                format!("there is no operation `{value}`"),
                format!("{} one of: {}", question(near), ops.join(", ")),
            ));
        }
        Ok((value, at))
    }
}

pub(super) fn error((start, end): (usize, usize), message: String, help: impl Into<String>) -> ConditionError {
    ConditionError { start, len: end.saturating_sub(start).max(1), message, help: Some(help.into()) }
}

fn literal(value: f64, unit: &str, at: (usize, usize)) -> Parsed<Part> {
    let Some((factor, dimension)) = dimension::unit(unit) else {
        let help =
            "times: ns, us, ms, s, min, h; sizes: B, kB, MB, KiB, MiB; rates: /s, op/s, MB/s; also k, M, G and %";
        return Err(error(at, format!("there is no unit `{unit}`"), help));
    };
    let number = value * factor;
    if !number.is_finite() {
        return Err(error(at, "this is no number".to_string(), "write digits with one point: 0.99"));
    }
    Ok(Part::Number(Number::Constant(number), dimension))
}

fn first_example(dimension: Dimension) -> &'static str {
    dimension.example().split(',').next().unwrap_or("1")
}

/// The names that are nearest to a wrong one.
fn nearest(word: &str) -> String {
    let known = names::all();
    // A bare time is meant as its percentile more often than anything else.
    if let Some(name) = known.iter().find(|name| name.starts_with(&format!("{word}_ns_p99"))) {
        return format!("{} a time has a statistic: min, mean, p50, p90, p99, p999, max", question(name));
    }
    let near = by_distance(word, known.iter().map(String::as_str));
    let few: Vec<String> = near.iter().take(3).map(|name| format!("`{name}`")).collect();
    format!("did you mean {}? docs/objectives.md has all names", few.join(", "))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked before")]
fn whole(value: f64) -> u64 {
    value as u64
}
