//! From an event's bytes to what happened.

use crate::block::ftrace::format::{Field, Layout};
use recording::FLAGS;

/// The kernel's numbers of operations (include/linux/blk_types.h).
pub(crate) const READ: u8 = 0;
pub(crate) const WRITE: u8 = 1;
pub(crate) const FLUSH: u8 = 2;

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    BioQueue,
    Start,
    Insert,
    Issue,
    Complete,
    Requeue,
    Merge,
    BioComplete,
    Split,
    BackMerge,
    FrontMerge,
}

/// Their events, and what is lost without them; ends are switched on before starts.
pub(crate) const EVENTS: [(&str, Kind, Option<&str>); 11] = [
    ("block_rq_complete", Kind::Complete, None),
    ("block_bio_complete", Kind::BioComplete, Some("devices without requests (zram, dm, md) are not traced")),
    ("block_rq_issue", Kind::Issue, None),
    ("block_rq_requeue", Kind::Requeue, Some("requests that the driver gave back are not counted")),
    ("block_rq_merge", Kind::Merge, Some("requests that were merged away stay among the I/Os in flight")),
    ("block_bio_backmerge", Kind::BackMerge, Some("merges are not counted")),
    ("block_bio_frontmerge", Kind::FrontMerge, Some("merges are not counted")),
    ("block_split", Kind::Split, Some("splits are not marked")),
    ("block_rq_insert", Kind::Insert, Some("an I/O begins when it is issued")),
    ("block_io_start", Kind::Start, Some("an I/O begins when it enters the scheduler (Linux 6.5 has the tracepoint)")),
    ("block_bio_queue", Kind::BioQueue, Some("time spent waiting for a free request is not seen")),
];

/// One that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) ns: u64,
    pub(crate) kind: Kind,
    pub(crate) tid: u32,
    pub(crate) comm: [u8; 16],
    /// Major << 20 | minor, of a partition as well.
    pub(crate) dev: u32,
    pub(crate) sector: u64,
    pub(crate) sectors: u32,
    /// Where the rest of a split bio begins.
    pub(crate) rest_sector: u64,
    /// A negative errno, or 0.
    pub(crate) error: i32,
    pub(crate) op: u8,
    pub(crate) flags: u16,
}

/// Reads the events of one kind.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    /// By which they are known.
    pub(crate) id: u16,
    kind: Kind,
    tid: Field,
    dev: Field,
    sector: Field,
    rwbs: Field,
    sectors: Option<Field>,
    bytes: Option<Field>,
    rest_sector: Option<Field>,
    error: Option<Field>,
    comm: Option<Field>,
}

impl Decoder {
    /// `None` when the format has not what is needed.
    pub(crate) fn of(kind: Kind, format: &str) -> Option<Self> {
        let layout = Layout::parse(format);
        let field = |name: &str| layout.field(name);
        Some(Self {
            id: layout.id?,
            kind,
            tid: field("common_pid")?,
            dev: field("dev")?,
            sector: field("sector")?,
            rwbs: field("rwbs")?,
            sectors: field("nr_sector"),
            bytes: field("bytes"),
            rest_sector: field("new_sector"),
            error: field("error"),
            comm: field("comm"),
        })
    }

    /// What it reads.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// `None` for bytes that are too few.
    pub(crate) fn event(&self, ns: u64, data: &[u8]) -> Option<Event> {
        let number = |field: Option<Field>| field.map_or(Some(0), |field| field.number(data));
        let mut sectors = u32::try_from(number(self.sectors)?).ok()?;
        if let Some(bytes) = self.bytes {
            sectors = sectors.max(bytes.word(data)? / 512);
        }
        let (op, flags) = operation(self.rwbs.bytes(data)?, sectors, self.kind == Kind::Split);
        let mut comm = [0; 16];
        let name = self.comm.map_or(Some(&[][..]), |field| field.bytes(data))?;
        comm.iter_mut().zip(name.iter().take_while(|byte| **byte != 0)).for_each(|(to, from)| *to = *from);
        Some(Event {
            ns,
            kind: self.kind,
            tid: self.tid.word(data)?,
            comm,
            dev: self.dev.word(data)?,
            // One without data has no place; the kernel may write -1.
            sector: if op == FLUSH { 0 } else { self.sector.number(data)? },
            sectors,
            rest_sector: number(self.rest_sector)?,
            error: u32::try_from(number(self.error)?).ok()?.cast_signed(),
            op,
            flags,
        })
    }
}

