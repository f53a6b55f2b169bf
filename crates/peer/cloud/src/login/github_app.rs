//! GitHub Apps: an app signs a token of its own, and gets one for its installation (GitHub Docs, *Generating an
//! installation access token for a GitHub App*; `fluxcd/pkg/auth/githubapp`; N-005).

use std::fmt;
use std::time::{Duration, SystemTime};

use rustls::SignatureScheme;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use url::Url;
use zeroize::Zeroizing;

use super::expiring::ExpiringLogin;
use crate::services::{Services, json as read_json, unusable};
use crate::{CloudError, fields, jwt};
use bumpwright_http::{Deadline, Login, Request, shown};
use bumpwright_secret::Secret;

const API: &str = "https://api.github.com/";
/// The user name beside an installation's token.
const USERNAME: &str = "x-access-token";
/// The allowed clock drift.
const DRIFT: Duration = Duration::from_secs(30);
/// The lifetime of an app's own token.
const LIFE: Duration = Duration::from_secs(120);
const ALGORITHM: SignatureScheme = SignatureScheme::RSA_PKCS1_SHA256;

/// An app, one installation of it, and the address of GitHub's API. `Debug` shows no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitHubApp {
    /// Its number or its client ID.
    id: String,
    installation: Installation,
    key: Secret,
    api: Url,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Installation {
    Id(i64),
    /// Of an organization or a user.
    Owner(String),
}

/// The settings of an app in a Secret (GitRepository v1, *GitHub*); missing ones are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitHubAppSettings {
    /// `githubAppID`
    pub id: String,
    /// `githubAppClientID`, in place of the number (Flux 2.10).
    pub client_id: String,
    /// `githubAppInstallationID`
    pub installation_id: String,
    /// `githubAppInstallationOwner`
    pub installation_owner: String,
    /// `githubAppPrivateKey`: RSA, PEM.
    pub private_key: Secret,
    /// `githubAppBaseURL`: the full address of the API, such as `https://ghe.example.com/api/v3`; empty for github.com.
    pub base_url: String,
}

#[derive(Deserialize)]
struct FoundInstallation {
    id: i64,
}

#[derive(Deserialize)]
struct Issued {
    #[serde(default, deserialize_with = "fields::secret_if_any")]
    token: Option<Secret>,
    #[serde(default)]
    expires_at: String,
}

impl GitHubApp {
    /// The digest of the private key, to distinguish keys.
    pub(crate) fn key_digest(&self) -> String {
        let digest = Sha256::digest(self.key.expose());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Checks an app's settings. An invalid number counts as missing.
    ///
    /// # Errors
    /// [`CloudError::Unfit`], in Flux' words, for missing and unusable settings.
    pub fn new(settings: GitHubAppSettings) -> Result<Self, CloudError> {
        let number = |text: &str| text.parse::<i64>().ok().filter(|number| *number != 0);
        let unfit = |text: &str| CloudError::Unfit(format!("{text} to use github app authentication"));
        let client = Some(settings.client_id).filter(|client| !client.is_empty());
        let id = match (number(&settings.id), client) {
            (Some(id), None) => id.to_string(),
            (None, Some(client)) => client,
            (None, None) => return Err(unfit("app ID or client ID must be provided")),
            (Some(_), Some(_)) => return Err(unfit("only one of app ID or client ID must be provided")),
        };
        let owner = Some(settings.installation_owner).filter(|owner| !owner.is_empty());
        let installation = match (number(&settings.installation_id), owner) {
            (Some(id), None) => Installation::Id(id),
            (None, Some(owner)) => Installation::Owner(owner),
            (None, None) => return Err(unfit("app installation owner or ID must be provided")),
            (Some(_), Some(_)) => return Err(unfit("only one of app installation owner or ID must be provided")),
        };
        if settings.private_key.is_empty() {
            return Err(unfit("private key must be provided"));
        }
        jwt::check(&settings.private_key, ALGORITHM)?;
        Ok(Self {
            id,
            installation,
            key: settings.private_key,
            api: api(&settings.base_url)?,
        })
    }

    /// A digest of the key, to distinguish it from others.
    pub(crate) fn fingerprint(&self) -> String {
        let digest = Sha256::digest(self.key.expose());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Gets a token of the installation.
    ///
    /// # Errors
    /// When the installation does not exist or GitHub refuses.
    pub(crate) fn login(&self, services: &Services, deadline: Deadline) -> Result<ExpiringLogin, CloudError> {
        let own = self.own_token(SystemTime::now())?;
        let installation = match &self.installation {
            Installation::Id(id) => *id,
            Installation::Owner(owner) => self.installation_of(owner, &own, services, deadline)?,
        };
        let doing = format!("get a token for installation {installation} of GitHub App {}", self.id);
        let id = installation.to_string();
        let url = self.address(&["app", "installations", &id, "access_tokens"])?;
        let request = authorized(Request::post(url.clone(), "application/json", ""), &own);
        let issued: Issued = read_json(&doing, services.send(&doing, request, &[&own], deadline)?)?;
        let token = issued.token.ok_or_else(|| unusable(&doing, &url, "it has no token"))?;
        Ok(ExpiringLogin {
            login: Login::Basic {
                username: Secret::new(USERNAME),
                password: token,
            },
            expires: fields::date(&issued.expires_at),
        })
    }

    /// Finds the installation of an organization or, if none has that name, of a user.
    fn installation_of(
        &self,
        owner: &str,
        own: &Secret,
        services: &Services,
        deadline: Deadline,
    ) -> Result<i64, CloudError> {
        let find = |kind: &str, doing: &str| {
            let url = self.address(&[kind, owner, "installation"])?;
            let request = authorized(Request::get(url), own);
            let installation: FoundInstallation = read_json(doing, services.send(doing, request, &[own], deadline)?)?;
            Ok::<_, CloudError>(installation.id)
        };
        let of_organization = match find("orgs", "failed to find organization installation") {
            Ok(id) => return Ok(id),
            Err(error) => error,
        };
        find("users", "failed to find user installation").map_err(|error| error.within(of_organization.to_string()))
    }

    /// The app's own token (GitHub Docs, *Generating a JSON Web Token (JWT) for a GitHub App*).
    fn own_token(&self, now: SystemTime) -> Result<Secret, CloudError> {
        let issued = now.checked_sub(DRIFT).unwrap_or(now);
        let header = json!({"alg": "RS256", "typ": "JWT"});
        let claims = json!({
            "exp": jwt::seconds(issued + LIFE),
            "iat": jwt::seconds(issued),
            "iss": self.id,
        });
        Ok(jwt::signed(&header, &claims, &self.key, ALGORITHM)?)
    }

    /// An address below the API's. Each part is one segment of the path, whatever its characters.
    fn address(&self, parts: &[&str]) -> Result<Url, CloudError> {
        let mut url = self.api.clone();
        match url.path_segments_mut() {
            Ok(mut path) => path.pop_if_empty().extend(parts),
            Err(()) => return Err(no_api()),
        };
        Ok(url)
    }
}

/// Without the key.
impl fmt::Display for GitHubApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let api = shown(&self.api);
        match &self.installation {
            Installation::Id(id) => write!(f, "GitHub App {} installation {id} at {api}", self.id),
            Installation::Owner(owner) => write!(f, "GitHub App {} installation of {owner} at {api}", self.id),
        }
    }
}

