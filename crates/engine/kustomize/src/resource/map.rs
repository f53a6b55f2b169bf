//! Resources in order, found by id.

use super::{Behavior, Origin, Previous, ResId, Resource};
use crate::schema::SchemaChoice;
use bumpwright_text::Parts;
use compact_str::CompactString;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

/// Resources in the order in which they were added. No two have the same id.
#[derive(Debug, Clone, Default)]
pub struct ResMap {
    list: Vec<Resource>,
    index: OnceCell<Index>,
    names: OnceCell<HashMap<CompactString, Vec<usize>>>,
    /// Whether a step may have emptied a resource.
    any_gone: bool,
}

/// Positions of all resources with a current or former name in an effective namespace, in order.
type Index = HashMap<Key, Vec<usize>>;

/// Name and effective namespace.
type Key = (CompactString, CompactString);

/// An id with too many matches or none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The id is taken.
    #[error("may not add resource with an already registered id: {0}")]
    Registered(String),
    /// No resource has the id.
    #[error("no resource has the id {0}; does an earlier patch or transformer change its kind, name or namespace?")]
    NoMatch(String),
    /// Several resources have the id.
    #[error("{count} resources have or had the id {id}; name one by its current name or with a target")]
    SeveralMatches { id: String, count: usize },
    /// A generator changes an object that does not exist.
    #[error("{id} does not exist; cannot {} it: the generator's behavior must be create", .behavior.as_str())]
    Absent { id: String, behavior: Behavior },
    /// A generator creates an object that exists.
    #[error("{0} exists already; the generator's behavior must be merge or replace")]
    Exists(String),
    /// A `stringData` value of a Secret that a generator merges into is not a scalar.
    #[error("{id}: the value of stringData {key:?} must be a scalar")]
    StringData { id: String, key: String },
}

fn key(id: &ResId) -> Key {
    (id.name.clone(), id.effective_namespace().into())
}

fn former_key(former: &Previous) -> Key {
    (former.name.clone(), former.effective_namespace().into())
}

impl ResMap {
    /// The resources in order.
    #[must_use]
    pub fn list(&self) -> &[Resource] {
        &self.list
    }

    /// The resources, for any change.
    pub(crate) fn list_mut(&mut self) -> &mut Vec<Resource> {
        self.forget_places();
        self.any_gone = true;
        &mut self.list
    }

