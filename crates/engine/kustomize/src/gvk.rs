//! Group, version and kind: the type of a Kubernetes object, and selection by type.
//!
//! Which kinds are cluster-scoped is a matter of the schema.

use bumpwright_yaml::Node;
use compact_str::{CompactString, format_compact};
use std::cmp::Ordering;
use std::fmt;

/// The type of an object. As a selector, an empty part matches any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Gvk {
    /// The group; empty for the core group.
    pub group: CompactString,
    pub version: CompactString,
    pub kind: CompactString,
}

/// Kinds that come first in the legacy order, as kustomize's `resid` has them.
const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];

/// Kinds that come last in the legacy order.
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

impl Gvk {
    /// The type with these parts.
    pub fn new(
        group: impl Into<CompactString>,
        version: impl Into<CompactString>,
        kind: impl Into<CompactString>,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }
    }

    /// A kind of any group and version.
    pub fn of_kind(kind: impl Into<CompactString>) -> Self {
        Self::new("", "", kind)
    }

    /// The type of `apiVersion` and `kind`: the group is what stands before the first slash, if there is one.
    #[must_use]
    pub(crate) fn from_api_version(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self::new(group, version, kind)
    }

    /// The type of an object; missing parts are empty.
    #[must_use]
    pub fn of(object: &Node) -> Self {
        let text = |key| object.text_at(&[key]);
        Self::from_api_version(text("apiVersion"), text("kind"))
    }

    /// `group/version`, or the version alone for the core group.
    #[must_use]
    pub fn api_version(&self) -> CompactString {
        if self.group.is_empty() {
            return self.version.clone();
        }
        format_compact!("{}/{}", self.group, self.version)
    }

    /// Whether all parts are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.group.is_empty() && self.version.is_empty() && self.kind.is_empty()
    }

    /// Whether `selector` matches this type: each part that it gives must be equal.
    #[must_use]
    pub fn is_selected(&self, selector: &Self) -> bool {
        let same = |wanted: &CompactString, ours: &CompactString| wanted.is_empty() || wanted == ours;
        same(&selector.group, &self.group) && same(&selector.version, &self.version) && same(&selector.kind, &self.kind)
    }

    /// The position of the kind in the legacy order: negative for those that come first, positive for those that come
    /// last.
    #[must_use]
    pub(crate) fn kind_rank(&self) -> i8 {
        let rank = |kinds: &[&str]| {
            let at = kinds.iter().position(|kind| self.kind == *kind)?;
            i8::try_from(at).ok()
        };
        let first = rank(&FIRST).map(|at| at.saturating_sub_unsigned(22));
        first.or_else(|| rank(&LAST).map(|at| at + 1)).unwrap_or(0)
    }

    /// The legacy order: by rank of the kind, then by group, version and kind as text.
    #[must_use]
    pub fn legacy_cmp(&self, other: &Self) -> Ordering {
        let text = |gvk: &Self| {
            let or = |part: &CompactString, none: &'static str| match part.as_str() {
                "" => CompactString::const_new(none),
                _ => part.clone(),
            };
            format_compact!(
                "{}_{}_{}",
                or(&gvk.group, "~G"),
                or(&gvk.version, "~V"),
                or(&gvk.kind, "~K")
            )
        };
        let ranks = self.kind_rank().cmp(&other.kind_rank());
        ranks.then_with(|| text(self).cmp(&text(other)))
    }
}

/// `Kind.version.group`, as kustomize's messages show it: `Deployment.v1.apps`, `Pod.v1.[noGrp]`.
impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |part: &'_ str, none: &'static str| {
            if part.is_empty() {
                none.into()
            } else {
                CompactString::new(part)
            }
        };
        write!(
            f,
            "{}.{}.{}",
            or(&self.kind, "[noKind]"),
            or(&self.version, "[noVer]"),
            or(&self.group, "[noGrp]")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_what_stands_before_the_first_slash() {
        let gvk = Gvk::from_api_version("apps/v1/x", "Deployment");
        assert_eq!(gvk, Gvk::new("apps", "v1/x", "Deployment"));
        assert_eq!(gvk.api_version(), "apps/v1/x");
        assert_eq!(Gvk::from_api_version("v1", "Pod"), Gvk::new("", "v1", "Pod"));
        assert_eq!(Gvk::from_api_version("v1", "Pod").to_string(), "Pod.v1.[noGrp]");
    }

    #[test]
    fn an_empty_part_of_a_selector_picks_any() {
        let gvk = Gvk::new("apps", "v1", "Deployment");
        assert!(gvk.is_selected(&Gvk::default()));
        assert!(gvk.is_selected(&Gvk::of_kind("Deployment")));
        assert!(!gvk.is_selected(&Gvk::new("extensions", "", "Deployment")));
        assert!(!Gvk::of_kind("Deployment").is_selected(&gvk));
    }

    #[test]
    fn the_legacy_order_puts_namespaces_first_and_webhooks_last() {
        let mut gvks = [
            Gvk::new("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
            Gvk::new("x.io", "v1", "Thing"),
            Gvk::new("", "v1", "Pod"),
            Gvk::new("", "v1", "Service"),
            Gvk::new("", "v1", "Namespace"),
        ];
        gvks.sort_by(Gvk::legacy_cmp);
        let kinds: Vec<_> = gvks.iter().map(|gvk| gvk.kind.as_str()).collect();
        let wanted = ["Namespace", "Service", "Thing", "Pod", "ValidatingWebhookConfiguration"];
        assert_eq!(kinds, wanted, "the core group sorts as ~G");
    }
}
