//! Where the tables of recorded behaviour and the documents are.

use std::path::PathBuf;

/// The folder of the corpora: `BUMPWRIGHT_CORPORA`, else `../shared` beside the project.
pub fn corpora() -> PathBuf {
    match std::env::var_os("BUMPWRIGHT_CORPORA") {
        Some(path) => PathBuf::from(path),
        None => crate::root().join("../shared"),
    }
}
