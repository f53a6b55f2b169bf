//! Whether the definitions of the kinds serve the version that bumpwright reads, before an installation and after it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::findings::Findings;
use crate::cli::install::components::Components;
use crate::cli::installed::{self, CONTROLLERS, DEFINED, HELM, at, items};
use bumpwright_api::ObjectName;
use bumpwright_kube::{
    CUSTOM_RESOURCE_DEFINITION, Cluster, ClusterError, GIT_REPOSITORY, IMAGE_POLICY, Kind, Resource,
};

/// The most objects that are named.
const NAMED: usize = 5;

/// Replaces definitions by those of bumpwright, which have all versions.
const REPLACE: &str = "`bumpwright crds | kubectl apply --server-side --force-conflicts -f -`";

/// A definition in the cluster.
struct Definition<'k> {
    kind: &'k Kind,
    name: String,
    value: Value,
}

impl<'k> Definition<'k> {
    /// None when it is not installed.
    async fn read(cluster: &Cluster, kind: &'k Kind) -> Result<Option<Self>, ClusterError> {
        let name = installed::definition(kind);
        let definitions = Resource::of(&CUSTOM_RESOURCE_DEFINITION, false);
        match cluster.fetch(&definitions, &ObjectName::new("", &name)).await {
            Ok(value) => Ok(Some(Self {
                kind,
                name,
                value: value.clone(),
            })),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn served(&self) -> Vec<&str> {
        let versions = items(&self.value, "/spec/versions");
        let served = versions.filter(|version| version.get("served") == Some(&Value::Bool(true)));
        served.map(|version| at(version, "/name")).collect()
    }

    fn stored(&self) -> Vec<&str> {
        let stored = items(&self.value, "/status/storedVersions");
        stored.filter_map(Value::as_str).collect()
    }

    /// The schema of `spec` in the version that bumpwright reads.
    fn schema(&self) -> &Value {
        let version = items(&self.value, "/spec/versions").find(|version| at(version, "/name") == self.kind.version);
        let spec = version.and_then(|version| version.pointer("/schema/openAPIV3Schema/properties/spec"));
        spec.unwrap_or(&Value::Null)
    }

    fn serves(&self) -> String {
        format!("the definition {} serves {}", self.name, self.served().join(", "))
    }

    /// The objects that have fields in an older version which are not in this one: `namespace/name (spec.field)`.
    async fn losing(&self, cluster: &Cluster, older: &[&str]) -> Result<Vec<String>, ClusterError> {
        let mut losing = BTreeSet::new();
        for version in self.served().into_iter().filter(|version| older.contains(version)) {
            let mut resource = Resource::of(self.kind, true);
            version.clone_into(&mut resource.gvk.version);
            for object in cluster.list(&resource, "", "").await?.iter() {
                let mut fields = BTreeSet::new();
                let spec = object.get("spec").unwrap_or(&Value::Null);
                unknown(spec, self.schema(), "spec", &mut fields);
                if !fields.is_empty() {
                    let name = format!("{}/{}", at(object, "/metadata/namespace"), at(object, "/metadata/name"));
                    losing.insert(format!("{name} ({})", Vec::from_iter(fields).join(", ")));
                }
            }
        }
        Ok(losing.into_iter().collect())
    }
}

/// The fields that a schema does not have, which the API server drops when it writes the object by that schema.
fn unknown(value: &Value, schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        _ if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true)) => {}
        Value::Object(fields) => {
            let others = schema.get("additionalProperties");
            for (name, value) in fields {
                let (field, path) = (schema.pointer(&format!("/properties/{name}")), format!("{path}.{name}"));
                match field.or(others) {
                    Some(Value::Bool(true)) => {}
                    Some(schema) => unknown(value, schema, &path, found),
                    None => drop(found.insert(path)),
                }
            }
        }
        Value::Array(items) => {
            let schema = schema.get("items").unwrap_or(&Value::Null);
            items.iter().for_each(|item| unknown(item, schema, path, found));
        }
        _ => {}
    }
}

/// The kinds that a process with these components watches.
pub(super) fn needed(components: Components) -> impl Iterator<Item = &'static Kind> {
    DEFINED.into_iter().filter(move |kind| is_needed(kind, components))
}

fn is_needed(kind: &Kind, components: Components) -> bool {
    let Components { kinds, .. } = components;
    let controller = CONTROLLERS.iter().find(|(_, all)| all.contains(&kind));
    match controller.map(|(name, _)| *name) {
        // Automations read policies, policies read repositories.
        Some("image-reflector-controller" | "image-automation-controller") => components.has_images(),
        Some("source-controller") => kinds.source || kinds.kustomize || (kinds.automation && *kind == GIT_REPOSITORY),
        Some(_) => kinds.kustomize,
        None if HELM.contains(&kind) => kinds.helm,
        // ExternalArtifact, which is behind a gate.
        None => false,
    }
}

