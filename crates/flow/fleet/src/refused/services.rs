//! What the API server refuses of Services, Ingresses and claims.

use std::collections::BTreeSet;

use serde_json::Value;

use super::pods::port_number;
use super::refusal::{Refusals, is_known, is_missing, items, known};
use bumpwright_json::Texts as _;

/// What is refused of an object of one of these kinds.
pub(super) fn check((group, kind): (&str, &str), object: &Value, found: &mut Refusals) {
    let Some(spec) = object.get("spec").filter(|spec| spec.is_object()) else {
        return;
    };
    match (group, kind) {
        ("", "Service") => service(spec, found),
        ("networking.k8s.io", "Ingress") => ingress(spec, found),
        ("", "PersistentVolumeClaim") => claim(spec, found),
        _ => {}
    }
}

fn service(spec: &Value, found: &mut Refusals) {
    let (kind, address) = (spec.text_of("type"), spec.text_of("clusterIP"));
    let is_headless = address == "None";
    if is_headless && matches!(kind, "LoadBalancer" | "NodePort") {
        let detail = format!("may not be set to 'None' for {kind} services");
        found.invalid("/spec/clusterIP".to_owned(), "None", &detail);
    }
    if kind == "ExternalName" && is_missing(spec.get("externalName")) {
        found.required("/spec/externalName".to_owned(), "");
    }
    let may_be_without = is_headless || kind == "ExternalName" || !(is_known(kind) && is_known(address));
    if is_missing(spec.get("ports")) && !may_be_without {
        found.required("/spec/ports".to_owned(), "");
    }
    let ports = items(spec, "ports");
    let (mut names, mut numbers) = (BTreeSet::new(), BTreeSet::new());
    for (number, port) in &ports {
        let at = format!("/spec/ports/{number}");
        if ports.len() > 1 && is_missing(port.get("name")) {
            found.required(format!("{at}/name"), "");
        }
        if let Some(name) = known(port, "name").filter(|name| !names.insert(*name)) {
            found.duplicate(format!("{at}/name"), name);
        }
        port_number(port, "port", &at, found);
        let protocol = match port.text_of("protocol") {
            "" => "TCP",
            protocol => protocol,
        };
        if let Some(value) = port.get("port").and_then(Value::as_i64)
            && !numbers.insert((value, protocol))
        {
            found.duplicate(at, &format!("{protocol} {value}"));
        }
    }
}

fn ingress(spec: &Value, found: &mut Refusals) {
    let default = spec.get("defaultBackend").filter(|backend| !backend.is_null());
    if default.is_none() && is_missing(spec.get("rules")) {
        let detail = "either `defaultBackend` or `rules` must be specified";
        found.invalid("/spec".to_owned(), "", detail);
    }
    if let Some(default) = default {
        backend(default, "/spec/defaultBackend", found);
    }
    for (number, rule) in items(spec, "rules") {
        let Some(http) = rule.get("http").filter(|http| http.is_object()) else {
            continue;
        };
        let at = format!("/spec/rules/{number}/http/paths");
        if matches!(http.get("paths"), Some(Value::Array(paths)) if paths.is_empty()) {
            found.required(at.clone(), "");
        }
        for (number, path) in items(http, "paths") {
            let at = format!("{at}/{number}");
            absolute(path, &at, found);
            if let Some(one) = path.get("backend").filter(|one| one.is_object()) {
                backend(one, &format!("{at}/backend"), found);
            }
        }
    }
}

fn absolute(path: &Value, at: &str, found: &mut Refusals) {
    let text = path.text_of("path");
    let may_be_empty = !matches!(path.text_of("pathType"), "Exact" | "Prefix");
    let is_empty = is_missing(path.get("path"));
    let is_refused = if is_empty {
        !may_be_empty
    } else {
        !text.is_empty() && !text.starts_with(['/', '$'])
    };
    if is_refused {
        found.invalid(format!("{at}/path"), text, "must be an absolute path");
    }
}

fn backend(backend: &Value, at: &str, found: &mut Refusals) {
    let given = |field: &str| backend.get(field).filter(|value| !value.is_null());
    match (given("resource"), given("service")) {
        (Some(_), Some(_)) => found.invalid(at.to_owned(), "", "cannot set both resource and service backends"),
        (Some(_), None) => {}
        (None, None) => found.invalid(at.to_owned(), "", "resource or service backend is required"),
        (None, Some(service)) => {
            let port = |field: &str| match service.value_at("/port").get(field) {
                None | Some(Value::Null) => false,
                Some(Value::Number(number)) => number.as_i64() != Some(0),
                Some(value) => !is_missing(Some(value)),
            };
            match (port("name"), port("number")) {
                (true, true) => found.invalid(at.to_owned(), "", "cannot set both port name & port number"),
                (false, false) => found.required(at.to_owned(), "port name or number is required"),
                _ => {}
            }
        }
    }
}

