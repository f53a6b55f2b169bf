//! The key services of SOPS: AWS KMS, Google Cloud KMS, Azure Key Vault, and the transit engine of Vault and OpenBao.
//!
//! ```text
//! Secret's entries ─▶ StaticCredentials ─┐
//! ServiceAccount ────────────────────────┼─▶ Services ─▶ one request to the service of the master key ─▶ data key
//! environment, metadata (cloud) ─────────┘
//! ```
//!
//! Requests, credentials and their order are those of Flux (kustomize-controller v1.9.5, `internal/decryptor`,
//! `internal/sops`) with SOPS' master keys (`getsops/sops` v3.13.2); `fixtures/keys` has their recorded requests and
//! errors. Addresses of services come from tenants' files: a token is only sent where the cloud itself is, and for
//! Vault where `SOPS_HC_VAULT_ALLOWLIST` allows it.
//!
//! Huawei Cloud KMS is not supported.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod aws_kms;
mod aws_refusal;
mod azure_challenge;
mod azure_credentials;
mod azure_key_vault;
mod azure_refusal;
mod encoded;
mod entry;
mod gcp_kms;
mod services;
mod static_credentials;
mod transit_login;
mod vault;
mod vault_answer;
mod vault_login;
mod vault_path;
mod vault_settings;

pub use services::{Services, TRANSIT_ENGINE};
pub use static_credentials::StaticCredentials;
pub use transit_login::TransitLogin;
pub use vault_login::{IssueFor, LoginPaths, ReadConfig, VaultLogins};
