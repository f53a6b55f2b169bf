//! Strings and bytes under `%s %q %x %X`.

use super::sprint::Printer;
use crate::exec::host::Host;
use crate::value::failure::Failure;
use crate::value::model::Value;
use bumpwright_gostd::{append_quoted, can_backquote, hex_pair, runes};

/// A byte of the longest escape between double quotes: `\xff` of what is not UTF-8.
const MOST_PER_BYTE: usize = 4;

impl Printer<'_> {
    /// A string; `value` contains it, for the report of a wrong verb.
    pub(crate) fn text(&mut self, host: &mut Host<'_>, text: &[u8], verb: char, value: &Value) -> Result<(), Failure> {
        match verb {
            'v' if self.flags.sharp_v => self.quoted(host, text),
            'v' | 's' => self.plain(host, text),
            'x' | 'X' => self.hex(host, text, verb),
            'q' => self.quoted(host, text),
            _ => self.bad_verb(host, verb, Some(value)),
        }
    }

    /// `%s`: the first characters of a string.
    pub(crate) fn plain(&mut self, host: &mut Host<'_>, text: &[u8]) -> Result<(), Failure> {
        let text = self.truncated(text);
        self.pad(host, text)
    }

    /// `%q`: between double quotes, with the sharp flag between backquotes where that is possible.
    pub(crate) fn quoted(&mut self, host: &mut Host<'_>, text: &[u8]) -> Result<(), Failure> {
        let text = self.truncated(text);
        host.produce(text.len().saturating_mul(MOST_PER_BYTE))?;
        let mut quoted = Vec::with_capacity(text.len() + 2);
        if self.flags.sharp && can_backquote(text) {
            quoted.push(b'`');
            quoted.extend_from_slice(text);
            quoted.push(b'`');
        } else {
            append_quoted(&mut quoted, text, self.flags.plus);
        }
        self.pad(host, &quoted)
    }

    /// `%x`: each byte as two digits.
    pub(crate) fn hex(&mut self, host: &mut Host<'_>, text: &[u8], verb: char) -> Result<(), Failure> {
        let flags = self.flags;
        let text = match flags.precision {
            Some(precision) => text.get(..precision).unwrap_or(text),
            None => text,
        };
        let prefix = if flags.sharp { b"0x".as_slice() } else { b"" };
        let digits = match (flags.space, flags.sharp) {
            (true, true) => 5,
            (true, false) => 3,
            (false, _) => 2,
        };
        host.produce(text.len().saturating_mul(digits))?;
        let mut hex = Vec::with_capacity(text.len().saturating_mul(digits));
        for (index, byte) in text.iter().enumerate() {
            if index > 0 && flags.space {
                hex.push(b' ');
            }
            if index == 0 || flags.space {
                hex.extend_from_slice(prefix);
            }
            hex.extend(hex_pair(*byte));
        }
        if verb == 'X' {
            hex.make_ascii_uppercase();
        }
        if text.is_empty() {
            // Only padding is written, as if it stood on the left.
            return self.padding(host, flags.width.unwrap_or(0));
        }
        self.pad(host, &hex)
    }

    /// The characters of a string that the precision allows.
    fn truncated<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let Some(precision) = self.flags.precision else {
            return text;
        };
        let length = runes(text).take(precision).map(|(_, width)| width).sum();
        text.get(..length).unwrap_or(text)
    }
}

#[cfg(test)]
mod tests {
    use crate::Value;
    use crate::print::sprint::tests::formatted;

    #[test]
    fn strings_take_every_verb_and_flag() {
        for (format, text, expected) in [
            ("%s|%5s|%-5s|%05s|%.1s|%5.1s|", "né", "né|   né|né   |000né|n|    n|"),
            (
                "%q|%+q|%#q|%8q|%.1q|%#v",
                "né",
                r#""né"|"n\u00e9"|`né`|    "né"|"n"|"né""#,
            ),
            ("%#q", "a`b", r#""a`b""#),
            (
                "%x|%X|% x|%#x|%# X|%.1x|%6.1x|%06.1x",
                "hi\n",
                "68690a|68690A|68 69 0a|0x68690a|0X68 0X69 0X0A|68|    68|000068",
            ),
            ("%x|%4x|%-4x|%#x", "", "|    |    |"),
            ("%d|%-8d|", "hi", "%!d(string=hi)|%!d(string=hi      )|"),
        ] {
            let operands = vec![Value::text(text); format.matches('%').count()];
            assert_eq!(formatted(format, &operands), expected);
        }
    }

    #[test]
    fn broken_utf8_counts_byte_by_byte() {
        let broken = Value::text(&b"\xff\xe2\x82x"[..]);
        assert_eq!(
            formatted("%.2x|%q", &[broken.clone(), broken.clone()]),
            r#"ffe2|"\xff\xe2\x82x""#
        );
        assert_eq!(formatted("%6s", &[broken]), "  \u{fffd}\u{fffd}\u{fffd}x");
    }
}
