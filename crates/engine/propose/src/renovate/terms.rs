//! Renovate's settings for one use.

use bumpwright_adopt::Rule;
use std::collections::BTreeMap;

use crate::error::NoPolicy;
use crate::pattern::Choice;

/// What a policy has to keep to.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Terms {
    /// `allowedVersions`, as a range.
    pub(super) range: Option<String>,
    /// `minimumReleaseAge`, in hours.
    pub(super) age: Option<u64>,
    /// Whether digests are pinned.
    pub(super) pins: bool,
    /// Whether updates of the minor version are off.
    pub(super) is_patch_only: bool,
}

impl Terms {
    /// Whether digests are written, where the tag itself says nothing.
    pub(crate) fn pins(&self) -> bool {
        self.pins
    }

    /// The annotations of the policy.
    pub(crate) fn annotations(&self) -> BTreeMap<String, String> {
        let age = self.age.map(|hours| {
            let key = format!("{}minimum-age", bumpwright_policy::ANNOTATION_PREFIX);
            (key, format!("{hours}h"))
        });
        age.into_iter().collect()
    }

    /// Why the policy of a tag is what it is.
    pub(crate) fn why(&self, tag: &str) -> String {
        match (&self.range, self.is_patch_only) {
            (Some(range), _) => format!("{tag} is in use, and Renovate's allowedVersions are {range}"),
            (None, true) => format!("{tag} is in use, and Renovate proposes no other minor versions"),
            (None, false) => {
                format!("{tag} is in use; other major versions, which Renovate proposes apart, are not taken")
            }
        }
    }

    /// The rule of a policy for a tag.
    ///
    /// # Errors
    /// It has no versions to bound.
    pub(crate) fn bound(&self, choice: &mut Choice, tag: &str) -> Result<(), NoPolicy> {
        let Some(range) = self.range.clone().or_else(|| self.is_patch_only.then(|| patches(tag))?) else {
            return Ok(());
        };
        match &mut choice.rule {
            Rule::Semver(own) => {
                *own = range;
                Ok(())
            }
            _ => Err(NoPolicy::Unbound {
                tag: tag.to_owned(),
                range,
            }),
        }
    }
}

/// The range of a tag's patches.
fn patches(tag: &str) -> Option<String> {
    let digits = tag.trim_start_matches('v');
    let mut parts = digits.split(['.', '-']);
    let (major, minor) = (parts.next()?.parse::<u64>().ok()?, parts.next()?.parse::<u64>().ok()?);
    Some(format!("~{major}.{minor}"))
}
