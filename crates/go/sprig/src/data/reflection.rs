//! Types and kinds.

use super::deep_equal::deep_equal;
use bumpwright_template::{ANY, Args, BOOL, Failure, Function, Host, STRING, Value};

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("typeOf", &[&ANY], &STRING, type_of),
    Function::new("typeIs", &[&STRING, &ANY], &BOOL, type_is),
    Function::new("typeIsLike", &[&STRING, &ANY], &BOOL, type_is_like),
    Function::new("kindOf", &[&ANY], &STRING, kind_of),
    Function::new("kindIs", &[&STRING, &ANY], &BOOL, kind_is),
    Function::new("deepEqual", &[&ANY, &ANY], &BOOL, are_deeply_equal),
];

fn type_name(value: &Value) -> String {
    value.type_of().map_or_else(|| "<nil>".to_owned(), |of| of.to_string())
}

fn kind_name(value: &Value) -> String {
    value
        .type_of()
        .map_or_else(|| "invalid".to_owned(), |of| of.kind_name())
}

fn type_of(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(type_name(args.value(0)?).into())
}

fn type_is(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok((**args.text(0)? == *type_name(args.value(1)?).as_bytes()).into())
}

/// Also when the value is a pointer to the type.
fn type_is_like(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let target: &[u8] = args.text(0)?;
    let name = type_name(args.value(1)?);
    let pointed_at = name.strip_prefix('*').map(str::as_bytes);
    Ok((target == name.as_bytes() || pointed_at == Some(target)).into())
}

fn kind_of(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(kind_name(args.value(0)?).into())
}

fn kind_is(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok((**args.text(0)? == *kind_name(args.value(1)?).as_bytes()).into())
}

fn are_deeply_equal(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    Ok(deep_equal(host, args.value(0)?, args.value(1)?)?.into())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::testing::call;
    use bumpwright_template::{INT, Pointer, Type};

    static TO_INT: Type = Type::Pointer(&INT);

    #[test]
    fn types_and_kinds_have_go_names() {
        let pointer = Value::Pointer(Pointer::new(&INT, Value::int(1)));
        for (value, of, kind) in [
            (Value::Nil, "<nil>", "invalid"),
            (Value::int64(1), "int64", "int64"),
            (Value::strings(["a"]), "[]string", "slice"),
            (Value::dict([("a", Value::Nil)]), "map[string]interface {}", "map"),
            (Value::zero(&TO_INT), "*int", "ptr"),
            (pointer, "*int", "ptr"),
        ] {
            for (name, expected) in [("typeOf", of), ("kindOf", kind)] {
                let Value::String(text) = call(name, std::slice::from_ref(&value)).unwrap() else {
                    panic!("not a string")
                };
                assert_eq!(text.lossy(), expected);
            }
            let like = call("typeIsLike", &[of.trim_start_matches('*').into(), value.clone()]);
            assert!(matches!(like, Ok(Value::Bool(true))), "{of}");
            let is = call("typeIs", &[of.trim_start_matches('*').into(), value]);
            assert!(
                matches!(is, Ok(Value::Bool(truth)) if truth != of.starts_with('*')),
                "{of}"
            );
        }
    }
}
