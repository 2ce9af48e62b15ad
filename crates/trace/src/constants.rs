//! Sets a program's constants (`const volatile` in its C) before it is loaded; the verifier then drops dead branches.

use crate::TraceError;
use libbpf_rs::OpenObject;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{DataSec, Var};

/// Values by name, in the byte order of this machine.
#[derive(Debug, Default)]
pub(crate) struct Constants(Vec<(&'static str, Vec<u8>)>);

impl Constants {
    pub(crate) fn flag(&mut self, name: &'static str, value: bool) {
        self.0.push((name, vec![u8::from(value)]));
    }

    pub(crate) fn u32(&mut self, name: &'static str, value: u32) {
        self.0.push((name, value.to_ne_bytes().to_vec()));
    }

    pub(crate) fn u64(&mut self, name: &'static str, value: u64) {
        self.0.push((name, value.to_ne_bytes().to_vec()));
    }

    /// Writes them into the object that was opened from `elf`.
    pub(crate) fn apply(&self, elf: &[u8], open: &mut OpenObject) -> Result<(), TraceError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let refused = |why: String| TraceError::Refused { why, log: String::new() };
        let btf = Btf::from_raw("probe", elf)
            .ok()
            .flatten()
            .ok_or_else(|| refused("the probe's object has no BTF".to_string()))?;
        let section: DataSec<'_> =
            btf.type_by_name(".rodata").ok_or_else(|| refused("the probe has no constants".to_string()))?;
        let mut map = open
            .maps_mut()
            .find(|map| map.name().to_string_lossy().ends_with(".rodata"))
            .ok_or_else(|| refused("the probe has no map of constants".to_string()))?;
        let data = map.initial_value_mut().ok_or_else(|| refused("constants cannot be set".to_string()))?;
        for (name, value) in &self.0 {
            let place = section.iter().find(|info| {
                btf.type_by_id::<Var<'_>>(info.ty).is_some_and(|var| var.name().is_some_and(|known| known == *name))
            });
            let place = place.filter(|info| info.size == value.len());
            let range = place.map(|info| info.offset as usize..info.offset as usize + info.size);
            let slot = range.and_then(|range| data.get_mut(range));
            slot.ok_or_else(|| refused(format!("the probe has no constant {name} of {} bytes", value.len())))?
                .copy_from_slice(value);
        }
        Ok(())
    }
}
