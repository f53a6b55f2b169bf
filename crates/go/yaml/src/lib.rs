//! YAML as Go's libraries read and write it, in nodes with places.
//!
//! ```text
//! text ─▶ read (go-yaml v2 or v3 typing) ─▶ Node ─▶ write (sigs.k8s.io/yaml, yaml.v3, JSON) ─▶ text
//! ```
//!
//! | to do | call |
//! |---|---|
//! | resources and patches, as kyaml's `ByteReader` reads them | [`read_resources`] |
//! | one document as kyaml reads it (a patch in a kustomization) | [`read_first`] with [`ReadOptions::kyaml`] |
//! | kustomization files, plugin configurations, JSON patches | [`read_first`] with [`ReadOptions::sigs`] |
//! | the same, with duplicate keys refused | [`read_first`] with [`ReadOptions::sigs_strict`] |
//! | an object as kustomize prints it | [`write_sigs`] |
//! | a tree after kyaml's round trips through values | [`reread`], [`revalue`] |
//! | a node as kyaml prints it: the input of functions, `RNode.String` | [`write_kyaml`] |
//! | JSON as Go's encoding/json writes it, for hashes | [`write_json`]; for people, [`write_plain_json`] |
//! | the value that is sent to an API server | [`json_of_node`] |
//! | documents with comments, anchors, aliases and tags | [`read_annotated`] |
//! | their text in go-yaml's own style | [`write_annotated`] |
//! | the same for one document in kyaml's style | [`read_first_annotated`], [`write_annotated_kyaml`] |
//! | the value of a scalar | [`decode`] for a node's scalar, [`resolve`] for plain text |
//!
//! Readers return errors with a place ([`ReadError`], whose [`ReadError::go`] is the message of Go's library); writers
//! do so for trees without a form in the output ([`WriteError`]). Writers append to a `String` and copy no tree.
//!
//! A scalar keeps its text and its tag, as a node of yaml.v3 does: `1.10` stays `1.10` until it is written, and a
//! string that looks like a number remains a string. Every node has the file, line and column that it
//! came from, for errors about it.

//! ```
//! use bumpwright_yaml::{Files, read_resources, write_sigs};
//!
//! let mut files = Files::default();
//! let file = files.add("base/service.yaml");
//! let text = b"kind: Service # c\napiVersion: v1\nspec: {port: 0x50, name: 'on', since: 2020-01-01}\n";
//! let objects = read_resources(text, file)?;
//! let port = objects[0].lookup(&["spec", "port"]).ok_or("no port")?;
//! assert_eq!(files.show(port.place).as_deref(), Some("base/service.yaml:3:14"));
//! let mut printed = String::new();
//! write_sigs(&objects[0], &mut printed)?;
//! assert_eq!(
//!     printed,
//!     "apiVersion: v1\nkind: Service\nspec:\n  name: \"on\"\n  port: 80\n  since: \"2020-01-01T00:00:00Z\"\n"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The scanner and the parser follow go-yaml and not the specification, down to its oddities: they accept what
//! kustomize accepts, and nothing more. Three things differ on purpose: collections nest [`MAX_DEPTH`] deep
//! and not 10,000, aliases have a budget in resources too, and an alias inside of its own target is an error
//! where kyaml's stack overflows.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod annotated;
mod node;
mod place;
mod read;
pub mod weight;
mod write;

pub use annotated::{Annotated, AnnotatedValue, write_annotated, write_annotated_kyaml};
pub use node::{Entry, Mapping, Node, Scalar, Sequence, Style, Tag, Value};
pub use place::{FileId, Files, Place};
pub use read::annotated::{AnnotatedDocument, read_annotated, read_first_annotated};
pub use read::documents::{read, read_first, read_resources};
pub use read::error::ReadError;
pub use read::from_json::node_of_json;
pub use read::options::{Dialect, Duplicates, MAX_DEPTH, ReadOptions};
pub use read::resolve::{Resolved, TagError, decode, plain_tag, resolve};
pub use write::json::{write_json, write_plain_json};
pub use write::kyaml::{SequenceIndent, write_kyaml};
pub use write::natural::natural_order;
pub use write::sigs::{is_base_60, write_sigs};
pub use write::to_json::json_of_node;
pub use write::value::{WriteError, reread, revalue};
