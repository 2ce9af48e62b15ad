//! Arguments of `iodyno verify`, `inspect` and `inject`: stamped data without a load.

use crate::exit::{Failure, PARAMETERS};
use crate::output_args::ForceArgs;
use clap::{Args, ValueEnum};
use quantity::text::parse_bytes;
use std::path::PathBuf;
use validation::InjectedDamage;

/// Arguments of `iodyno verify`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno verify /dev/sdb                         all of it: who wrote what and when; what is damaged\n  \
      iodyno verify /dev/mirror-leg --as /dev/md0    one leg of a broken mirror, under the volume's name\n  \
      iodyno verify /data/tree                       all files in it and below, each by its own stamps\n  \
      iodyno verify /data/test --block 8k            blocks of 8 KiB: one of two writes is torn\n  \
      iodyno verify /dev/sdb --journal /ssd/j --after-crash    by the journal, after a power cut\n  \
      iodyno verify /dev/sdb --json | jq '.damages[].address'  for programs\n\n\
    Only reads. Every sector says who wrote it, where and when, so no parameter file and no recording is \
    needed. What only a load can know (an older write in the place of the last one) is found by the load, or \
    with its journal (docs/verify.md). Exit code 0: no damage, 2: nothing there has a stamp, or the name of \
    --as, 3: a part cannot be read, 4: damage.")]
pub(crate) struct VerifyArgs {
    /// Device, file, or directory: then all regular files in it and below, no links followed.
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    /// The name under which it was written, a path or any text. Default: the one that most of its sectors have.
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) written_as: Option<PathBuf>,
    /// Bytes of the blocks that the load wrote: sectors of one block that belong to different writes are then a torn
    /// write.
    #[arg(long, value_name = "BYTES")]
    pub(crate) block: Option<String>,
    /// The load kept a journal in DIR (`run --journal`): what it says of this target must be there. It is only read
    /// (docs/journal.md).
    #[arg(long, value_name = "DIR", conflicts_with = "block")]
    pub(crate) journal: Option<PathBuf>,
    /// Power was cut, although this machine was not started again: what was not flushed may be lost.
    #[arg(long, requires = "journal")]
    pub(crate) after_crash: bool,
    /// Record what is found in DIR as well, for `report`, `export` and `query`.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Print one JSON object on standard output in place of the tables (docs/verify.md).
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `iodyno inspect`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno inspect /dev/sdb --at 0x15650000            one sector field by field, and its neighbours in a line each\n  \
      iodyno inspect /dev/sdb --at 0x15650000 --hex      with all bytes; where it is damaged, with what was written\n  \
      iodyno inspect /data/test --at 8k --bytes 4k       a block of eight sectors\n\n\
    Only reads. Exit code 0: no damage there, 3: it cannot be read, 4: damage (docs/verify.md).")]
pub(crate) struct InspectArgs {
    /// Device or file.
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    /// Where: a number of bytes, decimal, hexadecimal (0x…) or with a unit (8k, 1g).
    #[arg(long, value_name = "ADDRESS", allow_hyphen_values = true)]
    pub(crate) at: String,
    /// How much: every sector of which a byte is in it. Default: the sector there.
    #[arg(long, value_name = "N")]
    pub(crate) bytes: Option<String>,
    /// Bytes of the blocks that the load wrote, as for `verify`.
    #[arg(long, value_name = "BYTES")]
    pub(crate) block: Option<String>,
    /// Show all bytes too; below those of a damaged sector, what was written.
    #[arg(long)]
    pub(crate) hex: bool,
    /// The name under which the target was written. Default: the one that most of its sectors have.
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) written_as: Option<PathBuf>,
    /// Print one JSON object on standard output in place of the text.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `iodyno inject`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
      iodyno inject --kind bit_rot /dev/loop0 --at 0x200000         one bit of the block there\n  \
      iodyno inject --kind torn /dev/loop0 --random 20 --seed 7     twenty blocks, the same ones with the same seed\n  \
      iodyno inject --kind misdirected /data/test --random 1 --list damage.json    a list in a file\n  \
      iodyno inject --kind bit_rot /dev/loop1 --as /mnt/file --copies --random 9 --destroy /dev/loop1\n\n\
    Only blocks are damaged that iodyno stamped, that are intact, of this target and at their place; each is \
    read again right before it is written. What is mounted, in use or not iodyno's is refused as by `run` \
    (docs/safety.md). Damage stays until the blocks are written again. Exit code 0: done, 7: refused \
    (docs/verify.md).")]
