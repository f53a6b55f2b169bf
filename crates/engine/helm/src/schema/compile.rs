//! Schemas read out of their documents, each once.

use super::{
    SchemaDocuments,
    address::{joined, location, member, split_fragment},
    check::Checker,
    draft::{Draft, LATEST, metaschema},
    format::Format,
    keywords::{Additional, Dependency, Id, Items, Keywords, Schema, Types},
    number::Decimal,
    root::Root,
    trouble::Trouble,
};
use bumpwright_gostd::quote;
use bumpwright_re2::Regexp;
use serde_json::{Map, Value as Json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock},
};

/// Schemas that a chart may have, in all that its schema refers to.
const MAX_SCHEMAS: usize = 100_000;

/// Schemas that refer to each other.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    pub(super) all: Vec<Schema>,
}

impl Schemas {
    pub(super) fn get(&self, id: Id) -> Option<&Schema> {
        self.all.get(id)
    }
}

/// The schemas of all drafts, and which is the whole of each.
pub(super) struct Metaschemas {
    pub(super) schemas: Schemas,
    pub(super) roots: BTreeMap<Draft, Id>,
}

pub(super) static METASCHEMAS: LazyLock<Metaschemas> = LazyLock::new(|| {
    let mut compiler = Compiler {
        with_formats: true,
        ..Compiler::default()
    };
    let mut roots = BTreeMap::new();
    for draft in [Draft::Four, Draft::Six, Draft::Seven, Draft::Y2019, Draft::Y2020] {
        if let Ok(id) = compiler.compile(draft.url()) {
            roots.insert(draft, id);
        }
    }
    Metaschemas {
        schemas: compiler.schemas,
        roots,
    }
});

/// A schema that is elsewhere: one of the drafts, or one that was given. Nothing is fetched while a chart is rendered.
pub(super) fn load(url: &str, elsewhere: &SchemaDocuments) -> Result<Arc<Json>, Trouble> {
    if let Some(document) = elsewhere.get(url) {
        return Ok(Arc::clone(document));
    }
    if let Some(document) = metaschema(url) {
        return Ok(Arc::new(document.clone()));
    }
    if url.starts_with("urn:") {
        // As in Helm, which warns.
        return Ok(Arc::new(Json::Bool(true)));
    }
    Err(Trouble::Elsewhere(url.to_owned()))
}

/// Reads a schema and all that it refers to.
pub(super) fn compile(url: &str, document: Json, elsewhere: &Arc<SchemaDocuments>) -> Result<(Schemas, Id), Trouble> {
    let mut compiler = Compiler {
        elsewhere: Arc::clone(elsewhere),
        ..Compiler::default()
    };
    compiler.add(url, Arc::new(document))?;
    let id = compiler.compile(url)?;
    Ok((compiler.schemas, id))
}

#[derive(Default)]
struct Compiler {
    roots: HashMap<String, Root>,
    schemas: Schemas,
    known: HashMap<(String, String), Id>,
    elsewhere: Arc<SchemaDocuments>,
    /// Whether formats are checked in drafts that do not ask for it.
    with_formats: bool,
}

impl Compiler {
    /// The schema at a URL, and all that it refers to.
    fn compile(&mut self, url: &str) -> Result<Id, Trouble> {
        let first = self.schemas.all.len();
        let id = self.place(url, "")?;
        let mut next = first;
        while next < self.schemas.all.len() {
            self.fill(next)?;
            next += 1;
        }
        Ok(id)
    }

    /// Reads a document, and compares it with the schema of its draft.
    fn add(&mut self, url: &str, document: Arc<Json>) -> Result<(), Trouble> {
        let root = Root::new(url, document, LATEST, &self.elsewhere)?;
        if !root.is_metaschema() {
            check(&root, "")?;
        }
        self.roots.insert(url.to_owned(), root);
        Ok(())
    }

