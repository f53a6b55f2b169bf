//! Google access tokens of this process: application default credentials (Google Cloud, *How Application Default
//! Credentials works*; `golang.org/x/oauth2/google`, which Flux uses).

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use rustls::SignatureScheme;
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::federation::{CredentialSource, Federation};
use crate::endpoints::or_usual;
use crate::form::{FORM, form};
use crate::services::{Services, address, no_json};
use crate::token::{AccessToken, access_token};
use crate::{CloudError, Endpoints, Environment, fields, files, jwt};
use bumpwright_http::{Deadline, Request};
use bumpwright_secret::Secret;

/// The scopes of every token (`fluxcd/pkg/auth/gcp`, `scopes`).
pub(crate) const SCOPES: [&str; 2] = [
    "https://www.googleapis.com/auth/cloud-platform",
    "https://www.googleapis.com/auth/userinfo.email",
];

const WAY_OUT: &str = "set GOOGLE_APPLICATION_CREDENTIALS, run `gcloud auth application-default login`, or give the \
                       pod workload identity or the machine a service account";

/// The context of token sources.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Google<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) endpoints: &'a Endpoints,
    pub(crate) services: &'a Services,
    pub(crate) deadline: Deadline,
}

/// A credentials file of any type.
#[derive(Deserialize)]
pub(crate) struct CredentialsFile {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    client_email: String,
    #[serde(default)]
    private_key_id: String,
    #[serde(default, deserialize_with = "fields::secret_if_any")]
    private_key: Option<Secret>,
    #[serde(default)]
    token_uri: String,
    #[serde(default)]
    pub(crate) client_id: String,
    #[serde(default, deserialize_with = "fields::secret_if_any")]
    pub(crate) client_secret: Option<Secret>,
    #[serde(default, deserialize_with = "fields::secret_if_any")]
    refresh_token: Option<Secret>,
    #[serde(default)]
    pub(crate) audience: String,
    #[serde(default)]
    pub(crate) subject_token_type: String,
    #[serde(default)]
    pub(crate) token_url: String,
    #[serde(default)]
    pub(crate) service_account_impersonation_url: String,
    #[serde(default)]
    pub(crate) service_account_impersonation: Lifetime,
    #[serde(default)]
    delegates: Vec<String>,
    #[serde(default)]
    pub(crate) workforce_pool_user_project: String,
    #[serde(default)]
    pub(crate) credential_source: Option<CredentialSource>,
    #[serde(default)]
    source_credentials: Option<Box<CredentialsFile>>,
}

#[derive(Default, Deserialize)]
pub(crate) struct Lifetime {
    #[serde(default)]
    pub(crate) token_lifetime_seconds: u32,
}

impl CredentialsFile {
    /// Parses a key that was not given by the owner of this process. Types that would read files, send requests or
    /// run programs are refused.
    ///
    /// # Errors
    /// [`CloudError::Settings`] when it is not such a key.
    pub(crate) fn given(subject: &str, text: &Secret) -> Result<Self, CloudError> {
        let parsed = serde_json::from_str(text.expose());
        let file: Self = parsed.map_err(|e| CloudError::settings(subject, no_json(&e)))?;
        match file.kind.as_str() {
            "service_account" | "authorized_user" => Ok(file),
            "" => Err(CloudError::settings(
                subject,
                "lacks type; give a service account's key",
            )),
            other => Err(CloudError::settings(
                subject,
                format!(
                    "is of type {other:?}, which is taken from this process' own options only; give a service account's key"
                ),
            )),
        }
    }
}

