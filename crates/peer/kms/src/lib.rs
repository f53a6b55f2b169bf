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
mod azure_error;
mod azure_key_vault;
mod azure_refusal;
mod challenges;
mod encoded;
mod entry;
mod gcp_kms;
mod request;
mod services;
mod static_credentials;
mod vault;

pub use services::{Services, TRANSIT_ENGINE};
pub use static_credentials::StaticCredentials;
pub use vault::error::ForeignError;
pub use vault::logged_in::ReadConfig;
pub use vault::logged_in::VaultLogins;
pub use vault::logged_in::{IssueFor, LoginPaths};
pub use vault::terms::{TransitLogin, TransitLoginError};
