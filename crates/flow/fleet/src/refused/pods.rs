//! What the API server refuses of the pods of a workload.

use std::collections::BTreeSet;

use serde_json::Value;

use super::refusal::{Refusals, given, is_known, is_missing, items, known};
use bumpwright_json::Texts as _;

/// Lists whose items a server-side apply tells apart by some fields, which may have a default.
type Keyed = (&'static str, &'static [(&'static str, &'static str)]);

const POD_LISTS: [Keyed; 3] = [
    ("imagePullSecrets", &[("name", "")]),
    ("hostAliases", &[("ip", "")]),
    (
        "topologySpreadConstraints",
        &[("topologyKey", ""), ("whenUnsatisfiable", "")],
    ),
];
const CONTAINER_LISTS: [Keyed; 2] = [
    ("env", &[("name", "")]),
    ("ports", &[("containerPort", ""), ("protocol", "TCP")]),
];
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
/// In the order in which the server looks at them.
const HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];
/// The longest name of a port of a container.
const LONGEST_PORT_NAME: usize = 15;

/// A pod, or the template of some.
pub(super) struct Pod<'v> {
    pub(super) spec: &'v Value,
    /// The JSON pointer to the spec.
    pub(super) at: String,
    /// Volumes that containers may mount besides those of the spec; none if what these are is not known.
    pub(super) claims: Option<BTreeSet<&'v str>>,
    /// Whether it is applied by a server-side apply, which Helm need not do.
    pub(super) is_applied: bool,
}

impl Pod<'_> {
    pub(super) fn check(&self, found: &mut Refusals) {
        let Self { spec, at, .. } = self;
        if matches!(spec.get("containers"), Some(Value::Array(all)) if all.is_empty()) {
            found.required(format!("{at}/containers"), "");
        }
        self.volumes(found);
        if self.is_applied {
            keys(spec, at, &POD_LISTS, found);
        }
        let volumes = self.mountable();
        let mut names = BTreeSet::new();
        for list in ["containers", "initContainers"] {
            for (number, container) in items(spec, list) {
                let at = format!("{at}/{list}/{number}");
                if let Some(name) = known(container, "name").filter(|name| !names.insert(*name)) {
                    found.duplicate(format!("{at}/name"), name);
                }
                self.container((container, &at), volumes.as_ref(), found);
            }
        }
    }

    fn volumes(&self, found: &mut Refusals) {
        let mut names = BTreeSet::new();
        for (number, volume) in items(self.spec, "volumes") {
            let at = format!("{}/volumes/{number}", self.at);
            if let Some(name) = known(volume, "name").filter(|name| !names.insert(*name)) {
                found.duplicate(format!("{at}/name"), name);
            }
            // Where Helm applies it, a server leaves out a field that it does not know.
            let is_source = |field: &&str| volume.get(*field).is_some_and(Value::is_object);
            let sources: Vec<&str> = given(Some(volume)).into_iter().filter(is_source).collect();
            if sources.len() > 1 {
                let detail = format!("may not specify more than 1 volume type ({})", sources.join(", "));
                found.forbidden(at, &detail);
            }
        }
    }

    fn container(&self, (container, at): (&Value, &str), volumes: Option<&BTreeSet<&str>>, found: &mut Refusals) {
        if is_missing(container.get("image")) {
            found.required(format!("{at}/image"), "");
        }
        ports(container, at, found);
        variables(container, at, found);
        mounts((container, at), volumes, found);
        for probe in PROBES {
            handlers(container.get(probe), &format!("{at}/{probe}"), found);
        }
        if self.is_applied {
            keys(container, at, &CONTAINER_LISTS, found);
        }
    }

    /// The names of what containers may mount; none if these are not known.
    fn mountable(&self) -> Option<BTreeSet<&str>> {
        let mut names = self.claims.clone()?;
        let volumes = items(self.spec, "volumes").into_iter();
        names.extend(volumes.map(|(_, volume)| volume.text_of("name")));
        names.iter().all(|name| is_known(name)).then_some(names)
    }
}

