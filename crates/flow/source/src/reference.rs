//! The Git reference that a source follows, and the format of its revision.

use bumpwright_api::GitRef;
use bumpwright_artifact::Revision;
use bumpwright_git::ObjectId;

/// The effective reference: the first that is set of commit, name, tag, range, branch (`Client.clone`; the API's
/// documentation puts the range before the tag).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A commit, optionally with the short name of its branch.
    Commit {
        id: String,
        branch: Option<String>,
        /// A full name, shown in the revision.
        name: Option<String>,
    },
    Name(String),
    /// A tag, by its short name.
    Tag(String),
    /// A range of versions over the tags.
    Semver(String),
    /// A branch, by its short name.
    Branch(String),
}

impl Reference {
    /// Reads `spec.ref`.
    #[must_use]
    pub fn of(spec: Option<&GitRef>) -> Self {
        let nothing = GitRef::default();
        let spec = spec.unwrap_or(&nothing);
        let set = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
        let branch = set(&spec.branch);
        if let Some(id) = set(&spec.commit) {
            let name = set(&spec.name);
            Self::Commit { id, branch, name }
        } else if let Some(name) = set(&spec.name) {
            Self::Name(name)
        } else if let Some(tag) = set(&spec.tag) {
            Self::Tag(tag)
        } else if let Some(range) = set(&spec.semver) {
            Self::Semver(range)
        } else {
            Self::Branch(branch.unwrap_or_else(|| "master".to_owned()))
        }
    }
}

/// The revision of a commit: with the last part of the reference's name, `main`, or all of it with `absolute`.
pub(super) fn revision(reference: &str, commit: ObjectId, absolute: bool) -> Revision {
    let name = if absolute {
        reference
    } else {
        reference.splitn(3, '/').nth(2).unwrap_or_default()
    };
    bumpwright_git::revision(name, commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_wins_over_a_name_over_a_tag_over_a_range_over_a_branch() {
        let some = |text: &str| Some(text.to_owned());
        let mut spec = GitRef {
            branch: some("b"),
            tag: some("t"),
            semver: some("*"),
            name: some("refs/x"),
            commit: some("c"),
        };
        let commit = Reference::Commit {
            id: "c".to_owned(),
            branch: some("b"),
            name: some("refs/x"),
        };
        assert_eq!(Reference::of(Some(&spec)), commit);
        spec.commit = some("");
        assert_eq!(Reference::of(Some(&spec)), Reference::Name("refs/x".to_owned()));
        spec.name = None;
        assert_eq!(Reference::of(Some(&spec)), Reference::Tag("t".to_owned()));
        spec.tag = None;
        assert_eq!(Reference::of(Some(&spec)), Reference::Semver("*".to_owned()));
        spec.semver = None;
        assert_eq!(Reference::of(Some(&spec)), Reference::Branch("b".to_owned()));
        assert_eq!(Reference::of(None), Reference::Branch("master".to_owned()));
    }

    #[test]
    fn revisions_name_the_last_part_of_a_reference_or_all_of_it() {
        let id = ObjectId::empty_tree(Default::default());
        for (reference, absolute, expected) in [
            ("refs/heads/feature/one", false, "feature/one@sha1:"),
            ("refs/pull/1/head", false, "1/head@sha1:"),
            ("refs/heads/main", true, "refs/heads/main@sha1:"),
            ("HEAD", false, "sha1:"),
            ("HEAD", true, "HEAD@sha1:"),
            ("", false, "sha1:"),
            ("", true, "sha1:"),
        ] {
            assert_eq!(revision(reference, id, absolute).to_string(), format!("{expected}{id}"));
        }
    }
}
