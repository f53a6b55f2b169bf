//! What to check out, and what a fetch found.

use crate::wire::listing::RemoteRef;
use crate::{ObjectId, Objects};

/// Chooses one of the tags that the remote has, given by their short names; `None` when none fits.
pub type ChooseTag<'a> = &'a (dyn Fn(&[String]) -> Option<String> + Sync);

/// Which commit to look at (GitRepository `.spec.ref`).
#[derive(Clone)]
pub enum Checkout<'a> {
    /// What the remote's HEAD points at; `main`, then `master`, when the remote does not say.
    Default,
    /// A branch, by its short name.
    Branch(String),
    /// A tag, by its short name. An annotated tag stands for its commit.
    Tag(String),
    /// The tag that `choose` picks.
    Semver {
        /// The range as the user wrote it, for the error.
        range: String,
        choose: ChooseTag<'a>,
    },
    /// A reference, by its full name: `refs/heads/main`, `refs/pull/1/head`.
    Name(String),
    /// One commit, by its full hexadecimal id.
    Commit {
        id: String,
        /// The short name of a branch that holds it, for servers that send only the tips of references.
        branch: Option<String>,
    },
}

impl std::fmt::Debug for Checkout<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("Default"),
            Self::Branch(name) => write!(f, "Branch({name})"),
            Self::Tag(name) => write!(f, "Tag({name})"),
            Self::Semver { range, .. } => write!(f, "Semver({range})"),
            Self::Name(name) => write!(f, "Name({name})"),
            Self::Commit { id, branch } => write!(f, "Commit({id}, {branch:?})"),
        }
    }
}

/// Another reference whose value the caller wants from the same listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Also {
    /// The full name.
    pub reference: String,
    /// Fetch its objects too.
    pub fetch: bool,
}

/// A commit that the mirror holds, with its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tip {
    /// The full name of its reference; empty for a commit that was requested without a branch.
    pub reference: String,
    pub commit: ObjectId,
    /// The commit's root tree.
    pub tree: ObjectId,
}

/// The result of a fetch.
#[derive(Clone, Debug)]
pub struct Fetched {
    pub tip: Tip,
    /// The other references, in the order of the request.
    pub also: Vec<RemoteRef>,
    /// Access to the objects. While this value or a clone of it lives, no process drops objects from the mirror.
    pub objects: Objects,
    /// True when objects were transferred.
    pub transferred: bool,
}
