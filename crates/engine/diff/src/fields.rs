//! Differences of two objects by field.

use std::collections::BTreeMap;

use bumpwright_yaml::{Mapping, Node, Value, write_plain_json};

/// The placeholder for a value of a Secret.
pub(super) const HIDDEN: &str = "**";

/// A field that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its path: `spec.template.spec.containers[web].image`.
    pub path: String,
    /// The old value as JSON; `None` for an added field.
    pub old: Option<String>,
    /// The new value as JSON; `None` for a removed field.
    pub new: Option<String>,
}

/// The fields that differ: in each mapping those of the new object by name, then removed ones. Values of
/// a Secret are hidden.
#[must_use]
pub fn fields(old: &Node, new: &Node, is_secret: bool) -> Vec<Field> {
    let mut walk = FieldWalk {
        is_secret,
        found: Vec::new(),
    };
    walk.nodes(&mut Vec::new(), Some(old), Some(new));
    walk.found
}

struct FieldWalk {
    is_secret: bool,
    found: Vec<Field>,
}

impl FieldWalk {
    fn nodes(&mut self, path: &mut Vec<String>, old: Option<&Node>, new: Option<&Node>) {
        match (old.map(|node| &node.value), new.map(|node| &node.value)) {
            (Some(Value::Mapping(old)), Some(Value::Mapping(new))) => self.mappings(path, old, new),
            (Some(Value::Sequence(old)), Some(Value::Sequence(new))) => self.sequences(path, &old.items, &new.items),
            _ => {
                let (old, new) = (old.map(json), new.map(json));
                if old != new {
                    self.push(path, old, new);
                }
            }
        }
    }

    fn mappings(&mut self, path: &mut Vec<String>, old: &Mapping, new: &Mapping) {
        self.named(path, &by_key(old), &by_key(new), step_of_key);
    }

    fn sequences(&mut self, path: &mut Vec<String>, old: &[Node], new: &[Node]) {
        if let (Some(olds), Some(news)) = (by_name(old), by_name(new)) {
            self.named(path, &olds, &news, |name| format!("[{name}]"));
            self.order(path, names(old, &news), names(new, &olds));
            return;
        }
        for at in 0..old.len().max(new.len()) {
            self.step(path, format!("[{at}]"), old.get(at), new.get(at));
        }
    }

    /// The order of the items that both lists have: of containers or variables it matters.
    fn order(&mut self, path: &[String], old: Vec<&str>, new: Vec<&str>) {
        if old != new {
            self.push(path, Some(listed(&old)), Some(listed(&new)));
        }
    }

    fn named(&mut self, path: &mut Vec<String>, old: &ByName<'_>, new: &ByName<'_>, step: impl Fn(&str) -> String) {
        for (name, value) in new {
            self.step(path, step(name), old.get(name).copied(), Some(value));
        }
        for (name, value) in old.iter().filter(|(name, _)| !new.contains_key(*name)) {
            self.step(path, step(name), Some(value), None);
        }
    }

    fn step(&mut self, path: &mut Vec<String>, step: String, old: Option<&Node>, new: Option<&Node>) {
        path.push(step);
        self.nodes(path, old, new);
        path.pop();
    }

    fn push(&mut self, path: &[String], old: Option<String>, new: Option<String>) {
        let holds = |step: &String| step == ".data" || step == ".stringData";
        // An annotation of `kubectl apply` contains the whole Secret again.
        let repeats = |step: &String| step.contains("last-applied-configuration");
        let hidden = self.is_secret && (path.first().is_some_and(holds) || path.iter().any(repeats));
        let shown = |value: Option<String>| {
            if hidden {
                value.map(|_| HIDDEN.to_owned())
            } else {
                value
            }
        };
        self.found.push(Field {
            path: path.concat().trim_start_matches('.').to_owned(),
            old: shown(old),
            new: shown(new),
        });
    }
}

type ByName<'a> = BTreeMap<&'a str, &'a Node>;

fn by_key(mapping: &Mapping) -> ByName<'_> {
    let entries = mapping.entries.iter();
    entries.map(|entry| (entry.key.text.as_str(), &entry.value)).collect()
}

/// The items by their `name`, if all have one and no two the same.
fn by_name(items: &[Node]) -> Option<ByName<'_>> {
    let mut named = BTreeMap::new();
    for item in items {
        let name = item.get("name").and_then(Node::as_str)?;
        if named.insert(name, item).is_some() {
            return None;
        }
    }
    Some(named)
}

/// The names of the items that others have, too.
fn names<'a>(items: &'a [Node], others: &ByName<'_>) -> Vec<&'a str> {
    let names = items.iter().filter_map(|item| item.get("name").and_then(Node::as_str));
    names.filter(|name| others.contains_key(name)).collect()
}

/// Names as a list in JSON.
fn listed(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| json(&Node::string(*name))).collect();
    format!("[{}]", names.join(","))
}

fn step_of_key(key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !key.is_empty() && key.chars().all(is_plain) {
        format!(".{key}")
    } else {
        format!("[{key:?}]")
    }
}

fn json(node: &Node) -> String {
    let mut text = String::new();
    match write_plain_json(node, &mut text) {
        Ok(()) => text,
        // Values without a form in JSON are compared by their text.
        Err(_) => format!("{:?}", node.text()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::json_fields;

    #[test]
    fn another_order_of_named_items_is_a_difference() {
        let list = |names: &[&str]| {
            let items: Vec<_> = names.iter().map(|name| json!({"name": name, "v": 1})).collect();
            json!({"spec": {"env": items}})
        };
        for (old, new, fields) in [
            (&["a", "b"][..], &["a", "b"][..], &[][..]),
            (&["a", "b"], &["b", "a"], &["spec.env"]),
            (&["a", "b"], &["b", "c", "a"], &["spec.env[c]", "spec.env"]),
            (&["a", "b", "c"], &["a", "c"], &["spec.env[b]"]),
        ] {
            let found = json_fields(&list(old), &list(new), false);
            let paths: Vec<&str> = found.iter().map(|field| field.path.as_str()).collect();
            assert_eq!(paths, fields, "{old:?} {new:?}");
        }
        let found = json_fields(&list(&["a", "b"]), &list(&["b", "a"]), false);
        let olds: Vec<Option<&str>> = found.iter().map(|field| field.old.as_deref()).collect();
        assert_eq!(olds, [Some(r#"["a","b"]"#)]);
    }
}
