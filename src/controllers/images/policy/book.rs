//! The policies of each namespace as automations see them, kept from run to run.
//!
//! Every automation sees every policy of its namespace. Decoding 500 of them costs more than a run that finds nothing, so the
//! decoded policies of a namespace are kept and updated when single ones change.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};

use bumpwright_api::{ImagePolicy, LabelSelector};
use bumpwright_kube::{Cache, IMAGE_POLICY, Object};
use bumpwright_policy::PolicyName;
use bumpwright_runtime::clock;
use bumpwright_update::Policies;

/// The meaning of annotations with this prefix may depend on the time.
const TIMED: &str = "bumpwright.dev/";

/// Pages by namespace.
#[derive(Debug)]
pub(crate) struct PolicyBook {
    cache: Arc<Cache>,
    pages: Mutex<HashMap<String, Page>>,
}

/// The policies of a namespace.
#[derive(Debug)]
struct Page {
    policies: Arc<Policies>,
    /// Their images, in the form of automations' statuses.
    images: Arc<Map<String, Value>>,
    /// Decoded policies by name.
    read: HashMap<String, Arc<Object>>,
    /// When images were seen to change, in seconds since 1970-01-01 UTC, by the name of the policy.
    changed: HashMap<String, i64>,
}

impl PolicyBook {
    pub(crate) fn new(cache: Arc<Cache>) -> Self {
        Self {
            cache,
            pages: Mutex::default(),
        }
    }

    /// The policies of a namespace, and the images of those that match the selector, by name.
    pub(crate) fn of(&self, namespace: &str, selector: Option<&LabelSelector>) -> (Arc<Policies>, Value) {
        let objects = self.cache.list(|object| object.name.namespace == namespace);
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let page = pages.entry(namespace.to_owned()).or_insert_with(Page::new);
        page.update(&objects);
        let (policies, images) = (Arc::clone(&page.policies), Arc::clone(&page.images));
        drop(pages);
        let observed = match selector {
            None => (*images).clone(),
            Some(selector) => {
                let wanted = objects
                    .iter()
                    .filter(|object| selector.matches(&object.labels).unwrap_or(false));
                let named = wanted.filter_map(|object| images.get_key_value(&object.name.name));
                named.map(|(name, image)| (name.clone(), image.clone())).collect()
            }
        };
        (policies, Value::Object(observed))
    }
}

impl PolicyBook {
    /// When a policy (`namespace/name`) chose its image, in seconds since 1970-01-01 UTC, if that was seen.
    pub(crate) fn appeared(&self, policy: &str) -> Option<i64> {
        let (namespace, name) = policy.split_once('/')?;
        let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.get(namespace)?.changed.get(name).copied()
    }
}

impl Page {
    fn new() -> Self {
        Self {
            policies: Arc::new(Policies::of_cluster(clock::now())),
            images: Arc::default(),
            read: HashMap::new(),
            changed: HashMap::new(),
        }
    }

    fn update(&mut self, objects: &[Arc<Object>]) {
        let there: BTreeSet<&str> = objects.iter().map(|object| object.name.name.as_str()).collect();
        let gone: Vec<Arc<Object>> = self
            .read
            .extract_if(|name, _| !there.contains(name.as_str()))
            .map(|(_, object)| object)
            .collect();
        gone.iter().for_each(|object| self.forget(object));
        for object in objects {
            let known = self.read.get(&object.name.name);
            let same = known.is_some_and(|known| Arc::ptr_eq(known, object));
            if !same || object.annotations.keys().any(|key| key.starts_with(TIMED)) {
                self.read_anew(object);
            }
        }
    }

    fn read_anew(&mut self, object: &Arc<Object>) {
        self.read.insert(object.name.name.clone(), Arc::clone(object));
        let Ok(policy) = object.read::<ImagePolicy>(&IMAGE_POLICY) else {
            return self.forget(object);
        };
        Arc::make_mut(&mut self.policies).replace_chosen(&policy, clock::now());
        let image = policy.latest_ref().ok().flatten().map(|image| json!(image));
        if self.images.get(&object.name.name) != image.as_ref() {
            if self.images.contains_key(&object.name.name) {
                self.changed
                    .insert(object.name.name.clone(), clock::now().unix_seconds());
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
        self.changed.remove(&object.name.name);
    }
}
