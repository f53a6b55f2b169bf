//! Variables of post-build substitution that have no value.

use std::collections::{BTreeMap, BTreeSet};

use super::cluster::{Cluster, KUSTOMIZE_GROUP, Placed as _, select, text};
use super::makers::Makers;
use super::places::{Part, split};
use crate::build::view::{MissingReference, Node};
use bumpwright_api::ObjectName;
use bumpwright_findings::{Finding, Place, Rule, Severity};
use bumpwright_overlay::UndefinedVariable;
use bumpwright_yaml::{Node as YamlNode, Value as YamlValue};

/// The way out for an object whose texts only look as if they had variables.
const NOT_SUBSTITUTED: &str =
    "it is in a description: give the object the annotation kustomize.toolkit.fluxcd.io/substitute: disabled";

/// Variables that are named when an object may give them.
const FEW: usize = 3;

/// Findings about variables: one for each that an object needs and that nothing gives, and one for each object that may
/// give some. With `strict` the former are errors.
pub(super) fn check(cluster: &Cluster<'_>, makers: &Makers<'_>, strict: bool, found: &mut Vec<Finding>) {
    let mut open: BTreeMap<(&str, ObjectName), Open<'_>> = BTreeMap::new();
    for node in &cluster.fleet.nodes {
        let Ok(product) = &node.product else { continue };
        let givers = Givers::of(node, makers);
        // An object may come from several Kustomizations; a variable is named once for each object.
        let mut reported = BTreeSet::new();
        for variable in &product.undefined {
            if !reported.insert((&variable.object, &variable.name)) || givers.known.contains(variable.name.as_str()) {
                continue;
            }
            match &givers.open {
                _ if !strict && is_described(cluster, variable) => {}
                None if strict => found.push(finding(cluster, node, variable).severity(Severity::Error)),
                None => found.push(finding(cluster, node, variable)),
                Some((missing, maker)) => {
                    let of_missing = open.entry((missing.kind.as_str(), missing.name.clone()));
                    let of_missing = of_missing.or_insert_with(|| Open {
                        node,
                        maker: maker.clone(),
                        names: BTreeSet::new(),
                    });
                    of_missing.names.insert(variable.name.as_str());
                }
            }
        }
    }
    found.extend(
        open.into_iter()
            .filter_map(|((kind, name), one)| one.finding(cluster, kind, &name)),
    );
}

/// What gives variables to a Kustomization besides the objects of the fleet.
struct Givers<'c> {
    /// The variables of objects that an operator makes, as far as their keys are known.
    known: BTreeSet<&'c str>,
    /// The first object whose keys are not known, and what makes it.
    open: Option<(&'c MissingReference, Option<String>)>,
}

impl<'c> Givers<'c> {
    fn of(node: &'c Node, makers: &'c Makers<'_>) -> Self {
        let (mut known, mut open) = (BTreeSet::new(), None);
        for missing in &node.missing {
            let maker = makers.find(&missing.kind, &missing.name);
            match maker.and_then(|maker| maker.keys.as_ref()) {
                Some(keys) => known.extend(keys.iter().map(String::as_str)),
                None => {
                    open.get_or_insert_with(|| (missing, maker.map(|maker| maker.maker.clone())));
                }
            }
        }
        Self { known, open }
    }
}

/// Variables that an object may give whose keys are not known.
struct Open<'c> {
    /// The first Kustomization that takes variables from it.
    node: &'c Node,
    maker: Option<String>,
    names: BTreeSet<&'c str>,
}

