//! The servers that the user's flags and environment are for, where manifests say where repositories are: their
//! authors, in a pull request too, must not choose who gets the credentials of a job.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use crate::cli::error::{Attempt as _, CliError};
use bumpwright_forge::{GitAddress, Repository};
use bumpwright_git::{RemoteUrl, Scheme};
use bumpwright_text::between;
use bumpwright_update::git_without_fetches;
use url::Url;

/// Servers, and folders of this machine.
#[derive(Clone, Debug, Default)]
pub struct OwnServers {
    servers: Vec<RemoteUrl>,
    /// Whether repositories may be folders.
    folders: bool,
}

impl OwnServers {
    /// The given ones; else that of `target`; else those of the remotes of the clone in the working folder.
    ///
    /// # Errors
    /// One that is given is not an address.
    pub fn of(given: &[String], target: Option<&str>) -> Result<Self, CliError> {
        let mut own = Self::default();
        for text in given {
            match text.as_str() {
                "file://" => own.folders = true,
                text => own.servers.push(server(text)?),
            }
        }
        let target = target.and_then(|url| RemoteUrl::parse(url).ok());
        if given.is_empty() && target.is_none() {
            let remotes = remotes(Path::new("."));
            own.servers = remotes.iter().filter_map(|url| RemoteUrl::parse(url).ok()).collect();
        }
        own.servers.extend(target);
        Ok(own)
    }

    /// Whether credentials may be sent to a server. SSH sends none.
    #[must_use]
    pub fn have(&self, url: &RemoteUrl) -> bool {
        let Some(web) = url.web() else { return true };
        self.servers.iter().any(|own| match (own.web(), own.host()) {
            (Some(own), _) => is_same_server(own, web),
            (None, Some(host)) => of_ssh(host).is_some_and(|own| is_same_server(&own, web)),
            (None, None) => false,
        })
    }

    /// Whether the API of a forge is one of theirs.
    #[must_use]
    pub fn serve(&self, repository: &Repository) -> bool {
        let is_in_clear_text = |own: &Url| own.scheme() == "https" && repository.api.scheme() == "http";
        let webs = self.servers.iter().filter_map(|own| match own.web() {
            Some(web) => Some(web.clone()),
            None => of_ssh(own.host()?),
        });
        let mut webs = webs.filter(|own| !is_in_clear_text(own));
        webs.any(|own| repository.is_served_by(GitAddress::Web(&own)))
    }

    /// Whether manifests may name this folder: a remote of the clone, or any if that is said.
    #[must_use]
    pub fn have_folder(&self, url: &RemoteUrl) -> bool {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let Some(path): Option<PathBuf> = url.local_path().map(real) else {
            return true;
        };
        let mut own = self.servers.iter().filter_map(RemoteUrl::local_path);
        self.folders || own.any(|own| real(own) == path)
    }

    /// What to do where a server is not one of them.
    #[must_use]
    pub fn way_out(url: &RemoteUrl) -> String {
        let origin = origin(url);
        format!("name the server with --git-server={origin} (BUMPWRIGHT_GIT_SERVER) if they are for it")
    }
}

/// The scheme, the host and the port of a URL; nothing of a folder.
pub(in crate::cli) fn origin(url: &RemoteUrl) -> impl Display {
    between("", url.web().map(|web| web.origin().ascii_serialization()), "")
}

/// The same server, or the same by TLS.
fn is_same_server(own: &Url, url: &Url) -> bool {
    let standard = |url: &Url| url.port().is_none();
    let is_secured = own.scheme() == "http" && url.scheme() == "https" && standard(own) && standard(url);
    let is_alike = own.scheme() == url.scheme() && own.port_or_known_default() == url.port_or_known_default();
    own.host_str() == url.host_str() && (is_alike || is_secured)
}

/// The web server beside an SSH server.
fn of_ssh(host: &str) -> Option<Url> {
    let host = host.strip_prefix("ssh.").unwrap_or(host);
    Url::parse(&format!("https://{host}/")).ok()
}

/// A server as it is given: a URL, or the name of a host.
fn server(text: &str) -> Result<RemoteUrl, CliError> {
    let url = if text.contains("://") {
        text.to_owned()
    } else {
        format!("https://{text}/")
    };
    // A repository has a path, by SSH at least; of a server any will do.
    let url = match Url::parse(&url) {
        Ok(bare) if bare.scheme() == "ssh" && matches!(bare.path(), "" | "/") => {
            format!("{}/any", url.trim_end_matches('/'))
        }
        _ => url,
    };
    let parsed = RemoteUrl::parse(&url).at(format_args!("--git-server {text:?}"))?;
    match parsed.scheme() {
        Scheme::Local => Err(CliError::new(format!(
            "--git-server {text:?}: give the address of a server, such as https://git.example.com, or file:// for all folders"
        ))),
        Scheme::Http | Scheme::Https | Scheme::Ssh => Ok(parsed),
    }
}

/// The addresses of a clone's remotes.
pub(in crate::cli) fn remotes(root: &Path) -> Vec<String> {
    let output = git_without_fetches(root)
        .args(["config", "--get-regexp", r"^remote\..*\.url$"])
        .output();
    // Git is not needed: without it, all servers are those of others.
    let Ok(output) = output else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout);
    let urls = text.lines().filter_map(|line| line.split_once(' '));
    urls.map(|(_, url)| url.to_owned()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_its_host_port_and_scheme() {
        for (given, url, is_own) in [
            ("git.example", "https://git.example/o/r", true),
            ("git.example", "https://GIT.example:443/o/r", true),
            ("git.example", "http://git.example/o/r", false),
            ("git.example", "https://git.example:8443/o/r", false),
            ("git.example", "https://git.example.evil/o/r", false),
            ("git.example", "https://evil/git.example", false),
            ("git.example", "https://git.example@evil/o/r", false),
            ("https://git.example:8443", "https://git.example:8443/o/r", true),
            ("https://git.example:8443", "https://git.example/o/r", false),
            ("http://git.example", "https://git.example/o/r", true),
            ("http://git.example:3000", "http://git.example:3000/o/r", true),
            ("http://git.example:3000", "https://git.example/o/r", false),
            ("ssh://git@git.example/", "https://git.example/o/r", true),
            ("ssh://git@ssh.git.example:2222/", "https://git.example/o/r", true),
            ("ssh://git@git.example/", "http://git.example/o/r", false),
            ("git.example", "ssh://git@evil/o/r", true),
        ] {
            let own = OwnServers::of(&[given.to_owned()], None).unwrap();
            assert_eq!(own.have(&RemoteUrl::parse(url).unwrap()), is_own, "{given} {url}");
        }
        assert!(OwnServers::of(&["file:///srv/git".to_owned()], None).is_err());
        let own = OwnServers::of(&["file://".to_owned()], Some("https://h/o/r")).unwrap();
        assert!(own.have_folder(&RemoteUrl::parse("file:///srv/r.git").unwrap()));
        assert!(own.have(&RemoteUrl::parse("https://h/x").unwrap()));
    }
}
