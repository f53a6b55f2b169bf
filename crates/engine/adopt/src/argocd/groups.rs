//! Applications whose images are committed alike, with one automation for each such group.
//!
//! No two automations ever touch one field, and none pushes to the branch of another: each takes the policies with its
//! own label, and has a branch of its own unless it pushes to the branch that it reads.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_policy::PolicyName;

use super::markers::{self, MarkedFolders};
use crate::adopted::WriteBack as Commit;
use crate::draft::Draft;
use crate::files::is_within;
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
    /// The folders of fields that moved.
    folders: Option<BTreeSet<String>>,
    /// The folders of Applications that stay.
    waiting: Option<BTreeSet<String>>,
    /// The folders of its Applications, as they say them.
    sources: BTreeSet<String>,
    /// The group whose automation is used: the same but for a Secret, which it names.
    joined: Option<usize>,
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

    /// What its label begins with.
    fn base(&self) -> String {
        let repository = repository_name(&self.told.git.url);
        match &self.told.push {
            Some(push) => object_name(&format!("{repository}-{push}")),
            None => object_name(repository),
        }
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

    /// The number of the group that commits so, with the folders of one more Application.
    pub(super) fn add(&mut self, namespace: &str, commit: Commit, sources: impl IntoIterator<Item = String>) -> usize {
        let is_it = |group: &Group| group.namespace == namespace && group.told == commit;
        if let Some(known) = self.all.iter().position(is_it) {
            if let Some(group) = self.all.get_mut(known) {
                group.sources.extend(sources);
            }
            return known;
        }
        self.all.push(Group {
            namespace: namespace.to_owned(),
            told: commit.clone(),
            commit,
            labels: BTreeMap::new(),
            standing: None,
            folders: None,
            waiting: None,
            sources: sources.into_iter().collect(),
            joined: None,
            note: None,
        });
        self.all.len() - 1
    }

    /// The group whose automation commits for a group, which may be another one.
    pub(super) fn joined(&self, group: usize) -> usize {
        self.get(group).and_then(|group| group.joined).unwrap_or(group)
    }

    /// Whether the push of a group has a Secret.
    pub(super) fn has_secret(&self, group: usize) -> bool {
        let standing = |group: &Group| self.standing.get(group.standing?);
        let group = self.get(group);
        group.is_some_and(|group| {
            group.told.git.secret.is_some() || standing(group).is_some_and(|standing| standing.secret.is_some())
        })
    }

    /// Lets groups without a Secret use the automation of one that is the same and names one: whether Applications are
    /// moved at once or one by one makes no difference.
    fn join(&mut self) {
        let same = |group: &Group, other: &Group| {
            other.told.git.secret.is_some()
                && other.namespace == group.namespace
                && without_secret(&other.told) == group.told
        };
        let joined = |group: &Group| self.all.iter().position(|other| same(group, other));
        let found: Vec<Option<usize>> = self.all.iter().map(joined).collect();
        for (group, joined) in self.all.iter_mut().zip(&found) {
            group.joined = *joined;
        }
        for (n, joined) in found.into_iter().enumerate() {
            let sources = self.get(n).map(|group| group.sources.clone()).unwrap_or_default();
            if let Some(other) = joined.and_then(|joined| self.all.get_mut(joined)) {
                other.sources.extend(sources);
            }
        }
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
        self.join();
        let own = self.all.iter().filter(|group| group.told.push.is_none());
        pushed.extend(own.map(|group| direct(&group.space())));
        let mut labels: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
        for n in 0..self.all.len() {
            let standing = self.standing_of(n, draft);
            let Some(group) = self.all.get_mut(n).filter(|group| group.joined.is_none()) else {
                continue;
            };
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
            let base = group.base();
            let namespace = group.namespace.clone();
            let key = |label: &String| (namespace.clone(), label.clone());
            let free = |label: &String| {
                let wanted = BTreeMap::from([(LABEL.to_owned(), label.clone())]);
                let is_taken =
                    |one: &Standing| one.name.namespace == namespace && one.selector.is_some() && one.takes(&wanted);
                let users = labels.get(&key(label)).into_iter().flatten();
                users.copied().all(|user| self.is_other_branch(n, user)) && !self.standing.iter().any(is_taken)
            };
            let mut names = [base.clone()].into_iter().chain((2..).map(|n| format!("{base}-{n}")));
            let label = names.find(free).unwrap_or(base);
            labels.entry(key(&label)).or_default().push(n);
            if let Some(group) = self.all.get_mut(n) {
                group.labels = BTreeMap::from([(LABEL.to_owned(), label)]);
            }
        }
    }

    /// Whether two groups write to branches of one repository in which they share a folder: a field there has one
    /// marker, whose policy is for both.
    fn is_other_branch(&self, one: usize, other: usize) -> bool {
        let (Some(one), Some(other)) = (self.get(one), self.get(other)) else {
            return false;
        };
        let ((repository, branch), (other_repository, other_branch)) = (one.space(), other.space());
        let is_nested = |one: &String, other: &String| one == other || is_within(one, other) || is_within(other, one);
        let mut sources = one.sources.iter();
        let shares = sources.any(|one| other.sources.iter().any(|other| is_nested(one, other)));
        repository == other_repository && branch != other_branch && shares
    }

    /// The existing automation that commits as a group does. A Secret may have been named since; one for another
    /// group has its own.
    fn standing_of(&self, n: usize, draft: &Draft<'_>) -> Option<usize> {
        let group = self.get(n).filter(|group| group.joined.is_none())?;
        let secret = |group: &Group, one: &Standing| group.told.git.secret == one.secret;
        let is_free = |found: usize| !self.all.iter().any(|group| group.standing == Some(found));
        let is_others = |one: &Standing| {
            let mut others = self
                .all
                .iter()
                .filter(|other| !std::ptr::eq(*other, group) && other.joined.is_none());
            others.any(|other| secret(other, one) && other.is_committed_by(one))
        };
        let mut standing = self.standing.iter().enumerate();
        let automation = standing.find(|(found, one)| {
            let may_have_one = one.secret.is_none() && one.may_name_secret(draft);
            let is_its = secret(group, one) || ((group.told.git.secret.is_none() || may_have_one) && !is_others(one));
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

    /// Folders of an Application of a group that stays; its automation is suspended unless others move.
    pub(super) fn wait(&mut self, group: usize, folders: impl IntoIterator<Item = String>) {
        if let Some(group) = self.all.get_mut(group) {
            group.waiting.get_or_insert_with(BTreeSet::new).extend(folders);
        }
    }

    /// Has automations of the file of objects look at fields that were marked since, where no Application of this run
    /// says so: its annotations may have been removed by hand.
    fn follow_markers(&self, draft: &mut Draft<'_>) {
        let is_used = |n: usize| self.all.iter().any(|group| group.standing == Some(n));
        let others = self.standing.iter().enumerate();
        let others = others.filter(|(n, one)| !is_used(*n) && one.selector.is_some() && one.is_ours(draft));
        let others: Vec<&Standing> = others.map(|(_, one)| one).collect();
        if others.is_empty() {
            return;
        }
        let marked = markers::folders(draft);
        let takes = |one: &Standing, marked: &MarkedFolders| {
            one.name.namespace == marked.policy.namespace && one.takes(&marked.labels)
        };
        for standing in others {
            let own = marked.iter().filter(|marked| {
                let all = self.standing.iter().filter(|one| takes(one, marked));
                takes(standing, marked) && all.count() == 1
            });
            let folders: BTreeSet<String> = own.flat_map(|marked| marked.folders.iter().cloned()).collect();
            if !folders.is_empty() && !standing.resume(draft, &folders) {
                standing.widen(draft, &folders);
            }
        }
    }

    /// Makes the automations, or widens existing ones.
    pub(super) fn finish(self, draft: &mut Draft<'_>) {
        self.follow_markers(draft);
        for group in self.all {
            let standing = group.standing.and_then(|found| self.standing.get(found));
            let make = |draft: &mut Draft<'_>, folders, waits| {
                draft
                    .objects
                    .automation(&group.namespace, &group.commit, &group.labels, folders, waits);
            };
            match (standing, group.folders, group.waiting) {
                (Some(standing), Some(folders), _) => {
                    if !standing.resume(draft, &folders) {
                        standing.widen(draft, &folders);
                        standing.tell_suspended(draft);
                    }
                    standing.name_secret(draft, group.told.git.secret.as_deref());
                }
                (None, Some(folders), _) => make(draft, folders, false),
                (None, None, Some(folders)) => make(draft, folders, true),
                (Some(_), None, _) | (None, None, None) => {}
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

fn without_secret(commit: &Commit) -> Commit {
    let mut commit = commit.clone();
    commit.git.secret = None;
    commit
}
