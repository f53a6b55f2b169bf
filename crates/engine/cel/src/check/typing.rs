//! Types of expressions, assignability and unification.

use std::collections::HashMap;
use std::rc::Rc;

use super::functions::T;

/// The type of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typing {
    Dyn,
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    Type(Option<Rc<Typing>>),
    List(Rc<Typing>),
    Map(Rc<Typing>, Rc<Typing>),
    Optional(Option<Rc<Typing>>),
    /// A type that is not known yet.
    Unknown(u32),
    /// A type parameter: the element of the type `list`.
    Named(&'static str),
}

impl Typing {
    pub fn list(element: Self) -> Self {
        Self::List(Rc::new(element))
    }

    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Rc::new(key), Rc::new(value))
    }

    pub fn optional(value: Self) -> Self {
        Self::Optional(Some(Rc::new(value)))
    }

    /// A type of the function table, with the types for its `A` and `B`.
    pub fn of(t: T, a: &Self, b: &Self) -> Self {
        match t {
            T::A => a.clone(),
            T::B => b.clone(),
            T::Dyn => Self::Dyn,
            T::Bool => Self::Bool,
            T::Int => Self::Int,
            T::Uint => Self::Uint,
            T::Double => Self::Double,
            T::String => Self::String,
            T::Bytes => Self::Bytes,
            T::Timestamp => Self::Timestamp,
            T::Duration => Self::Duration,
            T::TypeOf(t) => Self::Type(Some(Rc::new(Self::of(*t, a, b)))),
            T::List(t) => Self::list(Self::of(*t, a, b)),
            T::Map(key, value) => Self::map(Self::of(*key, a, b), Self::of(*value, a, b)),
            T::Optional(t) => Self::optional(Self::of(*t, a, b)),
        }
    }

    fn is_param(&self) -> bool {
        matches!(self, Self::Unknown(_) | Self::Named(_))
    }

    /// The type within an optional type, and whether it was optional.
    pub(crate) fn unwrap_optional(self) -> (Self, bool) {
        match self {
            Self::Optional(Some(inner)) => (Rc::unwrap_or_clone(inner), true),
            other => (other, false),
        }
    }

    /// The type in messages.
    pub fn display(&self) -> String {
        match self {
            Self::Dyn => "dyn".to_owned(),
            Self::Error => "!error!".to_owned(),
            Self::Null => "null".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Int => "int".to_owned(),
            Self::Uint => "uint".to_owned(),
            Self::Double => "double".to_owned(),
            Self::String => "string".to_owned(),
            Self::Bytes => "bytes".to_owned(),
            Self::Timestamp => "timestamp".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::Type(None) => "type".to_owned(),
            Self::Type(Some(inner)) => format!("type({})", inner.display()),
            Self::List(inner) => format!("list({})", inner.display()),
            Self::Map(key, value) => format!("map({}, {})", key.display(), value.display()),
            Self::Optional(None) => "optional_type".to_owned(),
            Self::Optional(Some(inner)) => format!("optional_type({})", inner.display()),
            Self::Unknown(number) => format!("_var{number}"),
            Self::Named(name) => (*name).to_owned(),
        }
    }

    /// The name of the type without its parameters.
    pub fn type_name(&self) -> String {
        match self {
            Self::Type(_) => "type".to_owned(),
            Self::List(_) => "list".to_owned(),
            Self::Map(..) => "map".to_owned(),
            Self::Optional(_) => "optional_type".to_owned(),
            other => other.go_display(),
        }
    }

    /// The type as Go prints it, for the message about an expression's result.
    pub(crate) fn go_display(&self) -> String {
        match self {
            Self::Null => "null_type".to_owned(),
            Self::Timestamp => "google.protobuf.Timestamp".to_owned(),
            Self::Duration => "google.protobuf.Duration".to_owned(),
            Self::Type(Some(inner)) => format!("type({})", inner.go_display()),
            Self::List(inner) => format!("list({})", inner.go_display()),
            Self::Map(key, value) => format!("map({}, {})", key.go_display(), value.go_display()),
            Self::Optional(Some(inner)) => format!("optional_type({})", inner.go_display()),
            Self::Named(name) => format!("<{name}>"),
            other => other.display(),
        }
    }
}

/// The substitutions for unknown types so far. Failed attempts are rolled back.
#[derive(Debug, Default)]
pub struct Known {
    types: HashMap<u32, Typing>,
    changes: Vec<(u32, Option<Typing>)>,
    next: u32,
}

impl Known {
    /// A fresh unknown type.
    pub fn unknown(&mut self) -> Typing {
        self.next += 1;
        Typing::Unknown(self.next - 1)
    }

    fn get(&self, typing: &Typing) -> Option<&Typing> {
        match typing {
            Typing::Unknown(number) => self.types.get(number),
            _ => None,
        }
    }

