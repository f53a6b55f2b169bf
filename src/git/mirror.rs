//! The bare repository that stands for one remote.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Also, Checkout, Fetched, GitError, Objects, Pack, Push, PushStatus, Transport};

/// How a mirror is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MirrorOptions {
    /// Fetch tips without their history (gate `GitShallowClone`).
    pub shallow: bool,
}

impl Default for MirrorOptions {
    fn default() -> Self {
        Self { shallow: true }
    }
}

/// A bare repository in a storage folder, for one remote. One value serves several threads; several processes may use
/// the same folder. It is a cache: when it is damaged it is rebuilt from the remote.
pub struct Mirror {
    path: PathBuf,
    options: MirrorOptions,
    transport: Arc<dyn Transport>,
}

impl Mirror {
    /// Opens or creates the mirror `key` (a plain file name) below `storage`.
    ///
    /// # Errors
    /// [`GitError::Storage`] when the folder cannot be used; [`GitError::Invalid`] for a key that is no file name.
    pub fn open(
        storage: &Path,
        key: &str,
        transport: Arc<dyn Transport>,
        options: MirrorOptions,
    ) -> Result<Self, GitError> {
        Ok(Self {
            path: storage.join(key),
            options,
            transport,
        })
    }

    /// The same mirror, talking with other credentials. What is known of the server is shared.
    #[must_use]
    pub fn with_transport(&self, transport: Arc<dyn Transport>) -> Self {
        Self {
            path: self.path.clone(),
            options: self.options,
            transport,
        }
    }

    /// Asks the remote what `checkout` and `also` are now, and fetches what is missing. One round trip when nothing is.
    ///
    /// # Errors
    /// [`GitError::RefNotFound`], [`GitError::NoTagMatches`], [`GitError::CommitNotFound`], [`GitError::EmptyRepository`],
    /// [`GitError::Transport`], [`GitError::Protocol`], [`GitError::Storage`].
    pub fn fetch(&self, checkout: &Checkout<'_>, also: &[Also]) -> Result<Fetched, GitError> {
        Err(GitError::Protocol(format!(
            "fetch of {checkout:?} and {} more is not written yet",
            also.len()
        )))
    }

    /// Adds a pack of new objects to the mirror, so that later runs and later fetches know them.
    ///
    /// # Errors
    /// [`GitError::Storage`], [`GitError::Damaged`].
    pub fn store(&self, objects: &Objects, pack: &Pack) -> Result<(), GitError> {
        Err(GitError::Protocol(format!(
            "storing {pack:?} beside {objects:?} is not written yet"
        )))
    }

    /// Pushes one or several updates with the objects of `pack`, and moves the mirror's references with those that succeeded.
    ///
    /// # Errors
    /// The first refusal: [`GitError::Moved`] or [`GitError::Rejected`]. Else [`GitError::PushOptionsUnsupported`],
    /// [`GitError::Transport`], [`GitError::Protocol`].
    pub fn push(&self, push: &Push, pack: Option<&Pack>) -> Result<(), GitError> {
        match self
            .push_each(push, pack)?
            .into_iter()
            .find_map(|status| status.refused)
        {
            Some(refused) => Err(refused),
            None => Ok(()),
        }
    }

    /// As [`Mirror::push`], with a status for each update instead of the first refusal.
    ///
    /// # Errors
    /// What concerns the push as a whole: [`GitError::PushOptionsUnsupported`], [`GitError::Transport`], [`GitError::Protocol`].
    pub fn push_each(&self, push: &Push, pack: Option<&Pack>) -> Result<Vec<PushStatus>, GitError> {
        Err(GitError::Protocol(format!(
            "push of {} updates with {pack:?} is not written yet",
            push.updates.len()
        )))
    }
}
