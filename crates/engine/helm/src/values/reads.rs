//! Which values templates may read, by a look at their text, to find those that none of them reads.
//!
//! In doubt a value is read: one that is passed on stands for all that is below it, and `.Values` as
//! a whole for everything.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::Values;
use crate::chart::Chart;
use bumpwright_text::Parts;

/// The values of the parent that subcharts see, too.
const GLOBAL: &str = "global";

/// What a template calls the values.
const VALUES: &str = "Values";

/// Functions whose texts behind the values are keys.
const BY_KEY: [&str; 3] = ["index", "get", "hasKey"];

/// The deepest values that are searched.
const DEPTH: usize = 64;

/// Bytes of the largest file that is searched; with a larger one everything counts as read.
const LARGEST: usize = 1 << 20;

type Path = Vec<String>;

/// The values that the templates of a chart and of its subcharts may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueReads {
    paths: BTreeSet<Path>,
    /// All of them may be.
    is_whole: bool,
}

/// A value that no template reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadValue {
    /// Its keys, from the outside.
    pub path: Vec<String>,
    /// The keys beside it that some template reads.
    pub beside: BTreeSet<String>,
}

/// How templates use what is at a path.
enum Use {
    Read,
    /// Only what is below.
    Below,
    None,
}

impl Chart {
    /// The values that its templates and those of its subcharts may read.
    #[must_use]
    pub fn value_reads(&self) -> ValueReads {
        let mut reads = ValueReads::default();
        reads.add_chart(self);
        reads
    }

    /// Those among values for it that no template reads, and that its own values do not have.
    #[must_use]
    pub fn unread_values(&self, reads: &ValueReads, values: &Values) -> Vec<UnreadValue> {
        let mut texts = ValueReads::default();
        values.values().for_each(|value| texts.add_texts(value, 0));
        let both;
        let reads = if texts == ValueReads::default() {
            reads
        } else {
            texts.is_whole |= reads.is_whole;
            texts.paths.extend(reads.paths.iter().cloned());
            both = texts;
            &both
        };
        let mut unread = Vec::new();
        if !reads.is_whole {
            reads.unread(self, values, &Path::new(), &mut unread);
        }
        unread
    }

    /// A subchart by the key of its values, if it is one: the chart itself may be missing.
    fn subchart(&self, key: &str) -> Option<Option<&Chart>> {
        let declared = self.metadata.dependencies.iter().flatten().flatten();
        let mut declared = declared.filter(|one| one.name == key || one.alias == key);
        let by_name = |name: &str| self.dependencies.iter().find(|chart| chart.name() == name);
        match (declared.next(), by_name(key)) {
            (_, Some(chart)) => Some(Some(chart)),
            (Some(one), None) => Some(by_name(&one.name)),
            (None, None) => None,
        }
    }
}

impl ValueReads {
    fn add_chart(&mut self, chart: &Chart) {
        for file in chart.templates.iter().chain(&chart.files) {
            if file.data.len() > LARGEST {
                self.is_whole = true
            } else {
                self.add_text(&String::from_utf8_lossy(&file.data))
            }
        }
        chart.values.values().for_each(|value| self.add_texts(value, 0));
        for one in chart.metadata.dependencies.iter().flatten().flatten() {
            // Values that a subchart gives to its parent have other names there.
            self.is_whole |= !one.import_values.is_empty();
            let conditions = one.condition.split(',').map(str::trim);
            self.paths
                .extend(conditions.map(|path| path.split('.').map(str::to_owned).collect()));
        }
        chart.dependencies.iter().for_each(|one| self.add_chart(one));
    }

    fn add_texts(&mut self, value: &Json, depth: usize) {
        match value {
            Json::String(text) if text.contains("{{") => self.add_text(text),
            _ if depth > DEPTH => self.is_whole = true,
            Json::Array(items) => items.iter().for_each(|item| self.add_texts(item, depth + 1)),
            Json::Object(fields) => fields.values().for_each(|value| self.add_texts(value, depth + 1)),
            _ => {}
        }
    }

