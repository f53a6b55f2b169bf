//! Checks for credentials that anybody can read.

pub(crate) mod clear_text;
pub(crate) mod credential_keys;
pub(crate) mod credential_shapes;
pub(crate) mod credentials;
pub(crate) mod generated_secrets;
