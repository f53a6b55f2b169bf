//! Go's `text/template` and `fmt`, over values that know their Go types.
//!
//! ```text
//! text ─▶ lex ─▶ parse ─▶ node ─▶ exec(value, function) ─▶ print ─▶ bytes
//! ```
//!
//! [`Template::parse`] and [`Template::execute`] are Go's, as of Go 1.26, down to the texts of the errors: whoever has
//! a template for Flux finds here what it does there. What Go leaves to chance (pointers, clocks) or to the machine's
//! patience (endless loops) is in [`Host`].

mod builtins;
mod display;
mod error;
mod function;
mod functions;
mod go_type;
mod host;
mod key;
mod lex;
mod node;
mod number;
mod parse;
mod parse_control;
mod parse_pipeline;
mod print;
mod scope;
mod unquote;
mod value;

pub use error::{Error, Missing, MissingKind, Place, Stage};
pub use function::{Args, Body, Failure, Function};
pub use functions::Functions;
pub use go_type::*;
pub use host::{Host, Limits, World};
pub use print::{print, sprint, sprintf, sprintln};
pub use value::{Array, Map, Pointer, Slice, Slot, Struct, Text, Value};