fn claim(spec: &Value, found: &mut Refusals) {
    if is_missing(spec.get("accessModes")) {
        found.required("/spec/accessModes".to_owned(), "at least 1 access mode is required");
    }
    if is_missing(spec.pointer("/resources/requests/storage")) {
        found.required("/spec/resources/requests/storage".to_owned(), "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(group: &str, kind: &str, spec: Value) -> Vec<String> {
        let mut found = Refusals::default();
        check((group, kind), &json!({"spec": spec}), &mut found);
        found.0.into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn what_the_server_refuses_of_services() {
        for (spec, expected) in [
            (json!({"ports": [{"port": 80}]}), vec![]),
            (json!({"clusterIP": "None"}), vec![]),
            (json!({"type": "ExternalName", "externalName": "a.example.com"}), vec![]),
            (json!({"ports": [{"port": "${port}"}]}), vec![]),
            (json!({"clusterIP": "${address}"}), vec![]),
            (json!({"type": "${type}"}), vec![]),
            (
                json!({"ports": [{"name": "a", "port": 53, "protocol": "UDP"}, {"name": "b", "port": 53}]}),
                vec![],
            ),
            (json!({"selector": {"a": "b"}}), vec!["spec.ports: Required value"]),
            (
                json!({"type": "ExternalName"}),
                vec!["spec.externalName: Required value"],
            ),
            (
                json!({"type": "NodePort", "clusterIP": "None", "ports": [{"port": 80}]}),
                vec!["spec.clusterIP: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
            ),
            (
                json!({"ports": [{"port": 80, "name": "a"}, {"port": 80, "protocol": "TCP"}]}),
                vec![
                    "spec.ports[1].name: Required value",
                    "spec.ports[1]: Duplicate value: \"TCP 80\"",
                ],
            ),
            (
                json!({"ports": [{"port": 0}]}),
                vec!["spec.ports[0].port: Invalid value: \"0\": must be between 1 and 65535, inclusive"],
            ),
        ] {
            assert_eq!(said("", "Service", spec.clone()), expected, "{spec}");
        }
    }

    #[test]
    fn what_the_server_refuses_of_ingresses() {
        let path = |path: Value| json!({"rules": [{"http": {"paths": [path]}}]});
        let service = json!({"service": {"name": "web", "port": {"number": 80}}});
        let start = "spec.rules[0].http.paths[0]";
        for (spec, expected) in [
            (json!({"defaultBackend": service}), String::new()),
            (json!({"rules": [{"host": "a.example.com"}]}), String::new()),
            (
                path(json!({"path": "/", "pathType": "Prefix", "backend": service})),
                String::new(),
            ),
            (
                path(json!({"pathType": "ImplementationSpecific", "backend": service})),
                String::new(),
            ),
            (
                json!({}),
                "spec: Invalid value: \"\": either `defaultBackend` or `rules` must be specified".to_owned(),
            ),
            (
                path(json!({"pathType": "Prefix", "backend": service})),
                format!("{start}.path: Invalid value: \"\": must be an absolute path"),
            ),
            (
                path(json!({"path": "a", "pathType": "Exact", "backend": service})),
                format!("{start}.path: Invalid value: \"a\": must be an absolute path"),
            ),
            (
                path(json!({"path": "/", "pathType": "Prefix", "backend": {}})),
                format!("{start}.backend: Invalid value: \"\": resource or service backend is required"),
            ),
            (
                path(json!({"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web"}}})),
                format!("{start}.backend: Required value: port name or number is required"),
            ),
        ] {
            let expected: Vec<String> = [expected].into_iter().filter(|text| !text.is_empty()).collect();
            assert_eq!(said("networking.k8s.io", "Ingress", spec.clone()), expected, "{spec}");
        }
    }

    #[test]
    fn a_claim_says_how_much_and_for_whom() {
        let resources = json!({"requests": {"storage": "1Gi"}});
        let claim = |spec: Value| said("", "PersistentVolumeClaim", spec);
        assert_eq!(
            claim(json!({"accessModes": ["ReadWriteOnce"], "resources": resources})),
            [""; 0]
        );
        assert_eq!(
            claim(json!({"resources": resources})),
            ["spec.accessModes: Required value: at least 1 access mode is required"]
        );
        assert_eq!(
            claim(json!({"accessModes": ["ReadWriteOnce"]})),
            ["spec.resources.requests.storage: Required value"]
        );
    }
}