impl Google<'_> {
    /// Gets a token of the file that `GOOGLE_APPLICATION_CREDENTIALS` names, of gcloud's file, or of the machine.
    ///
    /// # Errors
    /// [`CloudError::Absent`] when no identity is configured; others when the configured one gets no token.
    pub(crate) fn token(&self) -> Result<AccessToken, CloudError> {
        const VARIABLE: &str = "GOOGLE_APPLICATION_CREDENTIALS";
        if let Some(path) = self.environment.get(VARIABLE) {
            let text = files::text(path, VARIABLE)?;
            return self.of_text(&format!("{VARIABLE} ({path})"), &text);
        }
        let mut tried = vec![format!("{VARIABLE} is not set")];
        if let Some(path) = self.usual_file() {
            if let Some(text) = files::text_if_any(&path)? {
                return self.of_text(&path.display().to_string(), &text);
            }
            tried.push(format!("there is no {}", path.display()));
        }
        self.of_machine()?.map_err(|why| {
            tried.push(why.to_string());
            CloudError::Absent {
                what: "Google credentials",
                tried,
                way_out: WAY_OUT,
            }
        })
    }

    /// The output file of `gcloud auth application-default login`.
    fn usual_file(&self) -> Option<PathBuf> {
        const NAME: &str = "application_default_credentials.json";
        let folder = match self.environment.get("CLOUDSDK_CONFIG") {
            Some(folder) => PathBuf::from(folder),
            None if cfg!(windows) => PathBuf::from(self.environment.get("APPDATA")?).join("gcloud"),
            None => self.environment.home()?.join(".config").join("gcloud"),
        };
        Some(folder.join(NAME))
    }

    /// Gets a token of a key that was not given by the owner of this process.
    pub(crate) fn of_given_key(&self, subject: &str, text: &Secret) -> Result<AccessToken, CloudError> {
        self.of_file(subject, &CredentialsFile::given(subject, text)?)
    }

    fn of_text(&self, subject: &str, text: &Secret) -> Result<AccessToken, CloudError> {
        let parsed = serde_json::from_str(text.expose());
        let file: CredentialsFile = parsed.map_err(|e| CloudError::settings(subject, no_json(&e)))?;
        self.of_file(subject, &file)
    }

    fn of_file(&self, subject: &str, file: &CredentialsFile) -> Result<AccessToken, CloudError> {
        let wrong = |detail: &str| CloudError::settings(subject, detail);
        match file.kind.as_str() {
            "service_account" => self.of_service_account(subject, file),
            "authorized_user" => self.of_user(subject, file),
            "external_account" => {
                let federation =
                    Federation::of_file(self.endpoints, file).map_err(|error| CloudError::invalid(subject, error))?;
                self.federated(&federation)
            }
            "external_account_authorized_user" => self.of_workforce_user(subject, file),
            "impersonated_service_account" => {
                let Some(source) = file.source_credentials.as_deref() else {
                    return Err(wrong("lacks source_credentials"));
                };
                if file.service_account_impersonation_url.is_empty() {
                    return Err(wrong("lacks service_account_impersonation_url"));
                }
                let token = self.of_file(subject, source)?;
                let url = address(
                    "service_account_impersonation_url",
                    &file.service_account_impersonation_url,
                )?;
                self.impersonated(url, &file.delegates, 0, &token.token)
            }
            "" => Err(wrong("lacks type; give a service account's key, or what gcloud writes")),
            other => Err(wrong(&format!("is of type {other:?}, which is not supported"))),
        }
    }

    /// Gets a token for an assertion signed with a service account's key (Google Identity, *Using OAuth 2.0 for
    /// Server to Server Applications*).
    fn of_service_account(&self, subject: &str, file: &CredentialsFile) -> Result<AccessToken, CloudError> {
        const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
        let Some(key) = &file.private_key else {
            return Err(CloudError::settings(subject, "lacks private_key"));
        };
        let url = self.token_url(&file.token_uri)?;
        let audience = [file.audience.as_str(), file.token_uri.as_str(), url.as_str()];
        let start = SystemTime::now();
        // Backdated for a service whose clock is behind.
        let issued = start.checked_sub(Duration::from_secs(10)).unwrap_or(start);
        let claims = json!({
            "iss": file.client_email,
            "scope": SCOPES.join(" "),
            "aud": audience.into_iter().find(|text| !text.is_empty()),
            "iat": jwt::seconds(issued),
            "exp": jwt::seconds(issued) + 3600,
        });
        let header = match file.private_key_id.as_str() {
            "" => json!({"alg": "RS256", "typ": "JWT"}),
            id => json!({"alg": "RS256", "typ": "JWT", "kid": id}),
        };
        let assertion = jwt::signed(&header, &claims, key, SignatureScheme::RSA_PKCS1_SHA256)
            .map_err(|error| CloudError::invalid(format!("private_key of {subject}"), error))?;
        let doing = format!("get a Google access token as {}", file.client_email);
        let fields = [("assertion", assertion.expose()), ("grant_type", GRANT)];
        let request = Request::post(url, FORM, form(&fields));
        let answer = self.services.send(&doing, request, &[&assertion, key], self.deadline)?;
        access_token(&doing, answer, start)
    }

    /// Gets a token for the refresh token of a person's login (RFC 6749, *Refreshing an Access Token*).
    fn of_user(&self, subject: &str, file: &CredentialsFile) -> Result<AccessToken, CloudError> {
        let (Some(refresh), Some(secret)) = (&file.refresh_token, &file.client_secret) else {
            return Err(CloudError::settings(subject, "lacks refresh_token or client_secret"));
        };
        let doing = "get a Google access token of a person's login";
        let fields = [
            ("client_id", file.client_id.as_str()),
            ("client_secret", secret.expose()),
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.expose()),
        ];
        let request = Request::post(self.token_url(&file.token_uri)?, FORM, form(&fields));
        let start = SystemTime::now();
        let answer = self.services.send(doing, request, &[refresh, secret], self.deadline)?;
        access_token(doing, answer, start)
    }

    /// The same for a login through a workforce pool, whose client authenticates in a header.
    fn of_workforce_user(&self, subject: &str, file: &CredentialsFile) -> Result<AccessToken, CloudError> {
        let (Some(refresh), Some(secret)) = (&file.refresh_token, &file.client_secret) else {
            return Err(CloudError::settings(subject, "lacks refresh_token or client_secret"));
        };
        let doing = "get a Google access token of a person's login through a workforce pool";
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh.expose())];
        let url = address(&format!("token_url of {subject}"), &file.token_url)?;
        let login = bumpwright_http::basic_header(&file.client_id, secret);
        let request = Request::post(url, FORM, form(&fields)).authorization(login.clone());
        let start = SystemTime::now();
        let answer = self
            .services
            .send(doing, request, &[refresh, secret, &login], self.deadline)?;
        access_token(doing, answer, start)
    }

    fn token_url(&self, given: &str) -> Result<Url, CloudError> {
        match given {
            "" => or_usual(
                self.endpoints.google_token.as_ref(),
                "https://oauth2.googleapis.com/token",
            ),
            given => address("token_uri of the credentials file", given),
        }
    }
}
