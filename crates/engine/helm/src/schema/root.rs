//! A document with schemas: which of them have a name, an anchor and a draft of their own.

use super::{
    SchemaDocuments,
    address::{joined, location, member, split, split_fragment},
    draft::{Draft, Within, is_of_the_site},
    trouble::Trouble,
};
use bumpwright_gostd::quote;
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A schema with an identity of its own: the whole document, or one with an `$id`.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub(super) pointer: String,
    pub(super) id: String,
    pub(super) draft: Draft,
    /// Its anchors, and where they are; those that `$dynamicRef` looks for are in `dynamic`, too.
    pub(super) anchors: BTreeMap<String, String>,
    pub(super) dynamic: BTreeSet<String>,
}

#[derive(Debug)]
pub(super) struct Root {
    pub(super) url: String,
    pub(super) document: Arc<Json>,
    pub(super) resources: BTreeMap<String, Resource>,
    /// The places that have been visited.
    seen: BTreeSet<String>,
    elsewhere: Arc<SchemaDocuments>,
}

impl Root {
    /// Reads a document; `fallback` is the draft when it does not say.
    pub(super) fn new(
        url: &str,
        document: Arc<Json>,
        fallback: Draft,
        elsewhere: &Arc<SchemaDocuments>,
    ) -> Result<Self, Trouble> {
        let mut root = Self {
            url: url.to_owned(),
            document: Arc::clone(&document),
            resources: BTreeMap::new(),
            seen: BTreeSet::new(),
            elsewhere: Arc::clone(elsewhere),
        };
        root.collect(&document, url, "", fallback)?;
        Ok(root)
    }

    /// The resource that the schema at a pointer is part of.
    pub(super) fn resource(&self, pointer: &str) -> Option<&Resource> {
        let mut pointer = pointer;
        loop {
            if let Some(resource) = self.resources.get(pointer) {
                return Some(resource);
            }
            pointer = pointer.rsplit_once('/').map(|(above, _)| above)?;
        }
    }

    /// The draft of each resource, by its pointer.
    pub(super) fn drafts(&self) -> BTreeMap<String, Draft> {
        let resources = self.resources.iter();
        resources
            .map(|(pointer, resource)| (pointer.clone(), resource.draft))
            .collect()
    }

    /// What is at a pointer.
    pub(super) fn lookup(&self, pointer: &str) -> Result<&Json, Trouble> {
        self.document.pointer(pointer).ok_or_else(|| {
            let place = quote(&location(&self.url, pointer));
            Trouble::Schema(format!("json-pointer in {place} not found"))
        })
    }

    /// Where a reference leads in this document; none if it leads out of it.
    pub(super) fn resolve(&self, url: &str, fragment: &str) -> Result<Option<String>, Trouble> {
        let resource = if url == self.url {
            self.resources.get("")
        } else {
            self.resources.values().find(|resource| resource.id == url)
        };
        let Some(resource) = resource else { return Ok(None) };
        if fragment.is_empty() || fragment.starts_with('/') {
            return Ok(Some(format!("{}{fragment}", resource.pointer)));
        }
        match resource.anchors.get(fragment) {
            Some(pointer) => Ok(Some(pointer.clone())),
            None => Err(Trouble::Schema(format!(
                "anchor in {} not found in schema {}",
                quote(&location(&resource.id, fragment)),
                quote(&self.url)
            ))),
        }
    }

    /// Looks at a place that no keyword with schemas leads to, when a reference does; whether it is a new one.
    pub(super) fn ensure(&mut self, pointer: &str) -> Result<bool, Trouble> {
        if self.seen.contains(pointer) {
            return Ok(false);
        }
        let document = Arc::clone(&self.document);
        self.lookup(pointer)?;
        let schema = document.pointer(pointer).unwrap_or(&Json::Null);
        let (base, draft) = match self.resource(pointer) {
            Some(resource) => (resource.id.clone(), resource.draft),
            None => return Ok(false),
        };
        self.collect(schema, &base, pointer, draft)?;
        Ok(true)
    }