/// The API's address as given: the one of GitHub Enterprise Server ends in `/api/v3`, which Flux does not add either.
fn api(given: &str) -> Result<Url, CloudError> {
    let text = if given.is_empty() { API } else { given };
    let url = Url::parse(text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(no_api)
}

fn no_api() -> CloudError {
    let text =
        "invalid API URL: githubAppBaseURL is not an address; give https://host/api/v3, or leave it out for github.com";
    CloudError::Unfit(text.to_owned())
}

fn authorized(request: Request, own: &Secret) -> Request {
    request
        .header("accept", "application/vnd.github+json")
        .header("x-github-api-version", "2022-11-28")
        .authorization(Zeroizing::new(format!("Bearer {}", own.expose())).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(id: &str, installation: (&str, &str), key: &str, base: &str) -> String {
        refusal_of((id, ""), installation, key, base)
    }

    fn refusal_of((id, client): (&str, &str), installation: (&str, &str), key: &str, base: &str) -> String {
        let settings = GitHubAppSettings {
            id: id.to_owned(),
            client_id: client.to_owned(),
            installation_id: installation.0.to_owned(),
            installation_owner: installation.1.to_owned(),
            private_key: Secret::new(key),
            base_url: base.to_owned(),
        };
        GitHubApp::new(settings).map_or_else(|e| e.to_string(), |app| app.to_string())
    }

    /// `fluxcd/pkg/auth/githubapp` v0.66.0, *New*, in its order.
    #[test]
    fn n_005_what_is_missing_is_said_as_flux_says_it() {
        let end = "to use github app authentication";
        for id in ["", "x", "0", "1\n", "99999999999999999999"] {
            assert_eq!(
                refusal(id, ("2", ""), "k", ""),
                format!("app ID or client ID must be provided {end}")
            );
        }
        assert_eq!(
            refusal_of(("1", "Iv1.a"), ("2", ""), "k", ""),
            format!("only one of app ID or client ID must be provided {end}")
        );
        let expected = format!("private key must be provided {end}");
        assert_eq!(refusal_of(("", "Iv1.a"), ("2", ""), "", ""), expected);
        for none in [("", ""), ("x", "")] {
            let expected = format!("app installation owner or ID must be provided {end}");
            assert_eq!(refusal("1", none, "k", ""), expected);
        }
        let expected = format!("only one of app installation owner or ID must be provided {end}");
        assert_eq!(refusal("1", ("2", "acme"), "k", ""), expected);
        let expected = format!("private key must be provided {end}");
        assert_eq!(refusal("1", ("2", ""), "", ""), expected);
        let said = refusal("1", ("2", ""), "hunter2", "");
        assert_eq!(said, "could not parse private key: it is not a private key in PEM");
    }

    #[test]
    fn the_base_url_is_taken_as_it_is() {
        let at = |given: &str| api(given).map_or_else(|e| e.to_string(), |url| url.to_string());
        assert_eq!(at(""), "https://api.github.com/");
        assert_eq!(at("https://ghe.example.com/api/v3"), "https://ghe.example.com/api/v3");
        assert_eq!(at("http://ghe.example.com/x/"), "http://ghe.example.com/x/");
        for bad in ["ghe.example.com", "file:///x", "hunter2"] {
            let said = at(bad);
            assert!(
                said.starts_with("invalid API URL: ") && !said.contains("hunter2"),
                "{said}"
            );
        }
    }
}
