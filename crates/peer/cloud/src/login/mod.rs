//! Logins at registries, Git servers and clusters, and whose identity they use.

pub(crate) mod cluster;
pub(crate) mod credential;
pub(crate) mod expiring;
pub(crate) mod git;
pub(crate) mod github_app;
pub(crate) mod logins;
pub(crate) mod provider;
pub(crate) mod service_account_token;
pub(crate) mod service_accounts;
pub(crate) mod token_cache;
pub(crate) mod workload_identity;
