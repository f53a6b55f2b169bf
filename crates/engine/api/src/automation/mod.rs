//! `ImageUpdateAutomation`.

pub(crate) mod annotations;
pub(crate) mod pull_request;
pub(crate) mod schema;
pub(crate) mod spec;
