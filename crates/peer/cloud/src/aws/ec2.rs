//! AWS credentials of the machine: EC2's instance metadata, version 2 (EC2 User Guide, *Use the Instance Metadata
//! Service*), or version 1 as a fallback.

use std::time::Duration;

use ureq::http::{Method, StatusCode};
use url::Url;

use super::container::Issued;
use super::credentials::{Aws, AwsCredentials};
use crate::refusal::ErrorDetails;
use crate::services::{address, is_ok, json, refused, unusable};
use crate::{Absence, CloudError};
use bumpwright_http::{Answer, Deadline, Request};
use bumpwright_secret::Secret;

const DOING: &str = "get AWS credentials of the machine from EC2 metadata";
const ROLES: &str = "latest/meta-data/iam/security-credentials/";
/// Time limit of the token's answer. It never arrives when the machine is more hops away than allowed.
const TOKEN: Duration = Duration::from_secs(1);

impl Aws<'_> {
    /// The machine's credentials; the inner error says why it has none.
    ///
    /// # Errors
    /// When the endpoint exists and fails.
    pub(crate) fn credentials_of_instance(&self) -> Result<Result<AwsCredentials, Absence>, CloudError> {
        if self.environment.is_true("AWS_EC2_METADATA_DISABLED") {
            return Ok(Err(Absence::SwitchedOff));
        }
        let base = self.metadata_url()?;
        if let Err(why) = self.services.present(&base) {
            return Ok(Err(why.of("EC2 metadata")));
        }
        let token = match self.metadata_token(&base)? {
            Ok(token) => token,
            Err(why) => return Ok(Err(why)),
        };
        let roles = self.metadata(&base, ROLES, token.as_ref())?;
        if roles.status == StatusCode::NOT_FOUND {
            return Ok(Err(Absence::NoRole));
        }
        let roles = ok(roles)?;
        let name = String::from_utf8_lossy(&roles.body);
        let Some(role) = name.lines().next().map(str::trim).filter(|role| is_role(role)) else {
            return Err(unusable(DOING, &roles.url, "it names no role"));
        };
        let answer = ok(self.metadata(&base, &format!("{ROLES}{role}"), token.as_ref())?)?;
        let (url, status) = (answer.url.clone(), answer.status);
        let issued: Issued = json(DOING, answer)?;
        if !issued.code.eq_ignore_ascii_case("success") {
            let said = ErrorDetails {
                code: issued.code,
                message: issued.message,
            };
            return Err(said.error(DOING, &url, status));
        }
        let credentials = issued
            .credentials()
            .ok_or_else(|| unusable(DOING, &url, "it has no usable keys"))?;
        Ok(Ok(credentials))
    }

    fn metadata_url(&self) -> Result<Url, CloudError> {
        const ENDPOINT: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
        let mode = self.environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
        let usual = if mode.is_some_and(|mode| mode.eq_ignore_ascii_case("IPv6")) {
            "http://[fd00:ec2::254]/"
        } else {
            "http://169.254.169.254/"
        };
        let given = self.environment.get(ENDPOINT).unwrap_or(usual);
        let mut url = address(ENDPOINT, given)?;
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        Ok(url)
    }

    /// The token of version 2. None means version 1, the SDK's fallback unless it is disabled; the inner error says why
    /// there is neither.
    fn metadata_token(&self, base: &Url) -> Result<Result<Option<Secret>, Absence>, CloudError> {
        let request = Request::post(joined(base, "latest/api/token")?, "text/plain", "")
            .method(Method::PUT)
            .header("x-aws-ec2-metadata-token-ttl-seconds", "300");
        let cause =
            match self
                .services
                .send_to_metadata(DOING, &request, Deadline::after(TOKEN.min(self.deadline.left())))
            {
                Ok(answer) if is_ok(&answer) => match String::from_utf8(answer.body) {
                    Ok(token) => return Ok(Ok(Some(Secret::new(token)))),
                    Err(_) => "EC2 metadata returned a token that is not text".to_owned(),
                },
                Ok(answer) if answer.status == StatusCode::BAD_REQUEST => return Err(refused(DOING, &answer, &[])),
                Ok(answer) => format!("EC2 metadata returned no token: {}", answer.status),
                Err(error) => error.to_string(),
            };
        if self.environment.is_true("AWS_EC2_METADATA_V1_DISABLED") {
            Ok(Err(Absence::NoMetadataToken { cause }))
        } else {
            Ok(Ok(None))
        }
    }

    fn metadata(&self, base: &Url, path: &str, token: Option<&Secret>) -> Result<Answer, CloudError> {
        let mut request = Request::get(joined(base, path)?);
        if let Some(token) = token {
            request = request.secret_header("x-aws-ec2-metadata-token", token.clone());
        }
        self.services.send_to_metadata(DOING, &request, self.deadline)
    }
}

fn ok(answer: Answer) -> Result<Answer, CloudError> {
    match (is_ok(&answer), answer.status) {
        (true, _) => Ok(answer),
        (false, StatusCode::UNAUTHORIZED) => Err(refused(DOING, &answer, &[]).within(
            "EC2 metadata requires a token that it did not return; in a container the machine must allow two hops \
             (http-put-response-hop-limit)",
        )),
        _ => Err(refused(DOING, &answer, &[])),
    }
}

fn joined(base: &Url, path: &str) -> Result<Url, CloudError> {
    base.join(path)
        .map_err(|e| CloudError::settings("AWS_EC2_METADATA_SERVICE_ENDPOINT", e.to_string()))
}

/// Whether a text is a valid role name (IAM API Reference, *CreateRole*), and so a safe part of a path.
fn is_role(name: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"+=,.@-_".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(good) && name != "." && name != ".."
}
