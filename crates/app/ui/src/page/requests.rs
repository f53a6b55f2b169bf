//! Changes with their reviews, as a person may see them: those of GitRepositories that this person may list, and
//! of a review what is of Kustomizations and HelmReleases that this person may list.

use std::collections::BTreeSet;
use std::sync::Arc;

use bumpwright_api::ObjectName;
use bumpwright_kube::{GIT_REPOSITORY, HELM_RELEASE, KUSTOMIZATION};
use bumpwright_pages::request::{ReviewedChange, Tally};
use bumpwright_pages::{Listing, Page, Subject};

use crate::rights::{Place, Sight};
use crate::view::View;

/// Reads the changes that this process reviews.
pub type RequestReader = Box<dyn Fn() -> Requests + Send + Sync>;

/// The changes that this process reviews.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// Counts changes.
    pub version: u64,
    pub all: Vec<Arc<ReviewedChange>>,
    /// How many changes of a GitRepository there was no room for.
    pub left_out: Vec<(ObjectName, usize)>,
    /// How many commits that Kustomizations of a GitRepository have applied are not compared with its own.
    pub not_compared: Vec<(ObjectName, usize)>,
    /// The GitRepositories whose changes it has listed.
    pub repositories: BTreeSet<ObjectName>,
}

impl Requests {
    /// The kinds and namespaces that they are about.
    pub(crate) fn places(&self) -> BTreeSet<Place> {
        let repositories = self.repositories.iter();
        let mut places: BTreeSet<Place> = repositories
            .map(|name| (GIT_REPOSITORY.kind, name.namespace.clone()))
            .collect();
        for (kind, namespace) in self.all.iter().flat_map(|one| one.places()) {
            let kind = if kind == HELM_RELEASE.kind {
                HELM_RELEASE.kind
            } else {
                KUSTOMIZATION.kind
            };
            places.insert((kind, namespace.to_owned()));
        }
        places
    }

    /// Those of GitRepositories that somebody may list. Their reviews are whole.
    pub(crate) fn visible(&self, sight: &Sight) -> Self {
        let may = |name: &ObjectName| sight.has(GIT_REPOSITORY.kind, &name.namespace);
        Self {
            version: self.version,
            all: self.all.iter().filter(|one| may(&one.repository)).cloned().collect(),
            left_out: self.left_out.iter().filter(|(name, _)| may(name)).cloned().collect(),
            not_compared: self
                .not_compared
                .iter()
                .filter(|(name, _)| may(name))
                .cloned()
                .collect(),
            repositories: self.repositories.iter().filter(|name| may(name)).cloned().collect(),
        }
    }

    /// What changes when any of them does.
    pub(crate) fn marks(&self) -> Vec<impl serde::Serialize> {
        let mark = |one: &'_ Arc<ReviewedChange>| {
            let behind: Vec<String> = one
                .behind
                .iter()
                .map(|one| format!("{} {}", one.name, one.why))
                .collect();
            let is_at = (one.head.clone(), one.state.words(), one.at);
            (one.repository.to_string(), one.subject.to_string(), is_at, behind)
        };
        self.all.iter().map(mark).collect()
    }

    /// Why there are none, or not all.
    fn note(&self) -> String {
        if self.repositories.is_empty() {
            return "This process has listed no changes of a GitRepository that you may list. Only the process that leads the reviews does, \
                    for GitRepositories with the annotation bumpwright.dev/review."
                .to_owned();
        }
        let counted = |all: &[(ObjectName, usize)]| {
            let all = all.iter();
            let all = all.map(|(name, count)| format!("{count} of GitRepository {name}"));
            Some(all.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
        };
        let left_out = counted(&self.left_out);
        let left_out = left_out.map(|all| format!("Changes that there was no memory for are left out: {all}."));
        let others = counted(&self.not_compared);
        let others = others.map(|all| {
            format!(
                "Further commits that Kustomizations have applied are not compared with that of their source: {all}."
            )
        });
        left_out.into_iter().chain(others).collect::<Vec<_>>().join(" ")
    }
}

/// Calls `show` with the page of all changes.
pub(crate) fn list<T>(view: &View, listing: &Listing, show: impl FnOnce(&Page<'_>) -> T) -> T {
    let tally = |one: &'_ ReviewedChange| match one.review() {
        Some(review) => review.tally(|kind, namespace| view.may(kind, namespace)),
        None => Tally::default(),
    };
    // Titles name Kustomizations.
    let named = |one: &Arc<ReviewedChange>| {
        if one.behind.is_empty() {
            return Arc::clone(one);
        }
        Arc::new(one.named_for(|kind, namespace| view.may(kind, namespace)))
    };
    let all: Vec<Arc<ReviewedChange>> = view.requests.all.iter().map(named).collect();
    let changes: Vec<(&ReviewedChange, Tally)> = all.iter().map(|one| (&**one, tally(one))).collect();
    show(&Page::Reviews {
        changes: &changes,
        note: &view.requests.note(),
        listing,
    })
}

