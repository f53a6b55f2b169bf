//! Go's `text/template` and `fmt`, over values with Go types.
//!
//! ```text
//! text ─▶ lex ─▶ parse ─▶ node ─▶ exec(value, function) ─▶ print ─▶ bytes
//! ```
//!
//! [`Template::parse`] and [`Template::execute`] are Go's, as of Go 1.26, down to the texts of the errors: a template
//! written for Flux works as it does there. What Go leaves to chance (pointers, clocks) or does not limit (endless
//! loops) is in [`Host`].

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod builtin;
mod exec;
mod parse;
mod print;
mod value;
pub use builtin::functions::Functions;
pub use exec::host::{Host, Limits, World};
pub use exec::run::Template;
pub use exec::set::{ParsedText, Templates};
pub use print::sprint::{print, sprint};
pub use value::error::{Cause, Error, Missing, MissingKind, Place, Stage};
pub use value::failure::Failure;
pub use value::failure::NestedError;
pub use value::go_type::*;
pub use value::map::{ENTRY_BYTES, Map};
pub use value::methods::{FoundMethod, find_method, find_print_method};
pub use value::model::Nested;
pub use value::model::Slot;
pub use value::model::{Args, Body, Function};
pub use value::model::{Array, LIST_BYTES, Pointer, Slice, Struct, Value};
pub use value::model::{ComplexKind, Field, FloatKind, IntKind, Method, NamedType, StructType, Type, UintKind};
pub use value::text::Text;
pub use value::truth::truth;
pub use value::values::STRING_BYTES;
