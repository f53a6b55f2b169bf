//! age's armor: base64 in lines of 64 characters between two marker lines, and nothing else.

use super::stream::Input;
use bumpwright_gostd::quote_bytes;

const HEADER: &[u8] = b"-----BEGIN AGE ENCRYPTED FILE-----";
const FOOTER: &[u8] = b"-----END AGE ENCRYPTED FILE-----";
const COLUMNS: usize = 64;
const BYTES_PER_LINE: usize = 48;
/// White space allowed around an armored file.
const MAX_WHITESPACE: usize = 1024;

/// The bytes up to the end of the armor or its first fault; the fault is reported after all bytes before it, as age
/// reads while it decodes.
pub(super) fn open(text: &[u8]) -> Input {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let fault = decode(text, &mut bytes).err();
    Input::new(bytes, fault.map(|fault| format!("invalid armor: {fault}")))
}

struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    /// The next line without its end.
    fn next(&mut self) -> Result<&'a [u8], String> {
        if self.rest.is_empty() {
            return Err("unexpected EOF".to_owned());
        }
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let (line, rest) = match end {
            Some(at) => (self.rest.get(..at), self.rest.get(at + 1..)),
            None => (Some(self.rest), None),
        };
        self.rest = rest.unwrap_or_default();
        let line = line.unwrap_or_default();
        Ok(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

fn decode(text: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let mut lines = Lines { rest: text };
    let mut removed = 0;
    loop {
        let line = lines.next()?;
        if line.trim_ascii().is_empty() {
            removed += line.len() + 1;
            if removed > MAX_WHITESPACE {
                return Err("too much leading whitespace".to_owned());
            }
            continue;
        }
        if line != HEADER {
            return Err(format!("invalid first line: {}", quote_bytes(line)));
        }
        break;
    }
    loop {
        let line = lines.next()?;
        if line == FOOTER {
            return trailing(lines.rest);
        }
        if line.is_empty() {
            return Err("empty line in armored data".to_owned());
        }
        if line.len() > COLUMNS {
            return Err("column limit exceeded".to_owned());
        }
        let bytes = super::strict_base64(line, true)?;
        out.extend_from_slice(&bytes);
        if bytes.len() < BYTES_PER_LINE {
            let line = lines.next()?;
            return if line == FOOTER {
                trailing(lines.rest)
            } else {
                Err(format!("invalid closing line: {}", quote_bytes(line)))
            };
        }
    }
}

/// Checks that only white space follows.
fn trailing(rest: &[u8]) -> Result<(), String> {
    let seen = rest.get(..MAX_WHITESPACE).unwrap_or(rest);
    if !seen.trim_ascii().is_empty() {
        return Err("trailing data after armored file".to_owned());
    }
    if seen.len() == MAX_WHITESPACE {
        Err("too much trailing whitespace".to_owned())
    } else {
        Ok(())
    }
}
