//! Where an event's fields lie: by its `format` file, never by heart. Bytes are read without trust.

/// A field of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    offset: usize,
    size: usize,
}

impl Field {
    /// Its value in an event's bytes; `None` when they end before it, or when it is no number.
    pub(crate) fn number(self, data: &[u8]) -> Option<u64> {
        let bytes = self.bytes(data)?;
        Some(match self.size {
            1 => u64::from(*bytes.first()?),
            2 => u64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
            4 => u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
            8 => u64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }

    /// The same of four bytes.
    pub(crate) fn word(self, data: &[u8]) -> Option<u32> {
        u32::try_from(self.number(data)?).ok()
    }

    /// Its bytes.
    pub(crate) fn bytes(self, data: &[u8]) -> Option<&[u8]> {
        data.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// Where it begins, and how long it is.
    pub(crate) fn place(self) -> (usize, usize) {
        (self.offset, self.size)
    }
}

/// A `format` file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The number by which an event says what it is.
    pub(crate) id: Option<u16>,
    fields: Vec<(String, Field)>,
}

impl Layout {
    /// Reads one; lines that are not understood are left out.
    pub(crate) fn parse(text: &str) -> Self {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:")).and_then(|id| id.trim().parse().ok());
        Self { id, fields: text.lines().filter_map(field).collect() }
    }

    /// The field of this name.
    pub(crate) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, field)| *field)
    }
}

/// `field:char comm[16]; offset:38; size:16; signed:0;`
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declared = parts.next()?;
    let name = declared.rsplit(' ').next()?;
    let name = name.split('[').next()?.to_string();
    let mut at = |key: &str| parts.next()?.strip_prefix(key)?.parse().ok();
    Some((name, Field { offset: at("offset:")?, size: at("size:")? }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const QUEUE: &str = "name: block_bio_queue\nID: 2097\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:char comm[16];\toffset:38;\tsize:16;\tsigned:0;\n\tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n\n\
        print fmt: \"%d\", REC->dev\n";

    #[test]
    fn fields_are_found_where_the_kernel_says() {
        let layout = Layout::parse(QUEUE);
        assert_eq!(layout.id, Some(2097));
        let place = |name: &str| layout.field(name).map(Field::place);
        assert_eq!(place("common_type"), Some((0, 2)));
        assert_eq!(place("dev"), Some((8, 4)));
        assert_eq!(place("comm"), Some((38, 16)));
        assert_eq!(place("cmd"), Some((60, 4)));
        assert_eq!(place("sector"), None);
        let mut data = vec![0; 54];
        data[8] = 7;
        assert_eq!(layout.field("dev").and_then(|field| field.number(&data)), Some(7));
        assert_eq!(layout.field("cmd").and_then(|field| field.number(&data)), None, "the event ends before it");
    }

    proptest! {
        #[test]
        fn any_text_and_any_bytes_are_read(text: String, offset: usize, size: usize, data: Vec<u8>) {
            let layout = Layout::parse(&format!("{text}\nfield:int x;offset:{offset};size:{size};\n"));
            for field in layout.field("x").into_iter().chain([Field { offset, size }]) {
                let _ = (field.number(&data), field.word(&data), field.bytes(&data));
            }
        }
    }
}
