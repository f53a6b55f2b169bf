//! Which images the objects of Kustomizations at a standstill have: read with the rights of the process, whatever may
//! not be read stays unknown. What is reported of it is a yes or no to those who see the Kustomization and the policy.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _, stream};
use tokio::time::{Instant, timeout_at};

use bumpwright_api::ObjectName;
use bumpwright_kube::{Answered, Cluster, ClusterError, GroupVersionKind};
use bumpwright_overview::{Doubt, Entry};
use serde_json::Value;

/// How long is waited for all objects together; Kustomizations that are not read by then stay unknown.
const PATIENCE: Duration = Duration::from_secs(3);

/// The objects that are read at once.
const AT_ONCE: usize = 16;

/// How long an answer is kept: objects change while nobody applies them only when somebody changes them by hand.
const KEPT: Duration = Duration::from_secs(300);

/// How long it is kept that an object could not be read.
const UNREAD: Duration = Duration::from_secs(30);

/// The policies whose images each Kustomization has.
pub type Uses = BTreeMap<ObjectName, BTreeSet<ObjectName>>;

/// The answers, without Kustomizations that could not be read whole.
pub async fn read(cluster: &Cluster, doubts: &BTreeMap<ObjectName, Doubt>) -> Uses {
    let all = doubts.iter();
    let objects = all.flat_map(|(name, doubt)| doubt.objects.iter().map(move |object| (name, doubt, object)));
    let reads = objects.map(|(name, doubt, object)| {
        async move {
            let found = fetch(cluster, object).await.ok().flatten();
            (name, found.map(|object| doubt.found_in(&object)))
        }
        .boxed()
    });
    let reads: Vec<BoxFuture<'_, _>> = reads.collect();
    let mut reads = stream::iter(reads).buffer_unordered(AT_ONCE);
    let mut left: BTreeMap<&ObjectName, usize> =
        doubts.iter().map(|(name, doubt)| (name, doubt.objects.len())).collect();
    let uses = doubts.keys().map(|name| (name.clone(), BTreeSet::new()));
    let (mut uses, end): (Uses, _) = (uses.collect(), Instant::now() + PATIENCE);
    while let Ok(Some((name, found))) = timeout_at(end, reads.next()).await {
        let Some(found) = found else { continue };
        uses.entry(name.clone()).or_default().extend(found);
        left.entry(name).and_modify(|left| *left -= 1);
    }
    uses.retain(|name, _| left.get(name) == Some(&0));
    uses
}

/// An object; none when it or its kind is not there.
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
pub(super) struct Known(BTreeMap<ObjectName, Answer>);

struct Answer {
    doubt: Doubt,
    until: Instant,
    /// None where not all could be read.
    has: Option<BTreeSet<ObjectName>>,
}

impl Known {
    /// The answers to these questions; asks the cluster for those that are new.
    pub(super) async fn answer(&mut self, cluster: &Cluster, mut doubts: BTreeMap<ObjectName, Doubt>) -> Uses {
        let now = Instant::now();
        self.0
            .retain(|name, answer| answer.until > now && doubts.get(name) == Some(&answer.doubt));
        doubts.retain(|name, _| !self.0.contains_key(name));
        let mut read = if doubts.is_empty() {
            Uses::new()
        } else {
            read(cluster, &doubts).await
        };
        for (name, doubt) in doubts {
            let has = read.remove(&name);
            let until = Instant::now() + if has.is_some() { KEPT } else { UNREAD };
            self.0.insert(name, Answer { doubt, until, has });
        }
        let answers = self
            .0
            .iter()
            .filter_map(|(name, answer)| Some((name, answer.has.as_ref()?)));
        answers.map(|(name, has)| (name.clone(), has.clone())).collect()
    }
}
