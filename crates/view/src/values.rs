//! Long rows of numbers, compact in JSON: base64 of the smallest little-endian type that holds every value exactly.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Deref;

/// Numbers of a series; NaN stands for a missing value.
///
/// In JSON a string `TYPE:BASE64` with TYPE one of `u8`, `u16`, `u32`, `f32`, `f64`, little-endian.
#[derive(Clone, Debug, Default)]
pub struct Values(pub Vec<f64>);

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|(a, b)| a.total_cmp(b).is_eq() || (a.is_nan() && b.is_nan()))
    }
}

impl Deref for Values {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        &self.0
    }
}

impl From<Vec<f64>> for Values {
    fn from(values: Vec<f64>) -> Self {
        Self(values)
    }
}

impl FromIterator<f64> for Values {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl FromIterator<Option<f64>> for Values {
    fn from_iter<I: IntoIterator<Item = Option<f64>>>(values: I) -> Self {
        Self(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
    }
}

impl Values {
    /// The value at `index`, `None` when missing.
    pub fn get_some(&self, index: usize) -> Option<f64> {
        self.0.get(index).copied().filter(|value| !value.is_nan())
    }

    /// Smallest and greatest value that is not missing.
    pub fn range(&self) -> Option<(f64, f64)> {
        let mut present = self.0.iter().copied().filter(|value| value.is_finite());
        let first = present.next()?;
        Some(present.fold((first, first), |(low, high), value| (low.min(value), high.max(value))))
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked before")]
    fn encode(&self) -> String {
        let whole = self.0.iter().all(|value| *value >= 0.0 && value.fract() == 0.0);
        let max = self.0.iter().copied().fold(0.0_f64, f64::max);
        let (name, bytes): (&str, Vec<u8>) = if whole && max <= f64::from(u8::MAX) {
            ("u8", self.0.iter().map(|value| *value as u8).collect())
        } else if whole && max <= f64::from(u16::MAX) {
            ("u16", self.0.iter().flat_map(|value| (*value as u16).to_le_bytes()).collect())
        } else if whole && max <= f64::from(u32::MAX) {
            ("u32", self.0.iter().flat_map(|value| (*value as u32).to_le_bytes()).collect())
        } else if self.0.iter().all(|value| value.is_nan() || f64::from(*value as f32) == *value) {
            ("f32", self.0.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect())
        } else {
            ("f64", self.0.iter().flat_map(|value| value.to_le_bytes()).collect())
        };
        format!("{name}:{}", BASE64_STANDARD.encode(&bytes))
    }

    fn decode(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once(':')?;
        let bytes = BASE64_STANDARD.decode(rest).ok()?;
        Some(Self(match name {
            "u8" => bytes.iter().map(|byte| f64::from(*byte)).collect(),
            "u16" => bytes.as_chunks().0.iter().map(|chunk| f64::from(u16::from_le_bytes(*chunk))).collect(),
            "u32" => bytes.as_chunks().0.iter().map(|chunk| f64::from(u32::from_le_bytes(*chunk))).collect(),
            "f32" => bytes.as_chunks().0.iter().map(|chunk| f64::from(f32::from_le_bytes(*chunk))).collect(),
            "f64" => bytes.as_chunks().0.iter().map(|chunk| f64::from_le_bytes(*chunk)).collect(),
            _ => return None,
        }))
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.encode())
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::decode(&text).ok_or_else(|| D::Error::custom("expected TYPE:BASE64 with TYPE u8, u16, u32, f32 or f64"))
    }
}

#[cfg(test)]
mod tests {
    use super::Values;

    fn check(values: &[f64], prefix: &str) {
        let values = Values(values.to_vec());
        let text = serde_json::to_string(&values).unwrap();
        assert!(text.starts_with(&format!("\"{prefix}:")), "{text}");
        assert_eq!(serde_json::from_str::<Values>(&text).unwrap(), values);
    }

    #[test]
    fn values_round_trip_exactly_in_the_smallest_type() {
        check(&[], "u8");
        check(&[0.0, 1.0, 255.0], "u8");
        check(&[256.0, 7.0], "u16");
        check(&[65536.0, 4_294_967_295.0, 1.0, 2.0], "u32");
        check(&[0.5, f64::NAN], "f32");
        check(&[0.1, f64::NAN, -3.0], "f64");
        check(&[1e15], "f64");
        check(&[-1.0], "f32");
    }
}
