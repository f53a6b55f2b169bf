//! Annotations of an automation about a pull request for its branch (`bumpwright.dev/pull-request*`).

use url::Url;

use super::automation::ImageUpdateAutomation;
use bumpwright_policy::{ANNOTATION_PREFIX, InvalidAnnotation};

/// The valid values of `pull-request`.
const KINDS: &str = "github or gitea";
/// The valid values of `pull-request-base`.
pub const BRANCH: &str = "the name of a branch";
/// The valid values of `pull-request-overwrite`.
const SWITCH: &str = "\"true\" or \"false\"";
/// The valid values of `pull-request-secret`.
const NAME: &str = "the name of a Secret";
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
}

impl ImageUpdateAutomation {
    /// Reads the annotations about a pull request.
    ///
    /// # Errors
    /// [`InvalidAnnotation`] for the first one, in the order of the keys, that does not parse: the automation is not to be
    /// acted upon then (docs/cli.md, *Annotations*).
    pub fn pull_request(&self) -> Result<PullRequestAnnotations, InvalidAnnotation> {
        let mut found = PullRequestAnnotations::default();
        for (key, value) in &self.metadata.annotations {
            match key.strip_prefix(ANNOTATION_PREFIX) {
                Some("pull-request") => found.kind = Some(read("pull-request", value, KINDS, kind)?),
                Some("pull-request-api") => found.api = Some(read("pull-request-api", value, API_URL, api_url)?),
                Some("pull-request-base") => found.base = Some(read("pull-request-base", value, BRANCH, branch_name)?),
                Some("pull-request-overwrite") => {
                    found.overwrite = read("pull-request-overwrite", value, SWITCH, |text| text.parse().ok())?;
                }
                Some("pull-request-secret") => {
                    found.secret = Some(read("pull-request-secret", value, NAME, secret_name)?);
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

fn read<T>(
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

fn kind(text: &str) -> Option<ForgeKind> {
    match text {
        "github" => Some(ForgeKind::GitHub),
        "gitea" => Some(ForgeKind::Gitea),
        _ => None,
    }
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
fn secret_name(text: &str) -> Option<String> {
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
    fn names_of_secrets() {
        assert!(secret_name("forge-token.v1").is_some());
        for name in ["", "A", "a_b", "-a", "a-", "a..b", "ns/name"] {
            assert_eq!(secret_name(name), None, "{name}");
        }
    }
}
