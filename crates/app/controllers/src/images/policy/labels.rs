//! The labels of namespaces, for policies that allow automations by them. Only a run whose markers name such a
//! policy asks for them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bumpwright_api::{LabelSelector, ObjectName};
use bumpwright_kube::NAMESPACE;
use bumpwright_update::NamespaceLabels;
use parking_lot::Mutex;

use crate::parts::context::Context;

/// How old labels may be.
const FRESH: Duration = Duration::from_secs(60);

/// Labels, and when they were read.
type Read = (Instant, Arc<BTreeMap<String, String>>);

/// Reads the labels of namespaces at the API server.
#[derive(Debug)]
pub(crate) struct ClusterLabels {
    context: Arc<Context>,
    runtime: tokio::runtime::Handle,
    read: Mutex<HashMap<String, Read>>,
}

impl ClusterLabels {
    /// For threads that may block, of this runtime.
    pub(crate) fn new(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
            runtime: tokio::runtime::Handle::current(),
            read: Mutex::default(),
        }
    }

    fn of(&self, namespace: &str) -> Option<Arc<BTreeMap<String, String>>> {
        let cached = self.read.lock().get(namespace).cloned();
        if let Some((at, labels)) = cached.filter(|(at, _)| at.elapsed() < FRESH) {
            let _ = at;
            return Some(labels);
        }
        let name = ObjectName::new("", namespace);
        match self.runtime.block_on(self.context.cluster.get(&NAMESPACE, &name)) {
            Ok(object) => {
                let labels = Arc::new(object.labels.clone());
                let mut read = self.read.lock();
                read.retain(|_, (at, _)| at.elapsed() < FRESH);
                read.insert(namespace.to_owned(), (Instant::now(), Arc::clone(&labels)));
                Some(labels)
            }
            Err(error) => {
                // Not reported to tenants: the policy is not theirs.
                let what =
                    format!("cannot read the labels of namespace {namespace}, which ImagePolicies of others ask for");
                self.context.log.error(&error, &what);
                None
            }
        }
    }
}

impl NamespaceLabels for ClusterLabels {
    fn selected(&self, namespace: &str, selector: &LabelSelector) -> bool {
        let labels = self.of(namespace);
        labels.is_some_and(|labels| selector.matches(&labels).unwrap_or(false))
    }
}
