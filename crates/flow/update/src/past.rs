//! Where the past of a run's files is read: in the mirror of a remote, or in the repository of a folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::error::RunError;
use super::fetch::Base;
use super::folder::FolderJob;
use super::git_program::{git_without_fetches, output};
use super::job::RemoteJob;
use super::policies::Policies;
use super::preview::Preview;
use super::remote::Place;
use super::reverts::{Past, respect};
use super::survey::Marked;
use bumpwright_git::{GitError, History, ObjectId, Objects};

/// Takes reverted edits out of the preview of a run against a remote. Costs nothing unless it has edits and reverts are respected.
pub(super) fn of_remote(
    job: &RemoteJob,
    place: &Place,
    base: &Base,
    (marked, policies): (&[Marked], &Policies),
    preview: &mut Preview,
) -> Result<Option<String>, RunError> {
    let Some(asked) = job.edits.respect_reverts.as_ref().filter(|_| !preview.files.is_empty()) else {
        return Ok(None);
    };
    let (objects, tip) = (&base.fetched.objects, base.fetched.tip.commit);
    let history = History::of_mirror(&place.mirror, objects, tip, asked.commits);
    let told = history.and_then(|history| {
        let past = Past {
            objects,
            history,
            tip,
            prefix: b"",
            stories: Some(place.index.stories()),
        };
        respect(past, asked, policies, marked, preview)
    });
    told.map_err(|source| match source {
        // The mirror is rebuilt.
        GitError::Damaged(_) => job.read_failed(source),
        source => RunError::History {
            target: job.url.clone(),
            source,
        },
    })
}

/// Takes reverted edits out of the preview of a run in a folder.
pub(super) fn of_folder(
    job: &FolderJob,
    root: &Path,
    (marked, policies): (&[Marked<PathBuf>], &Policies),
    preview: &mut Preview,
) -> Result<Option<String>, RunError> {
    let Some(asked) = job.edits.respect_reverts.as_ref().filter(|_| !preview.files.is_empty()) else {
        return Ok(None);
    };
    let repository = Repository::of(root)?;
    let Some(tip) = repository.head else { return Ok(None) };
    let told = Objects::of_repository(&repository.objects, tip.kind()).and_then(|objects| {
        let history = History::of_repository(&objects, tip, repository.shallow, asked.commits)?;
        let past = Past {
            objects: &objects,
            history,
            tip,
            prefix: &repository.prefix,
            stories: None,
        };
        respect(past, asked, policies, marked, preview)
    });
    told.map_err(|source| RunError::History {
        target: job.shown.clone(),
        source,
    })
}

/// The repository of a folder, as the user's git finds it.
struct Repository {
    /// The folder of its objects.
    objects: PathBuf,
    /// The commits whose parents are not there.
    shallow: BTreeSet<ObjectId>,
    /// The commit that is checked out; none before the first one.
    head: Option<ObjectId>,
    /// The folder in the repository: empty, or with a slash at its end.
    prefix: Vec<u8>,
}

impl Repository {
    fn of(root: &Path) -> Result<Self, RunError> {
        let ask = |arguments: &[&str]| {
            let mut git = git_without_fetches(root);
            git.arg("rev-parse").args(arguments);
            output(git, b"")
        };
        let found = ask(&["--show-prefix", "--git-path", "objects", "--git-path", "shallow"]);
        let found = found.map_err(|error| {
            RunError::Other(format!(
                "reverts are found in the history of a Git repository, and there is none: {error}"
            ))
        })?;
        let mut lines = found.split(|byte| *byte == b'\n');
        let mut line = || lines.next().unwrap_or_default();
        let (prefix, objects, shallow) = (line().to_vec(), line(), line());
        let path = |bytes: &[u8]| root.join(super::rewrite::native(bytes));
        // A failure: there is no commit yet.
        let head = ask(&["--verify", "--quiet", "HEAD^{commit}"]).ok();
        let shallow = std::fs::read(path(shallow)).unwrap_or_default();
        Ok(Self {
            objects: path(objects),
            shallow: shallow.split(|byte| *byte == b'\n').filter_map(id).collect(),
            head: head.as_deref().and_then(|hex| id(hex.trim_ascii())),
            prefix,
        })
    }
}

fn id(hex: &[u8]) -> Option<ObjectId> {
    ObjectId::from_hex(hex).ok()
}
