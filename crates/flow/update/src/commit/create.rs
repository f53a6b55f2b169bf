//! The commit of a run: created on the fetched tip, or found at the remote.

use std::collections::BTreeMap;

use super::review::Variant;
use crate::error::RunError;
use crate::folder::rewrite::FileChange;
use crate::job::destination::is_review;
use crate::job::remote_job::RemoteJob;
use crate::remote::base::Base;
use crate::remote::place::Place;
use bumpwright_git::{Commit, CommitInfo, GitError, ObjectId, Pack, Person};
use bumpwright_text::Parts;

/// The inputs of a commit.
pub(crate) struct Wanted<'a> {
    pub(crate) job: &'a RemoteJob,
    pub(crate) place: &'a Place,
    pub(crate) base: &'a Base,
    pub(crate) variant: Variant,
}

impl Wanted<'_> {
    /// Creates the commit on the fetched tip, or finds an equal one from an earlier run (C30).
    pub(crate) fn commit(&self, message: Vec<u8>, files: &[FileChange]) -> Result<Made, RunError> {
        let fetched = &self.base.fetched;
        let reading = |source| self.job.read_failed(source);
        let contents: BTreeMap<Vec<u8>, Vec<u8>> =
            files.iter().map(|file| (file.path.clone(), file.new.clone())).collect();
        let edited = fetched.objects.write_edits(fetched.tip.tree, &contents);
        let (tree, mut new) = edited.map_err(reading)?;
        if let Some(made) = self.found(tree).map_err(reading)? {
            return Ok(made);
        }
        let commit = self.signed(self.unsigned(tree, message).map_err(reading)?)?;
        let id = new.add_commit(&commit).map_err(reading)?;
        let pack = new.pack().map_err(reading)?;
        self.place.mirror.store(&fetched.objects, &pack).map_err(reading)?;
        Ok(Made {
            id,
            pack: Some(pack),
            signed: self.job.signer.is_some(),
            message: commit.message,
            author: self.job.author.to_string(),
        })
    }

    /// The commit that one of the references to push to holds already.
    fn found(&self, tree: ObjectId) -> Result<Option<Made>, GitError> {
        // A variant is requested because that commit was refused.
        if self.variant != Variant::default() {
            return Ok(None);
        }
        let fetched = &self.base.fetched;
        for id in fetched.also.iter().filter_map(|also| also.commit) {
            let info = fetched.objects.commit(id)?;
            if self.is_same(&info, tree) {
                return Ok(Some(Made::found(id, info)));
            }
        }
        Ok(None)
    }

    fn is_same(&self, info: &CommitInfo, tree: ObjectId) -> bool {
        let same = info.tree == tree && info.parents == [self.base.fetched.tip.commit];
        // An unsigned commit from before the key was configured is replaced.
        same && (info.signed || self.job.signer.is_none())
    }

    fn unsigned(&self, tree: ObjectId, message: Vec<u8>) -> Result<Commit, GitError> {
        let person = Person {
            name: self.job.author.name.clone(),
            email: self.job.author.email.clone(),
            seconds: self.seconds()?,
            offset_minutes: 0,
        };
        Ok(Commit {
            tree,
            parents: vec![self.base.fetched.tip.commit],
            author: person.clone(),
            committer: person,
            message,
            signature: None,
        })
    }

    /// Gerrit accepts an equal commit for a change only once, so its time must not come from
    /// the clock (docs/decisions.md, *Gerrit*).
    fn seconds(&self) -> Result<i64, GitError> {
        let mut specs = self.base.destinations.specs.iter();
        if !specs.any(|spec| is_review(&spec.reference)) {
            return Ok((self.place.now)());
        }
        let fetched = &self.base.fetched;
        let tip = fetched.objects.commit(fetched.tip.commit)?;
        Ok(tip.seconds + i64::from(self.variant.seconds))
    }

    fn signed(&self, mut commit: Commit) -> Result<Commit, RunError> {
        if let Some(signer) = &self.job.signer {
            commit.signature = Some(signer.sign(&commit.payload(), commit.committer.seconds)?);
        }
        Ok(commit)
    }
}

/// `Name <email>`, without the time.
fn author_of(info: &CommitInfo) -> String {
    let line = String::from_utf8_lossy(&info.author);
    let end = line.rfind('>').map_or(line.len(), |at| at + 1);
    line.part(..end).to_owned()
}

impl Made {
    /// A commit that the remote has.
    pub(crate) fn found(id: ObjectId, info: CommitInfo) -> Self {
        Self {
            id,
            pack: None,
            signed: info.signed,
            author: author_of(&info),
            message: info.message,
        }
    }
}

/// The commit to push, new or found at the remote.
pub(crate) struct Made {
    pub(crate) id: ObjectId,
    /// The objects to send; none when the remote already has the commit.
    pub(crate) pack: Option<Pack>,
    /// Whether the commit is signed.
    pub(crate) signed: bool,
    /// Its message. For a commit found at the remote this is the message it has, not the one that would be written now.
    pub(crate) message: Vec<u8>,
    /// Its author, `Name <email>`; the same holds.
    pub(crate) author: String,
}
