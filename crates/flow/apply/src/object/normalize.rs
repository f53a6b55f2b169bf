//! Normal form of manifests before an apply (fluxcd/pkg `ssa/normalize`).
//!
//! Flux reads objects of Kubernetes' own kinds into Go's types and writes them again. The visible effects of that are
//! reproduced here: `stringData` becomes `data`, empty fields (null) are dropped or zero, ports get their protocol
//! and target. Effects without consequence, such as an added `strategy: {}`, are not (docs/decisions.md, *other
//! effects of Flux's round trip*).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Map, Value};
use x509_cert::der::Decode as _;

use bumpwright_json::TextFields;
use bumpwright_kube::GroupVersionKind;

/// The groups of Kubernetes' own kinds, those of `k8s.io/client-go/kubernetes/scheme`.
const BUILT_IN: [&str; 22] = [
    "",
    "admissionregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Returns whether Flux reads objects of a kind into Go's types. It excludes roles, whose rules would be lost.
pub(crate) fn is_typed(gvk: &GroupVersionKind) -> bool {
    let is_role = matches!(gvk.kind.as_str(), "Role" | "ClusterRole");
    BUILT_IN.contains(&gvk.group.as_str()) && !(is_role && gvk.api_version() == "rbac.authorization.k8s.io/v1")
}

pub(crate) fn normalize(object: &mut Value) {
    let gvk = GroupVersionKind::of(object);
    if is_typed(&gvk) {
        normalize_typed(object, &gvk);
    } else if gvk.group == "rbac.authorization.k8s.io" {
        return;
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("creationTimestamp");
    }
    let is_definition = is_definition(&gvk);
    if is_definition {
        drop_bad_ca_bundle(object);
    }
    if let (false, Some(fields)) = (is_definition, object.as_object_mut()) {
        fields.remove("status");
    }
}

fn is_definition(gvk: &GroupVersionKind) -> bool {
    gvk.kind.eq_ignore_ascii_case("CustomResourceDefinition") && gvk.group == "apiextensions.k8s.io"
}

fn normalize_typed(object: &mut Value, gvk: &GroupVersionKind) {
    match (gvk.group.as_str(), gvk.version.as_str(), gvk.kind.as_str()) {
        ("", "v1", "Secret") => normalize_secret(object),
        ("", "v1", "ConfigMap") => {
            for field in ["data", "binaryData"] {
                fill_nulls(object.get_mut(field), "");
            }
        }
        ("", "v1", "Service") => {
            fill_nulls(object.pointer_mut("/spec/selector"), "");
            set_protocols(object.pointer_mut("/spec/ports"));
            set_targets(object.pointer_mut("/spec/ports"));
        }
        ("", "v1", "Pod") => set_pod_protocols(object.pointer_mut("/spec")),
        ("apps", "v1", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("batch", "v1", "Job") => {
            set_pod_protocols(object.pointer_mut("/spec/template/spec"));
        }
        ("batch", "v1", "CronJob") => set_pod_protocols(object.pointer_mut("/spec/jobTemplate/spec/template/spec")),
        _ => {}
    }
    drop_nulls(object);
}

/// Maps of texts, at any depth. Go reads null as the empty text in them.
const TEXTS: [&str; 6] = [
    "annotations",
    "labels",
    "matchLabels",
    "nodeSelector",
    "parameters",
    "volumeAttributes",
];
/// Maps of quantities.
const QUANTITIES: [&str; 5] = ["capacity", "hard", "limits", "overhead", "requests"];

/// Replaces nulls in a map by Go's zero value.
fn fill_nulls(map: Option<&mut Value>, zero: &str) {
    let fields = map.and_then(Value::as_object_mut).into_iter().flatten();
    for (_, value) in fields.filter(|(_, value)| value.is_null()) {
        *value = zero.into();
    }
}

/// Removes null fields; in maps they become zero.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            for (key, value) in fields {
                match key.as_str() {
                    texts if TEXTS.contains(&texts) => fill_nulls(Some(value), ""),
                    quantities if QUANTITIES.contains(&quantities) => fill_nulls(Some(value), "0"),
                    _ => {}
                }
                drop_nulls(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Moves `stringData` to `data`, unless either is malformed: the server reports that.
fn normalize_secret(object: &mut Value) {
    fill_nulls(object.get_mut("data"), "");
    fill_nulls(object.get_mut("stringData"), "");
    let Some(fields) = object.as_object_mut() else { return };
    let is_readable = |value: &Value| value.as_str().is_some_and(|text| STANDARD.decode(text).is_ok());
    let data = fields.get("data").and_then(Value::as_object);
    let strings = fields.get("stringData").and_then(Value::as_object);
    let readable = data.is_none_or(|data| data.values().all(is_readable));
    let encoded = |(key, value): (&String, &Value)| Some((key.clone(), STANDARD.encode(value.as_str()?).into()));
    let encoded: Option<Map<String, Value>> = strings.and_then(|strings| strings.iter().map(encoded).collect());
    let Some(encoded) = encoded.filter(|_| readable) else {
        return;
    };
    fields.remove("stringData");
    let data = fields.entry("data").or_insert_with(|| Map::new().into());
    if data.is_null() {
        *data = Map::new().into();
    }
    if let Some(data) = data.as_object_mut() {
        data.extend(encoded);
    }
}

/// Server-side apply identifies a port by its number and protocol.
fn set_protocols(ports: Option<&mut Value>) {
    let ports = ports.and_then(Value::as_array_mut).into_iter().flatten();
    for port in ports.filter_map(Value::as_object_mut) {
        let is_empty = port.get("protocol").is_none_or(|value| value.is_null() || value == "");
        if is_empty {
            port.insert("protocol".to_owned(), "TCP".into());
        }
    }
}

/// The default target of a Service's port is the port itself. The server would default it as well, but not restore
/// it after an edit.
fn set_targets(ports: Option<&mut Value>) {
    let ports = ports.and_then(Value::as_array_mut).into_iter().flatten();
    for port in ports.filter_map(Value::as_object_mut) {
        let is_empty = |value: &Value| value.is_null() || value == 0 || value == "";
        let number = port.get("port").filter(|number| number.is_number()).cloned();
        if let (true, Some(number)) = (port.get("targetPort").is_none_or(is_empty), number) {
            port.insert("targetPort".to_owned(), number);
        }
    }
}

fn set_pod_protocols(spec: Option<&mut Value>) {
    let containers = spec.and_then(|spec| spec.get_mut("containers"));
    for container in containers.and_then(Value::as_array_mut).into_iter().flatten() {
        set_protocols(container.get_mut("ports"));
    }
}

/// Removes a CA bundle that holds no certificate: newer API servers refuse the definition, since the bundle is meant to
/// be injected later (fluxcd/pkg `ssa/utils`, `RemoveCABundleFromCRD`).
fn drop_bad_ca_bundle(object: &mut Value) {
    let client = object.pointer_mut("/spec/conversion/webhook/clientConfig");
    let Some(client) = client.and_then(Value::as_object_mut) else {
        return;
    };
    let bundle = client.text_of("caBundle");
    if !bundle.is_empty() && !STANDARD.decode(bundle).is_ok_and(|pem| holds_certificate(&pem)) {
        client.remove("caBundle");
    }
}

fn holds_certificate(pem: &[u8]) -> bool {
    let certificates = CertificateDer::pem_slice_iter(pem);
    pem.is_empty()
        || certificates
            .filter_map(Result::ok)
            .any(|der| x509_cert::Certificate::from_der(&der).is_ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn normalized(mut object: Value) -> Value {
        normalize(&mut object);
        object
    }

    #[test]
    fn string_data_becomes_data() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
            "data": {"a": "eA==", "b": "eQ=="}, "stringData": {"b": "z", "n": null}});
        let expected = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
            "data": {"a": "eA==", "b": "eg==", "n": ""}});
        assert_eq!(normalized(secret), expected);
    }

    #[test]
    fn a_secret_that_is_wrong_stays_for_the_server_to_refuse() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
            "data": {"a": "abc!"}, "stringData": {"b": "z"}});
        assert_eq!(normalized(secret.clone()), secret);
    }

    #[test]
    fn ports_have_protocols() {
        let container = json!({"name": "c", "ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "UDP"}]});
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"creationTimestamp": null},
            "status": {"replicas": 1}, "spec": {"template": {"spec": {"containers": [container]}}}});
        let object = normalized(deployment);
        let ports = object.pointer("/spec/template/spec/containers/0/ports");
        let expected = json!([{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 1, "protocol": "UDP"}]);
        assert_eq!(ports, Some(&expected));
        assert_eq!((object.get("status"), object.get("metadata")), (None, Some(&json!({}))));
    }

    #[test]
    fn nulls_in_maps_are_zero_and_others_go() {
        let template = json!({"metadata": {"labels": {"a": "b", "z": null}, "annotations": null},
            "spec": {"nodeSelector": {"n": null}, "hostname": null,
                "containers": [{"name": "c", "resources": {"limits": {"cpu": null, "memory": "1Gi"}}}]}});
        let object = normalized(json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": template}}));
        let expected = json!({"metadata": {"labels": {"a": "b", "z": ""}}, "spec": {"nodeSelector": {"n": ""},
            "containers": [{"name": "c", "resources": {"limits": {"cpu": "0", "memory": "1Gi"}}}]}});
        assert_eq!(object.pointer("/spec/template"), Some(&expected));
        let service = json!({"apiVersion": "v1", "kind": "Service", "spec": {"selector": {"app": null},
            "ports": [{"port": 80}, {"port": 81, "targetPort": "web", "protocol": "UDP"}]}});
        let expected = json!({"selector": {"app": ""}, "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80},
            {"port": 81, "targetPort": "web", "protocol": "UDP"}]});
        assert_eq!(normalized(service).get("spec"), Some(&expected));
    }

    #[test]
    fn roles_and_statuses_of_definitions_stay() {
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": null, "status": {}});
        assert_eq!(normalized(role.clone()), role);
        let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "status": {}, "spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": "Cg==", "url": "u"}}}}});
        let expected = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "status": {}, "spec": {"conversion": {"webhook": {"clientConfig": {"url": "u"}}}}});
        assert_eq!(normalized(definition), expected);
    }
}
