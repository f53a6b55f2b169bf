//! Java's properties (java.util.Properties, *load*): comments are lines of their own, a line may go
//! on behind a backslash.

use super::reader::{Cursor, Found, State, Value, is_break};

pub(super) fn read(text: &str) -> Found {
    let mut cursor = Cursor::new(text);
    let mut parts = Found::default();
    while cursor.peek().is_some() {
        cursor.skip_while(|byte| is_blank(byte) || is_break(byte));
        match cursor.peek() {
            Some(b'#' | b'!') => parts.comments.push(cursor.line_comment(1)),
            Some(_) => parts.values.extend(value(&mut cursor)),
            None => {}
        }
    }
    parts
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\x0c')
}

/// Passes a key and its value, with the lines on which they go on.
fn value(cursor: &mut Cursor<'_>) -> Option<Value> {
    let is_end = |byte: u8| is_blank(byte) || matches!(byte, b'=' | b':') || is_break(byte);
    while let Some(byte) = cursor.peek().filter(|byte| !is_end(*byte)) {
        cursor.at += 1;
        if byte == b'\\' {
            cursor.pass("\r");
            cursor.at += usize::from(cursor.peek().is_some());
        }
    }
    let key = cursor.at;
    cursor.skip_while(is_blank);
    if matches!(cursor.peek(), Some(b'=' | b':')) {
        cursor.at += 1;
        cursor.skip_while(is_blank);
    }
    let at = cursor.at;
    let mut state = if at > key {
        State::Whole
    } else {
        State::Other("a key without a value; write = behind it")
    };
    while let Some(byte) = cursor.peek().filter(|byte| !is_break(*byte)) {
        cursor.at += 1;
        if byte == b'\\' {
            state = State::ESCAPED;
            cursor.pass("\r");
            cursor.at += usize::from(cursor.peek().is_some());
        }
    }
    let span = at..cursor.at;
    let text = cursor.from(at).until(span.end);
    if state == State::Whole && text.contains("${") {
        state = State::Interpolated;
    } else if state == State::Whole && text.contains([' ', '\t']) {
        state = State::BLANKS;
    }
    Some(Value { at, span, state })
}
