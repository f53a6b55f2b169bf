//! Hooks of Helm (`helm.sh/hook`): objects that a release makes at its events, never updates, and forgets.

use bumpwright_json::Texts;
use serde_json::Value;

const DELETE_POLICY: &str = "helm.sh/hook-delete-policy";

/// Whether an object of a release is a hook. For objects of Kustomizations the annotation has no meaning.
pub(crate) fn is_hook(object: &Value) -> bool {
    annotations(object).get("helm.sh/hook").is_some()
}

/// Whether an upgrade fails at a hook that exists: it creates the hook, and nothing has deleted the old one. Without
/// `helm.sh/hook-delete-policy` it is deleted before; definitions never are (`deleteHookByPolicy` of Helm).
pub(crate) fn fails_at_upgrades(hook: &Value) -> bool {
    let annotations = annotations(hook);
    let has = |key: &str, wanted: &[&str]| {
        let mut words = annotations.text_of(key).split(',');
        words.any(|word| wanted.contains(&word.trim().to_lowercase().as_str()))
    };
    let is_definition = hook.text_of("kind") == "CustomResourceDefinition";
    let has_policy = annotations.get(DELETE_POLICY).is_some();
    let is_deleted = !has_policy || has(DELETE_POLICY, &["before-hook-creation", "hook-succeeded"]);
    has("helm.sh/hook", &["pre-upgrade", "post-upgrade"]) && (is_definition || !is_deleted)
}

fn annotations(object: &Value) -> &Value {
    object.value_at("/metadata/annotations")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_upgrade_fails_only_at_a_hook_that_nothing_deletes() {
        let hook = |kind: &str, events: &str, policy: Option<&str>| {
            let annotations = policy.map_or_else(
                || json!({"helm.sh/hook": events}),
                |policy| json!({"helm.sh/hook": events, "helm.sh/hook-delete-policy": policy}),
            );
            let object = json!({"kind": kind, "metadata": {"annotations": annotations}});
            assert!(is_hook(&object));
            fails_at_upgrades(&object)
        };
        assert!(!hook("Job", "pre-upgrade", None));
        assert!(!hook("Job", "pre-install, pre-upgrade", Some("before-hook-creation")));
        assert!(!hook("Job", "post-upgrade", Some("hook-failed, Hook-Succeeded")));
        assert!(hook("Job", "pre-install, post-upgrade", Some("hook-failed")));
        assert!(!hook("Job", "pre-install", Some("hook-failed")));
        assert!(hook("CustomResourceDefinition", "pre-upgrade", None));
        assert!(!is_hook(&json!({"kind": "Job", "metadata": {"annotations": null}})));
    }
}
