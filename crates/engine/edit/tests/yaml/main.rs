//! Edits of YAML files: recorded ones, laws over generated documents, hostile documents.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod formatting;
mod hostile;
mod laws;
mod pinned;
