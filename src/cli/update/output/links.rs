//! Pages of files and commits at the forge of a run's repository.

use std::path::Path;

use crate::cli::update::author::git;
use bumpwright_edit::Change;
use bumpwright_overview::Forge;
use bumpwright_update::Run;

/// Links of a run; none where the forge is not known by its address.
pub(crate) struct Links {
    forge: Option<Forge>,
    /// The commit with the files: the new one, or the one that the run began with. Edits leave lines where they are.
    commit: String,
    /// The path of the folder in its repository, with a final slash; empty for its root.
    prefix: String,
}

impl Links {
    /// The links of a run, at the address that it went to or, in a folder, at its remote `origin`.
    pub(crate) fn of(run: &Run) -> Self {
        let made = run.commit.as_ref().and_then(|commit| commit.id.clone());
        let began = run.revision.as_ref().map(|revision| revision.hash.clone());
        let commit = made.filter(|id| !id.is_empty()).or(began);
        let folder = Path::new(&run.target);
        if !folder.is_dir() {
            return Self {
                forge: Forge::of(&run.target).filter(|_| commit.is_some()),
                commit: commit.unwrap_or_default(),
                prefix: String::new(),
            };
        }
        // A new commit of a folder is not pushed yet: the page of the one before is there.
        let head = git(Some(folder), &["rev-parse", "--verify", "HEAD"]);
        let origin = git(Some(folder), &["config", "--get", "remote.origin.url"]);
        Self {
            forge: origin.and_then(|url| Forge::of(&url)).filter(|_| head.is_some()),
            commit: head.unwrap_or_default(),
            prefix: git(Some(folder), &["rev-parse", "--show-prefix"]).unwrap_or_default(),
        }
    }

    /// The line of a change.
    pub(crate) fn field(&self, change: &Change) -> Option<String> {
        let path = format!("{}{}", self.prefix, change.path);
        Some(self.forge.as_ref()?.file(&self.commit, &path, change.line))
    }

    /// The page of a commit that was pushed.
    pub(crate) fn commit(&self, id: &str) -> Option<String> {
        Some(self.forge.as_ref()?.commit(id))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_update::CommitReport;

    #[test]
    fn links_are_at_the_commit_that_was_pushed() {
        let run = Run {
            target: "https://github.com/acme/fleet.git".to_owned(),
            commit: Some(CommitReport {
                id: Some("abc".to_owned()),
                branch: None,
                message: String::new(),
                author: String::new(),
                signed: false,
            }),
            ..Run::default()
        };
        let links = Links::of(&run);
        assert_eq!(links.commit("abc").unwrap(), "https://github.com/acme/fleet/commit/abc");
        let unknown = Run {
            target: "https://git.acme.io/fleet.git".to_owned(),
            ..run.clone()
        };
        assert_eq!(Links::of(&unknown).commit("abc"), None);
        // A preview of a repository without commits.
        let nothing = Run { commit: None, ..run };
        assert_eq!(Links::of(&nothing).commit("abc"), None);
    }
}
