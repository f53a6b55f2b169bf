//! `status.conditions`, decoded as by `runtime.DefaultUnstructuredConverter` into kstatus' type.

use super::field::HealthError;
use super::go_value::kind_of;
use serde_json::Value;

/// The fields of a condition that kstatus reads; missing and null ones are empty.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Given<'v> {
    pub(crate) kind: &'v str,
    pub(crate) status: &'v str,
    pub(crate) reason: &'v str,
    pub(crate) message: &'v str,
}

impl Given<'_> {
    pub(crate) fn is(&self, kind: &str, status: &str) -> bool {
        self.kind == kind && self.status == status
    }
}

/// The conditions of an object.
///
/// # Errors
/// When one of them, or their parent, is of the wrong type, with Go's message.
pub(crate) fn conditions(object: &Value) -> Result<Vec<Given<'_>>, HealthError> {
    let status = match object.get("status") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(status)) => status,
        Some(other) => return Err(no_struct(other)),
    };
    match status.get("conditions") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => items.iter().map(condition).collect(),
        Some(other) => {
            let text = format!("cannot restore slice from {}", kind_of(other));
            Err(HealthError::Conditions(text))
        }
    }
}

fn no_struct(value: &Value) -> HealthError {
    HealthError::Conditions(format!("cannot restore struct from: {}", kind_of(value)))
}

fn condition(item: &Value) -> Result<Given<'_>, HealthError> {
    let members = match item {
        Value::Null => return Ok(Given::default()),
        Value::Object(members) => members,
        other => return Err(no_struct(other)),
    };
    let text = |key, go_type| word(members.get(key), go_type);
    Ok(Given {
        kind: text("type", "string")?,
        status: text("status", "v1.ConditionStatus")?,
        reason: text("reason", "string")?,
        message: text("message", "string")?,
    })
}

/// A text. Go has another message for whole numbers.
fn word<'v>(value: Option<&'v Value>, go_type: &str) -> Result<&'v str, HealthError> {
    let refusal = match value {
        None | Some(Value::Null) => return Ok(""),
        Some(Value::String(text)) => return Ok(text),
        Some(Value::Number(number)) if number.is_i64() => format!("cannot convert int64 to {go_type}"),
        Some(_) => "unrecognized type: string".to_owned(),
    };
    Err(HealthError::Conditions(refusal))
}
