//! Methods of values: those of their own types, and those promoted through embedded fields.

use super::failure::Failure;
use super::model::{Args, Body, Field, Method, StructType, Type, Value};
use crate::exec::host::Host;
use bumpwright_text::Parts;

/// The value to print: pointers are followed, unless the pointer itself has a method for printing.
pub(crate) fn printable(value: &Value) -> &Value {
    let mut current = value;
    while let Value::Pointer(pointer) = current {
        let Some(target) = &pointer.target else { return current };
        if !matches!(**target, Value::Pointer(_))
            && find_print_method(pointer.to, false).is_none()
            && find_print_method(pointer.to, true).is_some()
        {
            return current;
        }
        if pointer.to.is_interface() && matches!(**target, Value::Nil) {
            return target;
        }
        current = target;
    }
    current
}

/// Go's panic when it follows a nil pointer.
pub(crate) const NIL_DEREFERENCE: &str = "runtime error: invalid memory address or nil pointer dereference";

/// A method of a type.
#[derive(Clone, Copy, Debug)]
pub struct FoundMethod {
    pub method: &'static Method,
    /// The embedded fields on the way to its receiver.
    path: Path,
}

/// The indexes of the fields on the way to a promoted field or method, outermost first. It is looked up at every
/// access, so it needs no allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path {
    indexes: [u8; DEEPEST],
    length: u8,
}

/// Maximum depth of embedding.
const DEEPEST: usize = 8;

impl Path {
    fn with(mut self, index: usize) -> Self {
        if let (Some(place), Ok(index)) = (self.indexes.get_mut(usize::from(self.length)), u8::try_from(index)) {
            *place = index;
            self.length += 1;
        }
        self
    }

    pub(crate) fn indexes(&self) -> impl Iterator<Item = usize> + '_ {
        let used = self.indexes.part(..usize::from(self.length));
        used.iter().map(|index| usize::from(*index))
    }
}

/// A struct or named type whose methods may be promoted.
#[derive(Clone, Copy, Debug)]
struct Embedded {
    ty: &'static Type,
    path: Path,
    /// Whether there is a pointer to it, so that the methods of `*T` count as well.
    pointed: bool,
}

/// The method with that name in Go's method set of `ty`; with `addressable`, in that of a pointer to it.
pub fn find_method(ty: &Type, name: &str, addressable: bool) -> Option<FoundMethod> {
    let (base, pointed) = match ty {
        Type::Pointer(to) => (*to, true),
        other => (other, addressable),
    };
    let if_reachable = |method: &'static Method| {
        (pointed || !method.pointer).then_some(FoundMethod {
            method,
            path: Path::default(),
        })
    };
    match base {
        Type::Named(named) => own(named.methods, name).and_then(if_reachable),
        Type::Struct(of) => {
            if let Some(method) = own(of.methods, name) {
                return if_reachable(method);
            }
            if !of.fields.iter().any(|field| field.embedded) || of.fields.iter().any(|field| field.name == name) {
                return None;
            }
            promoted(of, name, pointed)
        }
        _ => None,
    }
}

/// The method by which `fmt` prints values of a type: `Error() string` before `String() string`.
pub fn find_print_method(ty: &Type, addressable: bool) -> Option<FoundMethod> {
    if matches!(ty, Type::Struct(_) | Type::Named(_) | Type::Pointer(_)) {
        let named = |name| find_method(ty, name, addressable).filter(FoundMethod::returns_string);
        return named("Error").or_else(|| named("String"));
    }
    None
}

/// The names of all methods that `ty` has, own ones first.
pub(crate) fn method_names(ty: &Type, addressable: bool) -> Vec<&'static str> {
    let base = match ty {
        Type::Pointer(to) => *to,
        other => other,
    };
    let mut names: Vec<&'static str> = base.methods().iter().map(|method| method.function.name).collect();
    if let Type::Struct(of) = base {
        walk_embedded(of, false, |at| {
            names.extend(at.ty.methods().iter().map(|method| method.function.name));
            0
        });
    }
    let mut reachable = Vec::new();
    for name in names {
        if !reachable.contains(&name) && find_method(ty, name, addressable).is_some() {
            reachable.push(name);
        }
    }
    reachable
}

