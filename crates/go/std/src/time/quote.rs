//! Go's `time` quotes in errors. They are simpler than `strconv.Quote`'s.

/// `text` in double quotes; every byte that is not ASCII, and every control character, as `\x` and two digits.
pub(crate) fn quote_for_time(text: &[u8]) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for byte in text {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(*byte)]),
            b' '..=0x7f => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}
