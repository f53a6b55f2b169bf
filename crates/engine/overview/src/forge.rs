//! Pages of commits and files at forges, by the patterns of their URLs.

use bumpwright_text::Cuts;
use std::fmt::Write;

/// The forge of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forge {
    kind: Kind,
    /// `https://host`
    host: String,
    /// `owner/name`
    path: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    GitHub,
    GitLab,
    Gitea,
    Bitbucket,
    Gerrit,
}

impl Forge {
    /// The forge that a URL of Git belongs to; none where its host does not tell. Links go to HTTPS only.
    #[must_use]
    pub fn of(url: &str) -> Option<Self> {
        let (host, path) = parts(url)?;
        let kind = kind(host)?;
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        let path = match kind {
            Kind::Gerrit => path.strip_prefix("a/").unwrap_or(path),
            _ => path,
        };
        let is_plain = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte))
        };
        (!path.is_empty() && is_plain(path)).then(|| Self {
            kind,
            host: format!("https://{host}"),
            path: path.to_owned(),
        })
    }

    /// The page of a commit.
    #[must_use]
    pub fn commit(&self, id: &str) -> String {
        let (Self { host, path, .. }, id) = (self, escaped(id));
        match self.kind {
            Kind::GitHub | Kind::Gitea => format!("{host}/{path}/commit/{id}"),
            Kind::GitLab => format!("{host}/{path}/-/commit/{id}"),
            Kind::Bitbucket => format!("{host}/{path}/commits/{id}"),
            Kind::Gerrit => format!("{host}/q/commit:{id}"),
        }
    }

    /// The page of what changed between two commits or tags; none at forges that have no such page.
    #[must_use]
    pub fn compare(&self, old: &str, new: &str) -> Option<String> {
        let (Self { host, path, .. }, old, new) = (self, escaped(old), escaped(new));
        match self.kind {
            Kind::GitHub | Kind::Gitea => Some(format!("{host}/{path}/compare/{old}...{new}")),
            Kind::GitLab => Some(format!("{host}/{path}/-/compare/{old}...{new}")),
            Kind::Bitbucket => Some(format!("{host}/{path}/branches/compare/{new}%0D{old}")),
            Kind::Gerrit => None,
        }
    }

    /// The page of a file at a commit, at a line.
    #[must_use]
    pub fn file(&self, commit: &str, file: &str, line: usize) -> String {
        let Self { host, path, .. } = self;
        let (commit, file) = (escaped(commit), escaped(file.trim_start_matches("./")));
        match self.kind {
            Kind::GitHub => format!("{host}/{path}/blob/{commit}/{file}#L{line}"),
            Kind::GitLab => format!("{host}/{path}/-/blob/{commit}/{file}#L{line}"),
            Kind::Gitea => format!("{host}/{path}/src/commit/{commit}/{file}#L{line}"),
            Kind::Bitbucket => format!("{host}/{path}/src/{commit}/{file}#lines-{line}"),
            Kind::Gerrit => format!("{host}/plugins/gitiles/{path}/+/{commit}/{file}#{line}"),
        }
    }
}

/// Host, without user and port where that is SSH's, and path.
fn parts(url: &str) -> Option<(&str, &str)> {
    if let Some((scheme, rest)) = url.split_once("://") {
        let (authority, path) = rest.split_once('/')?;
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let host = match scheme {
            "https" => host,
            "ssh" => host.split(':').next()?,
            _ => return None,
        };
        return is_host(host).then_some((host, path));
    }
    // git@host:owner/name
    let (authority, path) = url.split_once(':')?;
    let host = authority.rsplit_once('@')?.1;
    is_host(host).then_some((host, path))
}

fn is_host(host: &str) -> bool {
    !host.is_empty()
        && host
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-.:".contains(&byte))
}

/// By the labels of the host's name: `gitlab.example.com` is a GitLab.
fn kind(host: &str) -> Option<Kind> {
    let name = host.before(':');
    let has = |label: &str| name.split('.').any(|one| one == label);
    match () {
        () if has("github") => Some(Kind::GitHub),
        () if has("gitlab") => Some(Kind::GitLab),
        () if name == "bitbucket.org" => Some(Kind::Bitbucket),
        () if has("codeberg") || has("gitea") || has("forgejo") => Some(Kind::Gitea),
        () if has("gerrit") || has("review") || name.contains("-review.") => Some(Kind::Gerrit),
        () => None,
    }
}

/// As in a path of a URL.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_by_the_pattern_of_the_host() {
        let commit = |url: &str| Forge::of(url).map(|forge| forge.commit("abc"));
        let is = |url: &str, link: &str| assert_eq!(commit(url).as_deref(), Some(link), "{url}");
        is(
            "https://github.com/acme/fleet.git",
            "https://github.com/acme/fleet/commit/abc",
        );
        is(
            "ssh://git@github.com/acme/fleet",
            "https://github.com/acme/fleet/commit/abc",
        );
        is(
            "git@gitlab.acme.io:a/b/c.git",
            "https://gitlab.acme.io/a/b/c/-/commit/abc",
        );
        is(
            "ssh://git@gitea.acme.io:2222/a/b",
            "https://gitea.acme.io/a/b/commit/abc",
        );
        is("https://bitbucket.org/a/b", "https://bitbucket.org/a/b/commits/abc");
        is("https://gerrit.acme.io/a/fleet", "https://gerrit.acme.io/q/commit:abc");
        assert_eq!(commit("https://git.acme.io/a/b"), None);
        assert_eq!(commit("http://github.com/a/b"), None);
        assert_eq!(commit("https://github.com/a\"><script>/b"), None);
    }

    #[test]
    fn links_to_files() {
        let file = |url: &str| Forge::of(url).unwrap().file("abc", "a b/ü.yaml", 7);
        assert_eq!(
            file("https://github.com/a/b"),
            "https://github.com/a/b/blob/abc/a%20b/%C3%BC.yaml#L7"
        );
        assert_eq!(
            file("https://bitbucket.org/a/b"),
            "https://bitbucket.org/a/b/src/abc/a%20b/%C3%BC.yaml#lines-7"
        );
        let gerrit = Forge::of("https://gerrit.acme.io/fleet")
            .unwrap()
            .file("abc", "k.yaml", 1);
        assert_eq!(gerrit, "https://gerrit.acme.io/plugins/gitiles/fleet/+/abc/k.yaml#1");
    }
}
