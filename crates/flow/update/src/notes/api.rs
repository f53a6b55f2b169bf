//! The APIs of forges that have releases.

use std::str::FromStr;

use url::Url;

use bumpwright_forge::{Forge, ForgeApi, GitAddress, GitLab, Login, Repository, ReviewServer};
use bumpwright_http::{Peer, host_of};

/// A forge whose releases may be asked for, by the address of its API: `gitea=https://git.example.com/api/v1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleasesApi {
    pub(super) kind: Kind,
    url: Url,
}

/// A text that is not `KIND=URL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected github=URL, gitea=URL or gitlab=URL, such as gitea=https://git.example.com/api/v1")]
pub struct InvalidReleasesApi;

/// How a forge is asked for releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Forge(ForgeApi),
    GitLab,
}

impl FromStr for ReleasesApi {
    type Err = InvalidReleasesApi;

    fn from_str(text: &str) -> Result<Self, InvalidReleasesApi> {
        let (kind, url) = text.split_once('=').ok_or(InvalidReleasesApi)?;
        let kind = match kind {
            "github" => Kind::Forge(ForgeApi::GitHub),
            "gitea" | "forgejo" => Kind::Forge(ForgeApi::Gitea),
            "gitlab" => Kind::GitLab,
            _ => return Err(InvalidReleasesApi),
        };
        let url = Url::parse(url).map_err(|_| InvalidReleasesApi)?;
        let is_web = is_web(&url) && url.has_host();
        is_web.then_some(Self { kind, url }).ok_or(InvalidReleasesApi)
    }
}

impl ReleasesApi {
    /// The API of a forge, and how it is reached; without its login.
    #[must_use]
    pub fn of_forge(forge: &Forge) -> (Self, Peer) {
        let api = Self {
            kind: Kind::Forge(forge.kind()),
            url: forge.repository().api.clone(),
        };
        (api, forge.peer().clone())
    }

    /// The same for any server of reviews.
    #[must_use]
    pub fn of_server(server: &ReviewServer) -> (Self, Peer) {
        match server {
            ReviewServer::Forge(forge) => Self::of_forge(forge),
            ReviewServer::GitLab(gitlab) => {
                let api = Self {
                    kind: Kind::GitLab,
                    url: gitlab.project().api.clone(),
                };
                (api, gitlab.peer().clone())
            }
        }
    }

    /// Whether a source is at its host and port.
    pub(super) fn serves(&self, source: &Url) -> bool {
        self.is_at(host_of(source)) && self.url.port_or_known_default() == source.port_or_known_default()
    }

    /// Whether it is at a host, or has `api.` before that.
    pub(super) fn is_at(&self, host: &str) -> bool {
        let api = host_of(&self.url);
        api == host || api.strip_prefix("api.") == Some(host)
    }

    /// The repository of a source there, which is asked without a login.
    pub(super) fn repository(&self, source: &Url, peer: Peer) -> Option<ReviewServer> {
        self.kind.repository(source, Some(&self.url), Login::Nobody, peer)
    }
}

impl Kind {
    /// The repository of a source; none if its path is not one. Without `api`, the API is where such forges have it.
    pub(super) fn repository(self, source: &Url, api: Option<&Url>, login: Login, peer: Peer) -> Option<ReviewServer> {
        let root = self.root(source)?;
        let git = GitAddress::Web(&root);
        Some(match self {
            Self::Forge(kind) => {
                let repository = Repository::locate(kind, git, api).ok()?;
                ReviewServer::Forge(Forge::new(kind, repository, login, peer))
            }
            Self::GitLab => {
                let project = Repository::at_gitlab(git, api).ok()?;
                ReviewServer::GitLab(GitLab::new(project, login, peer))
            }
        })
    }

    /// A source without what is below its repository: sources may be folders.
    pub(super) fn root(self, source: &Url) -> Option<Url> {
        let parts = source.path_segments()?.filter(|part| !part.is_empty());
        let parts: Vec<&str> = match self {
            Self::Forge(_) => parts.take(2).collect(),
            Self::GitLab => parts.take_while(|part| *part != "-").collect(),
        };
        let mut root = source.clone();
        root.set_path(&parts.join("/"));
        root.set_query(None);
        root.set_fragment(None);
        Some(root)
    }
}

/// Whether an address is one of HTTP without a login in it.
pub(super) fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_has_a_kind_and_an_address_without_a_login() {
        for (text, is_valid) in [
            ("gitea=https://git.example.com/api/v1", true),
            ("forgejo=http://git.example.com:3000/api/v1", true),
            ("github=https://ghe.example.com/api/v3", true),
            ("gitlab=https://gitlab.example.com/api/v4", true),
            ("gerrit=https://gerrit.example.com", false),
            ("https://git.example.com/api/v1", false),
            ("gitea=file:///etc/passwd", false),
            ("gitea=https://user:secret@git.example.com", false),
        ] {
            assert_eq!(text.parse::<ReleasesApi>().is_ok(), is_valid, "{text}");
        }
    }
}
