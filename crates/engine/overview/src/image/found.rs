//! What objects in the cluster have of the images of policies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bumpwright_api::ObjectName;

use super::version::Version;
use crate::facts::Entry;

/// An object in the cluster, and the version of an image that it has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    pub object: Entry,
    pub image: Version,
}

/// As in `Deployment shop/web has 1.5.0`.
impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Entry {
            kind, namespace, name, ..
        } = &self.object;
        write!(f, "{kind} {namespace}/{name} has {}", self.image.spelled())
    }
}

/// The policies whose images objects have, each with the versions; none where an object names the image alone.
pub type Found = BTreeMap<ObjectName, BTreeSet<Run>>;

/// What the objects of a Kustomization have of the images of policies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Whether all objects that can name an image were asked for, not the workloads alone.
    pub is_of_all: bool,
    /// Number of objects that could not be read.
    pub unread: usize,
    pub images: Found,
}

impl Uses {
    /// Adds what one more object has.
    pub fn add(&mut self, found: Found) {
        self.unread = self.unread.saturating_sub(1);
        for (policy, runs) in found {
            self.images.entry(policy).or_default().extend(runs);
        }
    }

    /// Whether it is known that no object of the Kustomization has the image of a policy.
    pub(crate) fn are_without(&self, policy: &ObjectName) -> bool {
        self.is_of_all && self.unread == 0 && !self.images.contains_key(policy)
    }
}
