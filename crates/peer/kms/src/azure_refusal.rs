//! Errors of Azure in the words of its SDK for Go, which SOPS passes on (`azcore`, *ResponseError*).

use serde_json::Value;

use bumpwright_http::{Answer, host_of, scrubbed};
use bumpwright_secret::Secret;
use bumpwright_text::between;

const LINE: &str = "--------------------------------------------------------------------------------";

/// The text of a vault's error. `secrets` are those of the request.
pub(super) fn refused(answer: &Answer, secrets: &[&Secret]) -> String {
    let (status, url) = (answer.status, &answer.url);
    let host = host_of(url);
    let port = between(":", url.port(), "");
    let code = match code(answer) {
        Some(code) => format!("ERROR CODE: {code}"),
        None => "ERROR CODE UNAVAILABLE".to_owned(),
    };
    let body = String::from_utf8_lossy(&answer.body);
    let body = match (body.is_empty(), serde_json::from_str::<serde::de::IgnoredAny>(&body)) {
        (true, _) => "Response contained no body".to_owned(),
        (_, Ok(_)) => indented(&body),
        _ => body.into_owned(),
    };
    let said = scrubbed(&body, secrets.iter().copied());
    let code = scrubbed(&code, secrets.iter().copied());
    let reason = status.canonical_reason().unwrap_or_default();
    format!(
        "POST {}://{host}{port}{}\n{LINE}\nRESPONSE {}: {} {reason}\n{code}\n{LINE}\n{said}\n{LINE}\n",
        url.scheme(),
        url.path(),
        status.as_u16(),
        status.as_u16(),
    )
}

/// Azure's error code, from a header, from JSON, from XML.
fn code(answer: &Answer) -> Option<String> {
    if let Some(code) = answer.header("x-ms-error-code").filter(|code| !code.is_empty()) {
        return Some(code.to_owned());
    }
    let body = String::from_utf8_lossy(&answer.body);
    let found = match serde_json::from_str::<Value>(&body) {
        Ok(document) => {
            let wrapped = document.get("error").or_else(|| document.get("odata.error"));
            wrapped.unwrap_or(&document).get("code")?.as_str()?.to_owned()
        }
        Err(_) => {
            let rest = ["<Code>", "<code>"]
                .iter()
                .find_map(|open| Some(body.split_once(open)?.1))?;
            rest.split_once("</")?.0.trim().to_owned()
        }
    };
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
    Some(found).filter(|code| !code.is_empty() && code.len() <= 100 && code.chars().all(good))
}

/// Indents a JSON text as Go's `json.Indent` with two blanks, with members in their order.
fn indented(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut escaped, mut opened) = (0_usize, false, false, false);
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    for c in text.chars() {
        if in_string {
            (in_string, escaped) = (c != '"' || escaped, c == '\\' && !escaped);
            out.push(c);
            continue;
        }
        if c.is_ascii_whitespace() {
            continue;
        }
        let closes = matches!(c, '}' | ']');
        if std::mem::take(&mut opened) && !closes {
            depth += 1;
            line(&mut out, depth);
        } else if closes && !out.ends_with(['{', '[']) {
            depth = depth.saturating_sub(1);
            line(&mut out, depth);
        }
        out.push(c);
        match c {
            '"' => in_string = true,
            '{' | '[' => opened = true,
            ',' => line(&mut out, depth),
            ':' => out.push(' '),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_go_indents() {
        let text = r#"{"a": {"b":"x, {\"y\\\": [", "c":[1,{},[ ]] },"d":null}"#;
        let expected = r#"{
  "a": {
    "b": "x, {\"y\\\": [",
    "c": [
      1,
      {},
      []
    ]
  },
  "d": null
}"#;
        assert_eq!(indented(text), expected);
        assert_eq!(indented("[]"), "[]");
        assert_eq!(indented("7"), "7");
    }
}