    /// What a text reads: `.Values.a.b`, whatever is before it, also `index .Values "a" "b"`.
    fn add_text(&mut self, text: &str) {
        let text = without_comments(text);
        for (at, _) in text.match_indices(VALUES) {
            let (before, after) = text.split_at(at);
            let after = after.part(VALUES.len()..);
            if after.starts_with(is_in_name) {
                continue;
            }
            match before.chars().next_back() {
                Some('.') => {}
                // By its name, as in `get . "Values"`.
                Some('"' | '`') => {
                    self.is_whole = true;
                    continue;
                }
                _ => continue,
            }
            let (mut path, rest) = chain(after);
            let expression = before.trim_end_matches(|c: char| is_in_name(c) || matches!(c, '.' | '$'));
            let function = expression.trim_end_matches([' ', '(']);
            let is_by_key = BY_KEY.iter().any(|name| {
                let start = function.strip_suffix(name);
                start.is_some_and(|start| !start.ends_with(is_in_name))
            });
            if is_by_key && function.len() < expression.len() {
                path.extend(keys(rest));
            }
            self.is_whole |= path.is_empty();
            self.paths.insert(path);
        }
    }

    /// `at` is the path of the chart's values in those of the root.
    fn unread(&self, chart: &Chart, values: &Values, at: &Path, found: &mut Vec<UnreadValue>) {
        let scope = Scope { reads: self, chart, at };
        for (key, value) in values {
            let is_anchor =
                key.starts_with(['x', '_', '.']) && key.trim_start_matches('x').starts_with(['-', '_', '.']);
            if key == GLOBAL || is_anchor || (at.is_empty() && key == "tags") {
                continue;
            }
            match (chart.subchart(key), value) {
                (Some(Some(subchart)), Json::Object(values)) => {
                    let below = at.iter().chain([key]).cloned().collect();
                    self.unread(subchart, values, &below, found);
                }
                (Some(_), _) => {}
                (None, value) => scope.unread(vec![key.clone()], value, found),
            }
        }
    }

    fn usage(&self, path: &[String]) -> Use {
        let mut usage = Use::None;
        for read in &self.paths {
            match (path.starts_with(read), read.starts_with(path)) {
                (true, _) => return Use::Read,
                (false, true) => usage = Use::Below,
                (false, false) => {}
            }
        }
        usage
    }
}

/// The values of one chart.
struct Scope<'s> {
    reads: &'s ValueReads,
    chart: &'s Chart,
    /// Where they are in those of the root.
    at: &'s Path,
}

impl Scope<'_> {
    fn unread(&self, path: Path, value: &Json, found: &mut Vec<UnreadValue>) {
        // Templates of parents name the whole path, those of libraries and subcharts their own.
        let whole: Path = self.at.iter().chain(&path).cloned().collect();
        match (self.reads.usage(&path), self.reads.usage(&whole), value) {
            (Use::Read, ..) | (_, Use::Read, _) | (.., Json::Null) => {}
            (Use::None, Use::None, _) if self.is_known(&path) => {}
            (Use::None, Use::None, _) => found.push(UnreadValue {
                beside: self.beside(&path),
                path: whole,
            }),
            (.., Json::Object(fields)) if path.len() < DEPTH => {
                for (key, value) in fields {
                    let below = path.iter().chain([key]).cloned().collect();
                    self.unread(below, value, found);
                }
            }
            _ => {}
        }
    }

    /// Whether the chart has a value there of its own, or its schema the key.
    fn is_known(&self, path: &[String]) -> bool {
        let Some((first, rest)) = path.split_first() else {
            return true;
        };
        let own = rest
            .iter()
            .try_fold(self.chart.values.get(first), |value, key| Some(value?.get(key)));
        let in_schema = || {
            let quoted = path.last().map(|key| Json::from(key.as_str()).to_string());
            let schema = self
                .chart
                .schema
                .as_ref()
                .map(|file| String::from_utf8_lossy(&file.data));
            quoted.zip(schema).is_some_and(|(key, schema)| schema.contains(&key))
        };
        own.flatten().is_some() || in_schema()
    }

    fn beside(&self, path: &[String]) -> BTreeSet<String> {
        let above = path.len().saturating_sub(1);
        let is_beside = |read: &&Path| read.get(..above) == path.get(..above);
        let reads = self.reads.paths.iter().filter(is_beside);
        reads.filter_map(|read| read.get(above).cloned()).collect()
    }
}

