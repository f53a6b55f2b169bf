//! Deprecated fields of a kustomization in their present form, as `kustomize edit fix` has
//! them (kustomize v5.8, `FixKustomization*`).

use std::ops::Range;

use bumpwright_api::Place;
use bumpwright_api::tree::{Entry, Node};
use serde_json::{Value as Json, json};

use super::Refused;
use super::text::{File, json as values};
use crate::lines::{Change, Region, distance, line_end, moved, region, spaces};

/// The deprecated fields, each of which is rewritten or stays by itself. `patches` is the list of names that it was
/// once, `env` that of generators.
pub const DEPRECATED: [&str; 7] = [
    "imageTags",
    "bases",
    "patches",
    "patchesStrategicMerge",
    "patchesJson6902",
    "commonLabels",
    "env",
];

/// A deprecated field of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deprecated {
    /// Its name, of [`DEPRECATED`].
    pub field: &'static str,
    pub place: Place,
}

/// The deprecated fields of a file.
pub fn deprecated(text: &str) -> Result<Vec<Deprecated>, Refused> {
    let file = File::read(text)?;
    let is_file = |_: &str| false;
    let fixer = Fixer::new(&file, &is_file, &[]);
    let places = DEPRECATED.into_iter().filter_map(|field| {
        let place = match field {
            "patches" => fixer.has_names_of_patches().then(|| fixer.entry(field))??.key.place,
            "env" => fixer.env()?.key.place,
            _ => fixer.entry(field)?.key.place,
        };
        Some(Deprecated { field, place })
    });
    Ok(places.collect())
}

/// Whether the file changes names, namespaces, labels or annotations itself: patches in `patchesJson6902` see the
/// objects after that, those in `patches` before.
pub fn changes_metadata(text: &str) -> Result<bool, Refused> {
    let file = File::read(text)?;
    let has = |key: &str| file.root.entry(key).is_some_and(|entry| !entry.node.is_null());
    Ok(METADATA.into_iter().any(has))
}

/// The fields that change names, namespaces, labels and annotations.
const METADATA: [&str; 7] = [
    "namespace",
    "namePrefix",
    "nameSuffix",
    "labels",
    "commonLabels",
    "commonAnnotations",
    "transformers",
];

/// Rewrites the deprecated fields of a file but for those in `kept`; none when there are none. `is_file` tells whether
/// a path of the kustomization is a file.
///
/// # Errors
/// The file cannot be rewritten: the place, and why.
pub fn fix(text: &str, is_file: &dyn Fn(&str) -> bool, kept: &[&str]) -> Result<Option<String>, Refused> {
    let file = File::read(text)?;
    let mut fixer = Fixer::new(&file, is_file, kept);
    fixer.check()?;
    fixer.head()?;
    fixer.rename("imageTags", "images")?;
    fixer.lists(
        "resources",
        &[("resources", Items::AsTheyAre), ("bases", Items::AsTheyAre)],
    )?;
    let patches = if fixer.has_names_of_patches() && fixer.wants("patches") {
        Items::Patches
    } else {
        Items::AsTheyAre
    };
    fixer.lists(
        "patches",
        &[
            ("patches", patches),
            ("patchesJson6902", Items::AsTheyAre),
            ("patchesStrategicMerge", Items::Patches),
        ],
    )?;
    fixer.labels()?;
    fixer.generators("configMapGenerator")?;
    fixer.generators("secretGenerator")?;
    file.edited(fixer.edits, &fixer.wanted)
}

/// What becomes of the items of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Items {
    AsTheyAre,
    /// A file or a text becomes a patch with `path` or `patch`.
    Patches,
}

/// A list of the root.
struct List<'a> {
    entry: &'a Entry,
    region: Region,
    items: Items,
    /// The column of its dashes; none in brackets.
    dash: Option<usize>,
}

struct Fixer<'a> {
    file: &'a File,
    is_file: &'a dyn Fn(&str) -> bool,
    /// Deprecated fields that stay as they are.
    kept: &'a [&'a str],
    edits: Vec<Change>,
    /// The values that the text is to have.
    wanted: Json,
}

