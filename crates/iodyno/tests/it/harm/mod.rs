//! What must not be harmed, whatever is typed: a table of targets × commands, and a long random walk.

mod commands;
mod devices;
mod files;
mod matrix;
mod scene;
mod walk;
