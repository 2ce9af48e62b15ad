//! Lists of small numbers as the kernel and job files write them.

/// The greatest number of a list: more CPUs than a kernel of today is built for.
const GREATEST: u32 = 8191;

/// The numbers of `0-3,8`, each once, lowest first; none in an empty text. The kernel's form of lists of CPUs and NUMA
/// nodes (`/sys/devices/system/cpu/online`), which is fio's `cpus_allowed` as well.
///
/// # Errors
/// What is no number or no range, in words.
pub fn parse_list(text: &str) -> Result<Vec<u32>, String> {
    let mut out = Vec::new();
    if text.trim().is_empty() {
        return Ok(out);
    }
    for part in text.split(',').map(str::trim) {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let parse = |text: &str| text.trim().parse::<u32>().map_err(|_| format!("`{text}` is not a number"));
        let (low, high) = (parse(low)?, parse(high)?);
        if low > high {
            return Err(format!("`{part}` ends before it begins"));
        }
        if high > GREATEST {
            return Err(format!("`{part}` goes beyond {GREATEST}"));
        }
        out.extend(low..=high);
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::parse_list;

    #[test]
    fn ranges_and_numbers_in_any_order() {
        assert_eq!(parse_list("0-2,5\n"), Ok(vec![0, 1, 2, 5]));
        assert_eq!(parse_list("8, 1-2,2-3"), Ok(vec![1, 2, 3, 8]));
        assert_eq!(parse_list(" \n"), Ok(Vec::new()));
        for wrong in ["odd", "3-1", "1-", ",", "0-4294967295", "-1"] {
            assert!(parse_list(wrong).is_err(), "{wrong}");
        }
    }
}
