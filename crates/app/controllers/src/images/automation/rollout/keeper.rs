//! Keeps the record of one automation during a reconciliation.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::RETRY;
use crate::images::annotations::RECORD;
use crate::images::automation::context::AutomationContext;
use bumpwright_kube::{ClusterError, IMAGE_UPDATE_AUTOMATION, Object};
use bumpwright_rollout::{Record, TooLarge};

/// The field manager of the annotation.
const MANAGER: &str = "image-automation-controller";

/// When to look again at a record that others have written.
const SOON: Duration = Duration::from_secs(1);

/// Writes over the record that was read at the beginning, or written last, and over no other.
pub(super) struct Keeper {
    context: Arc<AutomationContext>,
    /// The object at the beginning.
    object: Arc<Object>,
    /// The object after the last write.
    written: Mutex<Option<Object>>,
}

/// Why a record was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unwritten {
    #[error("{0}")]
    TooLarge(TooLarge),
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

impl Unwritten {
    /// When to look again.
    pub(super) fn pause(&self) -> Duration {
        match self {
            Self::Cluster(ClusterError::Conflict(_)) => SOON,
            _ => RETRY,
        }
    }
}

impl Keeper {
    pub(super) fn new(context: &Arc<AutomationContext>, object: &Arc<Object>) -> Self {
        Self {
            context: Arc::clone(context),
            object: Arc::clone(object),
            written: Mutex::default(),
        }
    }

    /// The object after the last write; none before the first one.
    pub(super) fn written(&self) -> Option<Object> {
        self.written.lock().clone()
    }

    /// Writes the record, or removes it.
    ///
    /// # Errors
    /// [`Unwritten`]; a conflict when another process has written it since it was read.
    pub(super) async fn write(&self, record: Option<&Record>) -> Result<(), Unwritten> {
        let text = record.map(Record::text).transpose().map_err(Unwritten::TooLarge)?;
        let before = self.written().unwrap_or_else(|| (*self.object).clone());
        let kind = (&IMAGE_UPDATE_AUTOMATION, MANAGER);
        let cluster = &self.context.shared.cluster;
        let after = cluster.annotate(kind, &before, RECORD, text.as_deref()).await?;
        *self.written.lock() = Some(after);
        Ok(())
    }
}
