//! The faults of objects by the schemas of their kinds. States of a fleet have most of their objects in common: each is
//! checked once.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;
use serde_json::Value;

use crate::beside::beside;
use crate::build::one::is_sealed;
use crate::build::settings::is_over;
use crate::build::view::{Fleet, FleetObject, Node, Product};
use crate::changes::KeptDefinitions;
use crate::check::cluster::text;
use bumpwright_api::{broken_rules, custom_resources};
use bumpwright_findings::Rule;
use bumpwright_schemas::{Known, Schemas, Violation};
use bumpwright_sops::{MASK, is_encrypted_secret};
use bumpwright_text::Cuts;
use bumpwright_yaml::{ReadOptions, json_of_node, read_first};

/// Objects that a thread takes at a time.
const HANDFUL: usize = 32;

/// The schemas of states of a fleet, and what they say of objects.
#[derive(Debug, Default)]
pub(crate) struct SchemaMemo(Mutex<Vec<Arc<FleetSchemas>>>);

/// The schemas of a fleet, and what they say of objects.
#[derive(Debug)]
pub(super) struct FleetSchemas {
    kinds: BTreeSet<(String, String)>,
    definitions: Vec<Definition>,
    schemas: OnceLock<Schemas>,
    bundled: Schemas,
    /// By the place of the first of a handful of objects in memory.
    known: Mutex<HashMap<usize, Arc<Faults>>>,
}

/// A CustomResourceDefinition of a fleet.
#[derive(Debug)]
enum Definition {
    Built {
        product: Arc<Product>,
        /// Its position among the objects.
        at: usize,
    },
    /// As it was before: the cluster keeps it.
    Kept(Value),
}

/// The faults of a handful of objects.
#[derive(Debug)]
pub(super) struct Faults {
    /// With it the objects stay where they are.
    _product: Arc<Product>,
    faults: OnceLock<Vec<(usize, Fault)>>,
}

/// A handful of objects of a node.
#[derive(Clone, Copy)]
struct Handful<'f> {
    node: &'f Node,
    product: &'f Arc<Product>,
    objects: &'f [FleetObject],
}

impl SchemaMemo {
    /// The schemas of a fleet: those of a state before if it has the same kinds and definitions.
    pub(super) fn schemas(&self, fleet: &Fleet, kept: &KeptDefinitions, bundled: &Schemas) -> Arc<FleetSchemas> {
        let new = FleetSchemas::of(fleet, kept, bundled);
        let mut all = self.0.lock();
        let known = all.iter().find(|known| known.is_as(&new)).cloned();
        known.unwrap_or_else(|| {
            let new = Arc::new(new);
            all.push(Arc::clone(&new));
            new
        })
    }
}

impl FleetSchemas {
    fn of(fleet: &Fleet, kept: &KeptDefinitions, bundled: &Schemas) -> Self {
        let mut kinds = BTreeSet::new();
        let mut definitions = Vec::new();
        for product in fleet.nodes.iter().filter_map(|node| node.product.as_ref().ok()) {
            for (at, object) in product
                .objects
                .iter()
                .enumerate()
                .filter(|(_, object)| is_checked(object))
            {
                kinds.insert(bumpwright_api::group_kind(&object.value));
                if Schemas::is_crd(&object.value) {
                    definitions.push(match kept.get(&object.id()) {
                        Some(value) => Definition::Kept(value.clone()),
                        None => Definition::Built {
                            product: Arc::clone(product),
                            at,
                        },
                    });
                }
            }
        }
        let kinds = kinds.into_iter();
        Self {
            kinds: kinds.map(|(group, kind)| (group.to_owned(), kind.to_owned())).collect(),
            definitions,
            schemas: OnceLock::new(),
            bundled: bundled.clone(),
            known: Mutex::default(),
        }
    }

    /// Whether these are the same schemas.
    fn is_as(&self, other: &Self) -> bool {
        let mut definitions = self.definitions.iter().zip(&other.definitions);
        self.kinds == other.kinds
            && self.definitions.len() == other.definitions.len()
            && definitions.all(|(one, other)| one.is_as(other))
    }

    /// The schemas with the definitions of the fleet, and ours and Flux's for kinds that it does not define: they
    /// come with Flux.
    fn schemas(&self) -> &Schemas {
        self.schemas.get_or_init(|| {
            let mut schemas = self.bundled.clone();
            for definition in self.definitions.iter().filter_map(Definition::value) {
                // A definition with faults is one of the objects that are checked.
                let _ = schemas.add_crd(definition);
            }
            let has = |group: &str, kind: &str| self.kinds.contains(&(group.to_owned(), kind.to_owned()));
            for resource in custom_resources() {
                let (group, kind) = resource.group_kind();
                if has(group, kind)
                    && schemas.is_namespaced(group, kind).is_none()
                    && let Some(definition) = json(&resource.to_yaml())
                {
                    let _ = schemas.add_crd(&definition);
                }
            }
            schemas.add_flux(has);
            schemas
        })
    }

