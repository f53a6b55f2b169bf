//! Resolving a reference: unchanged, or a commit with its objects (`fluxcd/pkg/git/gogit`, `clone.go`).

use super::git_tree::{Modules, SubmodulesError, add_modules, of_commit};
use super::reference::{Reference, revision};
use super::refusal::CheckoutError;
use super::tree::Files;
use bumpwright_artifact::Revision;
use bumpwright_git::{Also, Checkout, Fetched, GitError, Mirror, ObjectId, Objects, RemoteRef, Tip};
use bumpwright_semver::{Constraint, highest_tags};
use bumpwright_text::{Cuts, Excerpt};

/// The input of a checkout.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    /// The address for errors, without credentials.
    pub url: &'a str,
    /// The reference to resolve.
    pub reference: &'a Reference,
    /// The revision that is present already: nothing is fetched while the reference still has it.
    pub observed: Option<&'a str>,
}

/// The result of a checkout.
#[derive(Debug)]
pub enum Seen {
    /// The observed revision, unchanged. References were listed, nothing was fetched.
    Same(Revision),
    Commit(Box<Commit>),
}

/// A commit and its objects.
#[derive(Debug)]
pub struct Commit {
    /// Its id in hexadecimal.
    pub id: String,
    /// The full name of the reference that it was resolved from; empty for a bare commit.
    pub reference: String,
    /// Its revision in statuses.
    pub revision: Revision,
    pub message: String,
    /// Its bytes, with signature.
    pub bytes: Vec<u8>,
    /// The tag that it was resolved from.
    pub tag: Option<ReferencingTag>,
    tree: ObjectId,
    objects: Objects,
}

/// The tag that a commit was resolved from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferencingTag {
    /// Its short name.
    pub name: String,
    /// Id and bytes of an annotated tag.
    pub object: Option<(String, Vec<u8>)>,
}

impl Commit {
    /// The first fifty characters of its subject, for events.
    #[must_use]
    pub fn short_message(&self) -> String {
        let subject = self.message.before('\n');
        match subject.cut_to(50) {
            Some(cut) => format!("{}...", cut),
            None => subject.to_owned(),
        }
    }

    /// Its files, restricted to `sparse` unless that is empty. Submodules are empty folders.
    ///
    /// # Errors
    /// [`GitError::Damaged`].
    pub fn files(&self, sparse: &[String]) -> Result<Files, GitError> {
        of_commit(&self.objects, self.tree, sparse)
    }

    /// Fills the folders of submodules. `url` is the address of the commit's repository.
    pub fn fill_modules(&self, files: &mut Files, url: &str, modules: Modules<'_>) -> Result<(), SubmodulesError> {
        add_modules(files, &self.objects, self.tree, url, modules)
    }
}

/// Resolves a reference, and fetches its commit unless it is the observed one.
pub fn checkout(mirror: &Mirror, wanted: &Wanted<'_>) -> Result<Seen, CheckoutError> {
    let clone = Clone { mirror, wanted };
    match wanted.reference {
        Reference::Commit { id, branch, name } => clone.commit(id, branch.as_deref(), name.as_deref()),
        Reference::Name(name) => clone.name(name),
        Reference::Tag(tag) => clone.tag(tag),
        Reference::Semver(range) => clone.semver(range),
        Reference::Branch(branch) => clone.branch(branch),
    }
}

struct Clone<'a> {
    mirror: &'a Mirror,
    wanted: &'a Wanted<'a>,
}

