//! The user's own configuration, and its credential helpers.
//!
//! Source: docker/cli v29.4.3, `cli/config/configfile` and `cli/config/credentials`, as used
//! by go-containerregistry v0.21.6 (`pkg/authn/keychain.go`).

use std::fmt;

use super::config_fault::ConfigFault;
use super::credential_helper::HelperLogin;
use super::field::Dialect;
use super::json::{Auths, Contents, read_config};
use super::login::{AuthEntry, Login};
use bumpwright_gostd::Url;
use bumpwright_policy::Reference;
use bumpwright_secret::Secret;
use bumpwright_text::{Cuts, Parts};

/// Docker Hub's registry in references, and its key in docker's configuration.
const HUB: (&str, &str) = ("index.docker.io", "https://index.docker.io/v1/");
/// Other names of Docker Hub, used by podman and people.
const HUB_NAMES: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/// docker's `config.json`, or podman's `auth.json`, and the logins of the environment, which override it.
#[derive(Clone, Default)]
pub struct DockerConfig {
    file: Contents,
    environment: Auths,
}

impl DockerConfig {
    /// Parses a file. A blank one is a configuration without logins.
    ///
    /// # Errors
    ///
    /// One invalid entry fails the whole file, as in docker.
    pub fn read(text: &[u8]) -> Result<Self, ConfigFault> {
        Ok(Self {
            file: read_config(text, Dialect::Docker)?,
            environment: Auths::new(),
        })
    }

    /// Adds the logins of `$DOCKER_AUTH_CONFIG`. docker refuses fields other than `auth` in it; here they are ignored,
    /// since build systems put whole configurations into the variable.
    pub fn with_environment(mut self, text: &[u8]) -> Result<Self, ConfigFault> {
        self.environment = read_config(text, Dialect::Docker)?.auths;
        self.environment.retain(|_, entry| !entry.is_empty());
        Ok(self)
    }

    /// The login for a repository: of the repository itself, else of its registry. `get` is called with the
    /// names of a helper and of a server.
    ///
    /// Two things differ from go-containerregistry. `credsStore` is called for the registry only, as in docker: a call
    /// for each repository would run the helper as often. And without a login of Docker
    /// Hub under docker's own name, the file's entries with its other names count.
    ///
    /// # Errors
    ///
    /// The error of `get`.
    pub fn login<E>(
        &self,
        reference: &Reference,
        mut get: impl FnMut(&str, &str) -> Result<Option<HelperLogin>, E>,
    ) -> Result<Login, E> {
        let repository = reference.context();
        let entry = match self.file.helpers.get(&repository) {
            Some(helper) => self.look_up(&repository, &repository, helper, &mut get)?,
            None => self.look_up(&repository, &repository, &self.file.store, &mut |_, _| Ok(None))?,
        };
        if !entry.is_empty() {
            return Ok(entry.login());
        }
        let registry = reference.registry();
        let server = if registry == HUB.0 { HUB.1 } else { registry };
        let helper = self.file.helpers.get(server).unwrap_or(&self.file.store);
        let entry = self.look_up(server, &repository, helper, &mut get)?;
        if entry.is_empty() && registry == HUB.0 && helper.is_empty() {
            return Ok(self
                .hub_entry(&reference.repository())
                .map_or(Login::Anonymous, AuthEntry::login));
        }
        Ok(entry.login())
    }

    /// The login of a server in the environment, else of the helper, else in the file.
    fn look_up<E>(
        &self,
        server: &str,
        repository: &str,
        helper: &str,
        get: &mut impl FnMut(&str, &str) -> Result<Option<HelperLogin>, E>,
    ) -> Result<AuthEntry, E> {
        if let Some(entry) = self.environment.get(server) {
            return Ok(entry.clone());
        }
        let entry = self.entry(server, repository);
        if helper.is_empty() {
            return Ok(entry.cloned().unwrap_or_default());
        }
        Ok(combined(entry, get(helper, server)?))
    }

    /// The file's entry for a server; else one with the same host: docker takes any of
    /// them, here it is the one closest to the repository.
    fn entry(&self, server: &str, repository: &str) -> Option<&AuthEntry> {
        let auths = &self.file.auths;
        let same_host = || {
            auths
                .iter()
                .filter(|(key, _)| hostname(key) == server.as_bytes())
                .max_by_key(|(key, _)| closeness(key, repository))
        };
        auths.get(server).or_else(|| same_host().map(|(_, entry)| entry))
    }

    /// The file's entry for a repository of Docker Hub under one of the hub's other names.
    fn hub_entry(&self, path: &str) -> Option<&AuthEntry> {
        HUB_NAMES
            .iter()
            .filter_map(|name| self.entry(name, &format!("{name}/{path}")))
            .find(|entry| !entry.is_empty())
    }
}

impl fmt::Debug for DockerConfig {
    /// Without the names of servers, which may have users with passwords in them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DockerConfig")
            .field("logins", &self.file.auths.len())
            .field("helpers", &self.file.helpers.len())
            .field("environment", &self.environment.len())
            .finish_non_exhaustive()
    }
}

/// A helper's answer replaces the file's entry, except for a registry token, which helpers do not support.
fn combined(entry: Option<&AuthEntry>, answer: Option<HelperLogin>) -> AuthEntry {
    let mut combined = AuthEntry {
        registry_token: entry.map_or_else(Secret::default, |entry| entry.registry_token.clone()),
        ..AuthEntry::default()
    };
    match answer {
        Some(HelperLogin::Password { username, password }) => {
            (combined.username, combined.password) = (username, password)
        }
        Some(HelperLogin::IdentityToken(token)) => combined.identity_token = token,
        None => {}
    }
    combined
}

