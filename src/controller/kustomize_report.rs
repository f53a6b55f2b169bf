//! What messages say beyond Flux's first line: drift, for a Kustomization that only reports it (`bumpwright.dev/reconcile: report`),
//! and objects that are left out.

use crate::apply::Preview;
use crate::compare::to_text;
use crate::overlay::LeftOut;

/// So many lines go into a condition and an event.
const LINES: usize = 20;

/// The ending that says why nothing was done.
const REPORT: &str = "(bumpwright.dev/reconcile: report)";

/// What differs from a revision: the first lines of it.
pub(super) fn drift(preview: &Preview, revision: &str) -> String {
    let count = preview.differences.len();
    let objects = if count == 1 { "object differs" } else { "objects differ" };
    let mut text = format!("{count} {objects} from revision {revision}, nothing was changed {REPORT}");
    let details = to_text(&preview.differences);
    let all = details.lines().count();
    for line in details.lines().take(LINES) {
        text.push('\n');
        text.push_str(line);
    }
    if let Some(more) = all.checked_sub(LINES).filter(|more| *more > 0) {
        text.push_str(&format!("\n… and {more} more lines"));
    }
    text
}

/// What was left out, a line each; empty when that is nothing. None of it is deleted.
pub(super) fn left_out(objects: &[LeftOut]) -> String {
    let mut text = String::new();
    for object in objects.iter().take(LINES) {
        text.push_str(&format!("\n{object}"));
    }
    if let Some(more) = objects.len().checked_sub(LINES).filter(|more| *more > 0) {
        text.push_str(&format!("\n… and {more} more objects"));
    }
    if !objects.is_empty() {
        text.push_str("\nwhat was applied before and may be one of these is not deleted");
    }
    text
}

/// That nothing differs.
pub(super) fn none(revision: &str) -> String {
    format!("No object differs from revision {revision} {REPORT}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Change, Difference, Named};

    fn preview(objects: usize) -> Preview {
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
        let one = drift(&preview(1), "main@sha1:a");
        let first =
            "1 object differs from revision main@sha1:a, nothing was changed (bumpwright.dev/reconcile: report)";
        assert_eq!(one, format!("{first}\n+ ConfigMap apps/map-0"));
        let many = drift(&preview(30), "r");
        assert_eq!(many.lines().count(), 22);
        assert!(many.ends_with("\n… and 10 more lines"), "{many}");
    }
}
