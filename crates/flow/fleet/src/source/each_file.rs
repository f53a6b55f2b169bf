//! The files below a folder.

use bumpwright_kustomize::tree::{Tree, path};

/// Visits the files below a folder, or the file itself, by their paths from the root, until one is the
/// last that is wanted.
pub(crate) fn each_file(tree: &dyn Tree, top: &str, visit: &mut dyn FnMut(&str) -> bool) {
    let mut waiting = vec![path::clean(top)];
    while let Some(at) = waiting.pop() {
        match tree.canonical(&at) {
            // Links are not followed.
            Ok(found) if found.path != at => {}
            Ok(found) if found.directory => {
                let names = tree.list(&at).unwrap_or_default();
                let names = names.iter().filter(|name| *name != ".git");
                waiting.extend(names.map(|name| path::join(&at, name)));
            }
            Ok(_) if !visit(at.trim_start_matches('/')) => return,
            _ => {}
        }
    }
}
