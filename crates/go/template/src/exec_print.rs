//! Writes the output of an action: the value of its pipeline, by `fmt`.

use super::methods::printable;
use super::{
    exec::{BoxedError, Exec},
    function::Failure,
    go_type::Type,
    host::Host,
    methods::{FoundMethod, find_print_method},
    print,
    slot::Slot,
    value::Value,
};
use bumpwright_gostd::lossy;

impl Exec<'_, '_, '_> {
    /// Writes the value of an action.
    pub(super) fn print(&mut self, slot: &Slot) -> Result<(), BoxedError> {
        match &slot.value {
            Value::String(text) => self.out.extend_from_slice(text),
            Value::Nil if slot.interface.is_none() => self.out.extend_from_slice(b"<no value>"),
            value => {
                let printed = match printed_by_pointer(slot) {
                    Some(found) => print_by(&found, self.host, self.out, value),
                    None => print::print(self.host, self.out, printable(value)),
                };
                printed.map_err(|failure| self.failure(failure))?;
            }
        }
        self.check_output()
    }

    /// A value in the text of an error.
    pub(super) fn printed(&mut self, value: &Value) -> Result<String, BoxedError> {
        let mut out = Vec::new();
        print::print(self.host, &mut out, value).map_err(|failure| self.failure(failure))?;
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
