//! Google's metadata server: the machine's token, and its GKE cluster (Compute Engine, *View and query VM
//! metadata*).

use std::time::SystemTime;

use url::Url;

use super::identity::{Google, SCOPES};
use crate::services::{address, is_ok, refused, unusable};
use crate::token::{AccessToken, access_token};
use crate::{Absence, CloudError};
use bumpwright_http::{Answer, Request};

const HOST: &str = "GCE_METADATA_HOST";
const TOKEN: &str = "get a Google access token of the machine";

impl Google<'_> {
    /// The machine's token; the inner error says why it has none.
    ///
    /// # Errors
    /// When the metadata server exists and refuses.
    pub(crate) fn of_machine(&self) -> Result<Result<AccessToken, Absence>, CloudError> {
        let base = self.metadata_url()?;
        if let Err(why) = self.services.present(&base) {
            return Ok(Err(why.of("the metadata server")));
        }
        let start = SystemTime::now();
        let mut url = joined(&base, "instance/service-accounts/default/token")?;
        url.query_pairs_mut().append_pair("scopes", &SCOPES.join(","));
        match self.metadata(TOKEN, url)? {
            Ok(answer) => access_token(TOKEN, answer, start).map(Ok),
            Err(why) => Ok(Err(why)),
        }
    }

    /// The workload identity pool of this machine's GKE cluster, and the cluster's name as a provider
    /// of it (`fluxcd/pkg/auth/gcp`, *gkeMetadata*).
    ///
    /// # Errors
    /// With Flux' words, when it is not a GKE cluster.
    pub(crate) fn gke_pool(&self) -> Result<(String, String), CloudError> {
        let get = |what: &str, path: &str| {
            let doing = format!("failed to get GKE cluster {what} from the metadata service");
            let base = self.metadata_url()?;
            self.services
                .present(&base)
                .map_err(|why| CloudError::invalid(doing.as_str(), why))?;
            let url = joined(&base, path)?;
            let answer = self
                .metadata(&doing, url.clone())?
                .map_err(|why| CloudError::invalid(doing.as_str(), why))?;
            match String::from_utf8_lossy(&answer.body).trim() {
                "" => Err(unusable(&doing, &url, "empty value")),
                value => Ok(value.to_owned()),
            }
        };
        let project = get("project ID", "project/project-id")?;
        let location = get("location", "instance/attributes/cluster-location")?;
        let name = get("name", "instance/attributes/cluster-name")?;
        let provider =
            format!("https://container.googleapis.com/v1/projects/{project}/locations/{location}/clusters/{name}");
        Ok((format!("{project}.svc.id.goog"), provider))
    }

    fn metadata_url(&self) -> Result<Url, CloudError> {
        let host = self.environment.get(HOST).unwrap_or("169.254.169.254");
        address(HOST, &format!("http://{host}/computeMetadata/v1/"))
    }

    /// An answer of Google's metadata server; the inner error says that it is another cloud's: all
    /// use the same address.
    fn metadata(&self, doing: &str, url: Url) -> Result<Result<Answer, Absence>, CloudError> {
        let place = url.origin().ascii_serialization();
        let request = Request::get(url).header("metadata-flavor", "Google");
        let answer = self.services.send_to_metadata(doing, &request, self.deadline)?;
        match (answer.header("metadata-flavor"), is_ok(&answer)) {
            (Some("Google"), true) => Ok(Ok(answer)),
            (Some("Google"), false) => Err(refused(doing, &answer, &[])),
            _ => Ok(Err(Absence::NotGoogle { place })),
        }
    }
}

fn joined(base: &Url, path: &str) -> Result<Url, CloudError> {
    base.join(path).map_err(|e| CloudError::settings(HOST, e.to_string()))
}
