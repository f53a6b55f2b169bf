//! Resources in order, found by id.

use super::{Behavior, ResId, Resource};
use crate::schema::SchemaChoice;
use compact_str::CompactString;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// Resources in the order in which they were added. No two have the same id.
#[derive(Debug, Clone, Default)]
pub struct ResMap {
    list: Vec<Resource>,
    index: OnceCell<Index>,
    names: OnceCell<HashMap<CompactString, Vec<usize>>>,
    /// Whether a step may have emptied a resource.
    any_gone: bool,
}

/// Positions of all resources that have or had a name in an effective namespace, in order.
type Index = HashMap<(CompactString, CompactString), Vec<usize>>;

/// An id that fits too much or nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// There is one already.
    #[error("may not add resource with an already registered id: {0}")]
    Registered(String),
    /// There is none.
    #[error("no resource has the id {0}; does an earlier patch or transformer change its kind, name or namespace?")]
    NoMatch(String),
    /// There are several.
    #[error("{count} resources have or had the id {id}; name one by its current name or with a target")]
    SeveralMatches {
        /// The id.
        id: String,
        /// How many.
        count: usize,
    },
    /// A generator wants to change what is not there.
    #[error("{id} does not exist; cannot {} it: the generator's behavior must be create", .behavior.as_str())]
    Absent {
        /// The id.
        id: String,
        /// What it wants.
        behavior: Behavior,
    },
    /// A generator wants to create what is there.
    #[error("{0} exists already; the generator's behavior must be merge or replace")]
    Exists(String),
    /// The `stringData` of a Secret that a generator merges into.
    #[error("{id}: the value of stringData {key:?} must be a scalar")]
    StringData {
        /// The Secret.
        id: String,
        /// The key.
        key: String,
    },
}

fn key(id: &ResId) -> (CompactString, CompactString) {
    (id.name.clone(), id.effective_namespace().into())
}

impl ResMap {
    /// The resources in order.
    #[must_use]
    pub fn list(&self) -> &[Resource] {
        &self.list
    }

    /// The resources to change in any way.
    pub fn list_mut(&mut self) -> &mut Vec<Resource> {
        self.index.take();
        self.names.take();
        self.any_gone = true;
        &mut self.list
    }

    /// The resources.
    #[must_use]
    pub fn into_list(self) -> Vec<Resource> {
        self.list
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
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

    /// The positions of those that have or had this name, in order.
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
        names.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The positions of those with this id now.
    #[must_use]
    pub fn with_id(&self, id: &ResId) -> Vec<usize> {
        self.candidates(id, |resource| resource.id().equals(id))
    }

    /// The positions of those that have or had this id.
    #[must_use]
    pub fn with_any_id(&self, id: &ResId) -> Vec<usize> {
        self.candidates(id, |resource| {
            !resource.is_gone() && resource.all_ids().any(|ours| ours.equals(id))
        })
    }

    fn candidates(&self, id: &ResId, fits: impl Fn(&Resource) -> bool) -> Vec<usize> {
        let at = self.index().get(&key(id)).map(Vec::as_slice).unwrap_or_default();
        let fitting = |at: &&usize| self.list.get(**at).is_some_and(&fits);
        at.iter().filter(fitting).copied().collect()
    }

    /// The position of the one that has or had this id.
    ///
    /// # Errors
    ///
    /// There is none, or several.
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
    /// Its id is there already.
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
        self.names.take();
        self.list.push(resource);
    }

    /// Adds all of another map at the end.
    ///
    /// # Errors
    ///
    /// An id is there already.
    pub fn append_all(&mut self, other: Self) -> Result<(), IdError> {
        if self.list.is_empty() {
            other.check_unique()?;
            *self = other;
            return Ok(());
        }
        other.list.into_iter().try_for_each(|resource| self.append(resource))
    }

    /// Checks that no two have the same id: transformers may have made them equal.
    ///
    /// # Errors
    ///
    /// Two have.
    pub fn check_unique(&self) -> Result<(), IdError> {
        let mut seen = HashSet::with_capacity(self.list.len());
        for resource in &self.list {
            let id = resource.id();
            if !seen.insert((&id.gvk, &id.name, id.effective_namespace())) {
                return Err(IdError::Registered(id.to_string()));
            }
        }
        Ok(())
    }

    /// Adds what a generator made, each as its behavior says.
    ///
    /// # Errors
    ///
    /// The behavior does not fit with what is there.
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

    /// Changes one; afterwards it is found by its new ids.
    pub fn update<T>(&mut self, at: usize, change: impl FnOnce(&mut Resource) -> T) -> Option<T> {
        let resource = self.list.get_mut(at)?;
        let before: Vec<_> = resource.all_ids().map(|id| key(&id)).collect();
        let result = change(resource);
        self.any_gone |= resource.is_gone();
        let after: Vec<_> = resource.all_ids().map(|id| key(&id)).collect();
        if before != after {
            self.names.take();
            if let Some(index) = self.index.get_mut() {
                for key in before {
                    index.entry(key).or_default().retain(|other| *other != at);
                }
                add_to(index, at, resource);
            }
        }
        Some(result)
    }

    /// Changes each in turn; afterwards they are found by their new ids.
    ///
    /// # Errors
    ///
    /// The first error of `change`.
    pub fn each<E>(
        &mut self,
        schema: &SchemaChoice,
        mut change: impl FnMut(&mut Resource) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut moved = false;
        let mut gone = false;
        for resource in self.list.iter_mut().filter(|resource| !resource.is_gone()) {
            let (before, former) = (resource.id().clone(), resource.previous.len());
            let result = change(resource);
            resource.refresh(schema);
            moved |= *resource.id() != before || resource.previous.len() != former;
            gone |= resource.is_gone();
            result?;
        }
        self.any_gone |= gone;
        if moved {
            self.index.take();
            self.names.take();
        }
        Ok(())
    }

    /// Drops those that a step emptied.
    pub fn drop_gone(&mut self) {
        if !std::mem::take(&mut self.any_gone) {
            return;
        }
        if self.list.iter().any(Resource::is_gone) {
            self.list.retain(|resource| !resource.is_gone());
            self.index.take();
            self.names.take();
        }
    }
}

fn all_names(resource: &Resource) -> impl Iterator<Item = &CompactString> {
    let former = resource.previous.iter().map(|previous| &previous.name);
    former.chain([&resource.id().name])
}

/// Adds all ids of a resource, each position in its order.
fn add_to(index: &mut Index, at: usize, resource: &Resource) {
    for id in resource.all_ids() {
        let positions = index.entry(key(&id)).or_default();
        if let Err(place) = positions.binary_search(&at) {
            positions.insert(place, at);
        }
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
