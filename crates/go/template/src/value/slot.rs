//! Places that hold values, and views of their content.
//!
//! When a template looks *into* a value, Go's `reflect` also has the static type of the place, an interface or not, and
//! whether it is addressable. Both show in error texts and in the methods that are found.

use super::model::{Slot, Type, Value};

impl Slot {
    /// `reflect.ValueOf`: of nil it is nothing.
    pub fn of(value: Value) -> Self {
        Self {
            value,
            interface: None,
            addressable: false,
        }
    }

    /// A place of a type: an element, a field, a result.
    pub fn in_place(value: Value, ty: &'static Type, addressable: bool) -> Self {
        Self {
            value,
            interface: ty.is_interface().then_some(ty),
            addressable,
        }
    }

    /// `reflect`'s zero Value: the result for a missing key.
    pub fn nothing() -> Self {
        Self::default()
    }

    pub fn is_valid(&self) -> bool {
        self.interface.is_some() || !matches!(self.value, Value::Nil)
    }

    /// Go's `Value.Type`: that of the place; `None` when it holds nothing.
    pub fn type_of(&self) -> Option<Type> {
        self.interface.copied().or_else(|| self.value.type_of())
    }

    /// Go's name of that type.
    pub(crate) fn type_name(&self) -> String {
        self.type_of().map_or_else(|| "<nil>".to_owned(), |ty| ty.to_string())
    }
}

/// The content of a place after all pointers and interfaces, as `reflect` sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'v> {
    /// The value; the pointer itself if that is nil.
    pub value: &'v Value,
    /// Whether it is a nil interface.
    pub is_interface: bool,
    /// Whether the place is addressable.
    pub addressable: bool,
    /// Whether a nil pointer or interface ended the way.
    pub is_nil: bool,
}

/// Follows all pointers and interfaces.
pub(crate) fn indirect(slot: &Slot) -> View<'_> {
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
    use crate::{ANY, INT, Pointer};

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
