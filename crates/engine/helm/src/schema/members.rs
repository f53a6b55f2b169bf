//! Lists, texts and numbers compared with a schema.

use super::{
    check::{Checker, Frame},
    draft::Draft,
    fault::{Fault, count, of_bound, of_contained, of_count, quoted},
    keywords::{Additional, Items},
    number::Decimal,
};
use bumpwright_json::Float;
use serde_json::Value as Json;
use std::collections::HashMap;

impl Checker<'_> {
    /// A count within its bounds.
    pub(super) fn count(
        &mut self,
        frame: &mut Frame<'_>,
        keywords: [&str; 2],
        got: usize,
        [least, most]: [Option<i64>; 2],
    ) {
        let number = i64::try_from(got).unwrap_or(i64::MAX);
        let [least_keyword, most_keyword] = keywords;
        if let Some(least) = least.filter(|least| number < *least) {
            self.say(frame, || of_count(least_keyword, got, least));
        }
        if let Some(most) = most.filter(|most| number > *most) {
            self.say(frame, || of_count(most_keyword, got, most));
        }
    }

    pub(super) fn array(&mut self, frame: &mut Frame<'_>, items: &[Json]) {
        let schema = frame.schema;
        let keywords = &schema.keywords;
        self.count(
            frame,
            ["minItems", "maxItems"],
            items.len(),
            [keywords.min_items, keywords.max_items],
        );
        if keywords.unique_items
            && let Some((a, b)) = self.equal_items(items)
        {
            self.say(frame, || format!("items at {} and {} are equal", count(a), count(b)));
        }
        if schema.draft < Draft::Y2020 {
            self.items(frame, items)
        } else {
            self.each(frame, items, &keywords.prefix_items);
            if let Some(rest) = keywords.rest_items {
                self.all(frame, items, keywords.prefix_items.len(), rest);
            }
        }
        self.contains(frame, items);
    }

    /// Two items that are equal.
    fn equal_items(&mut self, items: &[Json]) -> Option<(usize, usize)> {
        let mut by_key: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, item) in items.iter().enumerate() {
            let key = key(item);
            self.step((key.len() / 16) as u64);
            let earlier = by_key.entry(key).or_default();
            for other in earlier.iter() {
                if items.get(*other).is_some_and(|other| self.equal(item, other)) {
                    return Some((*other, index));
                }
            }
            earlier.push(index);
        }
        None
    }

    fn each(&mut self, frame: &mut Frame<'_>, items: &[Json], schemas: &[usize]) {
        for (index, (item, schema)) in items.iter().zip(schemas).enumerate() {
            let result = self.member(frame, *schema, item, &index.to_string());
            frame.add(result);
        }
    }

    /// All items from one on.
    fn all(&mut self, frame: &mut Frame<'_>, items: &[Json], from: usize, schema: usize) {
        for (index, item) in items.iter().enumerate().skip(from) {
            let result = self.member(frame, schema, item, &index.to_string());
            frame.add(result);
        }
    }

    /// `items` and `additionalItems` of the drafts before 2020-12.
    fn items(&mut self, frame: &mut Frame<'_>, items: &[Json]) {
        let keywords = &frame.schema.keywords;
        let evaluated = match &keywords.items {
            Items::Unsaid => 0,
            Items::All(schema) => {
                self.all(frame, items, 0, *schema);
                items.len()
            }
            Items::Each(schemas) => {
                self.each(frame, items, schemas);
                schemas.len().min(items.len())
            }
        };
        match keywords.additional_items {
            Some(Additional::Allowed(false)) if evaluated < items.len() => {
                let left = items.len() - evaluated;
                self.say(frame, || format!("last {} additionalItem(s) not allowed", count(left)));
            }
            Some(Additional::Schema(schema)) => self.all(frame, items, evaluated, schema),
            _ => {}
        }
    }

    fn contains(&mut self, frame: &mut Frame<'_>, items: &[Json]) {
        let keywords = &frame.schema.keywords;
        let Some(schema) = keywords.contains else { return };
        let (mut faults, mut matched) = (Vec::new(), Vec::new());
        for (index, item) in items.iter().enumerate() {
            match self.member(frame, schema, item, &index.to_string()) {
                Err(fault) => faults.push(fault),
                Ok(()) => {
                    matched.push(index);
                    if frame.schema.draft >= Draft::Y2020 {
                        frame.rest.items.remove(&index);
                    }
                }
            }
        }
        let count = i64::try_from(matched.len()).unwrap_or(i64::MAX);
        let fault = match keywords.min_contains {
            Some(least) if count < least => Some(self.fault(frame, || of_contained("min", least, &matched))),
            None if matched.is_empty() => Some(self.fault(frame, || "no items match contains schema".to_owned())),
            _ => None,
        };
        frame.faults.extend(fault.map(|fault| Fault {
            causes: faults,
            ..fault
        }));
        if let Some(most) = keywords.max_contains.filter(|most| count > *most) {
            self.say(frame, || of_contained("max", most, &matched));
        }
    }

    pub(super) fn text(&mut self, frame: &mut Frame<'_>, text: &str) {
        let keywords = &frame.schema.keywords;
        if keywords.min_length.is_some() || keywords.max_length.is_some() {
            let length = text.chars().count();
            self.step((text.len() / 16) as u64);
            self.count(
                frame,
                ["minLength", "maxLength"],
                length,
                [keywords.min_length, keywords.max_length],
            );
        }
        if let Some(pattern) = &keywords.pattern
            && !self.matches(pattern, text)
        {
            let pattern = bumpwright_gostd::lossy(pattern.pattern());
            self.say(frame, || {
                format!("{} does not match pattern {}", quoted(text), quoted(&pattern))
            });
        }
    }

    pub(super) fn number(&mut self, frame: &mut Frame<'_>, number: &Decimal) {
        let keywords = &frame.schema.keywords;
        for (keyword, want, is_broken) in [
            ("minimum", &keywords.minimum, (|got, want| got < want) as IsBroken),
            ("maximum", &keywords.maximum, |got, want| got > want),
            ("exclusiveMinimum", &keywords.exclusive_minimum, |got, want| got <= want),
            ("exclusiveMaximum", &keywords.exclusive_maximum, |got, want| got >= want),
            ("multipleOf", &keywords.multiple_of, |got, want| {
                !want.is_zero() && !got.is_multiple_of(want)
            }),
        ] {
            if let Some(want) = want.as_ref().filter(|want| is_broken(number, want)) {
                self.say(frame, || of_bound(keyword, number, want));
            }
        }
    }
}

/// Whether a number is outside of a bound.
type IsBroken = fn(&Decimal, &Decimal) -> bool;

/// A text that equal values have in common; others may have it, too.
fn key(value: &Json) -> String {
    match value {
        Json::Number(number) => number.float64().to_string(),
        Json::String(text) => format!("\"{text}"),
        Json::Array(items) => format!("[{}", items.iter().map(key).collect::<Vec<_>>().join(",")),
        Json::Object(fields) => {
            let mut keys: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", key(value)))
                .collect();
            keys.sort();
            format!("{{{}", keys.join(","))
        }
        other => other.to_string(),
    }
}
