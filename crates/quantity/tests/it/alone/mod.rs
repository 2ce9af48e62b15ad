//! What is measured of the whole process.

mod memory;
