//! Reads Vdbench parameter files into a plan; finds every mistake, with line and column.
