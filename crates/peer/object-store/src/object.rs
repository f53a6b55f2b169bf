//! Listed objects, and their contents as streams.

use std::io::{self, Read};

use bumpwright_http::Streamed;

/// An object in a bucket's list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// Its name in the bucket.
    pub key: String,
    /// Its etag, in the form of the provider's library for Go.
    pub etag: String,
    /// In bytes, if the list has it.
    pub size: Option<u64>,
    /// The listed generation, at Google.
    pub(super) generation: Option<String>,
}

impl Object {
    /// An object with only a name.
    #[must_use]
    pub fn named(key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            ..Self::default()
        }
    }
}

/// The longest key, in characters, at all providers: 1,024 bytes at AWS and Google, as many characters at Azure.
pub(super) const LONGEST_KEY: usize = 1024;

/// The longest etag and generation, in bytes.
const LONGEST_ETAG: usize = 1024;

/// The most objects of a page; providers send 5,000 at most.
pub(super) const PAGE_OBJECTS: usize = 100_000;

/// An object is listed with more than a server has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Oversized {
    #[error("the key of an object has {characters} characters, {LONGEST_KEY} at most: {begin}…")]
    Key {
        characters: usize,
        /// Its begin, with control characters escaped.
        begin: String,
    },
    #[error("the etag of an object has {0} bytes, {LONGEST_ETAG} at most")]
    Etag(usize),
}

impl Object {
    /// The memory that it takes in a list, in bytes.
    pub(super) fn memory(&self) -> u64 {
        // An allocated text and a place in a tree take some more.
        const BESIDE: usize = 64;
        let texts = self.key.len() + self.etag.len() + self.generation.as_ref().map_or(0, String::len);
        (size_of::<Self>() + BESIDE + texts) as u64
    }

    /// Checks what a server listed.
    ///
    /// # Errors
    /// What is too long.
    pub(super) fn checked(&self) -> Result<(), Oversized> {
        let (key, etag) = (self.key.chars().count(), self.etag.len());
        if key > LONGEST_KEY {
            let shown: String = self.key.chars().take(40).collect();
            return Err(Oversized::Key {
                characters: key,
                begin: shown.escape_debug().to_string(),
            });
        }
        match etag.max(self.generation.as_ref().map_or(0, String::len)) {
            0..=LONGEST_ETAG => Ok(()),
            longer => Err(Oversized::Etag(longer)),
        }
    }
}

/// One page of a list.
pub(super) struct Page {
    pub(super) objects: Vec<Object>,
    /// The token of the next page, if there is one.
    pub(super) next: Option<String>,
}

/// A stream of an object's contents. Reading ends with an error when they are truncated, or differ in size from the
/// list.
pub struct Contents {
    /// The etag of the contents, which may differ from the list.
    pub etag: String,
    /// The size in bytes, if known.
    pub size: Option<u64>,
    body: Streamed,
    read: u64,
}

impl Contents {
    /// `same_bytes` is false where the store may decompress objects, so that sizes do not count.
    pub(super) fn new(object: &Object, etag: String, same_bytes: bool, body: Streamed) -> Self {
        let listed = object.size.filter(|_| same_bytes && object.etag == etag);
        Self {
            etag,
            size: listed.or_else(|| body.length()),
            body,
            read: 0,
        }
    }

    fn checked(&self, ended: bool) -> io::Result<()> {
        match self.size {
            Some(size) if self.read > size || (ended && self.read < size) => {
                let (place, read) = (self.body.place(), self.read);
                let more = if ended { "" } else { " or more" };
                Err(io::Error::other(format!(
                    "{place}: the body has {read} bytes{more} instead of {size}"
                )))
            }
            _ => Ok(()),
        }
    }
}

impl Read for Contents {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.body.read(buffer)?;
        self.read = self.read.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        self.checked(count == 0 && !buffer.is_empty())?;
        Ok(count)
    }
}
