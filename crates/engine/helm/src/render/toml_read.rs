//! `fromToml`.

use super::toml_error;
use bumpwright_gostd::lossy;
use bumpwright_template::{Args, DICT, Failure, Function, Host, STRING, Value};

/// The function of this file.
pub(super) static FUNCTIONS: &[Function] = &[Function::new("fromToml", &[&STRING], &DICT, from_toml)];

fn from_toml(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let text = args.text(0)?;
    host.step(text.len() as u64 / 4)?;
    host.produce(text.len().saturating_mul(8))?;
    let text = lossy(text);
    Ok(match text.parse::<toml::Table>() {
        Ok(table) => table_of(&table),
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let error = toml_error::words(&text, at, error.message());
            Value::dict([("Error", Value::text(error))])
        }
    })
}

fn table_of(table: &toml::Table) -> Value {
    Value::dict(table.iter().map(|(key, value)| (key.as_str(), value_of(value))))
}

fn value_of(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::text(text.as_str()),
        toml::Value::Integer(number) => Value::int64(*number),
        toml::Value::Float(number) => Value::float(*number),
        toml::Value::Boolean(truth) => Value::Bool(*truth),
        toml::Value::Datetime(time) => match (&time.date, &time.time) {
            (Some(_), None) => Value::text(format!("{time}T00:00:00Z")),
            _ => Value::text(time.to_string()),
        },
        toml::Value::Array(items) => Value::list(items.iter().map(value_of).collect()),
        toml::Value::Table(table) => table_of(table),
    }
}
