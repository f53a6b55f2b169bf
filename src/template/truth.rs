//! What `if`, `and`, `not` and Sprig's defaults take for true.

use super::value::{Slot, Value};

/// Go's `IsTrue`: whether a value is not the zero of its type; structs always are.
pub fn truth(value: &Value) -> bool {
    match value {
        Value::Nil => false,
        Value::Bool(truth) => *truth,
        Value::Int(_, number) => *number != 0,
        Value::Uint(_, number) => *number != 0,
        Value::Float(_, number) => *number != 0.0,
        Value::Complex(_, real, imaginary) => *real != 0.0 || *imaginary != 0.0,
        Value::String(text) => !text.is_empty(),
        Value::Slice(slice) => !slice.items().is_empty(),
        Value::Array(array) => !array.items().is_empty(),
        Value::Map(map) => !map.is_empty(),
        Value::Struct(_) => true,
        Value::Pointer(pointer) => pointer.target.is_some(),
        Value::Named(_, inner) => truth(inner),
    }
}

/// A place as `reflect` sees it at the end of all pointers and interfaces.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'v> {
    /// What is there; for a nil pointer the pointer.
    pub value: &'v Value,
    /// Whether it is an interface that holds nothing.
    pub is_interface: bool,
    /// Whether the place has an address.
    pub addressable: bool,
    /// Whether the way ended at a nil pointer or interface.
    pub is_nil: bool,
}

/// Follows pointers and interfaces to their end.
pub(super) fn indirect(slot: &Slot) -> View<'_> {
    let mut view = View {
        value: &slot.value,
        is_interface: false,
        addressable: slot.addressable && slot.interface.is_none(),
        is_nil: false,
    };
    let mut is_interface = slot.interface.is_some();
    loop {
        match view.value {
            Value::Nil if is_interface => {
                view.is_interface = true;
                view.is_nil = true;
                return view;
            }
            Value::Pointer(pointer) => match &pointer.target {
                Some(target) => {
                    view.value = target;
                    is_interface = pointer.to.is_interface();
                    view.addressable = !is_interface;
                }
                None => {
                    view.is_nil = true;
                    return view;
                }
            },
            _ => return view,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::{ANY, INT, Pointer, STRING, Slice};

    #[test]
    fn only_zero_values_are_false() {
        for (value, expected) in [
            (Value::Nil, false),
            (Value::int(0), false),
            (Value::int(-1), true),
            (Value::float(-0.0), false),
            (Value::float(f64::NAN), true),
            (Value::text(""), false),
            (Value::text("false"), true),
            (Value::Slice(Slice::nil(&STRING)), false),
            (Value::list(vec![Value::Nil]), true),
            (Value::Pointer(Pointer { to: &INT, target: None }), false),
            (Value::Pointer(Pointer::new(&INT, Value::int(0))), true),
        ] {
            assert_eq!(truth(&value), expected, "{value:?}");
        }
    }

    #[test]
    fn indirection_ends_at_nil() {
        let end = |slot: &Slot| {
            let view = indirect(slot);
            (view.is_interface, view.addressable, view.is_nil)
        };
        assert_eq!(end(&Slot::nothing()), (false, false, false));
        assert_eq!(end(&Slot::in_place(Value::Nil, &ANY, true)), (true, false, true));
        let pointer = Value::Pointer(Pointer::new(&ANY, Value::int(1)));
        assert_eq!(
            end(&Slot::of(pointer)),
            (false, false, false),
            "what an interface holds has no address"
        );
        let pointer = Value::Pointer(Pointer::new(&INT, Value::int(1)));
        assert_eq!(end(&Slot::of(pointer)), (false, true, false));
    }
}
