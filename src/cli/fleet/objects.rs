//! The objects of our kinds in fleets, as manifests of a command.

use std::collections::{BTreeMap, BTreeSet};

use crate::cli::error::CliError;
use serde_json::Value;

use bumpwright_api::{Cause, Document, ImageUpdateAutomation, Object, ObjectName, Objects, Place, UnknownFields, read};
use bumpwright_fleet::{Fleet, FleetObject, Identity, SourceObject, is_masked};

/// The group of sources.
const SOURCES: &str = "source.toolkit.fluxcd.io";

/// The group of policies and automations.
const IMAGES: &str = "image.toolkit.fluxcd.io";

const AUTOMATION: &str = "ImageUpdateAutomation";

/// The kinds that commands read.
const KINDS: [(&str, &str); 6] = [
    (IMAGES, "ImagePolicy"),
    (IMAGES, "ImageRepository"),
    (IMAGES, AUTOMATION),
    (SOURCES, "GitRepository"),
    ("", "Secret"),
    ("", "ServiceAccount"),
];

/// Labels that name the Kustomization of an object: those of two clusters may have other names.
const OWNER: (&str, [&str; 2]) = ("kustomize.toolkit.fluxcd.io", ["name", "namespace"]);

/// Objects of fleets, and what is to be said of others.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) objects: Objects,
    pub(super) notes: Vec<String>,
    /// Automations that are left out, and why: they may be those of this repository.
    pub(super) unusable: Vec<String>,
}

/// Collects the objects of fleets. Those that are also `given` by hand are left out, and so are automations of other
/// repositories and Secrets whose values are encrypted. Of an object that several Kustomizations of a cluster have,
/// the first one counts.
///
/// # Errors
/// Two clusters have different objects of one kind and name.
pub(super) fn collect(fleets: &[Fleet], given: &Objects, identity: &Identity) -> Result<Collected, CliError> {
    let given: BTreeSet<(&str, ObjectName)> = given.documents().map(|document| key(&document.object)).collect();
    let has_automations = given.iter().any(|(kind, _)| *kind == "ImageUpdateAutomation");
    let mut collected = Collected::default();
    let mut by_name: BTreeMap<(&str, ObjectName), Seen<'_>> = BTreeMap::new();
    let mut differing = Vec::new();
    for fleet in fleets {
        let mut own = BTreeSet::new();
        for (node, object) in fleet.objects() {
            if node.is_elsewhere() || !is_read(object) || is_masked(&object.value) {
                continue;
            }
            let document = match document(object) {
                Ok(Some(document)) => document,
                Ok(None) => continue,
                Err(error) => {
                    if error.is_automation {
                        collected.unusable.push(error.text.clone());
                    }
                    collected.notes.push(format!("left out: {}", error.text));
                    continue;
                }
            };
            let key = key(&document.object);
            let is_left_out = match &document.object {
                Object::ImageUpdateAutomation(automation) if !has_automations => {
                    let nowhere = without_source(automation, fleet);
                    collected
                        .notes
                        .extend(nowhere.iter().map(|why| format!("left out: {why}")));
                    collected.unusable.extend(nowhere);
                    !is_of_this_repository(automation, fleet, identity)
                }
                Object::ImageUpdateAutomation(_) => true,
                _ => false,
            };
            if is_left_out || given.contains(&key) || !own.insert(key.clone()) {
                continue;
            }
            let new = Seen {
                fleet,
                object,
                document,
            };
            match by_name.get_mut(&key) {
                None => {
                    by_name.insert(key, new);
                }
                Some(first) => differing.extend(first.meet(&new)?),
            }
        }
    }
    // Credentials of other namespaces are not used.
    let users = by_name.iter().filter(|((kind, _), _)| !is_credential(kind));
    let namespaces: BTreeSet<&str> = users.map(|((_, name), _)| name.namespace.as_str()).collect();
    differing.retain(|(namespace, _)| namespaces.contains(namespace.as_str()));
    collected.notes.extend(differing.into_iter().map(|(_, note)| note));
    let documents = by_name.into_values().map(|seen| seen.document);
    let added = collected.objects.insert_all(documents);
    added?;
    collected.notes.sort();
    collected.notes.dedup();
    Ok(collected)
}

/// An object of a fleet.
struct Seen<'f> {
    fleet: &'f Fleet,
    object: &'f FleetObject,
    document: Document,
}

