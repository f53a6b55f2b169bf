//! What an ImageUpdateAutomation says of Git and of policies, and that no run can use.

use crate::build::view::FleetObject;
use crate::check::cluster::{Cluster, IMAGE_GROUP, name_of};
use bumpwright_api::{Consent, GitRef, ImageUpdateAutomation, LabelSelector};
use bumpwright_findings::{Finding, Rule, Severity};
use bumpwright_git::check_reference;
use bumpwright_semver::Constraint;
use bumpwright_update::Refspec;

const BRANCH: &str = "/spec/git/push/branch";
const REFSPEC: &str = "/spec/git/push/refspec";
const EMAIL: &str = "/spec/git/commit/author/email";
const SELECTOR: &str = "/spec/policySelector";

/// Findings about fields of automations; what is still to be filled in by variables is not known.
pub(crate) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    for (node, object) in cluster.of_kind(IMAGE_GROUP, "ImageUpdateAutomation") {
        let Ok(automation) = serde_json::from_value::<ImageUpdateAutomation>(object.value.clone()) else {
            continue;
        };
        let is_open = |pointer: &str| {
            let value = object.value.pointer(pointer);
            value.is_some_and(|value| value.to_string().contains("${"))
        };
        for (pointer, message) in faults(&automation) {
            if !is_open(pointer) {
                found.push(cluster.at(Rule::InvalidAutomation, node, object, pointer, message));
            }
        }
        if let Some(message) = email(&automation).filter(|_| !is_open(EMAIL)) {
            let finding = cluster.at(Rule::InvalidAutomation, node, object, EMAIL, message);
            found.push(finding.severity(Severity::Warning));
        }
        let selector = automation.spec.policy_selector.as_ref();
        if let Some(selector) = selector.filter(|_| !is_open(SELECTOR)) {
            found.extend(unselected(cluster, object, selector).map(|(rule, message)| {
                let finding = cluster.at(rule, node, object, SELECTOR, message);
                finding.help("correct the labels, or give them to the policies in metadata.labels")
            }));
        }
    }
}

/// Names that Git refuses, and ranges that do not parse: each with the pointer of its field.
fn faults(automation: &ImageUpdateAutomation) -> Vec<(&'static str, String)> {
    let Some(git) = &automation.spec.git else {
        return Vec::new();
    };
    let push = git.push.as_ref();
    let branch = push.and_then(|push| push.branch.as_deref());
    let branch = branch.and_then(|branch| Some((BRANCH, reference("refs/heads/", branch)?)));
    let refspec = push.and_then(|push| push.refspec.as_deref());
    let refspec = refspec.and_then(|text| Some((REFSPEC, refspec_fault(text)?)));
    let checkout = git
        .checkout
        .iter()
        .flat_map(|checkout| of_checkout(&checkout.reference));
    branch.into_iter().chain(refspec).chain(checkout).collect()
}

/// Why Git refuses a branch or tag. As in a run, a full name is taken as it is.
fn reference(folder: &str, name: &str) -> Option<String> {
    let full = if name.starts_with("refs/") {
        name.to_owned()
    } else {
        format!("{folder}{name}")
    };
    check_reference(&full).err().map(|error| error.to_string())
}

fn refspec_fault(text: &str) -> Option<String> {
    let refspec = match Refspec::parse(text) {
        Ok(refspec) => refspec,
        Err(error) => return Some(error.to_string()),
    };
    // A pattern is a name with anything in the place of its star.
    let is_wrong = |side: &&String| side.as_str() != "HEAD" && check_reference(&side.replace('*', "x")).is_err();
    let mut sides = [&refspec.source, &refspec.destination].into_iter();
    let side = sides.find(is_wrong)?;
    let error = check_reference(side).err()?;
    Some(format!("refspec {text:?}: {error}"))
}

fn of_checkout(checkout: &GitRef) -> Vec<(&'static str, String)> {
    let GitRef {
        branch,
        tag,
        semver,
        name,
        ..
    } = checkout;
    let branch = branch.as_deref().and_then(|branch| reference("refs/heads/", branch));
    let tag = tag.as_deref().and_then(|tag| reference("refs/tags/", tag));
    let range = semver.as_deref().and_then(|range| Constraint::parse(range).err());
    let name = name.as_deref().filter(|name| *name != "HEAD");
    let name = name.and_then(|name| check_reference(name).err());
    let fields = [
        ("/spec/git/checkout/ref/branch", branch),
        ("/spec/git/checkout/ref/tag", tag),
        ("/spec/git/checkout/ref/semver", range.map(|error| error.to_string())),
        ("/spec/git/checkout/ref/name", name.map(|error| error.to_string())),
    ];
    fields
        .into_iter()
        .filter_map(|(pointer, fault)| Some((pointer, fault?)))
        .collect()
}

/// Whether the address of the author is not one that a commit can hold.
fn email(automation: &ImageUpdateAutomation) -> Option<String> {
    let email = &automation.spec.git.as_ref()?.commit.author.email;
    let is_wrong = email.trim().is_empty() || email.contains(['<', '>']) || email.contains(char::is_control);
    is_wrong.then(|| {
        format!("{email:?} is not an address that a commit can have: Git leaves `<`, `>` and line breaks out; the name goes into author.name")
    })
}

/// What is wrong with a selector: it is not valid, or no policy that the automation may use matches it.
fn unselected(cluster: &Cluster<'_>, object: &FleetObject, selector: &LabelSelector) -> Option<(Rule, String)> {
    if let Err(error) = selector.validate() {
        return Some((Rule::InvalidAutomation, error.to_string()));
    }
    let namespace = name_of(&object.value).namespace;
    let mut policies = cluster.of_kind(IMAGE_GROUP, "ImagePolicy");
    let is_selected = |policy: &FleetObject| {
        let labels = policy.texts("labels");
        // Labels may be filled in, too.
        let is_open = labels.values().any(|value| value.contains("${"));
        (is_open || selector.matches(&labels).unwrap_or(true)) && is_usable(policy, &namespace)
    };
    let is_known = cluster.is_whole() && !policies.any(|(_, policy)| is_selected(policy));
    is_known.then(|| {
        let message = format!(
            "no ImagePolicy that it may use matches policySelector, so it updates nothing (namespace {namespace})"
        );
        (Rule::EmptySelector, message)
    })
}

/// Whether a policy is in the namespace, or may be for automations of it.
fn is_usable(policy: &FleetObject, namespace: &str) -> bool {
    if name_of(&policy.value).namespace == namespace {
        return true;
    }
    let consent = Consent::read(&policy.texts("annotations"));
    // What labels a namespace has is not known.
    consent.is_ok_and(|consent| consent.allows(namespace, |_| true))
}
