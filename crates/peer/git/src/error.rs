//! Errors between a mirror and its remote.

use std::path::{Path, PathBuf};

use super::{ObjectId, TransportError};
use bumpwright_budget::Exceeded;

/// Why a fetch, a read or a push failed. No variant ever holds a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The remote has no such reference.
    #[error("couldn't find remote ref \"{name}\"")]
    RefNotFound {
        /// The full name that was looked for.
        name: String,
    },
    /// No tag of the remote satisfies the range.
    #[error("no match found for semver: {range}")]
    NoTagMatches {
        /// The range as the user wrote it.
        range: String,
    },
    /// The remote does not send this commit: it does not exist there, or the server only sends the tips of references.
    #[error("unable to resolve commit object for '{id}': {detail}")]
    CommitNotFound {
        /// The id as the user wrote it.
        id: String,
        /// The server's words.
        detail: String,
    },
    /// The remote has no commit at all.
    #[error("the repository has no commits: push a first commit to it")]
    EmptyRepository,
    /// A push lost its race: the reference changed since the lease. Fetch again and plan on the new tip.
    #[error("{reference} has moved: expected {}, found {}", absent(.expected), absent(.now))]
    Moved {
        /// The full name of the reference.
        reference: String,
        /// The value of the lease; `None` when the reference should not exist.
        expected: Option<ObjectId>,
        now: Option<ObjectId>,
    },
    /// The server refused an update: a hook, a protection, a quota.
    #[error("command error on {reference}: {reason}{}", spoken(.reason, .said))]
    Rejected {
        /// The full name of the reference.
        reference: String,
        /// The server's reason.
        reason: String,
        /// Output of the server and its hooks, without control characters, cut to a sane length.
        said: String,
    },
    /// There are push options and the server does not support them.
    #[error(
        "the server does not support push options: remove them from the push settings, or turn on receive.advertisePushOptions at the server"
    )]
    PushOptionsUnsupported,
    /// No conversation with the remote was possible.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The server's answer is not the Git protocol, or is an error.
    #[error("{0}")]
    Protocol(String),
    /// Another transfer with the same credentials is under way, for longer than this run may wait.
    #[error("another transfer from this repository has not come to its end within {limit:?}; it is tried again")]
    Busy {
        /// How long this run waited.
        limit: std::time::Duration,
    },
    /// The mirror's folder could not be read or written.
    #[error("cannot {action} {}: {source}", .path.display())]
    Storage {
        /// The attempted action, as a verb: `read`, `lock`, `write`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        source: std::io::Error,
    },
    /// An object is missing from the mirror, or cannot be read. The mirror is rebuilt by the next fetch: try again.
    #[error("the mirror is damaged and will be rebuilt: {0}")]
    Damaged(String),
    /// A blob is larger than the caller's limit.
    #[error("object {id} has {size} bytes, more than the limit of {limit}")]
    TooLarge {
        id: ObjectId,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A bound was reached.
    #[error("{of}: {bound}")]
    Exceeded {
        /// What exceeds the bound.
        of: String,
        bound: Exceeded,
    },
    #[error("{0}")]
    Late(String),
    /// The arguments are not valid: a reference name that Git forbids, a path that is not in the tree.
    #[error("{0}")]
    Invalid(String),
}

impl GitError {
    /// For `map_err` on file operations.
    pub(super) fn storage(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Storage { action, path, source }
    }

    /// For `map_err` on reservations of a budget.
    pub fn exceeded(of: impl Into<String>, bound: Exceeded) -> Self {
        Self::Exceeded { of: of.into(), bound }
    }

    pub(super) fn protocol(detail: impl Into<String>) -> Self {
        Self::Protocol(detail.into())
    }

    pub(super) fn damaged(detail: impl Into<String>) -> Self {
        Self::Damaged(detail.into())
    }
}

fn absent(id: &Option<ObjectId>) -> String {
    id.map_or_else(|| "no such reference".to_owned(), |id| id.to_string())
}

/// What a server said besides its reason; of Gerrit without its progress, and with our way out in the place of its
/// hook.
fn spoken(reason: &str, said: &str) -> String {
    let is_hook = |line: &&str| line.starts_with("Hint: to automatically insert a Change-Id");
    let is_progress =
        |line: &str| line.starts_with("Processing changes:") || line.strip_prefix("ERROR: ") == Some(reason);
    let lines = said.lines().map(str::trim_end).take_while(|line| !is_hook(line));
    let lines = lines.filter(|line| !is_progress(line) && !line.is_empty());
    let mut text: String = lines.map(|line| format!("\n{line}")).collect();
    if reason.contains("missing Change-Id in message footer") {
        text += "; `update --gerrit` writes one, and for automations the template of docs/start/gerrit.md does";
    }
    if reason.contains("invalid committer") || reason.contains("invalid author") {
        text += "; the author of commits needs an email of the account: --author, or spec.git.commit.author (docs/start/gerrit.md)";
    }
    if reason.starts_with("change ") && reason.ends_with(" closed") {
        let way_out = "; restore it there if it was abandoned, or have the commit message make another Change-Id (docs/start/gerrit.md)";
        text.insert_str(0, way_out);
    }
    text
}
