//! The annotations of a policy that are judged in each run: when it may be written, and by automations
//! of which other namespaces.

use std::collections::BTreeMap;
use std::fmt;

use bumpwright_api::{Consent, ImagePolicy, LabelSelector};
use bumpwright_gostd::Time;
use bumpwright_policy::{Closed, Windows};

/// The terms of a policy.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    windows: Option<Windows>,
    consent: Consent,
}

/// Judges the labels of namespaces, for policies that allow automations by them.
pub trait NamespaceLabels: fmt::Debug + Send + Sync {
    /// Whether a selector selects a namespace; false when its labels are not known.
    fn selected(&self, namespace: &str, selector: &LabelSelector) -> bool;
}

impl NamespaceLabels for BTreeMap<String, BTreeMap<String, String>> {
    fn selected(&self, namespace: &str, selector: &LabelSelector) -> bool {
        let labels = self.get(namespace);
        labels.is_some_and(|labels| selector.matches(labels).unwrap_or(false))
    }
}

impl Terms {
    /// Those of a policy that has some. One with an invalid annotation has none: it is closed, and for nobody else.
    pub(crate) fn of(policy: &ImagePolicy) -> Option<Self> {
        let windows = policy.guards().ok()?.windows;
        let consent = policy.consent().ok()?;
        let is_needed = windows.is_some() || consent != Consent::Nobody;
        is_needed.then_some(Self { windows, consent })
    }

    /// Checks that the policy may be written.
    pub(crate) fn check_window(&self, now: &Time) -> Result<(), Closed> {
        self.windows.as_ref().map_or(Ok(()), |windows| windows.check(now))
    }

    /// Whether automations of another namespace may use the policy.
    pub(crate) fn allows(&self, namespace: &str, labels: Option<&dyn NamespaceLabels>) -> bool {
        let selected = |selector: &LabelSelector| labels.is_some_and(|labels| labels.selected(namespace, selector));
        self.consent.allows(namespace, selected)
    }
}
