//! `include`, `tpl`, `required`, `fail` and `lookup`.

use super::trace;
use bumpwright_gostd::quote_bytes;
use bumpwright_template::{ANY, Args, DICT, Failure, Function, Host, Nested, NestedError, STRING, Value};

/// The functions of this file.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("fail", &[&STRING], &STRING, |_, args| Err(trace::marked(args.text(0)?))),
    Function::nested("include", &[&STRING, &ANY], &STRING, include),
    Function::new("lookup", &[&STRING, &STRING, &STRING, &STRING], &DICT, |_, _| {
        Ok(Value::dict::<&str>([]))
    }),
    Function::new("required", &[&STRING, &ANY], &ANY, required),
    Function::nested("tpl", &[&STRING, &ANY], &STRING, tpl),
];

const NO_VALUE: &str = "<no value>";

/// How many executions of one template may be in progress.
const MAX_RECURSION: usize = 1000;

fn include(nested: &mut Nested<'_, '_, '_>, args: Args<'_>) -> Result<Value, Failure> {
    let name = args.text(0)?.lossy();
    match nested.execute(&name, args.value(1)?.clone(), MAX_RECURSION)? {
        Some(out) => Ok(Value::text(out)),
        None => Err(Failure::new(format!(
            "rendering template has a nested reference name: {name}: unable to execute template"
        ))),
    }
}

fn tpl(nested: &mut Nested<'_, '_, '_>, args: Args<'_>) -> Result<Value, Failure> {
    let given = args.text(0)?;
    let text = given.lossy();
    let quoted = || quote_bytes(given);
    match nested.execute_text(&text, args.value(1)?.clone()) {
        Ok(out) => Ok(Value::text(without_no_value(out))),
        Err(NestedError::Limit(failure)) => Err(failure),
        Err(NestedError::Exec(error)) if error.stage == bumpwright_template::Stage::Limit => {
            Err(Failure::Limit(error.text))
        }
        Err(NestedError::Parse(error)) => Err(Failure::new(format!("cannot parse template {}: {error}", quoted()))),
        Err(NestedError::Exec(error)) => Err(Failure::new(format!(
            "error during tpl function execution for {}: {error}",
            quoted()
        ))),
    }
}

/// What Go prints for nil is left out, as Helm does.
pub(super) fn without_no_value(out: Vec<u8>) -> Vec<u8> {
    let text = bumpwright_gostd::lossy(&out);
    if text.contains(NO_VALUE) {
        text.replace(NO_VALUE, "").into_bytes()
    } else {
        out
    }
}

fn required(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let value = args.value(1)?;
    match value {
        Value::Nil => Err(trace::marked(args.text(0)?)),
        Value::String(text) if text.is_empty() => Err(trace::marked(args.text(0)?)),
        value => Ok(value.clone()),
    }
}
