//! Which Kustomizations have an image in their objects, and at which version: one that waits holds back no image that
//! none of its objects has, and an image is current only where objects do not show another version.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bumpwright_api::ObjectName;
use bumpwright_budget::Few;
use bumpwright_text::Cuts;
use serde_json::Value;

use super::found::{Found, Run, Uses};
use super::named::images_of;
use super::standing::Standings;
use super::version::{Version, bare, full};
use crate::facts::{AutomationFacts, Entry, InventoryEntry, KustomizationFacts};
use crate::kustomizations::{OWNER_NAME, OWNER_NAMESPACE};
use crate::world::{Id, World};

/// The most objects of a Kustomization that are read, and those of all. Of the others it stays unknown what they have.
const OBJECTS: usize = 200;
const ALL_OBJECTS: usize = 1_000;

/// The most workloads of Kustomizations that are well.
const ALL_WORKLOADS: usize = 500;

/// The most images of an object that are looked at, and the most versions that are kept of it, one for each policy:
/// whoever writes an object may name any number of images.
const IMAGES: usize = 200;
const VERSIONS: usize = 200;

/// The kinds, with their groups, that run images or have Helm do it.
const WORKLOADS: [(&str, &str); 5] = [
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("batch", "CronJob"),
    ("helm.toolkit.fluxcd.io", "HelmRelease"),
];

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

/// A question that only the objects of a Kustomization answer: which of some images they have.
#[derive(Clone, Debug)]
pub struct Doubt {
    /// The objects to read: those that can name an image, or the workloads alone.
    pub objects: Vec<Entry>,
    is_of_all: bool,
    kustomization: ObjectName,
    /// The revision that the Kustomization applied last: an answer is about the objects of this one.
    applied: String,
    images: Arc<Images>,
}

/// Whether one answer is for both questions. A workload has the names of its images, so that other tags are nothing new
/// to ask of it: a version that is chosen next would have all of them read again.
impl PartialEq for Doubt {
    fn eq(&self, other: &Self) -> bool {
        let images = self.images.iter().zip(other.images.iter());
        let mut images = images.map(|((policy, own), (of, one))| {
            policy == of && own.name == one.name && (!self.is_of_all || own.tags == one.tags)
        });
        self.is_of_all == other.is_of_all
            && self.kustomization == other.kustomization
            && self.applied == other.applied
            && self.images.len() == other.images.len()
            && images.all(|is_same| is_same)
            && self.objects == other.objects
    }
}

impl Eq for Doubt {}

/// What to look for, by policy.
type Images = BTreeMap<ObjectName, Sought>;

/// What names an image in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sought {
    name: String,
    /// With what may be left out of it.
    full: String,
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
            full: full(&chosen.name),
            last: last(&chosen.name).to_owned(),
            tags: tags.map(|version| version.tag.clone()).collect(),
        }
    }

    fn is_named_by(&self, word: &str) -> bool {
        let name = bare(word);
        // `app: web` is a label; `web:1.0`, `acme/web` and the name as the policy has it are images.
        last(name) == self.last && (name.len() < word.len() || name.contains('/') || name == self.name)
    }
}

fn last(name: &str) -> &str {
    name.behind_last('/')
}

impl Doubt {
    /// What is known before an object is read.
    #[must_use]
    pub fn unanswered(&self) -> Uses {
        Uses {
            is_of_all: self.is_of_all,
            unread: self.objects.len(),
            images: Found::new(),
        }
    }

    /// The policies whose image an object has, and in which version. What its controllers wrote into its status does
    /// not count.
    #[must_use]
    pub fn found_in(&self, object: &Value) -> Found {
        let mut found = Found::new();
        if self.is_of_all {
            let named = self.named_in(object).into_iter();
            found.extend(named.map(|policy| (policy.clone(), BTreeSet::new())));
        }
        if !self.is_applied(object) {
            return found;
        }
        let mut room = VERSIONS;
        for image in images_of(object).into_iter().take(IMAGES) {
            let Some(version) = Version::of_image(&image) else {
                continue;
            };
            // An image that a policy has by its name is not the mirror of another one.
            let name = full(&version.name);
            let is_its = |sought: &Sought| sought.full == name && sought.is_named_by(&image);
            let has_policy = self.images.values().any(is_its);
            let sought = self.images.iter();
            let sought = sought.filter(|(_, one)| is_its(one) || (!has_policy && one.is_named_by(&image)));
            for (policy, _) in sought.take(room) {
                room -= 1;
                let run = Run {
                    object: entry_of(object),
                    image: version.clone(),
                };
                found.entry(policy.clone()).or_default().insert(run);
            }
        }
        found
    }

