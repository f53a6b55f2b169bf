//! SOPS files decrypted as SOPS and Flux's kustomize-controller do, without touching the world.

#![warn(clippy::disallowed_methods, clippy::disallowed_types)]

mod service;

pub use service::{KeyError, KeyService, MasterKey};
