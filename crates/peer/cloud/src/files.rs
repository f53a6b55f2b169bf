//! Small files with identities: tokens, keys, settings.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use zeroize::Zeroizing;

use super::CloudError;
use bumpwright_secret::Secret;

/// The largest file that is read, in bytes.
const LIMIT: u64 = 1 << 20;

/// Reads a file's text; `None` when the file does not exist.
///
/// # Errors
/// [`CloudError::Settings`] when it cannot be read, is larger than 1 MiB, or is not UTF-8.
pub(super) fn text_if_any(path: &Path) -> Result<Option<Secret>, CloudError> {
    match bounded(path) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(unreadable(path, &e)),
    }
}

/// Reads the text of a file, which is configured by `named_by`.
///
/// # Errors
/// As [`text_if_any`], and when the file does not exist.
pub(super) fn text(path: &str, named_by: &str) -> Result<Secret, CloudError> {
    let path = Path::new(path);
    bounded(path).map_err(|e| unreadable(path, &e).within(named_by))
}

fn unreadable(path: &Path, error: &io::Error) -> CloudError {
    CloudError::settings(path.display().to_string(), format!("cannot be read: {error}"))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a file of credentials; bound: 1 MiB; account: none, of the process' own machine"
)]
fn bounded(path: &Path) -> io::Result<Secret> {
    // Allocated at full size, so that growing leaves no copy behind.
    let file = File::open(path)?;
    let size = file.metadata()?.len().min(LIMIT) as usize;
    let mut text = Zeroizing::new(String::with_capacity(size + 1));
    file.take(LIMIT + 1).read_to_string(&mut text)?;
    match u64::try_from(text.len()) {
        Ok(length) if length <= LIMIT => Ok(Secret::new(std::mem::take(&mut *text))),
        _ => Err(io::Error::other("it has more than 1 MiB")),
    }
}

/// Removes blanks and line breaks around a token.
pub(super) fn trimmed(text: &Secret) -> Secret {
    Secret::new(text.expose().trim())
}
