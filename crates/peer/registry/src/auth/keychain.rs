//! The logins of Kubernetes Secrets, and their choice for a repository.
//!
//! Source: go-containerregistry `pkg/authn/kubernetes` (2026-02-05), which image-reflector-controller v1.2.0 uses for
//! `.spec.secretRef` and the image pull secrets of `.spec.serviceAccountName` (N-048).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::config_fault::{shown_server, without_secrets};
use super::field::Dialect;
use super::json::{Auths, read_config, read_dockercfg};
use super::login::{AuthEntry, Login};
use super::pull_secret::{PullSecret, SecretError};
use super::url_pattern::{UrlPattern, normalized, with_scheme};
use bumpwright_gostd::{Url, UrlError, UrlProblem, quote};
use bumpwright_policy::Reference;

const CONFIG_JSON: (&str, &str) = ("kubernetes.io/dockerconfigjson", ".dockerconfigjson");
const DOCKERCFG: (&str, &str) = ("kubernetes.io/dockercfg", ".dockercfg");

/// Logins by patterns of repositories.
#[derive(Clone, Default)]
pub struct Keychain {
    /// In order of precedence.
    entries: Vec<Entry>,
    unused: Vec<UnusedSecret>,
}

/// The login of a Secret for the repositories of a pattern.
#[derive(Clone)]
struct Entry {
    pattern: UrlPattern,
    login: AuthEntry,
    /// `NAMESPACE/NAME` of the Secret.
    secret: String,
    /// The name of the server, without possible secrets.
    server: String,
}

/// Why Secrets have no login for a repository. Values of the Secrets are never shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoLogin {
    /// The entry of the repository is not a login.
    #[error("secret '{secret}': its entry for {server} has no {missing}")]
    Half {
        /// `NAMESPACE/NAME`
        secret: String,
        /// The name of the server, quoted.
        server: String,
        /// The names of the members that are missing.
        missing: &'static str,
    },
    /// The Secrets have no entry at all.
    #[error("{}", joined(.0))]
    Unused(Vec<UnusedSecret>),
    /// The entries are for other servers.
    #[error("{} for {repository}: there is one for {}", .secrets.join(", "), .servers.join(", "))]
    Others {
        /// The repository, with its registry.
        repository: String,
        /// `secret 'NAMESPACE/NAME' has no login`, of each.
        secrets: Vec<String>,
        /// The names of the first servers, quoted.
        servers: Vec<String>,
    },
}

/// How many servers are named.
const NAMED_SERVERS: usize = 3;

fn joined(unused: &[UnusedSecret]) -> String {
    let texts: Vec<String> = unused.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

/// A Secret without any login. The controller ignores it silently; so does
/// [`Keychain`], but lists it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusedSecret {
    /// Its type has no logins.
    #[error(
        "secret '{name}' is of type '{kind}' and has no login; it must be of type \
         'kubernetes.io/dockerconfigjson' with the key '.dockerconfigjson'"
    )]
    Kind {
        /// `NAMESPACE/NAME`
        name: String,
        kind: String,
    },
    /// The key of its type is missing or empty.
    #[error("secret '{name}' has no login: key '{key}' is missing or empty")]
    Key {
        /// `NAMESPACE/NAME`
        name: String,
        /// `.dockerconfigjson` or `.dockercfg`
        key: &'static str,
    },
    /// It has no server.
    #[error("secret '{name}' has no login: its key '{key}' names no server")]
    Servers {
        /// `NAMESPACE/NAME`
        name: String,
        /// `.dockerconfigjson` or `.dockercfg`
        key: &'static str,
    },
}

