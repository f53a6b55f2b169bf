//! Events of webhooks, independent of the provider.

use super::{Address, ImageName};

/// Greatest length of a name; registries and forges allow less.
pub(crate) const LONGEST_NAME: usize = 1024;

/// A change at a forge or a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A branch, a tag or another reference of a repository has changed.
    Push(Push),
    /// An image has been pushed.
    Image(Image),
    /// A test delivery.
    Ping,
    /// An event without effect, described in a few words.
    Ignored(String),
}

/// A reference of a Git repository that was created, moved or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Push {
    /// The repository, in all spellings of the sender.
    pub addresses: Vec<Address>,
    /// The full name, such as `refs/heads/main`; `None` is any reference.
    pub reference: Option<String>,
    /// Its new commit (or object of an annotated tag); `None` after a deletion, or when it is unknown.
    pub commit: Option<String>,
}

/// An image that was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The repository, in all spellings of the sender.
    pub names: Vec<ImageName>,
    /// The tag; `None` is any tag.
    pub tag: Option<String>,
    /// The digest of the manifest, such as `sha256:9f86…`.
    pub digest: Option<String>,
}

impl Push {
    /// A push to the repository at these addresses; invalid ones are dropped.
    pub(crate) fn new<'a>(addresses: impl IntoIterator<Item = &'a str>, reference: Option<String>) -> Self {
        let mut distinct: Vec<Address> = Vec::new();
        for address in addresses.into_iter().filter_map(Address::parse) {
            if !distinct.contains(&address) {
                distinct.push(address);
            }
        }
        let reference = reference.filter(|name| !name.is_empty());
        Self {
            addresses: distinct,
            reference,
            commit: None,
        }
    }

    /// Sets the new object id of the reference. After a deletion Git's id is all zeros.
    #[must_use]
    pub(crate) fn at(mut self, commit: Option<String>) -> Self {
        self.commit = commit.filter(|id| is_object_id(id) && id.bytes().any(|digit| digit != b'0'));
        self
    }
}

fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Text of the sender, truncated and safe for a log.
pub(crate) fn shown(text: &str, most: usize) -> String {
    let plain = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
    text.chars().take(most).map(plain).collect()
}