fn mounts((container, at): (&Value, &str), volumes: Option<&BTreeSet<&str>>, found: &mut Refusals) {
    let mut paths = BTreeSet::new();
    for (number, mount) in items(container, "volumeMounts") {
        let at = format!("{at}/volumeMounts/{number}");
        if let (Some(volumes), Some(name)) = (volumes, known(mount, "name"))
            && !volumes.contains(name)
        {
            found.not_found(format!("{at}/name"), name);
        }
        if let Some(path) = known(mount, "mountPath").filter(|path| !paths.insert(*path)) {
            found.invalid(format!("{at}/mountPath"), path, "must be unique");
        }
    }
}

/// Items that a server-side apply cannot tell apart.
fn keys(value: &Value, at: &str, lists: &[Keyed], found: &mut Refusals) {
    for (list, fields) in lists {
        let mut seen = BTreeSet::new();
        for (number, item) in items(value, list) {
            let parts = fields.iter().map(|(field, default)| match item.get(*field) {
                Some(Value::String(text)) if is_known(text) && !text.is_empty() => Some(format!("{field}={text:?}")),
                Some(Value::Number(number)) => Some(format!("{field}={number}")),
                None | Some(Value::Null) if !default.is_empty() => Some(format!("{field}={default:?}")),
                _ => None,
            });
            let Some(parts) = parts.collect::<Option<Vec<String>>>() else {
                continue;
            };
            let key = parts.join(",");
            if !seen.insert(key.clone()) {
                found.same_key(format!("{at}/{list}/{number}"), &key);
            }
        }
    }
}

fn ports(container: &Value, at: &str, found: &mut Refusals) {
    let mut names = BTreeSet::new();
    for (number, port) in items(container, "ports") {
        let at = format!("{at}/ports/{number}");
        if let Some(name) = known(port, "name") {
            match port_name_fault(name) {
                Some(fault) => found.invalid(format!("{at}/name"), name, fault),
                None if !names.insert(name) => found.duplicate(format!("{at}/name"), name),
                None => {}
            }
        }
        port_number(port, "containerPort", &at, found);
    }
}

/// `IsValidPortName` of Kubernetes.
fn port_name_fault(name: &str) -> Option<&'static str> {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.len() > LONGEST_PORT_NAME {
        Some("must be no more than 15 characters")
    } else if !name.bytes().all(is_allowed) {
        Some("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    } else if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        Some("must contain at least one letter (a-z)")
    } else if name.contains("--") {
        Some("must not contain consecutive hyphens")
    } else if name.starts_with('-') || name.ends_with('-') {
        Some("must not begin or end with a hyphen")
    } else {
        None
    }
}

/// A number of a port, if it is one.
pub(super) fn port_number(value: &Value, field: &str, at: &str, found: &mut Refusals) {
    let number = value.get(field).and_then(Value::as_i64);
    if let Some(number) = number.filter(|number| !(1..=65535).contains(number)) {
        let detail = "must be between 1 and 65535, inclusive";
        found.invalid(format!("{at}/{field}"), &number.to_string(), detail);
    }
}

fn variables(container: &Value, at: &str, found: &mut Refusals) {
    for (number, variable) in items(container, "env") {
        let sources = given(variable.get("valueFrom")).len();
        let detail = if sources > 0 && known(variable, "value").is_some() {
            "may not be specified when `value` is not empty"
        } else if sources > 1 {
            "may not have more than one field specified at a time"
        } else {
            continue;
        };
        found.invalid(format!("{at}/env/{number}/valueFrom"), "", detail);
    }
}

