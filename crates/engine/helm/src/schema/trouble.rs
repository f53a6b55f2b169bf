//! Why values are not compared with a schema.

/// The schema is at fault, or comparing takes too much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The schema cannot be used; the library's text.
    Schema(String),
    /// A limit of ours was reached.
    Limit(String),
    /// The schema is at this URL, and was not given.
    Elsewhere(String),
}
