//! Images: repositories are scanned, policies choose, automations write what they chose into Git.

pub(crate) mod automation;
mod context;
pub(crate) mod policy;
pub(crate) mod repository;
pub(crate) mod triggers;
