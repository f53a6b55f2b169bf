//! Connections to HelmRepositories with an index: login and certificates, with source-controller's errors in its order
//! (v1.9, `GetClientOpts`).

use std::time::Duration;

use super::error::{AccessError, ConnectError, no_such_secret};
use super::references::LocalObjects;
use super::registry::keychain;
use super::tls::{given_tls, tls};
use bumpwright_api::{HelmRepository, LocalRef, Objects, Secret};
use bumpwright_http::{Peer, Tls, basic_header};
use bumpwright_policy::Reference;
use bumpwright_registry::Login;
use bumpwright_secret::Secret as Text;

/// The default time limit.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How a chart repository is reached.
#[derive(Clone, Debug)]
pub struct ChartRepository {
    /// Certificates and the time limit.
    pub peer: Peer,
    pub authorization: Option<Text>,
}

/// The connection settings. `objects` has the objects that the repository refers to.
pub fn settings(repository: &HelmRepository, objects: &Objects) -> Result<ChartRepository, ConnectError> {
    let spec = &repository.spec;
    let local = LocalObjects::of(&repository.metadata, objects);
    let failed = |doing: &str, error| ConnectError::authentication(format!("failed to {doing}: {error}"));
    let certificates = spec.cert_secret_ref.as_ref().map(|reference| {
        let secret = secret(local, reference, "TLS authentication secret")?;
        tls(secret).map_err(|error| failed("construct Helm client's TLS config", error))
    });
    let certificates = certificates.transpose()?;
    let login = spec.secret_ref.as_ref().map(|reference| {
        let secret = secret(local, reference, "authentication secret")?;
        login(secret).map_err(|error| failed("detect authentication methods", error))
    });
    let login = login.transpose()?;
    let (authorization, older) = login.unwrap_or_default();
    let tls = certificates.or(older).map(|tls| Tls {
        beside_system: true,
        ..tls
    });
    Ok(ChartRepository {
        peer: Peer {
            tls: tls.unwrap_or_default(),
            timeout: spec.timeout.map_or(TIMEOUT, |timeout| timeout.as_std()),
            ..Peer::default()
        },
        authorization,
    })
}

/// The login at a registry with charts: a name and a password, or an entry of a Docker configuration (source-controller
/// v1.9, `KeychainFromSecret`); none without a Secret.
pub fn registry_login(
    repository: &HelmRepository,
    at: &Reference,
    objects: &Objects,
) -> Result<Option<Login>, ConnectError> {
    let spec = &repository.spec;
    let Some(reference) = &spec.secret_ref else {
        return Ok(None);
    };
    let failed = |why: &dyn std::fmt::Display| {
        ConnectError::authentication(format!("failed to configure OCI registry authentication: {why}"))
    };
    let found = secret(
        LocalObjects::of(&repository.metadata, objects),
        reference,
        "authentication secret",
    );
    let found = found?;
    if found.kind == "kubernetes.io/dockerconfigjson" {
        let keychain = keychain(&repository.metadata, spec.secret_ref.as_ref(), "", objects);
        let keychain = keychain.map_err(|error| failed(&error))?;
        return match keychain.map(|keychain| keychain.login(at)) {
            Some(Login::Anonymous) | None => {
                let (host, name) = (at.registry(), &reference.name);
                Err(failed(&format!(
                    "no auth config for '{host}' in the docker-registry Secret '{name}'"
                )))
            }
            login => Ok(login),
        };
    }
    let text = |key| {
        found
            .text(key)
            .map(Option::unwrap_or_default)
            .map_err(|error| failed(&error))
    };
    match (text("username")?, text("password")?) {
        ("", "") => Ok(Some(Login::Anonymous)),
        ("", _) | (_, "") => Err(failed(&format!(
            "invalid '{}' secret data: required fields 'username' and 'password'",
            reference.name
        ))),
        (username, password) => Ok(Some(Login::Basic {
            username: username.to_owned(),
            password: Text::new(password.to_owned()),
        })),
    }
}

fn secret<'o>(local: LocalObjects<'o>, reference: &LocalRef, what: &str) -> Result<&'o Secret, ConnectError> {
    let name = local.name(&reference.name);
    let secret = local.secret(reference);
    let missing = |_| format!("failed to get {what} '{name}': {}", no_such_secret(&name));
    secret.map_err(|error| ConnectError::authentication(missing(error)))
}

/// The `Authorization` header, and certificates that may be in the same Secret.
fn login(secret: &Secret) -> Result<(Option<Text>, Option<Tls>), AccessError> {
    let password = secret.text("password")?.map(|password| Text::new(password.to_owned()));
    let username = secret.text("username")?;
    let half = |present, missing| AccessError::HalfLogin {
        secret: secret.metadata.object_name(),
        present,
        missing,
    };
    let header = match (username, password) {
        (Some(username), Some(password)) => Some(basic_header(username, &password)),
        (None, None) => None,
        (Some(_), None) => return Err(half("username", "password")),
        (None, Some(_)) => return Err(half("password", "username")),
    };
    Ok((header, given_tls(secret)?))
}
