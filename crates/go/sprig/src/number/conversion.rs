//! Conversion of any value to a number.

use super::cast::{to_float, to_int};
use bumpwright_gostd as gostd;
use bumpwright_template::{ANY, Args, FLOAT64, Failure, Function, Host, INT, INT64, STRING, Value, sprint};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("int", &[&ANY], &INT, int),
    Function::new("int64", &[&ANY], &INT64, int64),
    Function::new("float64", &[&ANY], &FLOAT64, float64),
    Function::new("atoi", &[&STRING], &INT, atoi),
    Function::new("toDecimal", &[&ANY], &INT64, to_decimal),
];

fn int(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(Value::int(to_int(args.value(0)?)))
}

fn int64(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(Value::int64(to_int(args.value(0)?)))
}

fn float64(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(Value::float(to_float(args.value(0)?)))
}

fn atoi(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    // An overflow gives the largest number, and is not an error.
    Ok(Value::int(
        gostd::atoi(&**args.text(0)?).unwrap_or_else(|error| error.value),
    ))
}

/// Parses an octal number, such as the mode of a file.
fn to_decimal(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let printed = sprint(host, args.rest(0))?;
    Ok(Value::int64(gostd::parse_int(&printed, 8, 64).unwrap_or(0)))
}
