//! AWS' Security Token Service: roles assumed with a token or with other credentials (STS API Reference,
//! *AssumeRoleWithWebIdentity*, *AssumeRole*).

use std::time::{SystemTime, UNIX_EPOCH};

use url::Url;
use zeroize::Zeroizing;

use super::credentials::{Aws, AwsCredentials};
use super::endpoint::{STS, endpoint};
use super::profile::{Role, WebIdentity};
use super::sigv4::{Signer, Unsigned};
use crate::form::{FORM, form};
use crate::services::unusable;
use crate::{CloudError, fields, files, xml};
use bumpwright_http::{Answer, Request};
use bumpwright_secret::Secret;

const VERSION: (&str, &str) = ("Version", "2011-06-15");
const TARGET: &str = "x-amz-target";

impl Aws<'_> {
    /// Assumes a role with the token in a file, which is read each time because Kubernetes renews it.
    pub(crate) fn assume_role_with_web_identity(&self, identity: &WebIdentity) -> Result<AwsCredentials, CloudError> {
        let token = files::trimmed(&files::text(&identity.file, "AWS web identity token file")?);
        self.assume_role_by_token(&identity.role, identity.session.as_deref(), &token)
    }

    /// Assumes a role with a token.
    pub(crate) fn assume_role_by_token(
        &self,
        role: &str,
        session: Option<&str>,
        token: &Secret,
    ) -> Result<AwsCredentials, CloudError> {
        let doing = format!("assume the AWS role {role} by a web identity token");
        let own = own_session_name();
        let body = form(&[
            ("Action", "AssumeRoleWithWebIdentity"),
            VERSION,
            ("RoleArn", role),
            ("RoleSessionName", session.unwrap_or(&own)),
            ("WebIdentityToken", token.expose()),
        ]);
        let url = self.sts()?;
        let request = Request::post(url, FORM, body);
        let answer = self.services.send(&doing, request, &[token], self.deadline)?;
        credentials(&doing, answer)
    }

    /// Assumes a role with other credentials.
    pub(crate) fn assume_role(&self, role: &Role, with: &AwsCredentials) -> Result<AwsCredentials, CloudError> {
        let doing = format!("assume the AWS role {} as {}", role.arn, with.access_key_id);
        let (own, duration) = (own_session_name(), role.duration.to_string());
        let mut fields = vec![
            ("Action", "AssumeRole"),
            VERSION,
            ("RoleArn", role.arn.as_str()),
            ("RoleSessionName", role.session.as_deref().unwrap_or(&own)),
            ("DurationSeconds", &duration),
        ];
        fields.extend(role.external_id.as_deref().map(|id| ("ExternalId", id)));
        let url = self.sts()?;
        let signer = Signer {
            credentials: with,
            region: self.region,
            service: STS.signed,
        };
        let (request, secrets) = signed_post(&signer, &url, FORM, None, form(&fields));
        let secrets: Vec<&Secret> = secrets.iter().collect();
        let answer = self.services.send(&doing, request, &secrets, self.deadline)?;
        credentials(&doing, answer)
    }
}

impl Aws<'_> {
    fn sts(&self) -> Result<Url, CloudError> {
        match &self.endpoints.aws_sts {
            Some(given) => Ok(given.clone()),
            None => endpoint(self.environment, STS, self.region),
        }
    }
}

/// A signed `POST`, and its secrets, which errors must not contain. `target` is the operation, for
/// services that need it.
pub(crate) fn signed_post(
    signer: &Signer<'_>,
    url: &Url,
    content_type: &str,
    target: Option<&str>,
    body: Secret,
) -> (Request, Vec<Secret>) {
    let target = target.map(|target| (TARGET, target));
    let headers: Vec<(&str, &str)> = [("content-type", content_type)].into_iter().chain(target).collect();
    let unsigned = Unsigned {
        method: "POST",
        url,
        headers: &headers,
        body: body.expose().as_bytes(),
    };
    let signed = signer.sign(unsigned, SystemTime::now());
    let (mut request, secrets) = signer.put(signed, Request::post(url.clone(), content_type, body));
    if let Some((name, value)) = target {
        request = request.header(name, value);
    }
    (request, secrets)
}

/// The credentials of an STS answer.
fn credentials(doing: &str, answer: Answer) -> Result<AwsCredentials, CloudError> {
    let (url, body) = (answer.url, Zeroizing::new(answer.body));
    let document = std::str::from_utf8(&body).map_err(|_| unusable(doing, &url, "it is not UTF-8"))?;
    let field = |name: &str| {
        let text = xml::text(document, &["Credentials", name]).filter(|text| !text.is_empty());
        text.ok_or_else(|| unusable(doing, &url, format!("it has no Credentials/{name}")))
    };
    let expires = field("Expiration")?;
    Ok(AwsCredentials {
        access_key_id: field("AccessKeyId")?,
        secret_access_key: Secret::new(field("SecretAccessKey")?),
        session_token: Some(Secret::new(field("SessionToken")?)),
        expires: Some(fields::date(&expires).ok_or_else(|| unusable(doing, &url, "its Expiration is not a date"))?),
    })
}

/// A default session name for CloudTrail: like the SDK's, it differs each time.
fn own_session_name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("bumpwright-{}", since.as_nanos())
}
