//! Which images the objects of Kustomizations have: read with the rights of the process, whatever may not be read stays
//! unknown. Those who see the Kustomization and the policy are shown which version of the policy's image an object has
//! that the Kustomization has applied, and nothing else of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _, stream};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout_at};

use bumpwright_api::ObjectName;
use bumpwright_kube::{Answered, Cluster, ClusterError, GroupVersionKind};
use bumpwright_overview::{Doubt, Entry, Uses};
use serde_json::Value;

/// How long is waited for all objects together; Kustomizations that are not read by then stay unknown.
const PATIENCE: Duration = Duration::from_secs(3);

/// The objects that are read at once.
const AT_ONCE: usize = 16;

/// How long an answer is kept: objects change while no other revision is applied only when somebody
/// changes them by hand.
const KEPT: Duration = Duration::from_secs(300);

/// How long it is kept that an object could not be read.
const UNREAD: Duration = Duration::from_secs(60);

/// What the objects of each Kustomization have.
pub type Answers = BTreeMap<ObjectName, Uses>;

/// The answers, without Kustomizations of which nothing could be read.
async fn read(cluster: &Cluster, doubts: &BTreeMap<ObjectName, Doubt>) -> Answers {
    let refusals = Refusals::default();
    let all = doubts.iter();
    let objects = all.flat_map(|(name, doubt)| doubt.objects.iter().map(move |object| (name, doubt, object)));
    let reads = objects.map(|(name, doubt, object)| {
        let refusals = &refusals;
        async move {
            let found = refusals.fetch(cluster, object).await;
            (name, found.map(|object| doubt.found_in(&object)))
        }
        .boxed()
    });
    let reads: Vec<BoxFuture<'_, _>> = reads.collect();
    let mut reads = stream::iter(reads).buffer_unordered(AT_ONCE);
    let answers = doubts.iter().map(|(name, doubt)| (name.clone(), doubt.unanswered()));
    let (mut answers, end): (Answers, _) = (answers.collect(), Instant::now() + PATIENCE);
    while let Ok(Some((name, found))) = timeout_at(end, reads.next()).await {
        if let (Some(found), Some(uses)) = (found, answers.get_mut(name)) {
            uses.add(found);
        }
    }
    let objects = |name: &ObjectName| doubts.get(name).map_or(0, |doubt| doubt.objects.len());
    answers.retain(|name, uses| uses.unread == 0 || uses.unread < objects(name));
    answers
}

/// What the process may not read: group, kind and namespace. One refusal is enough, since rights are
/// seldom given by name.
#[derive(Default)]
struct Refusals(Mutex<BTreeSet<(String, String, String)>>);

impl Refusals {
    /// An object; none when it is not there, or cannot be read.
    async fn fetch(&self, cluster: &Cluster, object: &Entry) -> Option<Answered<Value>> {
        let place = (object.group.clone(), object.kind.clone(), object.namespace.clone());
        if self.0.lock().contains(&place) {
            return None;
        }
        match fetch(cluster, object).await {
            Ok(found) => found,
            Err(error) => {
                if error.is_forbidden() {
                    self.0.lock().insert(place);
                }
                None
            }
        }
    }
}

/// An object; none when its kind is not there.
async fn fetch(cluster: &Cluster, object: &Entry) -> Result<Option<Answered<Value>>, ClusterError> {
    let kind = GroupVersionKind {
        group: object.group.clone(),
        version: object.version.clone(),
        kind: object.kind.clone(),
    };
    let Some(resource) = cluster.resource_at_any_version(&kind).await? else {
        return Ok(None);
    };
    let name = ObjectName::new(&object.namespace, &object.name);
    cluster.fetch(&resource, &name).await.map(Some)
}

/// The answers of the last minutes.
#[derive(Default)]
pub struct Known(BTreeMap<ObjectName, Answer>);

struct Answer {
    doubt: Doubt,
    until: Instant,
    /// None where nothing could be read.
    uses: Option<Uses>,
}

impl Known {
    /// The answers to these questions; asks the cluster for those that are new.
    pub async fn answer(&mut self, cluster: &Cluster, mut doubts: BTreeMap<ObjectName, Doubt>) -> Answers {
        let now = Instant::now();
        self.0
            .retain(|name, answer| answer.until > now && doubts.get(name) == Some(&answer.doubt));
        doubts.retain(|name, _| !self.0.contains_key(name));
        let mut read = if doubts.is_empty() {
            Answers::new()
        } else {
            read(cluster, &doubts).await
        };
        for (name, doubt) in doubts {
            let uses = read.remove(&name);
            let is_whole = uses.as_ref().is_some_and(|uses| uses.unread == 0);
            let until = Instant::now() + if is_whole { KEPT } else { UNREAD };
            self.0.insert(name, Answer { doubt, until, uses });
        }
        let answers = self
            .0
            .iter()
            .filter_map(|(name, answer)| Some((name, answer.uses.as_ref()?)));
        answers.map(|(name, uses)| (name.clone(), uses.clone())).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bumpwright_overview::World;
    use bumpwright_testkit::http_server::HttpServer;
    use bumpwright_testkit::reply::Reply;
    use serde_json::json;

    use super::*;
    use crate::snapshot::tests::connect;

    /// A Kustomization with as many Deployments, whose image an automation has written.
    fn world(deployments: usize) -> World {
        let image = json!({"name": "ghcr.io/acme/web", "tag": "1.1.0"});
        let metadata = |name: &str| json!({"namespace": "fs", "name": name});
        let source = json!({"kind": "GitRepository", "name": "fleet"});
        let entries: Vec<Value> = (0..deployments)
            .map(|n| json!({"id": format!("web_{n}_apps_Deployment"), "v": "v1"}))
            .collect();
        let policy = json!({"metadata": metadata("web"), "spec": {"imageRepositoryRef": {"name": "web"}}, "status": {"latestRef": image}});
        let automation = json!({"metadata": metadata("auto"), "spec": {"sourceRef": source}, "status": {"observedPolicies": {"web": image}}});
        let kustomization = json!({"metadata": metadata("apps"), "spec": {"sourceRef": source}, "status": {"inventory": {"entries": entries}}});
        let mut world = World::default();
        let name = |name: &str| ObjectName::new("fs", name);
        world
            .policies
            .insert(name("web"), serde_json::from_value(policy).unwrap());
        world
            .automations
            .insert(name("auto"), serde_json::from_value(automation).unwrap());
        world
            .kustomizations
            .insert(name("apps"), serde_json::from_value(kustomization).unwrap());
        world
    }

    #[test]
    fn a_kind_that_may_not_be_read_is_asked_for_once() {
        let asked = Arc::<AtomicUsize>::default();
        let counter = Arc::clone(&asked);
        let server = HttpServer::start(None, move |request, out| {
            if request.path == "/apis/apps/v1" {
                let kind = json!({"name": "deployments", "kind": "Deployment", "namespaced": true, "verbs": ["get"]});
                let kinds = json!({"kind": "APIResourceList", "apiVersion": "v1", "resources": [kind]});
                return Reply::json(&kinds).send(request, out);
            }
            counter.fetch_add(1, Ordering::SeqCst);
            let refusal =
                json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403});
            Reply::bytes(403, "application/json", refusal.to_string()).send(request, out)
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let answers = runtime.block_on(async {
            let cluster = connect(&server).await;
            Known::default().answer(&cluster, world(150).doubts()).await
        });
        assert!(answers.is_empty());
        let asked = asked.load(Ordering::SeqCst);
        assert!((1..=AT_ONCE).contains(&asked), "{asked}");
    }
}
