//! Which Kustomizations have an image in their objects: one that waits holds back no image that none
//! of its objects has.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_api::ObjectName;
use bumpwright_budget::Few;
use bumpwright_text::Cuts;
use serde_json::Value;

use super::images::Version;
use super::standing::Standings;
use crate::facts::{AutomationFacts, Entry, InventoryEntry, KustomizationFacts};
use crate::world::World;

/// The most objects of a Kustomization that are read, and those of all. Of the others it stays unknown what they have.
const OBJECTS: usize = 200;
const ALL_OBJECTS: usize = 1_000;

/// API groups whose objects name no image.
const GROUPS: [&str; 6] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
];

/// Kinds of the core group whose objects name no image; Secrets are never read for this.
const KINDS: [&str; 7] = [
    "LimitRange",
    "Namespace",
    "PersistentVolumeClaim",
    "ResourceQuota",
    "Secret",
    "Service",
    "ServiceAccount",
];

/// A question that only the objects of a waiting Kustomization answer: which of some images they have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doubt {
    /// The objects to read: those that can name an image.
    pub objects: Vec<Entry>,
    /// The images, by policy.
    images: BTreeMap<ObjectName, Sought>,
}

/// What names an image in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sought {
    name: String,
    /// Its last part: registries have mirrors, and a kustomization may rename what it gets.
    last: String,
    /// The tags of now and before, which may be a field of their own.
    tags: BTreeSet<String>,
}

impl Sought {
    fn new(chosen: &Version, previous: Option<&Version>) -> Self {
        let tags = [Some(chosen), previous].into_iter().flatten();
        Self {
            name: chosen.name.clone(),
            last: last(&chosen.name).to_owned(),
            tags: tags.map(|version| version.tag.clone()).collect(),
        }
    }

    /// Whether a text has the image: as a word of it, as in the arguments of a container, or as its tag alone.
    fn is_in(&self, text: &str) -> bool {
        let is_between = |c: char| c.is_whitespace() || "=,;'\"`()[]{}".contains(c);
        self.tags.contains(text) || text.split(is_between).any(|word| self.is_named_by(word))
    }

    fn is_named_by(&self, word: &str) -> bool {
        let name = bare(word);
        // `app: web` is a label; `web:1.0`, `acme/web` and the name as the policy has it are images.
        last(name) == self.last && (name.len() < word.len() || name.contains('/') || name == self.name)
    }
}

/// The name of an image without tag and digest.
pub(crate) fn bare(image: &str) -> &str {
    let image = image.before('@');
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => image,
    }
}

fn last(name: &str) -> &str {
    name.behind_last('/')
}

impl Doubt {
    /// The policies whose image an object has. What its controllers wrote into its status does not count.
    #[must_use]
    pub fn found_in(&self, object: &Value) -> BTreeSet<ObjectName> {
        let mut texts = Vec::new();
        let parts = object.as_object().into_iter().flatten();
        parts
            .filter(|(key, _)| *key != "status")
            .for_each(|(_, part)| collect(part, &mut texts));
        let has = |sought: &Sought| texts.iter().any(|text| sought.is_in(text));
        let images = self.images.iter().filter(|(_, sought)| has(sought));
        images.map(|(policy, _)| policy.clone()).collect()
    }
}

/// All texts of a value.
fn collect<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, texts)),
        _ => {}
    }
}

/// The objects of a Kustomization to read; none when it has applied none, or too many.
fn to_read(entries: &Few<InventoryEntry, 20_000>) -> Option<Vec<Entry>> {
    let whole = (entries.left_out == 0).then_some(entries)?;
    let entries: Option<Vec<Entry>> = whole.iter().map(InventoryEntry::entry).collect();
    let mut entries = entries.filter(|entries| !entries.is_empty())?;
    entries.retain(|one| {
        let is_without = one.group.is_empty() && KINDS.contains(&one.kind.as_str());
        !is_without && !GROUPS.contains(&one.group.as_str())
    });
    (entries.len() <= OBJECTS).then_some(entries)
}

impl KustomizationFacts {
    /// Whether it waits for more than the moment that an apply takes, here: only then its objects are worth a look.
    fn is_at_a_standstill(&self) -> bool {
        let readiness = self.readiness();
        let has_failed = readiness.state.is_broken() || self.failing_since().is_some();
        !self.is_elsewhere() && (readiness.suspended || has_failed)
    }
}

