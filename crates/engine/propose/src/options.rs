//! What is proposed for, and how.

use super::renovate::Renovate;
use bumpwright_policy::PolicyName;

/// Between two looks, of all objects.
pub(crate) const INTERVAL: &str = "10m";

/// What the caller decides.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The namespace of the objects.
    pub namespace: String,
    /// The Secret with the login for the registries.
    pub secret: Option<String>,
    /// The GitRepository of the automation; an empty namespace is that of the objects.
    pub source: Option<PolicyName>,
    /// Whether something else commits, so that no automation is proposed.
    pub without_automation: bool,
    /// Name and email of the automation's commits.
    pub author: (String, String),
    /// Renovate's settings, if policies are made in its place.
    pub renovate: Option<Renovate>,
}
