//! The verification of a commit before it is made: what it changes in the clusters of a fleet, and whether
//! it may be pushed.

use std::fmt;
use std::path::Path;

use crate::error::RunError;
use crate::folder::ahead::Ahead;
use crate::folder::rewrite::FileChange;
use crate::plan::splice;
use bumpwright_edit::{Change, Plan};
use bumpwright_git::{ObjectId, Objects};
use bumpwright_message::Impact;

/// Verifies the edits of a run. One value serves several runs, in any thread.
pub trait Verify: fmt::Debug + Send + Sync {
    /// What the edits change when they are applied. Called once for each attempt of a run with edits, in previews
    /// too, after the files are spliced and before the message is rendered; after a lost race it is called again,
    /// with the new base.
    ///
    /// # Errors
    ///
    /// The edits must not be pushed: the run ends without a commit.
    fn verify(&self, proposal: &Proposal<'_>) -> Result<Impact, VerifyError>;
}

/// Edits that are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyError {
    /// What fails, with its place.
    pub message: String,
    /// The fields that cause it, by their index in [`Proposal::changes`]; empty when that is not known.
    pub fields: Vec<usize>,
}

/// The edits of a run, and the files that they are made in.
#[derive(Clone, Copy, Debug)]
pub struct Proposal<'a> {
    /// `namespace/name` of the automation; none for a plain run.
    pub automation: Option<&'a str>,
    /// The files as they are before the edits.
    pub base: Base<'a>,
    /// The fields that change, in the order of files and lines.
    pub changes: &'a [Change],
    /// The files that change, in the order of their paths.
    pub files: &'a [FileChange],
    /// The plan of each of `files`.
    pub plans: &'a [&'a Plan],
}

/// The files that a run starts from.
#[derive(Clone, Copy, Debug)]
pub enum Base<'a> {
    /// A commit of a remote. Earlier previews are in the tree already: `objects` has everything below `tree`, whether
    /// it is in the mirror or only in memory.
    Git {
        /// The remote, without secrets.
        url: &'a str,
        /// The full name of the reference that was checked out; empty for a commit without one.
        reference: &'a str,
        /// The objects of the mirror.
        objects: &'a Objects,
        /// The root of the tree.
        tree: ObjectId,
    },
    /// A folder on disk.
    Folder {
        /// The folder that the paths of `files` are relative to, canonical. It may be a part of a repository.
        root: &'a Path,
        /// The files as earlier previews would have left them.
        ahead: &'a Ahead,
    },
}

impl Proposal<'_> {
    /// The files with only those fields changed whose index in `changes` is `kept`; files without such a field are left
    /// out. For the search of the fields that cause a failure.
    ///
    /// # Errors
    ///
    /// None in practice: the files are the ones that were planned.
    pub fn files_with(&self, kept: impl Fn(usize) -> bool) -> Result<Vec<FileChange>, VerifyError> {
        let failed = |error: RunError| VerifyError {
            message: error.to_string(),
            fields: Vec::new(),
        };
        let mut files = Vec::new();
        let mut first = 0;
        for (file, plan) in self.files.iter().zip(self.plans) {
            let part = plan.only(|n| kept(first + n));
            first += plan.ends.len();
            if !part.edits.is_empty() {
                files.push(splice::spliced(&file.path, &file.old, &part).map_err(failed)?);
            }
        }
        Ok(files)
    }
}
