//! Values of flags that several commands have.

use std::path::PathBuf;

use clap::ValueEnum;

/// Output formats for people and programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// A folder that exists: a misspelt one would have nothing.
///
/// # Errors
/// The folder does not exist.
pub(crate) fn folder(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_dir() {
        Ok(path)
    } else {
        Err("there is no such folder".to_owned())
    }
}
