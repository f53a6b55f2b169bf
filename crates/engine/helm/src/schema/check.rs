//! A value compared with a schema.

use super::{
    compile::Schemas,
    draft::Draft,
    fault::{Fault, Path, Shape, all_quoted, of_choices, of_constant, of_missing, quoted},
    keywords::{Additional, Dependency, Id, Keywords, Schema, type_of},
    number::Decimal,
    trouble::Trouble,
};
use bumpwright_re2::{Budget, Regexp};
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};

/// Schemas that are compared with values, and what else takes as long.
const MAX_STEPS: u64 = 2_000_000;
/// Schemas within schemas.
const MAX_DEPTH: usize = 4_000;
/// Steps of all regular expressions together.
const REGEX_STEPS: u64 = 50_000_000;
/// Bytes of a text that cost a step.
const BYTES_PER_STEP: usize = 16;
/// Every level checks that so much stack is left, and continues on a new one when it is not.
const STACK_LEFT: usize = 128 << 10;
const STACK_MORE: usize = 2 << 20;

/// The comparison of one value.
pub(super) struct Checker<'c> {
    pub(super) schemas: &'c Schemas,
    /// The drafts of the schemas that are the value, when it is a document with schemas.
    drafts: Option<&'c BTreeMap<String, Draft>>,
    steps: u64,
    regex: Budget,
    depth: usize,
    /// The limit that was reached.
    stopped: Option<String>,
}

/// The schemas on the way to one, from the last to the first.
#[derive(Clone, Copy)]
pub(super) struct Scope<'s> {
    pub(super) schema: Id,
    pub(super) keyword: &'static str,
    /// Which of the values on the way.
    pub(super) value: usize,
    pub(super) above: Option<&'s Scope<'s>>,
}

/// Members of a value that no keyword has been about.
#[derive(Clone, Default)]
pub(super) struct Rest {
    pub(super) properties: BTreeSet<String>,
    pub(super) items: BTreeSet<usize>,
}

impl Rest {
    pub(super) fn is_empty(&self) -> bool {
        self.properties.is_empty() && self.items.is_empty()
    }

    pub(super) fn keep(&mut self, other: &Self) {
        self.properties.retain(|name| other.properties.contains(name));
        self.items.retain(|index| other.items.contains(index));
    }
}

/// One value under one schema.
pub(super) struct Frame<'f> {
    pub(super) value: &'f Json,
    pub(super) path: Option<&'f Path<'f>>,
    pub(super) scope: &'f Scope<'f>,
    pub(super) schema: &'f Schema,
    pub(super) rest: Rest,
    pub(super) faults: Vec<Fault>,
    /// Whether nobody will read the faults.
    pub(super) quiet: bool,
}

impl Frame<'_> {
    pub(super) fn keywords(&self) -> &Keywords {
        &self.schema.keywords
    }

    pub(super) fn add(&mut self, result: Result<(), Fault>) {
        self.faults.extend(result.err());
    }

    fn is_decided(&self) -> bool {
        self.quiet && !self.faults.is_empty()
    }
}

impl<'c> Checker<'c> {
    pub(super) fn new(schemas: &'c Schemas) -> Self {
        Self {
            schemas,
            drafts: None,
            steps: 0,
            regex: Budget::new(REGEX_STEPS, usize::MAX),
            depth: 0,
            stopped: None,
        }
    }

    /// For a document with schemas; `drafts` has those of its resources by their pointers.
    pub(super) fn of_schemas(schemas: &'c Schemas, drafts: &'c BTreeMap<String, Draft>) -> Self {
        Self {
            drafts: Some(drafts),
            ..Self::new(schemas)
        }
    }

    /// The faults of a value; none if it fits.
    ///
    /// # Errors
    /// A limit was reached.
    pub(super) fn check(&mut self, value: &Json, schema: Id) -> Result<Option<Fault>, Trouble> {
        let result = self.whole(value, schema);
        if let Some(limit) = self.stopped.take() {
            return Err(Trouble::Limit(limit));
        }
        Ok(result.err().map(|causes| {
            let url = self.schemas.get(schema).map_or("", |schema| &schema.url);
            let what = format!("jsonschema validation failed with {}", quoted(&format!("{url}#")));
            Fault {
                place: String::new(),
                member: None,
                what,
                shape: Shape::Fault,
                causes,
            }
        }))
    }

