//! Go's `fmt`: `Sprint`, `Sprintln` and `Sprintf` over values.
//!
//! ```text
//! print ─▶ print_format ─▶ print_value ─▶ print_method ─▶ verb_integer, verb_float, verb_text
//! (operands) (directives)  (by kind)      (String, Error)  (flags, width, precision)
//! ```

use super::verb_flags::Flags;
use crate::exec::host::Host;
use crate::value::failure::Failure;
use crate::value::methods::FoundMethod;
use crate::value::model::{Slot, StructType, Value};

/// Prints into a buffer, under the flags of one directive.
pub(crate) struct Printer<'o> {
    pub(crate) out: &'o mut Vec<u8>,
    pub(crate) flags: Flags,
    /// Whether a wrong verb is being reported: then nothing calls methods.
    pub(crate) erroring: bool,
    /// Whether the verb is `%w`, which reports a nil with the value that the printer visited last.
    pub(crate) watching: bool,
    /// That value, `None` for an operand itself.
    pub(crate) last: Option<Slot>,
    /// The printing methods of visited structs.
    pub(crate) methods: Vec<(&'static StructType, Option<FoundMethod>)>,
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
pub(crate) fn sprintln(host: &mut Host<'_>, operands: &[Value]) -> Result<Vec<u8>, Failure> {
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
pub(crate) fn sprintf(host: &mut Host<'_>, format: &[u8], operands: &[Value]) -> Result<Vec<u8>, Failure> {
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
            methods: Vec::new(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::exec::host::NoWorld;
    use crate::{Limits, Text};

    /// The output of `Sprintf`, with broken UTF-8 replaced.
    pub(crate) fn formatted(format: &str, operands: &[Value]) -> String {
        let mut host = Host::new(Limits::default(), &NoWorld);
        Text::from(sprintf(&mut host, format.as_bytes(), operands).unwrap())
            .lossy()
            .into_owned()
    }

    #[test]
    fn spaces_stand_where_go_puts_them() {
        let mut host = Host::new(Limits::default(), &NoWorld);
        let operands = [
            Value::int(1),
            Value::int(2),
            Value::text("a"),
            Value::text("b"),
            Value::Nil,
            Value::from(true),
        ];
        assert_eq!(sprint(&mut host, &operands).unwrap(), b"1 2ab<nil> true");
        assert_eq!(sprintln(&mut host, &operands).unwrap(), b"1 2 a b <nil> true\n");
        assert_eq!(sprintln(&mut host, &[]).unwrap(), b"\n");
    }

    fn fails(value: &Value) -> String {
        let limits = Limits {
            steps: 100_000,
            produced: 16 << 20,
            ..Limits::default()
        };
        let mut host = Host::new(limits, &NoWorld);
        let mut out = Vec::new();
        let Err(Failure::Limit(limit)) = print(&mut host, &mut out, value) else {
            panic!("no limit was reached")
        };
        assert!(out.len() < 1 << 20);
        limit
    }

    #[test]
    fn what_has_no_end_reaches_a_limit() {
        let dict = |dict: &Value| match dict {
            Value::Map(map) => map.clone(),
            other => panic!("{other:?}"),
        };
        let own = Value::dict([("a", Value::Nil), ("b", Value::Nil)]);
        dict(&own).insert(Value::text("a"), own.clone());
        dict(&own).insert(Value::text("b"), own.clone());
        assert!(fails(&own).contains("levels deep"));
        dict(&own).remove(&Value::text("a"));
        dict(&own).remove(&Value::text("b"));

        // Many keys, and the first of them leads back.
        let wide = Value::dict((0..5_000).map(|key| (format!("{key:04}"), Value::Nil)));
        dict(&wide).insert(Value::text("0000"), wide.clone());
        assert!(fails(&wide).contains("steps"));
        dict(&wide).remove(&Value::text("0000"));

        // No cycle, but far more paths than values.
        let mut doubled = Value::list(Vec::new());
        for _ in 0..60 {
            doubled = Value::list(vec![doubled.clone(), doubled]);
        }
        assert!(fails(&doubled).contains("steps"));

        let limits = Limits {
            produced: 16 << 20,
            ..Limits::default()
        };
        let mut host = Host::new(limits, &NoWorld);
        let padded = "%1000000d".repeat(20);
        assert!(matches!(
            sprintf(&mut host, padded.as_bytes(), &vec![Value::int(1); 20]),
            Err(Failure::Limit(_))
        ));
    }
}
