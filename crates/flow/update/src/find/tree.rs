//! The files of a fetched commit: marked files, policies, and edited contents.

use std::sync::Arc;

use super::facts::{self, Marked};
use super::index::Index;
use super::path::{Node, join, join_by_letters};
use super::ruled::rules_of_tree;
use super::survey::{self, Surveyed};
use crate::error::RunError;
use crate::folder::rewrite::FileChange;
use crate::job::remote_job::RemoteJob;
use crate::plan::{planned, splice};
use crate::policy::policies::Policies;
use crate::policy::repository_policies;
use bumpwright_edit::Plan;
use bumpwright_git::{EntryKind, Fetched, GitError, Walk};
use bumpwright_nearest::nearest_path;

/// Size of a parsed document relative to its text.
const NODES: u64 = 32;

/// The most bytes of a symbolic link's target.
const LONGEST_LINK: u64 = 4096;

/// The fetched tree of a job.
#[derive(Clone, Copy)]
pub(crate) struct Tree<'a> {
    pub(crate) job: &'a RemoteJob,
    pub(crate) index: &'a Index,
    pub(crate) fetched: &'a Fetched,
}

/// The policies of a run.
pub(crate) struct KnownPolicies {
    pub(crate) policies: Arc<Policies>,
    /// The automations of the repository that a run without one passes over, by name.
    pub(crate) passed_over: Vec<String>,
    /// On manifests that could not be read.
    pub(crate) notes: Vec<String>,
}

impl Tree<'_> {
    /// The job's path, joined, and the marked files below it.
    pub(crate) fn marked(&self) -> Result<(String, Surveyed), RunError> {
        let (objects, root) = (&self.fetched.objects, self.fetched.tip.tree);
        let given = self.job.edits.path.as_deref().unwrap_or_default();
        let formats = self.job.edits.formats;
        let path = if self.job.sparse {
            join_by_letters(given)
        } else {
            join(given, |at| self.node(at))?
        };
        let reading = |source| self.job.read_failed(source);
        let found = objects.find(root, path.as_bytes()).map_err(reading)?;
        let mut surveyed = match found {
            Some(found) if found.kind == EntryKind::Tree => {
                survey::survey(objects, self.index, (found.id, formats), path.as_bytes()).map_err(reading)?
            }
            Some(found) if found.kind.is_file() => {
                survey::survey_file(objects, self.index, (found.id, formats), path.as_bytes()).map_err(reading)?
            }
            // A submodule has no files of this repository below it.
            Some(found) if found.kind == EntryKind::Submodule => Surveyed::none(objects),
            _ => {
                return Err(RunError::NoSuchPath {
                    path: given.to_owned(),
                    target: self.job.url.clone(),
                    near: nearest_path(given, |folder| self.names(folder)),
                });
            }
        };
        let set = rules_of_tree(objects, root, self.job.edits.rules.as_ref()).map_err(reading)?;
        if let Some(found) = found {
            let place = (found.id, path.as_bytes());
            let rules = set.rules.clone();
            let added = surveyed.add_ruled(objects, self.index, (place, found.kind == EntryKind::Tree), set);
            rules.map_or(Ok(()), |rules| rules.check())?;
            added.map_err(reading)?;
        }
        Ok((path, surveyed))
    }

    /// The names in a folder; none if it is not one.
    fn names(&self, folder: &str) -> Option<Vec<String>> {
        let objects = &self.fetched.objects;
        let found = objects.find(self.fetched.tip.tree, folder.as_bytes()).ok()??;
        let tree = objects.tree(found.id).ok().filter(|_| found.kind == EntryKind::Tree)?;
        let entries = tree.entries().flatten();
        Some(
            entries
                .map(|entry| String::from_utf8_lossy(entry.name).into_owned())
                .collect(),
        )
    }

    /// Looks up a path.
    fn node(&self, at: &str) -> Result<Node, GitError> {
        let objects = &self.fetched.objects;
        Ok(match objects.find(self.fetched.tip.tree, at.as_bytes())? {
            None => Node::Missing,
            Some(found) if found.kind == EntryKind::Symlink => {
                Node::Link(String::from_utf8_lossy(&objects.blob(found.id, LONGEST_LINK)?).into_owned())
            }
            Some(_) => Node::Present,
        })
    }

    /// The given policies and, when markers name others, those that the repository holds.
    pub(crate) fn policies(&self, marked: &[Marked]) -> Result<KnownPolicies, RunError> {
        let edits = &self.job.edits;
        let given = KnownPolicies {
            policies: edits.policies.clone(),
            passed_over: Vec::new(),
            notes: Vec::new(),
        };
        let is_plain = edits.automation.is_none() && edits.put_back.is_none();
        let lacks_manifests = planned::lacks_manifests(marked, edits);
        if !lacks_manifests && !is_plain {
            return Ok(given);
        }
        let found = self
            .manifests(is_plain)
            .map_err(|source| self.job.read_failed(source))?;
        let passed_over = found.automations.iter().cloned().collect();
        if !lacks_manifests {
            return Ok(KnownPolicies { passed_over, ..given });
        }
        let (policies, notes) = found.below(&edits.policies);
        Ok(KnownPolicies {
            policies: Arc::new(policies),
            passed_over,
            notes,
        })
    }

    fn manifests(&self, is_plain: bool) -> Result<repository_policies::FoundPolicies, GitError> {
        let objects = &self.fetched.objects;
        let root = (self.fetched.tip.tree, self.job.edits.formats);
        let all = survey::survey(objects, self.index, root, b"")?;
        let files = all.files.iter().filter(|file| file.facts.manifests);
        let mut found = repository_policies::FoundPolicies::default();
        for file in files {
            let bytes = objects.blob(file.place, facts::size_limit(file.kind))?;
            // Parsed nodes take many times the size of the text.
            let mut parsing = Walk::new("the policies of the repository", objects);
            parsing.keep(NODES * bytes.len() as u64)?;
            all.walk.read(bytes.len() as u64)?;
            found.read(&file.path, &bytes);
            if is_plain {
                found.read_automations(&file.path, &bytes);
            }
        }
        Ok(found)
    }

    /// Reads and splices the files that change.
    pub(crate) fn spliced(
        &self,
        surveyed: &mut Surveyed,
        plans: &[(usize, Plan)],
    ) -> Result<Vec<FileChange>, RunError> {
        let mut files = Vec::with_capacity(plans.len());
        for (n, plan) in plans {
            let Some(file) = surveyed.files.get(*n) else { continue };
            let old = self
                .read(file, &mut surveyed.walk)
                .map_err(|source| self.job.read_failed(source))?;
            files.push(splice::spliced(&file.path, &old, plan)?);
        }
        Ok(files)
    }

    fn read(&self, file: &Marked, walk: &mut Walk) -> Result<Vec<u8>, GitError> {
        let old = self.fetched.objects.blob(file.place, facts::size_limit(file.kind))?;
        // The old content, the new content, the packed one and the one being sent.
        walk.keep(4 * old.len() as u64)?;
        walk.read(old.len() as u64)?;
        Ok(old)
    }
}
