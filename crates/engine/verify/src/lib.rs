//! Verification of signatures of Git commits and tags (OpenPGP, SSH) and of OCI artifacts (cosign with public
//! keys, and keyless; Notation).
//!
//! Functions of bytes and keys, with the messages of Flux's source-controller v1.9.3. The time of verification is an
//! argument, in seconds since 1970-01-01 UTC. Keys are public, but no error quotes an entry of a Secret, which may hold
//! a private key by mistake.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod armour;
mod brainpool512;
pub mod cosign;
mod digest;
mod dsa;
mod ecdsa;
mod fingerprint;
mod git;
pub mod notation;
mod numbers;
pub mod object;
pub mod openpgp;
mod rsa;
pub mod sigstore;
pub mod ssh;
mod x509;

pub use armour::SignatureKind;
pub use fingerprint::{git_fingerprint, image_fingerprint};
pub use git::{
    CheckedOut, GitKeys, GitMode, GitVerifyError, ObjectError, ObjectKind, ReferencingTag, UnsignedKind, verify_object,
    verify_source,
};
pub use x509::ChainError;
