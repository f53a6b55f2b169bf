//! Fields, methods and keys: the meaning of `.Name` on a value.

use super::call::Callee;
use super::run::{BoxedError, Exec, Operands};
use crate::parse::node::{Name, NodeRef, PlainField};
use crate::value::error::{Missing, MissingKind};
use crate::value::go_type::TypeKind;
use crate::value::map::Map;
use crate::value::methods::{Path, field_names, find_field, find_method, method_names};
use crate::value::model::{Slot, Struct, StructType, Type, Value};
use crate::value::slot::{View, indirect};

impl<'t> Exec<'t, '_, '_> {
    /// `.X.Y.Z`: only the last one can be a method with arguments.
    pub(crate) fn eval_fields(
        &mut self,
        dot: &Slot,
        receiver: &Slot,
        node: NodeRef<'t>,
        names: &'t [Name],
        operands: Operands<'t>,
    ) -> Result<Slot, BoxedError> {
        self.small_steps(names.len())?;
        if !operands.are_given()
            && let Some(field) = plain_fields(receiver, names)
        {
            return Ok(field);
        }
        let Some((last, before)) = names.split_last() else {
            return Ok(receiver.clone());
        };
        let Some((first, between)) = before.split_first() else {
            return self.eval_field(dot, receiver, node, last, operands);
        };
        let mut current = self.eval_field(dot, receiver, node, first, Operands::none())?;
        for name in between {
            current = self.eval_field(dot, &current, node, name, Operands::none())?;
        }
        self.eval_field(dot, &current, node, last, operands)
    }

    fn eval_field(
        &mut self,
        dot: &Slot,
        receiver: &Slot,
        node: NodeRef<'t>,
        name: &'t Name,
        operands: Operands<'t>,
    ) -> Result<Slot, BoxedError> {
        if !receiver.is_valid() {
            return Ok(Slot::nothing());
        }
        let view = indirect(receiver);
        if view.is_interface {
            return Err(self.nil_pointer(receiver, name));
        }
        if let Some(callee) = method_of(view, name) {
            return self.eval_call(dot, callee, node, operands);
        }
        match view.value {
            Value::Struct(of) => {
                if let Some(field) = self.field_of(receiver, of, view, name, &operands)? {
                    return Ok(field);
                }
            }
            Value::Pointer(pointer) => {
                let no_such = matches!(pointer.to, Type::Struct(of) if find_field(of, name.text()).is_none());
                if !no_such {
                    return Err(self.nil_pointer(receiver, name));
                }
            }
            value => {
                if let Value::Map(map) = value.bare()
                    && let Some(item) = self.item_of(map, name, &operands)?
                {
                    return Ok(item);
                }
            }
        }
        let text = format!("can't evaluate field {} in type {}", name.text(), receiver.type_name());
        Err(self.fail_missing(text, missing(view, name.text())))
    }

    fn field_of(
        &mut self,
        receiver: &Slot,
        of: &Struct,
        view: View<'_>,
        name: &Name,
        operands: &Operands<'t>,
    ) -> Result<Option<Slot>, BoxedError> {
        let own = of.of.fields.iter().position(|field| field.name == name.text());
        let slot = match own {
            Some(index) => {
                let (Some(field), Some(value)) = (of.of.fields.get(index), of.fields().get(index)) else {
                    return Ok(None);
                };
                if !field.is_exported() {
                    return Err(self.unexported(receiver, view, name));
                }
                Slot::in_place(value.clone(), field.ty, view.addressable)
            }
            None => {
                let Some((path, field)) = find_field(of.of, name.text()) else {
                    return Ok(None);
                };
                if !field.is_exported() {
                    return Err(self.unexported(receiver, view, name));
                }
                match promoted(of, path, view.addressable) {
                    Ok((value, addressable)) => Slot::in_place(value, field.ty, addressable),
                    Err(embedded) => {
                        return Err(self.fail(format!(
                            "reflect: indirection through nil pointer to embedded struct field {embedded}"
                        )));
                    }
                }
            }
        };
        if operands.are_given() {
            return Err(self.fail(format!(
                "{} has arguments but cannot be invoked as function",
                name.text()
            )));
        }
        Ok(Some(slot))
    }

    fn item_of(&mut self, map: &Map, name: &Name, operands: &Operands<'t>) -> Result<Option<Slot>, BoxedError> {
        if !matches!(map.key, Type::String) && !map.key.is_any() {
            return Ok(None);
        }
        if operands.are_given() {
            return Err(self.fail(format!("{} is not a method but has arguments", name.text())));
        }
        let item = map.get(&name.key);
        let item = match item {
            None if self.host.zero_for_missing => Some(Value::zero(map.item)),
            item => item,
        };
        Ok(Some(item.map_or_else(Slot::nothing, |item| {
            Slot::in_place(item, map.item, false)
        })))
    }

    fn nil_pointer(&self, receiver: &Slot, name: &Name) -> BoxedError {
        self.fail(format!(
            "nil pointer evaluating {}.{}",
            receiver.type_name(),
            name.text()
        ))
    }

    fn unexported(&self, receiver: &Slot, view: View<'_>, name: &Name) -> BoxedError {
        let text = format!(
            "{} is an unexported field of struct type {}",
            name.text(),
            receiver.type_name()
        );
        self.fail_missing(text, missing(view, name.text()))
    }
}

