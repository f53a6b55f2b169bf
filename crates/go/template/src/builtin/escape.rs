//! `html`, `js` and `urlquery`: text escaped for other languages.

use std::fmt::Write as _;

use crate::exec::host::Host;
use crate::print::sprint::sprint;
use crate::value::failure::Failure;
use crate::value::methods::printable;
use crate::value::model::{Args, Value};
use crate::value::text::Text;
use bumpwright_gostd::query_escape;
use bumpwright_gostd::unicode::is_print;

/// `html`: the arguments as printed, escaped for HTML.
pub(crate) fn html(host: &mut Host<'_>, arguments: Args<'_>) -> Result<Value, Failure> {
    escaped(host, arguments, html_of)
}

/// `js`: the arguments as printed, escaped for a string in JavaScript.
pub(crate) fn js(host: &mut Host<'_>, arguments: Args<'_>) -> Result<Value, Failure> {
    escaped(host, arguments, js_of)
}

/// `urlquery`: the arguments as printed, escaped for the query of a URL.
pub(crate) fn url_query(host: &mut Host<'_>, arguments: Args<'_>) -> Result<Value, Failure> {
    escaped(host, arguments, |text| query_escape(text).into_bytes())
}

/// A byte of the longest escape: `\u00XX` of a control character.
const MOST_PER_BYTE: usize = 6;

fn escaped(host: &mut Host<'_>, arguments: Args<'_>, escape: fn(&[u8]) -> Vec<u8>) -> Result<Value, Failure> {
    let text = match arguments.0 {
        [Value::String(text)] => text.clone(),
        values => {
            let operands: Vec<Value> = values.iter().map(operand).collect();
            Text::from(sprint(host, &operands)?)
        }
    };
    host.produce(text.len().saturating_mul(MOST_PER_BYTE))?;
    Ok(Value::text(escape(&text)))
}

/// Prints the arguments as an action does.
fn operand(value: &Value) -> Value {
    match value {
        Value::Nil => Value::text("<no value>"),
        value => printable(value).clone(),
    }
}

fn html_of(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'\0' => out.extend_from_slice("\u{fffd}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            other => out.push(*other),
        }
    }
    out
}

fn js_of(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for ch in chunk.valid().chars() {
            js_char(&mut out, ch);
        }
        out.extend_from_slice(chunk.invalid());
    }
    out
}

fn js_char(out: &mut Vec<u8>, ch: char) {
    let mut escape = String::new();
    match ch {
        '\\' => escape.push_str(r"\\"),
        '\'' => escape.push_str(r"\'"),
        '"' => escape.push_str("\\\""),
        '<' | '>' | '&' | '=' | '\0'..' ' => {
            // Writing to a String does not fail.
            let _ = write!(escape, "\\u{:04X}", u32::from(ch));
        }
        _ if ch.is_ascii() => return out.push(ch as u8),
        _ if is_print(ch) => escape.push(ch),
        _ => {
            let _ = write!(escape, "\\u{:04X}", u32::from(ch));
        }
    }
    out.extend_from_slice(escape.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_as_go_does() {
        let text = b"a<b>&\"'\0\x07\\= \xff\xe2\x82 \xc2\xa0\xe2\x82\xac\x7f".as_slice();
        assert_eq!(
            html_of(text),
            b"a&lt;b&gt;&amp;&#34;&#39;\xef\xbf\xbd\x07\\= \xff\xe2\x82 \xc2\xa0\xe2\x82\xac\x7f"
        );
        assert_eq!(
            js_of(text),
            b"a\\u003Cb\\u003E\\u0026\\\"\\'\\u0000\\u0007\\\\\\u003D \xff\xe2\x82 \\u00A0\xe2\x82\xac\x7f"
        );
        assert_eq!(
            query_escape(text),
            "a%3Cb%3E%26%22%27%00%07%5C%3D+%FF%E2%82+%C2%A0%E2%82%AC%7F"
        );
    }
}
