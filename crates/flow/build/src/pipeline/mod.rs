//! From a tree of files to the objects of a Kustomization, the same for the controller and for `build -k`.
//!
//! ```text
//! spec ─▶ overlay ─▶ build (decrypt ─▶ kustomize ─▶ decrypt ─▶ substitute) ─▶ objects
//! ```

mod decryption;
mod spec;
mod variables;

pub use decryption::{Decryption, Redaction};
pub use spec::overlay;
pub use variables::{FindError, Referred, ReferredError, SubstituteFromError, Substitution, add_referred};
