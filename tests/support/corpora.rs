//! Where the tables of recorded behaviour and the documents are.

use std::path::{Path, PathBuf};

/// The folder of the corpora: `BUMPWRIGHT_CORPORA`, else `../shared` beside the project.
pub fn corpora() -> PathBuf {
    match std::env::var_os("BUMPWRIGHT_CORPORA") {
        Some(path) => PathBuf::from(path),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"),
    }
}
