//! Names of the kernel's functions by address.

use std::io::BufRead;

/// What `/proc/kallsyms` says, in order of addresses.
#[derive(Debug, Default)]
pub(super) struct KernelNames {
    /// Address, and where its name begins.
    symbols: Vec<(u64, u32)>,
    /// One behind the other, each with a newline.
    names: String,
}

impl KernelNames {
    /// Of the running kernel; empty when it hides them.
    pub(super) fn running() -> Self {
        let file = std::fs::File::open("/proc/kallsyms");
        file.map(|file| Self::of(std::io::BufReader::with_capacity(1 << 16, file))).unwrap_or_default()
    }

    fn of(mut text: impl BufRead) -> Self {
        let mut out = Self::default();
        let mut line = String::new();
        while matches!(text.read_line(&mut line), Ok(1..)) {
            out.take(&line);
            line.clear();
        }
        out.symbols.sort_by_key(|(address, _)| *address);
        out
    }

    /// `ffffffff81000000 T name [module]`: functions only.
    fn take(&mut self, line: &str) {
        let mut words = line.split_ascii_whitespace();
        let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else { return };
        let is_function = matches!(kind, "t" | "T" | "w" | "W");
        let (Ok(address @ 1..), Ok(at)) = (u64::from_str_radix(address, 16), u32::try_from(self.names.len())) else {
            return;
        };
        if is_function {
            self.symbols.push((address, at));
            self.names.push_str(name);
            self.names.push('\n');
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The function that the address is in, or the address.
    pub(super) fn name(&self, address: u64) -> String {
        let behind = self.symbols.partition_point(|(begin, _)| *begin <= address);
        let found = behind.checked_sub(1).and_then(|at| self.symbols.get(at));
        let name = found.and_then(|(_, at)| self.names.get(*at as usize..)?.split('\n').next());
        name.map_or_else(|| format!("{address:#x}"), ToString::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::KernelNames;

    #[test]
    fn the_function_that_an_address_is_in() {
        let text = "ffffffff81000020 T second\nffffffff81000000 t first\nffffffff81000010 d data\nffffffffc0000000 t third\t[mod]\nodd\n";
        let names = KernelNames::of(text.as_bytes());
        assert_eq!(names.name(0xffff_ffff_8100_0018), "first");
        assert_eq!(names.name(0xffff_ffff_8100_0020), "second");
        assert_eq!(names.name(0xffff_ffff_c000_0fff), "third");
        assert_eq!(names.name(0x10), "0x10");
    }

    #[test]
    fn hidden_addresses_are_no_names() {
        assert!(KernelNames::of("0000000000000000 T first\n".as_bytes()).is_empty());
    }
}
