//! Checks of policies, automations and their markers.

pub(crate) mod annotations;
pub(crate) mod automations;
mod beside;
pub(crate) mod git_settings;
pub(crate) mod markers;
pub(crate) mod policies;
