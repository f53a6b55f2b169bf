//! Values of expressions, and operations on them.

mod arithmetic;
mod convert;
mod fault;
mod key;
mod order;
mod show;

use std::collections::BTreeMap;
use std::sync::Arc;

use bumpwright_gostd::Time;
use serde_json::Value as Json;

pub use arithmetic::{add, divide, modulo, multiply, negate, subtract};
pub use convert::{Target, convert, moment, seconds as convert_seconds};
pub use fault::Fault;
pub use key::Key;
pub use order::{compare, equal};
pub use show::{show, show_quoted_type};

/// A value. Copies are cheap: large contents are shared.
#[derive(Clone, Debug)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    List(Arc<Vec<Value>>),
    Map(Arc<Map>),
    Timestamp(Time),
    /// Nanoseconds.
    Duration(i64),
    /// A type, by its name.
    Type(Arc<str>),
    Optional(Option<Arc<Value>>),
}

/// A map. Equal numbers of different types are different keys in a map literal.
pub type Map = BTreeMap<Key, Value>;

impl Value {
    pub fn string(text: &str) -> Self {
        Self::String(Arc::from(text))
    }

    pub fn bytes(bytes: Vec<u8>) -> Self {
        Self::Bytes(Arc::from(bytes))
    }

    pub fn list(values: Vec<Self>) -> Self {
        Self::List(Arc::new(values))
    }

    pub fn map(map: Map) -> Self {
        Self::Map(Arc::new(map))
    }

    pub fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// The name of the value's type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
        }
    }

    /// Whether it is the zero value of its type: `0`, `""`, `{}`, `null`.
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(value) => !value,
            Self::Int(value) => *value == 0,
            Self::Uint(value) => *value == 0,
            Self::Double(value) => *value == 0.0,
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::List(list) => list.is_empty(),
            Self::Map(map) => map.is_empty(),
            Self::Timestamp(time) => time.seconds == 0 && time.nanoseconds == 0,
            Self::Duration(nanoseconds) => *nanoseconds == 0,
            Self::Type(_) | Self::Optional(_) => false,
        }
    }

    /// The element of a map; the key may be an equal number of another type.
    pub fn find<'v>(map: &'v Map, key: &Self) -> Option<&'v Self> {
        Key::candidates(key).into_iter().find_map(|key| map.get(&key))
    }
}

impl From<&Json> for Value {
    /// Whole numbers are `int`s, all others `double`s, as in objects of the API server.
    fn from(json: &Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(value) => Self::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(whole) => Self::Int(whole),
                None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::string(text),
            Json::Array(elements) => Self::list(elements.iter().map(Self::from).collect()),
            Json::Object(fields) => {
                let entries = fields
                    .iter()
                    .map(|(name, value)| (Key::string(name), Self::from(value)));
                Self::map(entries.collect())
            }
        }
    }
}
