//! Download of an archive: bounded while it is read, and verified by its digest at the end.

use std::io::{self, Read};

use thiserror::Error;

use super::FetchError;
use bumpwright_api::Artifact;
use bumpwright_artifact::{Digest, Digester};
use bumpwright_budget::Counter;

/// The digest of a source's archive.
pub(super) fn digest_of(artifact: &Artifact) -> Result<Digest, FetchError> {
    let digest = match artifact.digest.as_str() {
        "" => return Err(FetchError::Failed("failed to verify archive: empty digest".to_owned())),
        hex if !hex.contains(':') => format!("sha256:{hex}"),
        digest => digest.to_owned(),
    };
    let read = digest.parse();
    read.map_err(|error| {
        FetchError::Failed(format!(
            "failed to verify archive: failed to parse digest '{digest}': {error}"
        ))
    })
}

/// A reader of an archive that fails beyond the limit of a build, and at the end if the digest differs.
pub(super) struct Download<R> {
    pub(super) body: R,
    /// None once the digest was verified.
    pub(super) digester: Option<Digester>,
    pub(super) expected: Digest,
    pub(super) bytes: Counter,
}

/// The content does not have the digest.
#[derive(Debug, Error)]
#[error("other bytes")]
struct OtherBytes;

impl<R: Read> Read for Download<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let count = self.body.read(buffer)?;
        self.bytes.take(count as u64).map_err(io::Error::other)?;
        match (count, buffer.get(..count)) {
            (1.., Some(read)) => self.digester.iter_mut().for_each(|digester| digester.update(read)),
            _ => {
                let digest = self.digester.take().map(Digester::finish);
                if digest.is_some_and(|digest| digest != self.expected) {
                    return Err(io::Error::other(OtherBytes));
                }
            }
        }
        Ok(count)
    }
}

/// Why the download of an archive failed.
pub(super) fn copying(expected: &Digest, error: &io::Error) -> FetchError {
    if error.get_ref().is_some_and(|inner| inner.is::<OtherBytes>()) {
        other_bytes(expected)
    } else {
        FetchError::Failed(format!("failed to copy temp contents: {error}"))
    }
}

pub(super) fn other_bytes(expected: &Digest) -> FetchError {
    FetchError::Changed(format!(
        "failed to verify archive: computed digest doesn't match provided '{expected}' (check whether file size exceeds max \
         download size)"
    ))
}
