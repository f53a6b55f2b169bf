//! Vault and OpenBao: logins, and the transit engine.

pub(crate) mod answer;
pub(crate) mod error;
pub(crate) mod logged_in;
pub(crate) mod login;
pub(crate) mod path;
pub(crate) mod settings;
pub(crate) mod terms;
pub(crate) mod transit;
