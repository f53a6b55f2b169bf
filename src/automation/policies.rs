//! What each policy gives to the markers of one run.

use std::collections::{BTreeMap, HashMap};

use crate::api::{ImagePolicy, LabelSelector};
use crate::edit::{Images, Reason, Verdict};
use crate::policy::{InvalidImage, LatestRef, PolicyName};

/// All policies that a run can see, from manifests or a cluster, with `--set` on top.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    known: HashMap<PolicyName, Known>,
}

#[derive(Clone, Debug)]
struct Known {
    image: Result<LatestRef, String>,
    /// Why no run with this policy may write anything.
    invalid: Option<InvalidImage>,
    labels: BTreeMap<String, String>,
}

impl Policies {
    /// Adds a policy unless one of that name is there.
    pub fn add(&mut self, policy: &ImagePolicy) {
        let name = policy.policy_name();
        if self.known.contains_key(&name) {
            return;
        }
        let mut invalid = None;
        let image = match policy.latest_ref() {
            Ok(Some(image)) => image.check().map(|()| image).map_err(|e| {
                invalid = Some(e.clone());
                format!("ImagePolicy {name}: {e}")
            }),
            Ok(None) => Err(format!(
                "ImagePolicy {name} has no image yet: its status.latestRef is empty"
            )),
            Err(e) => Err(format!("ImagePolicy {name}: status.latestImage: {e}")),
        };
        let labels = policy.metadata.labels.clone();
        self.known.insert(name, Known { image, invalid, labels });
    }

    /// Gives a policy this image, whatever its status says; its labels stay.
    pub fn set(&mut self, name: PolicyName, image: LatestRef) {
        let labels = self.known.remove(&name).map(|known| known.labels).unwrap_or_default();
        self.known.insert(
            name,
            Known {
                image: Ok(image),
                invalid: None,
                labels,
            },
        );
    }

    /// The image of a policy, when it has one.
    #[must_use]
    pub fn image(&self, name: &PolicyName) -> Option<&LatestRef> {
        self.known.get(name)?.image.as_ref().ok()
    }

    /// True when a policy of this name is known, ready or not.
    #[must_use]
    pub fn contains(&self, name: &PolicyName) -> bool {
        self.known.contains_key(name)
    }

    /// The known name that is likest to `name`, if one is like enough to have been meant.
    fn meant(&self, name: &PolicyName) -> Option<&PolicyName> {
        let wanted = name.to_string();
        let near = |known: &&PolicyName| distance(&known.to_string(), &wanted);
        // Of equally near ones the first by name, so that a hint is the same each time.
        let best = self.known.keys().min_by_key(|known| (near(known), *known))?;
        (near(&best) <= 2 || (best.name == name.name && best.namespace != name.namespace)).then_some(best)
    }
}

/// The policies as one run sees them: an automation takes those of its own namespace (IUA-002) that its selector wants.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// All policies.
    pub policies: &'a Policies,
    /// The automation's namespace; none for a plain run, which takes all.
    pub namespace: Option<&'a str>,
    /// The automation's `policySelector`, validated.
    pub selector: Option<&'a LabelSelector>,
}

impl View<'_> {
    /// The first policy of an automation whose image is none: like Flux, it then writes nothing at all. A plain run
    /// only skips the markers of that policy.
    #[must_use]
    pub fn invalid(&self) -> Option<(&PolicyName, &InvalidImage)> {
        let own = self.namespace?;
        let selected = |known: &Known| self.selector.is_none_or(|s| s.matches(&known.labels).unwrap_or(false));
        let of_this_run = self.policies.known.iter().filter(|(name, _)| name.namespace == own);
        of_this_run
            .filter(|(_, known)| selected(known))
            .find_map(|(name, known)| Some((name, known.invalid.as_ref()?)))
    }
}

impl Images for View<'_> {
    fn verdict(&self, name: &PolicyName) -> Verdict<'_> {
        if let Some(own) = self.namespace.filter(|own| *own != name.namespace) {
            let message = format!("policy {name} is not in the automation's namespace {own}");
            return Verdict::Skip(Reason::OtherNamespace, message);
        }
        let Some(known) = self.policies.known.get(name) else {
            let hint = self
                .policies
                .meant(name)
                .map(|meant| format!("; did you mean {}:{}?", meant.namespace, meant.name));
            let message = format!("there is no ImagePolicy {name}{}", hint.unwrap_or_default());
            return Verdict::Skip(Reason::UnknownPolicy, message);
        };
        let selected = |selector: &LabelSelector| selector.matches(&known.labels).unwrap_or(false);
        if !self.selector.is_none_or(selected) {
            let message = format!("the automation's policySelector leaves ImagePolicy {name} out");
            return Verdict::Skip(Reason::NotSelected, message);
        }
        match &known.image {
            Ok(image) => Verdict::Image(image),
            Err(why) => Verdict::Skip(Reason::PolicyNotReady, why.clone()),
        }
    }
}

/// Edit distance between two names, in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let best = (diagonal + usize::from(x != *y)).min(left + 1).min(*cell + 1);
            diagonal = *cell;
            *cell = best;
            left = best;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn image(tag: &str) -> LatestRef {
        LatestRef {
            name: "ghcr.io/o/app".into(),
            tag: tag.into(),
            digest: None,
        }
    }

    fn policies() -> Policies {
        let mut policies = Policies::default();
        policies.set(PolicyName::new("fs", "app"), image("1.0.0"));
        policies.set(PolicyName::new("other", "thing"), image("2.0.0"));
        policies
    }

    fn reason(view: View<'_>, namespace: &str, name: &str) -> (Reason, String) {
        match view.verdict(&PolicyName::new(namespace, name)) {
            Verdict::Skip(reason, message) => (reason, message),
            Verdict::Image(image) => panic!("{image}"),
        }
    }

    #[test]
    fn iua_002_only_policies_of_the_automations_namespace() {
        let policies = policies();
        let view = View {
            policies: &policies,
            namespace: Some("fs"),
            selector: None,
        };
        assert!(matches!(view.verdict(&PolicyName::new("fs", "app")), Verdict::Image(_)));
        assert_eq!(reason(view, "other", "thing").0, Reason::OtherNamespace);
        let plain = View {
            namespace: None,
            ..view
        };
        assert!(matches!(
            plain.verdict(&PolicyName::new("other", "thing")),
            Verdict::Image(_)
        ));
    }

    #[test]
    fn a_misspelled_policy_gets_a_hint() {
        let policies = policies();
        let view = View {
            policies: &policies,
            namespace: None,
            selector: None,
        };
        let (why, message) = reason(view, "fs", "ap");
        assert_eq!(why, Reason::UnknownPolicy);
        assert!(message.ends_with("did you mean fs:app?"), "{message}");
        assert!(reason(view, "flux-system", "app").1.ends_with("did you mean fs:app?"));
        assert!(!reason(view, "fs", "quite-different").1.contains("did you mean"));
    }

    #[test]
    fn the_selector_leaves_policies_out() {
        let policies = policies();
        let selector = LabelSelector {
            match_labels: [("team".into(), "a".into())].into(),
            ..LabelSelector::default()
        };
        let view = View {
            policies: &policies,
            namespace: Some("fs"),
            selector: Some(&selector),
        };
        assert_eq!(reason(view, "fs", "app").0, Reason::NotSelected);
    }

    #[test]
    fn distances() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("same", "same"), 0);
    }
}
