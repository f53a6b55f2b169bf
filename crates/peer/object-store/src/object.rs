//! Objects, as a list names them and as they come.

use std::io::{self, Read};

use bumpwright_http::Streamed;

/// An object, as a bucket's list has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// Its name in the bucket.
    pub key: String,
    /// What tells its contents from others, as the provider's library for Go gives it.
    pub etag: String,
    /// In bytes, if the list says it.
    pub size: Option<u64>,
    /// The version that the list means, at Google.
    pub(super) generation: Option<String>,
}

impl Object {
    /// An object of which only the name is known.
    #[must_use]
    pub fn named(key: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            ..Self::default()
        }
    }
}

/// One page of a list.
pub(super) struct Page {
    pub(super) objects: Vec<Object>,
    /// What to ask for the next one with, if there is one.
    pub(super) next: Option<String>,
}

/// An object's contents, which are read as they come. Reading ends with an error when there is less than was said, or other
/// than was listed.
pub struct Contents {
    /// The etag of what is read, which may be another than the list had.
    pub etag: String,
    /// The size in bytes, if it is known.
    pub size: Option<u64>,
    body: Streamed,
    read: u64,
}

impl Contents {
    /// `same_bytes` is false where the store may unpack what it holds, so that sizes say nothing.
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
