use super::*;
use crate::injection::{InjectedDamage, InjectionChance, damaged};
use proptest::prelude::*;
use stamp::{BlockWriter, DamageClass, SECTOR_MAGIC, STAMP_MARK, StampFlags, WriteStamp};

const DEVICE: u64 = 77;
const BASE: u64 = 1 << 20;

fn write(run: u64, sequence: u64) -> WriteStamp {
    WriteStamp {
        flags: StampFlags::default(),
        run,
        device: DEVICE,
        sequence,
        writer: 3,
        epoch: 1,
        written_s: 1_700_000_000 + u32::try_from(sequence).unwrap(),
    }
}

/// Writes a part of a piece that begins at [`BASE`].
fn put(piece: &mut [u8], at: usize, bytes: usize, stamp: &WriteStamp) {
    let version = u16::try_from(4 + stamp.sequence % 1000).unwrap();
    BlockWriter::new(2.0).fill(&mut piece[at..at + bytes], (BASE + at as u64, 4096), stamp, |_| version);
}

/// 64 KiB, written in blocks of 4 KiB.
fn whole() -> Vec<u8> {
    let mut piece = vec![0; 64 << 10];
    (0..16).for_each(|block| put(&mut piece, block * 4096, 4096, &write(1, block as u64)));
    piece
}

fn rules(unit: SurveyUnit) -> SurveyRules {
    SurveyRules { device: Some(DEVICE), unit, holds_files: true }
}

fn survey(piece: &[u8], unit: SurveyUnit) -> TargetSurvey {
    let mut total = TargetSurvey::default();
    total.add(look(piece, BASE, &[], &rules(unit)));
    total
}

#[test]
fn clean_data_have_no_damage_and_say_who_wrote_them() {
    let mut piece = whole();
    put(&mut piece, 8192, 8192, &write(2, 40));
    piece.extend_from_slice(&[7; 100]);
    let found = survey(&piece, SurveyUnit::AtLeast(4096));
    assert_eq!((found.damaged(), found.mixed_units), (0, 0));
    assert_eq!((found.bytes_of(AreaKind::Stamped), found.bytes_of(AreaKind::Tail)), (64 << 10, 100));
    let runs: Vec<(u64, u64)> = found.runs.iter().map(|(run, tally)| (*run, tally.sectors)).collect();
    assert_eq!(runs, [(1, 112), (2, 16)]);
    assert_eq!((found.runs[&1].first_write, found.runs[&1].last_write), (0, 15));
    assert_eq!(found.most_of(), Some(DEVICE));
}

/// What is injected is found where it is, as far as it shows without any knowledge of the writes.
#[test]
fn what_is_injected_is_found_at_its_place() {
    use DamageClass as Class;
    let cases: [(InjectedDamage, bool, &[Class]); 10] = [
        (InjectedDamage::BitRot(1), false, &[Class::BitRot]),
        (InjectedDamage::BitRot(5), false, &[Class::BitRot]),
        (InjectedDamage::Corrupt, false, &[Class::BitRot, Class::Corrupt]),
        (InjectedDamage::TornWrite, true, &[Class::TornWrite]),
        (InjectedDamage::MisdirectedWrite, false, &[Class::MisdirectedWrite]),
        (InjectedDamage::DuplicatedWrite, false, &[Class::MisdirectedWrite, Class::DuplicatedWrite]),
        (InjectedDamage::SwappedSectors, false, &[Class::SwappedSectors, Class::MisdirectedWrite]),
        (InjectedDamage::OtherDevice, false, &[Class::OtherDevice]),
        (InjectedDamage::Foreign, false, &[]),
        (InjectedDamage::Zeroes, false, &[]),
    ];
    for (kind, is_unit_known, classes) in cases {
        let unit = if is_unit_known { SurveyUnit::Exactly(4096) } else { SurveyUnit::AtLeast(4096) };
        // Of several bits some may be in the mark.
        let mut otherwise = 0;
        for seed in 0..100 {
            let mut piece = whole();
            let mut chance = InjectionChance::new(seed);
            let at = usize::try_from(chance.below(15)).unwrap() * 4096;
            let other = piece[at + 4096..at + 8192].to_vec();
            let bad = damaged(kind, &piece[at..at + 4096], &other, &mut chance);
            piece[at..at + 4096].copy_from_slice(&bad);
            let found = survey(&piece, unit);
            let shown: Vec<(u64, Class)> = found.damages.iter().map(|damage| (damage.address, damage.class)).collect();
            match classes {
                // Whole blocks that a write of one block wrote: nothing else of it is left.
                [] => assert_eq!((shown, found.bytes_of(AreaKind::Stamped)), (Vec::new(), 60 << 10), "{kind:?} {seed}"),
                classes => {
                    assert_eq!(shown.len(), 1, "{kind:?} {seed}: {shown:?}");
                    let (address, class) = shown[0];
                    assert_eq!(address, BASE + at as u64, "{kind:?} {seed}");
                    otherwise += u32::from(!classes.contains(&class));
                }
            }
        }
        assert!(otherwise <= if kind == InjectedDamage::BitRot(5) { 3 } else { 0 }, "{kind:?}: {otherwise} of 100");
    }
}

