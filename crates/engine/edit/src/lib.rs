//! Marked fields in YAML files: finds them, plans their new values, and changes their bytes and nothing else.
//!
//! ```text
//! bytes ─▶ scan ─▶ Scan ─▶ plan (with Images) ─▶ Plan ─▶ splice (with the bytes) ─▶ bytes
//! ```
//!
//! [`scan`] is a function of the bytes only, so that callers may cache its result by blob id; [`plan`] needs no bytes;
//! [`splice`] replaces byte ranges and copies everything else.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod block;
mod chosen;
mod commented;
mod content;
mod conventions;
mod cut;
mod file;
mod formats;
mod gap;
mod lines;
mod marker;
mod marking;
mod model;
mod object;
mod pairs;
mod plain;
mod plan;
mod remark;
mod repair;
mod restore;
mod scan;
mod site;
mod sops;
mod spell;
mod splice;
mod strict;
mod texts;
pub mod unified;
mod values;
mod versions;
mod walk;

pub use chosen::{choose, spans, text};
pub use conventions::{ImageField, ImageKeys, has_host, image_keys, is_image_key, of_images_entry, of_values_mapping};
pub use file::{
    FileKind, Format, Formats, OTHER_LIMIT, OTHER_RULE_FILE, RULE_FILE, UnknownFormat, YAML_LIMIT, file_kind,
    has_in_utf16, kind_of, looks_marked, may_be_marked,
};
pub use marking::{
    LeftField, MarkError, Marking, OTHER_POLICY, Remarked, field_in, field_on, mark, mark_at, mark_at_in, mark_in,
    obstacles, unmark,
};
pub use model::tag_and_digest;
pub use model::{Change, DocumentId, Images, Part, Reason, Setter, Skip, Verdict};
pub use plan::{Plan, is_same_image, plan};
pub use restore::{Content, carried, restored};
pub use scan::{LocalSkip, Scan, scan};
pub use site::Choice;
pub use site::{BlockShape, ByRule, Neighbour, Site, Spelling};
pub use sops::is_signed;
pub use spell::scalar;
pub use splice::{Edit, SpliceError, splice};
pub use values::Value;
pub use versions::is_in_query;
