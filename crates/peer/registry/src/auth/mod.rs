//! Logins at registries: where they are from, and how they are proven.

pub(crate) mod challenge;
pub(crate) mod config_fault;
pub(crate) mod credential_helper;
pub(crate) mod docker_config;
pub(crate) mod field;
pub(crate) mod json;
pub(crate) mod keychain;
pub(crate) mod login;
pub(crate) mod login_error;
pub(crate) mod pull_secret;
pub(crate) mod realm;
pub(crate) mod token;
pub(crate) mod token_answer;
pub(crate) mod url_pattern;
pub(crate) mod user_keychain;
