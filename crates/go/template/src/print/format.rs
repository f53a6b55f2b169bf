//! The directives of a format: `%[2]*.[1]*f`.

use super::sprint::Printer;
use super::verb_flags::Flags;
use crate::exec::host::Host;
use crate::value::failure::Failure;
use crate::value::model::Value;
use bumpwright_gostd::first_rune;
use bumpwright_text::Parts;

/// Greater widths, precisions and indexes are errors.
const LARGEST: i64 = 1_000_000;

/// The position in a format.
struct Cursor<'f> {
    rest: &'f [u8],
    operands: &'f [Value],
    /// The index of the next operand.
    next: usize,
    /// Whether there was an index anywhere, `[n]`: then unused operands are not reported.
    reordered: bool,
    /// Whether all indexes of this directive are valid.
    good_index: bool,
    /// Whether the current position follows an index.
    after_index: bool,
}

impl Printer<'_> {
    /// Prints operands as a format says (Go's `doPrintf`).
    pub(crate) fn directives(&mut self, host: &mut Host<'_>, format: &[u8], operands: &[Value]) -> Result<(), Failure> {
        let mut cursor = Cursor {
            rest: format,
            operands,
            next: 0,
            reordered: false,
            good_index: true,
            after_index: false,
        };
        loop {
            let percent = cursor.rest.iter().position(|byte| *byte == b'%');
            let (literal, directive) = match percent.and_then(|at| cursor.rest.split_at_checked(at)) {
                Some((literal, directive)) => (literal, directive.get(1..)),
                None => (cursor.rest, None),
            };
            self.put(host, literal)?;
            let Some(directive) = directive else { break };
            cursor.rest = directive;
            host.step(1)?;
            if !self.directive(host, &mut cursor)? {
                break;
            }
        }
        if cursor.reordered {
            return Ok(());
        }
        self.left_over(host, operands.tail(cursor.next))
    }

    /// Prints the directive after a percent sign. Returns false at the end of the format.
    fn directive(&mut self, host: &mut Host<'_>, cursor: &mut Cursor<'_>) -> Result<bool, Failure> {
        self.flags = cursor.flags();
        cursor.good_index = true;
        cursor.index();
        if cursor.eat(b'*') {
            let width = cursor.int_operand();
            if width.is_none() {
                self.put(host, b"%!(BADWIDTH)")?;
            }
            self.flags.width = width.map(|width| width.unsigned_abs() as usize);
            if width.is_some_and(|width| width < 0) {
                self.flags.minus = true;
                self.flags.zero = false;
            }
            cursor.after_index = false;
        } else {
            self.flags.width = cursor.number();
            if cursor.after_index && self.flags.width.is_some() {
                cursor.good_index = false;
            }
        }
        if cursor.rest.len() > 1 && cursor.eat(b'.') {
            if cursor.after_index {
                cursor.good_index = false;
            }
            cursor.index();
            if cursor.eat(b'*') {
                let precision = cursor
                    .int_operand()
                    .and_then(|precision| usize::try_from(precision).ok());
                if precision.is_none() {
                    self.put(host, b"%!(BADPREC)")?;
                }
                self.flags.precision = precision;
                cursor.after_index = false;
            } else {
                self.flags.precision = Some(cursor.number().unwrap_or(0));
            }
        }
        if !cursor.after_index {
            cursor.index();
        }
        let Some((verb, width)) = first_rune(cursor.rest) else {
            self.put(host, b"%!(NOVERB)")?;
            return Ok(false);
        };
        cursor.rest = cursor.rest.tail(width);
        self.apply(host, cursor, verb)?;
        Ok(true)
    }

    /// Prints the next operand under a verb.
    fn apply(&mut self, host: &mut Host<'_>, cursor: &mut Cursor<'_>, verb: char) -> Result<(), Failure> {
        if verb == '%' {
            return self.put(host, b"%");
        }
        if !cursor.good_index {
            return self.put(host, format!("%!{verb}(BADINDEX)").as_bytes());
        }
        let Some(operand) = cursor.operands.get(cursor.next) else {
            return self.put(host, format!("%!{verb}(MISSING)").as_bytes());
        };
        cursor.next += 1;
        if matches!(verb, 'v' | 'w') {
            self.flags.sharp_v = std::mem::take(&mut self.flags.sharp);
            self.flags.plus_v = std::mem::take(&mut self.flags.plus);
        }
        self.watching = verb == 'w';
        self.operand(host, operand, verb)
    }

    /// Reports operands that the format did not use.
    fn left_over(&mut self, host: &mut Host<'_>, operands: &[Value]) -> Result<(), Failure> {
        if operands.is_empty() {
            return Ok(());
        }
        self.flags = Flags::default();
        self.watching = false;
        self.put(host, b"%!(EXTRA ")?;
        for (index, operand) in operands.iter().enumerate() {
            if index > 0 {
                self.put(host, b", ")?;
            }
            self.put(host, operand.type_name().as_bytes())?;
            if !matches!(operand, Value::Nil) {
                self.put(host, b"=")?;
                self.operand(host, operand, 'v')?;
            }
        }
        self.put(host, b")")
    }
}

