//! CEL: expressions of health checks and dependencies.

use bumpwright_cel::{Expression, HealthExprs, Ready};
use serde_json::json;

/// Any text as an expression, over an object with values of all types.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let object = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "generation": 3, "labels": {"a.b/c": "d"}},
        "spec": {"replicas": 2, "ratio": 0.5, "on": true, "none": null},
        "status": {
            "observedGeneration": 3,
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}],
        },
    });
    if let Ok(expression) = Expression::parse(text) {
        let _ = expression.evaluate_object(&object);
    }
    if let Ok(expression) = Expression::compile(text, &["status", "spec", "metadata"]) {
        assert!(Expression::parse(text).is_ok(), "compiled, but not parsed");
        let _ = expression.evaluate_object(&object);
    }
    if let Ok(ready) = Ready::new(text) {
        let _ = ready.evaluate(&object, &object);
    }
    if let Ok(health) = HealthExprs::new(text, text, "") {
        let _ = health.status(&object);
    }
}
