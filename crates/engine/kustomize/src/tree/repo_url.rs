//! URLs of Git repositories where a kustomization names a directory.
//!
//! Nothing but the syntax distinguishes such a URL from a path: what does not parse here is a path. The rules are
//! those of kustomize's `internal/git` (`NewRepoSpecFromURL`).

use super::path;
use bumpwright_gostd::Duration as GoDuration;
use bumpwright_text::Parts;
use std::borrow::Cow;
use std::time::Duration;

/// A repository, a reference in it, and a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepoUrl {
    /// The original text; cycles are found by it.
    pub raw: String,
    /// Scheme, user and host, including the `/` or `:` after it: `https://github.com/`, `git@host.xz:`, `file://`.
    pub host: String,
    /// The path of the repository on that host.
    pub repository: String,
    /// The directory in the repository, without a leading slash; empty for its root.
    pub directory: String,
    /// The branch, tag or commit; empty for the default branch.
    pub reference: String,
    /// The timeout of the fetch.
    pub timeout: Duration,
    /// Whether to fetch submodules too.
    pub submodules: bool,
}

/// Why a text is not a URL of a repository, and so must be a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepoUrlError {
    /// It begins with a slash.
    #[error("{0:?} is an absolute path, not the URL of a repository")]
    Absolute(String),
    /// It has no scheme, nor any other sign of a URL.
    #[error("{0:?} has no scheme (https://, ssh://, file://, user@host:)")]
    Scheme(String),
    #[error("{0:?} names no host")]
    Host(String),
    /// The path on the host is too short for a repository.
    #[error("{0:?} names no repository on its host")]
    Repository(String),
    /// The directory is outside of the repository.
    #[error("{0:?} names a directory outside of its repository")]
    Outside(String),
}

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(27);
const SCHEMES: [&str; 4] = ["ssh://", "https://", "http://", "file://"];

impl RepoUrl {
    /// Parses a text as the URL of a repository.
    ///
    /// # Errors
    ///
    /// It is not a URL, and thus a path.
    pub fn parse(text: &str) -> Result<Self, RepoUrlError> {
        if path::is_absolute(text) {
            return Err(RepoUrlError::Absolute(text.to_owned()));
        }
        let (rest, query) = text.split_once('?').unwrap_or((text, ""));
        let query = Query::parse(query).unwrap_or_default();
        let (host, rest) = split_host(rest).map_err(|error| error(text.to_owned()))?;
        let all_is_repository = host.starts_with("file://");
        let (repository, directory) =
            split_path(rest, all_is_repository).ok_or_else(|| RepoUrlError::Repository(text.to_owned()))?;
        let inside = path::clean(directory.strip_prefix('/').unwrap_or(&directory));
        if inside == ".." || inside.starts_with("../") {
            return Err(RepoUrlError::Outside(text.to_owned()));
        }
        Ok(Self {
            raw: text.to_owned(),
            host,
            repository,
            directory: directory.strip_prefix('/').unwrap_or(&directory).to_owned(),
            reference: query.reference,
            timeout: query.timeout.unwrap_or(DEFAULT_TIMEOUT),
            submodules: query.submodules.unwrap_or(true),
        })
    }

    /// The argument of `git clone`.
    #[must_use]
    pub fn clone_url(&self) -> String {
        format!("{}{}", self.host, self.repository)
    }
}

/// A URL for messages: without the login, which may be a secret, unless it is only a user name for SSH.
#[must_use]
pub fn public_url(url: &str) -> Cow<'_, str> {
    let login = || {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split('/').next()?;
        let (login, _) = authority.rsplit_once('@')?;
        let is_name = scheme.to_ascii_lowercase().ends_with("ssh") && !login.contains(':');
        let behind = rest.get(login.len() + 1..)?;
        (!is_name).then(|| format!("{scheme}://{behind}"))
    };
    login().map_or(Cow::Borrowed(url), Cow::Owned)
}

#[derive(Default)]
struct Query {
    reference: String,
    timeout: Option<Duration>,
    submodules: Option<bool>,
}

