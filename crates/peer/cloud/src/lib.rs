//! Logins at AWS, Azure and Google, with the identity of this process or a ServiceAccount; and those of GitHub Apps.
//!
//! Identity and use are separate. An identity is AWS credentials, an Entra token or a Google access token, and is
//! resolved as in the vendors' libraries; a use is a login at a registry, a Git server or a cluster. There are no SDKs:
//! each step is one request.
//!
//! ```text
//! environment, files, metadata ─▶ *_identity, aws_credentials ─┐
//! ServiceAccount ─▶ workload_identity ─────────────────────────┴─▶ cache ─▶ *_registry, *_cluster, git_login ─▶ cache ─▶ login
//! Secret ─▶ github_app ─────────────────────────────────────────────────────────────────▶ cache ─▶ login
//! ```

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod aws_call;
mod aws_cluster;
mod aws_codecommit;
mod aws_container;
mod aws_credentials;
mod aws_ec2;
mod aws_endpoint;
mod aws_process;
mod aws_profile;
mod aws_registry;
pub mod aws_sigv4;
mod aws_sts;
mod azure_cluster;
mod azure_identity;
mod azure_managed_identity;
mod azure_registry;
mod cluster_login;
mod credential;
mod endpoints;
mod environment;
mod error;
mod fields;
mod files;
mod form;
mod git_login;
mod github_app;
mod google_cluster;
mod google_federation;
mod google_identity;
mod google_kms;
mod google_metadata;
mod google_registry;
mod jwt;
mod logins;
mod provider;
mod refusal;
mod service_accounts;
mod services;
mod token;
mod token_cache;
mod workload_identity;
pub mod xml;

pub use aws_credentials::AwsCredentials;
pub use azure_identity::{AzureCloud, EntraClient, EntraProof};
pub use cluster_login::{ClusterLogin, ClusterPlace, ClusterProvider, ClusterRequest, ReadKubeconfig};
pub use credential::{CredentialSettings, audiences};
pub use endpoints::Endpoints;
pub use environment::Environment;
pub use error::CloudError;
pub use git_login::{GitIdentity, GitLogin};
pub use github_app::{GitHubApp, GitHubAppSettings};
pub use google_kms::google_kms;
pub use logins::{Cloud, RegistryLogin};
pub use provider::Provider;
pub use service_accounts::{ServiceAccounts, Use};
pub use token::AccessToken;
pub use token_cache::{RECONCILE, Requester, TOKEN_MAX_DURATION, TokenCache, TokenCacheEvents, TokenCacheLimits};
pub use workload_identity::{IssueToken, TokenRequest, WorkloadIdentity};