    /// The index of the schema at a place, which is read later.
    fn place(&mut self, url: &str, pointer: &str) -> Result<Id, Trouble> {
        let key = (url.to_owned(), pointer.to_owned());
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let id = self.schemas.all.len();
        if id >= MAX_SCHEMAS {
            return Err(Trouble::Limit(format!("it has more than {MAX_SCHEMAS} schemas")));
        }
        self.known.insert(key, id);
        self.schemas.all.push(Schema {
            url: url.to_owned(),
            pointer: pointer.to_owned(),
            draft: LATEST,
            resource: id,
            dynamic_anchors: BTreeMap::new(),
            fixed: None,
            keywords: Keywords::default(),
        });
        Ok(id)
    }

    fn root(&mut self, url: &str) -> Result<&mut Root, Trouble> {
        if !self.roots.contains_key(url) {
            let document = load(url, &self.elsewhere)?;
            self.add(url, document)?;
        }
        let gone = || Trouble::Schema(format!("failing loading {}", quote(url)));
        self.roots.get_mut(url).ok_or_else(gone)
    }

    /// Reads the schema at an index.
    fn fill(&mut self, id: Id) -> Result<(), Trouble> {
        let Some(schema) = self.schemas.all.get(id) else {
            return Ok(());
        };
        let (url, pointer) = (schema.url.clone(), schema.pointer.clone());
        let root = self.root(&url)?;
        if root.ensure(&pointer)? {
            check(root, &pointer)?;
        }
        let document = Arc::clone(&root.document);
        let value = root.lookup(&pointer).map(|_| document.pointer(&pointer))?;
        let Some(resource) = root.resource(&pointer).cloned() else {
            return Ok(());
        };
        let resource_id = self.place(&url, &resource.pointer)?;
        let mut dynamic_anchors = BTreeMap::new();
        if resource.draft >= Draft::Y2020 && resource.pointer == pointer {
            for anchor in &resource.dynamic {
                let Some(pointer) = resource.anchors.get(anchor) else {
                    continue;
                };
                dynamic_anchors.insert(anchor.clone(), self.place(&url, pointer)?);
            }
        }
        let (mut fixed, mut keywords) = (None, Keywords::default());
        match value {
            Some(Json::Bool(truth)) => fixed = Some(*truth),
            Some(Json::Object(fields)) if fields.is_empty() => fixed = Some(true),
            Some(Json::Object(fields)) => {
                let base = &resource.id;
                let reader = Reader {
                    compiler: self,
                    fields,
                    url: &url,
                    pointer: &pointer,
                    base,
                    draft: resource.draft,
                };
                keywords = reader.read()?;
            }
            _ => {}
        }
        if let Some(schema) = self.schemas.all.get_mut(id) {
            schema.draft = resource.draft;
            schema.resource = resource_id;
            schema.dynamic_anchors = dynamic_anchors;
            schema.fixed = fixed;
            schema.keywords = keywords;
        }
        Ok(())
    }
}

/// Compares what is at a pointer with the schema of its draft.
fn check(root: &Root, pointer: &str) -> Result<(), Trouble> {
    let metaschemas = &*METASCHEMAS;
    let draft = root.resource(pointer).map_or(LATEST, |resource| resource.draft);
    let Some(id) = metaschemas.roots.get(&draft) else {
        return Ok(());
    };
    let drafts = root.drafts();
    let mut checker = Checker::of_schemas(&metaschemas.schemas, &drafts);
    match checker.check(root.lookup(pointer)?, *id)? {
        None => Ok(()),
        Some(fault) => {
            let place = quote(&location(&root.url, pointer));
            Err(Trouble::Schema(format!(
                "{place} is not valid against metaschema: {}",
                fault.text()
            )))
        }
    }
}

/// Reads the keywords of one schema.
struct Reader<'r> {
    compiler: &'r mut Compiler,
    fields: &'r Map<String, Json>,
    url: &'r str,
    pointer: &'r str,
    /// The URL that references are relative to.
    base: &'r str,
    draft: Draft,
}

