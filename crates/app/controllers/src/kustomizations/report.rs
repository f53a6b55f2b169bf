//! Messages beyond Flux's first line: drift, for a Kustomization that only reports it (`bumpwright.dev/reconcile:
//! report`), and objects that are left out.

use std::fmt::Display;

use super::apply;
use super::deploy::Deployment;
use crate::parts::context::Context;
use bumpwright_api::Kustomization;
use bumpwright_apply::{ApplyError, Desired, Preview, Refusals, preview};
use bumpwright_diff::to_text;
use bumpwright_overlay::LeftOut;

/// Number of lines in a condition and an event.
const LINES: usize = 20;

/// The last line, which says why nothing was done.
const REPORT: &str = "(bumpwright.dev/reconcile: report)";

/// Why the changes of an apply are not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum CompareError {
    /// The error of the API server, without the values of Secrets.
    #[error("{0}")]
    Preview(String),
    #[error(transparent)]
    Refused(#[from] ApplyError),
}

/// Reports the changes of an apply, without applying or pruning.
pub(super) async fn compare(
    context: &Context,
    kustomization: &Kustomization,
    deployment: &Deployment,
    objects: Vec<Desired>,
) -> Result<Preview, CompareError> {
    let mut settings = apply::settings(context, kustomization);
    settings.mask = deployment.mask.clone();
    let (cluster, before) = (&deployment.target.cluster, deployment.deletable());
    let compared = preview(cluster, objects, &settings, &before, kustomization.spec.prune).await;
    let preview = compared.map_err(|error| CompareError::Preview(deployment.mask.hide(&error.to_string())))?;
    if preview.refused.is_empty() {
        Ok(preview)
    } else {
        Err(ApplyError::from(Refusals(preview.refused)).into())
    }
}

/// The differences from a revision: the first lines.
pub(crate) fn drift(preview: &Preview, revision: &str) -> String {
    let count = preview.differences.len();
    let objects = if count == 1 { "object differs" } else { "objects differ" };
    let mut text = format!("{count} {objects} from revision {revision}, nothing was changed {REPORT}");
    text.push_str(&first_of(to_text(&preview.differences).lines(), "lines"));
    text
}

/// The first objects that are left out, one per line; empty without any.
pub(crate) fn names_left_out(objects: &[LeftOut]) -> String {
    first_of(objects.iter(), "objects")
}

/// The objects that are left out; empty without any. None of them is deleted.
pub(crate) fn left_out(objects: &[LeftOut]) -> String {
    let mut text = names_left_out(objects);
    if !objects.is_empty() {
        text.push_str("\nwhat was applied before and may be one of these is not deleted");
    }
    text
}

/// The first lines, and the number of further ones.
fn first_of<L: Display>(mut lines: impl Iterator<Item = L>, what: &str) -> String {
    let mut text = String::new();
    for line in lines.by_ref().take(LINES) {
        text.push_str(&format!("\n{line}"));
    }
    match lines.count() {
        0 => text,
        more => format!("{text}\n… and {more} more {what}"),
    }
}

/// The message without differences.
pub(crate) fn none(revision: &str) -> String {
    format!("No object differs from revision {revision} {REPORT}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bumpwright_diff::{Change, Difference, Named};

    fn of(objects: usize) -> Preview {
        let differences = (0..objects).map(|at| Difference {
            object: Named {
                group: String::new(),
                kind: "ConfigMap".to_owned(),
                namespace: "apps".to_owned(),
                name: format!("map-{at}"),
            },
            change: Change::Added,
        });
        Preview {
            differences: differences.collect(),
            ..Preview::default()
        }
    }

    #[test]
    fn a_long_report_is_cut() {
        let one = drift(&of(1), "main@sha1:a");
        let first =
            "1 object differs from revision main@sha1:a, nothing was changed (bumpwright.dev/reconcile: report)";
        assert_eq!(one, format!("{first}\n+ ConfigMap apps/map-0"));
        let many = drift(&of(30), "r");
        assert_eq!(many.lines().count(), 22);
        assert!(many.ends_with("\n… and 10 more lines"), "{many}");
    }
}