pub(crate) struct InjectArgs {
    /// What happens to a block.
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: KindArg,
    /// Device or file.
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
    /// Where a block begins: bytes, decimal, hexadecimal (0x…) or with a unit (8k, 1g). May be given several times.
    #[arg(
        long,
        value_name = "ADDRESS",
        required_unless_present = "random",
        conflicts_with = "random",
        allow_hyphen_values = true
    )]
    pub(crate) at: Vec<String>,
    /// Damage so many blocks, chosen at random.
    #[arg(long, value_name = "N")]
    pub(crate) random: Option<u64>,
    /// Seed of every random choice.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Bytes of a block, a multiple of 512.
    #[arg(long, value_name = "BYTES", default_value = "4k")]
    pub(crate) block: String,
    /// Bits that flip, for bit_rot.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) bits: u32,
    /// The name under which the target was written. Default: the one that most of its sectors have.
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) written_as: Option<PathBuf>,
    /// The target is a disk below a file system or a volume that keeps copies of the data of --as NAME, each somewhere:
    /// blocks are known by their stamps alone, and --at is the address in them.
    #[arg(long, requires = "written_as")]
    pub(crate) copies: bool,
    /// Permit writing to this device or file although other data are on it; name it exactly. Sectors that are not
    /// iodyno's stay as they are even so.
    #[arg(long, value_name = "DEVICE|FILE")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Write the list of what was done to a file as well, as JSON lines; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) list: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
    /// Print one JSON object per damaged block on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What happens to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum KindArg {
    /// Bits of one sector flip (--bits).
    BitRot,
    /// Half of the words of one sector become others.
    Corrupt,
    /// Its second half becomes an earlier write.
    #[value(alias = "torn")]
    TornWrite,
    /// All of it becomes an earlier write.
    #[value(aliases = ["lost", "stale"])]
    LostWrite,
    /// It gets the data of another block, which becomes an earlier write.
    #[value(alias = "misdirected")]
    MisdirectedWrite,
    /// It gets the data of another block, which keeps them.
    #[value(alias = "duplicated")]
    DuplicatedWrite,
    /// Two of its sectors change places.
    #[value(alias = "swapped")]
    SwappedSectors,
    /// It becomes data of another device.
    OtherDevice,
    /// It becomes data of an earlier run.
    OlderRun,
    /// Random bytes.
    Foreign,
    /// Zeroes.
    #[value(aliases = ["zero", "zeros"])]
    Zeroes,
}

impl KindArg {
    /// As the crate `validation` has it.
    pub(crate) fn damage(self, bits: u32) -> InjectedDamage {
        match self {
            Self::BitRot => InjectedDamage::BitRot(bits),
            Self::Corrupt => InjectedDamage::Corrupt,
            Self::TornWrite => InjectedDamage::TornWrite,
            Self::LostWrite => InjectedDamage::LostWrite,
            Self::MisdirectedWrite => InjectedDamage::MisdirectedWrite,
            Self::DuplicatedWrite => InjectedDamage::DuplicatedWrite,
            Self::SwappedSectors => InjectedDamage::SwappedSectors,
            Self::OtherDevice => InjectedDamage::OtherDevice,
            Self::OlderRun => InjectedDamage::OlderRun,
            Self::Foreign => InjectedDamage::Foreign,
            Self::Zeroes => InjectedDamage::Zeroes,
        }
    }
}

/// A number of bytes: decimal, hexadecimal or with a unit.
pub(crate) fn byte_count(text: &str, option: &str) -> Result<u64, Failure> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let number = match hexadecimal {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        // Exact where a size with a fraction is not.
        None => text.parse().ok().or_else(|| parse_bytes(text).ok()),
    };
    number.ok_or_else(|| {
        let help = "a number of bytes: 4096, 0x1000, 4k";
        Failure::new(PARAMETERS, format!("{option} {text}: {help}"))
    })
}

#[cfg(test)]
mod tests {
    use super::byte_count;

    #[test]
    fn addresses_are_decimal_hexadecimal_or_sizes() {
        for (text, bytes) in [("0", 0), ("0x15650000", 0x1565_0000), ("4k", 4096), ("18446744073709551615", u64::MAX)] {
            assert_eq!(byte_count(text, "--at").ok(), Some(bytes), "{text}");
        }
        for text in ["", "0x", "x", "-1", "0xfffffffffffffffff", "1 2"] {
            assert!(byte_count(text, "--at").is_err(), "{text}");
        }
    }
}
