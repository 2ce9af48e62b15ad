//! Draws views on a terminal: interval lines, tables, the progress bar.