    /// The policies whose image is anywhere in an object: as a word of a text, as in the arguments of a container, or
    /// its tag as a whole text. Texts are read once, whatever the number of policies.
    fn named_in(&self, object: &Value) -> Vec<&ObjectName> {
        let mut texts = Vec::new();
        let parts = object.as_object().into_iter().flatten();
        parts
            .filter(|(key, _)| *key != "status")
            .for_each(|(_, part)| collect(part, &mut texts));
        let is_between = |c: char| c.is_whitespace() || "=,;'\"`()[]{}".contains(c);
        let mut words: BTreeMap<&str, BTreeSet<&str>> = self
            .images
            .values()
            .map(|sought| (sought.last.as_str(), BTreeSet::new()))
            .collect();
        for word in texts.iter().flat_map(|text| text.split(is_between)) {
            if let Some(words) = words.get_mut(last(bare(word))) {
                words.insert(word);
            }
        }
        let texts: BTreeSet<&str> = texts.into_iter().collect();
        let is_named = |sought: &Sought| {
            let mut words = words.get(sought.last.as_str()).into_iter().flatten();
            sought.tags.iter().any(|tag| texts.contains(tag.as_str())) || words.any(|word| sought.is_named_by(word))
        };
        let named = self.images.iter().filter(|(_, sought)| is_named(sought));
        named.map(|(policy, _)| policy).collect()
    }

    /// Whether the object is one that the Kustomization has applied, by its labels. An inventory is a text, and which
    /// version another object has is nothing to show to those who see the Kustomization.
    fn is_applied(&self, object: &Value) -> bool {
        let labels = object.pointer("/metadata/labels");
        let label = |key: &str| labels.and_then(|labels| labels.get(key)?.as_str());
        label(OWNER_NAME) == Some(self.kustomization.name.as_str())
            && label(OWNER_NAMESPACE) == Some(self.kustomization.namespace.as_str())
    }
}