    #[must_use]
    pub(crate) fn into_list(self) -> Vec<Resource> {
        self.list
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let mut index = Index::with_capacity(self.list.len());
            for (at, resource) in self.list.iter().enumerate() {
                add_to(&mut index, at, resource);
            }
            index
        })
    }

    /// The positions of those with this current or former name, in order.
    #[must_use]
    pub fn named(&self, name: &str) -> &[usize] {
        let names = self.names.get_or_init(|| {
            let mut names: HashMap<CompactString, Vec<usize>> = HashMap::new();
            for (at, resource) in self.list.iter().enumerate() {
                for name in all_names(resource) {
                    let at_name = names.entry(name.clone()).or_default();
                    if at_name.last() != Some(&at) {
                        at_name.push(at);
                    }
                }
            }
            names
        });
        names.get(name).map_or(&[], Vec::as_slice)
    }

    /// The positions of those with this current id.
    #[must_use]
    pub(crate) fn with_id(&self, id: &ResId) -> Vec<usize> {
        self.candidates(id, |resource| resource.id().equals(id))
    }

    /// The positions of those with this current or former id.
    #[must_use]
    fn with_any_id(&self, id: &ResId) -> Vec<usize> {
        self.candidates(id, |resource| !resource.is_gone() && resource.has_or_had(id))
    }

    fn candidates(&self, id: &ResId, fits: impl Fn(&Resource) -> bool) -> Vec<usize> {
        let at = self.index().get(&key(id)).into_iter().flatten();
        let fitting = |at: &&usize| self.list.get(**at).is_some_and(&fits);
        at.filter(fitting).copied().collect()
    }

    /// The position of the only one with this current or former id.
    ///
    /// # Errors
    ///
    /// None has it, or several have.
    pub fn only(&self, id: &ResId) -> Result<usize, IdError> {
        match *self.with_any_id(id).as_slice() {
            [at] => Ok(at),
            [] => Err(IdError::NoMatch(id.to_string())),
            ref several => Err(IdError::SeveralMatches {
                id: id.to_string(),
                count: several.len(),
            }),
        }
    }

    /// Adds one at the end.
    ///
    /// # Errors
    ///
    /// Its id is taken.
    pub fn append(&mut self, resource: Resource) -> Result<(), IdError> {
        if !self.with_id(resource.id()).is_empty() {
            return Err(IdError::Registered(resource.id().to_string()));
        }
        self.push(resource);
        Ok(())
    }

    fn push(&mut self, resource: Resource) {
        if let Some(index) = self.index.get_mut() {
            add_to(index, self.list.len(), &resource);
        }
        if let Some(names) = self.names.get_mut() {
            for name in all_names(&resource) {
                put_at(names, name.clone(), self.list.len());
            }
        }
        self.list.push(resource);
    }

    /// Adds all of another map at the end.
    ///
    /// # Errors
    ///
    /// An id is taken.
    pub(crate) fn append_all(&mut self, other: Self) -> Result<(), IdError> {
        if self.list.is_empty() {
            other.check_unique()?;
            *self = other;
            return Ok(());
        }
        other.list.into_iter().try_for_each(|resource| self.append(resource))
    }

    /// Checks that ids are unique: transformers may have made two equal.
    ///
    /// # Errors
    ///
    /// Two are equal.
    pub(crate) fn check_unique(&self) -> Result<(), IdError> {
        let mut ids = HashSet::with_capacity(self.list.len());
        for resource in &self.list {
            let id = resource.id();
            if !ids.insert((&id.gvk, &id.name, id.effective_namespace())) {
                return Err(IdError::Registered(id.to_string()));
            }
        }
        Ok(())
    }

    /// Adds generated resources, each as its behavior says.
    ///
    /// # Errors
    ///
    /// The behavior does not fit the existing resources.
    pub fn absorb(&mut self, resource: Resource, schema: &SchemaChoice) -> Result<(), IdError> {
        match *self.with_any_id(resource.id()).as_slice() {
            [] => match resource.behavior {
                Some(behavior @ (Behavior::Merge | Behavior::Replace)) => Err(IdError::Absent {
                    id: resource.id().to_string(),
                    behavior,
                }),
                _ => self.append(resource),
            },
            [at] => self.merge_at(at, resource, schema),
            ref several => Err(IdError::SeveralMatches {
                id: resource.id().to_string(),
                count: several.len(),
            }),
        }
    }

    fn merge_at(&mut self, at: usize, mut new: Resource, schema: &SchemaChoice) -> Result<(), IdError> {
        let Some(old) = self.list.get(at) else { return Ok(()) };
        match new.behavior {
            Some(Behavior::Replace) => new.take_identity(old),
            Some(Behavior::Merge) => new.merge_data(old)?,
            _ => return Err(IdError::Exists(new.id().to_string())),
        }
        new.refresh(schema);
        self.update(at, |old| *old = new);
        Ok(())
    }

    /// Changes one, then updates the index by its new ids.
    pub fn update<T>(&mut self, at: usize, change: impl FnOnce(&mut Resource) -> T) -> Option<T> {
        let resource = self.list.get_mut(at)?;
        let (before, former) = (key(resource.id()), resource.previous.clone());
        let result = change(resource);
        self.any_gone |= resource.is_gone();
        if resource.previous.starts_with(&former) {
            self.moved(at, &before, former.len());
        } else {
            self.forget_places();
        }
        Some(result)
    }

    /// Changes each in turn, except for existing former ids, then updates the index.
    ///
    /// # Errors
    ///
    /// The first error of `change`.
    pub fn each<E>(
        &mut self,
        schema: &SchemaChoice,
        mut change: impl FnMut(&mut Resource) -> Result<(), E>,
    ) -> Result<(), E> {
        for at in 0..self.list.len() {
            let Some(resource) = self.list.get_mut(at).filter(|resource| !resource.is_gone()) else {
                continue;
            };
            let (before, former) = (key(resource.id()), resource.previous.len());
            let result = change(resource);
            resource.refresh(schema);
            self.any_gone |= resource.is_gone();
            self.moved(at, &before, former);
            result?;
        }
        Ok(())
    }

    /// Changes them together, except for their number and order, then updates the index.
    ///
    /// # Errors
    ///
    /// The error of `change`.
    pub fn together<E>(
        &mut self,
        schema: &SchemaChoice,
        change: impl FnOnce(&mut [Resource]) -> Result<(), E>,
    ) -> Result<(), E> {
        let before = self
            .list
            .iter()
            .map(|resource| (key(resource.id()), resource.previous.len()));
        let before: Vec<_> = before.collect();
        change(&mut self.list)?;
        for (at, (before, former)) in before.into_iter().enumerate() {
            let Some(resource) = self.list.get_mut(at) else { break };
            resource.refresh(schema);
            self.any_gone |= resource.is_gone();
            self.moved(at, &before, former);
        }
        Ok(())
    }

    /// Adds a transformer to the history of each, or its generator where the origin is not known.
    pub(crate) fn note_origin(&mut self, origin: Origin) {
        let origin = Arc::new(origin);
        for resource in &mut self.list {
            resource.renew_annotations();
            match resource.origin {
                Some(_) => resource.transformations.push(Arc::clone(&origin)),
                None => resource.origin = Some(Arc::clone(&origin)),
            }
        }
    }

    /// Updates the index of one: by its current id, if that is not `before` any more, and by former ids from `former`
    /// on. The others are not visited, however many there are.
    fn moved(&mut self, at: usize, before: &Key, former: usize) {
        let Some(resource) = self.list.get(at) else { return };
        let now = key(resource.id());
        if now == *before && former == resource.previous.len() {
            return;
        }
        let added = resource.previous.part(former..);
        let mut formers = resource.previous.iter();
        if let Some(index) = self.index.get_mut() {
            if now != *before && !formers.clone().any(|former| former_key(former) == *before) {
                drop_at(index, before, at);
            }
            for former in added {
                put_at(index, former_key(former), at);
            }
            put_at(index, now.clone(), at);
        }
        if let Some(names) = self.names.get_mut() {
            if now.0 != before.0 && !formers.any(|former| former.name == before.0) {
                drop_at(names, &before.0, at);
            }
            for former in added {
                put_at(names, former.name.clone(), at);
            }
            put_at(names, now.0, at);
        }
    }

    /// Marks the index for a rebuild at its next use.
    fn forget_places(&mut self) {
        self.index.take();
        self.names.take();
    }

    /// Drops those that a step emptied.
    pub(crate) fn drop_gone(&mut self) {
        if !std::mem::take(&mut self.any_gone) {
            return;
        }
        if self.list.iter().any(Resource::is_gone) {
            self.list.retain(|resource| !resource.is_gone());
            self.forget_places();
        }
    }
}

