//! One batch of an Arrow IPC stream as a frame of the journal has it, looked at before anything is made of it: lengths that
//! the bytes do not have, and types that no table has, are damage. The decoder would take memory for the first, and panic at
//! the second.

use crate::cell::CELL_BYTES_MAX;
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{Field, MessageHeader, Precision, RecordBatch as Header, Schema, TimeUnit, Type};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Begins every message; streams of before 2019, which iodyno never wrote, do not have it.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The first batch of a stream; `None` where it is damaged, or none that a table could have.
pub(crate) fn batch(stream: Vec<u8>) -> Option<RecordBatch> {
    check(&stream)?;
    let mut left = Buffer::from_vec(stream);
    let mut decoder = StreamDecoder::new();
    while !left.is_empty() {
        if let Some(batch) = decoder.decode(&mut left).ok()? {
            return Some(batch);
        }
    }
    None
}

/// How a column lies in the body: first which rows are null, a bit for each; then values or offsets; then perhaps content.
#[derive(Clone, Copy)]
struct Column {
    buffers: usize,
    /// Bytes of a value or an offset, 1 for bits.
    width: usize,
}

/// Text or bytes.
const TEXT: Column = Column { buffers: 3, width: 4 };

/// Are all messages whole, up to the first batch and with it?
fn check(mut stream: &[u8]) -> Option<()> {
    // Known with the schema.
    let mut columns: Option<Vec<Column>> = None;
    loop {
        let rest = stream.strip_prefix(&CONTINUATION)?;
        let (length, rest) = rest.split_first_chunk()?;
        let (head, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
        let message = arrow_ipc::root_as_message(head).ok()?;
        let (body, rest) = rest.split_at_checked(usize::try_from(message.bodyLength()).ok()?)?;
        match message.header_type() {
            MessageHeader::Schema if columns.is_none() => columns = Some(layout(&message.header_as_schema()?)?),
            MessageHeader::DictionaryBatch if columns.is_some() => {
                check_batch(&message.header_as_dictionary_batch()?.data()?, &[TEXT], body)?;
            }
            MessageHeader::RecordBatch => {
                return check_batch(&message.header_as_record_batch()?, &columns?, body);
            }
            _ => return None,
        }
        stream = rest;
    }
}

/// The description of columns in a Parquet file (`ARROW:schema`), looked at before the library reads it, which panics at types
/// that it does not know; `None` where it is damaged, or none that a table could have.
pub(crate) fn check_schema(base64: &str) -> Option<()> {
    let bytes = decode_base64(base64)?;
    // Length-prefixed where it begins so.
    let message = if bytes.len() > 8 && bytes.starts_with(&CONTINUATION) { bytes.get(8..)? } else { bytes.as_slice() };
    layout(&arrow_ipc::root_as_message(message).ok()?.header_as_schema()?).map(drop)
}

/// The bytes of base64 text (RFC 4648).
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(text).ok()
}

/// How the columns lie; `None` where one is of a type that no table has.
fn layout(schema: &Schema<'_>) -> Option<Vec<Column>> {
    schema.fields()?.iter().map(|field| column(&field)).collect()
}

fn column(field: &Field<'_>) -> Option<Column> {
    field.name()?;
    let whole = |width: i32| {
        let width = usize::try_from(width).ok().filter(|width| [8, 16, 32, 64].contains(width))?;
        Some(Column { buffers: 2, width: width / 8 })
    };
    if let Some(dictionary) = field.dictionary() {
        let numbers = whole(dictionary.indexType()?.bitWidth())?;
        return (field.type_type() == Type::Utf8).then_some(numbers);
    }
    match field.type_type() {
        Type::Utf8 | Type::Binary => Some(TEXT),
        Type::Bool => Some(Column { buffers: 2, width: 1 }),
        Type::Int => whole(field.type_as_int()?.bitWidth()),
        Type::FloatingPoint => match field.type_as_floating_point()?.precision() {
            Precision::SINGLE => whole(32),
            Precision::DOUBLE => whole(64),
            _ => None,
        },
        Type::Timestamp => match field.type_as_timestamp()?.unit() {
            TimeUnit::SECOND | TimeUnit::MILLISECOND | TimeUnit::MICROSECOND | TimeUnit::NANOSECOND => whole(64),
            _ => None,
        },
        _ => None,
    }
}

/// No more rows than its bytes can hold, all columns of as many, no buffer outside of the bytes, and no cell that is too long.
fn check_batch(batch: &Header<'_>, columns: &[Column], body: &[u8]) -> Option<()> {
    let within = |length: i64, most: usize| usize::try_from(length).ok().filter(|length| *length <= most);
    if batch.compression().is_some() || batch.variadicBufferCounts().is_some_and(|counts| !counts.is_empty()) {
        return None;
    }
    // Every table has a column of times or names: 4 bytes or more of a row.
    let rows = within(batch.length(), body.len())?;
    let (nodes, all) = (batch.nodes()?, batch.buffers()?);
    if nodes.len() != columns.len() || all.len() != columns.iter().map(|column| column.buffers).sum::<usize>() {
        return None;
    }
    let mut all = all.iter();
    for (node, column) in nodes.iter().zip(columns) {
        let nulls = within(node.null_count(), rows)?;
        for at in 0..column.buffers {
            let buffer = all.next()?;
            let offset = within(buffer.offset(), body.len())?;
            let length = within(buffer.length(), body.len() - offset)?;
            let fits = match at {
                0 => nulls == 0 || length >= rows.div_ceil(8),
                1 if column.buffers == TEXT.buffers => {
                    length % column.width == 0 && are_short(&body[offset..offset + length])
                }
                1 => length % column.width == 0,
                _ => true,
            };
            if !fits {
                return None;
            }
        }
        if usize::try_from(node.length()).ok()? != rows {
            return None;
        }
    }
    Some(())
}