impl Seen<'_> {
    /// The same object in another cluster. Of credentials that differ the first ones are used, with a note for their
    /// namespace; anything else that differs is an error.
    fn meet(&self, other: &Self) -> Result<Option<(String, String)>, CliError> {
        let object = &self.document.object;
        let (kind, name) = (object.kind(), object.metadata().object_name());
        let is_same = if is_credential(kind) {
            contents(&self.object.value) == contents(&other.object.value)
        } else {
            unowned(&self.object.value) == unowned(&other.object.value)
        };
        if is_same {
            return Ok(None);
        }
        let places = format!("{} and {}", self.shown(), other.shown());
        if is_credential(kind) {
            Ok(Some((
                name.namespace.clone(),
                format!("{kind} {name} differs: {places}; that of the first is used"),
            )))
        } else {
            Err(CliError::new(format!(
                "{kind} {name} differs: {places}; name one of these clusters in --fleet, or give the {kind} with -f"
            )))
        }
    }

    fn shown(&self) -> String {
        let place = self.object.origin.as_deref().unwrap_or("generated");
        format!("{place} in {}", self.fleet.entry)
    }
}

fn key(object: &Object) -> (&'static str, ObjectName) {
    (object.kind(), object.metadata().object_name())
}

/// Kinds of Flux's image group that are misspelt are read, too, and refused.
fn is_read(object: &FleetObject) -> bool {
    let (group, kind) = bumpwright_api::group_kind(&object.value);
    KINDS.contains(&(group, kind)) || group == IMAGES
}

fn is_credential(kind: &str) -> bool {
    matches!(kind, "Secret" | "ServiceAccount")
}

/// What credentials are made of.
fn contents(object: &Value) -> [Option<&Value>; 4] {
    ["type", "data", "stringData", "imagePullSecrets"].map(|field| object.get(field))
}

/// An object without the labels of its Kustomization.
fn unowned(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(labels) = object.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        let (group, names) = OWNER;
        let is_owner = |key: &str| {
            key.split_once('/')
                .is_some_and(|(own, name)| own == group && names.contains(&name))
        };
        labels.retain(|key, _| !is_owner(key));
    }
    object
}

/// An object that its API server refuses.
struct Refused {
    text: String,
    is_automation: bool,
}

/// Reads an object as its API server does, whose server-side apply refuses fields that the schema does not have.
fn document(object: &FleetObject) -> Result<Option<Document>, Refused> {
    let text = object.value.to_string();
    let origin = object.origin.as_deref().unwrap_or("generated");
    let documents = read(origin, text.as_bytes(), UnknownFields::Refuse).map_err(|errors| {
        let causes: Vec<String> = errors.0.iter().map(|error| error.cause.to_string()).collect();
        let is_near = |cause: &Cause| matches!(cause, Cause::Kind { near, .. } if *near == AUTOMATION);
        Refused {
            text: format!("{origin}: {}", causes.join("; ")),
            is_automation: bumpwright_api::group_kind(&object.value) == (IMAGES, AUTOMATION)
                || errors.0.iter().any(|error| is_near(&error.cause)),
        }
    })?;
    let (path, place) = place(origin);
    let named = documents.into_iter().next().map(|document| Document {
        path,
        place,
        object: document.object.built_from(origin.trim_start_matches("./")),
    });
    Ok(named)
}

/// `path:line:column`.
fn place(origin: &str) -> (String, Place) {
    let mut parts = origin.rsplitn(3, ':');
    let column = parts.next().and_then(|text| text.parse().ok());
    let line = parts.next().and_then(|text| text.parse().ok());
    match (parts.next(), line, column) {
        (Some(path), Some(line), Some(column)) => (path.to_owned(), Place { line, column }),
        _ => (origin.to_owned(), Place::default()),
    }
}

/// Why an automation has no source here: the GitRepository that it names is not in the fleet.
fn without_source(automation: &ImageUpdateAutomation, fleet: &Fleet) -> Option<String> {
    let name = automation.source_name();
    let root = fleet.nodes.first().and_then(|root| root.kustomization.as_ref())?;
    let is_there = root.source() == name || fleet.object(SOURCES, "GitRepository", &name).is_some();
    (!is_there).then(|| {
        format!(
            "{AUTOMATION} {}: GitRepository {name} is not in the fleet",
            automation.metadata.object_name()
        )
    })
}

/// Whether an automation edits the repository that the fleet is read from: its source is the one that reconciles the
/// entry, has the same address, or is not in the fleet at all.
fn is_of_this_repository(automation: &ImageUpdateAutomation, fleet: &Fleet, identity: &Identity) -> bool {
    let name = automation.source_name();
    let url = |name: &ObjectName| {
        let object = fleet.object(SOURCES, "GitRepository", name)?;
        let source = SourceObject {
            kind: "GitRepository".to_owned(),
            name: name.clone(),
            object: Some(object.value.clone()),
        };
        source.url().map(str::to_owned)
    };
    let root = fleet.nodes.first().and_then(|root| root.kustomization.as_ref());
    let own = root.map(bumpwright_api::Kustomization::source);
    match (url(&name), own) {
        (_, Some(own)) if own == name => true,
        (None, own) => own.is_none(),
        (Some(found), own) => {
            let urls = own.as_ref().and_then(url).into_iter();
            let urls = urls.chain(identity.urls.iter().cloned()).collect();
            Identity { urls }.has(&found)
        }
    }
}