impl Query {
    /// `None` if the query is malformed: all of it is then ignored.
    fn parse(query: &str) -> Option<Self> {
        let mut pairs = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            if pair.contains(';') {
                return None;
            }
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            pairs.push((unescape(key)?, unescape(value)?));
        }
        let get = |name: &str| {
            let pair = pairs.iter().find(|(key, _)| key == name)?;
            Some(pair.1.as_str()).filter(|value| !value.is_empty())
        };
        Some(Self {
            reference: get("ref").or_else(|| get("version")).unwrap_or_default().to_owned(),
            timeout: get("timeout").and_then(timeout),
            submodules: get("submodules").and_then(boolean),
        })
    }
}

/// Seconds as a whole number, or a duration as Go writes it.
fn timeout(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<i64>() {
        return u64::try_from(seconds).ok().filter(|s| *s > 0).map(Duration::from_secs);
    }
    let nanoseconds = GoDuration::parse(text.as_bytes()).ok()?.0;
    u64::try_from(nanoseconds)
        .ok()
        .filter(|n| *n > 0)
        .map(Duration::from_nanos)
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let value = digit(rest.next()?)? * 16 + digit(rest.next()?)?;
                u8::try_from(value).ok()?
            }
            b'+' => b' ',
            _ => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The constructor of an error about a text.
type MakeError = fn(String) -> RepoUrlError;

/// Scheme, user and host as one text, and the remaining path.
fn split_host(text: &str) -> Result<(String, &str), MakeError> {
    let text = strip_ignoring_case(text, "git::").unwrap_or(text);
    let scheme = SCHEMES
        .into_iter()
        .find_map(|scheme| Some((scheme, strip_ignoring_case(text, scheme)?)));
    let (scheme, rest) = scheme.unwrap_or(("", text));
    let (user, rest) = split_user(rest);
    let lower = rest.to_ascii_lowercase();
    let github = lower.starts_with("github.com/") || lower.starts_with("github.com:");
    let like_scp = scheme.is_empty() && (!user.is_empty() || github);
    if scheme.is_empty() && !like_scp {
        return Err(RepoUrlError::Scheme);
    }
    if scheme == "file://" {
        // The supposed user is a part of the path.
        let path = text.part("file://".len()..);
        return Ok((scheme.to_owned(), path));
    }
    let end = host_end(rest, like_scp);
    let (host, rest) = match end {
        Some(end) => rest.split_at_checked(end + 1).unwrap_or((rest, "")),
        None => (rest, ""),
    };
    let full = match (github, scheme == "ssh://" || !user.is_empty()) {
        (true, true) => format!("{user}github.com:"),
        (true, false) => "https://github.com/".to_owned(),
        (false, _) if host.is_empty() => return Err(RepoUrlError::Host),
        (false, _) => format!("{scheme}{user}{host}"),
    };
    Ok((full, rest))
}

/// The user with its `@`: a letter, then letters, digits and dashes.
fn split_user(text: &str) -> (&str, &str) {
    let none = ("", text);
    let Some((user, _)) = text.split_once('@') else {
        return none;
    };
    let good = user.starts_with(|first: char| first.is_ascii_alphabetic())
        && user.chars().all(|char| char.is_ascii_alphanumeric() || char == '-');
    if good {
        text.split_at_checked(user.len() + 1).unwrap_or(none)
    } else {
        none
    }
}

/// The position of the slash or, as in `user@host:path`, the colon after the host.
fn host_end(text: &str, like_scp: bool) -> Option<usize> {
    let slash = text.find('/');
    if !like_scp {
        return slash;
    }
    let colon = text.find(':');
    match (slash, colon) {
        (None, colon) => colon,
        (Some(slash), Some(colon)) if colon > 0 && colon < slash => Some(colon),
        _ => slash,
    }
}