impl Cursor<'_> {
    fn eat(&mut self, byte: u8) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn flags(&mut self) -> Flags {
        let mut flags = Flags::default();
        while let Some((first, rest)) = self.rest.split_first() {
            match first {
                b'#' => flags.sharp = true,
                b'0' => flags.zero = true,
                b'+' => flags.plus = true,
                b'-' => flags.minus = true,
                b' ' => flags.space = true,
                _ => break,
            }
            self.rest = rest;
        }
        flags
    }

    /// Reads a number, if there is one. One that is far too large consumes the rest of the format.
    fn number(&mut self) -> Option<usize> {
        let (number, rest) = leading_number(self.rest);
        self.rest = rest;
        number.and_then(|number| usize::try_from(number).ok())
    }

    /// Reads an index, `[n]`, if there is one.
    fn index(&mut self) {
        self.after_index = false;
        if self.rest.first() != Some(&b'[') {
            return;
        }
        self.reordered = true;
        let Some(end) = self
            .rest
            .iter()
            .position(|byte| *byte == b']')
            .filter(|_| self.rest.len() > 2)
        else {
            self.good_index = false;
            self.rest = self.rest.tail(1);
            return;
        };
        let inner = self.rest.part(1..end);
        self.rest = self.rest.tail(end + 1);
        let number = match leading_number(inner) {
            (Some(number), []) => number,
            _ => {
                self.good_index = false;
                return;
            }
        };
        self.after_index = true;
        match usize::try_from(number - 1) {
            Ok(index) if index < self.operands.len() => self.next = index,
            _ => self.good_index = false,
        }
    }

    /// The next operand as a width or precision.
    fn int_operand(&mut self) -> Option<i64> {
        let operand = self.operands.get(self.next)?;
        self.next += 1;
        let number = match operand.bare() {
            Value::Int(_, number) => *number,
            Value::Uint(_, number) => i64::try_from(*number).ok()?,
            _ => return None,
        };
        (-LARGEST..=LARGEST).contains(&number).then_some(number)
    }
}

/// A decimal number and the rest of the text, which is empty where the number is far too large.
fn leading_number(text: &[u8]) -> (Option<i64>, &[u8]) {
    let mut number = None;
    let mut rest = text;
    while let Some((digit @ b'0'..=b'9', behind)) = rest.split_first() {
        let so_far = number.unwrap_or(0);
        if so_far > LARGEST {
            return (None, &[]);
        }
        number = Some(so_far * 10 + i64::from(digit - b'0'));
        rest = behind;
    }
    (number, rest)
}

#[cfg(test)]
mod tests {
    use crate::Value;
    use crate::print::sprint::tests::formatted;

    #[test]
    fn what_does_not_fit_is_reported_as_go_does() {
        let one = || vec![Value::int(1)];
        let pair = || vec![Value::int(12), Value::int(2)];
        for (format, operands, expected) in [
            ("100%", vec![], "100%!(NOVERB)"),
            ("%d%%", one(), "1%"),
            ("%d %d", one(), "1 %!d(MISSING)"),
            ("x", vec![Value::Nil, Value::text("a")], "x%!(EXTRA <nil>, string=a)"),
            ("%z%!", pair(), "%!z(int=12)%!!(int=2)"),
            ("%w", one(), "%!w(int=1)"),
            ("%[2]d %[1]d", pair(), "2 12"),
            ("%[2]d", pair(), "2"),
            ("%[3]d %d", pair(), "%!d(BADINDEX) 12"),
            ("%[x]d %[d", pair(), "%!d(BADINDEX) %!d(BADINDEX)"),
            ("%[2]*[1]d", pair(), "12"),
            ("%[1]2d", pair(), "%!d(BADINDEX)"),
            ("%*d", pair(), "           2"),
            ("%-*d|", vec![Value::int(-3), Value::int(2)], "2  |"),
            ("%*d", vec![Value::text("a"), Value::int(2)], "%!(BADWIDTH)2"),
            ("%.*d", vec![Value::int(-1), Value::int(2)], "%!(BADPREC)2"),
            ("%*d", vec![Value::int(1_000_001), Value::int(2)], "%!(BADWIDTH)2"),
            ("%99999999999d", one(), "%!(NOVERB)%!(EXTRA int=1)"),
            ("%.", one(), "%!.(int=1)"),
            ("%é", one(), "%!é(int=1)"),
        ] {
            assert_eq!(formatted(format, &operands), expected, "{format}");
        }
    }

    #[test]
    fn a_nil_under_w_is_what_was_looked_into_last() {
        let list = Value::list(vec![Value::Nil, Value::Nil, Value::int(1), Value::Nil]);
        assert_eq!(
            formatted("%w %w", &[list.clone(), list]),
            "%!w([]interface {}=[<nil> <nil> 1 <nil>]) %!w([]interface {}=[<nil> <nil> 1 <nil>])"
        );
    }
}
