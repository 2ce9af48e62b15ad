//! A part of the plan in words: every field whose value is not the quiet default, by the name it has in the plan's JSON.
//!
//! It goes through the serialised form, so that a field that is new in the plan is shown without a change here.

use plan::{AddressPattern, Arrivals, PlanSettings, WriteContent};
use quantity::text::{format_bytes, format_ns};
use serde::Serialize;
use serde_json::{Map, Value};

/// The fields that say something, `name value` with `; ` between: nulls, false, zeros, empty lists and what
/// a default value of the plan has are left out, and so are the fields in `said` (`name` or `name.field`) and spans.
pub(crate) fn departures(part: &impl Serialize, said: &[&str]) -> String {
    let Ok(Value::Object(fields)) = serde_json::to_value(part) else { return String::new() };
    let defaults = defaults();
    let mut words = Vec::new();
    for (name, value) in &fields {
        let inner = defaults.get(name).and_then(Value::as_object);
        match value {
            Value::Object(group) if !is_variant(group) && name != "span" => {
                for (field, value) in group {
                    let path = format!("{name}.{field}");
                    let usual = inner.is_some_and(|inner| inner.get(field) == Some(value));
                    let shown = !said.contains(&path.as_str()) && !said.contains(&name.as_str());
                    words.extend((shown && !usual && speaks(value)).then(|| format!("{path} {}", word(field, value))));
                }
            }
            value => {
                let usual = defaults.get(name) == Some(value);
                let shown = !said.contains(&name.as_str()) && name != "span";
                words.extend((shown && !usual && speaks(value)).then(|| format!("{name} {}", word(name, value))));
            }
        }
    }
    words.join("; ")
}

/// Default values by the name of the field: those of the groups, and those of the settings on the top level.
fn defaults() -> Map<String, Value> {
    let settings = serde_json::to_value(PlanSettings::default()).ok();
    let mut defaults = settings.and_then(|settings| settings.as_object().cloned()).unwrap_or_default();
    let groups = [
        (
            "address",
            serde_json::to_value(AddressPattern {
                order: plan::AddressOrder::Mixed { seek: -1.0, distribution: plan::AddressDistribution::Uniform },
                ..AddressPattern::default()
            }),
        ),
        ("content", serde_json::to_value(WriteContent::default())),
        ("arrivals", serde_json::to_value(Arrivals::default())),
    ];
    defaults.extend(groups.into_iter().filter_map(|(name, value)| Some((name.to_string(), value.ok()?))));
    defaults
}

/// An enum's variant with its content, `{"Random": "Uniform"}`: fields begin with a small letter.
fn is_variant(object: &Map<String, Value>) -> bool {
    object.len() == 1 && object.keys().all(|key| key.starts_with(|letter: char| letter.is_ascii_uppercase()))
}

/// Is there anything to tell?
fn speaks(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => is_variant(fields) || fields.values().any(speaks),
        Value::Bool(true) => true,
    }
}

/// A value in words; the unit is in the name.
fn word(name: &str, value: &Value) -> String {
    match value {
        Value::Null => "none".to_string(),
        Value::Bool(true) => "yes".to_string(),
        Value::Bool(false) => "no".to_string(),
        Value::String(text) => lower(name, text),
        Value::Number(number) => match number.as_u64() {
            Some(ns) if name.ends_with("_ns") || name == "Nanoseconds" => format_ns(ns),
            Some(bytes) if is_size(name) => format_bytes(bytes),
            _ => plain(number),
        },
        Value::Array(items) => {
            format!("({})", items.iter().map(|item| word(name, item)).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) if is_variant(fields) => {
            let words =
                fields.iter().map(|(variant, value)| format!("{} {}", lower(name, variant), word(variant, value)));
            words.collect::<String>().trim_end().to_string()
        }
        Value::Object(fields) => {
            let words: Vec<String> = fields
                .iter()
                .filter(|(name, value)| *name != "span" && speaks(value))
                .map(|(name, value)| format!("{name} {}", word(name, value)))
                .collect();
            if words.is_empty() { String::new() } else { format!("({})", words.join(", ")) }
        }
    }
}

/// At most six digits after the point; sums of shares have more.
fn plain(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(value) if number.is_f64() && value.abs() >= 1e-6 => format!("{}", (value * 1e6).round() / 1e6),
        _ => number.to_string(),
    }
}

fn is_size(name: &str) -> bool {
    name.ends_with("_bytes") || matches!(name, "Bytes" | "Fixed" | "Uniform" | "min" | "max" | "align")
}

/// Fields with words of the user's, which stay as they are.
const GIVEN: &[&str] = &["errors_command", "monitor", "pattern", "line", "output", "text", "title", "name", "path"];

/// A variant as words in a sentence, `ExactOnce` as `exact once`.
fn lower(name: &str, text: &str) -> String {
    if GIVEN.contains(&name) {
        return text.to_string();
    }
    let mut words = String::new();
    for letter in text.chars() {
        if letter.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}
