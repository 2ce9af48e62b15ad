//! Views, tables and findings: recordings in, tables out. Pure, never measures.