/// The repository and the directory in it: split by `_git/`, `//` or `.git` if present, else after two segments.
fn split_path(text: &str, all_is_repository: bool) -> Option<(String, String)> {
    const AZURE: &str = "_git/";
    let (repository, directory) = if let Some((front, behind)) = text.split_once(AZURE) {
        let (name, directory) = behind.split_once('/').unwrap_or((behind, ""));
        (format!("{front}{AZURE}{name}"), directory)
    } else if let Some((repository, directory)) = text.split_once("//") {
        (repository.to_owned(), directory)
    } else if let Some((front, directory)) = text.split_once(".git") {
        (format!("{front}.git"), directory)
    } else if all_is_repository {
        (text.to_owned(), "")
    } else {
        let (owner, rest) = text.split_once('/')?;
        let (name, directory) = rest.split_once('/').unwrap_or((rest, ""));
        (format!("{owner}/{name}"), directory)
    };
    (!repository.is_empty()).then(|| (repository, directory.to_owned()))
}

fn strip_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text, host, repository, directory, reference: results of the real parser.
    const SPELLINGS: &[(&str, &str, &str, &str, &str)] = &[
        (
            "https://github.com/kubernetes-sigs/kustomize//examples/multibases/dev/?timeout=120&ref=v3.3.1",
            "https://github.com/",
            "kubernetes-sigs/kustomize",
            "examples/multibases/dev/",
            "v3.3.1",
        ),
        (
            "github.com/kubernetes-sigs/kustomize/examples/multibases/dev/?ref=v1.0.6",
            "https://github.com/",
            "kubernetes-sigs/kustomize",
            "examples/multibases/dev/",
            "v1.0.6",
        ),
        (
            "https://github.com/kubernetes-sigs/kustomize",
            "https://github.com/",
            "kubernetes-sigs/kustomize",
            "",
            "",
        ),
        (
            "https://github.com/kubernetes-sigs/kustomize.git/examples?ref=x",
            "https://github.com/",
            "kubernetes-sigs/kustomize.git",
            "examples",
            "x",
        ),
        (
            "git@github.com:kubernetes-sigs/kustomize.git//examples",
            "git@github.com:",
            "kubernetes-sigs/kustomize.git",
            "examples",
            "",
        ),
        ("git@github.com:org/repo", "git@github.com:", "org/repo", "", ""),
        (
            "git@github.com/org/repo/path",
            "git@github.com:",
            "org/repo",
            "path",
            "",
        ),
        (
            "git::git@github.com:org/repo.git/dir?ref=main",
            "git@github.com:",
            "org/repo.git",
            "dir",
            "main",
        ),
        (
            "git::https://github.com/org/repo//dir",
            "https://github.com/",
            "org/repo",
            "dir",
            "",
        ),
        ("GIT::github.com/org/repo", "https://github.com/", "org/repo", "", ""),
        (
            "ssh://git@github.com/org/repo//dir",
            "git@github.com:",
            "org/repo",
            "dir",
            "",
        ),
        (
            "ssh://git@git.example.com:7999/proj/repo.git/dir",
            "ssh://git@git.example.com:7999/",
            "proj/repo.git",
            "dir",
            "",
        ),
        (
            "ssh://git.example.com/org/repo",
            "ssh://git.example.com/",
            "org/repo",
            "",
            "",
        ),
        (
            "https://user@dev.azure.com/org/project/_git/repo/path/to/root?version=v1",
            "https://user@dev.azure.com/",
            "org/project/_git/repo",
            "path/to/root",
            "v1",
        ),
        (
            "https://git-codecommit.us-east-2.amazonaws.com/v1/repos/some/path//dir",
            "https://git-codecommit.us-east-2.amazonaws.com/",
            "v1/repos/some/path",
            "dir",
            "",
        ),
        ("git@bitbucket.org:org/repo", "git@bitbucket.org:", "org/repo", "", ""),
        (
            "org-123456@github.com:org/repo.git",
            "org-123456@github.com:",
            "org/repo.git",
            "",
            "",
        ),
        ("file:///a/b/repo.git/dir?ref=x", "file://", "/a/b/repo.git", "dir", "x"),
        ("file:///a/b/repo//dir", "file://", "/a/b/repo", "dir", ""),
        ("file:///a/b/repo", "file://", "/a/b/repo", "", ""),
        ("file://user@x/repo", "file://", "user@x/repo", "", ""),
        (
            "http://host:8080/org/repo/a/b",
            "http://host:8080/",
            "org/repo",
            "a/b",
            "",
        ),
        ("https://GitHub.com/Org/Repo", "https://github.com/", "Org/Repo", "", ""),
        ("GITHUB.COM:org/repo", "https://github.com/", "org/repo", "", ""),
        (
            "github.com:org/repo/sub?ref=y",
            "https://github.com/",
            "org/repo",
            "sub",
            "y",
        ),
        (
            "user@host.xz:path/to/repo.git/",
            "user@host.xz:",
            "path/to/repo.git",
            "",
            "",
        ),
        ("user@host.xz/a:b/c/d", "user@host.xz/", "a:b/c", "d", ""),
        (
            "https://gitlab.com/group/sub/repo.git//dir?submodules=false",
            "https://gitlab.com/",
            "group/sub/repo.git",
            "dir",
            "",
        ),
        (
            "https://gitlab.com/group/sub/repo",
            "https://gitlab.com/",
            "group/sub",
            "repo",
            "",
        ),
    ];

    #[test]
    fn each_spelling_gives_host_repository_directory_and_reference() {
        for (text, host, repository, directory, reference) in SPELLINGS {
            let url = RepoUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let got = (&*url.host, &*url.repository, &*url.directory, &*url.reference);
            assert_eq!(got, (*host, *repository, *directory, *reference), "{text}");
        }
    }

    #[test]
    fn timeout_and_submodules_are_read_from_the_query() {
        let url = |query: &str| RepoUrl::parse(&format!("https://h.xz/o/r?{query}")).unwrap();
        assert_eq!(url("").timeout, DEFAULT_TIMEOUT);
        assert_eq!(url("timeout=61").timeout, Duration::from_secs(61));
        assert_eq!(url("timeout=1m1s").timeout, Duration::from_secs(61));
        assert_eq!(url("timeout=-1").timeout, DEFAULT_TIMEOUT);
        assert_eq!(url("timeout=x&submodules=false&ref=a%2Fb").reference, "a/b");
        assert!(!url("submodules=0").submodules);
        assert!(url("submodules=maybe").submodules);
        assert_eq!(url("version=v1").reference, "v1");
        assert_eq!(url("version=v1&ref=v2").reference, "v2");
        assert_eq!(url("ref=a;b").reference, "", "a malformed query counts as none");
    }

    #[test]
    fn messages_show_no_login() {
        for (url, shown) in [
            ("https://u:secret@h.xz/o/r?ref=x", "https://h.xz/o/r?ref=x"),
            ("git::https://token@h.xz/o/r", "git::https://h.xz/o/r"),
            ("https://u:p@ss@h.xz/o/r", "https://h.xz/o/r"),
            ("ssh://u:secret@h.xz/o/r", "ssh://h.xz/o/r"),
            ("ssh://git@h.xz/o/r", "ssh://git@h.xz/o/r"),
            ("https://h.xz/o/r@v1", "https://h.xz/o/r@v1"),
            ("git@h.xz:o/r", "git@h.xz:o/r"),
        ] {
            assert_eq!(public_url(url), shown, "{url}");
        }
    }

    #[test]
    fn what_is_no_url_is_a_path() {
        for text in [
            "../base",
            "base",
            "/abs/path",
            "github.com/",
            "github.com/org",
            "org/repo",
            "gh:org/repo",
            "https://",
            "iauhsduif",
            "htxxxtp://github.com/",
            "ssh://git.example.com",
            "file://",
            "git@host",
            "git::___",
            "git::",
            "https://host/org/repo//../x",
        ] {
            assert!(RepoUrl::parse(text).is_err(), "{text}");
        }
    }
}
