//! A blob as a stream, verified while it is read (go-containerregistry v0.21, `internal/verify`).

use std::fmt;
use std::io::{self, Cursor, Read};

use sha2::{Digest as _, Sha256};
use ureq::http::Method;
use url::Url;

use super::image::Layer;
use super::manifest::hex;
use super::session::{Query, Session};
use crate::RegistryError;
use crate::refusal::unanswered;
use bumpwright_gostd::quote;
use bumpwright_http::{Incoming, NetError};
use bumpwright_secret::Secret;
use bumpwright_text::Parts;

/// The largest error response, in bytes.
const LARGEST_REFUSAL: usize = 1 << 20;

/// A stream of a blob. It returns no more bytes than its size, and ends only when the digest is right: bytes before
/// an error must not be used. Errors hold a [`RegistryError`].
pub struct Blob {
    source: BlobSource,
    hash: Sha256,
    digest: String,
    size: u64,
    read: u64,
    is_checked: bool,
    /// Secrets sent to the registry, which no error may show.
    secrets: Vec<Secret>,
}

enum BlobSource {
    Embedded(Cursor<Vec<u8>>),
    Registry(Box<Incoming>, Url),
}

impl Blob {
    fn new(source: BlobSource, layer: &Layer, secrets: Vec<Secret>) -> Self {
        Self {
            source,
            hash: Sha256::new(),
            digest: layer.digest.clone(),
            size: layer.size,
            read: 0,
            is_checked: false,
            secrets,
        }
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<usize, io::Error> {
        match &mut self.source {
            BlobSource::Embedded(bytes) => bytes.read(buffer),
            BlobSource::Registry(body, url) => body.read(buffer).map_err(|error| {
                let kind = error.kind();
                match error.downcast::<NetError>() {
                    Ok(error) => io::Error::new(kind, unanswered(error, url, &self.secrets)),
                    Err(error) => error,
                }
            }),
        }
    }

    fn check(&mut self) -> io::Result<()> {
        let wrong = |text| Err(io::Error::new(io::ErrorKind::InvalidData, RegistryError::Blob(text)));
        if self.read != self.size {
            return wrong(format!("error verifying size; got {}, want {}", self.read, self.size));
        }
        let digest = format!("sha256:{}", hex(&std::mem::take(&mut self.hash).finalize()));
        if digest != self.digest {
            return wrong(format!(
                "error verifying sha256 checksum after reading {} bytes; got {}, want {}",
                self.read,
                quote(&digest),
                quote(&self.digest)
            ));
        }
        self.is_checked = true;
        Ok(())
    }
}

impl Read for Blob {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.is_checked {
            return Ok(0);
        }
        let left = usize::try_from(self.size - self.read).unwrap_or(usize::MAX);
        let most = left.min(buffer.len());
        let count = match buffer.get_mut(..most) {
            Some(room) if most > 0 => self.receive(room)?,
            _ => 0,
        };
        if count == 0 {
            self.check()?;
        }
        self.hash.update(buffer.part(..count));
        self.read += count as u64;
        Ok(count)
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blob")
            .field("digest", &self.digest)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

pub(crate) fn of_layer(session: &mut Session<'_>, layer: &Layer) -> Result<Blob, RegistryError> {
    if let Some(data) = &layer.data {
        let source = BlobSource::Embedded(Cursor::new(data.clone()));
        return Ok(Blob::new(source, layer, Vec::new()));
    }
    let query = Query {
        method: Method::GET,
        url: session.endpoint(&format!("blobs/{}", layer.digest))?,
        accept: None,
        limit: LARGEST_REFUSAL,
    };
    let (answer, body) = session.open_body(&query)?;
    let length = answer
        .header("content-length")
        .and_then(|length| length.parse::<u64>().ok());
    match length {
        Some(length) if length != layer.size => Err(RegistryError::Blob(format!(
            "{}: Content-Length header {length} does not match expected size {}",
            session.request(&Method::GET, &answer),
            layer.size
        ))),
        _ => {
            let source = BlobSource::Registry(Box::new(body), query.url);
            Ok(Blob::new(source, layer, session.secrets()))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::request::manifest::sha256;

    fn read(content: &[u8], digest: &str, size: u64) -> Result<Vec<u8>, String> {
        let layer = Layer {
            digest: digest.to_owned(),
            size,
            ..Layer::default()
        };
        let mut blob = Blob::new(BlobSource::Embedded(Cursor::new(content.to_vec())), &layer, Vec::new());
        let mut bytes = Vec::new();
        match blob.read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn the_end_comes_only_when_all_bytes_were_right() {
        let digest = sha256(b"manifests");
        assert_eq!(read(b"manifests", &digest, 9).unwrap(), b"manifests");
        assert_eq!(read(b"manifests and more", &digest, 9).unwrap(), b"manifests");
        assert_eq!(read(b"", &sha256(b""), 0).unwrap(), b"");
        assert_eq!(
            read(b"manifest", &digest, 9).unwrap_err(),
            "error verifying size; got 8, want 9"
        );
        let error = read(b"manifests and more", &digest, 18).unwrap_err();
        let expected = "error verifying sha256 checksum after reading 18 bytes; got \"sha256:";
        assert!(error.starts_with(expected), "{error}");
    }
}
