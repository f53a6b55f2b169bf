//! Applications whose images are committed alike, with one automation for each such group.
//!
//! No two automations ever touch one field, and none pushes to the branch of another: each takes the policies with its
//! own label, and has a branch of its own unless it pushes to the branch that it reads.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_policy::PolicyName;

use crate::adopted::WriteBack as Commit;
use crate::draft::Draft;
use crate::image::object_name;
use crate::known::{Standing, place};
use crate::objects::repository_name;

/// The label by which an automation knows its policies.
const LABEL: &str = "automation";

/// Applications that are committed alike.
pub(super) struct Group {
    pub(super) namespace: String,
    /// The settings as written for argocd-image-updater, which identify the group.
    told: Commit,
    /// The settings of the automation.
    commit: Commit,
    /// The labels of its policies.
    pub(super) labels: BTreeMap<String, String>,
    /// The existing automation that is used for it.
    standing: Option<usize>,
    folders: Option<BTreeSet<String>>,
    /// A note that its branch differs from the configured one.
    pub(super) note: Option<String>,
}

/// All groups, and the existing automations.
pub(super) struct Groups {
    all: Vec<Group>,
    standing: Vec<Standing>,
}

/// A repository and a branch: where fields are.
type Space = (String, String);

impl Group {
    /// Whether an automation commits so, but for its Secret.
    fn is_committed_by(&self, one: &Standing) -> bool {
        let settings = &self.told;
        let pushes_so = match (&settings.push, &one.push) {
            (None, None) => true,
            (Some(branch), Some(own)) => own == branch || own.starts_with(&format!("{branch}-{}", self.branch())),
            _ => false,
        };
        pushes_so
            && one.name.namespace == self.namespace
            && one.url.as_ref() == Some(&settings.git.url)
            && one.branch.as_ref() == Some(&settings.git.branch)
            && settings
                .annotations
                .iter()
                .all(|(key, value)| one.annotations.get(key) == Some(value))
    }

    /// The branch that it reads, as a part of names.
    fn branch(&self) -> String {
        object_name(&self.told.git.branch)
    }

    fn space(&self) -> Space {
        (place(&self.told.git.url), self.told.git.branch.clone())
    }
}

impl Groups {
    pub(super) fn beside(standing: Vec<Standing>) -> Self {
        let all = Vec::new();
        Self { all, standing }
    }

    /// The number of the group that commits so.
    pub(super) fn add(&mut self, namespace: &str, commit: Commit) -> usize {
        let is_it = |group: &Group| group.namespace == namespace && group.told == commit;
        if let Some(known) = self.all.iter().position(is_it) {
            return known;
        }
        self.all.push(Group {
            namespace: namespace.to_owned(),
            told: commit.clone(),
            commit,
            labels: BTreeMap::new(),
            standing: None,
            folders: None,
            note: None,
        });
        self.all.len() - 1
    }

    pub(super) fn get(&self, group: usize) -> Option<&Group> {
        self.all.get(group)
    }

    /// Whether two groups write to different branches or repositories, so that they share no field.
    pub(super) fn are_apart(&self, one: usize, other: usize) -> bool {
        let space = |group: usize| self.get(group).map(Group::space);
        space(one) != space(other)
    }

