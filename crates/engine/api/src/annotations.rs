//! The `bumpwright.dev/…` annotations of each kind (docs/cli.md, *Annotations*). An unknown key is misspelt or belongs to another kind: its
//! author relies on something that would not happen, so the object is not acted upon.

use std::collections::BTreeMap;

use bumpwright_nearest::nearest;
use bumpwright_policy::InvalidAnnotation;

pub use bumpwright_policy::ANNOTATION_PREFIX;

/// Kinds and the keys of their annotations, without the prefix.
const KEYS: [(&str, &[&str]); 3] = [
    ("ImagePolicy", &["allow-downgrade", "hold", "hold-until", "minimum-age"]),
    (
        "ImageUpdateAutomation",
        &[
            "dry-run",
            "pull-request",
            "pull-request-api",
            "pull-request-base",
            "pull-request-secret",
            "settle",
            "settle-at-most",
        ],
    ),
    ("Kustomization", &["approve-prune", "max-prune", "reconcile"]),
];

/// The value of one of our annotations, by its key without the prefix.
pub(super) fn ours<'a>(annotations: &'a BTreeMap<String, String>, key: &str) -> Option<&'a String> {
    annotations.get(&format!("{ANNOTATION_PREFIX}{key}"))
}

/// Checks that a kind has all of our annotations that an object carries.
///
/// # Errors
/// [`InvalidAnnotation::Key`] for the first unknown key, in the order of the keys.
pub fn check_annotation_keys(kind: &str, annotations: &BTreeMap<String, String>) -> Result<(), InvalidAnnotation> {
    let mut ours = annotations.keys().filter_map(|key| key.strip_prefix(ANNOTATION_PREFIX));
    ours.try_for_each(|key| {
        check_annotation_key(kind, key).map_err(|hint| InvalidAnnotation::Key {
            key: key.to_owned(),
            hint,
        })
    })
}

/// Checks that a kind has an annotation with this key (without the prefix); the error is a hint at what was meant.
pub(super) fn check_annotation_key(kind: &str, key: &str) -> Result<(), String> {
    let known = KEYS
        .iter()
        .find(|(of, _)| *of == kind)
        .map_or(&[][..], |(_, keys)| keys);
    if known.contains(&key) {
        return Ok(());
    }
    let whose = KEYS.iter().find(|(_, keys)| keys.contains(&key));
    Err(match (nearest(key, known.iter().copied()), whose) {
        (_, Some((other, _))) => format!("it is for objects of kind {other}"),
        (Some(near), None) => format!("did you mean {ANNOTATION_PREFIX}{near}?"),
        (None, None) if known.is_empty() => format!("objects of kind {kind} have none of {ANNOTATION_PREFIX}"),
        (None, None) => format!("there are {}", known.join(", ")),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_told_with_what_was_meant() {
        let said = |kind: &str, key: &str| {
            let annotations = BTreeMap::from([
                ("other.dev/hold".to_owned(), String::new()),
                (format!("{ANNOTATION_PREFIX}{key}"), String::new()),
            ]);
            check_annotation_keys(kind, &annotations).map_err(|error| error.to_string())
        };
        for (kind, keys) in KEYS {
            for key in keys {
                assert_eq!(said(kind, key), Ok(()));
            }
        }
        for (kind, key, hint) in [
            ("ImagePolicy", "minimumAge", "did you mean bumpwright.dev/minimum-age?"),
            ("ImagePolicy", "Hold", "did you mean bumpwright.dev/hold?"),
            (
                "ImagePolicy",
                "settle",
                "it is for objects of kind ImageUpdateAutomation",
            ),
            (
                "Kustomization",
                "quick",
                "there are approve-prune, max-prune, reconcile",
            ),
            (
                "GitRepository",
                "quick",
                "objects of kind GitRepository have none of bumpwright.dev/",
            ),
            ("GitRepository", "hold", "it is for objects of kind ImagePolicy"),
        ] {
            let expected = format!("annotation bumpwright.dev/{key} is unknown: {hint}");
            assert_eq!(said(kind, key), Err(expected));
        }
    }
}
