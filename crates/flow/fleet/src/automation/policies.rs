//! Image policies and their repositories.

use crate::build::view::FleetObject;
use crate::check::cluster::{Cluster, IMAGE_GROUP, name_of};
use bumpwright_api::{ImagePolicy, ImageRepository, LabelSelector, ObjectName};
use bumpwright_findings::{Finding, Rule};
use bumpwright_policy::InvalidPolicy;

/// Labels that every namespace has.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Findings about policies that are not valid, or whose repository is missing, or not for them.
pub(crate) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    for (node, object) in cluster.of_kind(IMAGE_GROUP, "ImagePolicy") {
        if let Some((pointer, message)) = fault(object) {
            found.push(cluster.at(Rule::InvalidPolicy, node, object, pointer, message));
        }
        let Some((own, name)) = repository_of(object) else {
            continue;
        };
        let pointer = "/spec/imageRepositoryRef/name";
        let Some(repository) = cluster.fleet.object(IMAGE_GROUP, "ImageRepository", &name) else {
            let message = format!("ImageRepository {name} is not in the fleet");
            let finding = cluster.at(Rule::MissingImageRepository, node, object, pointer, message);
            found.push(cluster.missing_object(finding, IMAGE_GROUP, "ImageRepository", &name));
            continue;
        };
        if !allows(cluster, repository, &name, &own.namespace) {
            let message = format!("ImageRepository {name} does not allow namespace {}", own.namespace);
            let finding = cluster.at(Rule::MissingImageRepository, node, object, pointer, message);
            found.push(finding.help("add the namespace's labels to spec.accessFrom of the ImageRepository"));
        }
    }
}

/// Why a policy is not valid, and where; what is still to be filled in by variables is not known.
fn fault(object: &FleetObject) -> Option<(&'static str, String)> {
    let policy: ImagePolicy = serde_json::from_value(object.value.clone()).ok()?;
    let (pointer, error) = policy.invalid()?;
    let is_open = object
        .value
        .pointer(pointer)
        .is_some_and(|value| value.to_string().contains("${"));
    let is_filled = matches!(error, InvalidPolicy::Extract(_)) || !is_open;
    is_filled.then(|| (pointer, error.to_string()))
}

/// The name of a policy, and that of its repository.
pub(crate) fn repository_of(object: &FleetObject) -> Option<(ObjectName, ObjectName)> {
    let policy: ImagePolicy = serde_json::from_value(object.value.clone()).ok()?;
    let own = name_of(&object.value);
    let reference = policy.spec?.image_repository_ref?;
    let name = ObjectName::referred_from(&own.namespace, reference.namespace.as_deref(), &reference.name);
    let is_known = !name.name.is_empty() && !name.name.contains("${") && !name.namespace.contains("${");
    is_known.then_some((own, name))
}

/// Whether a repository is for the policies of a namespace. One that is not in the fleet may have any labels.
fn allows(cluster: &Cluster<'_>, repository: &FleetObject, name: &ObjectName, namespace: &str) -> bool {
    if name.namespace == namespace {
        return true;
    }
    let Ok(repository) = serde_json::from_value::<ImageRepository>(repository.value.clone()) else {
        return true;
    };
    let selectors = match repository.spec.access_from {
        Some(from) if !from.namespace_selectors.is_empty() => from.namespace_selectors,
        _ => return false,
    };
    let Some(object) = cluster.fleet.object("", "Namespace", &ObjectName::new("", namespace)) else {
        return true;
    };
    let mut labels = object.texts("labels");
    labels.insert(NAME_LABEL.to_owned(), namespace.to_owned());
    selectors
        .iter()
        .any(|selector| LabelSelector::from(selector).matches(&labels).unwrap_or(true))
}
