//! SOPS files decrypted as SOPS 3.13 and Flux's kustomize-controller v1.10 do it, without files, network or clock.
//!
//! ```text
//! Secret ─▶ LocalKeys ─────────┐
//! key services of clouds ──────┴▶ KeyService
//!                                     │ data key
//! bytes ─▶ tree + metadata ─▶ values decrypted, MAC compared ─▶ bytes in a format
//! ```
//!
//! | to do | call |
//! |---|---|
//! | the keys in the Secret of `.spec.decryption.secretRef` | [`read_secret`] |
//! | the keys of `--sops-age-secret` | [`read_age_secret`] |
//! | a file that a generator or a patch reads, before a build | [`decrypt_file`] |
//! | an object of a build | [`decrypt_object`] |
//! | whether an object must not be applied as it is | [`is_encrypted_secret`], [`is_encrypted_object`] |
//! | the ciphertext that an object still has | [`ciphertext`] |
//! | any file in any format | [`decrypt`] |
//! | keys that a service holds | implement [`KeyService`] |
//! | the structure of a file without its values | [`Masks`] instead of keys: values become [`MASK`] |
//!
//! | group | purpose |
//! |---|---|
//! | `file`, `store/format` | from bytes to bytes |
//! | `tree`, `decrypt`, `cipher`, `rules` | the values, which of them are encrypted, and the digest over them |
//! | `metadata`, `fields`, `store/flatten` | the part of a file that SOPS added |
//! | `key/data_key`, `key/shamir`, `report`, `key/service` | the data key, from master keys in groups |
//! | `age/`, `key/pgp`, `key/local` | keys that decrypt here |
//! | `store/`, `wiped` | the formats |
//! | `key/secret`, `object`, `leftover`, `sources` | the inputs of a Kustomization's decryption |
//!
//! Plain text and keys are wiped from memory where this crate holds them, including the tree that YAML is printed from;
//! JSON objects that it returns are not. Types that hold either cannot be printed, and errors contain neither, even
//! where the words of SOPS would.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod age;
mod cipher;
mod decrypt;
mod fields;
mod file;
mod key;
mod leftover;
mod metadata;
mod object;
mod report;
mod rules;
mod sources;
mod store;
mod tree;
mod wiped;

pub use age::{Identities, IdentityError, SshKeyError};
pub use cipher::MASK;
pub use file::{DecryptError, Integrity, decrypt};
pub use key::local::{ImportError, KeyServices, LocalKeys};
pub use key::pgp::{PgpImportError, PgpKeys};
pub use key::secret::{SecretError, read_age_secret, read_secret};
pub use key::service::{KeyError, KeyService, Masks, MasterKey};
pub use leftover::{Ciphertext, ciphertext};
pub use object::{ObjectError, decrypt_object, is_encrypted_object, is_encrypted_secret};
pub use sources::{MAX_FILE_SIZE, SourceError, decrypt_file};
pub use store::format::Format;