/// Calls `show` with the page of a change; None if it does not exist, or this person may not see it.
pub(crate) fn one<T>(
    view: &View,
    (repository, subject): (&ObjectName, &Subject),
    listing: &Listing,
    show: impl FnOnce(&Page<'_>) -> T,
) -> Option<T> {
    let mut all = view.requests.all.iter();
    let found = all.find(|one| one.repository == *repository && one.subject == *subject)?;
    let change = found.seen(|kind, namespace| view.may(kind, namespace));
    Some(show(&Page::Review {
        change: &change,
        listing,
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use bumpwright_pages::request::{
        Change, ChangedOwner, FindingSeverity, NewFinding, News, Review, ReviewState, Workload,
    };

    use super::*;

    fn owner(kind: &str, namespace: &str) -> ChangedOwner {
        ChangedOwner {
            kind: kind.to_owned(),
            namespace: Some(namespace.to_owned()),
            name: format!("{namespace}/app"),
            change: Change::Changed,
            problems: [None, None],
            objects: Vec::new(),
        }
    }

    fn review() -> Review {
        let finding = |of: &[&str]| NewFinding {
            rule: "schema".to_owned(),
            severity: FindingSeverity::Error,
            place: String::new(),
            object: String::new(),
            message: format!("of {of:?}"),
            help: String::new(),
            kustomizations: of.iter().map(|namespace| ObjectName::new(*namespace, "app")).collect(),
        };
        let workload = |namespace: &str| Workload {
            namespace: Some(namespace.to_owned()),
            object: format!("Deployment {namespace}/web"),
            effect: "restarts".to_owned(),
            restarts: true,
            images: Vec::new(),
        };
        let news = |kind: &'static str, of: &[&str]| News {
            title: format!("{kind} {of:?}"),
            kind,
            names: of.iter().map(|namespace| ObjectName::new(*namespace, "app")).collect(),
            links: Vec::new(),
            lines: Vec::new(),
        };
        Review {
            has_errors: true,
            owners: vec![
                owner("Kustomization", "a"),
                owner("Kustomization", "b"),
                owner("HelmRelease", "a"),
            ],
            findings: vec![finding(&["a"]), finding(&["b"]), finding(&["a", "b"]), finding(&[])],
            workloads: vec![workload("a"), workload("b")],
            news: vec![news("Kustomization", &["a", "b"]), news("HelmRelease", &["a"])],
            notes: vec!["of all".to_owned()],
            gone: 3,
            namespaces: ["a", "b", "c"].map(str::to_owned).into(),
            ..Review::default()
        }
    }

    fn sight(places: &[Place]) -> Sight {
        Sight {
            places: Some(Arc::new(places.iter().cloned().collect())),
            ..Sight::ALL
        }
    }

    fn place(kind: &'static str, namespace: &str) -> Place {
        (kind, namespace.to_owned())
    }

    #[test]
    fn a_person_sees_what_is_of_kinds_that_may_be_listed() {
        let review = review();
        let all: Vec<Place> = ["a", "b", "c"]
            .map(|namespace| place("Kustomization", namespace))
            .into();
        let with_releases: Vec<Place> = all.iter().cloned().chain([place("HelmRelease", "a")]).collect();
        let seen = |places: &[Place]| {
            let sight = sight(places);
            let seen = review.seen(|kind, namespace| sight.has(kind, namespace));
            let tally = review.tally(|kind, namespace| sight.has(kind, namespace));
            assert_eq!(tally.errors, seen.findings.len());
            seen
        };
        assert_eq!(seen(&with_releases), review);
        let none = seen(&[]);
        assert!(none.is_partial && none.owners.is_empty() && none.findings.is_empty() && none.notes.is_empty());
        assert_eq!((none.workloads.len(), none.news.len(), none.gone), (0, 0, 0));
        let own = seen(&[place("Kustomization", "a")]);
        let titles: Vec<String> = own.owners.iter().map(ChangedOwner::title).collect();
        assert_eq!(
            (titles, own.findings.len(), own.workloads.len()),
            (vec!["Kustomization a/app".to_owned()], 2, 1)
        );
        assert!(
            own.findings
                .iter()
                .all(|one| one.kustomizations == [ObjectName::new("a", "app")])
        );
        let names: Vec<&[ObjectName]> = own.news.iter().map(|one| one.names.as_slice()).collect();
        assert_eq!(names, [[ObjectName::new("a", "app")]]);
        // What is about the whole fleet is for those who see all Kustomizations of it.
        assert!(seen(&all).is_partial && seen(&all).findings.len() == 3);
    }

    #[test]
    fn requests_are_of_repositories_that_may_be_listed() {
        let request = |namespace: &str| ReviewedChange {
            repository: ObjectName::new(namespace, "fleet"),
            subject: Subject::Request(1),
            title: String::new(),
            author: String::new(),
            link: String::new(),
            branch: String::new(),
            head: String::new(),
            base: String::new(),
            behind: Vec::new(),
            is_behind_partial: false,
            state: ReviewState::Reviewed(Arc::new(review())),
            at: 0,
        };
        let requests = Requests {
            version: 1,
            all: ["a", "b"].map(|namespace| Arc::new(request(namespace))).into(),
            left_out: vec![(ObjectName::new("b", "fleet"), 7)],
            not_compared: vec![(ObjectName::new("b", "fleet"), 2)],
            repositories: ["a", "b"].map(|namespace| ObjectName::new(namespace, "fleet")).into(),
        };
        assert!(requests.places().contains(&place("Kustomization", "c")));
        let seen = requests.visible(&sight(&[place("GitRepository", "a")]));
        assert_eq!(
            (seen.all.len(), seen.left_out.len(), seen.note()),
            (1, 0, String::new())
        );
        let nothing = requests.visible(&sight(&[place("Kustomization", "a")]));
        assert!(nothing.all.is_empty() && nothing.note().contains("listed no changes"));
        assert!(
            requests.note().contains("left out: 7 of GitRepository b/fleet"),
            "{}",
            requests.note()
        );
        assert!(
            requests.note().contains("of their source: 2 of GitRepository b/fleet"),
            "{}",
            requests.note()
        );
    }
}
