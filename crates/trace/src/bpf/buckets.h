/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 OR MIT */
/* Buckets of histograms, 2^sub_bits of equal width to an octave, numbered as quantity::histogram does; buckets.rs says where
 * they begin. */
#ifndef IODYNO_BUCKETS_H
#define IODYNO_BUCKETS_H

static __always_inline __u32 octave_of(__u64 value)
{
	__u32 octave = 0;
	if (value >> 32) { octave += 32; value >>= 32; }
	if (value >> 16) { octave += 16; value >>= 16; }
	if (value >> 8) { octave += 8; value >>= 8; }
	if (value >> 4) { octave += 4; value >>= 4; }
	if (value >> 2) { octave += 2; value >>= 2; }
	return octave + (__u32)(value >> 1);
}

static __always_inline __u32 bucket_of(__u64 value, __u32 sub_bits)
{
	if (value < 1ULL << sub_bits)
		return (__u32)value;
	__u32 shift = octave_of(value) - sub_bits;
	return ((shift + 1) << sub_bits) + ((__u32)(value >> (shift & 63)) & ((1U << sub_bits) - 1));
}

#endif
