//! The definitions that a release has from the `crds/` of its chart: Helm creates what is missing when it installs, and
//! an upgrade leaves them as they are, unless `spec.upgrade.crds` says otherwise. It deletes none of them.

use std::collections::BTreeSet;

use bumpwright_api::ObjectId;

/// `spec.install.crds` or `spec.upgrade.crds`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrdsPolicy {
    Skip,
    /// Those that are missing.
    Create,
    CreateReplace,
}

impl CrdsPolicy {
    /// The policy of a field. An unknown text, which the API server refuses, is the default.
    pub(crate) fn of(text: &str, default: Self) -> Self {
        match text {
            "Skip" => Self::Skip,
            "Create" => Self::Create,
            "CreateReplace" => Self::CreateReplace,
            _ => default,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "Skip",
            Self::Create => "Create",
            Self::CreateReplace => "CreateReplace",
        }
    }
}

/// The definitions of a release, with what its specification says about them.
#[derive(Clone, Debug)]
pub(crate) struct ChartCrds {
    pub(crate) ids: BTreeSet<ObjectId>,
    pub(crate) install: CrdsPolicy,
    pub(crate) upgrade: CrdsPolicy,
}

impl ChartCrds {
    /// Whether it replaces a definition that exists.
    pub(crate) fn replaces(&self) -> bool {
        [self.install, self.upgrade].contains(&CrdsPolicy::CreateReplace)
    }
}
