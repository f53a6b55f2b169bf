//! Changes with their reviews, as pages show them.

use std::collections::BTreeSet;
use std::sync::Arc;

use bumpwright_api::ObjectName;
use bumpwright_diff::{Field, Named};
use bumpwright_text::Cuts;

use super::subject::Subject;

/// How many Kustomizations a title names.
const NAMED: usize = 2;

/// What is reviewed of a GitRepository: an open pull request, or a change of the cluster itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewedChange {
    pub repository: ObjectName,
    pub subject: Subject,
    /// What its author calls it.
    pub title: String,
    /// The name of its author at the forge; empty if not known.
    pub author: String,
    /// Its page at the forge; only HTTPS is followed.
    pub link: String,
    /// The branch to merge into.
    pub branch: String,
    /// The commit to merge; empty when it is gone.
    pub head: String,
    /// The last commit that both have in common; empty while it is not known.
    pub base: String,
    /// The Kustomizations that have not applied it; none of what nobody was to apply yet.
    pub behind: Vec<Behind>,
    /// Whether some of them are left out since the reader may not see them.
    pub is_behind_partial: bool,
    pub state: ReviewState,
    /// Since when it is in this state, in seconds since 1970-01-01 UTC.
    pub at: i64,
}

/// A Kustomization that has not applied a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    pub name: ObjectName,
    /// Why, as far as its status says it.
    pub why: String,
}

/// How far the review of a change is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewState {
    /// It is to be reviewed.
    Waiting,
    /// It is not to be reviewed, and why.
    Skipped(String),
    /// It could not be reviewed, and why.
    Failed(String),
    /// It was reviewed, and the review is not in memory; why not.
    NotKept(String),
    Reviewed(Arc<Review>),
}

/// What a change does to the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// Whether an error is new with the change: that of the whole review, whatever of it a person sees.
    pub has_errors: bool,
    /// The Kustomizations and HelmReleases that differ.
    pub owners: Vec<ChangedOwner>,
    /// The findings that are new.
    pub findings: Vec<NewFinding>,
    /// The workloads that change.
    pub workloads: Vec<Workload>,
    /// What is new in charts and images that are in another version.
    pub news: Vec<News>,
    /// What else has to be said of the change, in sentences.
    pub notes: Vec<String>,
    /// How many findings of before are not there any more.
    pub gone: usize,
    /// How many objects and findings were too many to be kept.
    pub left_out: usize,
    /// The namespaces of all Kustomizations that were compared.
    pub namespaces: BTreeSet<String>,
    /// Whether a part is left out since the reader may not see it.
    pub is_partial: bool,
}

/// A Kustomization or HelmRelease that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedOwner {
    /// `Kustomization` or `HelmRelease`.
    pub kind: String,
    /// Its namespace; none where it is the entry of the fleet.
    pub namespace: Option<String>,
    /// `namespace/name`, or what the entry is called.
    pub name: String,
    pub change: Change,
    /// Why it could not be built before, and cannot be built after the change.
    pub problems: [Option<String>; 2],
    pub objects: Vec<ChangedObject>,
}

/// How an object of the cluster differs after the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Removed,
    Changed,
    /// Another owner had it.
    Moved,
}

/// An object that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedObject {
    pub object: Named,
    pub change: Change,
    /// The owner that had it before; empty unless it has moved.
    pub from: String,
    /// Its place in the files: `path:line:column`; empty if it has none.
    pub place: String,
    /// The fields that differ, without values of Secrets.
    pub fields: Vec<Field>,
    /// How many fields were too many to be kept.
    pub fields_left_out: usize,
}

/// A finding that is new with a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFinding {
    /// The id of its rule.
    pub rule: String,
    pub severity: FindingSeverity,
    /// `path:line:column`; empty if it is in no file.
    pub place: String,
    /// `Kind namespace/name`; empty if it is about none.
    pub object: String,
    pub message: String,
    /// What to do; may be empty.
    pub help: String,
    /// The Kustomizations that it was found in; none where it is about the whole fleet.
    pub kustomizations: Vec<ObjectName>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingSeverity {
    Note,
    Warning,
    Error,
}

/// A workload that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The namespace of its Kustomization; none where it is the entry of the fleet.
    pub namespace: Option<String>,
    /// `Kind namespace/name`
    pub object: String,
    /// `restarts`, or how it changes.
    pub effect: String,
    pub restarts: bool,
    /// Old and new images; empty for a container that is new or removed.
    pub images: Vec<(String, String)>,
}

