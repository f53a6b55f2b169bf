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

mod builtins;
mod call;
mod compare;
mod convert;
mod display;
mod error;
mod escape;
mod exec;
mod exec_error;
mod exec_eval;
mod exec_print;
mod exec_range;
mod fields;
mod function;
mod functions;
mod go_type;
mod host;
mod index;
mod items;
mod key;
mod lex;
mod map;
mod methods;
mod nested;
mod node;
mod number;
mod parse;
mod parse_control;
mod parse_pipeline;
mod print;
mod print_format;
mod print_method;
mod print_value;
mod scope;
mod set;
mod slot;
mod stack;
mod text;
mod token;
mod truth;
mod value;
mod verb_flags;
mod verb_float;
mod verb_integer;
mod verb_text;

pub use error::{Cause, Error, Missing, MissingKind, Place, Stage};
pub use exec::Template;
pub use function::{Args, Body, Failure, Function};
pub use functions::Functions;
pub use go_type::*;
pub use host::{Host, Limits, World};
pub use map::{ENTRY_BYTES, Map};
pub use methods::{FoundMethod, find_method, find_print_method};
pub use nested::{Nested, NestedError};
pub use print::{print, sprint};
pub use set::{ParsedText, Templates};
pub use slot::Slot;
pub use text::Text;
pub use truth::truth;
pub use value::{Array, LIST_BYTES, Pointer, STRING_BYTES, Slice, Struct, Value};
