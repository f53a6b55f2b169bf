//! Marked fields in YAML files: finds them, plans their new values, and changes their bytes and nothing else.
//!
//! ```text
//! bytes ─▶ scan ─▶ Scan ─▶ plan (with Images) ─▶ Plan ─▶ splice (with the bytes) ─▶ bytes
//! ```
//!
//! [`scan`] is a function of the bytes only, so that callers may cache its result by blob id; [`plan`] needs no bytes;
//! [`splice`] replaces byte ranges and copies everything else.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod chosen;
mod conventions;
mod cut;
mod edits;
mod file;
mod find;
mod formats;
mod lines;
mod marking;
mod model;
mod scanned;
mod site;
mod spelling;

pub use chosen::{choose, spans, text};
pub use conventions::{ImageField, ImageKeys, has_host, image_keys, is_image_key, of_images_entry, of_values_mapping};
pub use edits::plan::{is_same_image, plan};
pub use edits::planned::Edit;
pub use edits::planned::Plan;
pub use edits::restore::{Content, carried, restored};
pub use edits::splice::{SpliceError, splice};
pub use edits::unified;
pub use file::{
    FileKind, Format, Formats, OTHER_LIMIT, OTHER_RULE_FILE, OWN_FOLDER, RULE_FILE, UnknownFormat, YAML_LIMIT,
    file_kind, has_in_utf16, kind_of, looks_marked, may_be_marked,
};
pub use find::parser::offset;
pub use find::scan::scan;
pub use find::sops::is_signed;
pub use find::values::Value;
pub use marking::{
    LeftField, MarkError, Marking, OTHER_POLICY, Remarked, field_in, mark, mark_at, mark_at_in, mark_in, obstacles,
    unmark, unmark_if,
};
pub use model::tag_and_digest;
pub use model::{Change, DocumentId, Images, Part, Reason, Setter, Skip, Verdict};
pub use scanned::{LocalSkip, Scan};
pub use site::Choice;
pub use site::{BlockShape, ByRule, Neighbour, Site, Spelling};
pub use spelling::spell::scalar;
pub use spelling::versions::is_in_query;