/// Does each cell between these offsets have a length that one can have? Whether they fit the content is looked at later.
fn are_short(offsets: &[u8]) -> bool {
    let mut before = None;
    offsets.as_chunks().0.iter().all(|bytes| {
        let at = i64::from(i32::from_le_bytes(*bytes));
        before.replace(at).is_none_or(|before| (0..=CELL_BYTES_MAX).contains(&(at - before)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::{Event, Io, RunQueue};
    use crate::{EventSeverity, IO_RECORD_BYTES, IoNames, Row as _, RowBatch};
    use arrow_array::{ArrayRef, NullArray};
    use arrow_ipc::writer::StreamWriter;
    use proptest::prelude::*;
    use quantity::histogram::Histogram;
    use std::sync::Arc;

    fn stream(batch: &RecordBatch) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
        bytes
    }

    fn events() -> RecordBatch {
        let event = |n: i64| Event {
            t_ns: n,
            t_s: 0.5,
            severity: EventSeverity::Info,
            kind: "test".into(),
            target: Some("sd1".into()),
            message: format!("number {n}"),
            count: 1,
            ..Event::default()
        };
        RowBatch::from_rows(&[event(1), event(2), event(3)]).unwrap().rows
    }

    #[test]
    fn what_is_written_is_read() {
        let batch_written = events();
        let read = batch(stream(&batch_written)).unwrap();
        assert_eq!(Event::from_batch(&read).unwrap(), Event::from_batch(&batch_written).unwrap());
        assert!(batch(stream(&events().slice(0, 0))).is_some_and(|empty| empty.num_rows() == 0));
    }

    #[test]
    fn base64_is_read() {
        for (text, bytes) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmE=", "fooba")] {
            assert_eq!(decode_base64(text).unwrap(), bytes.as_bytes());
        }
        assert_eq!(decode_base64("/+8="), Some(vec![0xff, 0xef]));
        assert_eq!(decode_base64("Zm 9v"), None);
    }

    /// Whatever bit is flipped in what a Parquet file says of its columns, it is refused or read.
    #[test]
    fn no_flipped_bit_of_a_description_of_columns_is_a_panic() {
        for sample in samples() {
            let whole = parquet::arrow::encode_arrow_schema(&sample.schema());
            assert!(check_schema(&whole).is_some());
            for bit in 0..whole.len() * 8 {
                let mut flipped = whole.clone().into_bytes();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let Ok(text) = String::from_utf8(flipped) else { continue };
                if check_schema(&text).is_some() {
                    let bytes = decode_base64(&text).unwrap();
                    let message = if bytes.starts_with(&CONTINUATION) { &bytes[8..] } else { &bytes[..] };
                    let schema = arrow_ipc::root_as_message(message).unwrap().header_as_schema().unwrap();
                    drop(arrow_ipc::convert::fb_to_schema(schema));
                }
            }
        }
    }

    #[test]
    fn a_cell_that_none_could_have_written_is_damage_and_long_text_is_cut() {
        let event =
            |bytes: usize| Event { message: "ä".repeat(bytes / 2), ..Event::from_batch(&events()).unwrap().remove(0) };
        let cut = batch(stream(&RowBatch::from_rows(&[event(2 << 20)]).unwrap().rows)).unwrap();
        assert_eq!(Event::from_batch(&cut).unwrap()[0].message.len(), 64 << 10);
        let long = |bytes: usize| {
            let text: ArrayRef = Arc::new(arrow_array::StringArray::from(vec!["x".to_string(), "x".repeat(bytes)]));
            stream(&RecordBatch::try_from_iter([("comm", text)]).unwrap())
        };
        assert!(batch(long(1 << 20)).is_some() && batch(long((1 << 20) + 1)).is_none());
    }

    #[test]
    fn rows_without_bytes_are_none() {
        let nothing: ArrayRef = Arc::new(NullArray::new(1 << 40));
        let many = RecordBatch::try_from_iter([("t_ns", nothing)]).unwrap();
        assert!(batch(stream(&many)).is_none());
    }

    /// Text, numbers, bytes, and numbers of names.
    fn samples() -> [RecordBatch; 3] {
        let (mut names, mut record) = (IoNames::default(), [0; IO_RECORD_BYTES]);
        names.devices.push((1, "sda".to_string()));
        record[36] = 1;
        let waits = RunQueue { t_ns: 1, t_s: 0.5, interval_ns: 7, wait: Histogram::new(5) };
        let ios = crate::io_rows(&names, &[record; 9]).unwrap();
        [events(), ios, RowBatch::from_rows(&vec![waits; 9]).unwrap().rows]
    }

    proptest! {
        /// With a right checksum around it, as an attacker writes it: no panic, and no more memory than it has bytes.
        #[test]
        fn any_bytes_are_refused_or_read(
            places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            cut in any::<prop::sample::Index>(),
            which in 0_usize..3,
        ) {
            let whole = stream(&samples()[which]);
            let mut bytes = whole.clone();
            for (at, byte) in places {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Some(batch) = batch(bytes) {
                prop_assert!(batch.num_rows() <= whole.len());
                let _ = (Event::from_batch(&batch), Io::from_batch(&batch), RunQueue::from_batch(&batch));
            }
            let end = cut.index(whole.len());
            let _ = batch(whole[..end].to_vec());
        }
    }
}
