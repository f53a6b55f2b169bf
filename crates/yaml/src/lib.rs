//! YAML as Go's libraries read and write it, in nodes that know their place.
//!
//! ```text
//! text ─▶ read (go-yaml v2 or v3 typing) ─▶ Node ─▶ write (sigs.k8s.io/yaml, yaml.v3, JSON) ─▶ text
//! ```
//!
//! A scalar keeps its text and its tag, as a node of yaml.v3 does: `1.10` stays `1.10` until it is written, and a
//! string that looks like a number is still known to be a string. Every node tells the file, line and column that it
//! came from, so that an error about it can.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod node;
mod place;

pub use node::{Entry, Mapping, Node, Scalar, Sequence, Style, Tag, Value};
pub use place::{FileId, Files, Place};
