//! Ignored fields (`.spec.ignore`): they do not count as drift, and keep their values when the object is applied for
//! other reasons (fluxcd/pkg `ssa/jsondiff`, *selector*; `ssa`, *manager_apply*).

use serde_json::{Map, Value};

use super::metadata::texts;
use crate::error::{ApplyError, IgnoreRuleError};
use crate::look::drift::{put, remove};
use bumpwright_api::{IgnoreRule, ObjectSelector};
use bumpwright_json::Texts;
use bumpwright_kube::GroupVersionKind;
use bumpwright_kustomize::replace::LabelSelector;
use bumpwright_re2::{Budget, Regexp};
use bumpwright_text::pointer::unescaped;

/// The most memory that the patterns of all rules take, in bytes: a few bytes of a pattern can make a large program.
const MAX_PATTERNS: usize = 16 << 20;

#[derive(Debug, Default)]
pub(crate) struct IgnoreRules(Vec<(Target, Vec<String>)>);

#[derive(Debug, Default)]
struct Target {
    /// For group, version, kind, name and namespace.
    patterns: [Option<Regexp>; 5],
    labels: Option<LabelSelector>,
    annotations: Option<LabelSelector>,
}

impl IgnoreRules {
    pub(crate) fn of(rules: &[IgnoreRule]) -> Result<Self, ApplyError> {
        let mut left = MAX_PATTERNS;
        let rules =
            rules.iter().map(|rule| {
                let target = rule.target.as_ref().map(Target::of).transpose();
                let target = target?.unwrap_or_default();
                let patterns = target.patterns.iter().flatten();
                left = patterns.map(Regexp::memory).try_fold(left, usize::checked_sub).ok_or(
                    IgnoreRuleError::TooLarge {
                        most: MAX_PATTERNS >> 20,
                    },
                )?;
                Ok((target, rule.paths.clone()))
            });
        rules.collect::<Result<_, _>>().map(Self)
    }

    /// The ignored fields of an object.
    pub(crate) fn paths(&self, object: &Value) -> Vec<&str> {
        let rules = self.0.iter().filter(|(target, _)| target.is_for(object));
        rules.flat_map(|(_, paths)| paths).map(String::as_str).collect()
    }
}

impl Target {
    fn of(target: &ObjectSelector) -> Result<Self, IgnoreRuleError> {
        let pattern = |field, pattern: &str| match pattern {
            "" => Ok(None),
            pattern => {
                let regexp = Regexp::new(format!("^(?:{pattern})$"));
                regexp
                    .map(Some)
                    .map_err(|problem| IgnoreRuleError::Pattern { field, problem })
            }
        };
        let selector = |field, selector: &str| match selector {
            "" => Ok(None),
            selector => {
                let selector = LabelSelector::new(selector);
                selector
                    .map(Some)
                    .map_err(|problem| IgnoreRuleError::Selector { field, problem })
            }
        };
        Ok(Self {
            patterns: [
                pattern("group", &target.group)?,
                pattern("version", &target.version)?,
                pattern("kind", &target.kind)?,
                pattern("name", &target.name)?,
                pattern("namespace", &target.namespace)?,
            ],
            labels: selector("label", &target.label_selector)?,
            annotations: selector("annotation", &target.annotation_selector)?,
        })
    }

    fn is_for(&self, object: &Value) -> bool {
        let gvk = GroupVersionKind::of(object);
        let text = |pointer: &str| object.text_at(pointer);
        let (name, namespace) = (text("/metadata/name"), text("/metadata/namespace"));
        let parts = [gvk.group.as_str(), &gvk.version, &gvk.kind, name, namespace];
        let matches = |pattern: &Option<Regexp>, part: &str| match pattern {
            None => true,
            // A pattern that takes too many steps matches nothing: drift is corrected then.
            Some(pattern) => pattern
                .is_match(part.as_bytes(), &mut Budget::default())
                .unwrap_or(false),
        };
        let holds = |selector: &Option<LabelSelector>, field: &str| {
            let texts = texts(object, field);
            selector
                .as_ref()
                .is_none_or(|selector| selector.holds(|key| texts.get(key).copied()))
        };
        self.patterns
            .iter()
            .zip(parts)
            .all(|(pattern, part)| matches(pattern, part))
            && holds(&self.labels, "labels")
            && holds(&self.annotations, "annotations")
    }
}

/// Both sides without the ignored fields.
pub(crate) fn without(object: &Value, paths: &[&str]) -> Value {
    let mut object = object.clone();
    paths.iter().for_each(|path| remove(&mut object, path));
    object
}

/// Keeps the cluster's values of ignored fields where applying would change them: a field that another manager applies
/// as well is left out, a field that is only ours gets its current value.
pub(crate) fn yield_fields(object: &mut Value, existing: &Value, dry_run: &Value, paths: &[&str], manager: &str) {
    let managers = Managers::of(existing);
    for path in paths {
        let current = existing.pointer(path);
        if current == dry_run.pointer(path) {
            continue;
        }
        match current.filter(|_| !managers.applied_by_another(existing, path, manager)) {
            Some(value) => put(object, path, value.clone()),
            None => remove(object, path),
        }
    }
}

/// The fields applied by each field manager.
struct Managers<'a>(Vec<(&'a str, &'a Map<String, Value>)>);

impl<'a> Managers<'a> {
    fn of(object: &'a Value) -> Self {
        let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        let entries = entries.into_iter().flatten().filter_map(|entry| {
            let text = |field: &str| entry.text_of(field);
            let applies = text("subresource").is_empty() && text("operation") == "Apply";
            let fields = entry.get("fieldsV1").and_then(Value::as_object)?;
            applies.then(|| (entry.text_of("manager"), fields))
        });
        Self(entries.collect())
    }

