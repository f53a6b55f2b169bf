//! String and byte literals without quotes and escapes.

/// Removes quotes and resolves escapes; with `bytes` they stand for bytes instead of code points.
pub fn unescape(text: &str, bytes: bool) -> Result<Vec<u8>, &'static str> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let is_raw = text.starts_with(['r', 'R']);
    let quoted = if is_raw {
        text.get(1..).unwrap_or("")
    } else {
        text.as_str()
    };
    let inner = unquote(quoted).ok_or("unable to unescape string")?;
    if is_raw || !inner.contains('\\') {
        return Ok(inner.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        if c == '\\' {
            escape(&mut rest, bytes, &mut out)?;
        } else {
            push(&mut out, c);
        }
    }
    Ok(out)
}

fn unquote(text: &str) -> Option<&str> {
    for quotes in ["'''", "\"\"\"", "'", "\""] {
        let inner = text.strip_prefix(quotes).and_then(|text| text.strip_suffix(quotes));
        if inner.is_some() {
            return inner;
        }
    }
    None
}

fn push(out: &mut Vec<u8>, c: char) {
    let mut buffer = [0; 4];
    out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
}

fn escape(rest: &mut std::str::Chars<'_>, bytes: bool, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let c = rest
        .next()
        .ok_or("unable to unescape string, found '\\' as last character")?;
    let plain = match c {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        '\\' | '\'' | '"' | '`' | '?' => u8::try_from(c).unwrap_or(b'?'),
        'x' | 'X' => return code(rest, 2, 16, 0, bytes, out),
        'u' if !bytes => return code(rest, 4, 16, 0, false, out),
        'U' if !bytes => return code(rest, 8, 16, 0, false, out),
        '0'..='3' => return code(rest, 2, 8, c.to_digit(8).unwrap_or(0), bytes, out),
        _ => return Err("unable to unescape string"),
    };
    out.push(plain);
    Ok(())
}

/// Reads an escape of a fixed number of digits as a byte or a code point.
fn code(
    rest: &mut std::str::Chars<'_>,
    digits: u32,
    base: u32,
    first: u32,
    bytes: bool,
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    let mut code = first;
    for _ in 0..digits {
        let digit = rest.next().and_then(|c| c.to_digit(base));
        code = code.wrapping_mul(base) | digit.ok_or("unable to unescape string")?;
    }
    if bytes {
        out.push(u8::try_from(code & 0xff).unwrap_or(0));
        return Ok(());
    }
    push(out, char::from_u32(code).ok_or("invalid unicode code point")?);
    Ok(())
}
