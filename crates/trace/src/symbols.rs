//! Addresses of kernel functions, to tell whose an object is by the function that it points to.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};

/// Addresses of `names` in `/proc/kallsyms`; those that are not there, or hidden (`kernel.kptr_restrict`), are left out.
pub(crate) fn addresses(names: &[&'static str]) -> HashMap<&'static str, u64> {
    match std::fs::File::open("/proc/kallsyms") {
        Ok(file) => find(BufReader::new(file), names),
        Err(_) => HashMap::new(),
    }
}

/// A function that every kernel has. Where its address is hidden, all addresses are.
pub(crate) const ALWAYS: &str = "_stext";

fn find(text: impl BufRead, names: &[&'static str]) -> HashMap<&'static str, u64> {
    let mut found = HashMap::new();
    for line in text.lines().map_while(Result::ok) {
        let mut words = line.split_ascii_whitespace();
        let (Some(address), Some(_), Some(name)) = (words.next(), words.next(), words.next()) else { continue };
        if let Some(known) = names.iter().find(|known| **known == name)
            && let Ok(address @ 1..) = u64::from_str_radix(address, 16)
        {
            found.insert(*known, address);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn hidden_addresses_are_left_out() {
        let text = "ffffffff81766530 T one\n0000000000000000 t two\nffffffffc0001000 t three\t[btrfs]\nbroken\n";
        let found = find(text.as_bytes(), &["one", "two", "three", "four"]);
        assert_eq!(found.len(), 2);
        assert_eq!((found["one"], found["three"]), (0xffff_ffff_8176_6530, 0xffff_ffff_c000_1000));
    }
}