#[test]
fn what_stands_in_the_midst_of_a_write_is_told() {
    let mut piece = vec![0; 64 << 10];
    put(&mut piece, 0, 64 << 10, &write(1, 0));
    piece[4096..4608].fill(0);
    piece[8192..12288].fill(9);
    piece[16384..20480].fill(0);
    let found = survey(&piece, SurveyUnit::AtLeast(4096));
    let shown: Vec<(u64, DamageClass)> =
        found.damages.iter().map(|damage| (damage.address - BASE, damage.class)).collect();
    // A sector of a block is no trim; another program's data are no write of a run; a block may have been trimmed.
    assert_eq!(shown, [(4096, DamageClass::TornWrite), (8192, DamageClass::Foreign)]);
    assert_eq!(found.zeroes_in_writes, 4096);
    // Blocks of 512 bytes can be trimmed one by one.
    assert_eq!(survey(&piece, SurveyUnit::AtLeast(512)).counts.get(&DamageClass::TornWrite), None);
}

#[test]
fn what_cannot_be_read_is_no_damage() {
    let piece = whole();
    let unread = [BASE + 4096..BASE + 5120, BASE + 60 * 1024..BASE + 64 * 1024];
    let found = look(&piece, BASE, &unread, &rules(SurveyUnit::AtLeast(4096)));
    assert!(found.damages.is_empty());
    let kinds: Vec<(AreaKind, u64)> = found.areas.iter().map(|area| (area.kind, area.bytes)).collect();
    let (right, unread) = (AreaKind::Stamped, AreaKind::Unreadable);
    assert_eq!(kinds, [(right, 4096), (unread, 1024), (right, 55 * 1024), (unread, 4096)]);
}

#[test]
fn sectors_of_files_on_a_device_are_left_to_the_files() {
    let mut piece = vec![0; 4096];
    let stamp = WriteStamp { flags: StampFlags::FILE, device: 5, ..write(1, 1) };
    BlockWriter::new(1.0).fill(&mut piece, (0, 4096), &stamp, |_| 9);
    let found = look(&piece, BASE, &[], &rules(SurveyUnit::AtLeast(4096)));
    assert_eq!((found.damages.len(), found.areas[0].kind), (0, AreaKind::OfFiles));
    let in_a_file = SurveyRules { device: Some(5), holds_files: false, ..rules(SurveyUnit::AtLeast(4096)) };
    assert!(look(&piece, 0, &[], &in_a_file).damages.is_empty());
}

