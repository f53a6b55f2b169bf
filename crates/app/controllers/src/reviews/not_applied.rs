//! The Kustomizations that have applied another commit than their source has now, by the commit that they have.

use std::collections::BTreeMap;

use serde_json::Value;

use bumpwright_api::{Conditions, Kustomization, ObjectName};
use bumpwright_json::Texts;
use bumpwright_overview::commit_of_revision;
use bumpwright_pages::request::Behind;
use bumpwright_text::Excerpt;

/// The most applied commits that are compared with that of the source.
const COMMITS: usize = 3;

/// The longest reason, in characters.
const WHY: usize = 200;

/// How long Kustomizations that nothing keeps from it may take to apply a new artifact, in seconds.
pub(super) const GRACE: u64 = 60;

/// How far a Kustomization is.
#[derive(Debug)]
pub(super) struct Standing {
    name: ObjectName,
    /// The commit that it has applied last; none if it has applied none.
    applied: Option<String>,
    /// Why it has applied nothing newer.
    why: String,
    /// Whether it waits for somebody.
    is_stuck: bool,
}

impl Standing {
    pub(super) fn of(kustomization: &Kustomization, status: &Value) -> Self {
        let conditions = Conditions::of(status, 0, "");
        let ready = conditions.get("Ready");
        let is_failed = ready.is_some_and(|ready| ready.status == "False");
        let why = match ready {
            _ if kustomization.spec.suspend => "suspended".to_owned(),
            None => "not reconciled yet".to_owned(),
            Some(ready) if ready.status == "True" => "ready at the commit that it has".to_owned(),
            Some(ready) => format!("{}: {}", ready.reason, ready.message.first_line()),
        };
        Self {
            name: kustomization.metadata.object_name(),
            applied: commit_of_revision(status.text_of("lastAppliedRevision")),
            why: cut(why),
            is_stuck: kustomization.spec.suspend || is_failed,
        }
    }
}

fn cut(text: String) -> String {
    match text.cut_to(WHY) {
        Some(part) => format!("{part}…"),
        None => text,
    }
}

/// What is not applied of a commit.
#[derive(Debug, Default)]
pub(super) struct NotApplied {
    /// The commits that are applied in its place, those of most Kustomizations first.
    pub(super) groups: Vec<Group>,
    /// How many commits more there are.
    pub(super) more: usize,
    /// Whether some Kustomizations have time left to apply it.
    pub(super) has_time: bool,
}

/// The Kustomizations that have applied one commit.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) commit: String,
    pub(super) behind: Vec<Behind>,
}

/// What is not applied of `head`, which is new: those that nothing keeps from it are not late yet. What has applied
/// nothing at all cannot be compared.
pub(super) fn not_applied(all: Vec<Standing>, head: &str, is_new: bool) -> NotApplied {
    let mut groups: BTreeMap<String, Vec<Behind>> = BTreeMap::new();
    let mut has_time = false;
    for one in all {
        let Some(commit) = one.applied.filter(|commit| commit != head) else {
            continue;
        };
        if is_new && !one.is_stuck {
            has_time = true;
            continue;
        }
        groups.entry(commit).or_default().push(Behind {
            name: one.name,
            why: one.why,
        });
    }
    let mut groups: Vec<Group> = groups
        .into_iter()
        .map(|(commit, behind)| Group { commit, behind })
        .collect();
    groups
        .iter_mut()
        .for_each(|group| group.behind.sort_by(|one, other| one.name.cmp(&other.name)));
    groups.sort_by_key(|group| std::cmp::Reverse(group.behind.len()));
    let more = groups.len().saturating_sub(COMMITS);
    groups.truncate(COMMITS);
    NotApplied { groups, more, has_time }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use serde_json::json;

    fn commit(digit: char) -> String {
        digit.to_string().repeat(40)
    }

    fn standing(name: &str, applied: Option<char>, suspend: bool, ready: &str) -> Standing {
        let spec = json!({"interval": "1h", "prune": true, "suspend": suspend,
            "sourceRef": {"kind": "GitRepository", "name": "fleet"}});
        let object = json!({"metadata": {"name": name, "namespace": "apps"}, "spec": spec});
        let condition = json!({"type": "Ready", "status": ready, "reason": "BuildFailed", "message": format!("no file\n{}", "x".repeat(500))});
        let mut status = json!({"conditions": [condition]});
        if let Some(digit) = applied {
            status["lastAppliedRevision"] = format!("main@sha1:{}", commit(digit)).into();
        }
        Standing::of(&serde_json::from_value(object).unwrap(), &status)
    }

    fn names(group: &Group) -> Vec<String> {
        group.behind.iter().map(|one| one.name.name.clone()).collect()
    }

    #[test]
    fn kustomizations_are_by_the_commit_that_they_have_applied() {
        let all = || {
            vec![
                standing("web", Some('a'), false, "False"),
                standing("db", Some('a'), true, "True"),
                standing("apps", Some('f'), false, "True"),
                standing("never", None, false, "False"),
                standing("late", Some('b'), false, "True"),
            ]
        };
        let found = not_applied(all(), &commit('f'), false);
        assert_eq!((found.groups.len(), found.more, found.has_time), (2, 0, false));
        assert_eq!(
            (found.groups[0].commit.clone(), names(&found.groups[0])),
            (commit('a'), vec!["db".to_owned(), "web".to_owned()])
        );
        assert_eq!(found.groups[0].behind[0].why, "suspended");
        assert_eq!(found.groups[0].behind[1].why, "BuildFailed: no file");
        assert_eq!(names(&found.groups[1]), ["late"]);
        // A new artifact: only what waits for somebody is behind it already.
        let found = not_applied(all(), &commit('f'), true);
        assert_eq!((found.groups.len(), found.has_time), (1, true));
        assert_eq!(names(&found.groups[0]), ["db", "web"]);
    }

    #[test]
    fn the_commits_of_most_kustomizations_are_compared_and_others_are_counted() {
        let all = ['a', 'b', 'c', 'd', 'd', 'e']
            .iter()
            .enumerate()
            .map(|(at, digit)| standing(&format!("k{at}"), Some(*digit), true, "True"));
        let found = not_applied(all.collect(), &commit('f'), false);
        assert_eq!((found.groups.len(), found.more), (3, 2));
        assert_eq!(found.groups[0].commit, commit('d'));
    }

    #[test]
    fn long_reasons_are_cut() {
        let why = cut("é".repeat(WHY + 1));
        assert_eq!(why.chars().count(), WHY + 1);
        assert!(why.ends_with('…'));
    }
}
