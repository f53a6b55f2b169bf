//! The verification of the edits of a run, if that is asked for.

use crate::error::RunError;
use crate::find::path::shown;
use crate::folder::rewrite::FileChange;
use crate::job::edits::Edits;
use crate::job::verify::{Base, Proposal};
use bumpwright_edit::{Change, Plan};
use bumpwright_message::Impact;

/// Verifies the edits of a run, if that is asked for. `plans` are those of the files.
pub(crate) fn verify(
    edits: &Edits,
    base: Base<'_>,
    (changes, files): (&[Change], &[FileChange]),
    plans: &[(usize, Plan)],
) -> Result<Option<Impact>, RunError> {
    let Some(verify) = &edits.hooks.verify else {
        return Ok(None);
    };
    let plans: Vec<&Plan> = plans.iter().map(|(_, plan)| plan).collect();
    let proposal = Proposal {
        automation: edits.automation.as_deref(),
        base,
        changes,
        files,
        plans: &plans,
    };
    match verify.verify(&proposal) {
        Ok(impact) => Ok(Some(impact)),
        Err(error) => Err(RunError::Verify {
            fields: named(changes, &error.fields, &edits.folder),
            message: error.message,
        }),
    }
}

/// The fields by place, old and new value, the first few of them; of files in `folder`.
pub(crate) fn named(changes: &[Change], fields: &[usize], folder: &str) -> String {
    const SHOWN: usize = 10;
    let text = |change: &Change| {
        let Change {
            path,
            line,
            column,
            old,
            new,
            setter,
            ..
        } = change;
        let path = shown(folder, path);
        format!("{path}:{line}:{column} ({setter}: {old} → {new})")
    };
    let named = fields.iter().filter_map(|n| changes.get(*n));
    let mut texts: Vec<String> = named.clone().take(SHOWN).map(text).collect();
    match named.count().saturating_sub(SHOWN) {
        0 => {}
        more => texts.push(format!("{more} more")),
    }
    texts.join(", ")
}