fn handlers(probe: Option<&Value>, at: &str, found: &mut Refusals) {
    let Some(Value::Object(fields)) = probe else { return };
    let is_given = |handler: &&&str| fields.get(**handler).is_some_and(|value| !value.is_null());
    let handlers: Vec<&&str> = HANDLERS.iter().filter(is_given).collect();
    match handlers.as_slice() {
        [] => found.required(at.to_owned(), "must specify a handler type"),
        [_] => {}
        [first, second, ..] => found.forbidden(
            format!("{at}/{second}"),
            &format!("may not specify more than 1 handler type (it has {first}, too)"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(spec: &Value, is_applied: bool) -> Vec<String> {
        let mut found = Refusals::default();
        Pod {
            spec,
            at: "/spec".to_owned(),
            claims: Some(BTreeSet::from(["claim"])),
            is_applied,
        }
        .check(&mut found);
        found.0.into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn what_the_server_refuses_of_a_pod() {
        for (container, expected) in [
            (json!({"image": "a"}), ""),
            (json!({"image": "${image}"}), ""),
            (json!({}), "spec.containers[0].image: Required value"),
            (json!({"image": ""}), "spec.containers[0].image: Required value"),
            (
                json!({"image": "a", "volumeMounts": [{"name": "claim", "mountPath": "/a"}, {"name": "data", "mountPath": "/b"}]}),
                "",
            ),
            (
                json!({"image": "a", "volumeMounts": [{"name": "dta", "mountPath": "/a"}]}),
                "spec.containers[0].volumeMounts[0].name: Not found: \"dta\"",
            ),
            (
                json!({"image": "a", "volumeMounts": [{"name": "data", "mountPath": "/a"}, {"name": "claim", "mountPath": "/a"}]}),
                "spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique",
            ),
            (
                json!({"image": "a", "ports": [{"name": "http", "containerPort": 80}, {"name": "http", "containerPort": 81}]}),
                "spec.containers[0].ports[1].name: Duplicate value: \"http\"",
            ),
            (
                json!({"image": "a", "ports": [{"name": "a-name-of-16-abc", "containerPort": 80}]}),
                "spec.containers[0].ports[0].name: Invalid value: \"a-name-of-16-abc\": must be no more than 15 characters",
            ),
            (
                json!({"image": "a", "ports": [{"containerPort": 80800}]}),
                "spec.containers[0].ports[0].containerPort: Invalid value: \"80800\": must be between 1 and 65535, inclusive",
            ),
            (
                json!({"image": "a", "env": [{"name": "A", "value": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}),
                "spec.containers[0].env[0].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
            ),
            (
                json!({"image": "a", "livenessProbe": {"exec": {"command": ["a"]}, "httpGet": {"port": 80}}}),
                "spec.containers[0].livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type (it has exec, too)",
            ),
            (
                json!({"image": "a", "readinessProbe": {"periodSeconds": 1}}),
                "spec.containers[0].readinessProbe: Required value: must specify a handler type",
            ),
        ] {
            let spec = json!({"volumes": [{"name": "data"}], "containers": [container]});
            let expected: Vec<&str> = [expected].into_iter().filter(|text| !text.is_empty()).collect();
            assert_eq!(said(&spec, true), expected, "{spec}");
        }
    }

    #[test]
    fn names_are_unique_in_a_pod() {
        let spec = json!({
            "containers": [{"name": "a", "image": "a"}, {"name": "a", "image": "b"}],
            "initContainers": [{"name": "b", "image": "a"}],
            "volumes": [
                {"name": "v"},
                {"name": "v", "emptyDir": {}, "secret": {"secretName": "a"}},
                {"name": "w", "emptyDir": {}, "readOnly": true},
            ],
        });
        assert_eq!(
            said(&spec, false),
            [
                "spec.volumes[1].name: Duplicate value: \"v\"",
                "spec.volumes[1]: Forbidden: may not specify more than 1 volume type (emptyDir, secret)",
                "spec.containers[1].name: Duplicate value: \"a\"",
            ]
        );
    }

    /// Helm updates in other ways, too: some of them take the last of two.
    #[test]
    fn a_server_side_apply_tells_items_apart_by_their_keys() {
        let env = json!([{"name": "A"}, {"name": "B"}, {"name": "A"}]);
        let ports = json!([{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "protocol": "TCP"}]);
        let spec = json!({"containers": [{"name": "a", "image": "a", "env": env, "ports": ports}]});
        assert_eq!(
            said(&spec, true),
            [
                "spec.containers[0].env[2]: duplicate entries for key [name=\"A\"]",
                "spec.containers[0].ports[2]: duplicate entries for key [containerPort=80,protocol=\"TCP\"]",
            ]
        );
        assert_eq!(said(&spec, false), [""; 0]);
    }
}
