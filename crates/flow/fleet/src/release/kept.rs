//! What the cluster keeps when the `crds/` of a chart change.

use std::collections::BTreeMap;

use super::chart_crds::{ChartCrds, CrdsPolicy};
use crate::build::view::{FleetObject, Node};

/// The most definitions that a note names.
const NAMED: usize = 4;

/// A difference of a definition in `crds/` that does not reach the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kept {
    /// The cluster keeps the old one, for this field and its policy.
    Old(&'static str, &'static str),
    /// The cluster does not get a new one, for this field and its policy.
    Missing(&'static str, &'static str),
    /// It is gone from the chart or with its release, and stays in the cluster.
    Left,
}

/// An object of a release.
pub(crate) type Owned<'f> = (&'f Node, &'f FleetObject);

impl Kept {
    /// What is kept of an object that differs; none for what Helm applies. With `is_upgrade` the release is installed.
    pub(crate) fn of<'f>(before: Option<Owned<'f>>, after: Option<Owned<'f>>, is_upgrade: bool) -> Option<Self> {
        let crds = |(node, object): Owned<'f>| node.chart_crds(object);
        let setting = |crds: &ChartCrds| {
            if is_upgrade {
                ("upgrade.crds", crds.upgrade)
            } else {
                ("install.crds", crds.install)
            }
        };
        match (before, after) {
            (Some(before), Some(after)) => {
                crds(before)?;
                let (field, policy) = setting(crds(after)?);
                (policy != CrdsPolicy::CreateReplace).then_some(Self::Old(field, policy.as_str()))
            }
            (None, Some(after)) => {
                let (field, policy) = setting(crds(after)?);
                (policy == CrdsPolicy::Skip).then_some(Self::Missing(field, policy.as_str()))
            }
            (Some(before), None) => crds(before).map(|_| Self::Left),
            (None, None) => None,
        }
    }

    /// Whether it is as expected: Helm never deletes a definition of `crds/`.
    pub(crate) const fn is_always_so(self) -> bool {
        matches!(self, Self::Left)
    }

    fn words(self, names: &str) -> String {
        match self {
            Self::Old(field, policy) => format!(
                "crds/ of the chart changed ({names}), and {field} is {policy}: the cluster keeps the old ones; set {field}: CreateReplace"
            ),
            Self::Missing(field, policy) => format!(
                "crds/ of the chart has new definitions ({names}), and {field} is {policy}: the cluster does not get them; set {field}: \
                 CreateReplace"
            ),
            Self::Left => format!("the cluster keeps {names}: Helm never deletes definitions of crds/"),
        }
    }
}

/// What is said of definitions that are kept, in one text for each reason.
pub(crate) fn notes<'f>(kept: impl IntoIterator<Item = (Kept, &'f FleetObject)>) -> Vec<(Kept, String)> {
    let mut names: BTreeMap<Kept, Vec<String>> = BTreeMap::new();
    for (kept, object) in kept {
        names.entry(kept).or_default().push(object.id().name.name);
    }
    let notes = names.into_iter().map(|(kept, mut names)| {
        let more = names.len().saturating_sub(NAMED);
        names.truncate(NAMED);
        let names = match more {
            0 => names.join(", "),
            more => format!("{} and {more} more", names.join(", ")),
        };
        (kept, kept.words(&names))
    });
    notes.collect()
}