impl World {
    /// What is to be read before [`World::images`] can tell which Kustomizations hold an image back; the answers go
    /// into [`World::uses`]. Empty when no written image waits.
    #[must_use]
    pub fn doubts(&self) -> BTreeMap<ObjectName, Doubt> {
        let mut doubts = BTreeMap::<ObjectName, Doubt>::new();
        let (standings, mut room) = (Standings::new(self), ALL_OBJECTS);
        for automation in self.automations.values() {
            let images = self.written(automation);
            let source = self.source_of(automation).0;
            for name in standings.waiting(&source).filter(|_| !images.is_empty()) {
                if !doubts.contains_key(name) {
                    let facts = self.kustomizations.get(name).filter(|facts| facts.is_at_a_standstill());
                    let objects = facts.and_then(|facts| to_read(&facts.status.inventory.entries));
                    let Some(objects) = objects.filter(|objects| objects.len() <= room) else {
                        continue;
                    };
                    room -= objects.len();
                    let images = BTreeMap::new();
                    doubts.insert(name.clone(), Doubt { objects, images });
                }
                doubts.entry(name.clone()).or_default().images.extend(images.clone());
            }
        }
        doubts
    }

    /// What to look for of the images that an automation has written.
    fn written(&self, automation: &AutomationFacts) -> BTreeMap<ObjectName, Sought> {
        let written = automation.observed().filter_map(|(policy, image)| {
            let facts = self.policies.get(&policy)?;
            let chosen = facts.chosen().filter(|chosen| chosen.is(image))?;
            Some((policy, Sought::new(&chosen, facts.previous().as_ref())))
        });
        written.collect()
    }

    /// Whether it is known that no object of a Kustomization has the image of a policy.
    pub(crate) fn is_without(&self, kustomization: &ObjectName, policy: &ObjectName) -> bool {
        self.uses.get(kustomization).is_some_and(|has| !has.contains(policy))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn doubt(image: &str, tags: &[&str]) -> Doubt {
        let version = |tag: &str| Version {
            name: image.to_owned(),
            tag: tag.to_owned(),
            digest: String::new(),
        };
        let sought = Sought::new(&version(tags[0]), tags.get(1).map(|tag| version(tag)).as_ref());
        Doubt {
            objects: Vec::new(),
            images: [(ObjectName::new("fs", "web"), sought)].into(),
        }
    }

    #[test]
    fn an_object_has_an_image_in_any_field() {
        let doubt = doubt("ghcr.io/acme/web", &["1.1.0", "1.0.0"]);
        for (object, has) in [
            (
                json!({"spec": {"containers": [{"image": "ghcr.io/acme/web:1.0.0"}]}}),
                true,
            ),
            (
                json!({"spec": {"image": "mirror.example:5000/acme/web@sha256:00"}}),
                true,
            ),
            (json!({"spec": {"args": ["--sidecar=ghcr.io/acme/web:0.9"]}}), true),
            (json!({"spec": {"values": {"image": {"repository": "acme/web"}}}}), true),
            (json!({"data": {"TAG": "1.0.0"}}), true),
            (json!({"data": {"all.yaml": "a: b\nimage: 'acme/web:2'\n"}}), true),
            (
                json!({"metadata": {"labels": {"app": "web"}}, "spec": {"image": "ghcr.io/acme/api:2.0.0"}}),
                false,
            ),
            (json!({"spec": {"image": "ghcr.io/acme/web-api:1"}}), false),
            (json!({"status": {"images": ["ghcr.io/acme/web:1.0.0"]}}), false),
        ] {
            assert_eq!(!doubt.found_in(&object).is_empty(), has, "{object}");
        }
        let plain = self::doubt("nginx", &["1.27"]);
        assert!(!plain.found_in(&json!({"image": {"repository": "nginx"}})).is_empty());
        assert!(
            !plain
                .found_in(&json!({"image": "docker.io/library/nginx:1.26"}))
                .is_empty()
        );
    }

    #[test]
    fn what_cannot_name_an_image_is_not_read() {
        let entries = |ids: &[String]| Few {
            few: (ids.iter())
                .map(|id| InventoryEntry {
                    id: id.clone(),
                    v: "v1".to_owned(),
                })
                .collect(),
            left_out: 0,
        };
        assert_eq!(to_read(&entries(&[])), None);
        let all = ["_apps__Namespace", "apps_web_apps_Deployment", "apps_key__Secret"].map(str::to_owned);
        let names: Vec<String> = to_read(&entries(&all))
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(names, ["Deployment/apps/web"]);
        let many: Vec<_> = (0..=OBJECTS).map(|n| format!("apps_{n}_apps_Deployment")).collect();
        assert_eq!(to_read(&entries(&many)), None);
    }
}
