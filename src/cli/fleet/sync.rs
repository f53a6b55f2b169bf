//! An entry that has nothing but what syncs another folder: `flux bootstrap` makes one, `flux-system`.

use super::open::Opened;
use crate::cli::console::say;
use crate::cli::error::CliError;
use crate::cli::words;
use bumpwright_fleet::{Fleet, Node, Problem, shown_folder};

/// Says which folder is meant, where an entry has only a source and a Kustomization whose files are not known
/// to be here.
pub(super) fn tell(opened: &Opened, fleets: &[Fleet]) {
    for fleet in fleets {
        if let Some(path) = synced(fleet).filter(|path| opened.has(path)) {
            let (entry, path) = (words::inline(&fleet.entry), words::inline(path));
            say(
                "note",
                &format!("{entry} has only what syncs the folder {path}: name that, as in `bumpwright fleet {path}`"),
            );
        }
    }
}

/// That a folder is not a cluster, but has some below it: all that they reconcile would be passed over.
pub(super) fn refuse_parents(opened: &Opened, fleets: &[Fleet]) -> Result<(), CliError> {
    let is_cluster = |fleet: &Fleet| fleet.nodes.first().is_some_and(|root| root.kustomization.is_some());
    let others: Vec<&Fleet> = fleets.iter().filter(|fleet| !is_cluster(fleet)).collect();
    if others.is_empty() {
        return Ok(());
    }
    let entries = bumpwright_fleet::entries(&*opened.repository.tree());
    for fleet in others {
        let is_built = |entry: &str| {
            fleet
                .nodes
                .iter()
                .any(|node| node.path == entry && node.product.is_ok())
        };
        let start = if fleet.entry.is_empty() {
            String::new()
        } else {
            format!("{}/", fleet.entry)
        };
        let below = |entry: &&String| **entry != fleet.entry && entry.starts_with(&start) && !is_built(entry);
        let below: Vec<String> = entries.iter().filter(below).cloned().collect();
        if !below.is_empty() {
            return Err(CliError::new(format!(
                "{}: no Kustomization reconciles this folder, but those below it are reconciled: {}",
                words::inline(shown_folder(&fleet.entry)),
                words::inline(&words::some(&below))
            ))
            .hint("name them"));
        }
    }
    Ok(())
}

/// That the folders have no Kustomization, so that a check of them has nothing to find.
pub(super) fn without_kustomizations(opened: &Opened, fleets: &[Fleet]) -> CliError {
    let named: Vec<&str> = fleets.iter().map(|fleet| shown_folder(&fleet.entry)).collect();
    let error = CliError::new(format!(
        "{}: no Kustomization reconciles this folder, and it has none",
        words::inline(&named.join(", "))
    ));
    let others = bumpwright_fleet::entries(&*opened.repository.tree());
    if others.is_empty() {
        return error.hint("name the folder that the cluster reconciles");
    }
    error.hint(format!(
        "reconciled folders are {}",
        words::inline(&words::some(&others))
    ))
}

/// The folder that is synced.
fn synced(fleet: &Fleet) -> Option<&str> {
    let [entry, sync] = fleet.nodes.as_slice() else {
        return None;
    };
    let kinds = entry.objects().iter().map(|object| object.id().kind);
    let is_sync = |kind: &str| ["GitRepository", "OCIRepository", "Bucket", "Kustomization"].contains(&kind);
    let is_alone =
        entry.kustomization.is_none() && kinds.clone().count() > 0 && kinds.into_iter().all(|kind| is_sync(&kind));
    let is_unknown = |node: &Node| matches!(&node.product, Err(Problem::Source(_)));
    (is_alone && is_unknown(sync) && sync.path != fleet.entry && !sync.path.is_empty()).then_some(sync.path.as_str())
}