    /// Decides on labels and branches, when all groups are known.
    pub(super) fn settle(&mut self, draft: &Draft<'_>) {
        let direct = |space: &Space| (space.0.clone(), space.1.clone());
        let mut pushed: BTreeSet<Space> = self
            .standing
            .iter()
            .filter_map(|one| Some((place(one.url.as_ref()?), one.push.clone().or(one.branch.clone())?)))
            .collect();
        let own = self.all.iter().filter(|group| group.told.push.is_none());
        pushed.extend(own.map(|group| direct(&group.space())));
        let mut labels: BTreeSet<(String, Space, String)> = BTreeSet::new();
        for n in 0..self.all.len() {
            let standing = self.standing_of(n, draft);
            let Some(group) = self.all.get_mut(n) else { continue };
            let space = group.space();
            if let Some((found, own)) = standing.and_then(|found| Some((found, self.standing.get(found)?))) {
                group.standing = Some(found);
                group.commit.push.clone_from(&own.push);
                group.labels = own_labels(own).unwrap_or_default();
                continue;
            }
            if let Some(told) = group.told.push.clone() {
                let branch = group.branch();
                let free = |name: &String| !pushed.contains(&(space.0.clone(), name.clone()));
                let names = [told.clone(), format!("{told}-{branch}")].into_iter();
                let more = (2..).map(|n| format!("{told}-{branch}-{n}"));
                let name = names.chain(more).find(free).unwrap_or_else(|| told.clone());
                if name != told {
                    group.note = Some(format!(
                        "another automation pushes to {told}, and each would overwrite what the other pushed: this one pushes to {name}"
                    ));
                }
                pushed.insert((space.0.clone(), name.clone()));
                group.commit.push = Some(name);
            }
            let repository = repository_name(&group.told.git.url);
            let base = match &group.told.push {
                Some(push) => object_name(&format!("{repository}-{push}")),
                None => object_name(repository),
            };
            let namespace = group.namespace.clone();
            let free = |label: &String| {
                let wanted = BTreeMap::from([(LABEL.to_owned(), label.clone())]);
                let is_taken =
                    |one: &Standing| one.name.namespace == namespace && one.selector.is_some() && one.takes(&wanted);
                !labels.contains(&(namespace.clone(), space.clone(), label.clone()))
                    && !self.standing.iter().any(is_taken)
            };
            let mut names = [base.clone()].into_iter().chain((2..).map(|n| format!("{base}-{n}")));
            let label = names.find(free).unwrap_or(base);
            labels.insert((namespace.clone(), space.clone(), label.clone()));
            group.labels = BTreeMap::from([(LABEL.to_owned(), label)]);
        }
    }

    /// The existing automation that commits as a group does. A Secret may have been named since; one for another
    /// group has its own.
    fn standing_of(&self, n: usize, draft: &Draft<'_>) -> Option<usize> {
        let group = self.get(n)?;
        let secret = |group: &Group, one: &Standing| group.told.git.secret == one.secret;
        let is_free = |found: usize| !self.all.iter().any(|group| group.standing == Some(found));
        let is_others = |one: &Standing| {
            let mut others = self.all.iter().filter(|other| !std::ptr::eq(*other, group));
            others.any(|other| secret(other, one) && other.is_committed_by(one))
        };
        let mut standing = self.standing.iter().enumerate();
        let automation = standing.find(|(found, one)| {
            let is_its = secret(group, one) || (group.told.git.secret.is_none() && !is_others(one));
            let fits =
                own_labels(one).is_some_and(|labels| one.path.is_empty() || (one.is_ours(draft) && !labels.is_empty()));
            is_its && fits && group.is_committed_by(one) && is_free(*found)
        });
        automation.map(|(automation, _)| automation)
    }

    /// Another automation that would write a field of a group in this file, too.
    pub(super) fn intruder(&self, group: usize, path: &str) -> Option<&Standing> {
        let own = self.get(group)?;
        let (repository, branch) = own.space();
        let mut others = self
            .standing
            .iter()
            .enumerate()
            .filter(|(n, _)| own.standing != Some(*n))
            .map(|(_, one)| one);
        others.find(|one| {
            one.name.namespace == own.namespace
                && one.url.as_deref().is_none_or(|url| place(url) == repository)
                && one.branch.as_ref().is_none_or(|own| *own == branch)
                && one.takes(&own.labels)
                && one.covers(path)
        })
    }

    /// Whether an existing automation writes a policy's fields in this file.
    pub(super) fn is_committed(&self, policy: &PolicyName, labels: &BTreeMap<String, String>, path: &str) -> bool {
        self.standing
            .iter()
            .any(|one| one.name.namespace == policy.namespace && one.takes(labels) && one.covers(path))
    }

    /// Folders with fields of a group; it gets an automation then.
    pub(super) fn extend(&mut self, group: usize, folders: impl IntoIterator<Item = String>) {
        if let Some(group) = self.all.get_mut(group) {
            group.folders.get_or_insert_with(BTreeSet::new).extend(folders);
        }
    }

    /// Makes the automations, or widens existing ones.
    pub(super) fn finish(self, draft: &mut Draft<'_>) {
        for group in self.all {
            let Some(folders) = group.folders else { continue };
            match group.standing.and_then(|found| self.standing.get(found)) {
                Some(standing) => standing.widen(draft, &folders),
                None => draft
                    .objects
                    .automation(&group.namespace, &group.commit, &group.labels, folders),
            }
        }
    }
}

/// The labels that policies of an automation need; none where its selector asks for more than labels.
fn own_labels(standing: &Standing) -> Option<BTreeMap<String, String>> {
    match &standing.selector {
        None => Some(BTreeMap::new()),
        Some(selector) => (selector.match_expressions.is_empty() && !selector.match_labels.is_empty())
            .then(|| selector.match_labels.clone()),
    }
}
