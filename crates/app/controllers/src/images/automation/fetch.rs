//! After a push, the source of the branch is asked to fetch at once: its interval would delay what is on its way. The
//! annotation reaches the process that reconciles the source, this one or another, also after a restart.

use serde_json::json;

use super::context::AutomationContext;
use bumpwright_api::{GitRepository, ObjectName};
use bumpwright_kube::GIT_REPOSITORY;
use bumpwright_runtime::{REQUESTED_AT, ReconcileRequest, clock};
use bumpwright_update::{PushStatus, Run, Start, full_branch, settings};

/// The field manager of the annotation.
const MANAGER: &str = "image-automation-controller";

/// What a source fetches.
pub(super) struct Fetched {
    pub(super) name: ObjectName,
    /// The full name of its branch; none when it follows no branch.
    branch: Option<String>,
}

impl Fetched {
    pub(super) fn of(source: &GitRepository) -> Self {
        let start = settings::start(source.spec.reference.as_ref()).ok();
        Self {
            name: source.metadata.object_name(),
            branch: start.and_then(|(start, _)| match start {
                Start::Branch(branch) => Some(full_branch(&branch)),
                Start::Name(name) => Some(name),
                _ => None,
            }),
        }
    }

    fn has_changed(&self, run: &Run) -> bool {
        let mut pushed = run.pushes.iter().filter(|push| push.status != PushStatus::UpToDate);
        pushed.any(|push| Some(&push.reference) == self.branch.as_ref())
    }
}

/// Asks for a fetch if a run has pushed to what the source fetches. A refusal is logged and changes nothing else: the
/// source fetches when its interval is over.
pub(super) async fn request(context: &AutomationContext, request: &ReconcileRequest<'_>, source: &Fetched, run: &Run) {
    if !source.has_changed(run) {
        return;
    }
    let patch = json!({"metadata": {"annotations": {REQUESTED_AT: clock::exact(&clock::now())}}});
    let cluster = &context.shared.cluster;
    if let Err(error) = cluster.patch(&GIT_REPOSITORY, &source.name, MANAGER, &patch).await {
        let text = format!(
            "cannot ask GitRepository/{} to fetch what was pushed; it does so when its interval is over, or at once if the controller's \
             role may patch gitrepositories",
            source.name
        );
        request.log.error(&error, &text);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_update::PushReport;

    #[test]
    fn a_source_fetches_what_was_pushed_to_its_own_branch() {
        for (reference, pushed, status, expected) in [
            (json!(null), "refs/heads/master", PushStatus::Created, true),
            (json!({"branch": "main"}), "refs/heads/main", PushStatus::Created, true),
            (
                json!({"branch": "main"}),
                "refs/heads/main",
                PushStatus::UpToDate,
                false,
            ),
            (
                json!({"branch": "main"}),
                "refs/heads/bumps",
                PushStatus::Created,
                false,
            ),
            (
                json!({"branch": "main", "name": "refs/heads/x"}),
                "refs/heads/x",
                PushStatus::Created,
                true,
            ),
            (
                json!({"branch": "main", "tag": "v1"}),
                "refs/heads/main",
                PushStatus::Created,
                false,
            ),
        ] {
            let source: GitRepository = serde_json::from_value(json!({
                "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": {"name": "fleet", "namespace": "fs"},
                "spec": {"url": "https://git.example/fleet", "interval": "1h", "ref": reference},
            }))
            .unwrap();
            let push = PushReport {
                reference: pushed.to_owned(),
                old: None,
                new: String::new(),
                status,
                url: None,
            };
            let run = Run {
                pushes: vec![push],
                ..Run::default()
            };
            assert_eq!(Fetched::of(&source).has_changed(&run), expected, "{reference} {pushed}");
        }
    }
}
