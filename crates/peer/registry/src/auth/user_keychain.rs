//! The logins of the user who runs a command: docker's configuration, else podman's.
//!
//! Source: go-containerregistry v0.21.6, `pkg/authn/keychain.go`.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use zeroize::Zeroizing;

use super::credential_helper::CredentialHelpers;
use super::docker_config::DockerConfig;
use super::login::Login;
use super::login_error::LoginError;
use bumpwright_policy::Reference;
use bumpwright_secret::Secret;

/// The largest file that is read, in bytes.
const FILE_LIMIT: u64 = 8 * 1024 * 1024;
/// The time limit of a helper: the user may have to unlock a keyring.
const HELPER_TIMEOUT: Duration = Duration::from_secs(30);

/// The locations of the user's logins; none for a variable that is not set or empty.
#[derive(Clone, Debug, Default)]
pub struct LoginLocations {
    /// `$DOCKER_CONFIG`: the folder of `config.json`.
    pub docker_config: Option<PathBuf>,
    /// `$HOME`, for `.docker/config.json`.
    pub home: Option<PathBuf>,
    /// `$REGISTRY_AUTH_FILE`: podman's file.
    pub registry_auth_file: Option<PathBuf>,
    /// `$XDG_RUNTIME_DIR`, for podman's `containers/auth.json`.
    pub runtime_dir: Option<PathBuf>,
    /// `$DOCKER_AUTH_CONFIG`: logins that override those of the file.
    pub auth_config: Option<Secret>,
    /// `$PATH`, for credential helpers.
    pub path: OsString,
}

impl LoginLocations {
    /// The locations in the environment of this process.
    #[must_use]
    pub fn from_environment() -> Self {
        let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let folder = |name: &str| set(name).map(PathBuf::from);
        Self {
            docker_config: folder("DOCKER_CONFIG"),
            home: folder("HOME"),
            registry_auth_file: folder("REGISTRY_AUTH_FILE"),
            runtime_dir: folder("XDG_RUNTIME_DIR"),
            auth_config: env::var("DOCKER_AUTH_CONFIG")
                .ok()
                .filter(|value| !value.is_empty())
                .map(Secret::from),
            path: set("PATH").unwrap_or_default(),
        }
    }

    /// The file that counts: docker's if it exists, else podman's. With `$DOCKER_CONFIG` set, docker
    /// reads no other file, even if that one does not exist.
    fn file(&self) -> Option<PathBuf> {
        let home = self.home.as_deref().map(|home| home.join(".docker/config.json"));
        let own = self.docker_config.as_deref().map(|folder| folder.join("config.json"));
        if [&home, &own].into_iter().flatten().any(|path| path.is_file()) {
            return own.or(home);
        }
        let podman = self
            .runtime_dir
            .as_deref()
            .map(|folder| folder.join("containers/auth.json"));
        [self.registry_auth_file.clone(), podman]
            .into_iter()
            .flatten()
            .find(|path| path.is_file())
    }
}

/// The user's logins. Helpers run on demand, once for a server.
#[derive(Debug)]
pub struct UserKeychain {
    config: DockerConfig,
    helpers: CredentialHelpers,
}

impl UserKeychain {
    /// Reads the configuration, if there is one.
    ///
    /// # Errors
    ///
    /// [`LoginError`] for a file or a variable that cannot be read.
    pub fn load(places: &LoginLocations) -> Result<Self, LoginError> {
        let config = match places.file() {
            Some(path) => read(&path)?,
            None => DockerConfig::default(),
        };
        let config = match &places.auth_config {
            Some(text) => config
                .with_environment(text.expose().as_bytes())
                .map_err(|fault| LoginError::Environment { fault })?,
            None => config,
        };
        Ok(Self {
            config,
            helpers: CredentialHelpers::new(places.path.clone(), HELPER_TIMEOUT),
        })
    }

    /// The login for a repository. May wait for a helper.
    ///
    /// # Errors
    ///
    /// [`LoginError::Helper`]
    pub fn login(&self, reference: &Reference) -> Result<Login, LoginError> {
        let get = |helper: &str, server: &str| self.helpers.get(helper, server);
        Ok(self.config.login(reference, get)?)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a file of docker or podman; bound: 8 MiB; account: none, of the user's machine"
)]
fn read(path: &Path) -> Result<DockerConfig, LoginError> {
    let unreadable = |error: std::io::Error| LoginError::Unreadable {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let file = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(DockerConfig::default()),
        file => file.map_err(unreadable)?,
    };
    let mut text = Zeroizing::new(Vec::new());
    file.take(FILE_LIMIT + 1).read_to_end(&mut text).map_err(unreadable)?;
    if text.len() as u64 > FILE_LIMIT {
        return Err(LoginError::Large {
            path: path.to_owned(),
            limit: FILE_LIMIT,
        });
    }
    DockerConfig::read(&text).map_err(|fault| LoginError::Malformed {
        path: path.to_owned(),
        fault,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::*;
    use bumpwright_policy::Validation;

    fn write(root: &Path, path: &str, user: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(
            path,
            format!(r#"{{"auths": {{"h.io": {{"username": "{user}", "password": "p"}}}}}}"#),
        )
        .unwrap();
    }

    fn user(places: &LoginLocations) -> String {
        let reference = Reference::parse("h.io/app", Validation::Weak).unwrap();
        match UserKeychain::load(places).unwrap().login(&reference).unwrap() {
            Login::Basic { username, .. } => username,
            other => format!("{other:?}"),
        }
    }

    /// In rising precedence: each added file replaces those before it.
    #[test]
    fn which_file_counts() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| Some(root.path().join(path));
        let mut places = LoginLocations {
            home: at("home"),
            runtime_dir: at("run"),
            ..LoginLocations::default()
        };
        assert_eq!(user(&places), "Anonymous");
        write(root.path(), "run/containers/auth.json", "podman");
        assert_eq!(user(&places), "podman");
        places.registry_auth_file = at("auth.json");
        assert_eq!(user(&places), "podman");
        write(root.path(), "auth.json", "named");
        assert_eq!(user(&places), "named");
        places.docker_config = at("docker");
        assert_eq!(user(&places), "named");
        write(root.path(), "docker/config.json", "docker");
        assert_eq!(user(&places), "docker");
        places.docker_config = None;
        write(root.path(), "home/.docker/config.json", "home");
        assert_eq!(user(&places), "home");
        places.docker_config = at("empty");
        assert_eq!(user(&places), "Anonymous");
        places.auth_config = Some(r#"{"auths": {"h.io": {"auth": "ZW52OnA="}}}"#.into());
        assert_eq!(user(&places), "env");
    }

    #[test]
    fn faults_name_the_file() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("config.json");
        fs::write(&path, "{\n\"auths\": 5}").unwrap();
        let places = LoginLocations {
            docker_config: Some(root.path().to_owned()),
            ..LoginLocations::default()
        };
        let error = UserKeychain::load(&places).unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "{}:2:10: .auths: must be an object; fix it, or log in again with `docker login`",
                path.display()
            )
        );
        let places = LoginLocations {
            auth_config: Some("{\"auths\":".into()),
            ..LoginLocations::default()
        };
        let error = UserKeychain::load(&places).unwrap_err().to_string();
        assert_eq!(
            error,
            "DOCKER_AUTH_CONFIG: 1:9: .auths: the JSON is cut off; fix or unset it"
        );
    }
}
