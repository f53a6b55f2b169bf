//! The commits that automations pushed last to the branch that a repository follows.

use std::collections::BTreeSet;

use serde_json::Value;

use bumpwright_api::{GitRef, ImageUpdateAutomation, ObjectName};
use bumpwright_json::Texts;
use bumpwright_pages::ShortCommit;
use bumpwright_update::{Start, settings};

/// The most pushes of a repository.
const PUSHES: usize = 5;

/// A commit that an automation pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Push {
    pub(super) automation: ObjectName,
    pub(super) commit: String,
    pub(super) short: ShortCommit,
    /// When, in RFC 3339, UTC.
    at: String,
}

/// A GitRepository whose pushes are looked for.
#[derive(Clone, Copy)]
pub(super) struct Followed<'r> {
    pub(super) name: &'r ObjectName,
    pub(super) reference: Option<&'r GitRef>,
    /// The branch that it follows.
    pub(super) branch: &'r str,
    /// Whether automations of other namespaces may not name it.
    pub(super) is_closed: bool,
}

/// The newest pushes of automations, the last one first.
pub(super) fn pushes(automations: &[Value], followed: Followed<'_>) -> Vec<Push> {
    let mut pushes: Vec<Push> = automations.iter().filter_map(|one| push(one, followed)).collect();
    pushes.sort_by(|one, other| (&other.at, &one.automation).cmp(&(&one.at, &other.automation)));
    // An automation that was renamed, or put its status back.
    let mut seen = BTreeSet::new();
    pushes.retain(|push| seen.insert(push.short.clone()));
    pushes.truncate(PUSHES);
    pushes
}

fn push(object: &Value, followed: Followed<'_>) -> Option<Push> {
    let commit = object.text_at("/status/lastPushCommit");
    let short = ShortCommit::of(commit).filter(|_| [40, 64].contains(&commit.len()))?;
    let automation: ImageUpdateAutomation = serde_json::from_value(object.clone()).ok()?;
    let name = automation.metadata.object_name();
    let is_ours = automation.source_name() == *followed.name;
    let may = !followed.is_closed || name.namespace == followed.name.namespace;
    let is_followed = target(&automation, followed.reference).as_deref() == Some(followed.branch);
    (is_ours && may && is_followed).then(|| Push {
        automation: name,
        commit: commit.to_owned(),
        short,
        at: object.text_at("/status/lastPushTime").to_owned(),
    })
}

/// The branch that an automation pushes to; none if it is a refspec that says it.
fn target(automation: &ImageUpdateAutomation, repository: Option<&GitRef>) -> Option<String> {
    let push = settings::push(automation).ok()?;
    if push.branch.is_some() || !push.refspecs.is_empty() {
        return push.branch;
    }
    match settings::start(automation.checkout_ref(repository)).ok()? {
        (Start::Branch(branch), _) => Some(branch),
        (Start::Name(name), _) => name.strip_prefix("refs/heads/").map(str::to_owned),
        (_, branch) => branch,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use serde_json::json;

    fn automation(name: &str, digit: char, minute: u32, more: &Value) -> Value {
        let mut spec = json!({"interval": "1h", "sourceRef": {"kind": "GitRepository", "name": "fleet"},
            "git": {"commit": {"author": {"email": "a@b.c"}}}});
        if let Some(push) = more.get("push") {
            spec["git"]["push"] = push.clone();
        }
        if let Some(source) = more.get("source") {
            spec["sourceRef"] = source.clone();
        }
        let namespace = more.get("namespace").and_then(Value::as_str).unwrap_or("apps");
        json!({"metadata": {"name": name, "namespace": namespace}, "spec": spec, "status": {
            "lastPushCommit": digit.to_string().repeat(40), "lastPushTime": format!("2026-01-01T10:{minute:02}:00Z")}})
    }

    fn found(all: &[Value], is_closed: bool) -> Vec<String> {
        let name = ObjectName::new("apps", "fleet");
        let reference: GitRef = serde_json::from_value(json!({"branch": "main"})).unwrap();
        let followed = Followed {
            name: &name,
            reference: Some(&reference),
            branch: "main",
            is_closed,
        };
        pushes(all, followed)
            .into_iter()
            .map(|push| push.automation.name)
            .collect()
    }

    #[test]
    fn the_newest_pushes_to_the_branch_of_the_repository_are_found() {
        let plain = json!({});
        let mut all: Vec<Value> = ('1'..='7')
            .enumerate()
            .map(|(at, digit)| automation(&format!("a{digit}"), digit, u32::try_from(at).unwrap(), &plain))
            .collect();
        assert_eq!(found(&all, false), ["a7", "a6", "a5", "a4", "a3"]);
        // The same commit is one push.
        all.push(automation("b", '7', 0, &plain));
        assert_eq!(found(&all, false).len(), 5);
        let mut never = automation("never", 'a', 50, &plain);
        never["status"]["lastPushCommit"] = "".into();
        let mut odd = automation("odd", 'a', 50, &plain);
        odd["status"]["lastPushCommit"] = "../../etc/passwd".into();
        assert_eq!(found(&[never, odd, json!({"status": 7})], false), Vec::<String>::new());
    }

    #[test]
    fn pushes_elsewhere_are_left_out() {
        for (more, open, closed) in [
            (json!({}), true, true),
            (json!({"push": {"branch": "main"}}), true, true),
            (json!({"push": {"branch": "updates"}}), false, false),
            (
                json!({"push": {"refspec": "refs/heads/main:refs/for/main"}}),
                false,
                false,
            ),
            (
                json!({"source": {"kind": "GitRepository", "name": "other"}}),
                false,
                false,
            ),
            (json!({"namespace": "shop"}), false, false),
            (
                json!({"namespace": "shop", "source": {"kind": "GitRepository", "name": "fleet", "namespace": "apps"}}),
                true,
                false,
            ),
        ] {
            let all = [automation("one", '1', 1, &more)];
            assert_eq!(
                (found(&all, false).len() == 1, found(&all, true).len() == 1),
                (open, closed),
                "{more}"
            );
        }
    }
}
