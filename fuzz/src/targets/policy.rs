//! Image policies over tags, image references, windows.

use bumpwright_gostd::Time;
use bumpwright_policy::{Exclusions, FilterSpec, ImagePolicy, LatestRef, Reference, RuleSpec, Validation, Windows};

/// A rule, a pattern, what is extracted, and the tags of an image.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let parts: Vec<&str> = text.split("\n%%\n").collect();
    let part = |n: usize| parts.get(n).copied().unwrap_or_default();
    let tags: Vec<String> = part(3).split('\n').take(60).map(str::to_owned).collect();
    let rules = [
        RuleSpec {
            semver: Some(part(0).to_owned()),
            alphabetical: None,
            numerical: None,
        },
        RuleSpec {
            semver: None,
            alphabetical: Some(String::new()),
            numerical: None,
        },
        RuleSpec {
            semver: None,
            alphabetical: None,
            numerical: Some("desc".to_owned()),
        },
    ];
    let filter = FilterSpec {
        pattern: part(1).to_owned(),
        extract: part(2).to_owned(),
    };
    for rule in rules {
        for filter in [None, Some(&filter)] {
            let Ok(policy) = ImagePolicy::new(&rule, filter) else {
                continue;
            };
            let latest = policy.latest(&tags).map(str::to_owned);
            if let (Ok(survey), Ok(latest)) = (policy.survey(&tags), latest) {
                assert_eq!(survey.winner(), Some(latest.as_str()), "{rule:?} {filter:?}");
                assert!(policy.explain(&tags, &latest).is_ok());
            }
        }
    }
    if let Ok(exclusions) = Exclusions::new([part(1)]) {
        let _ = exclusions.keep(tags);
    }
    for validation in [Validation::Weak, Validation::Strict] {
        if let Ok(reference) = Reference::parse(part(0), validation) {
            let again = Reference::parse(&reference.name(), Validation::Weak).expect("a name is a reference");
            assert_eq!(again.name(), reference.name());
        }
    }
    let (name, tag, digest) = LatestRef::split(part(0));
    assert!(name.len() + tag.map_or(0, str::len) + digest.map_or(0, str::len) <= part(0).len());
    if let Ok(windows) = Windows::parse(part(0)) {
        let now = Time::unix(1_767_323_045, 0);
        let open = windows.is_open(&now);
        assert_eq!(open, windows.check(&now).is_ok());
        if let Some(change) = windows.next_change(&now) {
            assert!(change.order(&now).is_gt());
            assert_ne!(windows.is_open(&change), open);
        }
    }
}
