//! The build of one Kustomization alone, with other files.

use super::entry;
use super::one::build;
use super::reads::BuildFiles;
use super::settings::Settings;
use super::view::{Fleet, Node, Problem, Product};
use crate::source::meant::Source;
use crate::source::repository::{Outside, Repository};

/// Builds a node of a fleet again from other files of its repository, with the variables that it has in the fleet.
///
/// # Errors
/// The build fails, or the node's files are not those of the repository.
pub(crate) fn rebuild(
    fleet: &Fleet,
    node: &Node,
    repository: &dyn Repository,
    outside: &dyn Outside,
    settings: &Settings,
) -> Result<Product, Problem> {
    if node.source != Source::This {
        return Err(Problem::Source(format!("{} is of another source", node.shown())));
    }
    let kustomization = node.kustomization.clone().unwrap_or_else(|| entry::plain(&fleet.entry));
    let (references, _) = fleet.references(&kustomization);
    let ignoring = node.ignore.as_deref().map(|ignore| repository.ignoring(ignore));
    let ignoring = ignoring
        .transpose()
        .map_err(|error| Problem::Source(error.to_string()))?;
    let tree = ignoring.as_deref().unwrap_or(repository).tree();
    let files = BuildFiles {
        tree: &*tree,
        source: None,
    };
    build(&kustomization, &references, files, &*outside.world(), settings).0
}