    fn applied_by_another(&self, object: &Value, pointer: &str, manager: &str) -> bool {
        let Some(steps) = self.steps(object, pointer) else {
            return false;
        };
        let mut others = self.0.iter().filter(|(name, _)| *name != manager);
        others.any(|(_, fields)| descend(fields, &steps).is_some())
    }

    /// A pointer in the steps of `fieldsV1`: `f:name`, and for a list item its keys.
    fn steps(&self, object: &Value, pointer: &str) -> Option<Vec<String>> {
        let mut steps = Vec::new();
        let mut path = String::new();
        for segment in pointer.strip_prefix('/')?.split('/') {
            match segment.parse::<usize>() {
                Err(_) => steps.push(format!("f:{}", unescaped(segment))),
                Ok(index) => {
                    let item = object.pointer(&path)?.as_array()?.get(index)?.as_object()?;
                    let step = self.key_of(item, &steps)?;
                    steps.push(step);
                }
            }
            path = format!("{path}/{segment}");
        }
        Some(steps)
    }

    /// The keys by which managers name a list item.
    fn key_of(&self, item: &Map<String, Value>, steps: &[String]) -> Option<String> {
        let lists = self.0.iter().filter_map(|(_, fields)| descend(fields, steps));
        let mut keys = lists.filter_map(Value::as_object).flat_map(Map::keys);
        let is_of_item = |key: &&String| {
            let key = key.strip_prefix("k:").map(serde_json::from_str::<Map<String, Value>>);
            key.is_some_and(|key| key.is_ok_and(|key| key.iter().all(|(name, value)| item.get(name) == Some(value))))
        };
        keys.find(is_of_item).cloned()
    }
}

fn descend<'a>(fields: &'a Map<String, Value>, steps: &[String]) -> Option<&'a Value> {
    let (last, steps) = steps.split_last()?;
    let inner = steps
        .iter()
        .try_fold(fields, |fields, step| fields.get(step)?.as_object())?;
    inner.get(last)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(replicas: u32, image: &str, entries: &Value) -> Value {
        let containers = json!([{"name": "a", "image": image}]);
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "apps", "labels": {"tier": "front"}, "managedFields": entries},
            "spec": {"replicas": replicas, "template": {"spec": {"containers": containers}}},
        })
    }

    fn rule(target: &Value) -> IgnoreRule {
        serde_json::from_value(json!({"paths": ["/spec/replicas"], "target": target})).unwrap()
    }

    #[test]
    fn targets_choose_objects() {
        let object = deployment(1, "x", &json!([]));
        for (target, is_meant) in [
            (json!(null), true),
            (json!({"kind": "Deploy"}), false),
            (json!({"kind": "Deploy.*", "group": "apps", "version": "v1"}), true),
            (json!({"name": "we|web", "namespace": "apps"}), true),
            (json!({"namespace": "app"}), false),
            (json!({"labelSelector": "tier in (front)"}), true),
            (json!({"labelSelector": "tier!=front"}), false),
            (json!({"annotationSelector": "tier"}), false),
        ] {
            let rules = IgnoreRules::of(&[rule(&target)]).unwrap();
            assert_eq!(!rules.paths(&object).is_empty(), is_meant, "{target}");
        }
    }

    #[test]
    fn patterns_that_swell_are_refused() {
        let rules = |count: usize| vec![rule(&json!({"kind": "D[a-z]{1,900}", "name": ".*"})); count];
        assert!(IgnoreRules::of(&rules(100)).is_ok());
        let words = IgnoreRules::of(&rules(2_000)).unwrap_err().to_string();
        assert!(words.contains("more than 16 MiB"), "{words}");
    }

    #[test]
    fn wrong_targets_are_refused() {
        for target in [json!({"kind": "("}), json!({"labelSelector": "a in"})] {
            let words = IgnoreRules::of(&[rule(&target)]).unwrap_err().to_string();
            assert!(
                words.starts_with("failed to create ignore rule selector: invalid "),
                "{words}"
            );
        }
    }

    #[test]
    fn fields_stay_as_they_are_in_the_cluster() {
        let ours = json!({"f:spec": {"f:replicas": {}}});
        let entries = json!([{"manager": "kustomize-controller", "operation": "Apply", "fieldsV1": ours}]);
        let (existing, mut object) = (deployment(6, "x", &entries), deployment(1, "x", &json!(null)));
        yield_fields(
            &mut object,
            &existing,
            &deployment(1, "x", &entries),
            &["/spec/replicas"],
            "kustomize-controller",
        );
        assert_eq!(object.pointer("/spec/replicas"), Some(&json!(6)));
    }

    #[test]
    fn fields_that_another_applies_are_left_to_it() {
        let image =
            json!({"f:spec": {"f:template": {"f:spec": {"f:containers": {"k:{\"name\":\"a\"}": {"f:image": {}}}}}}});
        let entries = json!([{"manager": "updater", "operation": "Apply", "fieldsV1": image}]);
        let (existing, mut object) = (deployment(1, "new", &entries), deployment(1, "x", &json!(null)));
        let dry_run = deployment(1, "x", &entries);
        let path = "/spec/template/spec/containers/0/image";
        yield_fields(&mut object, &existing, &dry_run, &[path], "kustomize-controller");
        assert_eq!(
            object.pointer("/spec/template/spec/containers/0"),
            Some(&json!({"name": "a"}))
        );
    }
}
