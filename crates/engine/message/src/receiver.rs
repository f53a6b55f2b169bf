//! Access of methods to the struct that they are called on.

use bumpwright_template::{Args, Failure, Value};

/// A field of the receiver.
pub(super) fn field(args: Args<'_>, name: &str) -> Result<Value, Failure> {
    match args.value(0)? {
        Value::Struct(receiver) => receiver.field(name).cloned(),
        _ => None,
    }
    .ok_or_else(|| Failure::new(format!("internal: the receiver has no {name}")))
}

/// The value of the receiver `index` places after its declared fields, which is not printed: the data of its methods,
/// or a field of another era.
pub(super) fn beyond(args: Args<'_>, index: usize) -> Result<Value, Failure> {
    match args.value(0)? {
        Value::Struct(receiver) => receiver.fields().get(receiver.of.fields.len() + index).cloned(),
        _ => None,
    }
    .ok_or_else(|| Failure::new("internal: the receiver has no such value"))
}