impl Clone<'_> {
    fn commit(&self, id: &str, branch: Option<&str>, name: Option<&str>) -> Result<Seen, CheckoutError> {
        let checkout = Checkout::Commit {
            id: id.to_owned(),
            branch: branch.map(str::to_owned),
        };
        let fetched = self.mirror.fetch(&checkout, &[]).map_err(|error| match error {
            GitError::CommitNotFound { .. } => {
                CheckoutError::failed(format!("unable to resolve commit object for '{id}': object not found"))
            }
            error => self.failed(&error),
        })?;
        let of_branch = || branch.map(|branch| format!("refs/heads/{branch}"));
        let reference = name.map(str::to_owned).or_else(of_branch).unwrap_or_default();
        self.seen(fetched, reference, None, name.is_some())
    }

    fn name(&self, name: &str) -> Result<Seen, CheckoutError> {
        if name.starts_with('/') || name.ends_with('/') {
            return Err(CheckoutError::failed(format!(
                "ref {name} is invalid; Git refs cannot begin or end with a slash '/'"
            )));
        }
        let plain = name.strip_suffix("^{}").unwrap_or(name);
        let Some(listed) = self.listed(plain)? else {
            return Err(CheckoutError::failed(format!(
                "unable to resolve ref '{name}' to a specific commit"
            )));
        };
        if let Some(same) = self.same(name, &listed, true) {
            return Ok(same);
        }
        if let Some(tag) = plain.strip_prefix("refs/tags/") {
            let (fetched, tag) = self.fetch_tag(tag)?;
            return self.seen(fetched, name.to_owned(), Some(tag), true);
        }
        let fetched = self.mirror.fetch(&Checkout::Name(plain.to_owned()), &[]);
        let fetched = fetched.map_err(|error| self.failed(&error))?;
        self.seen(fetched, name.to_owned(), None, true)
    }

    fn tag(&self, tag: &str) -> Result<Seen, CheckoutError> {
        if let Some(same) = self.unchanged(&format!("refs/tags/{tag}"))? {
            return Ok(same);
        }
        let (fetched, found) = self.fetch_tag(tag)?;
        self.seen(fetched, format!("refs/tags/{tag}"), Some(found), false)
    }

    fn branch(&self, branch: &str) -> Result<Seen, CheckoutError> {
        let name = format!("refs/heads/{branch}");
        if let Some(same) = self.unchanged(&name)? {
            return Ok(same);
        }
        let fetched = self.mirror.fetch(&Checkout::Branch(branch.to_owned()), &[]);
        let fetched = fetched.map_err(|error| match error {
            GitError::EmptyRepository => CheckoutError::Empty,
            error => self.failed(&error),
        })?;
        self.seen(fetched, name, None, false)
    }

    /// The tag with the highest version; of equal versions, the one with the latest commit. References are listed
    /// first, since only commits have a time.
    fn semver(&self, range: &str) -> Result<Seen, CheckoutError> {
        let constraint =
            Constraint::parse(range).map_err(|error| CheckoutError::failed(format!("semver parse error: {error}")))?;
        let listed = self.mirror.remote_refs(&["refs/".to_owned()]);
        let listed = listed.map_err(|error| self.failed(&error))?;
        if listed.is_empty() {
            return Err(self.failed(&GitError::EmptyRepository));
        }
        let names = listed.iter().filter_map(|one| one.reference.strip_prefix("refs/tags/"));
        let tags: Vec<String> = names.map(str::to_owned).collect();
        let highest = highest_tags(&constraint, &tags);
        let Some((last, others)) = highest.split_last() else {
            return Err(CheckoutError::failed(format!("no match found for semver: {range}")));
        };
        let tag = if others.is_empty() {
            (*last).to_owned()
        } else {
            self.latest(&highest)?
        };
        let (fetched, found) = self.fetch_tag(&tag)?;
        self.seen(fetched, format!("refs/tags/{tag}"), Some(found), false)
    }

    /// The tag with the latest commit.
    fn latest(&self, tags: &[&str]) -> Result<String, CheckoutError> {
        let mut latest: Option<(i64, &str)> = None;
        for tag in tags {
            let (fetched, _) = self.fetch_tag(tag)?;
            let commit = fetched.objects.commit(fetched.tip.commit);
            let seconds = commit.map_err(|error| self.failed(&error))?.seconds;
            if latest.is_none_or(|(best, _)| seconds >= best) {
                latest = Some((seconds, tag));
            }
        }
        Ok(latest.map(|(_, tag)| tag.to_owned()).unwrap_or_default())
    }

    fn fetch_tag(&self, tag: &str) -> Result<(Fetched, ReferencingTag), CheckoutError> {
        let reference = format!("refs/tags/{tag}");
        let also = Also { reference, fetch: true };
        let fetched = self.mirror.fetch(&Checkout::Tag(tag.to_owned()), &[also]);
        let fetched = fetched.map_err(|error| self.failed(&error))?;
        let id = fetched.also.first().and_then(|tag| tag.object);
        let bytes = id.map(|id| fetched.objects.tag_bytes(id)).transpose();
        let bytes = bytes.map_err(|error| self.failed(&error))?.flatten();
        let object = id.zip(bytes).map(|(id, bytes)| (id.to_string(), bytes));
        let name = tag.to_owned();
        Ok((fetched, ReferencingTag { name, object }))
    }

    /// Returns whether a reference still has the observed revision; no request without one.
    fn unchanged(&self, name: &str) -> Result<Option<Seen>, CheckoutError> {
        if self.wanted.observed.is_none() {
            return Ok(None);
        }
        // The clone reports a missing reference.
        let listed = self.listed(name)?;
        Ok(listed.and_then(|listed| self.same(name, &listed, false)))
    }

    fn same(&self, reference: &str, listed: &RemoteRef, absolute: bool) -> Option<Seen> {
        let current = revision(reference, listed.commit?, absolute);
        (self.wanted.observed == Some(current.to_string().as_str())).then_some(Seen::Same(current))
    }

    fn listed(&self, name: &str) -> Result<Option<RemoteRef>, CheckoutError> {
        let listed = self.mirror.remote_refs(&[name.to_owned()]);
        let listed = listed.map_err(|error| CheckoutError::list(self.wanted.url, &error))?;
        Ok(listed.iter().find(|one| one.reference == name).cloned())
    }

    fn seen(
        &self,
        fetched: Fetched,
        reference: String,
        tag: Option<ReferencingTag>,
        absolute: bool,
    ) -> Result<Seen, CheckoutError> {
        let Tip { commit, tree, .. } = fetched.tip;
        let read = || Ok((fetched.objects.commit(commit)?, fetched.objects.commit_bytes(commit)?));
        let (info, bytes) = read().map_err(|error: GitError| self.failed(&error))?;
        Ok(Seen::Commit(Box::new(Commit {
            revision: revision(&reference, commit, absolute),
            message: String::from_utf8_lossy(&info.message).into_owned(),
            id: commit.to_string(),
            reference,
            bytes,
            tag,
            tree,
            objects: fetched.objects,
        })))
    }

    fn failed(&self, error: &GitError) -> CheckoutError {
        CheckoutError::clone(self.wanted.url, error)
    }
}