/// Definitions of others that are too old: an installation leaves them as they are, and bumpwright would wait for a
/// newer one for ever.
pub(super) async fn before(cluster: &Cluster, components: Components, findings: &mut Findings) {
    // Those of images are replaced.
    for kind in needed(components).filter(|kind| kind.group != IMAGE_POLICY.group) {
        match Definition::read(cluster, kind).await {
            Ok(Some(found)) if !found.served().contains(&kind.version) => findings.fail(
                "definitions",
                format!(
                    "{} and not {}, and `bumpwright install` leaves it as it is: upgrade Flux, or replace its definitions by those of \
                     bumpwright, which have all versions: {REPLACE}",
                    found.serves(),
                    kind.version
                ),
            ),
            Ok(_) => {}
            Err(error) => {
                let name = installed::definition(kind);
                findings.unknown("definitions", format!("cannot read the definition {name}: {error}"));
            }
        }
    }
}

/// Whether the definition of a kind exists, has the version, and has objects that are stored in an older one.
pub(super) async fn after(cluster: &Cluster, kind: &Kind, findings: &mut Findings) {
    let name = installed::definition(kind);
    let definition = match Definition::read(cluster, kind).await {
        Ok(Some(found)) => found,
        Ok(None) => {
            let why = format!(
                "the definition {name} is missing: run `bumpwright install`, or `bumpwright crds | kubectl apply --server-side -f -`"
            );
            return findings.fail("definitions", why);
        }
        Err(error) => return findings.unknown("definitions", format!("cannot read the definition {name}: {error}")),
    };
    let is_established = items(&definition.value, "/status/conditions")
        .any(|one| at(one, "/type") == "Established" && at(one, "/status") == "True");
    let stored = definition.stored();
    let old: Vec<&str> = stored
        .iter()
        .copied()
        .filter(|version| *version != kind.version)
        .collect();
    let serves = definition.serves();
    if !is_established {
        findings.fail("definitions", format!("the definition {name} is not established"));
    } else if !definition.served().contains(&kind.version) {
        let why = format!(
            "{serves} and not {}: upgrade Flux, or replace it: {REPLACE}",
            kind.version
        );
        findings.fail("definitions", why);
    } else if old.is_empty() {
        let stored = stored.join(", ");
        findings.ok("definitions", format!("{serves}; objects are stored as {stored}"));
    } else {
        match definition.losing(cluster, &old).await {
            Ok(losing) => stored_as(&definition, &old.join(", "), &losing, findings),
            Err(error) => findings.unknown(
                "definitions",
                format!("cannot list {name} as {}: {error}", old.join(", ")),
            ),
        }
    }
}

/// What to do about objects of older versions; `losing` of them have fields that are not in the new one.
fn stored_as(found: &Definition<'_>, old: &str, losing: &[String], findings: &mut Findings) {
    let (serves, version) = (found.serves(), found.kind.version);
    if losing.is_empty() {
        return findings.warn(
            "definitions",
            format!(
                "{serves}; objects may still be stored as {old}, so that no definition without {old} can replace it: `flux migrate` \
                 stores them all as {version}"
            ),
        );
    }
    let named: Vec<&str> = losing.iter().take(NAMED).map(String::as_str).collect();
    let more = match losing.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    findings.fail(
        "definitions",
        format!(
            "{serves}; objects have fields that {version} lacks, and `flux migrate` would drop them: {}{more}: first run `bumpwright migrate` \
             in their repository, and have the result applied",
            named.join(", ")
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_that_a_schema_lacks_are_found_at_any_depth() {
        let schema = json!({"properties": {
            "path": {"type": "string"},
            "images": {"items": {"properties": {"name": {}}}},
            "labels": {"additionalProperties": {"type": "string"}},
            "any": {"x-kubernetes-preserve-unknown-fields": true},
            "open": {"additionalProperties": true},
        }});
        let object = json!({
            "path": "./a", "patchesJson6902": [{"a": 1}], "any": {"b": 1}, "open": {"c": {"d": 1}},
            "images": [{"name": "a"}, {"name": "b", "old": "c"}, {"old": "d"}], "labels": {"e": "f"},
        });
        let mut found = BTreeSet::new();
        unknown(&object, &schema, "spec", &mut found);
        assert_eq!(Vec::from_iter(found), ["spec.images.old", "spec.patchesJson6902"]);
    }
}
