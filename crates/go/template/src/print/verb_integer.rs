//! Integers under `%d %b %o %O %x %X %c %q %U`.

use super::sprint::Printer;
use crate::exec::host::Host;
use crate::value::failure::Failure;
use crate::value::model::Value;
use bumpwright_gostd::unicode::is_print;
use bumpwright_gostd::{Digits, append_quoted_rune, char_at};

/// An integer as `fmt` takes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Integer {
    /// Its 64 bits, of negative numbers in two's complement.
    bits: u64,
    /// Whether its type has a sign.
    signed: bool,
}

impl Integer {
    pub(crate) fn signed(number: i64) -> Self {
        Self {
            bits: number.cast_unsigned(),
            signed: true,
        }
    }

    pub(crate) fn unsigned(bits: u64) -> Self {
        Self { bits, signed: false }
    }

    fn is_negative(self) -> bool {
        self.signed && self.bits.cast_signed() < 0
    }
}

impl Printer<'_> {
    /// An integer; `value` is the same one, for the report of a wrong verb.
    pub(crate) fn integer(
        &mut self,
        host: &mut Host<'_>,
        number: Integer,
        verb: char,
        value: &Value,
    ) -> Result<(), Failure> {
        match verb {
            'v' if self.flags.sharp_v && !number.signed => self.address(host, number.bits, true),
            'v' | 'd' => self.digits(host, number, 10, verb),
            'b' => self.digits(host, number, 2, verb),
            'o' | 'O' => self.digits(host, number, 8, verb),
            'x' | 'X' => self.digits(host, number, 16, verb),
            'c' => self.pad(host, char_at(number.bits).encode_utf8(&mut [0; 4]).as_bytes()),
            'q' => {
                let mut quoted = Vec::new();
                append_quoted_rune(&mut quoted, number.bits, self.flags.plus);
                self.pad(host, &quoted)
            }
            'U' => self.code_point(host, number.bits),
            _ => self.bad_verb(host, verb, Some(value)),
        }
    }

    /// A number in hexadecimal, with `0x` before it if `prefix` says so and the flags do not.
    pub(crate) fn address(&mut self, host: &mut Host<'_>, bits: u64, prefix: bool) -> Result<(), Failure> {
        let sharp = std::mem::replace(&mut self.flags.sharp, prefix);
        let result = self.digits(host, Integer::unsigned(bits), 16, 'v');
        self.flags.sharp = sharp;
        result
    }

    /// An integer to a base.
    pub(crate) fn digits(
        &mut self,
        host: &mut Host<'_>,
        number: Integer,
        base: u32,
        verb: char,
    ) -> Result<(), Failure> {
        let flags = self.flags;
        let negative = number.is_negative();
        let magnitude = if negative {
            number.bits.wrapping_neg()
        } else {
            number.bits
        };
        let wanted = match (flags.precision, flags.width) {
            // Zero is printed as nothing then.
            (Some(0), width) if magnitude == 0 => return self.repeat(host, b' ', width.unwrap_or(0)),
            (Some(precision), _) => precision,
            (None, Some(width)) if flags.zero && !flags.minus => {
                width.saturating_sub(usize::from(negative || flags.plus || flags.space))
            }
            _ => 0,
        };
        let digits = Digits::new(magnitude, base);
        let digits = if verb == 'X' { digits.upper() } else { digits };
        let zeros = wanted.saturating_sub(digits.bytes().len());
        let sign = if negative {
            "-"
        } else if flags.plus {
            "+"
        } else if flags.space {
            " "
        } else {
            ""
        };
        let octal = if verb == 'O' { "0o" } else { "" };
        let prefix = match base {
            _ if !flags.sharp => "",
            2 => "0b",
            8 if zeros == 0 && magnitude != 0 => "0",
            16 if verb == 'X' => "0X",
            16 => "0x",
            _ => "",
        };
        let length = sign.len() + octal.len() + prefix.len() + zeros + digits.bytes().len();
        let gap = flags.width.unwrap_or(0).saturating_sub(length);
        self.repeat(host, b' ', if flags.minus { 0 } else { gap })?;
        for part in [sign, octal, prefix] {
            self.put(host, part.as_bytes())?;
        }
        self.repeat(host, b'0', zeros)?;
        self.put(host, digits.bytes())?;
        self.repeat(host, b' ', if flags.minus { gap } else { 0 })
    }

    /// `U+0078`, with the sharp flag `U+0078 'x'`.
    fn code_point(&mut self, host: &mut Host<'_>, bits: u64) -> Result<(), Failure> {
        let digits = Digits::new(bits, 16).upper();
        let wanted = self.flags.precision.unwrap_or(0).max(4);
        let zeros = wanted.saturating_sub(digits.bytes().len());
        host.produce(zeros)?;
        let mut text = b"U+".to_vec();
        text.resize(text.len() + zeros, b'0');
        text.extend_from_slice(digits.bytes());
        let ch = u32::try_from(bits).ok().and_then(char::from_u32);
        if let Some(ch) = ch.filter(|ch| self.flags.sharp && is_print(*ch)) {
            text.extend_from_slice(format!(" '{ch}'").as_bytes());
        }
        self.pad_with_spaces(host, &text)
    }
}

#[cfg(test)]
mod tests {
    use crate::print::sprint::tests::formatted;
    use crate::{UintKind, Value};

    #[test]
    fn integers_take_every_verb_and_flag() {
        for (format, number, expected) in [
            ("%d|%5d|%-5d|%05d|%+d|% d", 42, "42|   42|42   |00042|+42| 42"),
            ("%.3d|%6.3d|%06.3d|%-06d|", -7, "-007|  -007|  -007|-7    |"),
            ("%.0d|%5.0d|%+.d|", 0, "|     ||"),
            ("%b|%#b|%o|%#o|%O|%#.4o", 8, "1000|0b1000|10|010|0o10|0010"),
            ("%x|%X|%#x|%#X|%#08x|% x", 255, "ff|FF|0xff|0XFF|0x000000ff| ff"),
            ("%x|%b|%O", -255, "-ff|-11111111|-0o377"),
            (
                "%c|%3c|%q|%+q|%#q|%U|%#U",
                0x4e16,
                r"世|  世|'世'|'\u4e16'|'世'|U+4E16|U+4E16 '世'",
            ),
            (
                "%U|%.6U|%8U|%c|%q",
                -1,
                "U+FFFFFFFFFFFFFFFF|U+FFFFFFFFFFFFFFFF|U+FFFFFFFFFFFFFFFF|\u{fffd}|'\u{fffd}'",
            ),
            ("%s|%t|%e", 3, "%!s(int=3)|%!t(int=3)|%!e(int=3)"),
        ] {
            let operands = vec![Value::int(number); format.matches('%').count()];
            assert_eq!(formatted(format, &operands), expected);
        }
    }

    #[test]
    fn integers_without_a_sign_are_hexadecimal_in_go_syntax() {
        let byte = Value::Uint(UintKind::Uint8, 200);
        assert_eq!(
            formatted("%v %#v %#v", &[byte.clone(), byte, Value::int(200)]),
            "200 0xc8 200"
        );
    }
}
