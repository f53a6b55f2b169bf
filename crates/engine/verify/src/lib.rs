//! Signatures verified: of Git commits and tags (OpenPGP, SSH) and of OCI artifacts (cosign with public keys).
//!
//! Bytes and keys go in, a verdict comes out in the words of Flux's source-controller v1.9.3. There is no clock here: when
//! it is verified is an argument, in seconds since 1970-01-01 UTC. Keys are public ones, and no error holds what an entry
//! of a Secret says: someone may have put a private key there.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod armour;
mod brainpool512;
pub mod cosign;
mod digest;
mod dsa;
mod ecdsa;
mod git;
mod numbers;
pub mod object;
pub mod openpgp;
mod rsa;
pub mod ssh;

pub use armour::SignatureKind;
pub use git::{
    CheckedOut, GitKeys, GitMode, GitVerifyError, ObjectError, ObjectKind, ReferencingTag, verify_object, verify_source,
};
