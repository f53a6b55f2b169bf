//! What a run reports.

pub(crate) mod edited;
pub(crate) mod edited_change;
pub(crate) mod impact_section;
pub(crate) mod pull_request;
pub(crate) mod releases;
pub(crate) mod run;
