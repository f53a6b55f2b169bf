//! Workload identity federation: a foreign token is exchanged for one of Google's, which may then impersonate a
//! service account (Google Cloud, *Workload Identity Federation*; RFC 8693; `x/oauth2/google/externalaccount`).

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::Url;
use zeroize::Zeroizing;

use super::identity::{CredentialsFile, Google, SCOPES};
use crate::endpoints::or_usual;
use crate::form::{FORM, form};
use crate::invalid::FederationError;
use crate::services::{address, json as read_json, no_json, unusable};
use crate::token::{AccessToken, access_token};
use crate::{CloudError, Endpoints, fields, files};
use bumpwright_http::{Request, basic_header};
use bumpwright_secret::Secret;
use bumpwright_text::Cuts;

/// The parameters of an exchange.
pub(crate) struct Federation<'a> {
    pub(crate) audience: &'a str,
    pub(crate) token_type: &'a str,
    pub(crate) token_url: Url,
    pub(crate) subject: Subject<'a>,
    /// The impersonated account's address, and the lifetime in seconds; 0 is Google's default, an hour.
    pub(crate) impersonation: Option<(Url, u32)>,
    pub(crate) client: Option<(&'a str, &'a Secret)>,
    pub(crate) user_project: &'a str,
}

pub(crate) enum Subject<'a> {
    Token(&'a Secret),
    Credential(&'a CredentialSource),
}

/// The source of the token in a credentials file.
#[derive(Default, Deserialize)]
pub(crate) struct CredentialSource {
    #[serde(default)]
    file: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    environment_id: String,
    #[serde(default)]
    executable: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    format: Format,
}

#[derive(Default, Deserialize)]
struct Format {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    subject_token_field_name: String,
}

/// The allowed headers of a source's request. All are treated as secrets.
const HEADERS: [&str; 6] = [
    "accept",
    "authorization",
    "content-type",
    "metadata",
    "metadata-flavor",
    "x-identity-header",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Impersonated {
    #[serde(default, deserialize_with = "fields::secret_if_any")]
    access_token: Option<Secret>,
    #[serde(default)]
    expire_time: String,
}

impl Endpoints {
    /// Google's Security Token Service.
    pub(crate) fn google_sts(&self) -> Result<Url, CloudError> {
        or_usual(self.google_sts.as_ref(), "https://sts.googleapis.com/v1/token")
    }
}

impl<'a> Federation<'a> {
    /// # Errors
    /// [`FederationError`], when the file is incomplete or unsupported.
    pub(crate) fn of_file(endpoints: &Endpoints, file: &'a CredentialsFile) -> Result<Self, FederationError> {
        let source = file.credential_source.as_ref().ok_or(FederationError::NoSource)?;
        if file.audience.is_empty() || file.subject_token_type.is_empty() {
            return Err(FederationError::NoAudience);
        }
        if !file.workforce_pool_user_project.is_empty() && !is_workforce(&file.audience) {
            return Err(FederationError::Workforce);
        }
        let impersonation = match file.service_account_impersonation_url.as_str() {
            "" => None,
            text => Some(address("service_account_impersonation_url", text).map_err(Box::new)?),
        };
        Ok(Self {
            audience: &file.audience,
            token_type: &file.subject_token_type,
            token_url: match file.token_url.as_str() {
                "" => endpoints.google_sts().map_err(Box::new)?,
                text => address("token_url", text).map_err(Box::new)?,
            },
            subject: Subject::Credential(source),
            impersonation: impersonation.map(|url| (url, file.service_account_impersonation.token_lifetime_seconds)),
            client: file
                .client_secret
                .as_ref()
                .map(|secret| (file.client_id.as_str(), secret)),
            user_project: &file.workforce_pool_user_project,
        })
    }
}

fn is_workforce(audience: &str) -> bool {
    let rest = audience
        .split_once("//iam.googleapis.com/locations/")
        .map(|(_, rest)| rest);
    let pool = rest.and_then(|rest| rest.split_once('/'));
    pool.is_some_and(|(location, rest)| !location.is_empty() && rest.starts_with("workforcePools/"))
}

impl Google<'_> {
    /// Exchanges the foreign token, and impersonates the account, if any.
    pub(crate) fn federated(&self, federation: &Federation<'_>) -> Result<AccessToken, CloudError> {
        let subject = match &federation.subject {
            Subject::Token(token) => (*token).clone(),
            Subject::Credential(source) => self.subject_token(source)?,
        };
        let token = self.exchanged(federation, &subject)?;
        match &federation.impersonation {
            Some((url, lifetime)) => self.impersonated(url.clone(), &[], *lifetime, &token.token),
            None => Ok(token),
        }
    }

    fn exchanged(&self, federation: &Federation<'_>, subject: &Secret) -> Result<AccessToken, CloudError> {
        let doing = format!("exchange a token for one of Google's ({})", federation.audience);
        let scope = match federation.impersonation {
            Some(_) => {
                let [platform, ..] = SCOPES;
                platform.to_owned()
            }
            None => SCOPES.join(" "),
        };
        let options = json!({"userProject": federation.user_project}).to_string();
        let mut fields = vec![
            ("audience", federation.audience),
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("scope", &scope),
            ("subject_token", subject.expose()),
            ("subject_token_type", federation.token_type),
        ];
        if !federation.user_project.is_empty() && federation.client.is_none() {
            fields.push(("options", &options));
        }
        let mut request = Request::post(federation.token_url.clone(), FORM, form(&fields));
        let mut secrets = vec![subject];
        if let Some((id, secret)) = federation.client {
            request = request.authorization(basic_header(id, secret));
            secrets.push(secret);
        }
        let start = SystemTime::now();
        let answer = self.services.send(&doing, request, &secrets, self.deadline)?;
        let token = access_token(&doing, answer, start)?;
        match token.expires {
            Some(_) => Ok(token),
            None => Err(unusable(&doing, &federation.token_url, "it has no expires_in")),
        }
    }

    /// Gets a token that impersonates a service account (IAM Service Account Credentials API, *generateAccessToken*).
    pub(crate) fn impersonated(
        &self,
        url: Url,
        delegates: &[String],
        lifetime: u32,
        with: &Secret,
    ) -> Result<AccessToken, CloudError> {
        let account = url.path().behind_last('/').before(':');
        let doing = format!("get a Google access token for the service account {account}");
        let lifetime = if lifetime == 0 { 3600 } else { lifetime };
        let lifetime = format!("{lifetime}s");
        let body = match delegates {
            [] => json!({"lifetime": lifetime, "scope": SCOPES}),
            _ => json!({"delegates": delegates, "lifetime": lifetime, "scope": SCOPES}),
        };
        let request = Request::post(url.clone(), "application/json", body.to_string())
            .authorization(Zeroizing::new(format!("Bearer {}", with.expose())).as_str());
        let answer = self.services.send(&doing, request, &[with], self.deadline)?;
        let body: Impersonated = read_json(&doing, answer)?;
        let token = body
            .access_token
            .ok_or_else(|| unusable(&doing, &url, "it has no accessToken"))?;
        let expires =
            fields::date(&body.expire_time).ok_or_else(|| unusable(&doing, &url, "its expireTime is not a date"))?;
        Ok(AccessToken {
            token,
            expires: Some(expires),
        })
    }

    fn subject_token(&self, source: &CredentialSource) -> Result<Secret, CloudError> {
        let wrong = |detail: &str| CloudError::settings("credential_source of the Google credentials file", detail);
        if source.environment_id.starts_with("aws") {
            return Err(wrong(
                "is AWS (environment_id), which is not supported; use a file or a url",
            ));
        }
        let text = if !source.file.is_empty() {
            files::trimmed(&files::text(
                &source.file,
                "credential_source of the Google credentials file",
            )?)
        } else if !source.url.is_empty() {
            self.subject_token_of_url(source)?
        } else if source.executable.is_some() {
            return Err(wrong("is an executable, which is not supported; use a file or a url"));
        } else {
            return Err(wrong("names neither a file nor a url"));
        };
        match source.format.kind.as_str() {
            "" | "text" => Ok(text),
            "json" => {
                let document: Map<String, Value> =
                    serde_json::from_str(text.expose()).map_err(|e| wrong(&no_json(&e)))?;
                let token = document
                    .get(&source.format.subject_token_field_name)
                    .and_then(Value::as_str);
                token
                    .map(Secret::new)
                    .ok_or_else(|| wrong("gives JSON without a text of the name subject_token_field_name"))
            }
            _ => Err(wrong("has a format that is neither text nor json")),
        }
    }

    fn subject_token_of_url(&self, source: &CredentialSource) -> Result<Secret, CloudError> {
        const DOING: &str = "get a token to exchange for one of Google's";
        let url = address("credential_source.url of the Google credentials file", &source.url)?;
        let mut request = Request::get(url.clone());
        let mut secrets = Vec::new();
        for (name, value) in &source.headers {
            let header = HEADERS.into_iter().find(|known| name.eq_ignore_ascii_case(known));
            let Some(header) = header else {
                let detail = format!("has the header {name:?}; supported are {}", HEADERS.join(", "));
                return Err(CloudError::settings(
                    "credential_source of the Google credentials file",
                    detail,
                ));
            };
            let value = Secret::new(value.as_str());
            request = request.secret_header(header, value.clone());
            secrets.push(value);
        }
        let secrets: Vec<&Secret> = secrets.iter().collect();
        let answer = self.services.send(DOING, request, &secrets, self.deadline)?;
        let text = String::from_utf8(answer.body).map_err(|_| unusable(DOING, &url, "it is not UTF-8"))?;
        Ok(Secret::new(text))
    }
}
