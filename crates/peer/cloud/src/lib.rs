//! Logins at AWS, Azure and Google, with the identity of this process or a ServiceAccount; and those of GitHub Apps.
//!
//! Identity and use are separate. An identity is AWS credentials, an Entra token or a Google access token, and is
//! resolved as in the vendors' libraries; a use is a login at a registry, a Git server or a cluster. No SDK is used:
//! each step is one request.
//!
//! ```text
//! environment, files, metadata ─▶ *_identity, aws_credentials ─┐
//! ServiceAccount ─▶ workload_identity ─────────────────────────┴─▶ cache ─▶ *_registry, *_cluster, git_login ─┐
//! Secret ─▶ github_app ───────────────────────────────────────────────────────────────────────────────────────┤
//!                                                                                               login ◀─ cache ◀┘
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod aws;
mod azure;
mod endpoints;
mod environment;
mod error;
mod fields;
mod files;
mod form;
mod google;
mod invalid;
mod jwt;
mod login;
mod refusal;
mod services;
mod token;
pub mod xml;

pub use aws::credentials::AwsCredentials;
pub use aws::sigv4 as aws_sigv4;
pub use azure::identity::{AzureCloud, EntraClient, EntraProof};
pub use endpoints::Endpoints;
pub use environment::Environment;
pub use error::CloudError;
pub use google::kms::google_kms;
pub use invalid::{Absence, AddressError, IdentityError, Invalid, TokenRefusal};
pub use jwt::KeyError;
pub use login::cluster::{ClusterLogin, ClusterPlace, ClusterProvider, ClusterRequest, ReadKubeconfig};
pub use login::credential::{AnnotationError, CredentialSettings, InvalidAnnotation, audiences};
pub use login::expiring::RegistryLogin;
pub use login::git::{GitIdentity, GitLogin};
pub use login::github_app::{GitHubApp, GitHubAppSettings};
pub use login::logins::Cloud;
pub use login::provider::Provider;
pub use login::service_accounts::{ServiceAccounts, Use};
pub use login::token_cache::{RECONCILE, Requester, TokenCache, TokenCacheEvents, TokenCacheLimits};
pub use login::workload_identity::{IssueToken, TokenRequest, WorkloadIdentity};
pub use token::AccessToken;
