//! Images: repositories are scanned, policies choose tags, automations write the choices to Git.

mod annotations;
pub(crate) mod automation;
mod context;
pub(crate) mod differences;
pub(crate) mod fields;
pub(crate) mod known_origins;
pub(crate) mod origins;
pub(crate) mod policy;
pub(crate) mod readers;
pub(crate) mod repository;
pub(crate) mod triggers;
