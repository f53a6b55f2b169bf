//! Updates references to renamed objects.

use super::candidates::{Candidate, Candidates, Referrer};
use super::choose::{Ambiguous, choose};
use crate::Gvk;
use crate::fields::{Fault, FieldError, FieldSpec, NameReferences, set_scalar, walk};
use crate::resource::{ResMap, Resource};
use crate::schema::SchemaChoice;
use bumpwright_yaml::{Node, Place, Scalar, Style, Value};
use compact_str::CompactString;
use std::collections::{HashMap, HashSet};

/// A reference that cannot be fixed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// A field does not have the form of a reference, or the name is ambiguous.
    #[error("updating name reference: {0}")]
    Field(#[from] FieldError),
    /// A subject of a RoleBinding has a namespace without a value.
    #[error("{object}: the namespace of a subject is blank")]
    Blank {
        object: String,
        /// The place of the subject.
        place: Place,
    },
}

impl ReferenceError {
    /// The place of the error.
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Field(error) => error.place(),
            Self::Blank { place, .. } => *place,
        }
    }
}

/// A field that holds the name of an object of a type.
struct Rule<'a> {
    /// The types of objects that have the field.
    selects: &'a Gvk,
    /// The field, with its own type selector.
    field: FieldSpec,
    target: &'a Gvk,
    is_role: bool,
}

/// Updates the references of all resources.
///
/// # Errors
///
/// A reference is ambiguous, or a field does not have the form of a reference.
pub fn fix_references(map: &mut ResMap, names: &[NameReferences], schema: &SchemaChoice) -> Result<(), ReferenceError> {
    let candidates = Candidates::of(map);
    let kinds = map.list().iter().map(|resource| resource.original_id().gvk.kind);
    let rules = rules(names, &kinds.collect());
    let of_kind = |kind: &str| rules.get(kind).into_iter().flatten();
    for at in 0..map.len() {
        let Some(resource) = map.list().get(at) else { break };
        let original = resource.original_id().gvk;
        let mut fitting: Vec<&(usize, Rule<'_>)> = of_kind(&original.kind).chain(of_kind("")).collect();
        fitting.retain(|(_, rule)| original.is_selected(rule.selects));
        fitting.sort_by_key(|(order, _)| *order);
        if fitting.is_empty() {
            continue;
        }
        let fixed = map.update(at, |resource| {
            let result = fix(resource, fitting.iter().map(|(_, rule)| rule), &candidates);
            resource.refresh(schema);
            result
        });
        fixed.unwrap_or(Ok(()))?;
    }
    Ok(())
}

/// Rules for referrers of these kinds, by kind, with their order.
fn rules<'a>(names: &'a [NameReferences], kinds: &HashSet<CompactString>) -> HashMap<&'a str, Vec<(usize, Rule<'a>)>> {
    let mut rules: HashMap<&str, Vec<(usize, Rule<'_>)>> = HashMap::new();
    let specs = names
        .iter()
        .flat_map(|names| names.referrers.as_slice().iter().map(|spec| (&names.gvk, spec)));
    let applies = |spec: &FieldSpec| spec.gvk.kind.is_empty() || kinds.contains(&spec.gvk.kind);
    for (order, (target, spec)) in specs.enumerate().filter(|(_, (_, spec))| applies(spec)) {
        let rule = Rule {
            selects: &spec.gvk,
            field: spec.found_in_any(),
            target,
            is_role: spec.path.ends_with("roleRef/name"),
        };
        rules.entry(spec.gvk.kind.as_str()).or_default().push((order, rule));
    }
    rules
}

fn fix<'a>(
    resource: &mut Resource,
    rules: impl Iterator<Item = &'a Rule<'a>>,
    candidates: &Candidates,
) -> Result<(), ReferenceError> {
    let namespaces = subject_namespaces(resource)?;
    let id = resource.id().clone();
    let (prefixes, suffixes) = (resource.prefixes.clone(), resource.suffixes.clone());
    let referrer = Referrer {
        id: &id,
        namespaces,
        prefixes: &prefixes,
        suffixes: &suffixes,
    };
    let role = role(&resource.node);
    for rule in rules {
        let search = Search {
            candidates,
            referrer: &referrer,
            target: rule.target,
            role: role.as_ref().filter(|_| rule.is_role),
        };
        walk(&rule.field, &mut resource.node, None, &mut |node| search.at(node))?;
    }
    Ok(())
}

