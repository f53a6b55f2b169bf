//! Reads text into nodes.

pub(crate) mod annotated;
pub(crate) mod compose;
pub(crate) mod documents;
pub(crate) mod encoding;
pub(crate) mod entries;
pub(crate) mod error;
pub(crate) mod from_json;
pub(crate) mod node_count;
pub(crate) mod options;
pub(crate) mod parse;
pub(crate) mod resolve;
pub(crate) mod scan;
pub(crate) mod scan_comment;
pub(crate) mod scan_property;
pub(crate) mod scan_scalar;
pub(crate) mod split;
pub(crate) mod token;
