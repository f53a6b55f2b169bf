//! Images: repositories are scanned, policies choose, automations write what they chose into Git.

pub(crate) mod access_from;
pub(crate) mod automation;
pub(crate) mod automation_job;
pub(crate) mod policy;
pub(crate) mod policy_book;
pub(crate) mod preview;
pub(crate) mod repository;
pub(crate) mod skips;
pub(crate) mod triggers;
