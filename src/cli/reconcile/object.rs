//! An object of a cluster, at the version that the server has.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use crate::cli::error::CliError;
use crate::cli::installed::at;
use crate::cli::view::{kinds, meant, no_kinds, not_found};
use bumpwright_api::ObjectName;
use bumpwright_kube::{
    Cluster, ClusterError, GIT_REPOSITORY, HELM_CHART, HELM_REPOSITORY, IMAGE_REPOSITORY, Kind, Resource,
};
use bumpwright_overview::ReleaseFacts;

#[derive(Debug)]
pub(in crate::cli) struct Target {
    pub resource: Resource,
    pub name: ObjectName,
    /// It, when it was read.
    pub object: Value,
}

/// The form in Flux's messages: `Kustomization/flux-system/apps`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.resource.gvk.kind, self.name)
    }
}

impl Target {
    /// Reads an object.
    ///
    /// # Errors
    /// It is not there, or its kind is not; or another error of the server.
    pub(in crate::cli) async fn find(cluster: &Cluster, kind: &Kind, name: ObjectName) -> Result<Self, CliError> {
        let resource = served(cluster, kind).await?;
        let mut object = match cluster.fetch(&resource, &name).await {
            Ok(object) => object,
            Err(error) if error.is_not_found() => {
                let missing = found(&resource, &name, error);
                return Err(meant::hinted(missing, cluster, (Some(&resource.gvk), &name), BTreeSet::new()).await);
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Self {
            object: std::mem::take(&mut *object),
            resource,
            name,
        })
    }

    /// All objects of a kind in a namespace.
    ///
    /// # Errors
    /// The kind is not there; or another error of the server.
    pub(in crate::cli) async fn all(cluster: &Cluster, kind: &Kind, namespace: &str) -> Result<Vec<Self>, CliError> {
        let resource = served(cluster, kind).await?;
        let mut objects = cluster.list(&resource, namespace, "").await?;
        let objects = std::mem::take(&mut *objects).into_iter();
        let target = |object: Value| Self {
            name: ObjectName::new(namespace, at(&object, "/metadata/name")),
            resource: resource.clone(),
            object,
        };
        Ok(objects.map(target).collect())
    }

    /// The HelmChart that helm-controller makes for a HelmRelease: as its status says, or as it will name it.
    fn helm_chart(&self) -> Option<ObjectName> {
        let facts: ReleaseFacts = serde_json::from_value(self.object.clone()).ok()?;
        facts.helm_chart().map(|chart| chart.name)
    }

    /// Whether no controller reconciles it: a HelmRepository in a registry.
    pub(in crate::cli) fn is_static(&self) -> bool {
        self.resource.gvk.kind == HELM_REPOSITORY.kind && at(&self.object, "/spec/type") == "oci"
    }

    /// Its source; none for a kind without one.
    pub(in crate::cli) fn source(&self) -> Option<(&'static Kind, ObjectName)> {
        let (kind, field) = match self.resource.gvk.kind.as_str() {
            "Kustomization" => (
                kinds::named(at(&self.object, "/spec/sourceRef/kind"))?,
                "/spec/sourceRef",
            ),
            "ImageUpdateAutomation" => (&GIT_REPOSITORY, "/spec/sourceRef"),
            "ImagePolicy" => (&IMAGE_REPOSITORY, "/spec/imageRepositoryRef"),
            "HelmRelease" if self.object.pointer("/spec/chartRef").is_some() => {
                (kinds::named(at(&self.object, "/spec/chartRef/kind"))?, "/spec/chartRef")
            }
            "HelmRelease" => return Some((&HELM_CHART, self.helm_chart()?)),
            "HelmChart" => (
                kinds::named(at(&self.object, "/spec/sourceRef/kind"))?,
                "/spec/sourceRef",
            ),
            _ => return None,
        };
        let part = |part: &str| at(&self.object, &format!("{field}/{part}"));
        Some((
            kind,
            ObjectName::referred_from(&self.name.namespace, Some(part("namespace")), part("name")),
        ))
    }
}

/// The kind at the version that the server has.
async fn served(cluster: &Cluster, kind: &Kind) -> Result<Resource, CliError> {
    let wanted = Resource::of(kind, true);
    let resource = cluster.resource_at_any_version(&wanted.gvk).await?;
    let resource = resource.ok_or_else(|| no_kinds(&[kind.kind]))?;
    Ok((*resource).clone())
}

/// That an object is not there, in words; or another error as it is.
pub(in crate::cli) fn found(resource: &Resource, name: &ObjectName, error: ClusterError) -> CliError {
    if error.is_not_found() {
        not_found(&resource.gvk.kind, &name.name, &name.namespace)
    } else {
        error.into()
    }
}