/// The path to the field of that name, promoted ones included, as `reflect`'s `FieldByName` finds it.
pub(crate) fn find_field(of: &'static StructType, name: &str) -> Option<(Path, &'static Field)> {
    let field_of = |of: &'static StructType, path: Path| {
        let index = of.fields.iter().position(|field| field.name == name)?;
        Some((path.with(index), of.fields.get(index)?))
    };
    if let Some(own) = field_of(of, Path::default()) {
        return Some(own);
    }
    let (mut hits, mut found) = (0, None);
    walk_embedded(of, false, |at| {
        if let Type::Struct(inner) = at.ty
            && let Some(field) = field_of(inner, at.path)
        {
            hits += 1;
            found = Some(field);
        }
        hits
    });
    found.filter(|_| hits == 1)
}

/// The names of all exported fields, promoted ones included.
pub(crate) fn field_names(of: &'static StructType) -> Vec<&'static str> {
    let exported = |of: &'static StructType| of.fields.iter().filter(|field| field.is_exported());
    let mut names: Vec<_> = exported(of).map(|field| field.name).collect();
    walk_embedded(of, false, |at| {
        if let Type::Struct(inner) = at.ty {
            for field in exported(inner) {
                if !names.contains(&field.name) && find_field(of, field.name).is_some() {
                    names.push(field.name);
                }
            }
        }
        0
    });
    names
}

impl FoundMethod {
    /// Whether it has no parameters and returns a string: the condition of `error` and `fmt.Stringer`.
    pub(crate) fn returns_string(&self) -> bool {
        let function = &self.method.function;
        function.params.is_empty() && matches!(function.result, Type::String)
    }

    /// The method's first argument when it is called on `value`: never a pointer.
    ///
    /// # Errors
    /// Go's panic, since a pointer on the way is nil.
    pub fn receiver<'v>(&self, value: &'v Value) -> Result<&'v Value, Failure> {
        let mut current = match value {
            Value::Pointer(pointer) => match &pointer.target {
                Some(target) => &**target,
                None => return Err(self.on_nil(pointer.to)),
            },
            other => other,
        };
        for index in self.path.indexes() {
            let Value::Struct(of) = current else {
                return Err(Failure::new(NIL_DEREFERENCE));
            };
            current = match of.fields().get(index) {
                Some(Value::Pointer(pointer)) => match &pointer.target {
                    Some(target) => target,
                    None => return Err(Failure::new(NIL_DEREFERENCE)),
                },
                Some(field) => field,
                None => return Err(Failure::new(NIL_DEREFERENCE)),
            };
        }
        Ok(current)
    }

    /// Calls a method without parameters on `value`.
    ///
    /// # Errors
    /// Those of the method, and Go's panic when `value` is nil.
    pub fn call(&self, host: &mut Host<'_>, value: &Value) -> Result<Value, Failure> {
        let receiver = self.receiver(value)?;
        match self.method.function.body {
            Body::Plain(body) => body(host, Args(std::slice::from_ref(receiver))),
            Body::Reflect(_) | Body::Nested(_) | Body::Choice { .. } | Body::Call | Body::Uncallable(_) => {
                Err(Failure::new("internal: a method over reflect.Value"))
            }
        }
    }

    fn on_nil(&self, to: &Type) -> Failure {
        if self.method.pointer || self.path != Path::default() {
            return Failure::new(NIL_DEREFERENCE);
        }
        let full = to.to_string();
        let short = full.rsplit('.').next().unwrap_or(&full);
        let name = self.method.function.name;
        Failure::new(format!("value method {full}.{name} called using nil *{short} pointer"))
    }
}

