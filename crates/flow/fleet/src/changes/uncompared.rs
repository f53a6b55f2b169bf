//! What a change does where nothing can be built: that is not known, which is not the same as nothing.

use std::collections::BTreeSet;

use super::Change;
use crate::build::view::{Fleet, Node, Problem};
use crate::check::cluster::HELM_GROUP;
use crate::diff::{Pair, pairs};
use crate::release::kept_inputs::OfRepository;
use crate::source::meant::{Source, SourceObject};
use crate::verify::impact::is_below_unbuilt;
use bumpwright_api::ObjectName;
use bumpwright_findings::{Finding, Rule};
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_kustomize::tree::{Tree, path};

/// The most files that are compared for one build: with more of them it counts as changed.
const MOST: usize = 20_000;

/// The files of the repository before and after a change.
#[derive(Clone, Copy)]
pub(crate) struct Trees<'t> {
    pub(crate) old: &'t dyn Tree,
    pub(crate) new: &'t dyn Tree,
}

/// A Kustomization or release whose changes are not known.
pub(crate) struct Uncompared<'f> {
    node: &'f Node,
    /// Whether it could be built before: that it cannot be any more is a finding of its own.
    was_built: bool,
    /// Whether the new state does not have it.
    is_gone: bool,
}

/// The Kustomizations and releases that could not be built, and whose inputs the change has.
pub(crate) fn uncompared<'f>(before: &'f Fleet, after: &'f Fleet, trees: Trees<'_>) -> Vec<Uncompared<'f>> {
    let states = States { before, after, trees };
    let pairs = pairs(before, after);
    pairs.iter().filter_map(|pair| states.uncompared(pair)).collect()
}

/// Something whose changes are not known, and that could not be built before either.
pub(crate) struct Unknown<'f> {
    pub(crate) node: &'f Node,
    /// Why it is not built.
    pub(crate) problem: String,
    pub(crate) message: String,
}

impl<'f> Uncompared<'f> {
    /// What is said of it; none if it could be built before: that it cannot be any more is said anyway.
    pub(crate) fn unknown(&self) -> Option<Unknown<'f>> {
        let problem = self
            .node
            .product
            .as_ref()
            .err()
            .filter(|_| !self.was_built)?
            .to_string();
        let why = problem.lines().next().unwrap_or("");
        let message = if self.is_gone {
            format!("it is removed and could not be built: which objects go with it is not known: {why}")
        } else {
            format!("what changes in it is not known: it could not be built, before the change either: {why}")
        };
        Some(Unknown {
            node: self.node,
            message: message.trim_end_matches('.').to_owned(),
            problem,
        })
    }
}

/// Findings about those that could not be built before either: what is wrong with them is not new, and so not found.
pub(super) fn check(change: &Change<'_>, all: &[Uncompared<'_>], found: &mut Vec<Finding>) {
    for one in all.iter().filter_map(Uncompared::unknown) {
        let finding = change.about(Rule::NotCompared, one.node, one.message);
        found.push(match one.node.name() {
            Some(name) => finding.kustomization(name.to_string()),
            None => finding,
        });
    }
}

/// Two states of a cluster, with their files.
struct States<'f, 't> {
    before: &'f Fleet,
    after: &'f Fleet,
    trees: Trees<'t>,
}

