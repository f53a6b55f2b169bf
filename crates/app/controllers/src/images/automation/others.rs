//! Policies of other namespaces that an automation's markers name (`bumpwright.dev/allow-automations-from`).

use std::sync::Arc;

use serde_json::{Value, json};

use super::context::AutomationContext;
use bumpwright_runtime::ReconcileRequest;
use bumpwright_update::{Policies, Run};

/// Records what the markers name, so that the automation runs again when such a policy changes. One that changed
/// between its look-up and this has it run again at once.
pub(super) fn record(
    context: &AutomationContext,
    request: &ReconcileRequest<'_>,
    run: &Run,
    before: Option<&Arc<Policies>>,
) {
    // A run that ended before it saw the markers names none.
    if run.named.is_empty() && (run.failure.is_some() || run.outside.is_some()) {
        return;
    }
    let automation = &request.object.name;
    if context.readers.record(automation, &run.named) {
        let (now, _) = context.policy_book.of(&automation.namespace, None);
        if now.others().map(Arc::as_ptr) != before.map(Arc::as_ptr) {
            request.again();
        }
    }
}

/// Adds the images of such policies to `status.observedPolicies`, as `namespace/name`: only of those that markers name
/// and that allow it, so that nobody else can fill the status.
pub(super) fn observe(observed: &mut Value, run: &Run) {
    if let Some(observed) = observed.as_object_mut() {
        let others = run
            .others
            .iter()
            .map(|(policy, image)| (policy.to_string(), json!(image)));
        observed.extend(others);
    }
}
