//! One command's life: sources, bus, sinks, signals, clean end.