/// Sectors as a hostile target may have them: noise behind a right mark, stamps of anything with right checksums, pieces of them.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let noise = prop::collection::vec(any::<u8>(), 512);
    let marked = noise.clone().prop_map(|mut sector| {
        sector[..8].copy_from_slice(&SECTOR_MAGIC);
        sector[8..12].copy_from_slice(&STAMP_MARK);
        sector
    });
    let stamped = (any::<[u64; 4]>(), any::<[u16; 4]>()).prop_map(|(long, short)| {
        let mut sector = [0; 512];
        let stamp = stamp::SectorStamp {
            flags: StampFlags(short[0].to_le_bytes()[0]),
            kept_words: short[0].to_le_bytes()[1] % 57,
            version: short[1],
            run: long[0],
            device: if long[1] % 3 == 0 { DEVICE } else { long[1] },
            address: long[2],
            sequence: long[3],
            writer: short[2],
            epoch: u32::MAX,
            place: short[3],
            write_sectors: 65_536,
            written_s: u32::MAX,
        };
        stamp.write(&mut sector);
        sector.to_vec()
    });
    let right = (0_u64..64, any::<u64>()).prop_map(|(at, sequence)| {
        let mut sector = vec![0; 512];
        let stamp = WriteStamp { sequence: sequence >> 16, written_s: 0, ..write(1, 0) };
        BlockWriter::new(1.0).fill(&mut sector, (BASE + at * 512, 4096), &stamp, |_| 9);
        sector
    });
    let sector = prop_oneof![noise, marked, stamped, right, Just(vec![0; 512]), Just(vec![255; 512])];
    (prop::collection::vec(sector, 0..40), prop::collection::vec(any::<u8>(), 0..512))
        .prop_map(|(sectors, tail)| [sectors.concat(), tail].concat())
}

proptest! {
    /// Nothing panics, every byte is of one area, and what is damaged is within the piece.
    #[test]
    fn any_bytes_are_taken(
        piece in hostile(), address in prop_oneof![Just(BASE), Just(0), Just(u64::MAX - 4095), any::<u64>()],
        unit in prop_oneof![Just(SurveyUnit::AtLeast(4096)), any::<u64>().prop_map(SurveyUnit::Exactly), any::<u16>().prop_map(|unit| SurveyUnit::AtLeast(unit.into()))],
        device in prop_oneof![Just(None), Just(Some(DEVICE)), any::<u64>().prop_map(Some)],
        unread in prop::collection::vec((0_u64..20_000, 0_u64..2000), 0..3), holds_files: bool,
    ) {
        let unit = match unit {
            SurveyUnit::Exactly(unit) => SurveyUnit::Exactly(unit >> 1),
            unit => unit,
        };
        let unread: Vec<_> = unread.into_iter().map(|(at, bytes)| {
            let start = address.saturating_add(at);
            start..start.saturating_add(bytes)
        }).collect();
        let found = look(&piece, address, &unread, &SurveyRules { device, unit, holds_files });
        prop_assert_eq!(found.areas.iter().map(|area| area.bytes).sum::<u64>(), piece.len() as u64);
        let sectors: u64 = found.runs.values().map(|run| run.sectors).sum::<u64>() + found.sectors_of_others;
        prop_assert!(sectors * 512 <= piece.len() as u64);
        for damage in &found.damages {
            prop_assert!(damage.address >= address && damage.bytes <= piece.len() as u64 && damage.wrong_sectors > 0);
        }
        let mut total = TargetSurvey::default();
        total.add(found.clone());
        prop_assert_eq!(total.damaged(), found.damages.len() as u64);
    }

    /// Writes of any length over each other, loads without stamps and trims among them: all that is legal is no damage.
    #[test]
    fn legal_histories_have_no_damage(
        blocks in prop_oneof![Just(1_usize), Just(8), Just(16)],
        steps in prop::collection::vec((0_usize..128, 1_usize..40, 0_u8..10), 1..40),
    ) {
        let mut piece = vec![0; 64 << 10];
        for (number, (at, sectors, what)) in steps.into_iter().enumerate() {
            // Whole blocks of so many sectors.
            let at = at / blocks * blocks * 512;
            let bytes = (sectors.next_multiple_of(blocks) * 512).min(piece.len() - at);
            match what {
                0 => piece[at..at + bytes].fill(0),
                1 => piece[at..at + bytes].chunks_mut(512).for_each(|sector| {
                    sector.fill(0x5a);
                    sector[..8].copy_from_slice(&SECTOR_MAGIC);
                }),
                _ => put(&mut piece, at, bytes, &write(u64::from(what % 3), number as u64)),
            }
        }
        let unit = SurveyUnit::AtLeast((blocks.min(8) * 512) as u64);
        let found = survey(&piece, unit);
        prop_assert_eq!(&found.damages, &Vec::new());
        prop_assert_eq!(survey(&piece, SurveyUnit::Exactly((blocks * 512) as u64)).damages, Vec::new());
    }
}
