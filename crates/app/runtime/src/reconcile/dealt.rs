//! Objects that several processes share: each is reconciled by one of them at a time. The
//! rules are in `bumpwright_shards`.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use super::driver::{Driver, Reconcile};
use bumpwright_api::ObjectName;
use bumpwright_kube::{Kind, Object};
use bumpwright_shards::Verdict;

/// When an object is checked again that another process still works at.
const AGAIN: Duration = Duration::from_millis(500);

/// Which objects are this process' own.
pub trait Dealt: Debug + Send + Sync {
    /// Whether an object of the watch is.
    fn verdict(&self, kind: &'static Kind, object: &Object) -> Verdict;

    /// Whether the owner of an object follows from its spec. Then it is read again before it is reconciled, as the
    /// watch may be late.
    fn follows_spec(&self, kind: &'static Kind) -> bool;

    /// Whether a fresh state of the object has the owner that the watched one has.
    fn is_same(&self, kind: &'static Kind, watched: &Object, fresh: &Object) -> bool;
}

impl<R: Reconcile> Driver<R> {
    /// Whether an object that is in work from now on may be reconciled here. Otherwise its state here is dropped, or it
    /// is looked at again soon.
    pub(super) async fn may_begin(&self, dealt: &dyn Dealt, name: &ObjectName) -> bool {
        // What belongs to an object that is gone is dropped by everybody.
        let Some(object) = self.cache.get(name) else {
            return true;
        };
        match dealt.verdict(R::KIND, &object) {
            Verdict::Ours if !dealt.follows_spec(R::KIND) => true,
            Verdict::Ours => self.is_confirmed(dealt, &object).await,
            Verdict::Later => {
                self.queue.add_after(name.clone(), AGAIN);
                false
            }
            Verdict::Others => {
                self.queue.forget(name);
                self.services.metrics.forget(R::KIND.kind, &name.namespace, &name.name);
                self.statuses.forget(name);
                self.reconciler.moved(&object).await;
                false
            }
        }
    }

    async fn is_confirmed(&self, dealt: &dyn Dealt, object: &Arc<Object>) -> bool {
        let fresh = self.services.cluster.get(R::KIND, &object.name).await;
        let is_same = fresh.is_ok_and(|fresh| dealt.is_same(R::KIND, object, &fresh));
        // The deal may have changed meanwhile.
        let is_ours = is_same && dealt.verdict(R::KIND, object) == Verdict::Ours;
        if !is_ours {
            self.queue.add_after(object.name.clone(), AGAIN);
        }
        is_ours
    }

    /// Whether an object in work is another process' own by now, so that its reconciliation should wait for nothing.
    pub(super) fn has_moved(&self, name: &ObjectName) -> bool {
        let is_others = |dealt: &Arc<dyn Dealt>| {
            let object = self.cache.get(name);
            object.is_some_and(|object| dealt.verdict(R::KIND, &object) == Verdict::Others)
        };
        self.services.dealt.as_ref().is_some_and(is_others)
    }
}
