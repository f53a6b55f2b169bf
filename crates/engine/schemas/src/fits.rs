//! Whether a value fulfils the rules of its type.

use std::collections::HashSet;

use bumpwright_gostd::quote;
use bumpwright_json::Float;
use bumpwright_re2::Budget;
use serde_json::Value;

use super::rules::{Bound, Range, Rules, Unique};

/// Steps that all patterns of an object may take together: some tens of milliseconds.
const MAX_STEPS: u64 = 1 << 24;
/// Values that combinations of rules may look at in an object.
const MAX_LOOKS: u32 = 1 << 20;

/// What the rules of an object may still cost. What would cost more is taken as fulfilled, and reported at the end.
pub(crate) struct Cost {
    budget: Budget,
    looks: u32,
    pub(crate) is_exceeded: bool,
}

impl Default for Cost {
    fn default() -> Self {
        Self {
            budget: Budget::new(MAX_STEPS, 0),
            looks: MAX_LOOKS,
            is_exceeded: false,
        }
    }
}

/// A rule that a value breaks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// The item of the list that breaks it, or the field of the object that is missing.
    pub(crate) below: Option<Below>,
    /// How the message starts, before the value.
    pub(crate) class: &'static str,
    /// Whether the message shows the value.
    pub(crate) shows: bool,
    pub(crate) detail: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Below {
    Item(usize),
    Field(String),
}

fn invalid(detail: String) -> Broken {
    Broken {
        below: None,
        class: "Invalid value",
        shows: true,
        detail,
    }
}

fn counted(class: &'static str, detail: String) -> Broken {
    Broken {
        below: None,
        class,
        shows: false,
        detail,
    }
}

/// All rules that a value breaks, those of its fields and items aside.
pub(crate) fn broken(rules: &Rules, value: &Value, cost: &mut Cost) -> Vec<Broken> {
    let mut faults = own(rules, value, cost);
    for part in &rules.all {
        let before = faults.len();
        faults.extend(broken(part, value, cost));
        if faults.len() == before && !fits(part, value, cost) {
            faults.push(invalid("must validate all the schemas (allOf)".to_owned()));
        }
    }
    if !rules.any.is_empty() && !rules.any.iter().any(|part| fits(part, value, cost)) {
        faults.push(invalid("must validate at least one schema (anyOf)".to_owned()));
    }
    if !rules.one.is_empty() {
        let count = rules.one.iter().filter(|part| fits(part, value, cost)).count();
        let said = match count {
            0 => "found none valid".to_owned(),
            count => format!("found {count} valid alternatives"),
        };
        if count != 1 && !cost.is_exceeded {
            faults.push(invalid(format!(
                "must validate one and only one schema (oneOf): {said}"
            )));
        }
    }
    if rules.not.as_ref().is_some_and(|not| fits(not, value, cost)) && !cost.is_exceeded {
        faults.push(invalid("must not validate the schema (not)".to_owned()));
    }
    faults
}

/// Whether a value and all below it fulfil the rules.
fn fits(rules: &Rules, value: &Value, cost: &mut Cost) -> bool {
    cost.looks = cost.looks.saturating_sub(1);
    if cost.looks == 0 {
        cost.is_exceeded = true;
        return true;
    }
    if !rules.types.is_empty() && !rules.types.iter().any(|kind| kind.has(value)) {
        return false;
    }
    if !own(rules, value, cost).is_empty() {
        return false;
    }
    let is_below = |rules: &Rules, value: &Value, cost: &mut Cost| value.is_null() || fits(rules, value, cost);
    let below = match value {
        Value::Object(entries) => entries.iter().all(|(name, value)| {
            let field = rules.fields.iter().find(|(field, _)| field == name);
            let rules = field.map(|(_, rules)| rules).or(rules.each.as_deref());
            rules.is_none_or(|rules| is_below(rules, value, cost))
        }),
        Value::Array(items) => rules
            .each
            .as_ref()
            .is_none_or(|rules| items.iter().all(|item| is_below(rules, item, cost))),
        _ => true,
    };
    below
        && rules.all.iter().all(|part| fits(part, value, cost))
        && (rules.any.is_empty() || rules.any.iter().any(|part| fits(part, value, cost)))
        && (rules.one.is_empty() || rules.one.iter().filter(|part| fits(part, value, cost)).count() == 1)
        && rules.not.as_ref().is_none_or(|not| !fits(not, value, cost))
}

