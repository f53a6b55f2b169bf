//! Remote addresses as Git writes them: URLs, scp-like addresses and local paths.

use std::fmt;
use std::path::{Path, PathBuf};

use url::Url;

use crate::TransportError;
use bumpwright_http::decoded;
use bumpwright_secret::Secret;

/// The scheme of an address, which decides the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// A path or `file://`.
    Local,
    Http,
    Https,
    /// `ssh://` or `user@host:path`.
    Ssh,
}

/// The address of a repository. `Display` and `Debug` never show a user name or a password.
///
/// The forms are those of `git help clone`, *GIT URLS*, without `git://` and `ftp://`.
#[derive(Clone, PartialEq, Eq)]
pub struct RemoteUrl {
    shown: String,
    user: Option<String>,
    password: Option<Secret>,
    location: Location,
}

/// The part that the transport uses, without user information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// An absolute path.
    Local(PathBuf),
    /// Without trailing slash.
    Http(Url),
    /// The path is the one of the remote program, not yet quoted.
    Ssh {
        host: String,
        port: Option<u16>,
        path: String,
    },
}

impl RemoteUrl {
    /// Parses an address.
    ///
    /// # Errors
    /// [`TransportError::Config`] when its form is unknown; the text in it is without user information.
    pub fn parse(text: &str) -> Result<Self, TransportError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(config(
                text,
                "the address is empty; give a URL, user@host:path or a path",
            ));
        }
        if text.contains(|c: char| c.is_control()) {
            return Err(config(text, "the address contains a control character"));
        }
        match text.split_once("://") {
            Some((scheme, _)) => Self::from_url(text, &scheme.to_ascii_lowercase()),
            None => match scp_colon(text) {
                Some(colon) => Self::from_scp(text, colon),
                None => Self::from_path(text, Path::new(text)),
            },
        }
    }

    /// The scheme of the address.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        match &self.location {
            Location::Local(_) => Scheme::Local,
            Location::Http(url) if url.scheme() == "https" => Scheme::Https,
            Location::Http(_) => Scheme::Http,
            Location::Ssh { .. } => Scheme::Ssh,
        }
    }

    /// The user name in the address.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The password in the address (HTTP only).
    #[must_use]
    pub fn password(&self) -> Option<&Secret> {
        self.password.as_ref()
    }

    /// The host name; none for a local path.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        match &self.location {
            Location::Local(_) => None,
            Location::Http(url) => url.host_str(),
            Location::Ssh { host, .. } => Some(host),
        }
    }

    /// The address without user information, where it is `http://` or `https://`.
    #[must_use]
    pub fn web(&self) -> Option<&Url> {
        match &self.location {
            Location::Http(url) => Some(url),
            Location::Local(_) | Location::Ssh { .. } => None,
        }
    }

    /// The path for the program at the other end of SSH.
    #[must_use]
    pub fn ssh_path(&self) -> Option<&str> {
        match &self.location {
            Location::Ssh { path, .. } => Some(path),
            Location::Local(_) | Location::Http(_) => None,
        }
    }

    /// The absolute path of a local repository.
    #[must_use]
    pub fn local_path(&self) -> Option<&Path> {
        match &self.location {
            Location::Local(path) => Some(path),
            Location::Http(_) | Location::Ssh { .. } => None,
        }
    }

    pub(crate) fn location(&self) -> &Location {
        &self.location
    }

    fn from_url(text: &str, scheme: &str) -> Result<Self, TransportError> {
        let url = || Url::parse(text).map_err(|e| config(text, &format!("the URL cannot be read: {e}")));
        match scheme {
            "file" => Self::from_file(text, &url()?),
            "http" | "https" => Self::from_http(text, url()?),
            "ssh" | "git+ssh" | "ssh+git" => Self::from_ssh(text, &url()?),
            "git" => Err(config(
                text,
                "git:// has neither authentication nor encryption; use https:// or ssh://",
            )),
            other => {
                let detail = format!("scheme `{other}` is not known; use https://, http://, ssh://, file:// or a path");
                Err(config(text, &detail))
            }
        }
    }

    fn from_file(text: &str, url: &Url) -> Result<Self, TransportError> {
        let path = url.to_file_path().map_err(|()| {
            config(
                text,
                "a file URL names a path of this machine with three slashes, as in file:///srv/git/fleet.git",
            )
        })?;
        Self::from_path(text, &path)
    }

    fn from_path(text: &str, path: &Path) -> Result<Self, TransportError> {
        let path =
            std::path::absolute(path).map_err(|e| config(text, &format!("the path cannot be made absolute: {e}")))?;
        Ok(Self {
            shown: text.to_owned(),
            user: None,
            password: None,
            location: Location::Local(path),
        })
    }

    fn from_http(text: &str, mut url: Url) -> Result<Self, TransportError> {
        if url.query().is_some() || url.fragment().is_some() {
            return Err(config(
                text,
                "the URL has a query or a fragment; give the address that `git clone` takes",
            ));
        }
        let user = decoded(url.username());
        let password = url.password().and_then(decoded).map(Secret::from);
        let odd = |text: &str| text.contains(char::is_control);
        if user.as_deref().is_some_and(odd) || password.as_ref().is_some_and(|p| odd(p.expose())) {
            return Err(config(text, "the user information contains a control character"));
        }
        if url.set_username("").is_err() || url.set_password(None).is_err() {
            return Err(config(text, "the URL has no host"));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&path);
        let shown = url.as_str().trim_end_matches('/').to_owned();
        Ok(Self {
            shown,
            user,
            password,
            location: Location::Http(url),
        })
    }

    fn from_ssh(text: &str, url: &Url) -> Result<Self, TransportError> {
        let host = url
            .host_str()
            .and_then(decoded)
            .ok_or_else(|| config(text, "the URL has no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let path = decoded(url.path())
            .filter(|path| path != "/")
            .ok_or_else(|| config(text, "the URL has no path; give ssh://host/path/to/repository"))?;
        // As git: the home folder is written /~user/.
        let path = path
            .strip_prefix('/')
            .filter(|rest| rest.starts_with('~'))
            .unwrap_or(&path)
            .to_owned();
        let mut shown = url.clone();
        // Both fail only for URLs without a host, which were refused above.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        let user = decoded(url.username());
        Ok(Self {
            shown: shown.into(),
            user,
            password: None,
            location: Location::Ssh {
                host,
                port: url.port(),
                path,
            },
        })
    }

    fn from_scp(text: &str, colon: usize) -> Result<Self, TransportError> {
        let (login, path) = text.split_at(colon);
        let path = path.strip_prefix(':').unwrap_or(path);
        let (user, host) = match login.rsplit_once('@') {
            Some((user, host)) => (Some(user).filter(|u| !u.is_empty()).map(str::to_owned), host),
            None => (None, login),
        };
        // With its brackets, so that what is shown can be read again.
        let shown = text
            .strip_prefix(login)
            .map_or_else(String::new, |rest| format!("{host}{rest}"));
        let inside = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let host = inside.unwrap_or(host);
        if host.contains(['[', ']']) {
            return Err(config(text, "the brackets of the host's address do not match"));
        }
        if host.is_empty() || path.is_empty() {
            return Err(config(
                text,
                "an address of the form user@host:path needs a host and a path",
            ));
        }
        if host.contains(char::is_whitespace) {
            return Err(config(text, "the name of the host has a blank"));
        }
        let location = Location::Ssh {
            host: host.to_ascii_lowercase(),
            port: None,
            path: path.to_owned(),
        };
        Ok(Self {
            shown,
            user,
            password: None,
            location,
        })
    }
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteUrl({})", self.shown)
    }
}

