//! Logins at Vault and OpenBao with tokens of ServiceAccounts (Flux, *OpenBao/Vault Kubernetes
//! auth*; kustomize-controller, `Decryptor.SetAuthOptions`; N-061).

use std::collections::BTreeMap;
use std::fmt;

use parking_lot::Mutex;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::answer::client_token;
use super::error::{ConfigError, JwtError, LoginError, TransitError};
use super::logged_in::{LoggedIn, LoginPaths, ReadConfig, VaultLogins};
use super::path::address;
use super::settings::VaultSettings;
use super::terms::TransitLogin;
use crate::encoded::decode;
use crate::request::KeyRequest;
use bumpwright_gostd::Base64;
use bumpwright_secret::Secret;
use bumpwright_yaml::{FileId, ReadOptions, read_first, write_json};

/// The entry with servers and their login paths.
const CONFIG: &str = "config.yaml";

impl fmt::Debug for VaultLogins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.paths {
            LoginPaths::ConfigMap { name, .. } => write!(f, "VaultLogins({name})"),
            LoginPaths::Annotations(login) => write!(f, "VaultLogins({login:?})"),
        }
    }
}

impl LoggedIn {
    pub(crate) fn new(logins: VaultLogins) -> Self {
        Self {
            logins,
            state: Mutex::default(),
        }
    }

    /// Gets the token for a server. Concurrent callers share one login.
    pub(crate) fn token(
        &self,
        request: &KeyRequest<'_>,
        settings: &VaultSettings,
        server: &str,
    ) -> Result<Secret, LoginError> {
        let mut state = self.state.lock();
        let state = &mut *state;
        if let Some(token) = state.tokens.get(server) {
            return Ok(token.clone());
        }
        let issued = || (self.logins.issue)(server, request.deadline).map_err(LoginError::Issue);
        let login = match &self.logins.paths {
            LoginPaths::Annotations(TransitLogin { path, role }) => Login {
                server,
                path,
                role: role.clone(),
                jwt: issued()?,
            },
            LoginPaths::ConfigMap { name, read } => {
                let paths = match &state.paths {
                    Some(paths) => paths,
                    None => state.paths.insert(paths(name, read)?),
                };
                let path = paths
                    .get(server)
                    .filter(|path| !path.is_empty())
                    .ok_or_else(|| LoginError::NoPath {
                        server: server.to_owned(),
                        name: name.clone(),
                    })?;
                let jwt = issued()?;
                let role = account_of(&jwt)?;
                Login {
                    server,
                    path,
                    role: format!("{}_{}", role.0, role.1),
                    jwt,
                }
            }
        };
        let token = request.vault_login(settings, &login)?;
        state.tokens.insert(server.to_owned(), token.clone());
        Ok(token)
    }
}

/// The login paths of a ConfigMap, by server.
fn paths(name: &str, read: &ReadConfig) -> Result<BTreeMap<String, String>, LoginError> {
    let (name, key) = (name.to_owned(), CONFIG);
    let entries = match read() {
        Ok(entries) => entries,
        Err(error) => return Err(LoginError::ConfigMap { name, error }),
    };
    match entries.get(CONFIG).map(|text| paths_of(text)) {
        Some(Ok(paths)) => Ok(paths),
        Some(Err(problem)) => {
            let problem = Box::new(problem);
            Err(LoginError::Config { name, key, problem })
        }
        None => Err(LoginError::NoKey { name, key }),
    }
}

/// Parses kustomize-controller's `VaultConfig`; the last entry of a server counts.
fn paths_of(text: &str) -> Result<BTreeMap<String, String>, ConfigError> {
    #[derive(Deserialize)]
    struct Config {
        #[serde(default)]
        instances: Option<Vec<Instance>>,
    }
    #[derive(Deserialize)]
    struct Instance {
        #[serde(default, deserialize_with = "null_as_empty")]
        address: String,
        #[serde(
            default,
            deserialize_with = "null_as_empty",
            rename = "loginPath",
            alias = "loginpath"
        )]
        login_path: String,
    }
    let document = read_first(text.as_bytes(), &ReadOptions::sigs(FileId::default()));
    let mut json = String::new();
    match document.map_err(ConfigError::Syntax)? {
        Some(node) => write_json(&node, &mut json).map_err(ConfigError::Number)?,
        None => json.push_str("null"),
    }
    let config: Option<Config> = serde_json::from_str(&json)?;
    let instances = config.and_then(|config| config.instances).into_iter().flatten();
    let pairs = instances.map(|instance| (instance.address, instance.login_path));
    Ok(pairs.collect())
}

