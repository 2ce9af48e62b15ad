//! Turns a workload of the plan into operations, due times and data: pure, seeded, without I/O.
