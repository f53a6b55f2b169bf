//! References, combinations of schemas, and what they leave over.

use super::{
    check::{Checker, Frame, Scope, silent},
    fault::{Fault, Shape, count},
    keywords::Id,
};
use bumpwright_gostd::quote;
use bumpwright_text::{Parts, pointer::escaped};
use serde_json::Value as Json;

impl Checker<'_> {
    /// The fault of a schema that leads to itself without going into the value.
    pub(super) fn cycle(&mut self, frame: &Frame<'_>) -> Option<Fault> {
        let scope = frame.scope;
        let mut above = scope.above;
        while let Some(other) = above.filter(|other| other.value == scope.value) {
            self.step(1);
            if other.schema == scope.schema {
                let places = [self.keyword_location(scope), self.keyword_location(other)];
                let [first, second] = places;
                let schema = frame.schema;
                let url = quote(&super::address::location(&schema.url, &schema.pointer));
                return Some(self.fault(frame, || {
                    format!("both {first} and {second} resolve to {url} causing reference cycle")
                }));
            }
            above = other.above;
        }
        None
    }

    fn keyword_location(&self, scope: &Scope<'_>) -> String {
        let pointer = |id: Id| self.schemas.get(id).map_or("", |schema| &schema.pointer);
        let mut parts = Vec::new();
        let mut scope = scope;
        while let Some(above) = scope.above {
            parts.push(match scope.keyword {
                "" => pointer(scope.schema).part(pointer(above.schema).len()..).to_owned(),
                keyword => format!("/{}", escaped(keyword)),
            });
            scope = above;
        }
        parts.reverse();
        parts.concat()
    }

    /// The value under a schema that is referred to.
    pub(super) fn referred(&mut self, frame: &mut Frame<'_>, target: Id, keyword: &'static str) -> Result<(), Fault> {
        self.same(frame, target, keyword, false).map_err(|fault| {
            let causes = fault.into_causes();
            let fault = self.fault(frame, || "validation failed".to_owned());
            Fault {
                shape: Shape::Reference,
                causes,
                ..fault
            }
        })
    }

    pub(super) fn further_references(&mut self, frame: &mut Frame<'_>) {
        let keywords = &frame.schema.keywords;
        if let Some(target) = keywords.recursive_reference {
            let is_anchor = self
                .schemas
                .get(target)
                .is_some_and(|schema| schema.keywords.is_recursive_anchor);
            let target = if is_anchor {
                self.outermost(frame.scope, target, |schema| {
                    let schemas = self.schemas;
                    let resource = schemas.get(schemas.get(schema)?.resource)?;
                    resource.keywords.is_recursive_anchor.then_some(schema)
                })
            } else {
                target
            };
            let result = self.referred(frame, target, "$recursiveRef");
            frame.add(result);
        }
        if let Some((target, anchor)) = &keywords.dynamic_reference {
            let own = self
                .schemas
                .get(*target)
                .and_then(|schema| schema.keywords.dynamic_anchor.as_ref());
            let target = match anchor {
                Some(anchor) if own == Some(anchor) => self.outermost(frame.scope, *target, |schema| {
                    let schemas = self.schemas;
                    let resource = schemas.get(schemas.get(schema)?.resource)?;
                    resource.dynamic_anchors.get(anchor).copied()
                }),
                _ => *target,
            };
            let result = self.referred(frame, target, "$dynamicRef");
            frame.add(result);
        }
    }

    /// What the outermost of the schemas on the way has, that has any.
    fn outermost(&self, scope: &Scope<'_>, fallback: Id, find: impl Fn(Id) -> Option<Id>) -> Id {
        let (mut found, mut next) = (fallback, Some(scope));
        while let Some(scope) = next {
            found = find(scope.schema).unwrap_or(found);
            next = scope.above;
        }
        found
    }

    pub(super) fn combinations(&mut self, frame: &mut Frame<'_>) {
        let keywords = &frame.schema.keywords;
        if let Some(not) = keywords.not
            && self.same(frame, not, "", true).is_ok()
        {
            self.say(frame, || "'not' failed".to_owned());
        }
        let mut faults = Vec::new();
        for schema in &keywords.all_of {
            faults.extend(self.same(frame, *schema, "", false).err());
            if frame.quiet && !faults.is_empty() {
                break;
            }
        }
        if !faults.is_empty() {
            self.say_with(frame, faults, "'allOf' failed");
        }
        if !keywords.any_of.is_empty() {
            self.any_of(frame);
        }
        if !keywords.one_of.is_empty() {
            self.one_of(frame);
        }
        if let Some(condition) = keywords.condition {
            let branch = match self.same(frame, condition, "", true) {
                Ok(()) => keywords.then,
                Err(_) => keywords.otherwise,
            };
            if let Some(schema) = branch {
                let result = self.same(frame, schema, "", false);
                frame.add(result);
            }
        }
    }

    fn any_of(&mut self, frame: &mut Frame<'_>) {
        let (mut faults, mut matches) = (Vec::new(), false);
        for schema in &frame.schema.keywords.any_of {
            match self.same(frame, *schema, "", false) {
                Err(fault) => faults.push(fault),
                Ok(()) => {
                    matches = true;
                    // All of them say which members they are about.
                    if frame.rest.is_empty() {
                        break;
                    }
                }
            }
        }
        if !matches {
            self.say_with(frame, faults, "'anyOf' failed");
        }
    }

    fn one_of(&mut self, frame: &mut Frame<'_>) {
        let (mut faults, mut matching) = (Vec::new(), None);
        for (index, schema) in frame.schema.keywords.one_of.iter().enumerate() {
            match (self.same(frame, *schema, "", matching.is_some()), matching) {
                (Err(fault), None) => faults.push(fault),
                (Err(_), Some(_)) => {}
                (Ok(()), None) => matching = Some(index),
                (Ok(()), Some(first)) => {
                    let (first, second) = (count(first), count(index));
                    self.say(frame, || {
                        format!("'oneOf' failed, subschemas {first}, {second} matched")
                    });
                    break;
                }
            }
        }
        if matching.is_none() {
            self.say_with(frame, faults, "'oneOf' failed, none matched");
        }
    }

    fn say_with(&mut self, frame: &mut Frame<'_>, causes: Vec<Fault>, what: &str) {
        let fault = self.fault(frame, || what.to_owned());
        let causes = if frame.quiet { Vec::new() } else { causes };
        frame.faults.push(Fault { causes, ..fault });
    }

    pub(super) fn unevaluated(&mut self, frame: &mut Frame<'_>) {
        let keywords = &frame.schema.keywords;
        if let (Json::Object(fields), Some(schema)) = (frame.value, keywords.unevaluated_properties) {
            for name in std::mem::take(&mut frame.rest.properties) {
                if let Some(value) = fields.get(&name) {
                    let result = self.member(frame, schema, value, &name);
                    frame.add(result);
                }
            }
        }
        if let (Json::Array(items), Some(schema)) = (frame.value, keywords.unevaluated_items) {
            for index in std::mem::take(&mut frame.rest.items) {
                let item = items.get(index).unwrap_or(&Json::Null);
                let result = self.member(frame, schema, item, &index.to_string());
                frame.add(result);
            }
        }
        if self.is_stopped() {
            frame.faults.push(silent());
        }
    }
}
