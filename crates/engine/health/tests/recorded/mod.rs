//! Recorded statuses and ours in a common form.

use bumpwright_health::{Health, HealthError};
use serde_json::{Value, json};

/// Our result in the form of a row.
pub fn shown(health: &Result<Health, HealthError>) -> Value {
    match health {
        Err(error) => json!({ "error": error.to_string() }),
        Ok(health) => {
            let condition = health.condition.iter().map(|condition| {
                json!({
                    "type": condition.kind,
                    "status": "True",
                    "reason": condition.reason,
                    "message": condition.message,
                })
            });
            json!({
                "status": health.status.as_str(),
                "message": health.message,
                "conditions": condition.collect::<Vec<_>>(),
            })
        }
    }
}

/// The result of a row, with the fields that Go omits.
pub fn expected(row: &Value) -> Value {
    if let Some(error) = row.get("error") {
        return json!({ "error": error });
    }
    let mut conditions = row["conditions"].as_array().cloned().unwrap_or_default();
    for condition in &mut conditions {
        for field in ["type", "status", "reason", "message"] {
            let value = condition[field].as_str().unwrap_or_default();
            condition[field] = json!(value);
        }
    }
    json!({ "status": row["status"], "message": row["message"], "conditions": conditions })
}
