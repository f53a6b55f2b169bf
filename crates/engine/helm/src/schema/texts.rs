//! The faults of values, in the words of the library that Helm uses.

use boon::{CompileError, ErrorKind, ValidationError};
use bumpwright_gostd::quote;
use serde_json::{Number, Value as Json};
use std::fmt::Write as _;

/// A fault and those below it, each on a line.
pub(super) fn of(error: &ValidationError<'_, '_>) -> String {
    let mut text = String::new();
    write(&mut text, error, 0);
    text
}

/// Why a schema cannot be used.
pub(super) fn of_compiling(error: &CompileError) -> String {
    match error {
        CompileError::ValidationError { url, src } => {
            let inner = src.to_string();
            format!("{} is not valid against metaschema: {inner}", quoted(url))
        }
        CompileError::InvalidRegex { url, regex, src } => {
            format!("invalid regex {} at {}: {src}", quoted(regex), quoted(url))
        }
        CompileError::LoadUrlError { url, src } => format!("failing loading {}: {src}", quote(url)),
        CompileError::JsonPointerNotFound(url) => format!("json-pointer in {} not found", quote(url)),
        other => other.to_string(),
    }
}

fn write(text: &mut String, error: &ValidationError<'_, '_>, indent: usize) {
    let is_skipped = matches!(error.kind, ErrorKind::Reference { .. }) && error.causes.len() == 1;
    let mut below = indent;
    if !is_skipped {
        if indent > 0 {
            text.push('\n');
            text.push_str(&"  ".repeat(indent - 1));
            text.push_str("- ");
        }
        below += 1;
        // Writing to a string does not fail.
        let _ = match &error.kind {
            ErrorKind::Schema { url } => write!(text, "jsonschema validation failed with {}", quoted(url)),
            kind => {
                let place = quoted(&error.instance_location.to_string());
                write!(text, "at {place}: {}", fault(kind))
            }
        };
    }
    for cause in &error.causes {
        write(text, cause, below);
    }
}

fn fault(kind: &ErrorKind<'_, '_>) -> String {
    match kind {
        ErrorKind::Type { got, want } => {
            let want: Vec<String> = want.iter().map(|ty| ty.to_string()).collect();
            format!("got {got}, want {}", want.join(" or "))
        }
        ErrorKind::Enum { want } => match &want[..] {
            _ if want.iter().any(|value| value.is_object() || value.is_array()) => "'enum' failed".to_owned(),
            [one] => format!("value must be {}", shown(one)),
            several => {
                let several: Vec<String> = several.iter().map(shown).collect();
                format!("value must be one of {}", several.join(", "))
            }
        },
        ErrorKind::Const { want } if want.is_object() || want.is_array() => "'const' failed".to_owned(),
        ErrorKind::Const { want } => format!("value must be {}", shown(want)),
        ErrorKind::Format { got, want, err } => format!("{} is not valid {want}: {err}", shown(got)),
        ErrorKind::MinProperties { got, want } => format!("minProperties: got {got}, want {want}"),
        ErrorKind::MaxProperties { got, want } => format!("maxProperties: got {got}, want {want}"),
        ErrorKind::MinItems { got, want } => format!("minItems: got {got}, want {want}"),
        ErrorKind::MaxItems { got, want } => format!("maxItems: got {got}, want {want}"),
        ErrorKind::MinLength { got, want } => format!("minLength: got {got}, want {want}"),
        ErrorKind::MaxLength { got, want } => format!("maxLength: got {got}, want {want}"),
        ErrorKind::AdditionalItems { got } => format!("last {got} additionalItem(s) not allowed"),
        ErrorKind::AdditionalProperties { got } => {
            format!("additional properties {} not allowed", all_quoted(got))
        }
        ErrorKind::Required { want } => match &want[..] {
            [one] => format!("missing property {}", quoted(one)),
            several => format!("missing properties {}", all_quoted(several)),
        },
        ErrorKind::Dependency { prop, missing } | ErrorKind::DependentRequired { prop, missing } => {
            format!(
                "properties {} required, if {} exists",
                all_quoted(missing),
                quoted(prop)
            )
        }
        ErrorKind::PropertyName { prop } => format!("invalid propertyName {}", quoted(prop)),
        ErrorKind::UniqueItems { got: [a, b] } => format!("items at {a} and {b} are equal"),
        ErrorKind::Contains => "no items match contains schema".to_owned(),
        ErrorKind::MinContains { got, want } if got.is_empty() => {
            format!("min {want} items required to match contains schema, but none matched")
        }
        ErrorKind::MinContains { got, want } => contained("min", got, *want),
        ErrorKind::MaxContains { got, want } => contained("max", got, *want),
        ErrorKind::Pattern { got, want } => {
            format!("{} does not match pattern {}", quoted(got), quoted(want))
        }
        ErrorKind::Minimum { got, want } => bound("minimum", got, want),
        ErrorKind::Maximum { got, want } => bound("maximum", got, want),
        ErrorKind::ExclusiveMinimum { got, want } => bound("exclusiveMinimum", got, want),
        ErrorKind::ExclusiveMaximum { got, want } => bound("exclusiveMaximum", got, want),
        ErrorKind::MultipleOf { got, want } => bound("multipleOf", got, want),
        ErrorKind::Not => "'not' failed".to_owned(),
        ErrorKind::AllOf => "'allOf' failed".to_owned(),
        ErrorKind::AnyOf => "'anyOf' failed".to_owned(),
        ErrorKind::OneOf(None) => "'oneOf' failed, none matched".to_owned(),
        ErrorKind::OneOf(Some((a, b))) => format!("'oneOf' failed, subschemas {a}, {b} matched"),
        ErrorKind::ContentSchema => "'contentSchema' failed".to_owned(),
        other => other.to_string(),
    }
}

