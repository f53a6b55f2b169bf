//! Errors of libraries that are all text.

/// The error of a caller who reads a folder or a file for this crate.
pub type ForeignError = Box<dyn std::error::Error + Send + Sync>;
