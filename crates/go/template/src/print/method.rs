//! Prints values by their own methods: `Error`, `String` and `GoString`.

use super::sprint::Printer;
use super::verb_flags::Flags;
use crate::exec::host::Host;
use crate::value::failure::Failure;
use crate::value::methods::{FoundMethod, find_method, find_print_method};
use crate::value::model::{Pointer, Type, Value};

impl Printer<'_> {
    /// Prints a value by its own method. Returns false if it has none for that verb.
    pub(crate) fn by_method(&mut self, host: &mut Host<'_>, value: &Value, verb: char) -> Result<bool, Failure> {
        if self.erroring {
            return Ok(false);
        }
        if verb == 'w' {
            // `%w` is only for `fmt.Errorf`, which templates cannot call.
            self.bad_verb(host, verb, Some(value).filter(|value| !matches!(value, Value::Nil)))?;
            return Ok(true);
        }
        if !matches!(value, Value::Struct(_) | Value::Named(..) | Value::Pointer(_)) {
            return Ok(false);
        }
        let Some(ty) = value.type_of() else { return Ok(false) };
        let method = match verb {
            _ if self.flags.sharp_v => find_method(&ty, "GoString", false).filter(FoundMethod::returns_string),
            'v' | 's' | 'x' | 'X' | 'q' => self.print_method(&ty),
            _ => None,
        };
        let Some(method) = method else { return Ok(false) };
        match method.call(host, value) {
            Ok(printed) => match printed.bare() {
                Value::String(text) if self.flags.sharp_v => self.plain(host, text)?,
                Value::String(text) => self.text(host, text, verb, value)?,
                _ => return Ok(false),
            },
            Err(limit @ (Failure::Limit(_) | Failure::Template(_))) => return Err(limit),
            Err(Failure::Error(panic)) => self.panicked(host, value, verb, method.method.function.name, &panic)?,
        }
        Ok(true)
    }

    /// The method of a type, looked up once for each struct: lists and maps hold many of a kind.
    fn print_method(&mut self, ty: &Type) -> Option<FoundMethod> {
        let Type::Struct(of) = ty else {
            return find_print_method(ty, false);
        };
        if let Some((_, found)) = self.methods.iter().find(|(known, _)| std::ptr::eq(*known, *of)) {
            return *found;
        }
        let method = find_print_method(ty, false);
        self.methods.push((of, method));
        method
    }

    /// Reports a method that panicked.
    fn panicked(
        &mut self,
        host: &mut Host<'_>,
        value: &Value,
        verb: char,
        method: &str,
        panic: &str,
    ) -> Result<(), Failure> {
        if matches!(value, Value::Pointer(Pointer { target: None, .. })) {
            return self.put(host, b"<nil>");
        }
        let flags = std::mem::take(&mut self.flags);
        let report = format!("%!{verb}(PANIC={method} method: {panic})");
        self.put(host, report.as_bytes())?;
        // Go forgets the width and the precision here, but not that they were given.
        self.flags = Flags {
            width: flags.width.map(|_| 0),
            precision: flags.precision.map(|_| 0),
            ..flags
        };
        Ok(())
    }
}
