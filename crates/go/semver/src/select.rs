//! Chooses one of a repository's tags by a range (`GitRepository.spec.ref.semver`).

use super::constraint::{Constraint, ConstraintError};
use super::version::Version;

/// The tag with the highest version in the range, as Flux chooses it (fluxcd/pkg/git v0.52.0, `cloneSemVer`); `None`
/// when no tag is in the range. Tags are short names, without `refs/tags/`; those that are not versions are skipped.
///
/// Of tags with equal versions, such as `v1.0.0` and `1.0.0+b2`, Flux takes the one whose commit is the latest, and at
/// equal times an arbitrary one. Without the commits, this takes the last in byte order; use [`highest_tags`]
/// to compare the commits.
///
/// # Errors
/// [`ConstraintError`] when the range cannot be parsed.
pub fn latest_tag(range: &str, tags: &[String]) -> Result<Option<String>, ConstraintError> {
    let constraint = Constraint::parse(range)?;
    Ok(highest_tags(&constraint, tags).pop().map(str::to_owned))
}

/// All tags that share the highest version in the range, in byte order, each once; empty when no tag is in the range.
pub fn highest_tags<'t>(constraint: &Constraint, tags: &'t [String]) -> Vec<&'t str> {
    let mut highest: Option<Version> = None;
    let mut names: Vec<&'t str> = Vec::new();
    for tag in tags {
        let Ok(version) = Version::parse_flux(tag) else {
            continue;
        };
        if highest.as_ref().is_some_and(|best| version < *best) || !constraint.check(&version) {
            continue;
        }
        if highest.as_ref().is_none_or(|best| version > *best) {
            names.clear();
            highest = Some(version);
        }
        names.push(tag);
    }
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn latest(range: &str, tags: &[&str]) -> Option<String> {
        let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        latest_tag(range, &tags).unwrap()
    }

    #[test]
    fn takes_the_highest_tag_in_the_range() {
        let tags = [
            "v1.2.0",
            "v1.10.0",
            "v1.9.9",
            "v2.0.0-rc.1",
            "nightly",
            "app/v1.99.0",
            "v3",
        ];
        for (range, expected) in [
            ("1.x", Some("v1.10.0")),
            ("<1.10.0", Some("v1.9.9")),
            ("*", Some("v1.10.0")),
            (">=1.0.0-0", Some("v2.0.0-rc.1")),
            ("~1.2", Some("v1.2.0")),
            // Two dots are needed, so v3 is not a candidate.
            (">=2", None),
        ] {
            assert_eq!(latest(range, &tags).as_deref(), expected, "{range}");
        }
        assert_eq!(latest("*", &[]), None);
    }

    #[test]
    fn equal_versions_do_not_depend_on_the_order_of_the_tags() {
        let one = latest("*", &["1.0.0+a", "v1.0.0", "1.0.0", "0.9.0"]);
        let other = latest("*", &["0.9.0", "1.0.0", "v1.0.0", "1.0.0+a", "v1.0.0"]);
        assert_eq!(one.as_deref(), Some("v1.0.0"));
        assert_eq!(one, other);
        let tags = ["v1.0.0", "1.0.0", "v1.0.0", "0.1.0"].map(str::to_owned);
        let constraint = Constraint::parse("*").unwrap();
        assert_eq!(highest_tags(&constraint, &tags), ["1.0.0", "v1.0.0"]);
    }

    #[test]
    fn a_bad_range_is_named() {
        let error = latest_tag("^1.x.y", &[]).unwrap_err();
        assert_eq!(error.to_string(), "improper constraint: \"^1.x.y\"");
    }
}