/// Operation and flags out of letters like `FWFSM` (blk_fill_rwbs in kernel/trace/blktrace.c). An empty write is a flush,
/// if it is known to be empty.
fn operation(rwbs: &[u8], sectors: u32, may_be_empty: bool) -> (u8, u16) {
    let letters = rwbs.split(|byte| *byte == 0).next().unwrap_or_default();
    let (preflush, letters) = match letters {
        [b'F', rest @ ..] if !rest.is_empty() => (true, rest),
        letters => (false, letters),
    };
    let (op, rest) = match letters {
        [b'R', rest @ ..] => (READ, rest),
        [b'W', rest @ ..] if sectors == 0 && !may_be_empty => (FLUSH, rest),
        [b'W', rest @ ..] => (WRITE, rest),
        [b'F', rest @ ..] => (FLUSH, rest),
        [b'D', b'E', rest @ ..] => (5, rest),
        [b'D', rest @ ..] => (3, rest),
        [b'Z', b'A', rest @ ..] => (7, rest),
        [b'Z', b'O', rest @ ..] => (10, rest),
        [b'Z', b'C', rest @ ..] => (12, rest),
        [b'Z', b'F', rest @ ..] => (14, rest),
        [b'Z', b'R', rest @ ..] => (17, rest),
        // It has no letter of its own; the others of those have no sectors.
        [b'N', rest @ ..] if sectors > 0 => (9, rest),
        [_, rest @ ..] => (u8::MAX, rest),
        [] => (u8::MAX, &[][..]),
    };
    let flag = |name: &str| FLAGS.iter().position(|known| *known == name).map_or(0, |bit| 1_u16 << bit);
    let flags = rest.iter().map(|letter| match letter {
        b'F' => flag("fua"),
        b'A' => flag("readahead"),
        b'S' => flag("sync"),
        b'M' => flag("meta"),
        _ => 0,
    });
    (op, flags.fold(if preflush { flag("preflush") } else { 0 }, |all, flag| all | flag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn letters_are_read_as_the_kernel_writes_them() {
        let check = |letters: &str, sectors: u32| operation(format!("{letters}\0\0").as_bytes(), sectors, false);
        assert_eq!(check("R", 8), (READ, 0));
        assert_eq!(check("RA", 8), (READ, 16));
        assert_eq!(check("WS", 8), (WRITE, 1));
        assert_eq!(check("FWFSM", 8), (WRITE, 8 | 4 | 1 | 2));
        assert_eq!(check("FWS", 0), (FLUSH, 8 | 1));
        assert_eq!(check("FF", 0), (FLUSH, 8));
        assert_eq!(check("D", 8), (3, 0));
        assert_eq!(check("DES", 8), (5, 1));
        assert_eq!(check("ZAS", 8), (7, 1));
        assert_eq!(check("N", 8), (9, 0));
        assert_eq!(check("N", 0), (u8::MAX, 0));
        assert_eq!(check("", 0), (u8::MAX, 0));
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded(data: Vec<u8>, letters: Vec<u8>, sectors: u32) {
            let text = ["unsigned short common_type;offset:0;size:2", "int common_pid;offset:4;size:4", "dev_t dev;offset:8;size:4",
                "sector_t sector;offset:16;size:8", "unsigned int nr_sector;offset:24;size:4", "char rwbs[10];offset:28;size:10",
                "char comm[16];offset:38;size:16", "int error;offset:12;size:4"];
            let format = text.iter().fold("ID: 7\n".to_string(), |all, line| format!("{all}\tfield:{line};signed:0;\n"));
            let decoder = Decoder::of(Kind::BioQueue, &format).unwrap();
            prop_assert_eq!(decoder.event(1, &data).is_some(), data.len() >= 54);
            let _ = operation(&letters, sectors, false);
        }
    }
}
