//! What the API server refuses of what runs pods.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::pods::Pod;
use super::refusal::{Refusals, is_known, is_missing, items, known};
use super::schedule;
use crate::verify::images::Workload;
use bumpwright_json::Texts as _;

/// Kinds with a selector that has to select their own pods, and never changes.
const SELECTING: [&str; 4] = ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"];

/// What is refused of a workload, and of its pods. `is_applied`: by a server-side apply.
pub(super) fn check((group, kind): (&str, &str), object: &Value, is_applied: bool, found: &mut Refusals) {
    let Some(workload) = Workload::of(group, kind) else {
        return;
    };
    let at = workload.template_pointer(kind);
    let Some(template) = object.pointer(at) else { return };
    if group == "apps" && SELECTING.contains(&kind) {
        selector(kind, object, template, found);
    }
    match kind {
        "Deployment" => strategy(object, found),
        "CronJob" => cron(object, found),
        _ => {}
    }
    let at = format!("{at}/spec");
    let Some(spec) = template.get("spec").filter(|spec| spec.is_object()) else {
        return;
    };
    restart_policy(kind, spec, &at, found);
    let pod = Pod {
        spec,
        at,
        claims: claims(kind, object),
        is_applied,
    };
    pod.check(found);
}

/// The volumes that a StatefulSet makes of claims. Of a pod none are known: admission gives it some
/// before it is validated.
fn claims<'v>(kind: &str, object: &'v Value) -> Option<BTreeSet<&'v str>> {
    if kind == "Pod" {
        return None;
    }
    let claims = items(object.value_at("/spec"), "volumeClaimTemplates");
    Some(
        claims
            .iter()
            .map(|(_, claim)| claim.text_at("/metadata/name"))
            .collect(),
    )
}

/// Of Jobs a restart policy is required, of others there is one only.
fn restart_policy(kind: &str, spec: &Value, at: &str, found: &mut Refusals) {
    let policy = spec.text_of("restartPolicy");
    let pointer = format!("{at}/restartPolicy");
    match kind {
        _ if !is_known(policy) => {}
        "Pod" => {}
        "Job" | "CronJob" if matches!(policy, "" | "Always") => {
            found.required(pointer, "valid values: \"OnFailure\", \"Never\"");
        }
        "Job" | "CronJob" => {}
        _ if matches!(policy, "" | "Always") => {}
        _ => found.unsupported(pointer, policy, "\"Always\""),
    }
}

fn strategy(object: &Value, found: &mut Refusals) {
    let strategy = object.value_at("/spec/strategy");
    let has_update = strategy.get("rollingUpdate").is_some_and(|update| !update.is_null());
    if strategy.text_of("type") == "Recreate" && has_update {
        let detail = "may not be specified when strategy `type` is 'Recreate'";
        found.forbidden("/spec/strategy/rollingUpdate".to_owned(), detail);
    }
}

fn cron(object: &Value, found: &mut Refusals) {
    let at = "/spec/schedule".to_owned();
    match object.pointer("/spec/schedule").and_then(Value::as_str) {
        Some("") => found.required(at, ""),
        Some(text) if is_known(text) => {
            if let Err(error) = schedule::check(text) {
                found.invalid(at, text, &error.to_string());
            }
        }
        _ => {}
    }
}

fn selector(kind: &str, object: &Value, template: &Value, found: &mut Refusals) {
    let Some(selector) = object.pointer("/spec/selector").filter(|one| one.is_object()) else {
        return;
    };
    let expressions = items(selector, "matchExpressions");
    if is_missing(selector.get("matchLabels")) && expressions.is_empty() {
        let detail = format!("empty selector is invalid for {}", kind.to_lowercase());
        found.invalid("/spec/selector".to_owned(), "", &detail);
        return;
    }
    let none = Map::new();
    let labels = template.pointer("/metadata/labels").and_then(Value::as_object);
    let labels = labels.unwrap_or(&none);
    let wanted = selector.get("matchLabels").and_then(Value::as_object).unwrap_or(&none);
    let mut texts = wanted.values().chain(labels.values());
    if !texts.all(|value| value.as_str().is_some_and(is_known)) {
        return;
    }
    let mut unmet = wanted
        .iter()
        .filter(|(key, value)| labels.get(*key) != Some(*value))
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")));
    let expression = || expressions.iter().find_map(|(_, one)| unmet_expression(one, labels));
    if let Some(unmet) = unmet.next().or_else(expression) {
        let all = labels
            .iter()
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or("")))
            .collect::<Vec<_>>()
            .join(",");
        let detail = format!("`selector` does not match template `labels`: it wants {unmet}");
        found.invalid("/spec/template/metadata/labels".to_owned(), &all, &detail);
    }
}

