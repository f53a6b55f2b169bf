//! What is new in the charts of a change: what their authors say about it, and the defaults that releases take.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::words::cut;
use crate::build::view;
use crate::diff::Owner;
use crate::secrets::credential_keys::is_sensitive;
use bumpwright_helm::{Chart, Values};
use bumpwright_text::between;
use bumpwright_yaml::{FileId, Node, ReadOptions, read_first};

/// The annotation with what changed (Artifact Hub, *Helm annotations*).
const CHANGES: &str = "artifacthub.io/changes";
/// The most changes and defaults of a chart that are shown.
const SHOWN: usize = 20;
/// In place of what may be a credential.
const MASK: &str = "**";

/// A chart that releases have in another version.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChartChange {
    pub chart: String,
    pub old: String,
    pub new: String,
    /// Versions of what it installs (`appVersion`), old and new, if they differ.
    pub app: Option<[String; 2]>,
    /// `HelmRelease namespace/name`
    pub releases: Vec<String>,
    /// What its author says has changed, the first ones of many.
    pub changes: Vec<String>,
    /// Defaults that differ and that these releases do not set, the first ones of many.
    pub defaults: Vec<DefaultChange>,
    /// How many changes and defaults are left out.
    pub more: usize,
}

/// A value in the `values.yaml` of a chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DefaultChange {
    /// `image.tag`
    pub path: String,
    /// None for an added value.
    pub old: Option<Value>,
    /// None for a removed value.
    pub new: Option<Value>,
}

/// The charts that differ between states of the same clusters, by the owners of all.
pub(super) fn charts<'o, 'f: 'o>(owners: impl Iterator<Item = &'o Owner<'f>>) -> Vec<ChartChange> {
    let mut charts: Vec<ChartChange> = Vec::new();
    for owner in owners {
        let Some((title, change)) = owner.old.zip(owner.new).and_then(|(old, new)| changed(old, new)) else {
            continue;
        };
        match charts.iter_mut().find(|one| one.is_same(&change)) {
            Some(same) if same.releases.contains(&title) => {}
            Some(same) => same.releases.push(title),
            None => charts.push(ChartChange {
                releases: vec![title],
                ..change
            }),
        }
    }
    charts
}

fn changed(old: &view::Node, new: &view::Node) -> Option<(String, ChartChange)> {
    let (old, given) = (old.chart.as_ref()?, new.chart.as_ref()?);
    let (before, after) = (&old.chart.chart, &given.chart.chart);
    let is_same = before.metadata.name == after.metadata.name;
    if is_same && before.metadata.version == after.metadata.version {
        return None;
    }
    let mut defaults = Vec::new();
    if is_same {
        compare((&before.values, &after.values), Some(&given.values), "", &mut defaults);
    }
    let mut changes = said(after);
    let more = changes.len().saturating_sub(SHOWN) + defaults.len().saturating_sub(SHOWN);
    changes.truncate(SHOWN);
    defaults.truncate(SHOWN);
    let apps = [before, after].map(|chart| chart.metadata.app_version.clone());
    let change = ChartChange {
        chart: after.metadata.name.clone(),
        old: if is_same {
            before.metadata.version.clone()
        } else {
            format!("{} {}", before.metadata.name, before.metadata.version)
        },
        new: after.metadata.version.clone(),
        app: Some(apps).filter(|[old, new]| old != new),
        releases: Vec::new(),
        changes,
        defaults,
        more,
    };
    Some((new.title(), change))
}

/// Defaults that differ at a path, but for those that `given` sets.
fn compare((old, new): (&Values, &Values), given: Option<&Values>, above: &str, found: &mut Vec<DefaultChange>) {
    let empty = Values::new();
    let mut keys: BTreeMap<&str, [Option<&Value>; 2]> = BTreeMap::new();
    for (key, value) in old {
        keys.insert(key, [Some(value), None]);
    }
    for (key, value) in new {
        let [_, slot] = keys.entry(key).or_default();
        *slot = Some(value);
    }
    for (key, [old, new]) in keys {
        let set = given.and_then(|given| given.get(key));
        if old == new || set.is_some_and(|set| !set.is_object()) {
            continue;
        }
        let path = match above {
            "" => key.to_owned(),
            above => format!("{above}.{key}"),
        };
        let below = |value: Option<&'_ Value>| value.is_none_or(Value::is_object);
        if below(old) && below(new) && [old, new].iter().flatten().any(|value| !is_empty(value)) {
            let [old, new] = [old, new].map(|value| value.and_then(Value::as_object).unwrap_or(&empty));
            compare((old, new), set.and_then(Value::as_object), &path, found);
        } else if set.is_none() {
            let [old, new] = [old, new].map(|value| value.map(|value| shown(&masked(key, value))));
            found.push(DefaultChange { path, old, new });
        }
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Values::is_empty)
}

/// A value without what may be a credential. Numbers of charts are floats, which are shown as they are written.
fn masked(key: &str, value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let written = number.as_f64().map(|number| number.to_string());
            written
                .and_then(|text| serde_json::from_str(&text).ok())
                .unwrap_or_else(|| value.clone())
        }
        Value::String(text) if is_sensitive(key) && !text.is_empty() => Value::from(MASK),
        Value::Array(items) => items.iter().map(|item| masked(key, item)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), masked(key, value)));
            Value::Object(fields.collect())
        }
        plain => plain.clone(),
    }
}

/// A value for people: a long one is cut.
fn shown(value: &Value) -> Value {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => value.to_string(),
        plain => return plain.clone(),
    };
    match cut(&text) {
        short if short == text => value.clone(),
        short => Value::String(short),
    }
}

/// What the author of a chart says that has changed: a list of texts, or of objects with `kind` and `description`.
fn said(chart: &Chart) -> Vec<String> {
    let annotations = chart.metadata.annotations.iter().flatten();
    let text = annotations.into_iter().find(|(key, _)| key == CHANGES);
    let document = text.and_then(|(_, text)| read_first(text.as_bytes(), &ReadOptions::sigs(FileId::NONE)).ok()?);
    let items = document.as_ref().and_then(Node::as_items).into_iter().flatten();
    let one = |item: &Node| -> Option<String> {
        let description = item.get("description").unwrap_or(item).as_str()?;
        let line = description.lines().map(str::trim).find(|line| !line.is_empty())?;
        let kind = item.get("kind").and_then(Node::as_str);
        Some(cut(&format!("{}{line}", between("", kind, ": "))))
    };
    items.filter_map(one).collect()
}

impl ChartChange {
    /// Whether it is the same for other releases.
    fn is_same(&self, other: &Self) -> bool {
        let is_step = (&self.chart, &self.old, &self.new) == (&other.chart, &other.old, &other.new);
        is_step && self.defaults == other.defaults
    }

    /// `web 1.0.0 → 1.1.0 (app 2.3 → 2.4)`
    #[must_use]
    pub fn title(&self) -> String {
        let app = self.app.as_ref().map(|[old, new]| format!("{old} → {new}"));
        let app = between(" (app ", app, ")");
        format!("{} {} → {}{app}", self.chart, self.old, self.new)
    }

    /// A line for each change and default, and one for those that are left out.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let value = |value: &Option<Value>| value.as_ref().map_or_else(|| "none".to_owned(), Value::to_string);
        let defaults = self.defaults.iter().map(|one| {
            let (old, new) = (value(&one.old), value(&one.new));
            format!("default {}: {old} → {new}", one.path)
        });
        let more = (self.more > 0).then(|| format!("and {} more", self.more));
        self.changes.iter().cloned().chain(defaults).chain(more).collect()
    }
}
