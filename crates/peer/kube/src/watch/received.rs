//! An efficient reader of objects from the API server.
//!
//! The status of an automation names hundreds of policies, `managedFields` name them once more, and each write of a
//! status returns the whole object twice: as the answer and by the watch. `managedFields` are skipped while parsing,
//! and the rest is copied as text, without a tree.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::json_text::JsonText;
use crate::raw::too_large::{self, Entries, TooLarge};

/// An object without `managedFields` and other unused metadata.
#[derive(Clone)]
pub(crate) struct Received {
    pub(crate) metadata: ObjectMeta,
    pub(crate) status: Option<JsonText>,
    /// The rest but `apiVersion` and `kind`.
    pub(crate) fields: JsonText,
    /// Why it is not read whole.
    pub(crate) too_large: Option<TooLarge>,
}

/// Shows no fields: they may be a Secret's.
impl std::fmt::Debug for Received {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Received")
            .field("name", &self.metadata.name)
            .finish_non_exhaustive()
    }
}

impl Resource for Received {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn group(of: &ApiResource) -> Cow<'_, str> {
        of.group.as_str().into()
    }

    fn version(of: &ApiResource) -> Cow<'_, str> {
        of.version.as_str().into()
    }

    fn kind(of: &ApiResource) -> Cow<'_, str> {
        of.kind.as_str().into()
    }

    fn api_version(of: &ApiResource) -> Cow<'_, str> {
        of.api_version.as_str().into()
    }

    fn plural(of: &ApiResource) -> Cow<'_, str> {
        of.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl<'de> Deserialize<'de> for Received {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Received;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object of the Kubernetes API")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Received, A::Error> {
        let mut metadata = Metadata::default();
        let mut status: Option<JsonText> = None;
        let mut fields = JsonText::begin();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "apiVersion" | "kind" => drop(map.next_value::<IgnoredAny>()?),
                "metadata" => metadata = map.next_value::<Option<Metadata>>()?.unwrap_or_default(),
                "status" => status = Some(map.next_value()?),
                _ => fields.field(&key, &mut map)?,
            }
        }
        fields.end();
        let too_large = [
            metadata.labels.too_large("labels"),
            metadata.annotations.too_large("annotations"),
            too_large::fields(&fields),
            status.as_ref().and_then(too_large::status),
        ];
        Ok(Received {
            metadata: metadata.into(),
            status: status.filter(|status| status.text().is_some()),
            fields,
            too_large: too_large.into_iter().flatten().next(),
        })
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    labels: Entries,
    /// A watch that lists first ends the list by one (`k8s.io/initial-events-end`).
    annotations: Entries,
    finalizers: Option<Vec<String>>,
    deletion_timestamp: Option<Time>,
}

impl From<Metadata> for ObjectMeta {
    fn from(metadata: Metadata) -> Self {
        Self {
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            generation: metadata.generation,
            labels: metadata.labels.kept(),
            annotations: metadata.annotations.kept(),
            finalizers: metadata.finalizers,
            deletion_timestamp: metadata.deletion_timestamp,
            ..Self::default()
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use kube::core::WatchEvent;
    use kube::core::{DynamicObject, ObjectList};
    use serde_json::{Value, json};

    use super::Received;
    use crate::watch::json_text::JsonText;
    use crate::{IMAGE_POLICY, Object};

    fn policy() -> Value {
        json!({
            "apiVersion": "image.toolkit.fluxcd.io/v1",
            "kind": "ImagePolicy",
            "metadata": {
                "name": "app", "namespace": "fleet", "uid": "1-2", "resourceVersion": "17", "generation": 3,
                "creationTimestamp": "2024-05-01T10:00:00Z", "deletionTimestamp": "2024-05-02T10:00:00Z",
                "deletionGracePeriodSeconds": 0, "selfLink": "/x",
                "labels": {"team": "a"}, "annotations": {"bumpwright.dev/hold": ""},
                "finalizers": ["finalizers.fluxcd.io"],
                "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "9"}],
                "managedFields": [{"manager": "m", "operation": "Apply", "apiVersion": "v1", "time": "2024-05-01T10:00:00Z",
                    "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:policy": {}}}}],
            },
            "spec": {"imageRepositoryRef": {"name": "app"}, "policy": {"semver": {"range": ">=1.0.0"}}},
            "status": {"observedGeneration": 3, "latestRef": {"name": "app", "tag": "1.0.0"}},
        })
    }

    /// The same result as kube's own type for objects of any kind.
    #[test]
    fn all_that_is_looked_at_is_read() {
        let (mut all, seen): (DynamicObject, Received) = both(&policy());
        assert!(all.metadata.managed_fields.take().is_some());
        assert!(all.metadata.owner_references.take().is_some());
        all.metadata.creation_timestamp = None;
        all.metadata.deletion_grace_period_seconds = None;
        all.metadata.self_link = None;
        assert_eq!(seen.metadata, all.metadata);
        let text = |field: &str| all.data.get(field).map(Value::to_string);
        let status = seen.status.as_ref().and_then(JsonText::text);
        assert_eq!(status.map(str::to_owned), text("status"));
        assert_eq!(
            seen.fields.text().unwrap(),
            format!("{{\"spec\":{}}}", text("spec").unwrap())
        );
        assert_eq!(seen.too_large, None);
        let object = Object::of(seen);
        let read: bumpwright_api::ImagePolicy = object.read(&IMAGE_POLICY).unwrap();
        assert_eq!(read.latest_ref().unwrap().unwrap().tag, "1.0.0");
        assert!(object.deleting);
    }

    #[test]
    fn what_is_not_there_or_null_is_nothing() {
        let object = json!({"metadata": {"name": "a", "labels": null}, "status": null});
        let (_, seen): (DynamicObject, Received) = both(&object);
        assert_eq!(seen.metadata.labels, None);
        assert!(seen.status.is_none());
        assert_eq!(seen.fields.text(), Some("{}"));
    }

    #[test]
    fn lists_and_watches_bring_the_same() {
        let list = json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [policy(), policy()]});
        let list: ObjectList<Received> = serde_json::from_str(&list.to_string()).unwrap();
        let event = format!("{{\"type\":\"MODIFIED\",\"object\":{}}}", policy());
        let WatchEvent::Modified(seen) = serde_json::from_str::<WatchEvent<Received>>(&event).unwrap() else {
            unreachable!("{event}")
        };
        for one in list.items {
            assert!(Object::of(one) == Object::of(seen.clone()));
        }
    }

    #[test]
    fn nothing_of_a_secret_is_shown() {
        let secret = json!({"metadata": {"name": "s"}, "data": {"token": "aHVzaA=="}});
        let (_, seen): (DynamicObject, Received) = both(&secret);
        assert!(!format!("{seen:?}").contains("aHVzaA"));
    }

    fn both<A: serde::de::DeserializeOwned, B: serde::de::DeserializeOwned>(value: &Value) -> (A, B) {
        let text = value.to_string();
        (
            serde_json::from_str(&text).unwrap(),
            serde_json::from_str(&text).unwrap(),
        )
    }
}
