//! The build of one Kustomization alone, with other files.

use std::sync::Arc;

use super::build::{References, build};
use super::entry;
use super::repository::{Outside, Repository};
use super::settings::Settings;
use super::source::Source;
use super::view::{Fleet, Node, Problem, Product};
use bumpwright_api::ObjectName;

/// Builds a node of a fleet again from other files of its repository, with the variables that it has in the fleet.
///
/// # Errors
/// The build fails, or the node's files are not those of the repository.
pub(super) fn rebuild(
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
    let references = references(fleet, node);
    let ignoring = node.ignore.as_deref().map(|ignore| repository.ignoring(ignore));
    let ignoring = ignoring.transpose().map_err(Problem::Source)?;
    let tree = ignoring.as_deref().unwrap_or(repository).tree();
    build(&kustomization, &references, (&*tree, None), &*outside.world(), settings).0
}

fn references(fleet: &Fleet, node: &Node) -> References {
    let kustomization = node.kustomization.as_ref();
    let post_build = kustomization.and_then(|kustomization| kustomization.spec.post_build.as_ref());
    let namespace = kustomization.map_or("", |kustomization| kustomization.metadata.namespace_or_default());
    let references = post_build.map_or(&[][..], |post_build| &post_build.substitute_from);
    let found = references.iter().map(|reference| {
        let name = ObjectName::new(namespace, reference.name.as_str());
        let found = fleet.object("", &reference.kind, &name)?;
        Some(Arc::new(found.value.clone()))
    });
    found.collect()
}