    /// A value that is not part of another one.
    fn whole(&mut self, value: &Json, schema: Id) -> Result<(), Vec<Fault>> {
        let scope = Scope {
            schema,
            keyword: "",
            value: 0,
            above: None,
        };
        let result = self.enter(value, None, &scope, false, false);
        result.map(drop).map_err(Fault::into_causes)
    }

    /// The value of a frame under a further schema.
    pub(super) fn same(
        &mut self,
        frame: &mut Frame<'_>,
        schema: Id,
        keyword: &'static str,
        quiet: bool,
    ) -> Result<(), Fault> {
        let scope = Scope {
            schema,
            keyword,
            value: frame.scope.value,
            above: Some(frame.scope),
        };
        let needed = !frame.rest.is_empty();
        let rest = self.enter(frame.value, frame.path, &scope, frame.quiet || quiet, needed)?;
        frame.rest.keep(&rest);
        Ok(())
    }

    /// A member of the value of a frame.
    pub(super) fn member(&mut self, frame: &Frame<'_>, schema: Id, value: &Json, token: &str) -> Result<(), Fault> {
        let path = Path {
            above: frame.path,
            token,
        };
        let scope = Scope {
            schema,
            keyword: "",
            value: frame.scope.value + 1,
            above: Some(frame.scope),
        };
        self.enter(value, Some(&path), &scope, frame.quiet, false).map(drop)
    }

    fn enter(
        &mut self,
        value: &Json,
        path: Option<&Path<'_>>,
        scope: &Scope<'_>,
        quiet: bool,
        rest_is_needed: bool,
    ) -> Result<Rest, Fault> {
        self.step(1);
        if self.depth >= MAX_DEPTH {
            self.stop(format!("it is nested more than {MAX_DEPTH} levels deep"));
        }
        let id = self.schema_of_place(path, scope.schema);
        let schemas = self.schemas;
        let schema = schemas.get(id).filter(|_| self.stopped.is_none());
        let Some(schema) = schema else { return Err(silent()) };
        let rest = rest_of(value, schema, rest_is_needed);
        let frame = Frame {
            value,
            path,
            scope,
            schema,
            rest,
            faults: Vec::new(),
            quiet,
        };
        self.depth += 1;
        let result = stacker::maybe_grow(STACK_LEFT, STACK_MORE, || self.compare(frame));
        self.depth -= 1;
        result
    }

    /// The metaschema of a schema with a draft of its own, in the place of that of the document.
    fn schema_of_place(&self, path: Option<&Path<'_>>, schema: Id) -> Id {
        let metaschemas = || super::compile::METASCHEMAS.roots.iter();
        let Some(drafts) = self.drafts.filter(|drafts| drafts.len() > 1) else {
            return schema;
        };
        if !metaschemas().any(|(_, root)| *root == schema) {
            return schema;
        }
        let draft = drafts.get(&Path::pointer(path));
        metaschemas()
            .find(|(known, _)| Some(*known) == draft)
            .map_or(schema, |(_, root)| *root)
    }

