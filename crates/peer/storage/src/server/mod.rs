//! The HTTP server of artifacts: as Go's file server answers for them, and no more than that.

mod conditions;
mod http_date;
mod listen;
mod path;
mod ranges;
mod resource;

pub use listen::{ListenError, limits, listen, serve};

use std::borrow::Cow;

use http::HeaderMap;

/// The first header of a name; an empty one counts as none.
fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<Cow<'h, str>> {
    let value = String::from_utf8_lossy(headers.get(name)?.as_bytes());
    Some(value).filter(|value| !value.is_empty())
}
