//! Go's `fmt`: `Sprint`, `Sprintln` and `Sprintf` over values.
//!
//! ```text
//! print ─▶ print_format ─▶ print_value ─▶ print_method ─▶ verb_integer, verb_float, verb_text
//! (operands) (directives)  (by kind)      (String, Error)  (flags, width, precision)
//! ```

use super::{
    function::Failure,
    host::Host,
    value::{Slot, Value},
    verb_flags::Flags,
};

/// Prints into a buffer, under the flags of one directive.
pub(super) struct Printer<'o> {
    pub(super) out: &'o mut Vec<u8>,
    pub(super) flags: Flags,
    /// Whether a wrong verb is being reported: then nothing calls methods.
    pub(super) erroring: bool,
    /// Whether the verb is `%w`, which reports a nil with what the printer looked into last.
    pub(super) watching: bool,
    /// That, or nothing if it was an operand.
    pub(super) last: Option<Slot>,
}

/// `fmt.Sprint`: operands in their default formats, spaces between those that are not strings.
///
/// # Errors
/// A limit was reached.
pub fn sprint(host: &mut Host<'_>, operands: &[Value]) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    let mut printer = Printer::new(&mut out);
    let mut after_text = true;
    for operand in operands {
        let is_text = matches!(operand.bare(), Value::String(_));
        if !is_text && !after_text {
            printer.put(host, b" ")?;
        }
        printer.operand(host, operand, 'v')?;
        after_text = is_text;
    }
    Ok(out)
}

/// `fmt.Sprintln`: operands in their default formats, spaces between all of them, a newline at the end.
///
/// # Errors
/// A limit was reached.
pub fn sprintln(host: &mut Host<'_>, operands: &[Value]) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    let mut printer = Printer::new(&mut out);
    for (index, operand) in operands.iter().enumerate() {
        if index > 0 {
            printer.put(host, b" ")?;
        }
        printer.operand(host, operand, 'v')?;
    }
    printer.put(host, b"\n")?;
    Ok(out)
}

/// `fmt.Sprintf`.
///
/// # Errors
/// A limit was reached.
pub fn sprintf(host: &mut Host<'_>, format: &[u8], operands: &[Value]) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::with_capacity(format.len());
    Printer::new(&mut out).directives(host, format, operands)?;
    Ok(out)
}

/// Appends one value in its default format, `%v`.
///
/// # Errors
/// A limit was reached.
pub fn print(host: &mut Host<'_>, out: &mut Vec<u8>, value: &Value) -> Result<(), Failure> {
    Printer::new(out).operand(host, value, 'v')
}

impl<'o> Printer<'o> {
    /// A printer without flags.
    fn new(out: &'o mut Vec<u8>) -> Self {
        Self {
            out,
            flags: Flags::default(),
            erroring: false,
            watching: false,
            last: None,
        }
    }
}
