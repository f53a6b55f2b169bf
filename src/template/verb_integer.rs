//! Integers under `%d %b %o %O %x %X %c %q %U`.

use super::{function::Failure, host::Host, print::Printer, value::Value};
use crate::gostd::{Digits, append_quoted_rune, char_at, unicode::is_print};

/// An integer as `fmt` takes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Integer {
    /// Its 64 bits, of negative numbers in two's complement.
    pub bits: u64,
    /// Whether its type has a sign.
    pub signed: bool,
}

impl Integer {
    fn is_negative(self) -> bool {
        self.signed && self.bits.cast_signed() < 0
    }
}

impl Printer<'_> {
    /// An integer; `value` is it, too, for the report of a wrong verb.
    pub(super) fn integer(
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

    /// A number in hexadecimal, with `0x` before it if `prefix` says so and not if the flags do.
    pub(super) fn address(&mut self, host: &mut Host<'_>, bits: u64, prefix: bool) -> Result<(), Failure> {
        let sharp = std::mem::replace(&mut self.flags.sharp, prefix);
        let number = Integer { bits, signed: false };
        let result = self.digits(host, number, 16, 'v');
        self.flags.sharp = sharp;
        result
    }

    /// An integer to a base.
    pub(super) fn digits(
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
            // Nothing at all stands for zero then.
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
        let sign = match negative {
            true => "-",
            false if flags.plus => "+",
            false if flags.space => " ",
            false => "",
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
