//! Our annotations on Kustomizations (docs/cli.md, *Annotations*). They fail closed: a Kustomization with an invalid
//! one is not acted upon.

use std::collections::BTreeMap;
use std::fmt;

use crate::object::annotations::{check_annotation_keys, ours};
use bumpwright_policy::{ANNOTATION_PREFIX as PREFIX, InvalidAnnotation};

/// Settings from a Kustomization's annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KustomizationAnnotations {
    /// `reconcile: report`: differences are reported and nothing is changed.
    pub reports: bool,
    /// `max-prune`: how many objects one reconciliation may delete.
    max_prune: Option<MaxPrune>,
    /// `approve-prune`: the revision that is exempt from `max-prune`.
    approved: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MaxPrune {
    Objects(usize),
    /// Percentage of the objects that were applied before.
    Percent(usize),
}

/// The spelling of the annotation.
impl fmt::Display for MaxPrune {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objects(count) => write!(f, "{count}"),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl MaxPrune {
    fn read(text: &str) -> Option<Self> {
        // Digits alone: `parse` would accept a sign.
        let number = |text: &str| {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| text.parse::<usize>().ok()).flatten()
        };
        match text.strip_suffix('%') {
            Some(percent) => number(percent).filter(|percent| *percent <= 100).map(Self::Percent),
            None => number(text).map(Self::Objects),
        }
    }

    /// How many of `all` objects may be deleted.
    const fn allows(self, all: usize) -> usize {
        match self {
            Self::Objects(count) => count,
            Self::Percent(percent) => all.saturating_mul(percent) / 100,
        }
    }
}

impl KustomizationAnnotations {
    /// Reads a Kustomization's annotations; those without our prefix are ignored.
    ///
    /// # Errors
    /// [`InvalidAnnotation`] for one of ours that does not parse or is unknown.
    pub fn read(annotations: &BTreeMap<String, String>) -> Result<Self, InvalidAnnotation> {
        check_annotation_keys("Kustomization", annotations)?;
        let get = |key: &str| ours(annotations, key);
        let invalid = |key, value: &str, grammar| InvalidAnnotation::Value {
            key,
            value: value.to_owned(),
            grammar,
        };
        let reports = match get("reconcile").map(String::as_str) {
            None => false,
            Some("report") => true,
            Some(other) => return Err(invalid("reconcile", other, "\"report\"")),
        };
        let grammar = "a number of objects such as 10 or a percentage such as 20%";
        let max_prune =
            get("max-prune").map(|value| MaxPrune::read(value).ok_or_else(|| invalid("max-prune", value, grammar)));
        Ok(Self {
            reports,
            max_prune: max_prune.transpose()?,
            approved: get("approve-prune").cloned(),
        })
    }

    /// Why `stale` of the `before` objects that were applied may not be deleted for a revision; `None` when they may.
    #[must_use]
    pub fn refuses_prune(&self, stale: usize, before: usize, revision: &str) -> Option<String> {
        let limit = self.max_prune?;
        let allowed = limit.allows(before);
        if stale <= allowed || self.approved.as_deref() == Some(revision) {
            return None;
        }
        Some(format!(
            "refused to prune {stale} of {before} objects: {PREFIX}max-prune: {limit} allows {allowed}; to have them deleted, \
             annotate the Kustomization with {PREFIX}approve-prune: {revision}"
        ))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::automation::annotations::tests::of_ours;

    fn read(pairs: &[(&str, &str)]) -> Result<KustomizationAnnotations, InvalidAnnotation> {
        KustomizationAnnotations::read(&of_ours(pairs))
    }

    #[test]
    fn what_does_not_parse_is_named_with_its_grammar() {
        assert_eq!(read(&[]).unwrap(), KustomizationAnnotations::default());
        assert!(read(&[("hold", "x")]).is_err());
        assert!(read(&[("reconcile", "report")]).unwrap().reports);
        for (key, value) in [
            ("reconcile", "disabled"),
            ("reconcile", ""),
            ("reconcile", "Report"),
            ("max-prune", ""),
            ("max-prune", "%"),
            ("max-prune", "-1"),
            ("max-prune", "+1"),
            ("max-prune", "101%"),
            ("max-prune", "20 %"),
            ("max-prune", "1.5%"),
            ("max-prune", "all"),
        ] {
            let error = read(&[(key, value)]).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains("is not"), "{error}");
        }
    }

    #[test]
    fn a_prune_above_the_limit_is_refused_but_for_the_approved_revision() {
        for (limit, stale, before, refused) in [
            ("20%", 1, 5, false),
            ("20%", 2, 5, true),
            ("20%", 1, 4, true),
            ("100%", 5, 5, false),
            ("0%", 1, 1000, true),
            ("0", 1, 1000, true),
            ("3", 3, 3, false),
            ("3", 4, 1000, true),
        ] {
            let limited = read(&[("max-prune", limit)]).unwrap();
            let why = limited.refuses_prune(stale, before, "main@sha1:a");
            assert_eq!(why.is_some(), refused, "{limit} {stale}/{before}: {why:?}");
            let approved = read(&[("max-prune", limit), ("approve-prune", "main@sha1:a")]).unwrap();
            assert_eq!(approved.refuses_prune(stale, before, "main@sha1:a"), None);
            assert_eq!(approved.refuses_prune(stale, before, "main@sha1:b").is_some(), refused);
        }
        assert_eq!(KustomizationAnnotations::default().refuses_prune(9, 9, ""), None);
    }
}
