//! Floating-point and complex numbers under `%e %E %f %F %g %G %b %x %X`.

use super::sprint::Printer;
use crate::exec::host::Host;
use crate::value::failure::Failure;
use crate::value::model::Value;
use bumpwright_gostd::append_float;

impl Printer<'_> {
    /// A number of a type of `bits` bits; `value` is the same one, for the report of a wrong verb.
    pub(crate) fn float(
        &mut self,
        host: &mut Host<'_>,
        number: f64,
        bits: u32,
        verb: char,
        value: &Value,
    ) -> Result<(), Failure> {
        match verb {
            'v' | 'g' => self.float_as(host, number, bits, b'g', None),
            'b' => self.float_as(host, number, bits, b'b', None),
            'G' => self.float_as(host, number, bits, b'G', None),
            'x' => self.float_as(host, number, bits, b'x', None),
            'X' => self.float_as(host, number, bits, b'X', None),
            'f' | 'F' => self.float_as(host, number, bits, b'f', Some(6)),
            'e' => self.float_as(host, number, bits, b'e', Some(6)),
            'E' => self.float_as(host, number, bits, b'E', Some(6)),
            _ => self.bad_verb(host, verb, Some(value)),
        }
    }

    /// `(1+2i)`, each part of `bits` bits.
    pub(crate) fn complex(
        &mut self,
        host: &mut Host<'_>,
        (real, imaginary): (f64, f64),
        bits: u32,
        verb: char,
        value: &Value,
    ) -> Result<(), Failure> {
        if !"vbgGxXfFeE".contains(verb) {
            return self.bad_verb(host, verb, Some(value));
        }
        self.put(host, b"(")?;
        self.float(host, real, bits, verb, value)?;
        let plus = std::mem::replace(&mut self.flags.plus, true);
        self.float(host, imaginary, bits, verb, value)?;
        self.put(host, b"i)")?;
        self.flags.plus = plus;
        Ok(())
    }

    /// A number in a format of `strconv.FormatFloat`.
    fn float_as(
        &mut self,
        host: &mut Host<'_>,
        number: f64,
        bits: u32,
        format: u8,
        default: Option<usize>,
    ) -> Result<(), Failure> {
        let flags = self.flags;
        let precision = flags.precision.or(default);
        host.produce(precision.unwrap_or(0))?;
        let start = self.out.len();
        append_float(self.out, number, format, precision, bits);
        if flags.width.is_none() && !flags.plus && !flags.space && !flags.sharp {
            return host.produce(self.out.len() - start);
        }
        let text = self.out.split_off(start);
        let (sign, number) = match text.split_first() {
            Some((sign @ (b'-' | b'+'), rest)) => (*sign, rest),
            _ => (b'+', text.as_slice()),
        };
        let sign = if flags.space && !flags.plus && sign == b'+' {
            b' '
        } else {
            sign
        };
        if matches!(number, b"Inf" | b"NaN") {
            let signed = [&[sign], number].concat();
            let shown = if number == b"NaN" && !flags.space && !flags.plus {
                number
            } else {
                &signed
            };
            return self.pad_with_spaces(host, shown);
        }
        let number = if flags.sharp && format != b'b' {
            with_point(host, number, format, precision)?
        } else {
            number.to_vec()
        };
        if !flags.plus && sign == b'+' {
            return self.pad(host, &number);
        }
        if flags.zero && !flags.minus {
            // The sign stands before the zeros.
            let gap = flags.width.unwrap_or(0).saturating_sub(number.len() + 1);
            self.put(host, &[sign])?;
            self.padding(host, gap)?;
            return self.put(host, &number);
        }
        self.pad(host, &[&[sign], number.as_slice()].concat())
    }
}

/// The sharp flag for a number without its sign: there is always a point, and trailing zeros stay.
fn with_point(host: &mut Host<'_>, number: &[u8], format: u8, precision: Option<usize>) -> Result<Vec<u8>, Failure> {
    let is_exponent = |byte: &u8| match byte {
        b'p' | b'P' => true,
        b'e' | b'E' => !matches!(format, b'x' | b'X'),
        _ => false,
    };
    let at = number.iter().position(is_exponent).unwrap_or(number.len());
    let (mantissa, exponent) = number.split_at_checked(at).unwrap_or((number, &[]));
    let mut wanted = match format {
        b'g' | b'G' | b'x' => precision.unwrap_or(6),
        _ => 0,
    };
    // Go counts all characters but the point from the first that is not zero on, the `x` of `0x` as well.
    let counted = mantissa
        .iter()
        .filter(|byte| **byte != b'.')
        .skip_while(|byte| **byte == b'0');
    wanted = wanted.saturating_sub(counted.count());
    let mut text = mantissa.to_vec();
    if !mantissa.contains(&b'.') {
        if mantissa == b"0" {
            wanted = wanted.saturating_sub(1);
        }
        text.push(b'.');
    }
    host.produce(wanted)?;
    text.resize(text.len() + wanted, b'0');
    text.extend_from_slice(exponent);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use crate::print::sprint::tests::formatted;
    use crate::{ComplexKind, Value};

    #[test]
    fn floats_take_every_verb_and_flag() {
        for (format, number, expected) in [
            (
                "%v|%g|%f|%F|%e|%E|%G",
                1e6,
                "1e+06|1e+06|1000000.000000|1000000.000000|1.000000e+06|1.000000E+06|1E+06",
            ),
            (
                "%6.2f|%-8.1f|%08.3f|%+.1f|% .0f|% d",
                3.25,
                "  3.25|3.2     |0003.250|+3.2| 3|%!d(float64= 3.25)",
            ),
            (
                "%07.1f|%+07.1f|%-07.1f|%x|%X|%b",
                -1.5,
                "-0001.5|-0001.5|-1.5   |-0x1.8p+00|-0X1.8P+00|-6755399441055744p-52",
            ),
            (
                "%#g|%#v|%#.3g|%#x|%#.0f|%#.0e",
                2.0,
                "2.00000|2|2.00|0x1.0000p+01|2.|2.e+00",
            ),
            ("%#g|%#.1x", 0.0, "0.00000|0x0.0p+00"),
            ("%v|%+v|%06f|% g", f64::INFINITY, "+Inf|+Inf|  +Inf| Inf"),
            ("%v|%+f|%06f|% g", f64::NAN, "NaN|+NaN|   NaN| NaN"),
        ] {
            let operands = vec![Value::float(number); format.matches('%').count()];
            assert_eq!(formatted(format, &operands), expected);
        }
    }

    #[test]
    fn complex_numbers_are_two_floats() {
        let number = Value::Complex(ComplexKind::Complex64, 0.1, -2.0);
        let operands = vec![number; 3];
        assert_eq!(
            formatted("%v %6.2f %d", &operands),
            "(0.1-2i) (  0.10 -2.00i) %!d(complex64=(0.1-2i))"
        );
    }
}