    fn set(&mut self, typing: &Typing, to: Typing) {
        if let Typing::Unknown(number) = typing {
            let before = self.types.insert(*number, to);
            self.changes.push((*number, before));
        }
    }

    /// Whether each of these types is assignable to the other one; substitutions that follow are recorded.
    pub(crate) fn fit_all(&mut self, these: &[Typing], those: &[Typing]) -> bool {
        let fits = self.all(these, those);
        while let (false, Some((number, before))) = (fits, self.changes.pop()) {
            match before {
                Some(before) => self.types.insert(number, before),
                None => self.types.remove(&number),
            };
        }
        self.changes.clear();
        fits
    }

    pub fn fit(&mut self, this: &Typing, that: &Typing) -> bool {
        self.fit_all(std::slice::from_ref(this), std::slice::from_ref(that))
    }

    fn all(&mut self, these: &[Typing], those: &[Typing]) -> bool {
        these.len() == those.len() && these.iter().zip(those).all(|(this, that)| self.one(this, that))
    }

    fn one(&mut self, this: &Typing, that: &Typing) -> bool {
        if that.is_param() {
            match self.stands_for(this, that) {
                (true, _) => return true,
                (false, true) => return false,
                (false, false) => {}
            }
        }
        if this.is_param() {
            return self.stands_for(that, this).0;
        }
        match (this, that) {
            (Typing::Dyn | Typing::Error, _) | (_, Typing::Dyn | Typing::Error) => true,
            (Typing::Null, other) | (other, Typing::Null) => {
                matches!(
                    other,
                    Typing::Null | Typing::Optional(_) | Typing::Duration | Typing::Timestamp
                )
            }
            (Typing::Type(_), Typing::Type(_)) => true,
            (Typing::List(this), Typing::List(that)) => self.one(this, that),
            (Typing::Map(key, value), Typing::Map(other_key, other_value)) => {
                self.one(key, other_key) && self.one(value, other_value)
            }
            (Typing::Optional(Some(this)), Typing::Optional(Some(that))) => self.one(this, that),
            _ => this == that,
        }
    }

    /// Whether a type can be substituted for an unknown one, and whether that one already has a substitution.
    fn stands_for(&mut self, typing: &Typing, unknown: &Typing) -> (bool, bool) {
        if typing == unknown {
            return (true, true);
        }
        if let Some(known) = self.get(unknown).cloned() {
            if *typing == known {
                return (true, true);
            }
            if !self.one(typing, &known) {
                return (false, true);
            }
            let general = more_general(typing, &known);
            if self.not_within(unknown, &general) {
                self.set(unknown, general);
            }
            return (true, true);
        }
        if self.not_within(unknown, typing) {
            self.set(unknown, typing.clone());
            return (true, false);
        }
        (false, false)
    }

    fn not_within(&self, unknown: &Typing, typing: &Typing) -> bool {
        if unknown == typing {
            return false;
        }
        match typing {
            Typing::Unknown(_) => self.get(typing).is_none_or(|known| self.not_within(unknown, known)),
            Typing::List(inner) | Typing::Optional(Some(inner)) | Typing::Type(Some(inner)) => {
                self.not_within(unknown, inner)
            }
            Typing::Map(key, value) => self.not_within(unknown, key) && self.not_within(unknown, value),
            _ => true,
        }
    }

    /// The type with its substitutions; when `finally`, unknown types become `dyn`.
    pub fn resolve(&self, typing: &Typing, finally: bool) -> Typing {
        if let Some(known) = self.get(typing) {
            return self.resolve(known, finally);
        }
        match typing {
            Typing::Unknown(_) | Typing::Named(_) if finally => Typing::Dyn,
            Typing::List(inner) => Typing::list(self.resolve(inner, finally)),
            Typing::Map(key, value) => Typing::map(self.resolve(key, finally), self.resolve(value, finally)),
            Typing::Optional(Some(inner)) => Typing::optional(self.resolve(inner, finally)),
            Typing::Type(Some(inner)) => Typing::Type(Some(Rc::new(self.resolve(inner, finally)))),
            other => other.clone(),
        }
    }
}

/// The more general of two types.
pub(crate) fn more_general(this: &Typing, that: &Typing) -> Typing {
    if says_no_more(this, that) {
        this.clone()
    } else {
        that.clone()
    }
}

fn says_no_more(this: &Typing, that: &Typing) -> bool {
    if *this == Typing::Dyn || this.is_param() {
        return true;
    }
    if *that == Typing::Dyn || that.is_param() {
        return false;
    }
    match (this, that) {
        (Typing::List(this), Typing::List(that)) | (Typing::Optional(Some(this)), Typing::Optional(Some(that))) => {
            says_no_more(this, that)
        }
        (Typing::Map(key, value), Typing::Map(other_key, other_value)) => {
            says_no_more(key, other_key) && says_no_more(value, other_value)
        }
        (Typing::Type(_), Typing::Type(_)) => true,
        _ => this == that,
    }
}
