//! Owner, name and API of a repository, from its Git address.

use std::fmt;

use url::Url;

use super::ForgeApi;
use bumpwright_http::{decoded, host_of, shown};

/// The Git address of a repository, without user information.
#[derive(Clone, Copy, Debug)]
pub enum GitAddress<'a> {
    /// `http://` or `https://`.
    Web(&'a Url),
    /// `ssh://` or `user@host:path`. The port is that of SSH and does not apply to the API.
    Ssh {
        host: &'a str,
        /// The path on it.
        path: &'a str,
    },
}

impl GitAddress<'_> {
    fn path(&self) -> &str {
        match self {
            Self::Web(url) => url.path(),
            Self::Ssh { path, .. } => path,
        }
    }

    /// The name of the server, without a port.
    #[must_use]
    pub fn host(&self) -> &str {
        match self {
            Self::Web(url) => host_of(url),
            Self::Ssh { host, .. } => host,
        }
    }

    /// A part of the path as it is meant.
    fn decoded(&self, part: &str) -> Option<String> {
        match self {
            Self::Web(_) => decoded(part),
            Self::Ssh { .. } => Some(part.to_owned()),
        }
    }
}

/// A repository at a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The base of the API, without trailing slash: `https://api.github.com`, `https://git.example.com/api/v1`.
    pub api: Url,
    /// A user or an organisation.
    pub owner: String,
    /// The name, without `.git`.
    pub name: String,
}

/// No API can be derived from the address of a repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    /// The path is not that of a repository.
    #[error("{path:?} is not the path of a repository at a {kind} forge: OWNER/NAME is")]
    Path {
        path: String,
        /// The kind of the forge.
        kind: ForgeApi,
    },
    /// The path is not that of a project of GitLab.
    #[error("{path:?} is not the path of a project at GitLab: GROUP/NAME is")]
    Project { path: String },
    /// The host is not valid in a URL.
    #[error("no API can be derived from the host {host:?}; give its URL")]
    Host { host: String },
}

impl Repository {
    /// Derives the repository of the address `git`. Without `api`, the API is at the default address of such forges.
    ///
    /// # Errors
    /// [`InvalidAddress`] when the path is not `OWNER/NAME` (at Gitea in a folder of a web server: `…/OWNER/NAME`).
    pub fn locate(kind: ForgeApi, git: GitAddress<'_>, api: Option<&Url>) -> Result<Self, InvalidAddress> {
        let path = git.path();
        let bad = || InvalidAddress::Path {
            path: path.to_owned(),
            kind,
        };
        let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let name = parts.pop().map(|last| last.strip_suffix(".git").unwrap_or(last));
        let (Some(name), Some(owner)) = (name, parts.pop()) else {
            return Err(bad());
        };
        let in_folder = kind == ForgeApi::Gitea && (matches!(git, GitAddress::Web(_)) || api.is_some());
        if is_dotted(name) || is_dotted(owner) || !(parts.is_empty() || in_folder) {
            return Err(bad());
        }
        let plain = |part: &str| git.decoded(part).ok_or_else(bad);
        let api = match api {
            Some(api) => without_slash(api),
            None => api_of(kind, git, &parts)?,
        };
        Ok(Self {
            api,
            owner: plain(owner)?,
            name: plain(name)?,
        })
    }

    /// The project of the address `git` at GitLab, whose owner is a group or a path of groups. Without `api`, the API
    /// is at `/api/v4` of the host.
    ///
    /// # Errors
    /// [`InvalidAddress`] when the path is not `GROUP/NAME`.
    pub fn at_gitlab(git: GitAddress<'_>, api: Option<&Url>) -> Result<Self, InvalidAddress> {
        let path = git.path();
        let bad = || InvalidAddress::Project { path: path.to_owned() };
        let project = path.trim_matches('/');
        let project = project.strip_suffix(".git").unwrap_or(project);
        let plain = project.split('/').map(|part| {
            let part = git.decoded(part).filter(|part| !is_dotted(part));
            part.ok_or_else(bad)
        });
        let plain = plain.collect::<Result<Vec<_>, _>>()?.join("/");
        let (owner, name) = plain.rsplit_once('/').ok_or_else(bad)?;
        let api = match api {
            Some(api) => without_slash(api),
            None => beside(git, &["api", "v4"])?,
        };
        Ok(Self {
            api,
            owner: owner.to_owned(),
            name: name.to_owned(),
        })
    }

