//! Annotations of an automation about a pull request for its branch (`bumpwright.dev/pull-request*`).

use std::fmt;
use std::str::FromStr;

use url::Url;

use super::spec::ImageUpdateAutomation;
use bumpwright_policy::{ANNOTATION_PREFIX, InvalidAnnotation};

/// The valid values of `pull-request`.
const KINDS: &str = "github or gitea (GitLab makes requests of the options in spec.git.push.options)";
/// The valid values of `pull-request-base`.
pub const BRANCH: &str = "the name of a branch";
/// The valid values of `pull-request-overwrite`.
const SWITCH: &str = "\"true\" or \"false\"";
/// The valid values of `pull-request-secret`.
const NAME: &str = "the name of a Secret";
/// The valid values of `pull-request-labels`, `-reviewers` and `-assignees`.
const NAMES: &str = "names with commas between them, at most 20 of up to 100 characters";
/// The valid values of `pull-request-automerge`.
const MERGES: &str = "merge, squash or rebase";
/// The most names in a list.
const MOST_NAMES: usize = 20;
/// The longest name, in characters.
const LONGEST_NAME: usize = 100;
/// The valid values of `pull-request-api`.
pub const API_URL: &str = "an http or https URL without user, query and fragment, as https://git.example.com/api/v1";

/// The API of a forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgeKind {
    /// GitHub and GitHub Enterprise.
    GitHub,
    /// Gitea or Forgejo.
    Gitea,
}

/// How a forge merges a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeKind {
    /// By a merge commit.
    Merge,
    /// As one commit.
    Squash,
    /// Commit by commit.
    Rebase,
}

impl MergeKind {
    pub const ALL: [Self; 3] = [Self::Merge, Self::Squash, Self::Rebase];

    /// The word for it, also at the forges.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }

    /// The one of this word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// The name of a label, a user or a team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequestName(String);

impl PullRequestName {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text is not such a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a name of 1 to {LONGEST_NAME} characters, none of them a comma or a control character")]
pub struct NoPullRequestName;

impl FromStr for PullRequestName {
    type Err = NoPullRequestName;

