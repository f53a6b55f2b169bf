//! What a webhook tells, whoever sent it.

use super::{Address, ImageName};

/// Names longer than this are taken for none: registries and forges allow less.
pub(crate) const LONGEST_NAME: usize = 1024;

/// One change at a forge or a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A branch, a tag or another reference of a repository has changed.
    Push(Push),
    /// An image has been pushed.
    Image(Image),
    /// The sender tries whether it is heard.
    Ping,
    /// Something that concerns nobody here, in a few words.
    Ignored(String),
}

/// A reference of a Git repository that was made, moved or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The repository in all spellings that the sender gives.
    pub addresses: Vec<Address>,
    /// The full name, such as `refs/heads/main`; none when the sender does not tell, so that it may be any.
    pub reference: Option<String>,
    /// The commit (or the object of an annotated tag) that it has now; none after a deletion, or when it is not told.
    pub commit: Option<String>,
}

/// An image that was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The repository in all spellings that the sender gives.
    pub names: Vec<ImageName>,
    /// The tag; none when the sender does not tell, so that it may be any.
    pub tag: Option<String>,
    /// The digest of the manifest, such as `sha256:9f86…`.
    pub digest: Option<String>,
}

impl Push {
    /// A push to the repository at these addresses; those that are none are left out.
    pub(crate) fn new<'a>(addresses: impl IntoIterator<Item = &'a str>, reference: Option<String>) -> Self {
        let mut known: Vec<Address> = Vec::new();
        for address in addresses.into_iter().filter_map(Address::parse) {
            if !known.contains(&address) {
                known.push(address);
            }
        }
        let reference = reference.filter(|name| !name.is_empty());
        Self {
            addresses: known,
            reference,
            commit: None,
        }
    }

    /// With the object id that the reference has now. Git says of what is gone that its id is all zeros.
    #[must_use]
    pub(crate) fn at(mut self, commit: Option<String>) -> Self {
        self.commit = commit.filter(|id| is_object_id(id) && id.bytes().any(|digit| digit != b'0'));
        self
    }
}

fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// At most so many characters of what the sender wrote, none of which can disturb a log.
pub(crate) fn shown(text: &str, most: usize) -> String {
    let plain = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
    text.chars().take(most).map(plain).collect()
}
