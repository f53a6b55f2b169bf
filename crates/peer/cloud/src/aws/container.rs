//! AWS credentials of a container: ECS' endpoint and EKS Pod Identity (SDKs and Tools Reference Guide, *Container
//! credential provider*).

use serde::Deserialize;
use url::Url;

use super::credentials::{Aws, AwsCredentials};
use crate::endpoints::or_usual;
use crate::services::{address, addresses, is_ok, json, refused, unusable};
use crate::{CloudError, fields, files};
use bumpwright_http::Request;
use bumpwright_secret::Secret;

const RELATIVE: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const DOING: &str = "get AWS credentials of the container";

/// The answer of metadata endpoints and of a `credential_process`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Issued {
    #[serde(default)]
    access_key_id: String,
    #[serde(default, deserialize_with = "fields::secret_if_any")]
    secret_access_key: Option<Secret>,
    #[serde(default, alias = "SessionToken", deserialize_with = "fields::secret_if_any")]
    token: Option<Secret>,
    #[serde(default)]
    expiration: Option<String>,
    /// EC2: `Success`, or an error code.
    #[serde(default)]
    pub(crate) code: String,
    /// EC2: the error message.
    #[serde(default)]
    pub(crate) message: String,
    /// `credential_process`: the version of this document.
    #[serde(default)]
    pub(crate) version: u32,
}

impl Issued {
    /// Converts to credentials; `None` when something is missing, or the expiry is not a date.
    pub(crate) fn credentials(self) -> Option<AwsCredentials> {
        let expires = match self.expiration.filter(|text| !text.is_empty()) {
            Some(text) => Some(fields::date(&text)?),
            None => None,
        };
        let credentials = AwsCredentials {
            access_key_id: self.access_key_id,
            secret_access_key: self.secret_access_key?,
            session_token: self.token,
            expires,
        };
        (!credentials.access_key_id.is_empty()).then_some(credentials)
    }
}

impl Aws<'_> {
    /// Whether the environment names such an endpoint.
    pub(crate) fn names_container(&self) -> bool {
        self.environment
            .get(RELATIVE)
            .or_else(|| self.environment.get(FULL))
            .is_some()
    }

    pub(crate) fn credentials_of_container(&self) -> Result<AwsCredentials, CloudError> {
        let url = self.container_url()?;
        let token = self.container_token()?;
        let mut request = Request::get(url.clone()).header("accept", "application/json");
        if let Some(token) = &token {
            request = request.authorization(token.clone());
        }
        let secrets: Vec<&Secret> = token.iter().collect();
        let answer = match url.scheme() {
            "https" => self.services.send(DOING, request, &secrets, self.deadline)?,
            _ => {
                self.services
                    .present(&url)
                    .map_err(|why| CloudError::invalid(DOING, why))?;
                let answer = self.services.send_to_metadata(DOING, &request, self.deadline)?;
                if !is_ok(&answer) {
                    return Err(refused(DOING, &answer, &secrets));
                }
                answer
            }
        };
        let issued: Issued = json(DOING, answer)?;
        issued
            .credentials()
            .ok_or_else(|| unusable(DOING, &url, "it has no usable keys"))
    }

    /// Plain `http` is allowed only to this machine and to the addresses of ECS and EKS, since the token is sent there.
    fn container_url(&self) -> Result<Url, CloudError> {
        if let Some(path) = self.environment.get(RELATIVE) {
            let base = or_usual(self.endpoints.aws_container.as_ref(), "http://169.254.170.2/")?;
            let url = base.join(path).ok().filter(|url| url.origin() == base.origin());
            return url.ok_or_else(|| CloudError::settings(RELATIVE, "is not a path; it must begin with a slash"));
        }
        let url = address(FULL, self.environment.get(FULL).unwrap_or_default())?;
        let near = || addresses(&url).is_ok_and(|all| !all.is_empty() && all.iter().all(|at| is_near(at.ip())));
        if url.scheme() == "https" || near() {
            Ok(url)
        } else {
            Err(CloudError::settings(
                FULL,
                "must be https, or lead to this machine or to the ECS or EKS endpoint (169.254.170.2, 169.254.170.23, \
                 [fd00:ec2::23])",
            ))
        }
    }

    fn container_token(&self) -> Result<Option<Secret>, CloudError> {
        const FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";
        const TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
        let token = match (self.environment.get(FILE), self.environment.get(TOKEN)) {
            (Some(file), _) => Some(files::trimmed(&files::text(file, FILE)?)),
            (None, Some(token)) => Some(Secret::new(token)),
            (None, None) => None,
        };
        if token
            .as_ref()
            .is_some_and(|token| token.expose().contains(['\r', '\n']))
        {
            Err(CloudError::settings(FILE, "contains a token with a line break"))
        } else {
            Ok(token)
        }
    }
}

fn is_near(ip: std::net::IpAddr) -> bool {
    let addresses = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"];
    ip.is_loopback() || addresses.iter().any(|near| near.parse() == Ok(ip))
}
