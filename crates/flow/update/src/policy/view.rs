//! The policies as one run sees them.

use super::known::{ImageState, Known};
use super::policies::Policies;
use bumpwright_api::LabelSelector;
use bumpwright_edit::{Images, Reason, Verdict};
use bumpwright_policy::{GuardRefusal, InvalidImage, PolicyName};
use bumpwright_text::between;

/// The policies visible to a run: an automation sees those of its own namespace (IUA-002), and those of others that
/// allow it to, as far as its selector matches.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub policies: &'a Policies,
    /// The automation's namespace; none for a plain run, which sees all.
    pub namespace: Option<&'a str>,
    /// The automation's `policySelector`, validated.
    pub selector: Option<&'a LabelSelector>,
}

impl View<'_> {
    /// The first policy of an automation with an invalid image: like Flux, the run then writes nothing at all. A plain
    /// run only skips the markers of that policy.
    #[must_use]
    pub fn invalid(&self) -> Option<(&PolicyName, &InvalidImage)> {
        let own = self.namespace?;
        let selected = |known: &Known| self.selector.is_none_or(|s| s.matches(&known.labels).unwrap_or(false));
        let of_this_run = self.policies.known.iter().filter(|(name, _)| name.namespace == own);
        of_this_run
            .filter(|(_, known)| selected(known))
            .find_map(|(name, known)| Some((name, self.policies.invalid(known)?)))
    }
}

impl Images for View<'_> {
    fn verdict(&self, name: &PolicyName) -> Verdict<'_> {
        if let Some(own) = self.policies.closed_to(self.namespace, name) {
            // The same whether there is such a policy or not.
            let message = format!(
                "policy {name} is not in the automation's namespace {own}, and no such policy allows automations from there"
            );
            return Verdict::Skip(Reason::OtherNamespace, message);
        }
        let Some((_, known)) = self.policies.find(name) else {
            let meant = self.policies.meant(name).map(PolicyName::marker);
            let hint = meant.map(|meant| format!("; did you mean {meant}?"));
            let message = match self.policies.unbuilt() {
                Some(unbuilt) => format!("ImagePolicy {name} is not known: {unbuilt}{}", hint.unwrap_or_default()),
                None => format!(
                    "there is no ImagePolicy {name}{}",
                    hint.unwrap_or_else(|| self.policies.way_out())
                ),
            };
            return Verdict::Skip(Reason::UnknownPolicy, message);
        };
        let selected = |selector: &LabelSelector| selector.matches(&known.labels).unwrap_or(false);
        if !self.selector.is_none_or(selected) {
            let wanted = self.selector.map(labels).filter(|wanted| !wanted.is_empty());
            let message = format!(
                "the automation's policySelector leaves ImagePolicy {name} out{}",
                between("; it takes those with ", wanted, "")
            );
            return Verdict::Skip(Reason::NotSelected, message);
        }
        match &known.image {
            ImageState::Image(image) => match known.failed.get(image) {
                Some(failed) => {
                    let reason = Reason::from(&GuardRefusal::Failed(failed.clone()));
                    let message = format!(
                        "ImagePolicy {name} holds {image}, since {failed}; a newer version is taken, or this one when it is released \
                         (bumpwright.dev/release)"
                    );
                    Verdict::Skip(reason, message)
                }
                None => Verdict::Image(image),
            },
            ImageState::Nothing(reason, why) | ImageState::Closed(reason, why) => Verdict::Skip(*reason, why.clone()),
            ImageState::Open(_) => {
                Verdict::Skip(Reason::PolicyNotReady, format!("ImagePolicy {name} was not looked up"))
            }
        }
    }

    fn refusal(&self, name: &PolicyName, from: &str, to: &str) -> Option<(Reason, String)> {
        let downgrades = self.policies.find(name)?.1.downgrades.as_ref()?;
        let refusal = downgrades.guards.check_downgrade(&downgrades.policy, from, to).err()?;
        Some((Reason::WouldDowngrade, format!("ImagePolicy {name}: {refusal}")))
    }
}

/// The labels that a selector asks for, as `key=value`; empty where it asks for more than that.
fn labels(selector: &LabelSelector) -> String {
    if !selector.match_expressions.is_empty() {
        return String::new();
    }
    let labels = selector.match_labels.iter();
    let labels: Vec<String> = labels.map(|(key, value)| format!("{key}={value}")).collect();
    labels.join(",")
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;
    use bumpwright_policy::LatestRef;

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
        assert_eq!(
            reason(view, "fs", "quite-different").1,
            "there is no ImagePolicy fs/quite-different"
        );
        let policies = policies.clone().with_way_out("give it with -f");
        let view = View {
            policies: &policies,
            ..view
        };
        assert_eq!(
            reason(view, "fs", "quite-different").1,
            "there is no ImagePolicy fs/quite-different; give it with -f"
        );
        assert!(reason(view, "fs", "ap").1.ends_with("; did you mean fs:app?"));
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
        let (found, message) = reason(view, "fs", "app");
        assert_eq!(found, Reason::NotSelected);
        assert_eq!(
            message,
            "the automation's policySelector leaves ImagePolicy fs/app out; it takes those with team=a"
        );
    }
}