/// The number of bytes of the repository that a key matches, plus two; one for a key without a path, zero for the key
/// of another path at the same host.
fn closeness(key: &str, repository: &str) -> usize {
    let key = key
        .split_once("://")
        .map_or(key, |(_, rest)| rest)
        .trim_end_matches('/');
    match repository.strip_prefix(key) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => key.len() + 2,
        _ => usize::from(matches!(key.split_once('/'), None | Some((_, "v1" | "v2")))),
    }
}

/// The host, with the port if any, of a server that may be a URL (docker/cli, `ConvertToHostname`).
fn hostname(server: &str) -> Vec<u8> {
    let url = if server.contains("://") {
        Url::parse(server.as_bytes()).ok()
    } else {
        None
    };
    match url.filter(|url| !url.hostname().is_empty()) {
        None => server.before('/').as_bytes().to_vec(),
        Some(url) => with_port(&url),
    }
}

fn with_port(url: &Url) -> Vec<u8> {
    let name = url.hostname();
    // After the name: an optional bracket, colon and port.
    let colon = url.host.iter().rposition(|byte| *byte == b':');
    let port = colon.and_then(|colon| url.host.get(colon..)).filter(|port| {
        let digits = port.tail(1);
        !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
    });
    match port {
        None => name.to_vec(),
        Some(port) if name.contains(&b':') => [b"[", name, b"]", port].concat(),
        Some(port) => [name, port].concat(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use bumpwright_policy::Validation;

    /// The login for an image, and the calls of helpers.
    fn login(config: &DockerConfig, image: &str) -> (String, Vec<String>) {
        let mut asked = Vec::new();
        let reference = Reference::parse(image, Validation::Weak).unwrap();
        let login = config.login(&reference, |helper, server| {
            asked.push(format!("{helper} {server}"));
            Ok::<_, ()>((helper == "full").then(|| HelperLogin::Password {
                username: "h".to_owned(),
                password: server.into(),
            }))
        });
        let login = match login.unwrap() {
            Login::Anonymous => "-".to_owned(),
            Login::Basic { username, password } => format!("{username}:{}", password.expose()),
            Login::IdentityToken(token) | Login::RegistryToken(token) => token.expose().to_owned(),
        };
        (login, asked)
    }

    #[test]
    fn repository_before_registry_and_environment_before_file() {
        let file = br#"{"auths": {
            "https://index.docker.io/v1/": {"auth": "aHViOjE="},
            "ghcr.io/acme/app": {"auth": "YXBwOjI="},
            "ghcr.io/acme": {"auth": "YWNtZTo2"},
            "https://ghcr.io/v2/": {"auth": "YWxsOjM="},
            "http://localhost:5000": {"identitytoken": "4"},
            "quay.io": {"auth": "eDp4"}}}"#;
        let environment = br#"{"auths": {"quay.io": {"auth": "ZW52OjU="}}, "credsStore": "ignored"}"#;
        let config = DockerConfig::read(file).unwrap().with_environment(environment).unwrap();
        for (image, expected) in [
            ("app", "hub:1"),
            ("ghcr.io/acme/app", "app:2"),
            ("ghcr.io/acme/web", "acme:6"),
            ("ghcr.io/acme2/web", "all:3"),
            ("localhost:5000/app", "4"),
            ("quay.io/app", "env:5"),
            ("gcr.io/app", "-"),
        ] {
            assert_eq!(login(&config, image), (expected.to_owned(), vec![]), "{image}");
        }
    }

    #[test]
    fn helpers_are_asked_once_for_a_registry() {
        let file =
            br#"{"auths": {"ghcr.io": {"auth": "eDp4"}, "quay.io": {"auth": "cTox"}, "t.io": {"registrytoken": "t"}},
            "credHelpers": {"gcr.io": "full", "quay.io": "", "ghcr.io/acme/app": "full"}, "credsStore": "none"}"#;
        let config = DockerConfig::read(file).unwrap();
        for (image, expected, asked) in [
            ("gcr.io/app", "h:gcr.io", &["full gcr.io"][..]),
            ("quay.io/app", "q:1", &[]),
            ("ghcr.io/acme/app", "h:ghcr.io/acme/app", &["full ghcr.io/acme/app"]),
            ("ghcr.io/acme/web", "-", &["none ghcr.io"]),
            ("t.io/app", "t", &["none t.io"]),
            ("app", "-", &["none https://index.docker.io/v1/"]),
        ] {
            let asked: Vec<String> = asked.iter().map(|asked| (*asked).to_owned()).collect();
            assert_eq!(login(&config, image), (expected.to_owned(), asked), "{image}");
        }
    }

    #[test]
    fn docker_hub_under_its_other_names() {
        for (server, expected) in [
            ("docker.io", "u:p"),
            ("https://registry-1.docker.io/v2/", "u:p"),
            ("hub.io", "-"),
        ] {
            let config = format!("{{\"auths\": {{\"{server}\": {{\"auth\": \"dTpw\"}}}}}}");
            let config = DockerConfig::read(config.as_bytes()).unwrap();
            assert_eq!(login(&config, "acme/app").0, expected, "{server}");
        }
    }

    #[test]
    fn blank_files_and_what_follows_the_object_do_not_matter() {
        assert!(DockerConfig::read(b" \n").is_ok());
        assert!(DockerConfig::read(b"{} x").is_ok());
        assert!(DockerConfig::read(b"{").is_err());
        let fault = DockerConfig::read(br#"{"auths": {"me:hunter2@h.io": {"auth": "OnA="}}}"#).unwrap_err();
        assert_eq!(
            fault.to_string(),
            "1:46: .auths[\"***@h.io\"].auth: must be base64 of NAME:PASSWORD, and the name is empty"
        );
    }
}