fn all_names(resource: &Resource) -> impl Iterator<Item = &CompactString> {
    let former = resource.previous.iter().map(|previous| &previous.name);
    former.chain([&resource.id().name])
}

/// Adds all ids of a resource to the index, positions sorted.
fn add_to(index: &mut Index, at: usize, resource: &Resource) {
    for former in &resource.previous {
        put_at(index, former_key(former), at);
    }
    put_at(index, key(resource.id()), at);
}

/// Adds a position to the index, sorted.
fn put_at<K: Hash + Eq>(places: &mut HashMap<K, Vec<usize>>, key: K, at: usize) {
    let positions = places.entry(key).or_default();
    if let Err(place) = positions.binary_search(&at) {
        positions.insert(place, at);
    }
}

fn drop_at<K: Hash + Eq>(places: &mut HashMap<K, Vec<usize>>, key: &K, at: usize) {
    let Some(positions) = places.get_mut(key) else { return };
    if let Ok(place) = positions.binary_search(&at) {
        positions.remove(place);
    }
    if positions.is_empty() {
        places.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::read_resources;
    use bumpwright_yaml::FileId;

    fn resources(text: &str) -> Vec<Resource> {
        read_resources(text.as_bytes(), FileId::NONE, &SchemaChoice::default()).unwrap()
    }

    fn config_map(name: &str) -> Resource {
        let text = format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}, data: {{{name}: x}}}}");
        resources(&text).remove(0)
    }

    #[test]
    fn a_renamed_resource_is_found_by_both_names() {
        let schema = SchemaChoice::default();
        let mut map = ResMap::default();
        map.append(config_map("a")).unwrap();
        let old = map.list()[0].id().clone();
        assert_eq!(map.only(&old), Ok(0));
        map.update(0, |resource| {
            resource.remember();
            resource.set_name("b");
            resource.refresh(&schema);
        });
        assert_eq!(
            (map.only(&old), map.with_id(&old).len(), map.named("b")),
            (Ok(0), 0, &[0][..])
        );
        map.append(config_map("a")).unwrap();
        assert!(matches!(map.only(&old), Err(IdError::SeveralMatches { count: 2, .. })));
        assert!(matches!(map.append(config_map("b")), Err(IdError::Registered(_))));
    }

    /// The index of a map that followed its changes, and that of one rebuilt.
    fn places(map: &ResMap, name: &str) -> (Vec<usize>, Vec<usize>) {
        let fresh = ResMap {
            list: map.list.clone(),
            ..ResMap::default()
        };
        let id = ResId {
            name: name.into(),
            ..map.list()[0].id().clone()
        };
        let all = |map: &ResMap| [map.named(name), &map.with_id(&id), &map.with_any_id(&id)].concat();
        (all(map), all(&fresh))
    }

    #[test]
    fn the_index_follows_changes_of_names() {
        let schema = SchemaChoice::default();
        let mut map = ResMap::default();
        for name in ["a", "b", "c"] {
            map.append(config_map(name)).unwrap();
        }
        assert_eq!(map.named("b"), [1]);
        map.update(1, |resource| {
            resource.remember();
            resource.set_name("a-2");
        });
        map.update(0, |resource| resource.set_name("z"));
        let each: Result<(), IdError> = map.each(&schema, |resource| {
            resource.remember();
            resource.set_name(&format!("x-{}", resource.name()));
            Ok(())
        });
        let together: Result<(), IdError> = map.together(&schema, |list| {
            list[2].set_name("c");
            Ok(())
        });
        assert_eq!((each, together), (Ok(()), Ok(())));
        map.update(2, |resource| resource.previous.clear());
        map.update(0, |resource| resource.set_name("b"));
        for name in ["a", "b", "c", "z", "a-2", "x-a-2", "x-z", "x-c"] {
            let (followed, fresh) = places(&map, name);
            assert_eq!(followed, fresh, "{name}");
        }
        assert_eq!(map.named("b"), [0, 1]);
    }

    #[test]
    fn a_generated_resource_does_what_its_behavior_says() {
        let schema = SchemaChoice::default();
        let mut map = ResMap::default();
        let with = |behavior| {
            let mut resource = config_map("a");
            resource.behavior = behavior;
            resource.needs_hash = true;
            resource
                .node
                .get_mut("data")
                .unwrap()
                .as_mapping_mut()
                .unwrap()
                .set("new", bumpwright_yaml::Node::null());
            resource
        };
        let absent = map.absorb(with(Some(Behavior::Merge)), &schema);
        assert!(matches!(absent, Err(IdError::Absent { .. })));
        map.absorb(config_map("a"), &schema).unwrap();
        assert!(matches!(map.absorb(with(None), &schema), Err(IdError::Exists(_))));
        map.absorb(with(Some(Behavior::Merge)), &schema).unwrap();
        let merged = &map.list()[0];
        assert_eq!(
            merged.node.lookup(&["data", "new"]).and_then(|node| node.as_str()),
            Some("")
        );
        assert!(!merged.needs_hash, "the one that was there needed none");
        assert_eq!(map.len(), 1);
    }

    #[test]
    fn lists_are_taken_apart_behind_all_others() {
        let text = "kind: ConfigMapList\nitems:\n- {kind: ConfigMap, metadata: {name: x}}\n---\nkind: Secret\nmetadata: {name: y}\n";
        let names: Vec<_> = resources(text)
            .iter()
            .map(|resource| resource.name().to_owned())
            .collect();
        assert_eq!(names, ["y", "x"]);
    }
}