/// An expression of a selector that labels do not meet, as text. One that is not valid is no matter of the labels.
fn unmet_expression(expression: &Value, labels: &Map<String, Value>) -> Option<String> {
    let (key, operator) = (known(expression, "key")?, known(expression, "operator")?);
    let values: Vec<&str> = items(expression, "values")
        .into_iter()
        .filter_map(|(_, value)| value.as_str())
        .collect();
    if !values.iter().all(|value| is_known(value)) {
        return None;
    }
    let label = labels.get(key).and_then(Value::as_str);
    let is_among = label.is_some_and(|label| values.contains(&label));
    let is_met = match operator {
        "In" => is_among,
        "NotIn" => !is_among,
        "Exists" => label.is_some(),
        "DoesNotExist" => label.is_none(),
        _ => true,
    };
    let values = match values.as_slice() {
        [] => String::new(),
        values => format!(" ({})", values.join(", ")),
    };
    (!is_met).then(|| format!("{key} {operator}{values}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(group: &str, kind: &str, spec: Value) -> Vec<String> {
        let mut found = Refusals::default();
        let object = json!({"kind": kind, "spec": spec});
        check((group, kind), &object, true, &mut found);
        found.0.into_iter().map(|one| one.text).collect()
    }

    fn template(more: &Value) -> Value {
        let mut spec = json!({"containers": [{"name": "a", "image": "a"}]});
        if let (Some(spec), Some(more)) = (spec.as_object_mut(), more.as_object()) {
            spec.extend(more.clone());
        }
        json!({"metadata": {"labels": {"app": "web", "tier": "front"}}, "spec": spec})
    }

    #[test]
    fn a_selector_selects_the_template() {
        let refused = "spec.template.metadata.labels: Invalid value: \"app=web,tier=front\": \
                       `selector` does not match template `labels`: it wants ";
        for (selector, expected) in [
            (json!({"matchLabels": {"app": "web"}}), String::new()),
            (json!({"matchLabels": {"app": "${app}"}}), String::new()),
            (json!({"matchLabels": {"app": "wbe"}}), format!("{refused}app=wbe")),
            (json!({"matchLabels": {"name": "web"}}), format!("{refused}name=web")),
            (
                json!({}),
                "spec.selector: Invalid value: \"\": empty selector is invalid for deployment".to_owned(),
            ),
            (
                json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["front", "back"]}]}),
                String::new(),
            ),
            (
                json!({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["back"]}]}),
                format!("{refused}tier In (back)"),
            ),
            (
                json!({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}),
                format!("{refused}tier DoesNotExist"),
            ),
        ] {
            let spec = json!({"selector": selector, "template": template(&json!({}))});
            let expected: Vec<String> = [expected].into_iter().filter(|text| !text.is_empty()).collect();
            assert_eq!(said("apps", "Deployment", spec), expected, "{selector}");
        }
    }

    #[test]
    fn claims_of_a_stateful_set_are_volumes() {
        let mounted = json!({"containers": [{"name": "a", "image": "a", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]});
        let selector = json!({"matchLabels": {"app": "web"}});
        let claims = json!([{"metadata": {"name": "data"}, "spec": {}}]);
        let set = json!({"selector": selector, "template": template(&mounted), "volumeClaimTemplates": claims});
        assert_eq!(said("apps", "StatefulSet", set), [""; 0]);
        let unknown = json!([{"metadata": {"name": "${claim}"}, "spec": {}}]);
        let set = json!({"selector": selector, "template": template(&mounted), "volumeClaimTemplates": unknown});
        assert_eq!(said("apps", "StatefulSet", set), [""; 0]);
        let without = json!({"selector": selector, "template": template(&mounted)});
        assert_eq!(
            said("apps", "StatefulSet", without),
            ["spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"data\""]
        );
    }

    #[test]
    fn jobs_say_when_they_restart() {
        let job = |more: Value| json!({"template": template(&more)});
        let required = "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\"";
        assert_eq!(said("batch", "Job", job(json!({}))), [required]);
        assert_eq!(said("batch", "Job", job(json!({"restartPolicy": "Never"}))), [""; 0]);
        let cron = |schedule: &str| json!({"schedule": schedule, "jobTemplate": {"spec": job(json!({"restartPolicy": "Never"}))}});
        assert_eq!(said("batch", "CronJob", cron("0 3 * * *")), [""; 0]);
        assert_eq!(said("batch", "CronJob", cron("${schedule}")), [""; 0]);
        let never = json!({"selector": {"matchLabels": {"app": "web"}}, "template": template(&json!({"restartPolicy": "Never"}))});
        let unsupported =
            "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"";
        assert_eq!(said("apps", "DaemonSet", never), [unsupported]);
        assert_eq!(
            said("batch", "CronJob", cron("0 24 * * *")),
            ["spec.schedule: Invalid value: \"0 24 * * *\": end of range (24) above maximum (23): 24"]
        );
    }

    #[test]
    fn what_recreates_pods_does_not_roll() {
        let spec = |kind: &str| {
            json!({
                "selector": {"matchLabels": {"app": "web"}},
                "strategy": {"type": kind, "rollingUpdate": {"maxSurge": 1}},
                "template": template(&json!({})),
            })
        };
        assert_eq!(said("apps", "Deployment", spec("RollingUpdate")), [""; 0]);
        assert_eq!(
            said("apps", "Deployment", spec("Recreate")),
            ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"]
        );
    }
}
