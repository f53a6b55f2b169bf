//! Whether a change of a reference or tag can affect an object.

/// `spec.ref` of a `GitRepository`; an empty text counts as absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GitReference<'a> {
    pub branch: Option<&'a str>,
    pub tag: Option<&'a str>,
    /// A range over the tags.
    pub semver: Option<&'a str>,
    /// A full reference name.
    pub name: Option<&'a str>,
    pub commit: Option<&'a str>,
    /// Whether its pull requests are reviewed, so that those that are opened or have a new head concern it.
    pub is_reviewed: bool,
}

/// `spec.ref` of an `OCIRepository`; an empty text counts as absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OciReference<'a> {
    pub tag: Option<&'a str>,
    /// A range over the tags.
    pub semver: Option<&'a str>,
    pub digest: Option<&'a str>,
}

/// source-controller's default (its API document, *Reference*).
const DEFAULT_BRANCH: &str = "master";
const DEFAULT_TAG: &str = "latest";

impl GitReference<'_> {
    /// Whether a change of `reference`, a full name, can change the checkout. `None` is any reference.
    ///
    /// As in source-controller, a commit takes precedence over a name, a range, a tag and a branch, in this order. A
    /// commit never changes; for a range every tag counts, even a deleted one.
    pub(crate) fn follows(&self, reference: Option<&str>) -> bool {
        if self.is_reviewed && reference.is_some_and(is_of_request) {
            return true;
        }
        if given(self.commit).is_some() {
            return false;
        }
        let Some(reference) = reference else {
            return true;
        };
        if let Some(name) = given(self.name) {
            return name.strip_suffix("^{}").unwrap_or(name) == reference;
        }
        let (prefix, wanted) = match (given(self.semver), given(self.tag)) {
            (Some(_range), _) => ("refs/tags/", None),
            (None, Some(tag)) => ("refs/tags/", Some(tag)),
            (None, None) => ("refs/heads/", Some(given(self.branch).unwrap_or(DEFAULT_BRANCH))),
        };
        let changed = reference.strip_prefix(prefix);
        changed.is_some_and(|changed| wanted.is_none_or(|wanted| wanted == changed))
    }
}

impl OciReference<'_> {
    /// Whether a push of `tag` can change the pulled artifact. `None` is any tag.
    ///
    /// As in source-controller, a digest takes precedence over a range, and that over a tag.
    pub(crate) fn follows(&self, tag: Option<&str>) -> bool {
        if given(self.digest).is_some() {
            return false;
        }
        let wanted = given(self.tag).unwrap_or(DEFAULT_TAG);
        given(self.semver).is_some() || tag.is_none_or(|tag| tag == wanted)
    }
}

/// Whether a reference is one of a pull or merge request, whose events have it.
fn is_of_request(reference: &str) -> bool {
    ["refs/pull/", "refs/merge-requests/"]
        .iter()
        .any(|prefix| reference.starts_with(prefix))
}

fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}