impl Keychain {
    /// The keychain of all `secrets`: for keys with equal patterns the first Secret counts. Within one Secret,
    /// where Go's choice is random, the first key in the order of bytes does.
    ///
    /// # Errors
    ///
    /// [`SecretError::Malformed`] and [`SecretError::NoUrl`], for any entry of any Secret.
    pub fn from_secrets(secrets: &[PullSecret<'_>]) -> Result<Self, SecretError> {
        let mut unused = Vec::new();
        let mut entries: BTreeMap<Vec<u8>, (AuthEntry, &str, String)> = BTreeMap::new();
        for secret in secrets {
            for (server, entry) in auths(secret, &mut unused)? {
                let key = normalized(&server).map_err(|reason| no_url(&server, reason))?;
                entries.entry(key).or_insert((entry, secret.name, server));
            }
        }
        // In reverse order of bytes: a longer key comes before its prefix, and `*` after letters.
        let entry = |(key, (login, secret, server)): (Vec<u8>, (AuthEntry, &str, String))| {
            Some(Entry {
                pattern: UrlPattern::read(&key)?,
                login,
                secret: secret.to_owned(),
                server: shown_server(&server),
            })
        };
        let entries = entries.into_iter().rev().filter_map(entry).collect();
        Ok(Self { entries, unused })
    }

    /// The login for a repository: of the first matching entry, even if that is empty.
    #[must_use]
    pub fn login(&self, reference: &Reference) -> Login {
        let entry = self.entry(reference);
        entry.map_or(Login::Anonymous, |entry| entry.login.login())
    }

    fn entry(&self, reference: &Reference) -> Option<&Entry> {
        let repository = UrlPattern::read(reference.context().as_bytes())?;
        self.entries.iter().find(|entry| entry.pattern.matches(&repository))
    }

    /// Why no login is used for a repository, for somebody whom the registry has refused; `None` when one is.
    #[must_use]
    pub fn lack(&self, reference: &Reference) -> Option<NoLogin> {
        if let Some(entry) = self.entry(reference) {
            let missing = entry.login.missing()?;
            return Some(NoLogin::Half {
                secret: entry.secret.clone(),
                server: entry.server.clone(),
                missing,
            });
        }
        if self.entries.is_empty() {
            return (!self.unused.is_empty()).then(|| NoLogin::Unused(self.unused.clone()));
        }
        let secrets: BTreeSet<&str> = self.entries.iter().map(|entry| entry.secret.as_str()).collect();
        let servers: BTreeSet<&str> = self.entries.iter().map(|entry| entry.server.as_str()).collect();
        Some(NoLogin::Others {
            repository: reference.context(),
            secrets: secrets
                .iter()
                .map(|name| format!("secret '{name}' has no login"))
                .collect(),
            servers: servers.into_iter().take(NAMED_SERVERS).map(str::to_owned).collect(),
        })
    }

    /// The Secrets without a login.
    #[must_use]
    pub fn unused(&self) -> &[UnusedSecret] {
        &self.unused
    }
}

impl fmt::Debug for Keychain {
    /// Without the names of servers, which may have users with passwords in them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keychain")
            .field("logins", &self.entries.len())
            .field("unused", &self.unused)
            .finish_non_exhaustive()
    }
}

/// Reads the key of the Secret's type.
fn auths(secret: &PullSecret<'_>, unused: &mut Vec<UnusedSecret>) -> Result<Auths, SecretError> {
    let name = || secret.name.to_owned();
    let (key, value) = match secret.kind {
        kind if kind == CONFIG_JSON.0 => (CONFIG_JSON.1, secret.config_json),
        kind if kind == DOCKERCFG.0 => (DOCKERCFG.1, secret.dockercfg),
        kind => {
            let kind = kind.to_owned();
            unused.push(UnusedSecret::Kind { name: name(), kind });
            return Ok(Auths::new());
        }
    };
    let Some(text) = value.filter(|text| !text.is_empty()) else {
        unused.push(UnusedSecret::Key { name: name(), key });
        return Ok(Auths::new());
    };
    let auths = if key == CONFIG_JSON.1 {
        read_config(text, Dialect::Kubernetes).map(|config| config.auths)
    } else {
        read_dockercfg(text)
    };
    let auths = auths.map_err(|fault| SecretError::Malformed {
        name: name(),
        key,
        fault,
    })?;
    if auths.is_empty() {
        unused.push(UnusedSecret::Servers { name: name(), key });
    }
    Ok(auths)
}