    pub(super) fn step(&mut self, count: u64) {
        self.steps = self.steps.saturating_add(count);
        if self.steps > MAX_STEPS {
            self.stop(format!("it takes more than {MAX_STEPS} steps"));
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    fn stop(&mut self, limit: String) {
        self.stopped.get_or_insert(limit);
    }

    pub(super) fn fault(&mut self, frame: &Frame<'_>, what: impl FnOnce() -> String) -> Fault {
        if frame.quiet || self.stopped.is_some() {
            return silent();
        }
        let what = what();
        self.step((what.len() / BYTES_PER_STEP) as u64);
        Fault {
            place: Path::pointer(frame.path),
            member: None,
            what,
            shape: Shape::Fault,
            causes: Vec::new(),
        }
    }

    pub(super) fn say(&mut self, frame: &mut Frame<'_>, what: impl FnOnce() -> String) {
        let fault = self.fault(frame, what);
        frame.faults.push(fault);
    }

    pub(super) fn matches(&mut self, pattern: &Regexp, text: &str) -> bool {
        self.step(1);
        match pattern.is_match(text.as_bytes(), &mut self.regex) {
            Ok(matches) => matches,
            Err(exhausted) => {
                self.stop(exhausted.to_string());
                false
            }
        }
    }

    fn compare(&mut self, mut frame: Frame<'_>) -> Result<Rest, Fault> {
        match frame.schema.fixed {
            Some(true) => return Ok(frame.rest),
            Some(false) => return Err(self.fault(&frame, || "false schema".to_owned())),
            None => {}
        }
        if let Some(fault) = self.cycle(&frame) {
            return Err(fault);
        }
        if let Some(what) = self.unlike(&frame) {
            return Err(self.fault(&frame, || what));
        }
        let keywords = &frame.schema.keywords;
        if let Some(target) = keywords.reference {
            let result = self.referred(&mut frame, target, "$ref");
            if frame.schema.draft < Draft::Y2019 {
                return result.map(|()| frame.rest);
            }
            frame.add(result);
        }
        match frame.value {
            Json::Object(fields) => self.object(&mut frame, fields),
            Json::Array(items) => self.array(&mut frame, items),
            Json::String(text) => self.text(&mut frame, text),
            Json::Number(number) => self.number(&mut frame, &Decimal::of(number)),
            Json::Null | Json::Bool(_) => {}
        }
        if !frame.is_decided() {
            if frame.schema.draft >= Draft::Y2019 {
                self.further_references(&mut frame);
            }
            self.combinations(&mut frame);
            if frame.schema.draft >= Draft::Y2019 {
                self.unevaluated(&mut frame);
            }
        }
        match frame.faults.len() {
            0 => Ok(frame.rest),
            1 => Err(frame.faults.pop().unwrap_or_else(silent)),
            _ => {
                let place = Path::pointer(frame.path);
                let what = "validation failed".to_owned();
                Err(Fault {
                    place,
                    member: None,
                    what,
                    shape: Shape::Group,
                    causes: frame.faults,
                })
            }
        }
    }

    /// Type, constant, choices and format: when one of them fails then nothing else is checked.
    fn unlike(&mut self, frame: &Frame<'_>) -> Option<String> {
        let (keywords, value) = (frame.keywords(), frame.value);
        let ty = type_of(value);
        let is_whole = || matches!(value, Json::Number(number) if Decimal::of(number).is_whole());
        let types = keywords.types;
        if !(types.is_empty() || types.has(ty) || types.has("integer") && is_whole()) {
            let want: Vec<&str> = types.names().collect();
            return Some(format!("got {ty}, want {}", want.join(" or ")));
        }
        if let Some(constant) = &keywords.constant
            && !self.equal(value, constant)
        {
            return Some(of_constant(constant));
        }
        if let Some(choices) = &keywords.choices
            && !choices.iter().any(|choice| self.equal(value, choice))
        {
            return Some(of_choices(choices));
        }
        if let (Some(format), Json::String(text)) = (keywords.format, value) {
            self.step((text.len() / BYTES_PER_STEP) as u64);
            let problem = format.check(text).err()?;
            return Some(format!("{} is not valid {}: {problem}", quoted(text), format.name()));
        }
        None
    }

    /// Whether two values are equal: numbers by their value.
    pub(super) fn equal(&mut self, a: &Json, b: &Json) -> bool {
        self.step(1);
        match (a, b) {
            (Json::Object(a), Json::Object(b)) => {
                let is_same = |(key, value): (&String, &Json)| b.get(key).is_some_and(|other| self.equal(value, other));
                a.len() == b.len() && a.iter().all(is_same)
            }
            (Json::Array(a), Json::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(value, other)| self.equal(value, other))
            }
            (Json::Number(a), Json::Number(b)) => Decimal::of(a) == Decimal::of(b),
            (Json::String(a), Json::String(b)) => {
                self.step((a.len().min(b.len()) / BYTES_PER_STEP) as u64);
                a == b
            }
            (a, b) => a == b,
        }
    }

    fn object(&mut self, frame: &mut Frame<'_>, fields: &Map<String, Json>) {
        let schema = frame.schema;
        let keywords = &schema.keywords;
        self.count(
            frame,
            ["minProperties", "maxProperties"],
            fields.len(),
            [keywords.min_properties, keywords.max_properties],
        );
        let missing = missing(fields, &keywords.required);
        if !missing.is_empty() {
            self.say(frame, || of_missing(&missing));
        }
        if frame.is_decided() {
            return;
        }
        for (property, dependency) in keywords
            .dependencies
            .iter()
            .filter(|(name, _)| fields.contains_key(name))
        {
            match dependency {
                Dependency::Properties(names) => self.depend(frame, fields, property, names),
                Dependency::Schema(schema) => {
                    let result = self.same(frame, *schema, "", false);
                    frame.add(result);
                }
            }
        }
        self.properties(frame, fields);
        if schema.draft >= Draft::Six
            && let Some(names) = keywords.property_names
        {
            self.property_names(frame, fields, names);
        }
        for (_, schema) in keywords
            .dependent_schemas
            .iter()
            .filter(|(name, _)| fields.contains_key(name))
        {
            let result = self.same(frame, *schema, "", false);
            frame.add(result);
        }
        for (name, names) in keywords
            .dependent_required
            .iter()
            .filter(|(name, _)| fields.contains_key(name))
        {
            self.depend(frame, fields, name, names);
        }
    }

    fn depend(&mut self, frame: &mut Frame<'_>, fields: &Map<String, Json>, property: &str, names: &[String]) {
        let missing = missing(fields, names);
        if !missing.is_empty() {
            self.say(frame, || super::fault::of_dependency(property, &missing));
        }
    }

    fn properties(&mut self, frame: &mut Frame<'_>, fields: &Map<String, Json>) {
        let keywords = &frame.schema.keywords;
        let mut refused: Vec<&str> = Vec::new();
        for (name, value) in fields {
            if frame.is_decided() {
                return;
            }
            let mut is_evaluated = false;
            if let Some(schema) = keywords.properties.get(name) {
                is_evaluated = true;
                let result = self.member(frame, *schema, value, name);
                frame.add(result);
            }
            for (pattern, schema) in &keywords.pattern_properties {
                if self.matches(pattern, name) {
                    is_evaluated = true;
                    let result = self.member(frame, *schema, value, name);
                    frame.add(result);
                }
            }
            if !is_evaluated && let Some(additional) = keywords.additional_properties {
                is_evaluated = true;
                match additional {
                    Additional::Allowed(true) => {}
                    Additional::Allowed(false) => refused.push(name),
                    Additional::Schema(schema) => {
                        let result = self.member(frame, schema, value, name);
                        frame.add(result);
                    }
                }
            }
            if is_evaluated {
                frame.rest.properties.remove(name);
            }
        }
        if !refused.is_empty() {
            let fault = self.fault(frame, || {
                format!("additional properties {} not allowed", all_quoted(&refused))
            });
            let member = refused.first().map(ToString::to_string);
            frame.faults.push(Fault { member, ..fault });
        }
    }

    fn property_names(&mut self, frame: &mut Frame<'_>, fields: &Map<String, Json>, schema: Id) {
        for name in fields.keys() {
            if let Err(causes) = self.whole(&Json::from(name.as_str()), schema) {
                let fault = self.fault(frame, || format!("invalid propertyName {}", quoted(name)));
                frame.faults.push(Fault { causes, ..fault });
            }
        }
    }
}

/// A fault that nobody reads.
pub(super) fn silent() -> Fault {
    Fault {
        place: String::new(),
        member: None,
        what: String::new(),
        shape: Shape::Fault,
        causes: Vec::new(),
    }
}

fn missing<'n>(fields: &Map<String, Json>, names: &'n [String]) -> Vec<&'n str> {
    names
        .iter()
        .map(String::as_str)
        .filter(|name| !fields.contains_key(*name))
        .collect()
}

/// The members that are left for `unevaluatedProperties` and `unevaluatedItems`, of the schema or of one that
/// it is part of.
fn rest_of(value: &Json, schema: &Schema, is_needed: bool) -> Rest {
    let keywords = &schema.keywords;
    let mut rest = Rest::default();
    match value {
        Json::Object(fields) => {
            let is_needed = is_needed || keywords.unevaluated_properties.is_some();
            if is_needed && !keywords.evaluates_all_properties() {
                rest.properties = fields.keys().cloned().collect();
            }
        }
        Json::Array(items) => {
            let is_needed = is_needed || keywords.unevaluated_items.is_some();
            if let (true, Some(evaluated)) = (is_needed, keywords.evaluated_items(schema.draft)) {
                rest.items = (evaluated..items.len()).collect();
            }
        }
        _ => {}
    }
    rest
}
