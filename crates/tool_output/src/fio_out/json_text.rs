//! JSON as fio prints it: two blanks per level, ` : ` behind a name, floats with six digits.

use std::fmt;

/// A value; objects keep the order of their names.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    /// Not measured.
    Null,
    Int(u64),
    Float(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// An object of pairs.
    pub(super) fn object<N: Into<String>>(pairs: impl IntoIterator<Item = (N, Json)>) -> Self {
        Self::Object(pairs.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// A number, or null.
    pub(super) fn int(value: Option<u64>) -> Self {
        value.map_or(Self::Null, Self::Int)
    }

    fn print(&self, level: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Int(value) => write!(f, "{value}"),
            // What is not finite has no form in JSON.
            Self::Float(value) if !value.is_finite() => f.write_str("null"),
            Self::Float(value) => write!(f, "{value:.6}"),
            Self::Text(text) => f.write_str(&serde_json::Value::from(text.as_str()).to_string()),
            Self::Array(values) => {
                f.write_str("[\n")?;
                for (at, value) in values.iter().enumerate() {
                    f.write_str(if at > 0 { ",\n" } else { "" })?;
                    indent(level + 1, f)?;
                    value.print(level + 1, f)?;
                }
                f.write_str("\n")?;
                indent(level, f)?;
                f.write_str("]")
            }
            Self::Object(pairs) => {
                f.write_str("{\n")?;
                for (at, (name, value)) in pairs.iter().enumerate() {
                    f.write_str(if at > 0 { ",\n" } else { "" })?;
                    indent(level + 1, f)?;
                    write!(f, "{} : ", serde_json::Value::from(name.as_str()))?;
                    value.print(level + 1, f)?;
                }
                f.write_str("\n")?;
                indent(level, f)?;
                f.write_str("}")
            }
        }
    }
}

fn indent(level: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    (0..level).try_for_each(|_| f.write_str("  "))
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(0, f)
    }
}