fn own(methods: &'static [Method], name: &str) -> Option<&'static Method> {
    methods.iter().find(|method| method.function.name == name)
}

/// A method of an embedded field: the shallowest one, if nothing else at its depth has the name.
fn promoted(of: &'static StructType, name: &str, pointed: bool) -> Option<FoundMethod> {
    let (mut hits, mut found) = (0, None);
    walk_embedded(of, pointed, |at| {
        if let Type::Struct(of) = at.ty
            && of.fields.iter().any(|field| field.name == name)
        {
            hits += 1;
        }
        if let Some(method) = own(at.ty.methods(), name) {
            hits += 1;
            found = (at.pointed || !method.pointer).then_some(FoundMethod { method, path: at.path });
        }
        hits
    });
    found.filter(|_| hits == 1)
}

/// Visits the embedded types, the shallowest first, until `visit` has counted a hit at a depth, to the end of that
/// depth. A type that embeds a pointer to itself ends at the maximum depth of paths.
fn walk_embedded(of: &'static StructType, pointed: bool, mut visit: impl FnMut(Embedded) -> usize) {
    for depth in 0..DEEPEST - 1 {
        let mut hits = 0;
        let mut any = false;
        walk_level(of, Path::default(), pointed, depth, &mut |at| {
            any = true;
            hits = visit(at);
        });
        if hits > 0 || !any {
            return;
        }
    }
}

/// Visits the embedded types that are `depth` levels below those of the struct itself.
fn walk_level(of: &'static StructType, path: Path, pointed: bool, depth: usize, visit: &mut impl FnMut(Embedded)) {
    for (index, field) in of.fields.iter().enumerate().filter(|(_, field)| field.embedded) {
        let (ty, pointed) = match field.ty {
            Type::Pointer(to) => (*to, true),
            other => (other, pointed),
        };
        let path = path.with(index);
        match (depth.checked_sub(1), ty) {
            (None, _) => visit(Embedded { ty, path, pointed }),
            (Some(depth), Type::Struct(inner)) => walk_level(inner, path, pointed, depth, visit),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;
    use crate::{Function, INT, STRING};

    const fn method(name: &'static str, pointer: bool) -> Method {
        Method {
            pointer,
            function: Function::new(name, &[], &STRING, |_, args| Ok(args.value(0)?.clone())),
        }
    }

    static A: StructType = StructType {
        name: "p.A",
        fields: &[Field::new("X", &INT), Field::new("Both", &INT)],
        methods: &[method("Value", false), method("Pointer", true)],
    };
    static B: StructType = StructType {
        name: "p.B",
        fields: &[Field::new("Y", &INT), Field::new("Both", &INT)],
        methods: &[method("Hidden", false), method("X", false)],
    };
    static A_TYPE: Type = Type::Struct(&A);
    static B_TYPE: Type = Type::Struct(&B);
    static OUTER: StructType = StructType {
        name: "p.Outer",
        fields: &[
            Field::embedded("A", &A_TYPE),
            Field::embedded("B", &Type::Pointer(&B_TYPE)),
            Field::new("Hidden", &INT),
            Field::new("own", &INT),
        ],
        methods: &[],
    };
    static OUTER_TYPE: Type = Type::Struct(&OUTER);
    static A_POINTER: Type = Type::Pointer(&A_TYPE);

    #[test]
    fn methods_are_promoted_as_in_go() {
        let has = |name, addressable| find_method(&OUTER_TYPE, name, addressable).is_some();
        assert!(has("Value", false));
        assert!(!has("Pointer", false), "only addressable structs have methods of *A");
        assert!(has("Pointer", true));
        assert!(find_method(&Type::Pointer(&OUTER_TYPE), "Pointer", false).is_some());
        assert!(!has("Hidden", true), "an outer field hides it");
        assert!(
            !has("X", true),
            "a field and a method at the same depth hide each other"
        );
        assert_eq!(method_names(&OUTER_TYPE, true), ["Value", "Pointer"]);
    }

    #[test]
    fn fields_are_promoted_as_in_go() {
        let path = find_field(&OUTER, "Y").map(|(path, _)| path.indexes().collect());
        assert_eq!(path, Some(vec![1, 0]));
        assert!(find_field(&OUTER, "Both").is_none(), "ambiguous");
        assert_eq!(field_names(&OUTER), ["A", "B", "Hidden", "X", "Y"]);
    }

    #[test]
    fn nil_pointers_panic_as_in_go() {
        let nil = Value::zero(&A_POINTER);
        let text = |name| {
            let found = find_method(&A_POINTER, name, false).unwrap();
            found.receiver(&nil).unwrap_err()
        };
        assert_eq!(
            text("Value"),
            Failure::new("value method p.A.Value called using nil *A pointer")
        );
        assert_eq!(text("Pointer"), Failure::new(NIL_DEREFERENCE));
        let outer = Value::zero(&OUTER_TYPE);
        let found = find_method(&OUTER_TYPE, "Value", false).unwrap();
        assert!(matches!(found.receiver(&outer), Ok(Value::Struct(inner)) if std::ptr::eq(inner.of, &A)));
    }
}
