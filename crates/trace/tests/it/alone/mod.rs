//! Tests that fill a CPU: `make test` runs them with nothing beside them.

mod live;
