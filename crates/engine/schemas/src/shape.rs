//! Types by number, and their shapes.

use std::borrow::Cow;

use super::rules::Rules;

/// The number of a type in its [`Shapes`].
pub(crate) type Id = u32;

/// Who reads a value, and so which words and which nulls it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Go's JSON decoder, for Kubernetes' own types: a null is an absent field, an empty text mostly the default.
    Go,
    /// The OpenAPI schema of a CustomResourceDefinition.
    OpenApi,
}

/// Types that refer to each other by number.
#[derive(Debug)]
pub(crate) struct Shapes {
    pub(crate) reader: Reader,
    types: Vec<Type>,
}

#[derive(Debug)]
pub(crate) struct Type {
    pub(crate) shape: Shape,
    /// Whether null is a value of it.
    pub(crate) nullable: bool,
    pub(crate) rules: Option<Box<Rules>>,
}

/// What values of a type are.
#[derive(Debug)]
pub(crate) enum Shape {
    Any,
    String,
    /// A whole number of so many bits.
    Integer(u32),
    Number,
    Boolean,
    /// A text, or a whole number of so many bits.
    IntOrString(u32),
    Quantity,
    /// `metav1.Time` and, with exactly six digits after the second, `metav1.MicroTime`.
    Time {
        micro: bool,
    },
    /// Base64.
    Bytes,
    List(Id),
    Map(Id),
    Object(Object),
    /// The metadata of Kubernetes' own objects, wherever it stands.
    ObjectMeta,
}

/// An object with fields.
#[derive(Debug, Default)]
pub(crate) struct Object {
    /// Sorted by name.
    fields: Vec<Field>,
    /// The places of those that are required.
    required: Vec<usize>,
    /// Whether other fields are kept.
    pub(crate) open: bool,
}

/// A field of an object.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: Cow<'static, str>,
    pub(crate) of: Id,
    pub(crate) required: bool,
}

impl Shapes {
    pub(crate) fn new(reader: Reader) -> Self {
        Self {
            reader,
            types: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, shape: Shape) -> Id {
        self.push_type(Type {
            shape,
            nullable: false,
            rules: None,
        })
    }

    pub(crate) fn push_type(&mut self, of: Type) -> Id {
        self.types.push(of);
        Id::try_from(self.types.len() - 1).unwrap_or(Id::MAX)
    }

    /// Sets a type that others refer to already.
    pub(crate) fn set(&mut self, id: Id, shape: Shape) {
        let at = usize::try_from(id).unwrap_or(usize::MAX);
        if let Some(of) = self.types.get_mut(at) {
            of.shape = shape;
        }
    }

    pub(crate) fn get(&self, id: Id) -> Option<&Type> {
        self.types.get(usize::try_from(id).ok()?)
    }
}

impl Object {
    pub(crate) fn new(mut fields: Vec<Field>, open: bool) -> Self {
        fields.sort_by(|one, other| one.name.cmp(&other.name));
        let required = fields.iter().enumerate().filter(|(_, field)| field.required);
        let required = required.map(|(at, _)| at).collect();
        Self { fields, required, open }
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let position = self.fields.binary_search_by(|field| field.name.as_ref().cmp(name));
        self.fields.get(position.ok()?)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.name.as_ref())
    }

    pub(crate) fn required(&self) -> impl Iterator<Item = &Field> {
        self.required.iter().filter_map(|at| self.fields.get(*at))
    }
}
