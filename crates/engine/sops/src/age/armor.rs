//! age's armor: base64 in lines of 64 characters between two marker lines, and nothing else.

use super::error::ArmorError;
use super::stream::Input;

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
    Input::new(bytes, fault)
}

struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    /// The next line without its end.
    fn next(&mut self) -> Result<&'a [u8], ArmorError> {
        if self.rest.is_empty() {
            return Err(ArmorError::Cut);
        }
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let (line, rest) = match self.rest.split_at(end.unwrap_or(self.rest.len())) {
            (line, [_, rest @ ..]) => (line, rest),
            whole => whole,
        };
        self.rest = rest;
        Ok(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

fn decode(text: &[u8], out: &mut Vec<u8>) -> Result<(), ArmorError> {
    let mut lines = Lines { rest: text };
    let mut removed = 0;
    loop {
        let line = lines.next()?;
        if line.trim_ascii().is_empty() {
            removed += line.len() + 1;
            if removed > MAX_WHITESPACE {
                return Err(ArmorError::LeadingSpace);
            }
            continue;
        }
        if line != HEADER {
            return Err(ArmorError::FirstLine(line.to_vec()));
        }
        break;
    }
    loop {
        let line = lines.next()?;
        if line == FOOTER {
            return trailing(lines.rest);
        }
        if line.is_empty() {
            return Err(ArmorError::EmptyLine);
        }
        if line.len() > COLUMNS {
            return Err(ArmorError::LongLine);
        }
        let bytes = super::strict_base64(line, true)?;
        out.extend_from_slice(&bytes);
        if bytes.len() < BYTES_PER_LINE {
            let line = lines.next()?;
            return if line == FOOTER {
                trailing(lines.rest)
            } else {
                Err(ArmorError::ClosingLine(line.to_vec()))
            };
        }
    }
}

/// Checks that only white space follows.
fn trailing(rest: &[u8]) -> Result<(), ArmorError> {
    let visible = rest.get(..MAX_WHITESPACE).unwrap_or(rest);
    if !visible.trim_ascii().is_empty() {
        return Err(ArmorError::Trailing("trailing data after armored file"));
    }
    if visible.len() == MAX_WHITESPACE {
        Err(ArmorError::Trailing("too much trailing whitespace"))
    } else {
        Ok(())
    }
}
