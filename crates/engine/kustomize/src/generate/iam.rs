//! `IAMPolicyGenerator`: a Kubernetes service account bound to one of Google Cloud.

use crate::fields::{ConfigError, Fields};
use bumpwright_yaml::Node;

/// Generates the service account of a config.
///
/// # Errors
///
/// A field has a wrong value, or the cloud is not `gke`.
pub fn iam_policy(config: &Node) -> Result<Node, ConfigError> {
    const WHAT: &str = "IAMPolicyGenerator";
    let none = Node::mapping().at(config.place);
    let mut fields = Fields::of(config, WHAT)?;
    let cloud = fields.string("cloud")?;
    let mut service = Fields::of(fields.get("kubernetesService").unwrap_or(&none), "kubernetesService")?;
    let mut account = Fields::of(fields.get("serviceAccount").unwrap_or(&none), "serviceAccount")?;
    if cloud != "gke" {
        return Err(ConfigError::Field {
            place: config.place,
            what: WHAT.to_owned(),
            problem: format!("cloud provider {cloud:?} is not supported; only gke is"),
        });
    }
    let (user, project) = (account.string("name")?, account.string("projectId")?);
    let mut metadata = Node::mapping();
    let mut annotations = Node::mapping();
    let mut object = Node::mapping();
    if let Some(map) = annotations.as_mapping_mut() {
        let value = format!("{user}@{project}.iam.gserviceaccount.com");
        map.set("iam.gke.io/gcp-service-account", Node::string(value));
    }
    if let Some(map) = metadata.as_mapping_mut() {
        map.set("annotations", annotations);
        map.set("name", Node::string(service.string("name")?));
        let namespace = service.string("namespace")?;
        if !namespace.is_empty() {
            map.set("namespace", Node::string(namespace));
        }
    }
    if let Some(map) = object.as_mapping_mut() {
        map.set("apiVersion", Node::string("v1"));
        map.set("kind", Node::string("ServiceAccount"));
        map.set("metadata", metadata);
    }
    Ok(object.at(config.place))
}