/// The rules without combinations.
fn own(rules: &Rules, value: &Value, cost: &mut Cost) -> Vec<Broken> {
    let mut found = Vec::new();
    if !rules.values.is_empty() && !rules.values.iter().any(|known| same(known, value)) {
        let values: Vec<String> = rules.values.iter().map(listed).collect();
        found.push(Broken {
            below: None,
            class: "Unsupported value",
            shows: true,
            detail: format!("supported values: {}", values.join(", ")),
        });
    }
    match value {
        Value::String(text) => of_text(rules, text, cost, &mut found),
        Value::Number(number) => of_number(rules, number.float64(), &mut found),
        Value::Array(items) => of_items(rules, items, &mut found),
        Value::Object(entries) => {
            of_count(rules.entries, entries.len(), "properties", &mut found);
            let is_missing = |name: &&String| entries.get(*name).is_none_or(Value::is_null);
            for name in rules.required.iter().filter(is_missing) {
                found.push(Broken {
                    below: Some(Below::Field(name.clone())),
                    class: "Required value",
                    shows: false,
                    detail: String::new(),
                });
            }
        }
        _ => {}
    }
    found
}

fn of_text(rules: &Rules, text: &str, cost: &mut Cost, found: &mut Vec<Broken>) {
    let Range { least, most } = rules.length;
    if least.or(most).is_some() {
        let length = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        if let Some(least) = least.filter(|least| length < *least) {
            found.push(invalid(format!("should be at least {least} chars long")));
        }
        if let Some(most) = most.filter(|most| length > *most) {
            found.push(counted("Too long", format!("may not be more than {most} bytes")));
        }
    }
    if let Some(pattern) = &rules.pattern
        && let Some(regexp) = pattern.regexp()
    {
        match regexp.is_match(text.as_bytes(), &mut cost.budget) {
            Ok(true) => {}
            Ok(false) => found.push(invalid(format!("should match '{}'", pattern.text))),
            Err(_) => cost.is_exceeded = true,
        }
    }
    if let Some(format) = rules.format.filter(|format| !format.has(text)) {
        found.push(invalid(format!("must be of type {}", format.name())));
    }
}

fn of_number(rules: &Rules, number: f64, found: &mut Vec<Broken>) {
    if let Some(Bound {
        number: least,
        exclusive,
    }) = rules.least
        && (number < least || exclusive && number == least)
    {
        let words = if exclusive {
            "greater than"
        } else {
            "greater than or equal to"
        };
        found.push(invalid(format!("should be {words} {least}")));
    }
    if let Some(Bound {
        number: most,
        exclusive,
    }) = rules.most
        && (number > most || exclusive && number == most)
    {
        let words = if exclusive {
            "less than"
        } else {
            "less than or equal to"
        };
        found.push(invalid(format!("should be {words} {most}")));
    }
    if let Some(of) = rules.multiple_of.filter(|of| (number / of).fract() != 0.0) {
        found.push(invalid(format!("should be a multiple of {of}")));
    }
}

fn of_items(rules: &Rules, items: &[Value], found: &mut Vec<Broken>) {
    of_count(rules.items, items.len(), "items", found);
    let Some(unique) = &rules.unique else { return };
    let mut seen = HashSet::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let key = match unique {
            Unique::Whole => Some(item.to_string()),
            // A key that is missing is reported as such.
            Unique::Keys(keys) => {
                let values = keys.iter().map(|key| item.get(key).map(Value::to_string));
                values.collect::<Option<Vec<String>>>().map(|values| values.join("\n"))
            }
        };
        if key.is_some_and(|key| !seen.insert(key)) {
            found.push(Broken {
                below: Some(Below::Item(at)),
                class: "Duplicate value",
                shows: true,
                detail: String::new(),
            });
        }
    }
}

fn of_count(range: Range, count: usize, of: &str, found: &mut Vec<Broken>) {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    if let Some(least) = range.least.filter(|least| count < *least) {
        found.push(counted(
            "Invalid value",
            format!("{count}: should have at least {least} {of}"),
        ));
    }
    if let Some(most) = range.most.filter(|most| count > *most) {
        found.push(counted("Too many", format!("{count}: must have at most {most} {of}")));
    }
}

/// Whether two values are the same; `1` is `1.0`.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (one, other) => one == other,
    }
}

fn listed(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), quote)
}