impl<'r> Reader<'r> {
    fn read(mut self) -> Result<Keywords, Trouble> {
        let mut to = Keywords {
            reference: self.reference("$ref")?,
            ..Keywords::default()
        };
        if to.reference.is_some() && self.draft < Draft::Y2019 {
            // Nothing beside of it counts, but a constant does.
            to.constant = self.fields.get("const").filter(|_| self.draft >= Draft::Six).cloned();
            return Ok(to);
        }
        self.applicators(&mut to)?;
        self.assertions(&mut to)?;
        to.format = self.format();
        if self.draft >= Draft::Six {
            to.contains = self.schema("contains")?;
            to.property_names = self.schema("propertyNames")?;
            to.constant = self.fields.get("const").cloned();
        }
        if self.draft >= Draft::Seven {
            to.condition = self.schema("if")?;
            if to.condition.is_some() {
                to.then = self.schema("then")?;
                to.otherwise = self.schema("else")?;
            }
        }
        if self.draft >= Draft::Y2019 {
            self.since_2019(&mut to)?;
        }
        if self.draft >= Draft::Y2020 {
            if let (Some(target), Some(text)) = (self.reference("$dynamicRef")?, self.text("$dynamicRef")) {
                let (_, fragment) = split_fragment(text)?;
                let is_anchor = !fragment.is_empty() && !fragment.starts_with('/');
                to.dynamic_reference = Some((target, is_anchor.then_some(fragment)));
            }
            to.dynamic_anchor = self.text("$dynamicAnchor").map(str::to_owned);
            to.prefix_items = self.schemas("prefixItems")?;
            to.rest_items = self.schema("items")?;
        }
        Ok(to)
    }

    fn applicators(&mut self, to: &mut Keywords) -> Result<(), Trouble> {
        to.all_of = self.schemas("allOf")?;
        to.any_of = self.schemas("anyOf")?;
        to.one_of = self.schemas("oneOf")?;
        to.not = self.schema("not")?;
        if self.draft < Draft::Y2020 {
            match self.fields.get("items") {
                Some(Json::Array(_)) => {
                    to.items = Items::Each(self.schemas("items")?);
                    to.additional_items = self.additional("additionalItems")?;
                }
                Some(_) => to.items = self.schema("items")?.map_or(Items::Unsaid, Items::All),
                None => {}
            }
        }
        to.properties = self.entries("properties")?.into_iter().collect();
        for (pattern, id) in self.entries("patternProperties")? {
            to.pattern_properties
                .push((self.regexp("patternProperties", &pattern)?, id));
        }
        to.additional_properties = self.additional("additionalProperties")?;
        for (key, value) in self.object("dependencies") {
            let dependency = match value {
                Json::Array(names) => Dependency::Properties(texts(names)),
                _ => {
                    let place = member(&member(self.pointer, "dependencies"), key);
                    Dependency::Schema(self.compiler.place(self.url, &place)?)
                }
            };
            to.dependencies.push((key.clone(), dependency));
        }
        Ok(())
    }

    fn assertions(&mut self, to: &mut Keywords) -> Result<(), Trouble> {
        to.types = match self.fields.get("type") {
            Some(Json::String(name)) => Types::of_names([&**name]),
            Some(Json::Array(names)) => Types::of_names(names.iter().filter_map(Json::as_str)),
            _ => Types::default(),
        };
        to.choices = self.fields.get("enum").and_then(Json::as_array).cloned();
        to.multiple_of = self.number("multipleOf");
        to.maximum = self.number("maximum");
        to.exclusive_maximum = if self.truth("exclusiveMaximum") {
            to.maximum.take()
        } else {
            self.number("exclusiveMaximum")
        };
        to.minimum = self.number("minimum");
        to.exclusive_minimum = if self.truth("exclusiveMinimum") {
            to.minimum.take()
        } else {
            self.number("exclusiveMinimum")
        };
        to.min_length = self.whole("minLength");
        to.max_length = self.whole("maxLength");
        if let Some(pattern) = self.text("pattern") {
            to.pattern = Some(self.regexp("pattern", pattern)?);
        }
        to.min_items = self.whole("minItems");
        to.max_items = self.whole("maxItems");
        to.unique_items = self.truth("uniqueItems");
        to.min_properties = self.whole("minProperties");
        to.max_properties = self.whole("maxProperties");
        to.required = self
            .fields
            .get("required")
            .and_then(Json::as_array)
            .map_or(Vec::new(), |names| texts(names));
        Ok(())
    }

