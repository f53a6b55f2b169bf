//! Which automations of other namespaces may use an `ImagePolicy` (`bumpwright.dev/allow-automations-from`).

use std::collections::{BTreeMap, BTreeSet};

use crate::object::annotations::ours;
use crate::object::selector::LabelSelector;
use bumpwright_policy::InvalidAnnotation;

/// The key of the annotation, without the prefix.
const KEY: &str = "allow-automations-from";

/// The consent of a policy: nobody else, by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Consent {
    /// Only automations of its own namespace.
    #[default]
    Nobody,
    /// Those of all namespaces: `*`.
    All,
    /// Those of these namespaces: `team-a,team-b`.
    Namespaces(BTreeSet<String>),
    /// Those of namespaces with such labels: `env=prod,team in (a,b)`.
    Labelled(LabelSelector),
}

impl Consent {
    /// Reads the annotation. A text with `=`, `!` or `(`, which no name of a namespace has, is a label selector.
    ///
    /// # Errors
    /// [`InvalidAnnotation::Part`] with the part that is not valid.
    pub fn read(annotations: &BTreeMap<String, String>) -> Result<Self, InvalidAnnotation> {
        let Some(value) = ours(annotations, KEY).map(|value| value.trim()) else {
            return Ok(Self::Nobody);
        };
        let invalid = |why| InvalidAnnotation::Part { key: KEY, why };
        if value == "*" {
            return Ok(Self::All);
        }
        if value.contains(['=', '!', '(']) {
            let selector = LabelSelector::parse(value);
            return selector.map(Self::Labelled).map_err(|error| invalid(error.to_string()));
        }
        let names = value.split(',').map(str::trim);
        let wrong = |name: &&str| !is_namespace(name);
        match names.clone().find(wrong) {
            Some(wrong) => Err(invalid(format!(
                "{wrong:?} is not the name of a namespace; there are lists of them, label selectors such as team=a, and * alone"
            ))),
            None => Ok(Self::Namespaces(names.map(str::to_owned).collect())),
        }
    }

    /// Whether automations of a namespace are allowed; `selected` judges the labels of the namespace.
    pub fn allows(&self, namespace: &str, selected: impl FnOnce(&LabelSelector) -> bool) -> bool {
        match self {
            Self::Nobody => false,
            Self::All => true,
            Self::Namespaces(names) => names.contains(namespace),
            Self::Labelled(selector) => selected(selector),
        }
    }
}

/// RFC 1123: at most 63 lower case letters, digits and inner hyphens.
fn is_namespace(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&name.len()) && name.bytes().all(is_inner) && !name.starts_with('-') && !name.ends_with('-')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::automation::annotations::tests::of_ours;

    fn read(value: &str) -> Result<Consent, String> {
        Consent::read(&of_ours(&[(KEY, value)])).map_err(|error| error.to_string())
    }

    #[test]
    fn names_a_star_and_selectors_are_told_apart() {
        let labels = BTreeMap::from([
            ("env".to_owned(), "prod".to_owned()),
            ("team".to_owned(), "a".to_owned()),
        ]);
        let allows = |value: &str, namespace: &str| {
            let selected = |selector: &LabelSelector| selector.matches(&labels).unwrap();
            read(value).unwrap().allows(namespace, selected)
        };
        for (value, allowed) in [
            ("*", true),
            ("team-a", true),
            (" team-b , team-a ", true),
            ("team-b,team", false),
            // A name, and not the label of that key.
            ("env", false),
            ("env=prod", true),
            ("env==prod,team in (a, b)", true),
            ("env,team=a", true),
            ("env=prod,team notin (a,b)", false),
            ("env!=prod", false),
            ("!secret", true),
            ("!env", false),
            ("kubernetes.io/metadata.name in (team-a)", false),
        ] {
            assert_eq!(allows(value, "team-a"), allowed, "{value}");
        }
        assert_eq!(Consent::read(&BTreeMap::new()), Ok(Consent::Nobody));
        assert!(!Consent::Nobody.allows("team-a", |_| true));
    }

    #[test]
    fn what_does_not_parse_is_told_with_its_part() {
        for (value, said) in [
            ("", "\"\" is not the name of a namespace"),
            ("team-a,", "\"\" is not the name of a namespace"),
            ("*,team-a", "\"*\" is not the name of a namespace"),
            ("team-*", "\"team-*\" is not the name of a namespace"),
            ("Team-A", "\"Team-A\" is not the name of a namespace"),
            ("team a", "\"team a\" is not the name of a namespace"),
            ("-a", "\"-a\" is not the name of a namespace"),
            ("env=prod,", "\"\" is no requirement of a label selector"),
            ("env in prod)", "is not the name of a namespace"),
            ("env in (prod", "\"env in (prod\" is no requirement"),
            ("env in ()x", "is no requirement"),
            ("env=(a)", "values[0][env]: Invalid value: \"(a)\""),
            ("env=a=b", "values[0][env]: Invalid value: \"a=b\""),
            ("a b=c", "key: Invalid value: \"a b\""),
            ("env>1=", "key: Invalid value: \"env>1\""),
            ("=prod", "key: Invalid value: \"\""),
        ] {
            let error = read(value).unwrap_err();
            let start = "annotation bumpwright.dev/allow-automations-from: ";
            assert!(error.starts_with(start) && error.contains(said), "{value}: {error}");
        }
    }
}