/// Go's error for a server's name that is not a URL, with the user of the URL hidden.
fn no_url(server: &str, reason: UrlError) -> SecretError {
    let url = with_scheme(server);
    let shown = without_secrets(&url);
    let reason = if shown == url {
        reason
    } else {
        let problem = UrlProblem::UserInfo;
        let url = shown.clone().into_bytes();
        Url::parse(&url).err().unwrap_or(UrlError { url, problem })
    };
    SecretError::NoUrl {
        entry: quote(&shown),
        reason,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use bumpwright_policy::Validation;

    fn secret<'a>(name: &'a str, json: &'a str) -> PullSecret<'a> {
        PullSecret {
            name,
            kind: CONFIG_JSON.0,
            config_json: Some(json.as_bytes()),
            dockercfg: None,
        }
    }

    fn login(keychain: &Keychain, image: &str) -> String {
        match keychain.login(&Reference::parse(image, Validation::Weak).unwrap()) {
            Login::Anonymous => "-".to_owned(),
            Login::Basic { username, password } => format!("{username}:{}", password.expose()),
            Login::IdentityToken(token) | Login::RegistryToken(token) => token.expose().to_owned(),
        }
    }

    #[test]
    fn the_closest_key_of_the_first_secret_counts() {
        let first = r#"{"auths": {
            "https://index.docker.io/v1/": {"auth": "aHViOjE="},
            "ghcr.io/acme": {"username": "acme", "password": "2"},
            "ghcr.io/acme/open": {},
            "*.example.com": {"identitytoken": "3"},
            "https://ghcr.io": {"auth": "YWxsOjQ"}}}"#;
        let second = r#"{"auths": {"ghcr.io": {"auth": "eDp4"}, "ghcr.io/acme/app": {"registrytoken": "5"}}}"#;
        let keychain = Keychain::from_secrets(&[secret("n/a", first), secret("n/b", second)]).unwrap();
        for (image, expected) in [
            ("app", "hub:1"),
            ("docker.io/acme/app", "hub:1"),
            ("ghcr.io/other/app", "all:4"),
            ("ghcr.io/acme/web", "acme:2"),
            ("ghcr.io/acme/app", "5"),
            ("ghcr.io/acme/open", "-"),
            ("eu.example.com/app", "3"),
            ("example.com/app", "-"),
            ("quay.io/app", "-"),
        ] {
            assert_eq!(login(&keychain, image), expected, "{image}");
        }
    }

    /// For a refusal of the registry: the Secret, and what is missing in it; never a value.
    #[test]
    fn what_secrets_lack_for_a_repository_is_told() {
        let first = r#"{"auths": {
            "ghcr.io": {"user": "acme", "password": "hunter2"},
            "me:hunter2@quay.io": {"username": "acme"},
            "https://index.docker.io/v1/": {},
            "harbor.example.com": {"username": "acme", "password": "hunter2"}}}"#;
        let keychain = Keychain::from_secrets(&[secret("n/a", first), secret("n/e", "{}")]).unwrap();
        let lack = |keychain: &Keychain, image: &str| {
            let reference = Reference::parse(image, Validation::Weak).unwrap();
            keychain.lack(&reference).map(|lack| lack.to_string())
        };
        for (image, expected) in [
            (
                "ghcr.io/acme/web",
                Some("secret 'n/a': its entry for \"ghcr.io\" has no 'username'"),
            ),
            (
                "quay.io/acme/web",
                Some("secret 'n/a': its entry for \"***@quay.io\" has no 'password'"),
            ),
            (
                "docker.io/acme/web",
                Some(
                    "secret 'n/a': its entry for \"https://index.docker.io/v1/\" has no 'username' and 'password', and no 'auth'",
                ),
            ),
            ("harbor.example.com/acme/web", None),
            (
                "registry.example.com/web",
                Some(
                    "secret 'n/a' has no login for registry.example.com/web: there is one for \"***@quay.io\", \"ghcr.io\", \"harbor.example.com\"",
                ),
            ),
        ] {
            assert_eq!(lack(&keychain, image).as_deref(), expected, "{image}");
        }
        let empty = Keychain::from_secrets(&[secret("n/e", r#"{"auths": {}}"#)]).unwrap();
        assert_eq!(
            lack(&empty, "ghcr.io/acme/web").as_deref(),
            Some("secret 'n/e' has no login: its key '.dockerconfigjson' names no server")
        );
        assert_eq!(lack(&Keychain::default(), "ghcr.io/acme/web"), None);
    }

    #[test]
    fn secrets_without_a_login_are_told() {
        let opaque = PullSecret {
            kind: "Opaque",
            ..secret("n/o", "{}")
        };
        let legacy = PullSecret {
            kind: DOCKERCFG.0,
            ..secret("n/l", "{}")
        };
        let keychain = Keychain::from_secrets(&[opaque, legacy, secret("n/e", "{}")]).unwrap();
        let told: Vec<String> = keychain.unused().iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "secret 'n/o' is of type 'Opaque' and has no login; it must be of type \
                 'kubernetes.io/dockerconfigjson' with the key '.dockerconfigjson'",
                "secret 'n/l' has no login: key '.dockercfg' is missing or empty",
                "secret 'n/e' has no login: its key '.dockerconfigjson' names no server",
            ]
        );
    }

    #[test]
    fn faults_tell_the_place() {
        let auth = "{\"auths\": {\n  \"ghcr.io\": {\"auth\": \"aHVudGVyMg==\"}}}";
        for (json, expected) in [
            (
                auth,
                "2:37: .auths[\"ghcr.io\"].auth: must be base64 of NAME:PASSWORD, and has no colon",
            ),
            ("{\"auths\": [", "1:11: .auths: must be an object"),
            ("{\"auths\"", "1:8: .auths: the JSON is cut off"),
            ("{} x", "1:4: not valid JSON"),
            ("[]", "1:2: must be an object"),
        ] {
            let error = Keychain::from_secrets(&[secret("n/a", json)]).unwrap_err().to_string();
            let expected = format!("secret 'n/a', key '.dockerconfigjson': {expected}; create it again");
            assert!(error.starts_with(&expected), "{error}\n{expected}");
        }
    }

    #[test]
    fn servers_that_are_no_url_are_told_in_gos_words() {
        for (server, expected) in [
            (
                "gh cr.io",
                "Entry \"https://gh cr.io\" in dockercfg invalid (parse \"https://gh cr.io\": invalid character \" \" \
                 in host name)",
            ),
            (
                "https://me:hun ter2@ghcr.io",
                "Entry \"https://***@ghcr.io\" in dockercfg invalid (parse \"https://***@ghcr.io\": net/url: invalid \
                 userinfo)",
            ),
        ] {
            let json = format!("{{\"auths\": {{\"{server}\": {{}}}}}}");
            let error = Keychain::from_secrets(&[secret("n/a", &json)]).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