    fn since_2019(&mut self, to: &mut Keywords) -> Result<(), Trouble> {
        to.recursive_reference = self.reference("$recursiveRef")?;
        to.is_recursive_anchor = self.truth("$recursiveAnchor");
        if to.contains.is_some() {
            to.min_contains = self.whole("minContains");
            to.max_contains = self.whole("maxContains");
        }
        let required = self.object("dependentRequired");
        let required = required.filter_map(|(key, names)| Some((key.clone(), texts(names.as_array()?))));
        to.dependent_required = required.collect();
        to.dependent_schemas = self.entries("dependentSchemas")?;
        to.unevaluated_items = self.schema("unevaluatedItems")?;
        to.unevaluated_properties = self.schema("unevaluatedProperties")?;
        Ok(())
    }

    /// The schema that a keyword refers to.
    fn reference(&mut self, keyword: &str) -> Result<Option<Id>, Trouble> {
        let Some(text) = self.text(keyword) else {
            return Ok(None);
        };
        let (url, fragment) = joined(self.base, text)?;
        let local = match self.compiler.roots.get(self.url) {
            Some(root) => root.resolve(&url, &fragment)?,
            None => None,
        };
        if let Some(pointer) = local {
            return self.compiler.place(self.url, &pointer).map(Some);
        }
        let pointer = self.compiler.root(&url)?.resolve(&url, &fragment)?.unwrap_or_default();
        self.compiler.place(&url, &pointer).map(Some)
    }

    fn schema(&mut self, keyword: &str) -> Result<Option<Id>, Trouble> {
        if !self.fields.contains_key(keyword) {
            return Ok(None);
        }
        self.compiler.place(self.url, &member(self.pointer, keyword)).map(Some)
    }

    fn schemas(&mut self, keyword: &str) -> Result<Vec<Id>, Trouble> {
        let items = self.fields.get(keyword).and_then(Json::as_array).map_or(0, Vec::len);
        let place = member(self.pointer, keyword);
        (0..items)
            .map(|index| self.compiler.place(self.url, &format!("{place}/{index}")))
            .collect()
    }

    fn entries(&mut self, keyword: &str) -> Result<Vec<(String, Id)>, Trouble> {
        let place = member(self.pointer, keyword);
        let mut entries = Vec::new();
        for (key, _) in self.object(keyword) {
            entries.push((key.clone(), self.compiler.place(self.url, &member(&place, key))?));
        }
        Ok(entries)
    }

    fn additional(&mut self, keyword: &str) -> Result<Option<Additional>, Trouble> {
        match self.fields.get(keyword) {
            Some(Json::Bool(truth)) => Ok(Some(Additional::Allowed(*truth))),
            _ => Ok(self.schema(keyword)?.map(Additional::Schema)),
        }
    }

    fn regexp(&self, keyword: &str, pattern: &str) -> Result<Regexp, Trouble> {
        Regexp::new(pattern).map_err(|error| {
            let place = quote(&location(self.url, &member(self.pointer, keyword)));
            Trouble::Schema(format!("invalid regex {} at {place}: {error}", quote(pattern)))
        })
    }

    fn format(&self) -> Option<Format> {
        let counts = self.compiler.with_formats || self.draft < Draft::Y2019;
        Format::named(self.text("format").filter(|_| counts)?)
    }

    fn object(&self, keyword: &str) -> impl Iterator<Item = (&'r String, &'r Json)> + use<'r> {
        self.fields.get(keyword).and_then(Json::as_object).into_iter().flatten()
    }

    fn text(&self, keyword: &str) -> Option<&'r str> {
        self.fields.get(keyword).and_then(Json::as_str)
    }

    fn truth(&self, keyword: &str) -> bool {
        self.fields.get(keyword) == Some(&Json::Bool(true))
    }

    fn number(&self, keyword: &str) -> Option<Decimal> {
        match self.fields.get(keyword) {
            Some(Json::Number(number)) => Some(Decimal::of(number)),
            _ => None,
        }
    }

    fn whole(&self, keyword: &str) -> Option<i64> {
        self.number(keyword)?.whole()
    }
}

fn texts(items: &[Json]) -> Vec<String> {
    items.iter().filter_map(Json::as_str).map(str::to_owned).collect()
}