/// The kind and name of an object.
fn entry_of(object: &Value) -> Entry {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
    Entry {
        kind: text("/kind"),
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name"),
        ..Entry::default()
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

/// The workloads of a Kustomization; none when it has applied none, or more than there is room for.
fn workloads(entries: &Few<InventoryEntry, 20_000>, room: usize) -> Option<Vec<Entry>> {
    // By the ends of their ids first: there may be a million entries in all, and nothing is made of most of them.
    let has_kind = |one: &&InventoryEntry| WORKLOADS.iter().any(|(_, kind)| one.id.ends_with(*kind));
    let likely = entries.iter().filter(has_kind);
    if likely.clone().count() > OBJECTS.min(room) {
        return None;
    }
    let is_workload = |one: &Entry| WORKLOADS.contains(&(one.group.as_str(), one.kind.as_str()));
    let workloads = likely.filter_map(InventoryEntry::entry).filter(is_workload);
    let workloads: Vec<Entry> = workloads.collect();
    (!workloads.is_empty()).then_some(workloads)
}

impl KustomizationFacts {
    /// Whether it waits for more than the moment that an apply takes: only then all its objects are worth a look.
    fn is_at_a_standstill(&self) -> bool {
        let readiness = self.readiness();
        readiness.suspended || readiness.state.is_broken() || self.failing_since().is_some()
    }
}

impl World {
    /// What is to be read before [`World::images`] can tell which versions run, and which Kustomizations hold an image
    /// back; the answers go into [`World::uses`]. Empty when no automation has seen an image.
    #[must_use]
    pub fn doubts(&self) -> BTreeMap<ObjectName, Doubt> {
        self.doubts_of(None)
    }

    /// The same; where there is not room for all, the images of a namespace come first.
    #[must_use]
    pub fn doubts_of(&self, namespace: Option<&str>) -> BTreeMap<ObjectName, Doubt> {
        let sought = self.sought().into_iter();
        let mut sought: Vec<(Id, Arc<Images>)> = sought.map(|(source, images)| (source, Arc::new(images))).collect();
        if let Some(namespace) = namespace {
            sought.sort_by_cached_key(|(_, images)| !images.keys().any(|policy| policy.namespace == namespace));
        }
        let (standings, mut doubts) = (Standings::new(self), BTreeMap::new());
        // What holds images back counts more than what shows them.
        for (is_of_all, mut room) in [(true, ALL_OBJECTS), (false, ALL_WORKLOADS)] {
            for (source, images) in &sought {
                let still = self.at_a_standstill(standings.waiting(source));
                let names = standings.names_of(source).iter().map(|id| &id.name);
                for name in names.filter(|name| still.contains(name) == is_of_all) {
                    if let Some(doubt) = self.doubt(name, (is_of_all, room), images) {
                        room -= doubt.objects.len();
                        doubts.insert(name.clone(), doubt);
                    }
                }
            }
        }
        doubts
    }

    fn at_a_standstill<'n>(&self, waiting: impl Iterator<Item = &'n ObjectName>) -> BTreeSet<&'n ObjectName> {
        let is_still = |name: &&ObjectName| {
            let facts = self.kustomizations.get(*name);
            facts.is_some_and(KustomizationFacts::is_at_a_standstill)
        };
        waiting.filter(is_still).collect()
    }

    /// What to read of a Kustomization; none of one that applies to another cluster, or that there is no room for.
    fn doubt(&self, name: &ObjectName, (is_of_all, room): (bool, usize), images: &Arc<Images>) -> Option<Doubt> {
        let facts = self.kustomizations.get(name).filter(|facts| !facts.is_elsewhere())?;
        let entries = &facts.status.inventory.entries;
        let objects = if is_of_all {
            to_read(entries).filter(|objects| objects.len() <= room)?
        } else {
            workloads(entries, room)?
        };
        Some(Doubt {
            objects,
            is_of_all,
            kustomization: name.clone(),
            applied: facts.status.last_applied_revision.clone(),
            images: Arc::clone(images),
        })
    }

    /// What to look for of the images that automations have seen, by the source that they change: also of those that
    /// they have not written yet, so that it is the same before and after.
    fn sought(&self) -> BTreeMap<Id, Images> {
        let mut sought = BTreeMap::<Id, Images>::new();
        for automation in self.automations.values() {
            let images = self.sought_by(automation);
            if !images.is_empty() {
                sought.entry(self.source_of(automation).0).or_default().extend(images);
            }
        }
        sought
    }

    fn sought_by(&self, automation: &AutomationFacts) -> Images {
        let sought = automation.observed().filter_map(|(policy, _)| {
            let facts = self.policies.get(&policy)?;
            Some((policy, Sought::new(&facts.chosen()?, facts.previous().as_ref())))
        });
        sought.collect()
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
            is_of_all: true,
            kustomization: ObjectName::new("fs", "apps"),
            applied: String::new(),
            images: Arc::new([(ObjectName::new("fs", "web"), sought)].into()),
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

    /// The version counts of what the Kustomization has applied, and of nothing else that its inventory names.
    #[test]
    fn versions_are_those_of_applied_objects() {
        let doubt = doubt("ghcr.io/acme/web", &["1.1.0", "1.0.0"]);
        let containers = json!([{"image": "ghcr.io/acme/web:1.0.0"}, {"image": "envoyproxy/envoy:v1.30"}]);
        let object = |labels: Value| {
            json!({"kind": "Deployment", "metadata": {"namespace": "shop", "name": "web", "labels": labels},
                "spec": {"template": {"spec": {"containers": containers}}}})
        };
        let told = |labels: Value| -> Vec<String> {
            let found = doubt.found_in(&object(labels));
            found.into_values().flatten().map(|run| run.to_string()).collect()
        };
        let by = |name: &str| json!({"kustomize.toolkit.fluxcd.io/name": name, "kustomize.toolkit.fluxcd.io/namespace": "fs"});
        assert_eq!(told(by("apps")), ["Deployment shop/web has 1.0.0"]);
        assert!(told(by("other")).is_empty() && told(json!({})).is_empty());
        assert_eq!(
            doubt.found_in(&object(json!({}))).len(),
            1,
            "that it has the image is known all the same"
        );
    }

    /// An object may name any number of images.
    #[test]
    fn versions_of_an_object_are_bounded() {
        let policies = |names: &[&str]| {
            let mut doubt = doubt("ghcr.io/acme/web", &["1.1.0"]);
            let sought = names.iter().map(|name| {
                let chosen = Version {
                    name: format!("ghcr.io/{name}/web"),
                    ..Version::default()
                };
                (ObjectName::new("fs", *name), Sought::new(&chosen, None))
            });
            doubt.images = Arc::new(sought.collect());
            doubt
        };
        let labels = json!({"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "fs"});
        let found = |doubt: &Doubt, images: &[String]| {
            let containers: Vec<Value> = images.iter().map(|image| json!({"image": image})).collect();
            let object = json!({"kind": "Pod", "metadata": {"labels": labels}, "spec": {"containers": containers}});
            let found = doubt.found_in(&object).into_iter();
            let counts = found.map(|(policy, runs)| (policy.name, runs.len()));
            counts.filter(|(_, runs)| *runs > 0).collect::<Vec<_>>()
        };
        let both = policies(&["acme", "other"]);
        let runs = |images: &[String]| found(&both, images);
        assert_eq!(runs(&["ghcr.io/acme/web:1".to_owned()]), [("acme".to_owned(), 1)]);
        let mirrored = [("acme".to_owned(), 1), ("other".to_owned(), 1)];
        assert_eq!(runs(&["mirror.example/web:1".to_owned()]), mirrored);
        let many: Vec<String> = (0..1_000).map(|n| format!("mirror.example/web:{n}")).collect();
        let sum: usize = runs(&many).iter().map(|(_, runs)| runs).sum();
        assert_eq!(sum, VERSIONS);
    }

    fn entries(ids: &[String]) -> Few<InventoryEntry, 20_000> {
        let entry = |id: &String| InventoryEntry {
            id: id.clone(),
            v: "v1".to_owned(),
        };
        Few {
            few: ids.iter().map(entry).collect(),
            left_out: 0,
        }
    }

    #[test]
    fn the_images_of_the_namespace_come_first_where_there_is_not_room_for_all() {
        let mut world = World::default();
        for namespace in ["a", "b"] {
            let object = |name: &str| json!({"metadata": {"name": name, "namespace": namespace}});
            let with = |name: &str, parts: Value| {
                let (mut object, parts) = (object(name), parts.as_object().cloned().unwrap());
                object.as_object_mut().unwrap().extend(parts);
                object
            };
            let policy = json!({"spec": {"imageRepositoryRef": {"name": "web"}}, "status": {"latestRef": {"name": "acme/web", "tag": "1"}}});
            let name = |name: &str| ObjectName::new(namespace, name);
            world
                .policies
                .insert(name("web"), serde_json::from_value(with("web", policy)).unwrap());
            let automation = json!({"spec": {"sourceRef": {"kind": "GitRepository", "name": "fleet"}},
                "status": {"observedPolicies": {"web": {"name": "acme/web", "tag": "1"}}}});
            world
                .automations
                .insert(name("up"), serde_json::from_value(with("up", automation)).unwrap());
            for n in 0..3 {
                let entries: Vec<Value> = (0..OBJECTS)
                    .map(|at| json!({"id": format!("x_{at}_apps_Deployment"), "v": "v1"}))
                    .collect();
                let applied = json!({"spec": {"sourceRef": {"kind": "GitRepository", "name": "fleet"}},
                    "status": {"inventory": {"entries": entries}}});
                let kustomization = format!("k{n}");
                let facts = serde_json::from_value(with(&kustomization, applied)).unwrap();
                world.kustomizations.insert(name(&kustomization), facts);
            }
        }
        let counts = |namespace: Option<&str>| {
            let doubts = world.doubts_of(namespace);
            ["a", "b"].map(|namespace| doubts.keys().filter(|name| name.namespace == namespace).count())
        };
        let all = ALL_WORKLOADS / OBJECTS;
        assert!(all < 6, "there is room for all of them");
        let first = all.min(3);
        assert_eq!(counts(None), [first, all - first]);
        assert_eq!(counts(Some("b")), [all - first, first]);
    }

    #[test]
    fn workloads_are_what_runs_images() {
        let ids = [
            "shop_web_apps_Deployment",
            "shop_web__Service",
            "shop_x_acme.io_Deployment",
        ]
        .map(str::to_owned);
        let found = workloads(&entries(&ids), 2).unwrap();
        let names: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["Deployment/shop/web"]);
        let many: Vec<_> = (0..=OBJECTS).map(|n| format!("apps_{n}_apps_Deployment")).collect();
        assert_eq!(workloads(&entries(&many), ALL_WORKLOADS), None);
        assert_eq!(workloads(&entries(&ids), 1), None, "there is no room");
    }

    #[test]
    fn what_cannot_name_an_image_is_not_read() {
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
