//! Asking for memory before its turn.
#![expect(unsafe_code, reason = "the processor's hint is a function without a safe form")]

/// Asks for the cache line at `at`, which may lie anywhere: what another CPU wrote is as far away as memory.
#[inline]
pub(crate) fn fetch(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only a hint, which no address makes fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
