//! Annotations of a GitRepository about reviews of pull requests (`bumpwright.dev/review*`). They fail closed: with an
//! invalid one nothing is reviewed.

use std::collections::BTreeMap;

use url::Url;

use crate::automation::pull_request::{self, API_URL, ForgeKind, api_url, secret_name};
use crate::object::annotations::ours;
use bumpwright_policy::InvalidAnnotation;

const REVIEW: &str = "\"true\", \"false\", github, gitea or gitlab";
const SWITCH: &str = "\"true\" or \"false\"";
const SECRET: &str = "the name of a Secret";
const NAME: &str = "1 to 40 letters, digits, '.', '_' and '-'";
/// The longest name of a review, in characters: it is a part of the context of a status.
const LONGEST_NAME: usize = 40;

/// The API of a forge whose requests are reviewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewForge {
    /// One that has pull requests.
    PullRequests(ForgeKind),
    /// Merge requests.
    GitLab,
}

/// How the pull requests of a GitRepository are reviewed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewAnnotations {
    /// `review`: whether they are.
    pub is_on: bool,
    /// `review`: the API of the forge, where it does not follow from the host.
    pub kind: Option<ReviewForge>,
    /// `review-api`: the URL of the API.
    pub api: Option<Url>,
    /// `review-secret`: a Secret with `token`, in the namespace of the GitRepository.
    pub secret: Option<String>,
    /// `review-name`: what tells the reviews of several clusters apart.
    pub name: Option<String>,
    /// `review-comment`: whether there is a comment beside the commit status.
    pub comments: bool,
    /// `review-forks`: whether pull requests of forks are reviewed.
    pub forks: bool,
    /// `review-release-notes`: whether reviews say what the releases of new images are.
    pub release_notes: bool,
}

impl ReviewAnnotations {
    /// Reads the annotations of a GitRepository; others are ignored.
    ///
    /// # Errors
    /// [`InvalidAnnotation`] for one that does not parse.
    pub fn read(annotations: &BTreeMap<String, String>) -> Result<Self, InvalidAnnotation> {
        let (is_on, kind) = read(annotations, "review", REVIEW, review)?.unwrap_or((false, None));
        let switch = |key| read(annotations, key, SWITCH, |text| text.parse().ok());
        Ok(Self {
            is_on,
            kind,
            api: read(annotations, "review-api", API_URL, api_url)?,
            secret: read(annotations, "review-secret", SECRET, secret_name)?,
            name: read(annotations, "review-name", NAME, name)?,
            comments: switch("review-comment")?.unwrap_or(false),
            forks: switch("review-forks")?.unwrap_or(false),
            release_notes: switch("review-release-notes")?.unwrap_or(false),
        })
    }
}

fn read<T>(
    annotations: &BTreeMap<String, String>,
    key: &'static str,
    grammar: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, InvalidAnnotation> {
    let value = ours(annotations, key);
    value
        .map(|value| pull_request::read(key, value, grammar, parse))
        .transpose()
}

/// Whether there are reviews, and the API of the forge.
fn review(text: &str) -> Option<(bool, Option<ReviewForge>)> {
    match text {
        "false" => Some((false, None)),
        "true" => Some((true, None)),
        "gitlab" => Some((true, Some(ReviewForge::GitLab))),
        forge => pull_request::kind(forge).map(|kind| (true, Some(ReviewForge::PullRequests(kind)))),
    }
}

fn name(text: &str) -> Option<String> {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    (is_plain && (1..=LONGEST_NAME).contains(&text.len())).then(|| text.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::automation::annotations::tests::of_ours;

    fn read(pairs: &[(&str, &str)]) -> Result<ReviewAnnotations, InvalidAnnotation> {
        ReviewAnnotations::read(&of_ours(pairs))
    }

    #[test]
    fn nothing_is_reviewed_unless_it_is_asked_for() {
        assert_eq!(read(&[]).unwrap(), ReviewAnnotations::default());
        assert!(!read(&[("review", "false")]).unwrap().is_on);
        let gitea = read(&[
            ("review", "gitea"),
            ("review-forks", "false"),
            ("review-comment", "true"),
        ])
        .unwrap();
        assert_eq!(
            (gitea.is_on, gitea.kind),
            (true, Some(ReviewForge::PullRequests(ForgeKind::Gitea)))
        );
        assert_eq!(read(&[("review", "gitlab")]).unwrap().kind, Some(ReviewForge::GitLab));
        assert!(gitea.comments && !gitea.forks && !gitea.release_notes);
        assert!(read(&[("review-release-notes", "true")]).unwrap().release_notes);
        for (key, value) in [
            ("review", "yes"),
            ("review-forks", "True"),
            ("review-release-notes", "yes"),
            ("review-comment", ""),
            ("review-name", "a b"),
            ("review-name", "-->"),
            ("review-secret", "ns/name"),
            ("review-api", "ftp://h/"),
        ] {
            let error = read(&[("review", "true"), (key, value)]).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains("is not"), "{error}");
        }
    }
}
