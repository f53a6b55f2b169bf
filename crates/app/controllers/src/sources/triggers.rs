//! Triggers of sources that are made of others: of a HelmChart by the artifact of its source (source-controller,
//! `SourceRevisionChangePredicate`).

use std::sync::Arc;

use super::artifacts;
use bumpwright_api::ObjectName;
use bumpwright_kube::{Cache, Change, Index, Object};
use bumpwright_runtime::Queue;

/// Those that are made of each object, by its kind and name.
pub(super) type MadeOf = Index<(String, ObjectName)>;

/// The revision that an object was made of last, well or not.
pub(super) const OBSERVED: &str = "observedSourceArtifactRevision";

/// New revisions of the artifacts of a kind.
pub(super) fn of_source(sources: &Arc<Cache>, made_of: &Arc<MadeOf>, queue: &Arc<Queue>) {
    let (made_of, queue) = (Arc::clone(made_of), Arc::clone(queue));
    let kind = sources.kind().kind;
    sources.listen(move |change| {
        let (Change::Added(source) | Change::Updated(_, source)) = change else {
            return;
        };
        let Some(revision) = revision(source) else { return };
        let is_known = matches!(change, Change::Updated(old, _) if self::revision(old).as_ref() == Some(&revision));
        if is_known {
            return;
        }
        for user in made_of.get(&(kind.to_owned(), source.name.clone())) {
            let status = user.status();
            let observed = status.get(OBSERVED).and_then(serde_json::Value::as_str);
            if observed != Some(&revision) {
                queue.add_for_revision(user.name.clone(), &revision, || format!("{kind}/{}", source.name));
            }
        }
    });
}

fn revision(source: &Object) -> Option<String> {
    Some(artifacts::read(source.status().get("artifact")?)?.revision)
}
