//! Errors of runs, with the file or reference concerned and a way out.

use super::find::path::PathError;
use super::folder::git_program::GitProgramError;
use super::folder::worktree_error::WorktreeError;
use super::job::destination::DestinationError;
use bumpwright_api::{InvalidSelector, Reason};
use bumpwright_edit::SpliceError;
use bumpwright_forge::ForgeError;
use bumpwright_git::GitError;
use bumpwright_message::MessageError;
use bumpwright_policy::{InvalidImage, PolicyName};
use bumpwright_rules::Overrun;
use bumpwright_signing::SigningError;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The start of the run could not be fetched.
    #[error("failed to fetch '{url}': {source}")]
    Fetch { url: String, source: GitError },
    /// Objects could not be read or created.
    #[error("failed to read '{url}': {source}")]
    Read { url: String, source: GitError },
    /// The push was refused.
    #[error("failed to push to '{url}': {source}")]
    Push { url: String, source: GitError },
    /// Every attempt lost its race against another push.
    #[error("gave up on '{url}' after {tries} attempts, others pushed first each time: {source}")]
    Races {
        url: String,
        tries: u32,
        /// The last loss.
        source: GitError,
    },
    /// Another run that pushes to the same reference is not finishing.
    #[error(
        "failed to push to '{url}': another run that pushes there has not come to its end within {limit:?}; it is tried again"
    )]
    Busy {
        url: String,
        /// How long this run waited.
        limit: std::time::Duration,
    },
    /// A reference that accepts pushes but is not listed for fetches.
    #[error(
        "failed to push to '{url}': {source}, which a fetch does not show, so that it cannot be replaced safely; push to \
         another reference, or have the server show this one (uploadpack.hideRefs, transfer.hideRefs)"
    )]
    Hidden {
        url: String,
        /// The loss that repeated.
        source: GitError,
    },
    /// A server took an earlier commit for review as an ordinary reference.
    #[error(
        "failed to push to '{url}': {source}: the server keeps it as an ordinary reference, so it is not a Gerrit; push to a branch, \
         and delete that reference there"
    )]
    NotGerrit { url: String, source: GitError },
    /// The pull request could not be looked for, or would be refused; found before the push.
    #[error("nothing is pushed, since there would be no pull request for it: {0}")]
    Forge(ForgeError),
    /// The push landed, but its pull request is missing or out of date.
    #[error("the commit is pushed, but its pull request is not as it should be; the next run tries again: {0}")]
    PullRequest(#[from] ForgeError),
    /// A pull request without a branch to be merged into.
    #[error(
        "a pull request needs a branch to be merged into, and the run starts from none: name it (--pull-request-base)"
    )]
    NoBase,
    /// A pull request without a head branch of its own.
    #[error(
        "a pull request into {base} needs another branch that is pushed, and nothing pushed to {base} itself: name one \
         (push.branch, --push-branch)"
    )]
    NoHead {
        /// The branch that it is to be merged into.
        base: String,
    },
    /// The history of the branch could not be read or fetched.
    #[error(
        "the history of '{target}', by which reverts and promotions are judged, cannot be read: {source}; nothing was written: look at \
         fewer commits, or go without these annotations"
    )]
    History {
        /// The repository.
        target: String,
        source: GitError,
    },
    /// The folder is in no repository, or git cannot say where it is.
    #[error("the Git repository of the folder, whose history counts here, cannot be read: {0}")]
    NoRepository(GitProgramError),
    /// The destination is not valid.
    #[error(transparent)]
    Destination(#[from] DestinationError),
    /// `update.path` does not exist.
    #[error("update path {path:?} does not exist in {target}{}", near.as_ref().map_or(String::new(), |near| format!("; did you mean {near}?")))]
    NoSuchPath {
        /// The path as given.
        path: String,
        /// The repository or folder.
        target: String,
        /// The one that was probably meant.
        near: Option<String>,
    },
    /// `update.path` has a link cycle, or cannot be read.
    #[error("update path: {0}")]
    Path(PathError<PathLookup>),
    /// The label selector of the automation.
    #[error("failed to parse policy selector: {0}")]
    Selector(#[from] InvalidSelector),
    /// A policy's image is not valid: as with Flux, nothing is written.
    #[error("ImagePolicy {policy}: {source}; correct the image's name, or keep such tags out with the policy's filter")]
    Image { policy: PolicyName, source: InvalidImage },
    /// A policy that was asked for has no marker: it was probably misspelt.
    #[error("--set {policy}: no marker names this policy, so nothing was changed{}", near.as_ref().map_or(String::new(), |near| format!("; did you mean {near}?")))]
    Unmarked {
        /// `namespace:name`
        policy: String,
        /// The one that was probably meant.
        near: Option<String>,
    },
    /// Rules were too much work; nothing is edited then.
    #[error("{0}; nothing was changed")]
    Rules(#[from] Overrun),
    /// A file differs from what was scanned.
    #[error("{path}: {source}")]
    Splice { path: String, source: SpliceError },
    /// A file or folder could not be read or written.
    #[error("cannot {action} {path}: {source}")]
    File {
        action: &'static str,
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Ctrl-C, or SIGTERM.
    #[error("interrupted: nothing was changed")]
    Interrupted,
    /// The commit's message could not be rendered; nothing is pushed (IUA-063).
    #[error(transparent)]
    Message(MessageError),
    /// The commit could not be signed; it is not pushed unsigned.
    #[error("the commit could not be signed, so nothing was changed: {0}")]
    Sign(#[from] SigningError),
    /// The edits would break what a cluster applies; nothing is pushed.
    #[error("{message}{}{fields}", if fields.is_empty() { "" } else { "; caused by " })]
    Verify {
        /// What fails, with its place.
        message: String,
        /// The fields that cause it, with their places; empty when that is not known.
        fields: String,
    },
    /// Git would truncate the message there, and many servers refuse such a commit.
    #[error("the commit message holds a NUL byte")]
    NulInMessage,
    /// The receiver of new commits does not want this one now.
    #[error(transparent)]
    Announce(Box<dyn std::error::Error + Send + Sync>),
    /// The user's git failed.
    #[error(transparent)]
    Git(#[from] GitProgramError),
    /// The files of a folder cannot be committed.
    #[error(transparent)]
    Worktree(#[from] WorktreeError),
    /// A file is not any more what was read.
    #[error("{path} has changed in the meantime: run again")]
    Changed { path: String },
    /// Git ended after it had committed, or somebody else committed.
    #[error("{0}; HEAD has moved meanwhile, so the edited files are left as they are: look at `git status`")]
    HeadMoved(Box<Self>),
}

/// A setting of an automation that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The reference that a run starts from.
    Checkout,
    /// The branch or refspec that is pushed.
    Push,
    Refspec,
    /// Which policies take part.
    Selector,
    /// The folder that is updated.
    Path,
}

/// A failure as a condition shows it (docs/behaviour/image-automation-controller.md, *Reasons and messages*).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub reason: Reason,
    /// The message: which step failed, and why.
    pub message: String,
}

impl RunError {
    /// The setting that has to be corrected, if it is one.
    #[must_use]
    pub fn setting(&self) -> Option<Setting> {
        match self {
            Self::Fetch {
                source: GitError::RefNotFound { .. } | GitError::NoTagMatches { .. } | GitError::CommitNotFound { .. },
                ..
            } => Some(Setting::Checkout),
            Self::Push {
                source: GitError::Invalid(_),
                ..
            }
            | Self::Destination(DestinationError::NoBranch) => Some(Setting::Push),
            Self::Destination(_) => Some(Setting::Refspec),
            Self::Selector(_) => Some(Setting::Selector),
            Self::NoSuchPath { .. } | Self::Path(_) => Some(Setting::Path),
            _ => None,
        }
    }

    /// The reference that the server refused to update for a reason of its own, if that is why.
    #[must_use]
    pub fn refused_reference(&self) -> Option<&str> {
        match self {
            Self::Push {
                source: GitError::Rejected { reference, .. },
                ..
            } => Some(reference),
            _ => None,
        }
    }

    /// The failure in Flux's words, followed by ours.
    #[must_use]
    pub fn failure(&self) -> Failure {
        let git = |message| Failure {
            reason: Reason::GitOperationFailed,
            message,
        };
        match self {
            // Flux looks these up in its clone.
            Self::Fetch {
                source: source @ (GitError::NoTagMatches { .. } | GitError::CommitNotFound { .. }),
                ..
            } => git(format!("failed to checkout source: {source}")),
            Self::Fetch { url, source } => git(format!("failed to checkout source: unable to clone '{url}': {source}")),
            Self::Read { .. } | Self::History { .. } => git(format!("failed to checkout source: {self}")),
            Self::Push { source, .. } | Self::Races { source, .. } => {
                git(format!("failed to update source: failed to push to remote: {source}"))
            }
            Self::Hidden { .. } | Self::NotGerrit { .. } | Self::Busy { .. } => {
                git(format!("failed to update source: failed to push to remote: {self}"))
            }
            Self::Forge(_) => Failure {
                reason: Reason::PullRequestFailed,
                message: format!("failed to look for the pull request: {self}"),
            },
            Self::PullRequest(_) => Failure {
                reason: Reason::PullRequestFailed,
                message: format!("failed to keep the pull request of what was pushed: {self}"),
            },
            Self::Destination(error) if *error != DestinationError::NoBranch => {
                git(format!("failed to update source: failed to push to remote: {error}"))
            }
            Self::Destination(_) | Self::NoBase | Self::NoHead { .. } => Failure {
                reason: Reason::SourceManagerFailed,
                message: format!("failed configuring source manager: {self}"),
            },
            Self::Message(_)
            | Self::NulInMessage
            | Self::Announce(_)
            | Self::Sign(_)
            | Self::NoRepository(_)
            | Self::Git(_)
            | Self::Worktree(_)
            | Self::Changed { .. }
            | Self::HeadMoved(_)
            | Self::Interrupted => git(format!("failed to update source: {self}")),
            Self::Verify { .. } => Failure {
                reason: Reason::VerifyFailed,
                message: format!("failed to verify the update, nothing was pushed: {self}"),
            },
            Self::NoSuchPath { path, .. } => Failure {
                reason: Reason::UpdateFailed,
                message: format!(
                    "failed to apply policies: walking path for files: lstat {path}: no such file or directory"
                ),
            },
            Self::Path(_)
            | Self::Selector(_)
            | Self::Image { .. }
            | Self::Unmarked { .. }
            | Self::Rules(_)
            | Self::Splice { .. }
            | Self::File { .. } => Failure {
                reason: Reason::UpdateFailed,
                message: format!("failed to apply policies: {self}"),
            },
        }
    }
}

/// Why a part of `update.path` could not be looked up.
#[derive(Debug, thiserror::Error)]
pub enum PathLookup {
    /// In a fetched tree.
    #[error(transparent)]
    Tree(GitError),
    #[error(transparent)]
    Folder(Box<RunError>),
}

impl From<PathError<GitError>> for RunError {
    fn from(error: PathError<GitError>) -> Self {
        Self::Path(error.map(PathLookup::Tree))
    }
}

impl From<PathError<Self>> for RunError {
    fn from(error: PathError<Self>) -> Self {
        Self::Path(error.map(|error| PathLookup::Folder(Box::new(error))))
    }
}