impl<'f> States<'f, '_> {
    fn uncompared(&self, pair: &Pair<'f>) -> Option<Uncompared<'f>> {
        let Some(new) = pair.new else {
            let old = pair.old?;
            let is_unknown = old.product.is_err() && !is_below_unbuilt(old, self.before, self.after);
            return is_unknown.then_some(Uncompared {
                node: old,
                was_built: false,
                is_gone: true,
            });
        };
        new.product.as_ref().err()?;
        // Not by the problem: it may name the folder that the files are in.
        let was = pair.old.filter(|old| old.product.is_err());
        let is_changed = was.is_none_or(|old| self.differ(old, new));
        is_changed.then_some(Uncompared {
            node: new,
            was_built: was.is_none(),
            is_gone: false,
        })
    }

    /// Whether a Kustomization or release is built from something else.
    fn differ(&self, old: &Node, new: &Node) -> bool {
        if let Some(release) = &new.release {
            return self.releases_differ(&release.name);
        }
        let spec = |node: &'_ Node| node.kustomization.as_ref().map(|one| one.spec.clone());
        let variables = |fleet: &Fleet, node: &Node| node.kustomization.as_ref().map(|one| fleet.references(one).0);
        spec(old) != spec(new)
            || source(old) != source(new)
            || variables(self.before, old) != variables(self.after, new)
            || self.files_of_differ(new)
    }

    fn releases_differ(&self, name: &ObjectName) -> bool {
        let object = |fleet: &'f Fleet| {
            fleet
                .object(HELM_GROUP, "HelmRelease", name)
                .map(|object| &object.value)
        };
        match (self.before.releases.get(name), self.after.releases.get(name)) {
            (Some(old), Some(new)) => {
                let places = match &new.chart {
                    OfRepository::Nothing => &[][..],
                    OfRepository::These(places) => places.as_slice(),
                };
                !old.is_as(new) || places.iter().any(|place| self.files_differ(vec![absolute(place)]))
            }
            (None, None) => object(self.before) != object(self.after),
            _ => true,
        }
    }

    fn files_of_differ(&self, node: &Node) -> bool {
        if node.source != Source::This || matches!(node.product, Err(Problem::Invalid(_))) {
            return false;
        }
        let folder = absolute(&node.path);
        let components = node.kustomization.iter().flat_map(|one| &one.spec.components);
        let mut tops: Vec<String> = components.map(|component| path::join(&folder, component)).collect();
        tops.push(folder);
        self.files_differ(tops)
    }

    /// Whether files below these folders differ, or files that their kustomizations name elsewhere in the repository.
    fn files_differ(&self, mut waiting: Vec<String>) -> bool {
        let trees = [self.trees.old, self.trees.new];
        let mut seen = BTreeSet::new();
        while let Some(at) = waiting.pop() {
            if !seen.insert(at.clone()) {
                continue;
            }
            if seen.len() > MOST {
                return true;
            }
            let lists = trees.iter().filter_map(|tree| tree.list(&at).ok());
            let names: BTreeSet<String> = lists.flatten().filter(|name| name != ".git").collect();
            if !names.is_empty() {
                waiting.extend(names.iter().map(|name| path::join(&at, name)));
                continue;
            }
            let [old, new] = trees.map(|tree| tree.read(&at).ok());
            if old != new {
                return true;
            }
            if let Some(bytes) = new {
                waiting.extend(named_elsewhere(&at, &bytes));
            }
        }
        false
    }
}

fn source(node: &Node) -> Option<&SourceObject> {
    match &node.source {
        Source::This => None,
        Source::Other(source) | Source::Unknown(source, _) => Some(source),
    }
}

fn absolute(below: &str) -> String {
    path::clean(&format!("/{below}"))
}

/// What a kustomization names above its own folder. It is read as text: the file may be what does not parse.
fn named_elsewhere(file: &str, bytes: &[u8]) -> Vec<String> {
    let Some((folder, name)) = file.rsplit_once('/') else {
        return Vec::new();
    };
    if !NAMES.contains(&name) {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(bytes);
    let words = text.split(|c: char| c.is_whitespace() || "'\"[]{},".contains(c));
    let names = words.filter(|word| word.contains("../") && !word.contains("://"));
    names
        .map(|word| path::clean(&format!("{folder}/{word}")))
        .filter(|path| path != "/")
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kustomization_names_elsewhere_is_found() {
        let text =
            b"resources: [../base, 'https://example.com/x/../y', own.yaml]\ncomponents:\n- \"../../c/d\"\n- ../..\n";
        assert_eq!(
            named_elsewhere("/apps/web/kustomization.yaml", text),
            ["/apps/base", "/c/d"]
        );
        assert!(named_elsewhere("/apps/web/own.yaml", text).is_empty());
    }
}