/// Null is an empty text, as for Go.
fn null_as_empty<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    Option::deserialize(text).map(Option::unwrap_or_default)
}

/// Namespace and name of the ServiceAccount of a token. The signature is not checked: the server does that.
fn account_of(token: &Secret) -> Result<(String, String), JwtError> {
    #[derive(Deserialize)]
    struct Claims {
        #[serde(default)]
        sub: String,
    }
    let parts: Vec<&str> = token.expose().split('.').collect();
    let [_, claims, _] = parts.as_slice() else {
        return Err(JwtError::Form);
    };
    let claims = decode(claims.as_bytes(), Base64::RawUrl)?;
    // The parser's own message may quote the token.
    let claims: Claims = serde_json::from_slice(&claims).map_err(|error| JwtError::Claims {
        line: error.line(),
        column: error.column(),
    })?;
    let account = claims
        .sub
        .strip_prefix("system:serviceaccount:")
        .and_then(|rest| rest.split_once(':'));
    match account {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
            Ok((namespace.to_owned(), name.to_owned()))
        }
        _ => Err(JwtError::Subject(claims.sub)),
    }
}

struct Login<'l> {
    server: &'l str,
    path: &'l str,
    role: String,
    jwt: Secret,
}

impl KeyRequest<'_> {
    fn vault_login(&self, settings: &VaultSettings, login: &Login<'_>) -> Result<Secret, LoginError> {
        let Login { server, path, role, .. } = login;
        let (server, path, role) = ((*server).to_owned(), (*path).to_owned(), role.clone());
        match self.client_token(settings, login) {
            Ok(Some(token)) => Ok(token),
            Ok(None) => Err(LoginError::NoToken { server, path, role }),
            Err(problem) => Err(LoginError::Refused {
                server,
                path,
                role,
                problem: Box::new(problem),
            }),
        }
    }

    fn client_token(&self, settings: &VaultSettings, login: &Login<'_>) -> Result<Option<Secret>, TransitError> {
        let Login {
            server,
            path,
            role,
            jwt,
        } = login;
        let url = address(settings.agent.as_deref().unwrap_or(server), path)?;
        let body = Secret::new(json!({"role": role, "jwt": jwt.expose()}).to_string());
        let answer = self.vault_answer(settings, url, &body, None)?;
        Ok(client_token(answer, &[jwt])?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    #[test]
    fn n_061_the_config_map_names_login_paths() {
        let text = "instances:\n- address: https://a:8200\n  loginPath: auth/kubernetes/login\n- {address: https://b, loginPath: x}\n\
                    - {address: https://b, loginPath: ns1/auth/jwt/login}\n- address: https://c\n";
        let paths = paths_of(text).unwrap();
        let path = |server: &str| paths.get(server).map(String::as_str);
        assert_eq!(path("https://a:8200"), Some("auth/kubernetes/login"));
        assert_eq!(path("https://b"), Some("ns1/auth/jwt/login"));
        assert_eq!(path("https://c"), Some(""));
        for nothing in ["", "null", "{}", "instances:", "other: 1"] {
            assert_eq!(paths_of(nothing).unwrap(), BTreeMap::new(), "{nothing}");
        }
        for (bad, said) in [
            ("instances: [", "error converting YAML to JSON: yaml: "),
            ("instances: x", "error unmarshaling JSON: while decoding JSON: "),
        ] {
            let error = paths_of(bad).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[test]
    fn n_061_the_role_is_whose_token_it_is() {
        let of = |claims: &str| account_of(&Secret::new(format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims))));
        let pair = ("apps".to_owned(), "sops".to_owned());
        assert_eq!(of(r#"{"sub":"system:serviceaccount:apps:sops","aud":["x"]}"#), Ok(pair));
        for (claims, said) in [
            (r#"{"sub":"admin"}"#, "unexpected token subject 'admin'"),
            (
                r#"{"sub":"system:serviceaccount:apps"}"#,
                "unexpected token subject 'system:serviceaccount:apps'",
            ),
            ("{}", "unexpected token subject ''"),
            (
                "hunter2",
                "failed to unmarshal token payload: it does not fit (line 1, column 1)",
            ),
        ] {
            assert_eq!(of(claims).unwrap_err().to_string(), said);
        }
        assert_eq!(account_of(&Secret::new("hunter2")).unwrap_err(), JwtError::Form);
        let said = account_of(&Secret::new("a.hunter!.c")).unwrap_err().to_string();
        assert_eq!(
            said,
            "failed to decode token payload: illegal base64 data at input byte 6"
        );
    }
}
