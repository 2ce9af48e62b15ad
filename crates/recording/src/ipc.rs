//! One batch of an Arrow IPC stream as a frame of the journal has it, looked at before anything is made of it: lengths that
//! the bytes do not have, and types that no table has, are damage. The decoder would take memory for the first, and panic at
//! the second.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{Field, Message, MessageHeader, Precision, RecordBatch as Header, Schema, TimeUnit, Type};

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

/// Are all messages whole, up to the first batch and with it?
fn check(mut stream: &[u8]) -> Option<()> {
    loop {
        let rest = stream.strip_prefix(&CONTINUATION)?;
        let (length, rest) = rest.split_first_chunk()?;
        let (head, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
        let message = arrow_ipc::root_as_message(head).ok()?;
        let (body, rest) = rest.split_at_checked(usize::try_from(message.bodyLength()).ok()?)?;
        match check_message(&message, body.len())? {
            MessageHeader::RecordBatch => return Some(()),
            _ => stream = rest,
        }
    }
}

/// What kind of message it is; `None` where it does not fit its body, or is nothing that is written here.
fn check_message(message: &Message<'_>, body: usize) -> Option<MessageHeader> {
    let kind = message.header_type();
    match kind {
        MessageHeader::Schema => check_schema(&message.header_as_schema()?)?,
        MessageHeader::DictionaryBatch => check_batch(&message.header_as_dictionary_batch()?.data()?, body)?,
        MessageHeader::RecordBatch => check_batch(&message.header_as_record_batch()?, body)?,
        _ => return None,
    }
    Some(kind)
}

/// Only types that columns of tables have.
fn check_schema(schema: &Schema<'_>) -> Option<()> {
    schema.fields()?.iter().all(|field| is_of_a_table(&field) == Some(true)).then_some(())
}

fn is_of_a_table(field: &Field<'_>) -> Option<bool> {
    let is_whole = |width: i32| [8, 16, 32, 64].contains(&width);
    if let Some(dictionary) = field.dictionary()
        && (!is_whole(dictionary.indexType()?.bitWidth()) || field.type_type() != Type::Utf8)
    {
        return None;
    }
    Some(match field.type_type() {
        Type::Bool | Type::Utf8 | Type::Binary => true,
        Type::Int => is_whole(field.type_as_int()?.bitWidth()),
        Type::FloatingPoint => {
            [Precision::SINGLE, Precision::DOUBLE].contains(&field.type_as_floating_point()?.precision())
        }
        Type::Timestamp => {
            let unit = field.type_as_timestamp()?.unit();
            [TimeUnit::SECOND, TimeUnit::MILLISECOND, TimeUnit::MICROSECOND, TimeUnit::NANOSECOND].contains(&unit)
        }
        _ => false,
    })
}

/// No more rows than its bytes can hold, and no buffer outside of them.
fn check_batch(batch: &Header<'_>, body: usize) -> Option<()> {
    let within = |length: i64, most: usize| usize::try_from(length).ok().filter(|length| *length <= most);
    if batch.compression().is_some() || batch.variadicBufferCounts().is_some_and(|counts| !counts.is_empty()) {
        return None;
    }
    // Every table has a column of times or names: 4 bytes or more of a row.
    within(batch.length(), body)?;
    for node in batch.nodes()? {
        let length = within(node.length(), body.saturating_mul(8))?;
        within(node.null_count(), length)?;
    }
    for buffer in batch.buffers()? {
        let offset = within(buffer.offset(), body)?;
        within(buffer.length(), body - offset)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Event;
    use crate::{Batch, Row as _};
    use arrow_array::{ArrayRef, NullArray};
    use arrow_ipc::writer::StreamWriter;
    use proptest::prelude::*;
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
            severity: "info".into(),
            kind: "test".into(),
            class: None,
            run: None,
            target: Some("sd1".into()),
            message: format!("number {n}"),
            count: 1,
        };
        Batch::from_rows(&[event(1), event(2), event(3)]).unwrap().rows
    }

    #[test]
    fn what_is_written_is_read() {
        let batch_written = events();
        let read = batch(stream(&batch_written)).unwrap();
        assert_eq!(Event::from_batch(&read).unwrap(), Event::from_batch(&batch_written).unwrap());
        assert!(batch(stream(&events().slice(0, 0))).is_some_and(|empty| empty.num_rows() == 0));
    }

    #[test]
    fn rows_without_bytes_are_none() {
        let nothing: ArrayRef = Arc::new(NullArray::new(1 << 40));
        let many = RecordBatch::try_from_iter([("t_ns", nothing)]).unwrap();
        assert!(batch(stream(&many)).is_none());
    }

    proptest! {
        /// With a right checksum around it, as somebody writes it who means harm: no panic, and no more memory than it has bytes.
        #[test]
        fn any_bytes_are_refused_or_read(
            places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let whole = stream(&events());
            let mut bytes = whole.clone();
            for (at, byte) in places {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = batch(bytes);
            let end = cut.index(whole.len());
            let _ = batch(whole[..end].to_vec());
        }
    }
}
