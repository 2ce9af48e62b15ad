//! Properties of whole generators.

use super::*;
use crate::spec::*;

pub(super) fn target() -> TargetSpec {
    TargetSpec {
        name: "sd1".into(),
        path: "/nowhere".into(),
        size_bytes: None,
        depth: 1,
        open: OpenFlags::default(),
        range: None,
        hit_area_bytes: 1 << 20,
        offset_bytes: 0,
        align_bytes: None,
        skip_first_block: false,
        span: Span::default(),
    }
}

pub(super) fn workload() -> Workload {
    Workload {
        name: "wd1".into(),
        targets: vec![0],
        share: 1.0,
        share_fixed: false,
        rate: None,
        priority: None,
        depth: None,
        mix: OpMix::read_write(1.0),
        transfer: TransferSize::Fixed(4096),
        address: Address::default(),
        content: spec_content(),
        think_ns: 0,
        open: None,
        span: Span::default(),
    }
}

fn spec_content() -> crate::spec::Content {
    crate::spec::Content::default()
}
