//! What one person sees: a snapshot without everything else, and what is reported of it. People with equal
//! rights share a view.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::kinds::named;
use super::rights::{Place, Sight};
use super::snapshot::Snapshot;
use crate::page::requests::Requests;
use bumpwright_overview::{Overview, World};

/// The most views that are kept.
const VIEWS: usize = 16;

/// What one person sees.
#[derive(Debug)]
pub(super) struct View {
    /// The number of its snapshot.
    number: u64,
    sight: Sight,
    pub(super) world: Arc<World>,
    pub(super) overview: Overview,
    /// Differs when what is reported differs.
    mark: [u8; 32],
    /// What is left out, and why.
    pub(super) left_out: Vec<String>,
    /// Whether this process reviews pull requests.
    pub(super) has_requests: bool,
    /// The requests of GitRepositories that this person may list, with whole reviews: [`View::may`] says what of them
    /// this person sees.
    pub(super) requests: Requests,
}

impl View {
    fn new(snapshot: &Snapshot, sight: Sight) -> Self {
        let world = if sight.is_all() {
            Arc::clone(&snapshot.world)
        } else {
            let world = World::clone(&snapshot.world);
            Arc::new(world.visible(|kind, namespace| sight.has(kind, namespace)))
        };
        let mut left_out = snapshot.left_out.clone();
        if !sight.is_complete {
            left_out.push("some rights are not checked yet: load the page again in a moment".to_owned());
        }
        // It makes no difference what somebody may do with a kind that is not there.
        let unlisted = sight
            .unlisted
            .iter()
            .filter(|kind| !snapshot.absent.contains(kind.kind));
        let unlisted: Vec<&str> = unlisted.map(|kind| kind.plural).collect();
        if !unlisted.is_empty() {
            left_out.push(format!(
                "you may not list {}, so none of them is here: ask for the role view, in which Flux and bumpwright include them, in your namespaces \
                 or in all",
                unlisted.join(", ")
            ));
        }
        let refused = snapshot.refused.iter();
        let refused = refused.filter(|id| sight.has(&id.kind, &id.name.namespace)).count();
        if refused > 0 {
            left_out.push(format!(
                "{refused} objects are left out, as all of their namespace, or of all, take too much memory for pages: look at them with kubectl, \
                 and shorten their lists"
            ));
        }
        let overview = world.overview();
        let requests = snapshot.requests.as_deref().map(|requests| requests.visible(&sight));
        let has_requests = requests.is_some();
        let requests = requests.unwrap_or_default();
        let told = serde_json::to_vec(&(&overview, &left_out, requests.marks())).unwrap_or_default();
        Self {
            number: snapshot.number,
            sight,
            world,
            overview,
            mark: Sha256::digest(told).into(),
            left_out,
            has_requests,
            requests,
        }
    }

    /// Whether this person may list a kind in a namespace.
    pub(super) fn may(&self, kind: &str, namespace: &str) -> bool {
        self.sight.has(kind, namespace)
    }

    /// The mark in streams and pages.
    pub(super) fn seen(&self) -> String {
        self.mark.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The kinds and namespaces that a snapshot has objects of.
pub(super) fn places(snapshot: &Snapshot) -> BTreeSet<Place> {
    let world = &snapshot.world;
    let ids = world.all().map(|(id, _)| id).chain(snapshot.refused.iter().cloned());
    let ids = ids.map(|id| (id.kind, id.name.namespace));
    let events = world
        .events
        .iter()
        .map(|event| ("Event".to_owned(), event.metadata.namespace.clone()));
    let places: BTreeSet<(String, String)> = ids.chain(events).collect();
    let requests = snapshot.requests.iter().flat_map(|requests| requests.places());
    places
        .into_iter()
        .filter_map(|(kind, namespace)| Some((named(&kind)?.kind, namespace)))
        .chain(requests)
        .collect()
}

#[derive(Default)]
pub(super) struct Views {
    latest: Mutex<VecDeque<Arc<View>>>,
    /// One is made at a time.
    making: tokio::sync::Mutex<()>,
}

impl Views {
    /// What somebody with this sight sees.
    pub(super) async fn of(&self, snapshot: &Arc<Snapshot>, sight: Sight) -> Arc<View> {
        if let Some(view) = self.find(snapshot, &sight) {
            return view;
        }
        let _making = self.making.lock().await;
        if let Some(view) = self.find(snapshot, &sight) {
            return view;
        }
        let of = Arc::clone(snapshot);
        let rendered = tokio::task::spawn_blocking({
            let sight = sight.clone();
            move || View::new(&of, sight)
        });
        let nothing = || {
            let sight = Sight {
                is_complete: false,
                ..sight.clone()
            };
            View {
                number: 0,
                sight,
                world: Arc::default(),
                overview: Overview::default(),
                mark: [0; 32],
                left_out: vec!["the page could not be made".to_owned()],
                has_requests: false,
                requests: Requests::default(),
            }
        };
        let view = Arc::new(rendered.await.unwrap_or_else(|_| nothing()));
        let mut latest = self.latest.lock();
        // Those of earlier snapshots are used by nobody any more.
        latest.retain(|one| one.number >= snapshot.number && one.sight != view.sight);
        latest.push_front(Arc::clone(&view));
        latest.truncate(VIEWS);
        view
    }

    pub(super) fn forget(&self) {
        self.latest.lock().clear();
    }

    fn find(&self, snapshot: &Snapshot, sight: &Sight) -> Option<Arc<View>> {
        let latest = self.latest.lock();
        let view = latest
            .iter()
            .find(|view| view.number == snapshot.number && view.sight == *sight);
        view.map(Arc::clone)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use bumpwright_api::ObjectName;
    use bumpwright_overview::Id;

    use super::*;

    /// What may not be seen is not counted.
    #[test]
    fn people_are_told_what_there_is_no_room_for() {
        let id = |namespace: &str| Id::new("Kustomization", ObjectName::new(namespace, "app"));
        let snapshot = Snapshot {
            number: 1,
            world: Arc::default(),
            left_out: Vec::new(),
            absent: BTreeSet::new(),
            refused: vec![id("apps"), id("mallory")],
            requests: None,
        };
        let places = places(&snapshot);
        assert_eq!(places.len(), 2);
        let told = |namespace: &str| {
            let some: BTreeSet<Place> = places.iter().filter(|(_, one)| one == namespace).cloned().collect();
            let sight = Sight {
                places: Some(Arc::new(some)),
                ..Sight::ALL
            };
            View::new(&snapshot, sight).left_out
        };
        assert!(
            told("apps")[0].starts_with("1 objects are left out"),
            "{:?}",
            told("apps")
        );
        assert_eq!(told("shop"), Vec::<String>::new());
        assert!(View::new(&snapshot, Sight::ALL).left_out[0].starts_with("2 objects"));
    }
}
