//! Durations, sizes, rates and their text forms; the clock; histograms that merge.
