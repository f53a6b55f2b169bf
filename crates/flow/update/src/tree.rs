//! The files of a fetched commit: those with markers, the policies among them, and what they become.

use std::sync::Arc;

use super::error::RunError;
use super::job::RemoteJob;
use super::path::{Node, join, join_by_letters};
use super::policies::Policies;
use super::preview::{self, Preview};
use super::remote::Place;
use super::report::{FileChange, Run};
use super::repository_policies;
use super::survey::{self, Marked, Surveyed};
use bumpwright_git::{EntryKind, Fetched, GitError, ObjectId, Objects, Walk};

/// The job's path, joined, and the marked files below it.
pub(super) fn find_marked(job: &RemoteJob, place: &Place, fetched: &Fetched) -> Result<(String, Surveyed), RunError> {
    let reading = |source| RunError::Read {
        url: job.url.clone(),
        source,
    };
    let objects = &fetched.objects;
    let root = fetched.tip.tree;
    let given = job.edits.path.as_deref().unwrap_or_default();
    let path = match job.sparse {
        true => join_by_letters(given),
        false => join(given, |at| node(objects, root, at))?,
    };
    let found = objects.find(root, path.as_bytes()).map_err(reading)?;
    let marked = match found {
        Some(found) if found.kind == EntryKind::Tree => {
            survey::survey(objects, &place.index, found.id, path.as_bytes()).map_err(reading)?
        }
        Some(found) if found.kind.is_file() => {
            survey::survey_file(objects, &place.index, found.id, path.as_bytes()).map_err(reading)?
        }
        // A submodule has nothing of this repository below it.
        Some(found) if found.kind == EntryKind::Submodule => Surveyed::none(objects),
        _ => {
            return Err(RunError::NoSuchPath {
                path: given.to_owned(),
                target: job.url.clone(),
            });
        }
    };
    Ok((path, marked))
}

/// What stands at a path of a tree.
fn node(objects: &Objects, root: ObjectId, at: &str) -> Result<Node, GitError> {
    const LONGEST_LINK: u64 = 4096;
    Ok(match objects.find(root, at.as_bytes())? {
        None => Node::Missing,
        Some(found) if found.kind == EntryKind::Symlink => {
            Node::Link(String::from_utf8_lossy(&objects.blob(found.id, LONGEST_LINK)?).into_owned())
        }
        Some(_) => Node::Present,
    })
}

/// How much larger a text is as a tree of nodes.
const NODES: u64 = 32;

/// The given policies and, when markers name others, those that the repository holds.
pub(super) fn all_policies(
    job: &RemoteJob,
    place: &Place,
    fetched: &Fetched,
    marked: &[Marked],
    report: &mut Run,
) -> Result<Arc<Policies>, RunError> {
    if !preview::lacks_manifests(marked, &job.edits) {
        return Ok(job.edits.policies.clone());
    }
    let reading = |source| RunError::Read {
        url: job.url.clone(),
        source,
    };
    let all = survey::survey(&fetched.objects, &place.index, fetched.tip.tree, b"").map_err(reading)?;
    let files = all.files.iter().filter(|file| file.facts.manifests);
    let mut found = repository_policies::Found::default();
    for file in files {
        let bytes = fetched
            .objects
            .blob(file.place, survey::size_limit(file.kind))
            .map_err(reading)?;
        // As a tree of nodes a text is many times larger than it is.
        let mut parsing = Walk::new("the policies of the repository", &fetched.objects);
        parsing.keep(NODES * bytes.len() as u64).map_err(reading)?;
        all.walk.read(bytes.len() as u64).map_err(reading)?;
        found.read(&file.path, &bytes);
    }
    let (policies, mut notes) = found.below(&job.edits.policies);
    report.notes.append(&mut notes);
    Ok(Arc::new(policies))
}

/// Reads and splices the files that change.
pub(super) fn splice_all(
    objects: &Objects,
    marked: &[Marked],
    planned: &Preview,
    walk: &mut Walk,
    reading: impl Fn(GitError) -> RunError,
) -> Result<Vec<FileChange>, RunError> {
    let mut files = Vec::with_capacity(planned.files.len());
    for (n, plan) in &planned.files {
        let Some(file) = marked.get(*n) else { continue };
        let old = objects
            .blob(file.place, survey::size_limit(file.kind))
            .map_err(&reading)?;
        // As it was, as it will be, in the pack and on its way.
        walk.keep(4 * old.len() as u64).map_err(&reading)?;
        walk.read(old.len() as u64).map_err(&reading)?;
        files.push(preview::spliced(&file.path, &old, plan)?);
    }
    Ok(files)
}