    /// The faults of all objects of a fleet with these schemas, in their order, by as many threads as there may be.
    /// After the deadline no further objects are checked.
    pub(super) fn faults<'f>(
        &self,
        fleet: &'f Fleet,
        (threads, deadline): (usize, Option<Instant>),
    ) -> impl Iterator<Item = (&'f Node, &'f [FleetObject], Arc<Faults>)> {
        let mut handfuls: Vec<(usize, Handful<'f>)> = Vec::new();
        for node in &fleet.nodes {
            let Ok(product) = &node.product else { continue };
            for objects in product.objects.chunks(HANDFUL) {
                handfuls.push((handfuls.len(), Handful { node, product, objects }));
            }
        }
        let threads = threads.min(fleet.len().div_ceil(HANDFUL)).max(1);
        let mut checked = beside(
            threads,
            &handfuls,
            || self.schemas(),
            |schemas, (at, handful)| {
                let is_in_time = !is_over(deadline);
                is_in_time.then(|| (*at, *handful, self.faults_of(*handful, schemas)))
            },
        );
        checked.sort_by_key(|one| one.as_ref().map(|(at, ..)| *at));
        let checked = checked.into_iter().flatten();
        checked.map(|(_, Handful { node, objects, .. }, faults)| (node, objects, faults))
    }

    /// The faults of a handful; another thread that wants them, too, waits for them.
    fn faults_of(&self, handful: Handful<'_>, schemas: &Schemas) -> Arc<Faults> {
        let place = handful.objects.as_ptr().addr();
        let mut known = self.known.lock();
        let faults = known.entry(place).or_insert_with(|| {
            Arc::new(Faults {
                _product: Arc::clone(handful.product),
                faults: OnceLock::new(),
            })
        });
        let faults = Arc::clone(faults);
        drop(known);
        faults.faults.get_or_init(|| {
            let objects = handful.objects.iter().enumerate();
            let objects = objects.filter(|(_, object)| is_checked(object));
            let found = objects.flat_map(|(at, object)| {
                let faults = of_object(&object.value, schemas).into_iter();
                faults.map(move |fault| (at, fault))
            });
            found.collect()
        });
        faults
    }
}

impl Definition {
    fn value(&self) -> Option<&Value> {
        match self {
            Self::Built { product, at } => Some(&product.objects.get(*at)?.value),
            Self::Kept(value) => Some(value),
        }
    }

    fn is_as(&self, other: &Self) -> bool {
        let place = |one: &Self| match one {
            Self::Built { product, at } => Some((Arc::as_ptr(product), *at)),
            Self::Kept(_) => None,
        };
        place(self).is_some_and(|ours| place(other) == Some(ours)) || self.value() == other.value()
    }
}

impl Faults {
    /// Each with the position of its object among the others.
    pub(super) fn all(&self) -> impl Iterator<Item = &(usize, Fault)> {
        self.faults.get().into_iter().flatten()
    }
}

/// Whether an object is checked: not one that is encrypted as a whole.
fn is_checked(object: &FleetObject) -> bool {
    is_applied(object) && !is_sealed(&object.value)
}

/// What is wrong with an object.
#[derive(Debug)]
pub(super) enum Fault {
    Field {
        rule: Rule,
        pointer: String,
        text: String,
    },
    /// Its kind is not known.
    Kind,
}

/// Whether an object is applied as it is. Encrypted Secrets are not (`builds` has them), nor what a label or an
/// annotation takes from its Kustomization.
pub(crate) fn is_applied(object: &FleetObject) -> bool {
    let is_left = || {
        object.wishes("kustomize.toolkit.fluxcd.io/reconcile", "disabled")
            || object.wishes("kustomize.toolkit.fluxcd.io/ssa", "Ignore")
    };
    !is_encrypted_secret(&object.value) && !is_left()
}

fn json(text: &str) -> Option<Value> {
    let node = read_first(text.as_bytes(), &ReadOptions::sigs(bumpwright_yaml::FileId::NONE)).ok()??;
    json_of_node(&node).ok()
}

fn of_object(object: &Value, schemas: &Schemas) -> Vec<Fault> {
    let (group, kind) = bumpwright_api::group_kind(object);
    let version = text(object, "/apiVersion").behind_last('/');
    let field = |rule, pointer: &str, text| Fault::Field {
        rule,
        pointer: pointer.to_owned(),
        text,
    };
    match (
        schemas.knows(group, version, kind),
        schemas.unserved(group, version, kind),
    ) {
        (Known::Served, _) => {}
        (Known::Unknown, None) => return vec![Fault::Kind],
        (Known::Unknown, Some(text)) => return vec![field(Rule::UnknownKind, "/kind", text)],
        (_, text) => {
            let text = text.unwrap_or_else(|| format!("{group}/{version} {kind} is not served"));
            return vec![field(Rule::RemovedApi, "/apiVersion", text)];
        }
    }
    let violations = schemas.check(object).into_iter();
    let mut faults: Vec<Fault> = violations
        .filter(|one| !is_open(object, one) && !is_not_text(object, one))
        .map(of_violation)
        .collect();
    if faults.is_empty() {
        let broken = broken_rules(object).into_iter();
        faults.extend(broken.map(|(pointer, text)| field(Rule::Schema, &pointer, text)));
    }
    faults
}