/// What is new in a chart or an image that is in another version, as their authors say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// `web 1.0.0 → 1.1.0`
    pub title: String,
    /// What `names` are of: `HelmRelease` for a chart, `Kustomization` for an image.
    pub kind: &'static str,
    /// The HelmReleases that have the chart, or the Kustomizations whose workloads have the image; none where these are
    /// of the entry of the fleet.
    pub names: Vec<ObjectName>,
    /// What pages about it are called, and their addresses; only HTTPS is followed.
    pub links: Vec<(String, String)>,
    /// Text, line by line.
    pub lines: Vec<String>,
}

/// How many parts a review has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub objects: usize,
    pub errors: usize,
    pub warnings: usize,
    pub notes: usize,
}

impl ReviewedChange {
    /// The review, where it is in memory.
    #[must_use]
    pub fn review(&self) -> Option<&Review> {
        match &self.state {
            ReviewState::Reviewed(review) => Some(review),
            _ => None,
        }
    }

    /// What it is called: `main at 1a2b3c4: not applied by apps, infra and 3 more`.
    #[must_use]
    pub fn full_title(&self) -> String {
        if !matches!(self.subject, Subject::NotApplied(_)) {
            return self.title.clone();
        }
        let names = |most: usize| {
            let behind = self.behind.iter().take(most);
            behind.map(|one| self.called(&one.name)).collect::<Vec<_>>()
        };
        let who = match self.behind.len() {
            0 => "Kustomizations that you may not list".to_owned(),
            1..=NAMED => names(NAMED).join(" and "),
            count => format!("{} and {} more", names(NAMED).join(", "), count - NAMED),
        };
        format!("{}: not applied by {who}", self.title)
    }

    /// A Kustomization, without the namespace where it is that of the repository.
    fn called(&self, name: &ObjectName) -> String {
        if name.namespace == self.repository.namespace {
            name.name.clone()
        } else {
            name.to_string()
        }
    }

    /// The kinds and namespaces that it is about.
    pub fn places(&self) -> impl Iterator<Item = (&str, &str)> {
        let behind = self.behind.iter();
        let behind = behind.map(|one| (KUSTOMIZATION, one.name.namespace.as_str()));
        let review = self.review().into_iter().flat_map(Review::places);
        behind.chain(review)
    }

    /// What of it a person may see who `may` list a kind in a namespace, with its whole review.
    #[must_use]
    pub fn named_for(&self, may: impl Fn(&str, &str) -> bool) -> Self {
        let mut seen = self.clone();
        seen.behind.retain(|one| may(KUSTOMIZATION, &one.name.namespace));
        seen.is_behind_partial |= seen.behind.len() < self.behind.len();
        seen
    }

    /// What of it and of its review a person may see who `may` list a kind in a namespace.
    #[must_use]
    pub fn seen(&self, may: impl Fn(&str, &str) -> bool) -> Self {
        let mut seen = self.named_for(&may);
        if let ReviewState::Reviewed(review) = &self.state {
            seen.state = ReviewState::Reviewed(Arc::new(review.seen(may)));
        }
        seen
    }
}

impl ReviewState {
    /// The words for it, which lists can be cut to.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Skipped(_) => "not reviewed",
            Self::Failed(_) => "not finished",
            Self::NotKept(_) => "reviewed before, not kept here",
            Self::Reviewed(review) if review.has_errors => "failure",
            Self::Reviewed(_) => "success",
        }
    }

    /// Why the review cannot be shown; empty if that is plain.
    #[must_use]
    pub fn why(&self) -> &str {
        match self {
            Self::Skipped(why) | Self::Failed(why) | Self::NotKept(why) => why,
            Self::Waiting | Self::Reviewed(_) => "",
        }
    }
}

impl ChangedOwner {
    /// `Kustomization namespace/name` or `HelmRelease namespace/name`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }
}

impl Change {
    /// The word for it in every output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Moved => "moved",
        }
    }
}

impl FindingSeverity {
    /// `note`, `warning` or `error`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl NewFinding {
    /// Whether it is about this object: names of findings have no API group.
    #[must_use]
    pub fn is_about(&self, object: &Named) -> bool {
        let name = match object.namespace.as_str() {
            "" => object.name.clone(),
            namespace => format!("{namespace}/{}", object.name),
        };
        let named = self.object.strip_prefix(object.kind.as_str());
        named.and_then(|rest| rest.strip_prefix(' ')) == Some(name.as_str())
    }
}