impl<'a> Fixer<'a> {
    fn new(file: &'a File, is_file: &'a dyn Fn(&str) -> bool, kept: &'a [&'a str]) -> Self {
        Self {
            wanted: values(&file.root),
            file,
            is_file,
            kept,
            edits: Vec::new(),
        }
    }

    fn wants(&self, field: &str) -> bool {
        !self.kept.contains(&field)
    }

    /// The first `env` of a generator.
    fn env(&self) -> Option<&'a Entry> {
        let generators = ["configMapGenerator", "secretGenerator"].into_iter();
        let mut items = generators
            .filter_map(|key| self.entry(key))
            .flat_map(|entry| entry.node.items());
        items.find_map(|item| item.entry("env").filter(|entry| !entry.node.is_null()))
    }

    /// Refuses what this does not know how to write.
    fn check(&self) -> Result<(), Refused> {
        let key = "helmChartInflationGenerator";
        match self.file.root.entry(key) {
            Some(entry) => Err(Refused::new(
                entry.key.place,
                format!("{key} is deprecated; write it as helmCharts"),
            )),
            None => Ok(()),
        }
    }

    fn entry(&self, key: &str) -> Option<&'a Entry> {
        let entry = self.file.root.entry(key)?;
        (!entry.node.is_null()).then_some(entry)
    }

    fn set(&mut self, key: &str, value: Json) {
        if let Json::Object(map) = &mut self.wanted {
            map.insert(key.to_owned(), value);
        }
    }

    fn take(&mut self, key: &str) -> Json {
        match &mut self.wanted {
            Json::Object(map) => map.remove(key).unwrap_or_default(),
            _ => Json::Null,
        }
    }

    fn region(&self, entry: &Entry) -> Result<Region, Refused> {
        region(&self.file.text, &self.file.root, entry.name())
            .ok_or_else(|| Refused::layout(entry.key.place, entry.name()))
    }

    /// `apiVersion` and `kind`, which a file may lack.
    fn head(&mut self) -> Result<(), Refused> {
        let kind = self.file.root.field_text("kind").unwrap_or("Kustomization").to_owned();
        let version = match kind.as_str() {
            "Component" => "kustomize.config.k8s.io/v1alpha1",
            _ => "kustomize.config.k8s.io/v1beta1",
        };
        let mut lines = String::new();
        for (key, value) in [("apiVersion", version), ("kind", kind.as_str())] {
            match self.file.root.entry(key) {
                None => lines.push_str(&format!("{key}: {value}{}", self.file.newline())),
                Some(_) => continue,
            }
            self.set(key, json!(value));
        }
        let Some(first) = self.file.root.entries().first().filter(|_| !lines.is_empty()) else {
            return Ok(());
        };
        let at = self.region(first)?.head;
        let at = at + usize::from(at == 0 && self.file.text.starts_with('\u{feff}')) * '\u{feff}'.len_utf8();
        self.edits.push((at..at, lines));
        Ok(())
    }

    fn rename(&mut self, old: &str, new: &str) -> Result<(), Refused> {
        let Some(entry) = self.file.root.entry(old).filter(|_| self.wants(old)) else {
            return Ok(());
        };
        if self.file.root.entry(new).is_some() {
            return Err(Refused::new(
                entry.key.place,
                format!("{old} is {new} now, which is there too; write them as one"),
            ));
        }
        self.edits.push((entry.key.span.clone(), new.to_owned()));
        let value = self.take(old);
        self.set(new, value);
        Ok(())
    }

    /// Whether `patches` is the list of names that it was once.
    fn has_names_of_patches(&self) -> bool {
        let patches = self.entry("patches");
        patches.is_some_and(|entry| entry.node.items().iter().any(|item| item.text().is_some()))
    }

    /// Makes one list of several, in this order.
    fn lists(&mut self, name: &str, sources: &[(&str, Items)]) -> Result<(), Refused> {
        let mut lists = Vec::new();
        let mut wanted = Vec::new();
        for (key, items) in sources {
            if *key != name && !self.wants(key) {
                continue;
            }
            let old = self.take(key);
            let Some(entry) = self.entry(key) else { continue };
            if let Json::Array(values) = old {
                wanted.extend(values.into_iter().map(|value| self.wanted_item(value, *items)));
            }
            lists.push(self.list(entry, *items)?);
        }
        let Some((host, others)) = lists.split_first() else {
            return Ok(());
        };
        self.set(name, Json::Array(wanted));
        if !host.entry.is(name) {
            self.edits.push((host.entry.key.span.clone(), name.to_owned()));
        }
        let changes = self.changes(host, host.dash)?;
        self.edits.extend(changes);
        let mut more = String::new();
        for list in others {
            more.push_str(&self.lines(list, host)?);
            self.edits.push((list.region.all(), String::new()));
        }
        if !more.is_empty() {
            self.append(host, more)?;
        }
        Ok(())
    }

    /// A path or a text that becomes a patch.
    fn wanted_item(&self, value: Json, items: Items) -> Json {
        match (&value, items) {
            (Json::String(text), Items::Patches) => {
                if (self.is_file)(text) {
                    json!({"path": text})
                } else {
                    json!({"patch": text})
                }
            }
            _ => value,
        }
    }

    fn list(&self, entry: &'a Entry, items: Items) -> Result<List<'a>, Refused> {
        let first = entry.node.items().first();
        let dash = match (first, entry.node.is_flow()) {
            (_, true) => None,
            (Some(item), false) => Some(
                self.file
                    .dash(item)
                    .ok_or_else(|| Refused::layout(item.place, entry.name()))?,
            ),
            (None, false) => {
                return Err(Refused::new(
                    entry.node.place,
                    format!("{}: expected a list", entry.name()),
                ));
            }
        };
        Ok(List {
            entry,
            region: self.region(entry)?,
            items,
            dash,
        })
    }

    /// The changes of the items of a list in their place.
    fn changes(&self, list: &List<'_>, dash: Option<usize>) -> Result<Vec<Change>, Refused> {
        let mut changes = Vec::new();
        for item in list.entry.node.items() {
            let Some(text) = item.text().filter(|_| list.items == Items::Patches) else {
                continue;
            };
            let key = if (self.is_file)(text) { "path: " } else { "patch: " };
            if dash.is_none() {
                let written = self.file.written(item);
                changes.push((item.span.clone(), format!("{{{key}{written}}}")));
                continue;
            }
            let start = self
                .file
                .start(item)
                .ok_or_else(|| Refused::layout(item.place, list.entry.name()))?;
            changes.push((start..start, key.to_owned()));
            let below = line_end(&self.file.text, start)..line_end(&self.file.text, item.span.end.saturating_sub(1));
            if below.start < below.end {
                changes.push((below.clone(), moved(&self.file.text, below, &[], 2)));
            }
        }
        Ok(changes)
    }

    /// The items of a list as lines for another one.
    fn lines(&self, list: &List<'_>, host: &List<'_>) -> Result<String, Refused> {
        let column = host.dash.unwrap_or_else(|| self.file.dashes());
        let Some(dash) = list.dash else {
            let line = |item: &Node| {
                let written = self.file.written(item);
                let written = match item.text().filter(|_| list.items == Items::Patches) {
                    Some(text) if (self.is_file)(text) => format!("path: {written}"),
                    Some(_) => format!("patch: {written}"),
                    None => written.to_owned(),
                };
                format!("{}- {written}{}", spaces(column), self.file.newline())
            };
            return Ok(list.entry.node.items().iter().map(|item| line(item)).collect());
        };
        let text = &self.file.text;
        let above = moved(
            text,
            list.region.head..list.region.key,
            &[],
            distance(list.entry.key.column(), column),
        );
        let start = line_end(text, list.entry.key.span.end);
        let changes = self.changes(list, list.dash)?;
        Ok(above + &moved(text, start..list.region.end, &changes, distance(dash, column)))
    }

    /// Adds lines at the end of a list.
    fn append(&mut self, host: &List<'_>, lines: String) -> Result<(), Refused> {
        if host.dash.is_some() {
            self.edits.push((host.region.end..host.region.end, lines));
            return Ok(());
        }
        // In brackets the items of the host become lines, too.
        let own = self.lines(host, host)?;
        let Range { start, end } = host.entry.node.span.clone();
        self.edits.retain(|(span, _)| span.start < start || span.end > end);
        let from = host.entry.key.span.end + 1;
        self.edits.push((
            from..end,
            format!(
                "{}{}",
                self.file.newline(),
                (own + &lines).trim_end_matches(['\r', '\n'])
            ),
        ));
        Ok(())
    }

    /// `commonLabels` as an item of `labels`.
    fn labels(&mut self) -> Result<(), Refused> {
        let Some(common) = self
            .entry("commonLabels")
            .filter(|entry| self.wants("commonLabels") && !entry.node.entries().is_empty())
        else {
            return Ok(());
        };
        let labels = self.entry("labels");
        let items = labels.into_iter().flat_map(|entry| entry.node.items());
        let known: Vec<&Node> = items.filter_map(|item| item.get("pairs")).collect();
        for entry in common.node.entries() {
            if known.iter().any(|pairs| pairs.entry(entry.name()).is_some()) {
                let message = format!("label name '{}' exists in both commonLabels and labels", entry.name());
                return Err(Refused::new(entry.key.place, message));
            }
        }
        let mut wanted = match self.take("labels") {
            Json::Array(items) => items,
            _ => Vec::new(),
        };
        wanted.push(json!({"includeSelectors": "true", "pairs": self.take("commonLabels")}));
        self.set("labels", Json::Array(wanted));
        let region = self.region(common)?;
        match labels {
            Some(labels) => {
                let host = self.list(labels, Items::AsTheyAre)?;
                let column = host.dash.unwrap_or_else(|| self.file.dashes());
                let above = moved(
                    &self.file.text,
                    region.head..region.key,
                    &[],
                    distance(common.key.column(), column),
                );
                let item = above + &self.label(common, &region, column);
                self.edits.push((region.all(), String::new()));
                self.append(&host, item)
            }
            None => {
                let item = self.label(common, &region, self.file.dashes());
                let newline = self.file.newline();
                let from = if common.node.is_flow() {
                    common.key.span.start..common.node.span.end
                } else {
                    common.key.span.start..region.end
                };
                // A comment behind the key stays there.
                let behind = self
                    .file
                    .text
                    .get(common.key.span.end + 1..line_end(&self.file.text, common.key.span.end));
                let behind = behind.filter(|_| !common.node.is_flow()).unwrap_or_default().trim_end();
                let item = if common.node.is_flow() {
                    item.trim_end_matches(['\r', '\n'])
                } else {
                    item.as_str()
                };
                self.edits.push((from, format!("labels:{behind}{newline}{item}")));
                Ok(())
            }
        }
    }

    fn label(&self, common: &Entry, region: &Region, column: usize) -> String {
        let (at, newline) = (spaces(column), self.file.newline());
        let head = format!("{at}- includeSelectors: true{newline}{at}  pairs:");
        if common.node.is_flow() {
            return format!("{head} {}{newline}", self.file.written(&common.node));
        }
        let start = line_end(&self.file.text, common.key.span.end);
        let delta = distance(common.node.column(), column + 4);
        format!(
            "{head}{newline}{}",
            moved(&self.file.text, start..region.end, &[], delta)
        )
    }

    /// `env` of generators as an item of `envs`.
    fn generators(&mut self, key: &str) -> Result<(), Refused> {
        let Some(generators) = self.entry(key).filter(|_| self.wants("env")) else {
            return Ok(());
        };
        for (n, item) in generators.node.items().iter().enumerate() {
            let Some(env) = item.entry("env").filter(|entry| !entry.node.is_null()) else {
                continue;
            };
            self.wanted_envs(key, n);
            let written = self.file.written(&env.node).to_owned();
            let whole = env.key.span.start..env.node.span.end;
            if let Some(envs) = item.entry("envs").filter(|entry| !entry.node.is_null()) {
                let (Some(last), false) = (envs.node.items().last(), item.is_flow()) else {
                    return Err(Refused::layout(envs.key.place, "envs"));
                };
                let gone = crate::removal::removal(&self.file.text, item, "env")
                    .ok_or_else(|| Refused::layout(env.key.place, "env"))?;
                self.edits.push((gone, String::new()));
                let at = last.span.end;
                let more = match self.file.dash(last).filter(|_| !envs.node.is_flow()) {
                    Some(dash) => format!("{}{}- {written}", self.file.newline(), spaces(dash)),
                    None => format!(", {written}"),
                };
                self.edits.push((at..at, more));
            } else if item.is_flow() {
                self.edits.push((whole, format!("envs: [{written}]")));
            } else {
                let column = spaces(env.key.column());
                self.edits
                    .push((whole, format!("envs:{}{column}- {written}", self.file.newline())));
            }
        }
        Ok(())
    }

    fn wanted_envs(&mut self, key: &str, n: usize) {
        let Some(Json::Object(item)) = self.wanted.get_mut(key).and_then(|list| list.get_mut(n)) else {
            return;
        };
        let env = item.remove("env").unwrap_or_default();
        let mut envs = match item.remove("envs") {
            Some(Json::Array(envs)) => envs,
            _ => Vec::new(),
        };
        envs.push(env);
        item.insert("envs".to_owned(), Json::Array(envs));
    }
}
