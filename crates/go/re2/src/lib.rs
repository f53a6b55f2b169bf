//! Go's `regexp` (RE2), in linear time.
//!
//! ```text
//! pattern ─▶ parse(class, unicode) ─▶ tree ─▶ compile ─▶ program ─▶ machine ─▶ positions
//!                                      └─▶ plain (many ASCII texts) ─▶ positions
//! ```
//!
//! Flux' users write their patterns for Go, and see Go's messages for invalid ones; so the parser is ours, with Go's
//! rules, limits and texts. The machine is ours too: it iterates over runes, so that an invalid byte is one
//! U+FFFD as in Go, its programs do not grow with the tables of Unicode, and it stops where a [`Budget`] ends. For many
//! short ASCII texts, such as the tags of an image, a pattern is also compiled for faster engines.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod budget;
mod class;
mod compile;
mod error;
mod escape;
mod expand;
mod extract;
mod limits;
mod machine;
mod parse;
mod plain;
mod program;
mod regexp;
mod rune;
mod search;
mod tree;
mod unicode;

pub use budget::{Budget, Exhausted};
pub use error::{Error, ErrorCode};
pub use expand::quote_meta;
pub use extract::Extraction;
pub use regexp::{Captures, Regexp};