impl Open<'_> {
    fn finding(&self, cluster: &Cluster<'_>, kind: &str, name: &ObjectName) -> Option<Finding> {
        let few: Vec<String> = self.names.iter().take(FEW).map(|name| format!("${{{name}}}")).collect();
        let more = match self.names.len().saturating_sub(FEW) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let have = if self.names.len() == 1 { "has" } else { "have" };
        let message = format!("{}{more} {have} a value only if {kind} {name} gives it", few.join(", "));
        let own = self.node.name()?;
        let object = cluster.fleet.object(KUSTOMIZE_GROUP, "Kustomization", &own);
        let reference = object.and_then(|object| {
            let references = select(&object.value, "/spec/postBuild/substituteFrom/*");
            let mut references = references.into_iter();
            let (pointer, _) = references.find(|(_, reference)| text(reference, "/name") == name.name)?;
            cluster.places.of(object, &format!("{pointer}/name"), Part::Value)
        });
        let fallback = self.node.origin.as_deref().and_then(split);
        let finding = Finding::new(Rule::UndefinedVariable, message)
            .severity(Severity::Note)
            .object(format!("Kustomization {own}"))
            .placed(reference.or(fallback))
            .identity(format!("{kind} {name}"));
        let parent = self
            .node
            .parent
            .and_then(|parent| cluster.fleet.nodes.get(parent))
            .and_then(Node::name);
        let finding = match parent {
            Some(parent) => finding.kustomization(parent.to_string()),
            None => finding,
        };
        Some(finding.help(match &self.maker {
            Some(maker) => format!("{maker} makes it; which keys it has is not known here"),
            None => "it is not in the fleet, so its keys are not known here".to_owned(),
        }))
    }
}

fn finding(cluster: &Cluster<'_>, node: &Node, variable: &UndefinedVariable) -> Finding {
    let UndefinedVariable { name, object, .. } = variable;
    let place = variable
        .origin
        .as_deref()
        .and_then(split)
        .map(|own| of_name(cluster, &own, name).unwrap_or(own));
    let fallback = node.origin.as_deref().and_then(split);
    let finding = Finding::new(Rule::UndefinedVariable, format!("${{{name}}} has no value"))
        .object(object.clone())
        .placed(place.or(fallback));
    let finding = match node.name() {
        Some(name) => finding.kustomization(name.to_string()),
        None => finding,
    };
    if is_described(cluster, variable) {
        finding.help(NOT_SUBSTITUTED)
    } else {
        finding
    }
}

/// Whether a definition has a variable in its descriptions only, where it does no harm.
fn is_described(cluster: &Cluster<'_>, variable: &UndefinedVariable) -> bool {
    let is_definition = variable.object.starts_with("CustomResourceDefinition ");
    let document = || {
        let place = split(variable.origin.as_deref()?)?;
        let file = cluster.places.file(&place.path)?;
        let document = file.document(&place, &serde_json::Value::Null)?;
        Some(!is_outside_descriptions(document, &format!("${{{}", variable.name)))
    };
    is_definition && document().unwrap_or(true)
}

/// Whether a text is in a field that is not a description.
fn is_outside_descriptions(node: &YamlNode, wanted: &str) -> bool {
    match &node.value {
        YamlValue::Scalar(scalar) => scalar.text.contains(wanted),
        YamlValue::Sequence(sequence) => sequence.items.iter().any(|item| is_outside_descriptions(item, wanted)),
        YamlValue::Mapping(mapping) => {
            let others = mapping.entries.iter().filter(|entry| entry.key.text != "description");
            others
                .into_iter()
                .any(|entry| is_outside_descriptions(&entry.value, wanted))
        }
    }
}

/// The first place of `${name` in an object.
fn of_name(cluster: &Cluster<'_>, own: &Place, name: &str) -> Option<Place> {
    let file = cluster.places.file(&own.path)?;
    let text = std::str::from_utf8(&file.bytes).ok()?;
    let wanted = format!("${{{name}");
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let lines = text.lines().enumerate().skip(own.line.saturating_sub(1));
    for (at, line) in lines {
        if at + 1 > own.line && line.starts_with("---") {
            return None;
        }
        let mut matches = line.match_indices(&wanted);
        let place = matches.find(|(at, _)| {
            let (before, rest) = (line.get(..*at), line.get(at + wanted.len()..));
            rest.is_some_and(ends) && before.is_some_and(|before| !before.ends_with('$'))
        });
        if let Some((byte, _)) = place {
            return Some(Place {
                path: own.path.clone(),
                line: at + 1,
                column: line.get(..byte)?.chars().count() + 1,
            });
        }
    }
    None
}