    /// Finds the resources and anchors in a schema and below it.
    fn collect(&mut self, schema: &Json, base: &str, pointer: &str, fallback: Draft) -> Result<(), Trouble> {
        if !self.seen.insert(pointer.to_owned()) {
            return Ok(());
        }
        let Json::Object(fields) = schema else {
            if pointer.is_empty() {
                self.add(pointer, base, fallback)?;
            }
            return Ok(());
        };
        let mut draft = self.draft_of(fields, pointer, fallback)?;
        let mut id = id_of(fields, draft);
        if id.is_empty() && !pointer.is_empty() {
            // Within a resource, `$schema` does not count.
            draft = fallback;
            id = id_of(fields, draft);
        }
        let mut base = base.to_owned();
        if !id.is_empty() {
            let parsed = joined(&base, id);
            let place = quote(&location(&self.url, pointer));
            base = parsed
                .map_err(|_| Trouble::Schema(format!("error in parsing id at {place}")))?
                .0;
        }
        if !id.is_empty() || pointer.is_empty() {
            self.add(pointer, &base, draft)?;
        }
        let draft = self.collect_anchors(fields, pointer, &base)?.unwrap_or(draft);
        for (keyword, within) in draft.subschemas() {
            let Some(value) = fields.get(keyword) else { continue };
            let place = member(pointer, keyword);
            match (within, value) {
                (Within::Itself, value) if !value.is_array() => self.collect(value, &base, &place, draft)?,
                (Within::Items, Json::Array(items)) => {
                    for (index, item) in items.iter().enumerate() {
                        self.collect(item, &base, &format!("{place}/{index}"), draft)?;
                    }
                }
                (Within::Entries, Json::Object(entries)) => {
                    for (key, entry) in entries {
                        self.collect(entry, &base, &member(&place, key), draft)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The draft that a schema names.
    fn draft_of(&self, fields: &Map<String, Json>, pointer: &str, fallback: Draft) -> Result<Draft, Trouble> {
        let Some(named) = fields.get("$schema").and_then(Json::as_str) else {
            return Ok(fallback);
        };
        if let Some(draft) = Draft::of_url(named) {
            return Ok(draft);
        }
        let (named, _) = split(named);
        if pointer.is_empty() && named == self.url {
            return Err(Trouble::Schema(format!("draft {} is not supported", quote(named))));
        }
        match super::compile::load(named, &self.elsewhere)?
            .get("$schema")
            .and_then(Json::as_str)
        {
            Some(above) => Ok(Draft::of_url(above).unwrap_or(fallback)),
            None => Ok(fallback),
        }
    }

    fn add(&mut self, pointer: &str, id: &str, draft: Draft) -> Result<(), Trouble> {
        if let Some(other) = self.resources.values().find(|resource| resource.id == id) {
            if other.pointer == pointer {
                return Ok(());
            }
            let [id, url, first, second] = [id, &self.url, pointer, &other.pointer].map(quote);
            return Err(Trouble::Schema(format!(
                "duplicate id {id} in {url} at {first} and {second}"
            )));
        }
        let resource = Resource {
            pointer: pointer.to_owned(),
            id: id.to_owned(),
            draft,
            anchors: BTreeMap::new(),
            dynamic: BTreeSet::new(),
        };
        self.resources.insert(pointer.to_owned(), resource);
        Ok(())
    }

    /// Notes the anchors of a schema with its resource, whose draft it returns.
    fn collect_anchors(
        &mut self,
        fields: &Map<String, Json>,
        pointer: &str,
        base: &str,
    ) -> Result<Option<Draft>, Trouble> {
        let url = self.url.clone();
        let Some(resource) = self.resources.values_mut().find(|resource| resource.id == base) else {
            return Ok(None);
        };
        let draft = resource.draft;
        let text = |keyword: &str| fields.get(keyword).and_then(Json::as_str);
        let mut anchors = Vec::new();
        if draft < Draft::Y2019 {
            if fields.contains_key("$ref") {
                return Ok(Some(draft));
            }
            if let Some(id) = text(draft.id_keyword()) {
                let (_, fragment) = split_fragment(id)?;
                anchors.extend((!fragment.is_empty() && !fragment.starts_with('/')).then_some(fragment));
            }
        } else {
            anchors.extend(text("$anchor").map(str::to_owned));
        }
        if draft >= Draft::Y2020
            && let Some(anchor) = text("$dynamicAnchor")
        {
            anchors.push(anchor.to_owned());
            resource.dynamic.insert(anchor.to_owned());
        }
        for anchor in anchors {
            let other = resource.anchors.insert(anchor.clone(), pointer.to_owned());
            if let Some(other) = other.filter(|other| other != pointer) {
                let [anchor, url, first, second] = [&anchor, &url, &other, pointer].map(quote);
                let text = format!("duplicate anchor {anchor} in {url} at {first} and {second}");
                return Err(Trouble::Schema(text));
            }
        }
        Ok(Some(draft))
    }

    /// Whether it is part of a draft, and needs no check.
    pub(super) fn is_metaschema(&self) -> bool {
        is_of_the_site(&self.url)
    }
}

/// The name that a schema has, without its fragment.
fn id_of(fields: &Map<String, Json>, draft: Draft) -> &str {
    if draft < Draft::Y2019 && fields.contains_key("$ref") {
        return "";
    }
    let id = fields.get(draft.id_keyword()).and_then(Json::as_str);
    id.map_or("", |id| split(id).0)
}
