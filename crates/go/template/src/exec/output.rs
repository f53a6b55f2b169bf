//! Writes the output of an action: the value of its pipeline, by `fmt`.

use super::host::Host;
use super::run::{BoxedError, Exec};
use crate::print::sprint;
use crate::value::failure::Failure;
use crate::value::methods::{FoundMethod, find_print_method, printable};
use crate::value::model::{Slot, Type, Value};
use bumpwright_gostd::lossy;

impl Exec<'_, '_, '_> {
    /// Writes the value of an action.
    pub(crate) fn print(&mut self, slot: &Slot) -> Result<(), BoxedError> {
        match &slot.value {
            Value::String(text) => self.out.extend_from_slice(text),
            Value::Nil if slot.interface.is_none() => self.out.extend_from_slice(b"<no value>"),
            value => {
                let printed = match printed_by_pointer(slot) {
                    Some(found) => print_by(&found, self.host, self.out, value),
                    None => sprint::print(self.host, self.out, printable(value)),
                };
                printed.map_err(|failure| self.failure(failure))?;
            }
        }
        self.check_output()
    }

    /// A value in the text of an error.
    pub(crate) fn printed(&mut self, value: &Value) -> Result<String, BoxedError> {
        let mut out = Vec::new();
        sprint::print(self.host, &mut out, value).map_err(|failure| self.failure(failure))?;
        Ok(lossy(&out).into_owned())
    }
}

/// The method of `*T` that prints a `T`, when only `*T` has one and the place is addressable.
fn printed_by_pointer(slot: &Slot) -> Option<FoundMethod> {
    if !slot.addressable || slot.interface.is_some() {
        return None;
    }
    let ty = match &slot.value {
        Value::Struct(of) => Type::Struct(of.of),
        Value::Named(named, _) => Type::Named(named),
        _ => return None,
    };
    match find_print_method(&ty, false) {
        Some(_) => None,
        None => find_print_method(&ty, true),
    }
}

fn print_by(found: &FoundMethod, host: &mut Host<'_>, out: &mut Vec<u8>, value: &Value) -> Result<(), Failure> {
    match found.call(host, value) {
        Ok(text) => {
            if let Value::String(text) = text {
                out.extend_from_slice(&text);
            }
            Ok(())
        }
        Err(Failure::Error(text)) => {
            let name = found.method.function.name;
            out.extend_from_slice(format!("%!v(PANIC={name} method: {text})").as_bytes());
            Ok(())
        }
        Err(limit) => Err(limit),
    }
}
