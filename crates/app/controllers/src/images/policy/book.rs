//! The policies of each namespace as automations see them, kept from run to run.
//!
//! Every automation sees every policy of its namespace, and those of others that allow it to. Decoding 500 of them
//! costs more than a run that finds nothing, so the decoded policies are kept and updated when single ones change.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::super::annotations::ALLOWS;
use super::labels::ClusterLabels;
use crate::parts::context::Context;
use bumpwright_api::{ImagePolicy, LabelSelector, ObjectName};
use bumpwright_kube::{Cache, IMAGE_POLICY, Index, Object};
use bumpwright_policy::PolicyName;
use bumpwright_runtime::clock;
use bumpwright_update::{NamespaceLabels, Policies};

/// The meaning of annotations with this prefix may depend on the time.
const TIMED: &str = "bumpwright.dev/";

/// Those that each run judges again, or that say the same at all times.
const TIMELESS: [&str; 4] = [
    ALLOWS,
    "bumpwright.dev/window",
    "bumpwright.dev/allow-downgrade",
    "bumpwright.dev/release",
];

/// How often policies with other ones are read again for all namespaces: their owner must not make
/// runs of others expensive.
const SHARED_AGAIN: Duration = Duration::from_secs(30);

/// Pages by namespace.
#[derive(Debug)]
pub(crate) struct PolicyBook {
    cache: Arc<Cache>,
    /// Those that may allow automations of other namespaces to use them.
    sharing: Arc<Index<()>>,
    /// Judges namespaces for policies that allow automations by labels; none with `--no-cross-namespace-refs`.
    labels: Option<Arc<dyn NamespaceLabels>>,
    pages: Mutex<HashMap<String, Page>>,
    /// The policies of all namespaces that allow automations of others.
    shared: Mutex<Page>,
}

/// The policies of a namespace.
#[derive(Debug)]
struct Page {
    policies: Arc<Policies>,
    /// Their images, in the form of automations' statuses.
    images: Arc<Map<String, Value>>,
    /// Decoded policies.
    read: HashMap<ObjectName, Arc<Object>>,
    /// When those were read last whose annotations depend on the time.
    timed: Instant,
    /// When images were seen to change, in seconds since 1970-01-01 UTC.
    changed: HashMap<ObjectName, i64>,
}

impl PolicyBook {
    pub(crate) fn new(context: &Arc<Context>, cache: Arc<Cache>) -> Self {
        let crosses = !context.settings.no_cross_namespace_refs;
        let shares = |object: &Object| object.annotations.get(ALLOWS).map(|_| ()).into_iter().collect();
        Self {
            sharing: Index::of(&cache, shares),
            cache,
            labels: crosses.then(|| Arc::new(ClusterLabels::new(context)) as Arc<dyn NamespaceLabels>),
            pages: Mutex::default(),
            shared: Mutex::new(Page::new(None)),
        }
    }

    /// The policies of a namespace together with those of others that may allow it to use them, and the images of those
    /// of its own that match the selector, by name.
    pub(crate) fn of(&self, namespace: &str, selector: Option<&LabelSelector>) -> (Arc<Policies>, Value) {
        let own = self.cache.list_in(namespace);
        let mut others = match &self.labels {
            Some(_) => self.sharing.get(&()),
            None => Vec::new(),
        };
        // What was found may have changed since.
        others.retain(|object| object.annotations.contains_key(ALLOWS));
        let others = self.others(&others);
        let mut pages = self.pages.lock();
        let page = pages
            .entry(namespace.to_owned())
            .or_insert_with(|| Page::new(self.labels.clone()));
        page.update(&own, Duration::ZERO);
        page.set_others(others);
        let (policies, images) = (Arc::clone(&page.policies), Arc::clone(&page.images));
        drop(pages);
        let observed = match selector {
            None => (*images).clone(),
            Some(selector) => {
                let wanted = own
                    .iter()
                    .filter(|object| selector.matches(&object.labels).unwrap_or(false));
                let named = wanted.filter_map(|object| images.get_key_value(&object.name.name));
                named.map(|(name, image)| (name.clone(), image.clone())).collect()
            }
        };
        (policies, Value::Object(observed))
    }

    /// The policies that allow automations of other namespaces, if there are some.
    fn others(&self, objects: &[Arc<Object>]) -> Option<Arc<Policies>> {
        let mut shared = self.shared.lock();
        shared.update(objects, SHARED_AGAIN);
        (!objects.is_empty()).then(|| Arc::clone(&shared.policies))
    }
}

impl PolicyBook {
    /// When a policy (`namespace/name`) chose its image, in seconds since 1970-01-01 UTC, if that was seen.
    pub(crate) fn appeared(&self, policy: &str) -> Option<i64> {
        let policy = ObjectName::parse(policy)?;
        let pages = self.pages.lock();
        pages.get(&policy.namespace)?.changed.get(&policy).copied()
    }
}

impl Page {
    fn new(labels: Option<Arc<dyn NamespaceLabels>>) -> Self {
        let policies = Policies::of_cluster(clock::now());
        Self {
            policies: Arc::new(match labels {
                Some(labels) => policies.with_labels(labels),
                None => policies,
            }),
            images: Arc::default(),
            read: HashMap::new(),
            timed: Instant::now(),
            changed: HashMap::new(),
        }
    }

    fn update(&mut self, objects: &[Arc<Object>], again: Duration) {
        let is_due = self.timed.elapsed() >= again;
        if is_due {
            self.timed = Instant::now();
        }
        let names: BTreeSet<&ObjectName> = objects.iter().map(|object| &object.name).collect();
        let gone: Vec<Arc<Object>> = self
            .read
            .extract_if(|name, _| !names.contains(name))
            .map(|(_, object)| object)
            .collect();
        gone.iter().for_each(|object| self.forget(object));
        for object in objects {
            let before = self.read.get(&object.name);
            let same = before.is_some_and(|before| Arc::ptr_eq(before, object));
            if !same || is_due && object.annotations.keys().any(|key| is_timed(key)) {
                self.read_anew(object);
            }
        }
    }

    fn set_others(&mut self, others: Option<Arc<Policies>>) {
        let same = match (self.policies.others(), &others) {
            (None, None) => true,
            (Some(before), Some(now)) => Arc::ptr_eq(before, now),
            _ => false,
        };
        if !same {
            Arc::make_mut(&mut self.policies).set_others(others);
        }
    }

    fn read_anew(&mut self, object: &Arc<Object>) {
        self.read.insert(object.name.clone(), Arc::clone(object));
        let Ok(policy) = object.read::<ImagePolicy>(&IMAGE_POLICY) else {
            return self.forget(object);
        };
        Arc::make_mut(&mut self.policies).replace_chosen(&policy, clock::now());
        let image = policy.latest_ref().ok().flatten().map(|image| json!(image));
        if self.images.get(&object.name.name) != image.as_ref() {
            if self.images.contains_key(&object.name.name) {
                self.changed.insert(object.name.clone(), clock::now().unix_seconds());
            }
            let images = Arc::make_mut(&mut self.images);
            match image {
                Some(image) => images.insert(object.name.name.clone(), image),
                None => images.remove(&object.name.name),
            };
        }
    }

    fn forget(&mut self, object: &Object) {
        let name = PolicyName::new(&object.name.namespace, &object.name.name);
        Arc::make_mut(&mut self.policies).remove(&name);
        Arc::make_mut(&mut self.images).remove(&object.name.name);
        self.changed.remove(&object.name);
    }
}

fn is_timed(key: &str) -> bool {
    key.starts_with(TIMED) && !TIMELESS.contains(&key)
}
