//! Variable substitution in objects after a build: `spec.postBuild` of Flux' Kustomization.
//!
//! ```text
//! ConfigMaps, Secrets, inline ─▶ Variables ┐
//! object ─▶ YAML as kustomize prints it ─▶ eval ─▶ YAML read again ─▶ object
//! ```
//!
//! | to do | call |
//! |---|---|
//! | `${name}` and its operators in a text | [`eval`] |
//! | the variables of a Kustomization, in order of precedence | [`Variables`] |
//! | one object of a build | [`substitute`] |
//!
//! Rules and texts are those of fluxcd/pkg/envsubst v1.7 and of `SubstituteVariables` in fluxcd/pkg/kustomize;
//! document: *Post build variable substitution* (K-082 to K-098). The object is printed and parsed again as there, so
//! an unquoted value may turn a text into a number, and numbers are then floating point. Three things differ on
//! purpose: the size of a text and the cost of its evaluation are limited ([`EvalError::TooLarge`],
//! [`EvalError::TooSlow`]); a length that is too large for its addition takes the rest of the value where Go panics;
//! and errors of YAML do not quote what may come from a Secret.
//!
//! ```
//! use bumpwright_substitute::eval;
//!
//! let region = |name: &str| (name == "region").then_some(&b"eu-central-1"[..]);
//! let text = eval(b"${region^^} ${region:0:2} ${zone:=a} $region $${region}", region, true)?;
//! assert_eq!(text, b"EU-CENTRAL-1 eu a $region ${region}");
//! # Ok::<(), bumpwright_substitute::EvalError>(())
//! ```

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod budget;
mod eval;
mod glob;
mod object;
mod operator;
mod parse;
mod program;
mod reread;
mod scan;
mod trim;
mod variables;

pub use budget::EvalError;
pub use budget::MAX_BYTES;
pub use eval::{Undefined, eval};
pub use object::{DISABLED, Options, SubstituteError, Substituted, substitute, substitute_within};
pub use variables::{SourceError, SourceKind, Variables};
