//! What a job says of the checks of its data: `verify=` and its kin.

use crate::value::Units;
use crate::words::in_range;

/// Checksums of fio's and what else its methods put before the data; all of them are one here.
const METHODS: [&str; 18] = [
    "crc32c",
    "crc32c-intel",
    "crc32",
    "crc16",
    "crc7",
    "crc64",
    "md5",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "xxhash",
    "meta",
    "pattern_hdr",
    "pattern",
];

/// What a job says of the checks of its data.
#[derive(Clone, Debug)]
pub(crate) struct VerifyOptions {
    /// Is anything checked?
    pub(crate) is_on: bool,
    /// It is to be checked against given bytes alone.
    pub(crate) is_bare: bool,
    /// What was written is read at the end.
    pub(crate) at_end: bool,
    /// … and every so many writes before.
    pub(crate) backlog: u64,
    pub(crate) is_fatal: bool,
    /// Writes are not done: what they wrote in another execution is read.
    pub(crate) only: bool,
    pub(crate) trim_percent: u64,
    pub(crate) trim_backlog: u64,
    pub(crate) trims_read_zero: bool,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            is_on: false,
            is_bare: false,
            at_end: true,
            backlog: 0,
            is_fatal: false,
            only: false,
            trim_percent: 0,
            trim_backlog: 0,
            trims_read_zero: false,
        }
    }
}

impl VerifyOptions {
    /// False: it is none of these.
    pub(crate) fn switch(&mut self, name: &str, on: bool) -> bool {
        match name {
            "do_verify" => self.at_end = on,
            "verify_fatal" => self.is_fatal = on,
            "verify_only" => self.only = on,
            "trim_verify_zero" => self.trims_read_zero = on,
            _ => return false,
        }
        true
    }

    /// False: it is none of these.
    pub(crate) fn set(&mut self, units: Units, name: &str, text: &str) -> Result<bool, String> {
        match name {
            "verify" => {
                // `null` only pretends to.
                let is_off = matches!(text, "0" | "none" | "null");
                if !is_off && !METHODS.contains(&text) {
                    return Err(format!("`{text}` is none of 0, null, {}", METHODS.join(", ")));
                }
                (self.is_on, self.is_bare) = (!is_off, text == "pattern");
            }
            "verify_backlog" => self.backlog = units.count(text)?,
            "trim_percentage" => self.trim_percent = in_range(units.count(text)?, 0, 100)?,
            "trim_backlog" => self.trim_backlog = units.count(text)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}
