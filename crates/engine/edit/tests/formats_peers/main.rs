//! Documents of each format, edited; then the format's own parser, or another one, reads them: each marked value is the
//! new one, and nothing else has changed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, clippy::print_stdout)]

mod assignments;
mod docker;
mod grammar;
mod marks;
mod parsers;
mod peer;
mod shell;
#[path = "../../../../../tests/tools/tool.rs"]
mod tool;
