//! Go templates, as in Helm charts: to us they are lines of text with `key: value`, and `{{ $name := "value" }}`. A
//! comment begins with `#` or is `{{/* … */}}`.

use super::reader::{Comment, Cursor, Found, State, Value};
use bumpwright_text::Parts;

pub(super) fn read(text: &str) -> Found {
    let mut parts = Found::default();
    let mut cursor = Cursor::new(text);
    while cursor.peek().is_some() {
        line(&mut cursor, &mut parts);
        cursor.next_line();
    }
    parts
}

fn line(cursor: &mut Cursor<'_>, found: &mut Found) {
    let begin = *cursor;
    let comment = comment(cursor);
    let end = comment.as_ref().map_or(cursor.at, |comment| comment.span.start);
    let text = begin.until(end);
    found.values.extend(value(begin.at, text));
    found.comments.extend(comment);
}

/// Passes the line up to its comment, and that.
fn comment(cursor: &mut Cursor<'_>) -> Option<Comment> {
    let begin = cursor.at;
    let line = cursor.line();
    let of_template = line.match_indices("{{").find_map(|(at, _)| {
        let inside = line.get(at + 2..)?;
        let inside = inside.strip_prefix("- ").unwrap_or(inside);
        inside.starts_with("/*").then(|| (at, line.len() - inside.len() + 2))
    });
    let of_yaml = line.match_indices('#').map(|(at, _)| at).find(|at| {
        let before = line.part(..*at);
        before.is_empty() || before.ends_with([' ', '\t'])
    });
    if let Some((at, body)) = of_template.filter(|(at, _)| of_yaml.is_none_or(|other| *at < other)) {
        cursor.at = begin + body;
        while cursor.peek().is_some() && !cursor.is_at("*/") {
            cursor.at += 1;
        }
        let end = cursor.at;
        let _ = cursor.pass("*/") && (cursor.pass(" -}}") || cursor.pass("}}"));
        return Some(Comment {
            span: begin + at..cursor.at,
            body: begin + body..end,
        });
    }
    cursor.at = begin + of_yaml.unwrap_or(line.len());
    of_yaml.map(|_| cursor.line_comment(1))
}

/// The value of a line that is a field, an item of a list, or an assignment in a template.
fn value(begin: usize, line: &str) -> Option<Value> {
    let line = line.trim_end();
    if let Some(start) = assigned(line) {
        let rest = line.get(start..)?;
        let inside = rest.strip_prefix('"')?;
        let length = inside.find('"')?;
        let behind = inside.get(length + 1..)?.trim();
        let text = inside.get(..length)?;
        let state = if text.contains('\\') {
            State::ESCAPED
        } else {
            State::Whole
        };
        return matches!(behind, "}}" | "-}}").then(|| Value {
            at: begin + start,
            span: begin + start + 1..begin + start + 1 + length,
            state,
        });
    }
    let rest = line.trim_start();
    let is_item = rest.starts_with("- ");
    let rest = rest.strip_prefix("- ").unwrap_or(rest).trim_start();
    let rest = match rest.find(": ") {
        Some(colon) if !rest.get(..colon)?.contains("{{") => rest.get(colon + 2..)?.trim_start(),
        _ if is_item => rest,
        _ => return None,
    };
    (!rest.is_empty()).then(|| spelled(begin + line.len() - rest.len(), rest))
}

/// Where the value of `{{ $name := VALUE }}` begins.
fn assigned(line: &str) -> Option<usize> {
    let inside = line.trim_start().strip_prefix("{{")?;
    let inside = inside.strip_prefix('-').unwrap_or(inside).trim_start();
    let equals = inside.find('=')?;
    let name = inside.get(..equals)?.trim_end_matches(':').trim_end();
    let is_name = name
        .strip_prefix('$')?
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let rest = inside.get(equals + 1..)?.trim_start();
    is_name.then(|| line.len() - rest.len())
}

fn spelled(at: usize, text: &str) -> Value {
    let quoted = ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    let inside = quoted.unwrap_or(text);
    let state = match inside {
        _ if inside.contains("{{") => State::Interpolated,
        _ if inside.contains('\\') => State::ESCAPED,
        _ if inside.contains(['"', '\'']) => State::PARTS,
        _ if quoted.is_none() && inside.contains([' ', '\t', '[', ']', '{', '}', '&', '*', '|', '>', '!']) => {
            State::BLANKS
        }
        _ => State::Whole,
    };
    let edge = usize::from(quoted.is_some());
    Value {
        at,
        span: at + edge..at + text.len() - edge,
        state,
    }
}
