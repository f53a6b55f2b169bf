//! The values of a user: files and arguments, in Helm's order.

use serde_json::Value as Json;

use super::set::{self, Reading, SetError, typed};
use super::{Values, ValuesError, literal, merge_tables, read_values};
use crate::foreign_error::ForeignError;

/// One argument that sets values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Override {
    /// `--set-json`
    Json(String),
    /// `--set`
    Typed(String),
    /// `--set-string`
    Text(String),
    /// `--set-file`
    File(String),
    /// `--set-literal`
    Literal(String),
}

/// What a user sets.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// Values files: their name for errors, and their content.
    pub files: Vec<(String, Vec<u8>)>,
    /// The arguments in any order: Helm has one of its own.
    pub arguments: Vec<Override>,
}

/// The values of all files, then those of the arguments: JSON, typed, text, file, literal.
///
/// `read` has the content of a file that `--set-file` names.
pub fn merge_values(
    overrides: &Overrides,
    read: &mut dyn FnMut(&str) -> Result<String, ForeignError>,
) -> Result<Values, ValuesError> {
    let mut values = Values::new();
    for (name, text) in &overrides.files {
        let file = read_values(text).map_err(|problem| ValuesError::File {
            name: name.clone(),
            problem: Box::new(problem),
        })?;
        merge_tables(&mut values, file);
    }
    let order = |argument: &Override| match argument {
        Override::Json(_) => 0,
        Override::Typed(_) => 1,
        Override::Text(_) => 2,
        Override::File(_) => 3,
        Override::Literal(_) => 4,
    };
    let mut arguments: Vec<&Override> = overrides.arguments.iter().collect();
    arguments.sort_by_key(|argument| order(argument));
    for argument in arguments {
        apply(argument, &mut values, read)?;
    }
    Ok(values)
}

fn apply(
    argument: &Override,
    values: &mut Values,
    read: &mut dyn FnMut(&str) -> Result<String, ForeignError>,
) -> Result<(), ValuesError> {
    let failed = |flag: &'static str| move |problem: SetError| ValuesError::Argument { flag, problem };
    match argument {
        Override::Json(text) => apply_json(text, values),
        Override::Typed(text) => {
            let convert = &mut |text: &str| Ok(typed(text));
            set::parse_into(text, values, Reading::Text(convert)).map_err(failed("set"))
        }
        Override::Text(text) => {
            let convert = &mut |text: &str| Ok(Json::from(text));
            set::parse_into(text, values, Reading::Text(convert)).map_err(failed("set-string"))
        }
        Override::File(text) => {
            let convert = &mut |text: &str| Ok(Json::from(read(text)?));
            set::parse_into(text, values, Reading::Text(convert)).map_err(failed("set-file"))
        }
        Override::Literal(text) => literal::parse_into(text, values).map_err(failed("set-literal")),
    }
}

fn apply_json(text: &str, values: &mut Values) -> Result<(), ValuesError> {
    let trimmed = text.trim();
    if trimmed.starts_with('{') {
        let table: Values = serde_json::from_str(trimmed).map_err(|_| ValuesError::JsonObject(text.to_owned()))?;
        if let Json::Object(table) = set::with_floats(Json::Object(table)) {
            merge_tables(values, table);
        }
        return Ok(());
    }
    set::parse_into(text, values, Reading::Json).map_err(|_| ValuesError::JsonArgument(text.to_owned()))
}

/// Sets one value at a path as `--set` does, and as `--set-string` when the value is in quotation marks or `literal`:
/// then it is taken as it is (helm-controller's `valuesFrom` with a `targetPath`).
pub fn set_value(values: &mut Values, path: &str, value: &str, literal: bool) -> Result<(), SetError> {
    let text = &mut |text: &str| Ok(Json::from(text));
    if literal {
        let mut escaped = String::with_capacity(value.len());
        for ch in value.chars() {
            if matches!(ch, '\\' | ',' | '[' | ']' | '{' | '}') {
                escaped.push('\\');
            }
            escaped.push(ch);
        }
        return set::parse_into(&format!("{path}={escaped}"), values, Reading::Text(text));
    }
    let is_in = |quote: char| value.starts_with(quote) && value.ends_with(quote);
    if is_in('\'') || is_in('"') {
        let bare = value.trim_matches(['\'', '"']);
        return set::parse_into(&format!("{path}={bare}"), values, Reading::Text(text));
    }
    let convert = &mut |text: &str| Ok(typed(text));
    set::parse_into(&format!("{path}={value}"), values, Reading::Text(convert))
}