fn of_violation(violation: Violation) -> Fault {
    let Violation { pointer, text } = violation;
    let rule = if text.starts_with("unknown field ") {
        Rule::UnknownField
    } else {
        Rule::Schema
    };
    Fault::Field { rule, pointer, text }
}

/// Whether a violation is of a value that is not known here: one with a variable, or one that is encrypted.
fn is_open(object: &Value, violation: &Violation) -> bool {
    let text = object.pointer(&violation.pointer).and_then(Value::as_str);
    text.is_some_and(|text| text.contains("${") || text.contains(MASK))
}

/// Whether a violation is of a label, an annotation or a namespace that is not a text (`builds` has those).
fn is_not_text(object: &Value, violation: &Violation) -> bool {
    let concerned = ["/metadata/labels", "/metadata/annotations", "/metadata/namespace"];
    let value = object.pointer(&violation.pointer);
    concerned.iter().any(|start| violation.pointer.starts_with(start))
        && value.is_some_and(|value| !(value.is_string() || value.is_null()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::source::meant::Source;
    use serde_json::json;

    fn node(product: &Arc<Product>) -> Node {
        Node {
            product: Ok(Arc::clone(product)),
            source: Source::This,
            ..Node::waiting(None, "")
        }
    }

    fn product(objects: impl IntoIterator<Item = Value>) -> Arc<Product> {
        let objects = objects.into_iter().map(|value| FleetObject { value, origin: None });
        Arc::new(Product::of(objects.collect()))
    }

    fn fleet(products: &[&Arc<Product>]) -> Fleet {
        let mut fleet = Fleet::new("c");
        fleet.nodes = products.iter().map(|product| node(product)).collect();
        fleet
    }

    fn definition(kind: &str, field: &str) -> Value {
        let properties = json!({"spec": {"type": "object", "properties": {field: {"type": "string"}}}});
        let schema = json!({"openAPIV3Schema": {"type": "object", "properties": properties}});
        let version = json!({"name": "v1", "served": true, "storage": true, "schema": schema});
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": kind, "plural": "things"}, "versions": [version]}})
    }

    fn thing(field: &str) -> Value {
        json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a", "namespace": "b"}, "spec": {field: "v"}})
    }

    /// What is found of all objects of a fleet, by the position of the object, and the faults of each handful.
    fn found(memo: &SchemaMemo, fleet: &Fleet) -> (Vec<String>, Vec<Arc<Faults>>) {
        let schemas = memo.schemas(fleet, &KeptDefinitions::new(), &Schemas::bundled(None).unwrap());
        let handfuls: Vec<Arc<Faults>> = schemas.faults(fleet, (2, None)).map(|(_, _, faults)| faults).collect();
        let faults = handfuls.iter().flat_map(|faults| faults.all());
        let texts = faults.map(|(at, fault)| match fault {
            Fault::Kind => format!("{at} kind"),
            Fault::Field { pointer, .. } => format!("{at} {pointer}"),
        });
        (texts.collect(), handfuls)
    }

    #[test]
    fn objects_that_two_states_have_in_common_are_checked_once() {
        let many = (0..HANDFUL).map(|_| thing("good"));
        let (definitions, things) = (
            product([definition("Thing", "good")]),
            product(many.chain([thing("bad")])),
        );
        let memo = SchemaMemo::default();
        let (before, old) = found(&memo, &fleet(&[&definitions, &things]));
        let added = product([thing("worse")]);
        let (after, new) = found(&memo, &fleet(&[&added, &definitions, &things]));
        assert_eq!(before, ["0 /spec/bad"]);
        assert_eq!(after, ["0 /spec/worse", "0 /spec/bad"]);
        assert_eq!((old.len(), new.len()), (3, 4));
        assert!(
            old.iter()
                .zip(new.iter().skip(1))
                .all(|(one, other)| Arc::ptr_eq(one, other))
        );
    }

    #[test]
    fn nothing_is_checked_after_the_deadline() {
        let fleet = fleet(&[&product([thing("good")])]);
        let memo = SchemaMemo::default();
        let schemas = memo.schemas(&fleet, &KeptDefinitions::new(), &Schemas::bundled(None).unwrap());
        for (deadline, checked) in [(None, 1), (Some(Instant::now()), 0)] {
            assert_eq!(schemas.faults(&fleet, (1, deadline)).count(), checked);
        }
    }

    #[test]
    fn other_definitions_or_kinds_check_them_again() {
        let things = product([thing("good")]);
        let memo = SchemaMemo::default();
        let of = |first: Value| found(&memo, &fleet(&[&product([first]), &things])).0;
        assert_eq!(of(definition("Thing", "good")), [""; 0]);
        assert_eq!(of(definition("Thing", "other")), ["0 /spec/good"]);
        assert_eq!(of(definition("Other", "good")), ["0 kind"]);
        // Equal ones of another build are the same.
        assert_eq!(of(definition("Thing", "good")), [""; 0]);
        assert_eq!(memo.0.lock().len(), 3);
    }
}
