//! Where the buckets of bpf/buckets.h begin.

/// The least value in a bucket, where an octave has `2^sub_bits` of them.
pub(crate) fn low_of(bucket: u32, sub_bits: u32) -> u64 {
    let linear = 1_u32 << sub_bits;
    if bucket < linear {
        return u64::from(bucket);
    }
    let shift = (bucket >> sub_bits) - 1;
    u64::from((bucket & (linear - 1)) | linear) << shift
}
