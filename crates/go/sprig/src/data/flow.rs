//! `fail`.

use bumpwright_template::{Args, Failure, Function, Host, STRING, Value};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[Function::new("fail", &[&STRING], &STRING, fail)];

fn fail(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Err(Failure::new(args.text(0)?.lossy()))
}
