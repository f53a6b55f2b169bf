//! SOPS files decrypted as SOPS and Flux's kustomize-controller do, without touching the world.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod age;
mod base64_go;
mod cipher;
mod data_key;
mod decrypt;
mod dotenv_store;
mod fields;
mod file;
mod flatten;
mod format;
mod ini_read;
mod ini_write;
mod json_read;
mod json_write;
mod local;
mod metadata;
mod object;
mod pgp;
mod plain_text;
mod report;
mod rules;
mod secret;
mod service;
mod shamir;
mod sources;
mod tree;
mod yaml_store;

pub use age::{Identities, IdentityError, SshKeyError};
pub use file::{DecryptError, Integrity, decrypt};
pub use format::Format;
pub use local::{ImportError, LocalKeys};
pub use object::{ObjectError, decrypt_object, is_encrypted_secret};
pub use pgp::{PgpImportError, PgpKeys};
pub use secret::{EntryKind, SecretError, SecretKeys, ServiceCredentials, read_age_secret, read_secret};
pub use service::{KeyError, KeyService, MasterKey};
pub use sources::{Item, MAX_FILE_SIZE, SourceError, SourceTree, decrypt_file, decrypt_sources};
