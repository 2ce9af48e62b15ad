//! Names of the kernel's functions by address.

use std::io::BufRead;

/// Hardly a function is longer: an address so far behind the last one is in none that is known.
const BYTES_MAX: u64 = 1 << 16;

/// What `/proc/kallsyms` says, in order of addresses.
#[derive(Debug, Default)]
pub(super) struct KernelNames {
    /// Address, and where its name begins.
    symbols: Vec<(u64, u32)>,
    /// One behind the other, each with a newline.
    names: String,
    /// Which modules they are of.
    modules: String,
    /// Whether they were compared in this round.
    is_compared: bool,
}

impl KernelNames {
    /// Of the running kernel; empty when it hides them.
    pub(super) fn running() -> Self {
        // Before the names: what is loaded in between is noticed next time.
        let modules = running_modules();
        let file = std::fs::File::open("/proc/kallsyms");
        let names = file.map(|file| Self::of(std::io::BufReader::with_capacity(1 << 16, file))).unwrap_or_default();
        Self { modules, ..names }
    }

    /// A new round of questions.
    pub(super) fn begin(&mut self) {
        self.is_compared = false;
    }

    /// Reads the names again where other modules are loaded by now, once a round; true when it did.
    pub(super) fn follow(&mut self) -> bool {
        let is_new = !std::mem::replace(&mut self.is_compared, true) && self.modules != running_modules();
        if is_new {
            *self = Self { is_compared: true, ..Self::running() };
        }
        is_new
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
        let found = found.filter(|(begin, _)| address - begin < BYTES_MAX);
        let name = found.and_then(|(_, at)| self.names.get(*at as usize..)?.split('\n').next());
        name.map_or_else(|| format!("{address:#x}"), ToString::to_string)
    }
}

fn running_modules() -> String {
    std::fs::read_to_string("/proc/modules").map(|text| modules(&text)).unwrap_or_default()
}

/// `name size users by state address`: without their users, which come and go.
fn modules(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        for word in [0, 1, 4, 5].iter().filter_map(|at| words.get(*at)) {
            out.push_str(word);
            out.push(' ');
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{KernelNames, modules};

    #[test]
    fn the_function_that_an_address_is_in() {
        let text = "ffffffff81000020 T second\nffffffff81000000 t first\nffffffff81000010 d data\nffffffffc0000000 t third\t[mod]\nodd\n";
        let names = KernelNames::of(text.as_bytes());
        assert_eq!(names.name(0xffff_ffff_8100_0018), "first");
        assert_eq!(names.name(0xffff_ffff_8100_0020), "second");
        assert_eq!(names.name(0xffff_ffff_c000_0fff), "third");
        assert_eq!(names.name(0x10), "0x10");
        assert_eq!(names.name(0xffff_ffff_8101_001f), "second");
        assert_eq!(names.name(0xffff_ffff_8101_0020), "0xffffffff81010020", "in none that is known");
    }

    #[test]
    fn modules_that_come_and_go_are_noticed_and_their_users_are_not() {
        let before = modules("xfs 1 2 - Live 0xffffffffc0000000\nloop 5 0 - Live 0x0 (E)\n");
        assert_eq!(before, modules("xfs 1 3 dm,md, Live 0xffffffffc0000000\nloop 5 1 - Live 0x0 (E)\n"));
        for after in ["xfs 1 2 - Live 0xffffffffc0000000\n", "xfs 1 2 - Live 0xffffffffc0009000\nloop 5 0 - Live 0x0\n"]
        {
            assert_ne!(before, modules(after), "{after}");
        }
    }

    #[test]
    fn names_are_read_again_when_other_modules_are_loaded_once_a_round() {
        let mut names = KernelNames::of("ffffffff81000000 t old\n".as_bytes());
        names.modules = "gone 1 Live 0x0 \n".to_string();
        assert!(names.follow() && !names.follow());
        assert_ne!(names.name(0xffff_ffff_8100_0000), "old");
        names.modules = "gone 1 Live 0x0 \n".to_string();
        assert!(!names.follow());
        names.begin();
        assert!(names.follow());
    }

    #[test]
    fn hidden_addresses_are_no_names() {
        assert!(KernelNames::of("0000000000000000 T first\n".as_bytes()).is_empty());
    }
}