    fn from_str(text: &str) -> Result<Self, NoPullRequestName> {
        let name = text.trim();
        let fits = !name.is_empty() && name.chars().count() <= LONGEST_NAME;
        let plain = !name.contains(|c: char| c.is_control() || c == ',');
        (fits && plain).then(|| Self(name.to_owned())).ok_or(NoPullRequestName)
    }
}

impl fmt::Display for PullRequestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a pull request is given when it is opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullRequestSetup {
    pub labels: Vec<PullRequestName>,
    /// `pull-request-reviewers`: users, and teams as `team:NAME`.
    pub reviewers: Vec<PullRequestName>,
    pub assignees: Vec<PullRequestName>,
    pub draft: bool,
    /// `pull-request-automerge`: whether the forge merges it once its rules are met, and how.
    pub merge: Option<MergeKind>,
}

/// Settings from the annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PullRequestAnnotations {
    /// `pull-request`: open a pull request at a forge of this kind.
    pub kind: Option<ForgeKind>,
    /// `pull-request-base`: the branch to merge into, without `refs/heads/`.
    pub base: Option<String>,
    /// `pull-request-overwrite`: whether commits of others on its branch are overwritten.
    pub overwrite: bool,
    /// `pull-request-secret`: a Secret with `token`, in the automation's namespace.
    pub secret: Option<String>,
    /// `pull-request-api`: the URL of the API.
    pub api: Option<Url>,
    /// What it is given.
    pub setup: PullRequestSetup,
}

impl ImageUpdateAutomation {
    /// Reads the annotations about a pull request.
    ///
    /// # Errors
    /// [`InvalidAnnotation`] for the first one, in the order of the keys, that does not parse: the automation is not to
    /// be acted upon then (docs/cli.md, *Annotations*).
    pub fn pull_request(&self) -> Result<PullRequestAnnotations, InvalidAnnotation> {
        let mut annotations = PullRequestAnnotations::default();
        for (key, value) in &self.metadata.annotations {
            match key.strip_prefix(ANNOTATION_PREFIX) {
                Some("pull-request") => annotations.kind = Some(read("pull-request", value, KINDS, kind)?),
                Some("pull-request-api") => annotations.api = Some(read("pull-request-api", value, API_URL, api_url)?),
                Some("pull-request-assignees") => {
                    annotations.setup.assignees = read("pull-request-assignees", value, NAMES, names)?;
                }
                Some("pull-request-automerge") => {
                    annotations.setup.merge = Some(read("pull-request-automerge", value, MERGES, MergeKind::of_word)?);
                }
                Some("pull-request-base") => {
                    annotations.base = Some(read("pull-request-base", value, BRANCH, branch_name)?)
                }
                Some("pull-request-draft") => {
                    annotations.setup.draft = read("pull-request-draft", value, SWITCH, |text| text.parse().ok())?;
                }
                Some("pull-request-labels") => {
                    annotations.setup.labels = read("pull-request-labels", value, NAMES, names)?;
                }
                Some("pull-request-overwrite") => {
                    annotations.overwrite = read("pull-request-overwrite", value, SWITCH, |text| text.parse().ok())?;
                }
                Some("pull-request-reviewers") => {
                    annotations.setup.reviewers = read("pull-request-reviewers", value, NAMES, names)?;
                }
                Some("pull-request-secret") => {
                    annotations.secret = Some(read("pull-request-secret", value, NAME, secret_name)?);
                }
                _ => {}
            }
        }
        Ok(annotations)
    }
}

pub(crate) fn read<T>(
    key: &'static str,
    value: &str,
    grammar: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, InvalidAnnotation> {
    parse(value).ok_or_else(|| InvalidAnnotation::Value {
        key,
        value: value.to_owned(),
        grammar,
    })
}

pub(crate) fn kind(text: &str) -> Option<ForgeKind> {
    match text {
        "github" => Some(ForgeKind::GitHub),
        "gitea" => Some(ForgeKind::Gitea),
        _ => None,
    }
}

fn names(text: &str) -> Option<Vec<PullRequestName>> {
    let names: Vec<PullRequestName> = text.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
    (names.len() <= MOST_NAMES).then_some(names)
}

/// Reads the name of a branch, with or without `refs/heads/`, by the rules of git-check-ref-format.
#[must_use]
pub fn branch_name(text: &str) -> Option<String> {
    let name = text.strip_prefix("refs/heads/").unwrap_or(text);
    let odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let fits = !name.contains(odd)
        && name.split('/').all(part)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
        && !name.starts_with('-')
        && name != "@";
    fits.then(|| name.to_owned())
}

/// Reads the name of a Secret, a DNS subdomain name (RFC 1123).
pub(crate) fn secret_name(text: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let part =
        |part: &str| part.starts_with(plain) && part.ends_with(plain) && part.chars().all(|c| plain(c) || c == '-');
    (text.len() <= 253 && text.split('.').all(part)).then(|| text.to_owned())
}

/// Reads the URL of an API.
#[must_use]
pub fn api_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let plain = url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none()
        && !text.contains(|c: char| c.is_control() || c == ' ');
    (plain && matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_those_of_git() {
        for name in ["main", "refs/heads/main", "release/1.x", "a-b_c", "@x"] {
            assert!(branch_name(name).is_some(), "{name}");
        }
        for name in [
            "",
            "a b",
            "a..b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a.lock",
            "a.",
            "-a",
            "a~1",
            "a:b",
            "@",
            "a@{1}",
            "refs/heads/",
        ] {
            assert_eq!(branch_name(name), None, "{name}");
        }
        assert_eq!(branch_name("refs/heads/a/b").as_deref(), Some("a/b"));
    }

    #[test]
    fn addresses_hold_no_secret_and_no_query() {
        for url in ["https://h/api/v1", "http://127.0.0.1:3000/api/v1/"] {
            assert!(api_url(url).is_some(), "{url}");
        }
        for url in [
            "h/api",
            "ftp://h/",
            "https://u@h/",
            "https://:p@h/",
            "https://h/?x",
            "https://h/#x",
            "https://",
            "",
        ] {
            assert_eq!(api_url(url), None, "{url}");
        }
    }

    #[test]
    fn names_of_labels_and_people() {
        let read = |text: &str| names(text).map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(read("ops, team:a b ,c:d").unwrap(), ["ops", "team:a b", "c:d"]);
        for text in ["", "a,,b", "a\nb", &"x".repeat(101), &vec!["a"; 21].join(",")] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn names_of_secrets() {
        assert!(secret_name("forge-token.v1").is_some());
        for name in ["", "A", "a_b", "-a", "a-", "a..b", "ns/name"] {
            assert_eq!(secret_name(name), None, "{name}");
        }
    }
}
