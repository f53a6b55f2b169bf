//! Calls functions by name, as a template would, without checking their arguments.
#![allow(clippy::panic)]

use super::{CHANCE, TABLES};
use bumpwright_template::{Args, Body, Failure, Function, Host, Limits, Value, World};

/// A clock that stands still, and constant random bytes.
#[derive(Debug)]
pub(super) struct FixedWorld;

impl World for FixedWorld {
    fn now(&self) -> (i64, u32) {
        (1_700_000_000, 0)
    }

    fn random(&self, buffer: &mut [u8]) {
        for (index, byte) in buffer.iter_mut().enumerate() {
            *byte = (index * 37 + 11) as u8;
        }
    }
}

/// The result of the function of that name, be it hermetic or not.
pub(super) fn call_any(name: &str, arguments: &[Value]) -> Result<Value, Failure> {
    let function = CHANCE.iter().flat_map(|table| table.iter());
    match function.clone().find(|function| function.name == name) {
        Some(Function {
            body: Body::Plain(body),
            ..
        }) => body(&mut Host::new(Limits::default(), &FixedWorld), Args(arguments)),
        _ => panic!("no function {name}"),
    }
}

/// The result of the function of that name.
pub(super) fn call(name: &str, arguments: &[Value]) -> Result<Value, Failure> {
    let function = TABLES
        .iter()
        .flat_map(|table| table.iter())
        .find(|function| function.name == name)
        .unwrap_or_else(|| panic!("no function {name}"));
    let Body::Plain(body) = function.body else {
        panic!("{name} takes reflect.Value")
    };
    body(&mut Host::new(Limits::default(), &FixedWorld), Args(arguments))
}
