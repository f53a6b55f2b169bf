//! Annotations of the image kinds that several of their rooms read.

/// A policy with this annotation may be used by automations of other namespaces.
pub(super) const ALLOWS: &str = "bumpwright.dev/allow-automations-from";

/// The annotation of an automation with the record of its rollout, which triggers no reconciliation.
pub(super) const RECORD: &str = "state.bumpwright.dev/rollout";
