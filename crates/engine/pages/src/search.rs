//! Search over all that is shown.

use bumpwright_overview::{Entry, Id, Readiness, World};

use super::listing::ROWS;

/// The most that is found: a page of rows.
const HITS: usize = ROWS;

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    pub object: Found,
    /// Its state, where that is known.
    pub readiness: Option<Readiness>,
    /// What of it contains the words, where that is not its name.
    pub why: String,
}

/// An object that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Of the model.
    Known(Id),
    /// Of an inventory.
    Applied(Entry),
    /// Of an inventory, in another cluster.
    Elsewhere(Entry),
}

/// The objects whose name, image, URL, path, revision, reason or message contains each of the words: those that are
/// looked at, by name first, then those of inventories. At most a page of them; none where nothing is looked for.
#[must_use]
pub fn search(world: &World, words: &str) -> Vec<Hit> {
    let words = Words::new(words);
    if words.0.is_empty() {
        return Vec::new();
    }
    let mut hits = known(world, &words);
    hits.sort_by_key(|hit| !hit.why.is_empty());
    hits.truncate(HITS);
    hits.extend(applied(world, &words).take(HITS.saturating_sub(hits.len())));
    hits
}

/// The objects of the model.
fn known(world: &World, words: &Words) -> Vec<Hit> {
    let images = world
        .images()
        .into_iter()
        .filter_map(|one| words.hit(&one.policy, &one.readiness, &[&one.image, one.tag(), &one.why]));
    let repositories = world.repositories.iter().filter_map(|(name, one)| {
        let id = Id::new("ImageRepository", name.clone());
        words.hit(&id, &one.readiness(), &[&one.spec.image])
    });
    let automations = world
        .automations()
        .into_iter()
        .filter_map(|one| words.hit(&one.id, &one.readiness, &[one.commit(), &one.path, &one.push]));
    let kustomizations = world.kustomizations().into_iter().filter_map(|one| {
        let texts = [one.path.as_str(), &one.applied, &one.attempted];
        words.hit(&one.id, &one.readiness, &texts)
    });
    let sources = world.sources().into_iter().filter_map(|one| {
        let texts = [one.url.as_str(), &one.reference, &one.revision];
        words.hit(&one.id, &one.readiness, &texts)
    });
    let releases = world.helm_releases().into_iter().filter_map(|one| {
        let texts = [one.chart.as_str(), &one.version, &one.attempted];
        words.hit(&one.id, &one.readiness, &texts)
    });
    let images = images.chain(repositories).chain(automations);
    images.chain(kustomizations).chain(releases).chain(sources).collect()
}

/// The objects of inventories that are not in the model.
fn applied<'a>(world: &'a World, words: &'a Words) -> impl Iterator<Item = Hit> + 'a {
    world.inventories().filter_map(move |(by, elsewhere, entry)| {
        let is_ours = !elsewhere && entry.group.ends_with(".toolkit.fluxcd.io");
        let is_known = is_ours && world.readiness(&id(&entry)).is_some();
        (!is_known && words.are_in(&[&entry.to_string()])).then(|| Hit {
            readiness: None,
            why: if elsewhere {
                format!("applied to another cluster by {} {}", by.kind, by.name)
            } else {
                format!("applied by {} {}", by.kind, by.name)
            },
            object: if elsewhere {
                Found::Elsewhere(entry)
            } else {
                Found::Applied(entry)
            },
        })
    })
}

fn id(entry: &Entry) -> Id {
    let name = bumpwright_api::ObjectName::new(&entry.namespace, &entry.name);
    Id::new(&entry.kind, name)
}

/// Words that are looked for, in lower case.
struct Words(Vec<String>);

impl Words {
    fn new(text: &str) -> Self {
        Self(text.split_whitespace().map(str::to_lowercase).collect())
    }

    /// Whether each is in one of the texts.
    fn are_in(&self, texts: &[&str]) -> bool {
        let texts: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
        self.0.iter().all(|word| texts.iter().any(|text| text.contains(word)))
    }

    fn hit(&self, id: &Id, readiness: &Readiness, texts: &[&str]) -> Option<Hit> {
        let name = id.to_string();
        let more = [readiness.reason.as_str(), &readiness.message];
        let all: Vec<&str> = [name.as_str()]
            .into_iter()
            .chain(texts.iter().copied())
            .chain(more)
            .collect();
        self.are_in(&all).then(|| {
            let name = name.to_lowercase();
            let mut other = self.0.iter().filter(|word| !name.contains(word.as_str()));
            let has = |text: &&&str, word: &str| text.to_lowercase().contains(word);
            let why = other.find_map(|word| all.iter().find(|text| has(text, word)));
            Hit {
                object: Found::Known(id.clone()),
                readiness: Some(readiness.clone()),
                why: why.map(|text| (*text).to_owned()).unwrap_or_default(),
            }
        })
    }
}
