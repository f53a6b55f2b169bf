//! Changes of an object that trigger its reconciliation (predicates of Flux's controllers; C35).

use std::sync::Arc;

use super::status::REQUESTED_AT;
use crate::work::queue::Queue;
use bumpwright_api::ANNOTATION_PREFIX;
use bumpwright_kube::{Cache, Change, Object};

/// Queues objects when they are new, when their spec changes, when they are deleted, or on request.
pub fn own(cache: &Cache, queue: &Arc<Queue>) {
    let queue = Arc::clone(queue);
    cache.listen(move |change| match change {
        Change::Added(object) => queue.add(object.name.clone()),
        Change::Updated(old, new) if concerns(old, new) => {
            cancel(new, &queue);
            queue.add(new.name.clone());
        }
        Change::Updated(..) => {}
        Change::Deleted(object) => {
            queue.cancel(&object.name);
            queue.forget(&object.name);
        }
    });
}

/// Cancels the reconciliation of a deleted object: its results are not needed.
pub fn cancel(object: &Object, queue: &Queue) {
    if object.deleting {
        queue.cancel(&object.name);
    }
}

/// Whether a change is one of the spec, a deletion or a request.
pub fn concerns(old: &Object, new: &Object) -> bool {
    let requested = |object: &Object| object.annotations.get(REQUESTED_AT).cloned();
    let ours = |object: &Object| -> Vec<(String, String)> {
        let annotations = object.annotations.iter();
        annotations
            .filter(|(key, _)| key.starts_with(ANNOTATION_PREFIX))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    old.generation != new.generation
        || old.deleting != new.deleting
        || (requested(new).is_some() && requested(old) != requested(new))
        || ours(old) != ours(new)
}
