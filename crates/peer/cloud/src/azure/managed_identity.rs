//! Entra tokens of the machine: managed identities of virtual machines and of App Service (Entra ID, *How to use
//! managed identities on a virtual machine to acquire an access token*; App Service, *Use managed identities*).

use std::time::SystemTime;

use url::Url;

use super::identity::Azure;
use crate::services::{address, is_ok, refused};
use crate::token::{AccessToken, access_token};
use crate::{Absence, CloudError};
use bumpwright_http::Request;
use bumpwright_secret::Secret;

impl Azure<'_> {
    /// The token of an identity, or of the machine's own one; the inner error says why the machine has none.
    ///
    /// # Errors
    /// When the endpoint exists and refuses.
    pub(crate) fn of_managed_identity(
        &self,
        client: Option<&str>,
        scope: &str,
    ) -> Result<Result<AccessToken, Absence>, CloudError> {
        let resource = scope.strip_suffix("/.default").unwrap_or(scope);
        let Endpoint { url, header, secret } = self.managed_identity()?;
        if let Err(why) = self.services.present(&url) {
            return Ok(Err(why.of("the managed identity's endpoint")));
        }
        let doing = match client {
            Some(client) => format!("get an Entra token for {scope} as the managed identity {client}"),
            None => format!(
                "get an Entra token for {scope} as the machine's own managed identity (AZURE_CLIENT_ID names another)"
            ),
        };
        let mut url = url;
        url.query_pairs_mut()
            .append_pair("resource", resource)
            .extend_pairs(client.map(|client| ("client_id", client)));
        let mut request = Request::get(url);
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        if let Some((name, secret)) = &secret {
            request = request.secret_header(name, secret.clone());
        }
        let start = SystemTime::now();
        let answer = self.services.send_to_metadata(&doing, &request, self.deadline)?;
        if !is_ok(&answer) {
            let secrets: Vec<&Secret> = secret.iter().map(|(_, secret)| secret).collect();
            return Err(refused(&doing, &answer, &secrets));
        }
        access_token(&doing, answer, start).map(Ok)
    }

    /// The endpoint, by the variables of the platform (MSAL, `managedidentity.GetSource`).
    fn managed_identity(&self) -> Result<Endpoint, CloudError> {
        const IDENTITY: &str = "IDENTITY_ENDPOINT";
        const HOST: &str = "AZURE_POD_IDENTITY_AUTHORITY_HOST";
        let set = |name| self.environment.get(name);
        let other = |name: &str, kind: &str| {
            CloudError::settings(
                name,
                format!("managed identities of {kind} are not supported; set AZURE_CLIENT_SECRET"),
            )
        };
        if let (Some(endpoint), Some(header)) = (set(IDENTITY), set("IDENTITY_HEADER")) {
            if set("IDENTITY_SERVER_THUMBPRINT").is_some() {
                return Err(other("IDENTITY_SERVER_THUMBPRINT", "Service Fabric"));
            }
            let mut url = address(IDENTITY, endpoint)?;
            url.query_pairs_mut().append_pair("api-version", "2019-08-01");
            return Ok(Endpoint {
                url,
                header: None,
                secret: Some(("x-identity-header", Secret::new(header))),
            });
        }
        if set("MSI_ENDPOINT").is_some() {
            return Err(other("MSI_ENDPOINT", "Cloud Shell and Azure ML"));
        }
        if set(IDENTITY).is_some() && set("IMDS_ENDPOINT").is_some() {
            return Err(other("IMDS_ENDPOINT", "Azure Arc"));
        }
        let base = address(HOST, set(HOST).unwrap_or("http://169.254.169.254/"))?;
        let mut url = base.join("/metadata/identity/oauth2/token").unwrap_or(base);
        url.query_pairs_mut().append_pair("api-version", "2018-02-01");
        Ok(Endpoint {
            url,
            header: Some(("metadata", "true")),
            secret: None,
        })
    }
}

struct Endpoint {
    url: Url,
    header: Option<(&'static str, &'static str)>,
    secret: Option<(&'static str, Secret)>,
}