impl Review {
    /// How many parts there are that a person may see who `may` list a kind in a namespace.
    #[must_use]
    pub fn tally(&self, may: impl Fn(&str, &str) -> bool) -> Tally {
        let mut tally = Tally::default();
        let is_whole = self.is_whole(&may);
        for owner in self.owners.iter().filter(|owner| shows_owner(owner, &may, is_whole)) {
            tally.objects += owner.objects.len();
        }
        for finding in self.findings.iter().filter(|one| shows_finding(one, &may, is_whole)) {
            match finding.severity {
                FindingSeverity::Error => tally.errors += 1,
                FindingSeverity::Warning => tally.warnings += 1,
                FindingSeverity::Note => tally.notes += 1,
            }
        }
        tally
    }

    /// The kinds and namespaces that it is about.
    pub fn places(&self) -> impl Iterator<Item = (&str, &str)> {
        let owners = self.owners.iter();
        let owners = owners.filter_map(|owner| Some((owner.kind.as_str(), owner.namespace.as_deref()?)));
        let findings = self.findings.iter().flat_map(|finding| &finding.kustomizations);
        let findings = findings.map(|name| (KUSTOMIZATION, name.namespace.as_str()));
        let workloads = self.workloads.iter().filter_map(|one| one.namespace.as_deref());
        let namespaces = self.namespaces.iter().map(String::as_str);
        let namespaces = workloads.chain(namespaces).map(|namespace| (KUSTOMIZATION, namespace));
        let names = self
            .news
            .iter()
            .flat_map(|one| one.names.iter().map(move |name| (one.kind, name)));
        let news = names.map(|(kind, name)| (kind, name.namespace.as_str()));
        owners.chain(findings).chain(namespaces).chain(news)
    }

    /// The parts that a person may see who `may` list a kind in a namespace.
    #[must_use]
    pub fn seen(&self, may: impl Fn(&str, &str) -> bool) -> Self {
        if self.is_whole(&may) {
            return self.clone();
        }
        let owners = self.owners.iter().filter(|owner| shows_owner(owner, &may, false));
        let findings = self.findings.iter().filter(|one| shows_finding(one, &may, false));
        let news = self.news.iter().filter_map(|one| of_own(one, &may));
        let is_shown = |one: &&Workload| one.namespace.as_deref().is_some_and(|space| may(KUSTOMIZATION, space));
        Self {
            has_errors: self.has_errors,
            owners: owners.cloned().map(|owner| without_others(owner, &may)).collect(),
            findings: findings.cloned().map(|one| in_own(one, &may)).collect(),
            workloads: self.workloads.iter().filter(is_shown).cloned().collect(),
            news: news.collect(),
            notes: Vec::new(),
            gone: 0,
            left_out: 0,
            namespaces: BTreeSet::new(),
            is_partial: true,
        }
    }

    fn is_whole(&self, may: impl Fn(&str, &str) -> bool) -> bool {
        self.places().all(|(kind, namespace)| may(kind, namespace))
    }
}

const KUSTOMIZATION: &str = "Kustomization";

fn shows_owner(owner: &ChangedOwner, may: impl Fn(&str, &str) -> bool, is_whole: bool) -> bool {
    match &owner.namespace {
        Some(namespace) => may(&owner.kind, namespace),
        None => is_whole,
    }
}

/// What is about the whole fleet may name anything of it.
fn shows_finding(finding: &NewFinding, may: impl Fn(&str, &str) -> bool, is_whole: bool) -> bool {
    let mut kustomizations = finding.kustomizations.iter();
    is_whole || kustomizations.any(|name| may(KUSTOMIZATION, &name.namespace))
}

/// An owner whose objects do not say which hidden one they had before.
fn without_others(mut owner: ChangedOwner, may: impl Fn(&str, &str) -> bool) -> ChangedOwner {
    for object in &mut owner.objects {
        let name = object.from.behind_last(' ');
        let namespace = name.split_once('/').map(|(namespace, _)| namespace);
        if !namespace.is_some_and(|namespace| may(KUSTOMIZATION, namespace)) {
            object.from.clear();
        }
    }
    owner
}

/// News with the names that may be listed; none without such names.
fn of_own(news: &News, may: impl Fn(&str, &str) -> bool) -> Option<News> {
    let names = news.names.iter().filter(|name| may(news.kind, &name.namespace));
    let names: Vec<ObjectName> = names.cloned().collect();
    (!names.is_empty()).then(|| News { names, ..news.clone() })
}

fn in_own(mut finding: NewFinding, may: impl Fn(&str, &str) -> bool) -> NewFinding {
    finding
        .kustomizations
        .retain(|name| may(KUSTOMIZATION, &name.namespace));
    finding
}
