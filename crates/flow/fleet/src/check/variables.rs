//! Variables of post-build substitution that have no value, or one that is not known here.

use std::collections::{BTreeMap, BTreeSet};

use super::cluster::{Cluster, KUSTOMIZE_GROUP, Placed as _, select, text};
use super::makers::{Made, Makers};
use super::places::{Part, split};
use crate::build::one::is_masked_key;
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
/// give some, or others than their defaults. With `strict` the former are errors.
pub(super) fn check(cluster: &Cluster<'_>, makers: &Makers<'_>, strict: bool, found: &mut Vec<Finding>) {
    let mut open: BTreeMap<Giver<'_>, Open<'_>> = BTreeMap::new();
    for node in &cluster.fleet.nodes {
        let Ok(product) = &node.product else { continue };
        let givers = Givers::of(node, makers);
        // An object may come from several Kustomizations; a variable is named once for each object.
        let mut reported = BTreeSet::new();
        for variable in &product.undefined {
            let name = variable.name.as_str();
            if !reported.insert((&variable.object, name, variable.has_default)) {
                continue;
            }
            let giver = if variable.has_default {
                givers.of_default(cluster, node, name)
            } else if givers.known.contains(name) {
                continue;
            } else {
                givers.open.clone()
            };
            match giver {
                _ if !strict && !variable.has_default && is_described(cluster, variable) => {}
                Some((giver, help)) => {
                    let of_giver = open.entry(giver).or_insert_with(|| Open {
                        node,
                        help,
                        names: BTreeSet::new(),
                    });
                    of_giver.names.insert(name);
                }
                // Nothing else gives it.
                None if variable.has_default => {}
                None if strict => found.push(finding(cluster, node, variable).severity(Severity::Error)),
                None => found.push(finding(cluster, node, variable)),
            }
        }
    }
    found.extend(open.into_iter().filter_map(|(giver, one)| one.finding(cluster, &giver)));
}

/// An object that may give variables.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Giver<'c> {
    kind: &'c str,
    name: ObjectName,
    /// Whether these are variables that have a default without it.
    has_default: bool,
}

/// What gives variables to a Kustomization besides the objects of the fleet.
struct Givers<'c> {
    /// The objects that the fleet does not have, and what makes them.
    missing: Vec<(&'c MissingReference, Option<&'c Made>)>,
    /// The variables of objects that an operator makes, as far as their keys are known.
    known: BTreeSet<&'c str>,
    /// The first object whose keys are not known, and what is said of it.
    open: Option<(Giver<'c>, String)>,
}

impl<'c> Givers<'c> {
    fn of(node: &'c Node, makers: &'c Makers<'_>) -> Self {
        let missing = node.missing.iter();
        let missing: Vec<(&MissingReference, Option<&Made>)> =
            missing.map(|one| (one, makers.find(&one.kind, &one.name))).collect();
        let keys = missing
            .iter()
            .filter_map(|(_, made)| made.and_then(|made| made.keys.as_ref()));
        let known = keys.flatten().map(String::as_str).collect();
        let mut open = missing
            .iter()
            .filter(|(_, made)| made.is_none_or(|made| made.keys.is_none()));
        let open = open.next().map(|(missing, made)| {
            let help = match made {
                Some(made) => format!("{} makes it; which keys it has is not known here", made.maker),
                None => "it is not in the fleet, so its keys are not known here".to_owned(),
            };
            (giver(missing, false), help)
        });
        Self { missing, known, open }
    }

    /// What may give a variable another value than its default.
    fn of_default(&self, cluster: &Cluster<'_>, node: &'c Node, variable: &str) -> Option<(Giver<'c>, String)> {
        let mut missing = self.missing.iter();
        let may_have = |made: &Made| made.keys.as_ref().is_none_or(|keys| keys.contains(variable));
        let of_missing = missing.find(|(_, made)| made.is_none_or(may_have));
        if let Some((missing, made)) = of_missing {
            let help = match made {
                Some(made) => format!("{} makes it; its values are not known here", made.maker),
                None => "it is not in the fleet".to_owned(),
            };
            return Some((giver(missing, true), help));
        }
        let kustomization = node.kustomization.as_ref()?;
        let mut references = kustomization.spec.post_build.as_ref()?.substitute_from.iter();
        let namespace = kustomization.metadata.namespace_or_default();
        references.find_map(|reference| {
            let name = ObjectName::new(namespace, reference.name.as_str());
            let object = cluster.fleet.object("", &reference.kind, &name)?;
            let giver = Giver {
                kind: reference.kind.as_str(),
                name,
                has_default: true,
            };
            is_masked_key(&object.value, variable).then(|| (giver, "its values are encrypted".to_owned()))
        })
    }
}

fn giver(missing: &MissingReference, has_default: bool) -> Giver<'_> {
    Giver {
        kind: missing.kind.as_str(),
        name: missing.name.clone(),
        has_default,
    }
}

/// Variables that an object may give.
struct Open<'c> {
    /// The first Kustomization that takes variables from it.
    node: &'c Node,
    help: String,
    names: BTreeSet<&'c str>,
}

impl Open<'_> {
    fn finding(&self, cluster: &Cluster<'_>, giver: &Giver<'_>) -> Option<Finding> {
        let Giver { kind, name, .. } = giver;
        let message = self.message(giver);
        let own = self.node.name()?;
        let object = cluster.fleet.object(KUSTOMIZE_GROUP, "Kustomization", &own);
        let reference = object.and_then(|object| {
            let references = select(&object.value, "/spec/postBuild/substituteFrom/*");
            let mut references = references.into_iter();
            let (pointer, _) = references.find(|(_, reference)| text(reference, "/name") == name.name)?;
            cluster.places.of(object, &format!("{pointer}/name"), Part::Value)
        });
        let fallback = self.node.origin.as_deref().and_then(split);
        let identity = if giver.has_default {
            format!("{kind} {name}: defaults")
        } else {
            format!("{kind} {name}")
        };
        let finding = Finding::new(Rule::UndefinedVariable, message)
            .severity(Severity::Note)
            .object(format!("Kustomization {own}"))
            .placed(reference.or(fallback))
            .identity(identity);
        let parent = self
            .node
            .parent
            .and_then(|parent| cluster.fleet.nodes.get(parent))
            .and_then(Node::name);
        let finding = match parent {
            Some(parent) => finding.kustomization(parent.to_string()),
            None => finding,
        };
        Some(finding.help(self.help.clone()))
    }

    fn message(&self, giver: &Giver<'_>) -> String {
        let Giver { kind, name, .. } = giver;
        let few: Vec<String> = self.names.iter().take(FEW).map(|name| format!("${{{name}}}")).collect();
        let more = match self.names.len().saturating_sub(FEW) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = format!("{}{more}", few.join(", "));
        match (giver.has_default, self.names.len()) {
            (true, 1) => format!("{names} has its default here: {kind} {name} may give another value"),
            (true, _) => format!("{names} have their defaults here: {kind} {name} may give other values"),
            (false, 1) => format!("{names} has a value only if {kind} {name} gives it"),
            (false, _) => format!("{names} have a value only if {kind} {name} gives it"),
        }
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