/// The namespaces of the service accounts that a RoleBinding names.
fn subject_namespaces(resource: &Resource) -> Result<HashSet<CompactString>, ReferenceError> {
    let mut namespaces = HashSet::new();
    if resource.kind() != "RoleBinding" {
        return Ok(namespaces);
    }
    for subject in resource.node.items_at(&["subjects"]) {
        let kind = subject.get("kind").and_then(Node::as_str);
        let Some(namespace) = subject.get("namespace").filter(|_| kind == Some("ServiceAccount")) else {
            continue;
        };
        let text = namespace.as_str().ok_or_else(|| ReferenceError::Blank {
            object: resource.id().to_string(),
            place: namespace.place,
        })?;
        namespaces.insert(text.into());
    }
    Ok(namespaces)
}

/// The type that a `roleRef` refers to, if it is complete.
fn role(object: &Node) -> Option<Gvk> {
    let text = |key| object.lookup(&["roleRef", key]).and_then(Node::as_str);
    Some(Gvk::new(text("apiGroup")?, "", text("kind")?))
}

struct Search<'a> {
    candidates: &'a Candidates,
    referrer: &'a Referrer<'a>,
    target: &'a Gvk,
    role: Option<&'a Gvk>,
}

impl Search<'_> {
    /// Updates the value of a field: a name, a mapping with a name, or a list of these.
    fn at(&self, node: &mut Node) -> Result<(), Fault> {
        if node.is_null() {
            return Ok(());
        }
        match &mut node.value {
            Value::Scalar(_) => self.name(node),
            Value::Mapping(_) => self.mapping(node),
            Value::Sequence(sequence) => sequence.items.iter_mut().try_for_each(|item| match &item.value {
                _ if item.is_null() => Ok(()),
                Value::Scalar(_) => self.name(item),
                Value::Mapping(_) => self.mapping(item),
                Value::Sequence(_) => Err(Fault::new(
                    item.place,
                    "a list is expected to hold names or mappings with a name, not lists",
                )),
            }),
        }
    }

    fn name(&self, node: &mut Node) -> Result<(), Fault> {
        let old = CompactString::from(node.written());
        let found = self.candidates.named(&old, self.referrer);
        let same = |a: &Candidate, b: &Candidate| a.id.name == b.id.name;
        match self.choose(found, node.place, same)? {
            Some(referral) if referral.id.name != old => set_scalar(node, &referral.id.name, None),
            _ => Ok(()),
        }
    }

    fn mapping(&self, node: &mut Node) -> Result<(), Fault> {
        let text = |key: &str| Some(node.get(key)?.as_scalar().map_or("", |scalar| scalar.text.as_str()));
        let place = node.place;
        let Some(old) = text("name") else {
            return Err(Fault::new(place, "path config error; no 'name' field in node"));
        };
        let mut candidates = self.candidates.named(old, self.referrer);
        if let Some(namespace) = text("namespace") {
            let by_first = self.candidates.were_in(namespace, self.referrer);
            candidates.retain(|candidate| {
                let now = candidate.id.effective_namespace();
                !candidate.id.cluster_scoped && namespace == if by_first { candidate.original_namespace() } else { now }
            });
        }
        let same = |a: &Candidate, b: &Candidate| a.id.name == b.id.name && a.id.namespace == b.id.namespace;
        let Some(referral) = self.choose(candidates, place, same)? else {
            return Ok(());
        };
        if referral.id.name != old || !referral.id.namespace.is_empty() {
            set_field(node, "name", &referral.id.name);
            if !referral.id.namespace.is_empty() {
                set_field(node, "namespace", &referral.id.namespace);
            }
        }
        Ok(())
    }

    fn choose<'a>(
        &self,
        mut found: Vec<&'a Candidate>,
        place: Place,
        same: impl Fn(&Candidate, &Candidate) -> bool,
    ) -> Result<Option<&'a Candidate>, Fault> {
        found.retain(|candidate| candidate.was(self.target) && self.role.is_none_or(|role| candidate.was(role)));
        choose(found, self.referrer, same).map_err(|Ambiguous(ids)| {
            Fault::new(place, format!("found multiple possible referrals: {}", ids.join(", ")))
        })
    }
}

/// Sets a text under a key, in the style of the existing one.
fn set_field(node: &mut Node, key: &str, text: &str) {
    let place = node.place;
    let Some(mapping) = node.as_mapping_mut() else { return };
    let mut value = Node::new(Value::Scalar(Scalar {
        text: CompactString::default(),
        tag: bumpwright_yaml::Tag::Str,
        style: Style::Plain,
    }))
    .at(place);
    if let Some(old) = mapping.get(key).filter(|old| old.as_scalar().is_some()) {
        value = old.clone();
    }
    if set_scalar(&mut value, text, None).is_ok() {
        mapping.set(key, value);
    }
}