impl std::str::FromStr for RemoteUrl {
    type Err = TransportError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

/// The colon of `user@host:path`. As in git: one before any slash, outside of brackets.
fn scp_colon(text: &str) -> Option<usize> {
    let host = text.split_once('@').map_or(
        0,
        |(user, _)| if user.contains([':', '/']) { 0 } else { user.len() + 1 },
    );
    let rest = text.get(host..)?;
    let skip = if rest.starts_with('[') { rest.find(']')? } else { 0 };
    let colon = rest.get(skip..)?.find(':')? + skip;
    rest.get(..colon)
        .filter(|before| !before.contains('/'))
        .map(|_| host + colon)
}

/// Drops everything before the last `@`: an unparsable text may contain a password anywhere.
fn config(text: &str, detail: &str) -> TransportError {
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    let url = match text.rsplit_once('@') {
        Some((_, rest)) if scheme.is_empty() => rest.to_owned(),
        Some((_, rest)) => format!("{scheme}://{rest}"),
        None => text.to_owned(),
    };
    TransportError::Config {
        url,
        detail: detail.to_owned(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn ssh(text: &str) -> (Option<String>, String, Option<u16>, String) {
        let url = RemoteUrl::parse(text).unwrap();
        let user = url.user().map(str::to_owned);
        match url.location {
            Location::Ssh { host, port, path } => (user, host, port, path),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn ssh_forms() {
        let some = |s: &str| Some(s.to_owned());
        let path = |s: &str| s.to_owned();
        assert_eq!(
            ssh("git@host:a/b.git"),
            (some("git"), path("host"), None, path("a/b.git"))
        );
        assert_eq!(ssh("host:/a b"), (None, path("host"), None, path("/a b")));
        assert_eq!(ssh("me@[::1]:r"), (some("me"), path("::1"), None, path("r")));
        assert_eq!(RemoteUrl::parse("me@[::1]:r").unwrap().to_string(), "[::1]:r");
        assert_eq!(
            ssh("ssh://u@Host:2222/a%20b"),
            (some("u"), path("host"), Some(2222), path("/a b"))
        );
        assert_eq!(ssh("ssh://[::1]:22/~u/r"), (None, path("::1"), Some(22), path("~u/r")));
    }

    #[test]
    fn brackets_of_a_host_match() {
        for text in ["[me@h]:r", "[:@:1]::@it", "me@[[::1]]:r", "me@h]:r"] {
            let error = RemoteUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains("brackets"), "{text}: {error}");
        }
    }

    #[test]
    fn local_forms() {
        for text in [
            "/srv/a:b.git",
            "./a:b",
            "dir/x@y:z",
            "plain",
            "file:///srv/git",
            "file://localhost/srv/git",
        ] {
            let url = RemoteUrl::parse(text).unwrap();
            assert_eq!(url.scheme(), Scheme::Local, "{text}");
            assert!(url.local_path().unwrap().is_absolute());
        }
        assert_eq!(
            RemoteUrl::parse("file:///a%20b").unwrap().local_path(),
            Some(Path::new("/a b"))
        );
        assert!(RemoteUrl::parse("file://elsewhere/srv/git").is_err());
    }

    #[test]
    fn http_user_information_is_kept_apart() {
        let url = RemoteUrl::parse("https://us%40er:p%2Fw@host:8443/org/repo.git/").unwrap();
        assert_eq!(url.to_string(), "https://host:8443/org/repo.git");
        assert_eq!(url.user(), Some("us@er"));
        assert_eq!(url.password().unwrap().expose(), "p/w");
        assert_eq!(format!("{url:?}"), "RemoteUrl(https://host:8443/org/repo.git)");
        assert_eq!(url.scheme(), Scheme::Https);
    }

    #[test]
    fn errors_hold_no_password() {
        for text in [
            "https://u:hunter2@",
            "ftp://u:hunter2@h/p",
            "https://u:hunter2@h:99999/p",
            "u:hunter2@h/x\u{1}y",
            "https://u:hunter2@h/p?q",
        ] {
            let Err(error) = RemoteUrl::parse(text) else {
                panic!("{text} was taken")
            };
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }
}
