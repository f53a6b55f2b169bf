//! The form of a log line, as by zap's encoders with the settings of controller-runtime and Flux
//! (zap, `zapcore/json_encoder.go` and `console_encoder.go`; `fluxcd/pkg/runtime/logger`).

use std::fmt::Write;
use std::time::SystemTime;

use serde_json::{Number, Value};

use super::log::{Encoding, Level};
use super::timestamp::log_time;
use bumpwright_gostd::format_float;

/// The parts of a line.
pub(crate) struct Entry<'e> {
    pub level: Level,
    pub at: SystemTime,
    pub name: Option<&'e str>,
    pub message: &'e str,
    /// Encoded by [`append_field`].
    pub fields: &'e str,
}

/// Encodes a line with its line break.
pub(crate) fn line(encoding: Encoding, entry: &Entry<'_>) -> String {
    let mut line = String::with_capacity(128 + entry.message.len() + entry.fields.len());
    match encoding {
        Encoding::Json => json_line(&mut line, entry),
        Encoding::Console => console_line(&mut line, entry),
    }
    line.push('\n');
    line
}

/// Appends a field. zap puts spaces between the fields of a console line.
pub(crate) fn append_field(encoding: Encoding, fields: &mut String, key: &str, value: &Value) {
    let spaced = encoding == Encoding::Console;
    if !fields.is_empty() {
        fields.push_str(if spaced { ", " } else { "," });
    }
    append_string(fields, key);
    fields.push_str(if spaced { ": " } else { ":" });
    append_value(fields, value);
}

fn json_line(line: &mut String, entry: &Entry<'_>) {
    let level = match entry.level {
        Level::Error => "error",
        Level::Info => "info",
        Level::Debug => "debug",
        Level::Trace => "trace",
    };
    let _ = write!(line, "{{\"level\":\"{level}\",\"ts\":\"{}\"", log_time(entry.at));
    if let Some(name) = entry.name {
        line.push_str(",\"logger\":");
        append_string(line, name);
    }
    line.push_str(",\"msg\":");
    append_string(line, entry.message);
    if !entry.fields.is_empty() {
        line.push(',');
        line.push_str(entry.fields);
    }
    line.push('}');
}

/// Line breaks in messages are kept, as in zap.
fn console_line(line: &mut String, entry: &Entry<'_>) {
    let level = match entry.level {
        Level::Error => "ERROR",
        Level::Info => "INFO",
        Level::Debug => "DEBUG",
        Level::Trace => "TRACE",
    };
    let _ = write!(line, "{}\t{level}", log_time(entry.at));
    for column in entry.name.into_iter().chain([entry.message]) {
        line.push('\t');
        line.push_str(column);
    }
    if !entry.fields.is_empty() {
        let _ = write!(line, "\t{{{}}}", entry.fields);
    }
}

fn append_value(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => append_string(out, text),
        Value::Number(number) => append_number(out, number),
        // `Display` of a value is its JSON, which cannot fail on a string.
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

/// zap writes floating point numbers without exponents.
fn append_number(out: &mut String, number: &Number) {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(float) => out.push_str(&format_float(float, b'f', None, 64)),
        None => {
            let _ = write!(out, "{number}");
        }
    }
}

/// Appends a JSON string with zap's escapes.
fn append_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        let _ = match character {
            '"' | '\\' => write!(out, "\\{character}"),
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            '\0'..='\x1f' => write!(out, "\\u{:04x}", u32::from(character)),
            _ => out.write_char(character),
        };
    }
    out.push('"');
}