/// The value of the names when they are fields of structs and nothing else, the most frequent case: nothing needs to be
/// copied on the way.
pub(crate) fn plain_fields(receiver: &Slot, names: &[Name]) -> Option<Slot> {
    let mut value = &receiver.value;
    let mut addressable = receiver.addressable && receiver.interface.is_none();
    let mut ty = None;
    for name in names {
        let Value::Struct(of) = value else { return None };
        addressable &= ty.is_none_or(|ty: &Type| !ty.is_interface());
        let PlainField { path, field, .. } = plain_field(of.of, addressable, name)?;
        let mut inside = of;
        let mut indexes = path.indexes().peekable();
        while let Some(index) = indexes.next() {
            value = inside.fields().get(index)?;
            if indexes.peek().is_some() {
                let Value::Struct(embedded) = value else { return None };
                inside = embedded;
            }
        }
        ty = Some(field.ty);
    }
    Some(Slot::in_place(value.clone(), ty?, addressable))
}

fn plain_field(of: &'static StructType, addressable: bool, name: &Name) -> Option<PlainField> {
    if let Some(cached) = name.seen.take() {
        let known = *cached;
        name.seen.set(Some(cached));
        if std::ptr::eq(known.of, of) && known.addressable == addressable {
            return Some(known);
        }
    }
    if find_method(&Type::Struct(of), name.text(), addressable).is_some() {
        return None;
    }
    let (path, field) = find_field(of, name.text()).filter(|(_, field)| field.is_exported())?;
    let field = PlainField {
        of,
        addressable,
        path,
        field,
    };
    name.seen.set(Some(Box::new(field)));
    Some(field)
}

/// The method of that name, bound to the value.
fn method_of(view: View<'_>, name: &Name) -> Option<Callee> {
    let ty = match view.value {
        Value::Struct(of) => Type::Struct(of.of),
        Value::Named(named, _) => Type::Named(named),
        Value::Pointer(pointer) => Type::Pointer(pointer.to),
        _ => return None,
    };
    let method = find_method(&ty, name.text(), view.addressable)?;
    Some(Callee {
        function: &method.method.function,
        receiver: Some(method.receiver(view.value).cloned()),
    })
}

/// The value at the end of a path through embedded structs, or the name of the type whose pointer is nil.
fn promoted(of: &Struct, path: Path, mut addressable: bool) -> Result<(Value, bool), &'static str> {
    let mut inside = of;
    let mut last: Option<(&Value, &'static str)> = None;
    for index in path.indexes() {
        if let Some((value, name)) = last {
            inside = match value {
                Value::Struct(inner) => inner,
                Value::Pointer(pointer) => match pointer.target.as_deref() {
                    Some(Value::Struct(inner)) => {
                        addressable = true;
                        inner
                    }
                    _ => return Err(name),
                },
                _ => return Err(name),
            };
        }
        last = inside
            .fields()
            .get(index)
            .zip(inside.of.fields.get(index).map(|field| field.name));
    }
    last.map(|(value, _)| (value.clone(), addressable)).ok_or(of.of.name)
}

/// The names that the type of the value has instead of `name`.
fn missing(view: View<'_>, name: &str) -> Missing {
    let mut names: Vec<&str> = Vec::new();
    if let Some(ty) = view.value.type_of() {
        let base = match ty {
            Type::Pointer(to) => *to,
            other => other,
        };
        if let Type::Struct(of) = base {
            names.extend(field_names(of));
        }
        if matches!(base.kind(), TypeKind::Struct) || matches!(base, Type::Named(_)) {
            names.extend(method_names(&ty, view.addressable));
        }
    }
    Missing {
        name: name.to_owned(),
        known: names.into_iter().map(str::to_owned).collect(),
        what: MissingKind::Field,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::exec::host::NoWorld;
    use crate::{
        Field, Functions, Host, Limits, Method, Pointer, STRING, Slot, Struct, StructType, Template, Type, Value,
    };

    static FIRST: StructType = StructType {
        name: "p.First",
        fields: &[Field::new("X", &STRING), Field::new("Y", &STRING)],
        methods: &[],
    };
    static FIRST_TYPE: Type = Type::Struct(&FIRST);
    static SECOND: StructType = StructType {
        name: "p.Second",
        fields: &[Field::new("Y", &STRING), Field::new("X", &STRING)],
        methods: &[],
    };
    static OUTER: StructType = StructType {
        name: "p.Outer",
        fields: &[Field::embedded("First", &FIRST_TYPE)],
        methods: &[Method::new("Y", &[], &STRING, |_, _| Ok("method".into())).of_pointer()],
    };
    static OUTER_TYPE: Type = Type::Struct(&OUTER);

    /// One name in a loop over structs of different types, addressable or not.
    #[test]
    fn what_a_name_was_is_not_what_it_is_elsewhere() {
        let texts = |of, texts: [&str; 2]| Value::Struct(Struct::new(of, texts.map(Value::from)));
        let outer = Value::Struct(Struct::new(&OUTER, [texts(&FIRST, ["x3", "y3"])]));
        let structs = vec![
            texts(&FIRST, ["x1", "y1"]),
            texts(&SECOND, ["y2", "x2"]),
            outer.clone(),
            Value::Pointer(Pointer::new(&OUTER_TYPE, outer)),
            texts(&FIRST, ["x4", "y4"]),
            Value::dict([("X", "x5"), ("Y", "y5")].map(|(key, text)| (key, Value::from(text)))),
        ];
        let text = "{{range $s := .}}{{$s.X}} {{.Y}},{{end}}";
        let template = Template::parse("t", text, &Functions::new(&[])).unwrap();
        let mut host = Host::new(Limits::default(), &NoWorld);
        let out = template.execute(&Slot::of(Value::list(structs)), &mut host).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "x1 y1,x2 y2,x3 y3,x3 method,x4 y4,x5 y5,"
        );
    }
}