    /// The project of an address at Gerrit. Pages and API are above the `/a/` of a login, else at the root of the
    /// host. A project of Gerrit has no owner: its name is the whole path. None for a path that names no project.
    #[must_use]
    pub fn at_gerrit(git: &Url) -> Option<Self> {
        let (folder, path) = git.path().split_once("/a/").unwrap_or(("", git.path()));
        let path = path.trim_matches('/');
        let name = decoded(path.strip_suffix(".git").unwrap_or(path))?;
        if name.contains(['"', '\\']) || name.split('/').any(is_dotted) {
            return None;
        }
        let mut api = git.clone();
        api.set_path(folder);
        Some(Self {
            api,
            owner: String::new(),
            name,
        })
    }

    /// Builds an address below the repository, from its parts.
    pub(super) fn url(&self, below: &[&str]) -> Url {
        let mut url = self.api.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty()
                .extend(["repos", &self.owner, &self.name])
                .extend(below);
        }
        url
    }

    /// GitHub's GraphQL API: `https://api.github.com/graphql`, or `…/api/graphql` beside the `…/api/v3` of a
    /// server of one's own.
    pub(super) fn graphql(&self) -> Url {
        let mut url = self.api.clone();
        let is_versioned = url.path().trim_end_matches('/').ends_with("/v3");
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty();
            if is_versioned {
                path.pop();
            }
            path.push("graphql");
        }
        url
    }

    /// Whether the API belongs to the Git server: the same host, or `api.` before it, at the same port. One of SSH may
    /// have its API at any.
    #[must_use]
    pub fn is_served_by(&self, git: GitAddress<'_>) -> bool {
        let host = git.host();
        if let GitAddress::Web(url) = git
            && !is_same_port(&self.api, url)
        {
            return false;
        }
        let api = host_of(&self.api);
        let bare = host
            .strip_prefix("ssh.")
            .or_else(|| host.strip_prefix("www."))
            .unwrap_or(host);
        // Only SSH has hosts in upper case: those of URLs are in lower case.
        api.eq_ignore_ascii_case(host)
            || api
                .strip_prefix("api.")
                .is_some_and(|api| api.eq_ignore_ascii_case(bare))
    }
}

/// The same port, or the standard ones of both schemes.
fn is_same_port(api: &Url, git: &Url) -> bool {
    api.port() == git.port() || api.port_or_known_default() == git.port_or_known_default()
}

/// `OWNER/NAME at API`.
impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} at {}", self.owner, self.name, shown(&self.api))
    }
}

/// The API of a server: github.com has a host for it, GitHub Enterprise Server `/api/v3`, Gitea `/api/v1` below the
/// folder of its installation.
fn api_of(kind: ForgeApi, git: GitAddress<'_>, folder: &[&str]) -> Result<Url, InvalidAddress> {
    let host = git.host();
    let lower = host.to_ascii_lowercase();
    let bad = |_| InvalidAddress::Host { host: host.to_owned() };
    let own = match kind {
        ForgeApi::GitHub if lower.ends_with(".ghe.com") => Some(format!("https://api.{lower}")),
        ForgeApi::GitHub if ForgeApi::of_host(&lower).is_some() => Some("https://api.github.com".to_owned()),
        _ => None,
    };
    if let Some(own) = own {
        return Url::parse(&own).map_err(bad);
    }
    let version = match kind {
        ForgeApi::GitHub => "v3",
        ForgeApi::Gitea => "v1",
    };
    beside(git, &[folder, &["api", version]].concat())
}

