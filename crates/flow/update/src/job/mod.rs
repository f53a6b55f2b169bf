//! What a run is given: settings, destinations, and the traits of those who are asked or told.

pub(crate) mod announce;
pub(crate) mod destination;
pub(crate) mod edits;
pub(crate) mod hooks;
pub(crate) mod pull_request;
pub(crate) mod push;
pub(crate) mod remote_job;
pub mod settings;
pub(crate) mod verify;
