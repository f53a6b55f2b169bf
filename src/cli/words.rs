//! How runs, objects and skips are put into words, the same in every output format.

use crate::automation::Run;
use crate::edit::{ObjectId, Skip};

/// `Kind namespace/name`, as far as the object says.
#[must_use]
pub fn object(object: &ObjectId) -> String {
    let name = match (object.namespace.as_str(), object.name.as_str()) {
        ("", name) => name.to_owned(),
        (namespace, name) => format!("{namespace}/{name}"),
    };
    [object.kind.as_str(), name.as_str()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// `path:line:col: Reason: message`.
#[must_use]
pub fn skip(skip: &Skip) -> String {
    format!(
        "{}:{}:{}: {:?}: {}",
        skip.path, skip.line, skip.column, skip.reason, skip.message
    )
}

/// How much changed, in one sentence.
#[must_use]
pub fn headline(run: &Run) -> String {
    let mut files: Vec<&str> = run.changes.iter().map(|change| change.path.as_str()).collect();
    files.dedup();
    format!(
        "{} in {}",
        count(run.changes.len(), "field"),
        count(files.len(), "file")
    )
}

/// `1 file`, `2 files`.
#[must_use]
pub fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}
