//! The steps of a write, so that tests can fail it at any of them.

use std::io;

/// A step that is about to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    MakeFolder,
    Lock,
    Create,
    Fill,
    SyncFile,
    Rename,
    SyncFolder,
    MakeLink,
    RenameLink,
    SyncLink,
}

/// A hook that is called before each step, and may fail it.
pub(crate) struct Steps(Option<Box<Before>>);

type Before = dyn Fn(Step) -> io::Result<()> + Send + Sync;

impl Steps {
    /// Without a hook.
    pub(crate) fn unwatched() -> Self {
        Self(None)
    }

    #[cfg(test)]
    pub(crate) fn watched(before: impl Fn(Step) -> io::Result<()> + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(before)))
    }

    pub(crate) fn before(&self, step: Step) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |before| before(step))
    }
}

impl std::fmt::Debug for Steps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Steps")
    }
}
