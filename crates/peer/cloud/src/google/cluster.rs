//! Google Kubernetes Engine: descriptions of clusters (Kubernetes Engine API, *projects.locations.clusters.get*).
//! Tokens are ordinary access tokens of Google (K-120).

use serde::Deserialize;

use crate::endpoints::or_usual;
use crate::login::cluster::{ClusterLogin, ClusterPlace, no_token};
use crate::services::{json, unusable};
use crate::{Cloud, CloudError, WorkloadIdentity};
use bumpwright_http::{Deadline, Request};
use bumpwright_secret::Secret;

const PATTERN: &str = "^projects/[^/]{1,200}/locations/[^/]{1,200}/clusters/[^/]{1,200}$";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cluster {
    #[serde(default)]
    endpoint: String,
    #[serde(default)]
    master_auth: MasterAuth,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MasterAuth {
    #[serde(default)]
    cluster_ca_certificate: String,
}

impl Cloud {
    /// A login at a cluster of GKE.
    pub(crate) fn google_cluster(
        &self,
        place: &ClusterPlace,
        account: Option<&WorkloadIdentity>,
        deadline: Deadline,
    ) -> Result<ClusterLogin, CloudError> {
        let token = self.google_token(account, deadline).map_err(no_token)?;
        let cluster = place.completed(|| self.described_by_google(place, &token.token, deadline))?;
        ClusterLogin::new(cluster, token.token, token.expires)
    }

    fn described_by_google(
        &self,
        place: &ClusterPlace,
        token: &Secret,
        deadline: Deadline,
    ) -> Result<(String, String), CloudError> {
        let name = &place.cluster;
        check(name)?;
        let failed = |error: CloudError| error.within(format!("failed to describe GKE cluster '{name}'"));
        let cluster = self.ask_google(name, token, deadline).map_err(failed)?;
        let ca = place.decoded_authorities("GKE", &cluster.master_auth.cluster_ca_certificate)?;
        Ok((cluster.endpoint, ca))
    }

    fn ask_google(&self, name: &str, token: &Secret, deadline: Deadline) -> Result<Cluster, CloudError> {
        let doing = "describe it at Google Kubernetes Engine";
        let mut url = or_usual(self.google_container(), "https://container.googleapis.com")?;
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("v1").extend(name.split('/'));
        }
        let bearer = Secret::new(format!("Bearer {}", token.expose()));
        let request = Request::get(url.clone()).authorization(bearer.clone());
        let answer = self.send(doing, request, &[token, &bearer], deadline)?;
        let cluster: Cluster = json(doing, answer)?;
        if cluster.endpoint.is_empty() {
            Err(unusable(doing, &url, "it has no endpoint yet"))
        } else {
            Ok(cluster)
        }
    }
}

fn check(name: &str) -> Result<(), CloudError> {
    let parts: Vec<&str> = name.split('/').collect();
    let good = |part: &str| (1..=200).contains(&part.chars().count()) && !matches!(part, "." | "..");
    match parts.as_slice() {
        ["projects", project, "locations", location, "clusters", cluster]
            if good(project) && good(location) && good(cluster) =>
        {
            Ok(())
        }
        _ => Err(CloudError::Unfit(format!(
            "invalid GKE cluster ID: '{name}'. must match {PATTERN}"
        ))),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn k_120_names_of_clusters() {
        check("projects/p/locations/europe-west1/clusters/c").unwrap();
        for bad in [
            "",
            "c",
            "projects/p/locations/l/clusters/",
            "projects/p/locations/l/clusters/c/nodePools/n",
            "projects/p/zones/l/clusters/c",
            "projects/p/locations/../clusters/c",
        ] {
            let said = check(bad).unwrap_err().to_string();
            let expected = format!(
                "invalid GKE cluster ID: '{bad}'. must match \
                 ^projects/[^/]{{1,200}}/locations/[^/]{{1,200}}/clusters/[^/]{{1,200}}$"
            );
            assert_eq!(said, expected);
        }
    }
}