/// A path at the server of a Git address.
fn beside(git: GitAddress<'_>, path: &[&str]) -> Result<Url, InvalidAddress> {
    let mut api = match git {
        GitAddress::Web(url) => url.clone(),
        GitAddress::Ssh { host, .. } => {
            let lower = host.to_ascii_lowercase();
            let address = if lower.contains(':') {
                format!("https://[{lower}]")
            } else {
                format!("https://{lower}")
            };
            Url::parse(&address).map_err(|_| InvalidAddress::Host { host: host.to_owned() })?
        }
    };
    api.set_path(&path.join("/"));
    Ok(api)
}

/// Whether a part of a path cannot be in a repository's name.
fn is_dotted(part: &str) -> bool {
    matches!(part, "" | "." | ".." | "~")
}

fn without_slash(api: &Url) -> Url {
    let mut url = api.clone();
    let path = api.path().trim_end_matches('/').to_owned();
    url.set_path(&path);
    url
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn web(kind: ForgeApi, url: &str) -> Result<String, InvalidAddress> {
        let url = Url::parse(url).unwrap();
        Repository::locate(kind, GitAddress::Web(&url), None).map(|found| found.url(&["pulls"]).to_string())
    }

    #[test]
    fn a_project_of_gitlab_may_be_in_groups() {
        let web = |url: &str| Repository::at_gitlab(GitAddress::Web(&Url::parse(url).unwrap()), None);
        let found = web("https://gitlab.example:8443/a/b%20c/fleet.git").unwrap();
        assert_eq!(
            (found.api.as_str(), &*found.owner, &*found.name),
            ("https://gitlab.example:8443/api/v4", "a/b c", "fleet")
        );
        let ssh = GitAddress::Ssh {
            host: "gitlab.com",
            path: "a/fleet.git",
        };
        let found = Repository::at_gitlab(ssh, None).unwrap();
        assert_eq!(found.api.as_str(), "https://gitlab.com/api/v4");
        assert!(found.is_served_by(ssh));
        for url in [
            "https://gitlab.com/fleet",
            "https://gitlab.com/a/%2E%2E/fleet",
            "https://gitlab.com/a//fleet",
        ] {
            assert!(web(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_project_of_gerrit_is_a_path() {
        for (url, api, name) in [
            ("https://review.example/a/fleet", "https://review.example/", "fleet"),
            (
                "https://review.example:8443/x/fleet.git",
                "https://review.example:8443/",
                "x/fleet",
            ),
            (
                "https://review.example/gerrit/a/x/a/y/",
                "https://review.example/gerrit",
                "x/a/y",
            ),
        ] {
            let url = Url::parse(url).unwrap();
            let found = Repository::at_gerrit(&url).unwrap();
            assert_eq!((found.api.as_str(), found.name.as_str()), (api, name), "{url}");
            assert!(found.is_served_by(GitAddress::Web(&url)), "{url}");
        }
        for url in [
            "https://review.example/",
            "https://review.example/a/x%22y",
            "https://review.example/a/x//y",
        ] {
            assert_eq!(Repository::at_gerrit(&Url::parse(url).unwrap()), None, "{url}");
        }
    }

    fn ssh(kind: ForgeApi, host: &str, path: &str) -> Result<String, InvalidAddress> {
        let git = GitAddress::Ssh { host, path };
        Repository::locate(kind, git, None).map(|found| found.url(&["pulls"]).to_string())
    }

    #[test]
    fn the_api_is_where_such_forges_have_it() {
        for (kind, url, api) in [
            (
                ForgeApi::GitHub,
                "https://github.com/o/fleet.git",
                "https://api.github.com/repos/o/fleet/pulls",
            ),
            (
                ForgeApi::GitHub,
                "https://acme.ghe.com/o/fleet",
                "https://api.acme.ghe.com/repos/o/fleet/pulls",
            ),
            (
                ForgeApi::GitHub,
                "https://ghe.example:8443/o/f.git",
                "https://ghe.example:8443/api/v3/repos/o/f/pulls",
            ),
            (
                ForgeApi::Gitea,
                "https://codeberg.org/o/f.git",
                "https://codeberg.org/api/v1/repos/o/f/pulls",
            ),
            (
                ForgeApi::Gitea,
                "http://h:3000/git/o/f.git",
                "http://h:3000/git/api/v1/repos/o/f/pulls",
            ),
            (
                ForgeApi::Gitea,
                "https://h/a/b/o/my%20f",
                "https://h/a/b/api/v1/repos/o/my%20f/pulls",
            ),
        ] {
            assert_eq!(web(kind, url).unwrap(), api, "{url}");
        }
        for (kind, host, path, api) in [
            (
                ForgeApi::GitHub,
                "github.com",
                "o/fleet.git",
                "https://api.github.com/repos/o/fleet/pulls",
            ),
            (
                ForgeApi::GitHub,
                "ssh.github.com",
                "/o/fleet.git",
                "https://api.github.com/repos/o/fleet/pulls",
            ),
            (
                ForgeApi::Gitea,
                "git.example",
                "/o/f.git",
                "https://git.example/api/v1/repos/o/f/pulls",
            ),
            (
                ForgeApi::Gitea,
                "fd00::1",
                "o/f",
                "https://[fd00::1]/api/v1/repos/o/f/pulls",
            ),
        ] {
            assert_eq!(ssh(kind, host, path).unwrap(), api, "{host}:{path}");
        }
    }

    #[test]
    fn what_is_no_repository_is_refused() {
        for (kind, url) in [
            (ForgeApi::GitHub, "https://github.com/o"),
            (ForgeApi::GitHub, "https://github.com/a/o/f"),
            (ForgeApi::Gitea, "https://h/"),
            (ForgeApi::Gitea, "https://h/o/.git"),
        ] {
            assert!(matches!(web(kind, url), Err(InvalidAddress::Path { .. })), "{url}");
        }
        assert!(ssh(ForgeApi::Gitea, "h", "srv/git/o/f.git").is_err());
        assert!(ssh(ForgeApi::Gitea, "h", "~/f.git").is_err());
    }

    #[test]
    fn a_given_api_counts() {
        let api = Url::parse("https://git.example/forge/api/v1/").unwrap();
        let git = GitAddress::Ssh {
            host: "git.example",
            path: "srv/o/f.git",
        };
        let found = Repository::locate(ForgeApi::Gitea, git, Some(&api)).unwrap();
        assert_eq!(found.url(&[]).as_str(), "https://git.example/forge/api/v1/repos/o/f");
        assert!(found.is_served_by(git));
        let other = GitAddress::Ssh {
            host: "other",
            path: "o/f",
        };
        assert!(!found.is_served_by(other));
    }

    /// Another port is another server, which must not get Git's login.
    #[test]
    fn an_api_at_another_port_is_of_another_server() {
        for (git, api, is_same) in [
            ("https://git.example/o/f", "https://git.example/api/v1", true),
            ("https://git.example/o/f", "https://git.example:443/api/v1", true),
            ("https://git.example/o/f", "http://git.example/api/v1", true),
            ("http://git.example:3000/o/f", "http://git.example:3000/api/v1", true),
            ("https://git.example/o/f", "https://git.example:8443/api/v1", false),
            ("https://git.example:8443/o/f", "https://git.example/api/v1", false),
            ("https://github.com/o/f", "https://api.github.com:8443/", false),
        ] {
            let (git, api) = (Url::parse(git).unwrap(), Url::parse(api).unwrap());
            let git = GitAddress::Web(&git);
            let found = Repository::locate(ForgeApi::Gitea, git, Some(&api)).unwrap();
            assert_eq!(found.is_served_by(git), is_same, "{api}");
        }
    }

    #[test]
    fn the_api_of_github_belongs_to_github() {
        for host in ["github.com", "ssh.github.com", "acme.ghe.com"] {
            let git = GitAddress::Ssh { host, path: "o/f" };
            let found = Repository::locate(ForgeApi::GitHub, git, None).unwrap();
            assert!(found.is_served_by(git), "{host}");
            let evil = GitAddress::Ssh {
                host: "evil.example",
                path: "o/f",
            };
            assert!(!found.is_served_by(evil), "{host}");
        }
    }
}
