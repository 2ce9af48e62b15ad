//! Blocks as they are written.

use stamp::{BlockWriter, Expected, StampFlags, Version, WriteStamp};

pub const RUN: u64 = 0x3f0c_8a1b_5d6e_7f01;
pub const OLD_RUN: u64 = 0x1111_2222_3333_4444;
pub const DEVICE: u64 = 0x0dd0_beef_0bad_cafe;
pub const OTHER_DEVICE: u64 = 0x7777_0000_7777_0001;

/// One write of one block.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    pub run: u64,
    pub device: u64,
    pub address: u64,
    pub sequence: u64,
    pub version: u16,
    pub ratio: f64,
}

impl Written {
    pub fn at(address: u64) -> Self {
        Self { run: RUN, device: DEVICE, address, sequence: 4711, version: 17, ratio: 1.0 }
    }

    /// The write before it.
    pub fn before(self) -> Self {
        Self { sequence: self.sequence - 700, version: self.version - 1, ..self }
    }

    pub fn bytes(&self, length: usize) -> Vec<u8> {
        let write = WriteStamp {
            flags: StampFlags::default(),
            run: self.run,
            device: self.device,
            sequence: self.sequence,
            writer: 3,
            epoch: 9,
            written_s: 1_795_171_447,
        };
        let mut block = vec![0; length];
        BlockWriter::new(self.ratio).fill(&mut block, (self.address, length as u64), &write, |_| self.version);
        block
    }

    pub fn expected(&self) -> Expected<'static> {
        Expected { device: DEVICE, runs: &[RUN], address: self.address, version: Version::Is(self.version) }
    }
}

/// A source of chance that is the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        stamp::payload::scatter(self.0)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        bytes.iter_mut().for_each(|byte| *byte = self.next() as u8);
    }
}
