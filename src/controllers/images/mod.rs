//! Images: repositories are scanned, policies choose, automations write what they chose into Git.

pub(crate) mod automation;
pub(crate) mod policy;
pub(crate) mod repository;
pub(crate) mod triggers;
