//! Tells parameter languages apart by content.

/// A parameter language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterFormat {
    /// `sd=…`, `wd=…`, `rd=…`.
    Vdbench,
    /// `[section]` and `name=value`.
    Fio,
    /// Neither for certain.
    Unknown,
}

/// Judges by the first lines that say something: a `[section]` is fio's, a definition such as `sd=` is Vdbench's.
pub fn sniff(text: &str) -> ParameterFormat {
    const DEFINITIONS: [&str; 7] = ["hd", "rg", "fsd", "sd", "wd", "fwd", "rd"];
    for line in text.lines().map(str::trim).take(32_768) {
        if line.is_empty() || line.starts_with(['#', '*', '/', ';']) {
            continue;
        }
        if line.starts_with('[') {
            return ParameterFormat::Fio;
        }
        let keyword = line.split(['=', ' ', '\t']).next().unwrap_or_default().to_ascii_lowercase();
        if DEFINITIONS.contains(&keyword.as_str()) && line.contains('=') {
            return ParameterFormat::Vdbench;
        }
    }
    ParameterFormat::Unknown
}

#[cfg(test)]
mod tests {
    use super::{ParameterFormat, sniff};

    #[test]
    fn content_decides() {
        assert_eq!(sniff("* x\ncompratio=2\nSD=sd1,lun=/x"), ParameterFormat::Vdbench);
        assert_eq!(sniff("; x\n[global]\nrw=read"), ParameterFormat::Fio);
        assert_eq!(sniff("hello = world"), ParameterFormat::Unknown);
        assert_eq!(sniff(""), ParameterFormat::Unknown);
    }
}