fn is_in_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// The names of `.a.b`, and what is behind them.
fn chain(mut text: &str) -> (Path, &str) {
    let mut path = Path::new();
    while let Some(rest) = text.strip_prefix('.') {
        let end = rest.find(|c| !is_in_name(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if name.is_empty() {
            break;
        }
        path.push(name.to_owned());
        text = after;
    }
    (path, text)
}

/// The keys of `"a" "b"`.
fn keys(mut text: &str) -> Path {
    let mut path = Path::new();
    while let Some(rest) = text.trim_start_matches(' ').strip_prefix('"') {
        let Some((key, after)) = rest.split_once('"').filter(|(key, _)| !key.contains('\\')) else {
            break;
        };
        path.push(key.to_owned());
        text = after;
    }
    path
}

/// A text without the comments of templates.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/*") {
        out.push_str(before);
        let is_comment = before.trim_end().ends_with("{{") || before.trim_end().ends_with("{{-");
        match after.split_once("*/").filter(|_| is_comment) {
            Some((_, after)) => rest = after,
            None => {
                out.push_str("/*");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::chart::{Dependency, File};

    fn chart(name: &str, template: &str, values: Json) -> Chart {
        let mut chart = Chart::default();
        name.clone_into(&mut chart.metadata.name);
        chart.templates.push(Arc::new(File {
            name: "templates/a.yaml".to_owned(),
            data: template.as_bytes().to_vec(),
        }));
        if let Json::Object(values) = values {
            chart.values = values;
        }
        chart
    }

    fn unread(chart: &Chart, values: &Json) -> Vec<String> {
        let found = chart.unread_values(&chart.value_reads(), values.as_object().unwrap());
        found.iter().map(|one| one.path.join(".")).collect()
    }

    #[test]
    fn values_that_no_template_reads_are_found_and_no_others() {
        let values = json!({"image": {"tag": "1", "tga": "2"}, "other": {"a": 1}, "my-key": {"x": 1, "y": 2}, "global": {"z": 1}});
        for (template, expected) in [
            ("{{ .Values.image.tag }}", vec!["image.tga", "my-key", "other"]),
            ("{{ $.Values.image }}{{ .ctx.Values.other.a }}", vec!["my-key"]),
            (
                "{{ with .Values.image }}{{ .tag }}{{ end }}{{ index .Values \"my-key\" \"x\" }}",
                vec!["my-key.y", "other"],
            ),
            (
                "{{ (index $.Values.image \"tag\") }}{{ get .Values \"other\" }}",
                vec!["image.tga", "my-key"],
            ),
            (
                "{{ if eq .Values.mode `x` }}{{ .Values.other.b }}{{ end }}",
                vec!["image", "my-key", "other.a"],
            ),
            (
                "{{/* .Values */}}{{- /* .Values.image */ -}}",
                vec!["image", "my-key", "other"],
            ),
            ("{{ tpl (toYaml .Values) . }}", vec![]),
            ("{{ range $k, $v := .Values }}{{ end }}", vec![]),
            ("{{ with .Values }}{{ end }}", vec![]),
            ("{{ index .Values $name }}", vec![]),
            ("{{ get $ \"Values\" }}", vec![]),
            ("{{ include \"x\" (dict \"values\" .Values) }}", vec![]),
        ] {
            assert_eq!(
                unread(&chart("a", template, json!({})), &values),
                expected,
                "{template}"
            );
        }
        // A default of the chart, and what templates in values read.
        let own = chart("a", "{{ tpl .Values.image.tag . }}", json!({"other": {"a": 0}}));
        let values = json!({"image": {"tag": "{{ .Values.named }}"}, "named": 1, "other": {"a": 1, "b": 1}, "x-anchors": 1, "gone": null});
        assert_eq!(unread(&own, &values), ["other.b"; 0]);
        let values = json!({"image": {"tag": "1"}, "named": 1});
        assert_eq!(unread(&own, &values), ["named"]);
    }

    #[test]
    fn values_of_subcharts_are_those_that_they_read() {
        let mut parent = chart("a", "{{ .Values.db.host }}{{ include \"lib.name\" . }}", json!({}));
        let dependency = |name: &str, alias: &str, condition: &str| {
            Some(Dependency {
                name: name.to_owned(),
                alias: alias.to_owned(),
                condition: condition.to_owned(),
                ..Dependency::default()
            })
        };
        parent.metadata.dependencies = Some(vec![
            dependency("postgres", "db", "db.enabled"),
            dependency("lib", "", ""),
            dependency("missing", "", ""),
        ]);
        parent.dependencies = vec![
            chart("postgres", "{{ .Values.port }}", json!({})),
            chart(
                "lib",
                "{{ define \"lib.name\" }}{{ .Values.nameOverride }}{{ end }}",
                json!({}),
            ),
        ];
        let values = json!({
            "nameOverride": "x", "db": {"enabled": true, "host": "h", "port": 1, "prot": 2, "global": {}},
            "missing": {"a": 1}, "tags": {"x": true}, "postgres": {"port": 1},
        });
        let found = parent.unread_values(&parent.value_reads(), values.as_object().unwrap());
        let found: Vec<(String, bool)> = found
            .iter()
            .map(|one| (one.path.join("."), one.beside.contains("port")))
            .collect();
        assert_eq!(found, [("db.prot".to_owned(), true)]);
    }
}
