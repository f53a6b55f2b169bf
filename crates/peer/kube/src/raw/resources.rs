//! Asks the API server for its kinds.

use std::sync::Arc;

use serde_json::Value;

use super::answer::ApiCall;
use super::answered::Answered;
use super::discovery::{Group, GroupList, ListedResource, Resource, ResourceList, VERSIONS};
use crate::client::cluster::Cluster;
use crate::error::ClusterError;
use crate::kind::GroupVersionKind;

impl Cluster {
    /// Drops a kind, after the server did not have its path.
    pub fn forget_kind(&self, gvk: &GroupVersionKind) {
        self.discovery.forget(gvk);
    }

    /// Finds a kind at the server.
    ///
    /// # Errors
    /// [`ClusterError::NoMatch`] when it has none of that name, and any other error of the server.
    pub async fn resource(&self, gvk: &GroupVersionKind) -> Result<Arc<Resource>, ClusterError> {
        if let Some(resource) = self.discovery.find(gvk) {
            return Ok(resource);
        }
        let no_match = || ClusterError::NoMatch {
            kind: gvk.kind.clone(),
            api_version: gvk.api_version(),
        };
        match self.answer::<ResourceList>(ApiCall::get(&gvk.base())).await {
            Ok(list) => self.discovery.put(gvk, list.into_value()).ok_or_else(no_match),
            Err(error) if error.is_not_found() => Err(no_match()),
            Err(error) => Err(error),
        }
    }

    /// Finds a kind at the server, at another version if necessary; None when it has none.
    pub async fn resource_at_any_version(&self, gvk: &GroupVersionKind) -> Result<Option<Arc<Resource>>, ClusterError> {
        match self.resource(gvk).await {
            Err(ClusterError::NoMatch { .. }) => {}
            answer => return answer.map(Some),
        }
        for version in self.versions_of(&gvk.group).await? {
            if version == gvk.version {
                continue;
            }
            let at = GroupVersionKind { version, ..gvk.clone() };
            match self.resource(&at).await {
                Err(ClusterError::NoMatch { .. }) => {}
                answer => return answer.map(Some),
            }
        }
        Ok(None)
    }

    /// The versions of a group; none if it is not served.
    async fn versions_of(&self, group: &str) -> Result<Vec<String>, ClusterError> {
        if group.is_empty() {
            return Ok(vec!["v1".to_owned()]);
        }
        match self.answer::<Group>(ApiCall::get(&format!("/apis/{group}"))).await {
            Ok(group) => {
                let versions = group.into_value().versions.into_iter();
                Ok(versions.map(|listed| listed.version).take(VERSIONS).collect())
            }
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// All kinds with objects in namespaces that can be listed, each at the version that the server prefers.
    ///
    /// # Errors
    /// Whatever the server says, also about a single group.
    pub async fn namespaced_resources(&self) -> Result<Vec<Resource>, ClusterError> {
        let groups = self.answer::<GroupList>(ApiCall::get("/apis")).await?.into_value();
        let groups = groups
            .groups
            .into_iter()
            .map(|listed| (listed.name, listed.preferred.version));
        let mut resources = Vec::new();
        for (group, version) in [(String::new(), "v1".to_owned())].into_iter().chain(groups) {
            let kind = String::new();
            let of_group = GroupVersionKind { group, version, kind };
            let list = self.answer::<ResourceList>(ApiCall::get(&of_group.base())).await?;
            let is_wanted = |listed: &ListedResource| {
                listed.namespaced && !listed.name.contains('/') && listed.verbs.iter().any(|verb| verb == "list")
            };
            resources.extend(
                list.into_value()
                    .resources
                    .into_iter()
                    .filter(is_wanted)
                    .map(|listed| Resource {
                        gvk: GroupVersionKind {
                            kind: listed.kind,
                            ..of_group.clone()
                        },
                        plural: listed.name,
                        namespaced: true,
                    }),
            );
        }
        Ok(resources)
    }

    /// The server's OpenAPI document (version 3) of a group and version; None when it has none.
    pub async fn open_api(&self, gvk: &GroupVersionKind) -> Result<Option<Answered<Value>>, ClusterError> {
        match self.answer(ApiCall::get(&format!("/openapi/v3{}", gvk.base()))).await {
            Ok(document) => Ok(Some(document)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}
