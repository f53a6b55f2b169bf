//! Files with keys for decryption: `--age-key-file` and `--pgp-key-file`.

use std::fs;
use std::path::PathBuf;

use crate::cli::error::{Attempt as _, CliError};
use zeroize::Zeroizing;

use bumpwright_sops::LocalKeys;

/// Adds the keys of these files.
///
/// # Errors
/// A file cannot be read, or has no key; for users.
pub(super) fn import(age: &[PathBuf], pgp: &[PathBuf], keys: &mut LocalKeys) -> Result<(), CliError> {
    for file in age {
        let read = keys.age.import(&bytes(file)?);
        read.at(format_args!("{}: no age key", file.display()))?;
    }
    for file in pgp {
        let read = keys.pgp.import(&bytes(file)?);
        read.at(format_args!("{}: no OpenPGP key", file.display()))?;
    }
    Ok(())
}

fn bytes(file: &PathBuf) -> Result<Zeroizing<Vec<u8>>, CliError> {
    let bytes = fs::read(file).map(Zeroizing::new);
    bytes.at(file.display())
}