fn bound(name: &str, got: &Number, want: &Number) -> String {
    format!("{name}: got {}, want {}", number(got), number(want))
}

fn contained(which: &str, got: &[usize], want: usize) -> String {
    let places: Vec<String> = got.iter().map(ToString::to_string).collect();
    format!(
        "{which} {want} items required to match contains schema, but matched {} items at {}",
        got.len(),
        places.join(" ")
    )
}

/// A number as the library's printer for English shows a float: three digits in a group, and tens to a power beyond twenty-one.
fn number(number: &Number) -> String {
    let value = number.as_f64().unwrap_or_default();
    let spelled = bumpwright_gostd::format_float(value, b'g', None, 64);
    let Some((mantissa, exponent)) = spelled.split_once('e') else {
        return spelled;
    };
    let exponent = exponent.trim_start_matches('+');
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ("⁻", digits),
        None => ("", exponent),
    };
    let raised: String = digits.chars().filter_map(raised).collect();
    format!("{mantissa}×10{sign}{raised}")
}

fn raised(digit: char) -> Option<char> {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digits.get(usize::try_from(digit.to_digit(10)?).ok()?).copied()
}

/// A scalar in a message.
fn shown(value: &Json) -> String {
    match value {
        Json::String(text) => quoted(text),
        Json::Array(_) | Json::Object(_) => "value".to_owned(),
        Json::Number(number) if number.is_f64() => {
            bumpwright_gostd::format_float(number.as_f64().unwrap_or_default(), b'g', None, 64)
        }
        Json::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

/// A text in single quotes.
fn quoted(text: &str) -> String {
    let inner = quote(text).replace("\\\"", "\"").replace('\'', "\\'");
    let inner = inner
        .strip_prefix('"')
        .and_then(|inner| inner.strip_suffix('"'))
        .unwrap_or(&inner);
    format!("'{inner}'")
}

fn all_quoted<T: AsRef<str>>(texts: &[T]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text.as_ref())).collect();
    texts.join(", ")
}
