//! The patterns of Flux v1 for tags, as policies.

use crate::adopted::Rule;
use crate::glob;
use bumpwright_semver::Constraint;

/// How a tag is chosen, and which tags count.
pub(super) type Choice = (Rule, Option<String>);

/// Why a container has no policy, with the way out.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum NoPolicy {
    #[error("{0:?} is no range of versions; write one such as ~1.4")]
    Range(String),
    #[error(
        "with {0} Flux v1 took the image that was built last, and policies choose by the names of tags: have the time in the tag, \
         and choose by it (docs/guides/policies.md, builds)"
    )]
    LastBuilt(String),
    #[error("the image has no tag: write the one of now, then run again")]
    NoTag,
    #[error("no marker keeps a name without its registry together with a tag: have a field for the tag")]
    NoTagField,
}

/// The policy for a pattern; none is `glob:*`.
pub(super) fn choice(pattern: Option<&str>) -> Result<Choice, NoPolicy> {
    let pattern = pattern.unwrap_or("glob:*");
    if let Some(range) = pattern.strip_prefix("semver:") {
        return match Constraint::parse(range) {
            Ok(_) => Ok((Rule::Semver(range.to_owned()), None)),
            Err(_) => Err(NoPolicy::Range(range.to_owned())),
        };
    }
    let glob = pattern.strip_prefix("glob:").unwrap_or(pattern);
    let is_regexp = pattern.starts_with("regexp:") || pattern.starts_with("regex:");
    if !is_regexp && !glob.contains('*') {
        return Ok((Rule::Alphabetical, Some(glob::exactly(glob))));
    }
    Err(NoPolicy::LastBuilt(pattern.to_owned()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_single_tags_are_policies_and_the_order_of_builds_is_none() {
        assert_eq!(
            choice(Some("semver:~1.4")).unwrap(),
            (Rule::Semver("~1.4".to_owned()), None)
        );
        let one = (Rule::Alphabetical, Some(r"^1\.4$".to_owned()));
        assert_eq!(choice(Some("glob:1.4")).unwrap(), one);
        assert_eq!(choice(Some("1.4")).unwrap(), one);
        for built in [None, Some("glob:master-*"), Some("regexp:^v.*"), Some("regex:^v")] {
            assert!(matches!(choice(built), Err(NoPolicy::LastBuilt(_))), "{built:?}");
        }
        assert!(matches!(choice(Some("semver:nope")), Err(NoPolicy::Range(_))));
    }
}
