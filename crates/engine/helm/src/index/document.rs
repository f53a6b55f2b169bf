//! An index as source-controller stores it: checked, its charts and versions in order, as JSON.
//!
//! The text is all that is in memory, besides a row for each entry: each is read when it is checked, and again when it is written.

use super::json::Writer;
use super::read::{Place, placed};
use crate::chart::{Dependency, Fields, Metadata, time};
use crate::yaml::{json_of, read};
use bumpwright_semver::Version;
use bumpwright_yaml::Node;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Go's zero time.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// The fields of an index, in Go's order.
const INDEX_FIELDS: [&str; 6] = [
    "serverInfo",
    "apiVersion",
    "generated",
    "entries",
    "publicKeys",
    "annotations",
];

/// The fields of an entry besides those of a chart.
const ENTRY_FIELDS: [&str; 8] = [
    "urls",
    "created",
    "removed",
    "digest",
    "checksum",
    "engine",
    "tillerVersion",
    "url",
];

/// The fields of a chart.
const CHART_FIELDS: [&str; 17] = [
    "name",
    "home",
    "sources",
    "version",
    "description",
    "keywords",
    "maintainers",
    "icon",
    "apiVersion",
    "condition",
    "tags",
    "appVersion",
    "deprecated",
    "annotations",
    "kubeVersion",
    "dependencies",
    "type",
];

/// An index that was checked, and the text that it is in.
#[derive(Debug)]
pub struct IndexDocument<'t> {
    text: &'t str,
    /// What is not an entry.
    head: Node,
    /// Whether there are entries at all.
    has_entries: bool,
    /// The valid ones, the newest first; none of a chart without a list.
    charts: BTreeMap<String, Option<Vec<(Version, Place)>>>,
}

impl<'t> IndexDocument<'t> {
    /// Checks an index, YAML or JSON: entries that are no valid charts are left out, unknown fields of YAML are an error.
    ///
    /// # Errors
    /// Helm's and Go's texts, or where the YAML is not valid.
    pub fn read(text: &'t str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("empty index.yaml file".to_owned());
        }
        let is_strict = serde_json::from_str::<serde::de::IgnoredAny>(text).is_err();
        let mut charts: BTreeMap<String, Vec<(Version, Place)>> = BTreeMap::new();
        let found = placed::<String>(text, &|_| true, &mut |name, _, place| {
            let entry = ChartVersion::read(&node(text, place)?, is_strict)?;
            if let Some(version) = entry.valid() {
                match charts.get_mut(name) {
                    Some(versions) => versions.push((version, place.clone())),
                    None => drop(charts.insert(name.to_owned(), vec![(version, place.clone())])),
                }
            }
            Ok(())
        })?;
        if let Some(fault) = found.fault {
            let doing = "error unmarshaling JSON: while decoding JSON";
            return Err(format!("{doing}: json: cannot unmarshal {fault}"));
        }
        let head = head(text, found.all.as_ref())?;
        check_head(&head, is_strict)?;
        if found.api_version.is_empty() {
            return Err("no API version specified".to_owned());
        }
        for versions in charts.values_mut() {
            versions.sort_by(|(a, _), (b, _)| b.cmp(a));
        }
        let names = found.charts.into_iter();
        let charts = names.map(|(name, has_list)| {
            let versions = has_list.then(|| charts.remove(&name).unwrap_or_default());
            (name, versions)
        });
        Ok(Self {
            text,
            head,
            has_entries: found.all.is_some(),
            charts: charts.collect(),
        })
    }

    /// Writes it as `json.MarshalIndent` does.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let head = Head::read(&self.head).map_err(io::Error::other)?;
        let mut json = Writer::new(out);
        json.open("{")?;
        if let Some(info) = &head.server_info {
            json.key("serverInfo")?;
            json.any(info)?;
        }
        json.key("apiVersion")?;
        json.text(&head.api_version)?;
        json.key("generated")?;
        json.text(&head.generated)?;
        json.key("entries")?;
        match self.has_entries {
            true => self.write_entries(&mut json)?,
            false => json.raw("null")?,
        }
        json.filled_texts("publicKeys", &head.public_keys)?;
        json.filled_pairs("annotations", &head.annotations)?;
        json.close("}")
    }

    fn write_entries(&self, json: &mut Writer<'_>) -> io::Result<()> {
        json.open("{")?;
        for (name, versions) in &self.charts {
            json.key(name)?;
            let Some(versions) = versions else {
                json.raw("null")?;
                continue;
            };
            json.open("[")?;
            for (_, place) in versions {
                let read = node(self.text, place).and_then(|node| ChartVersion::read(&node, false));
                let mut entry = read.map_err(io::Error::other)?;
                let _ = entry.metadata.validate();
                json.item()?;
                entry.write(json)?;
            }
            json.close("]")?;
        }
        json.close("}")
    }
}

/// The node at a place. What it refers to outside of it is not there.
fn node(text: &str, place: &Place) -> Result<Node, String> {
    let bytes = text.get(place.bytes.clone()).unwrap_or_default();
    let indent = " ".repeat(place.column);
    read([indent.as_bytes(), bytes.as_bytes()].concat().as_slice())
}

/// The index with no entries.
fn head(text: &str, entries: Option<&Place>) -> Result<Node, String> {
    let Some(Place { bytes, .. }) = entries else {
        return read(text.as_bytes());
    };
    let before = text.get(..bytes.start).unwrap_or_default();
    let after = text.get(bytes.end..).unwrap_or_default();
    let line = if after.starts_with([',', '}', ' ', '\n', '\r']) {
        "{}"
    } else {
        "{}\n"
    };
    read([before, line, after].concat().as_bytes())
}

fn check_head(head: &Node, is_strict: bool) -> Result<(), String> {
    if let Some(fields) = Fields::of(head, "repo.IndexFile")? {
        refuse_unknown(&fields, &[&INDEX_FIELDS], is_strict)?;
    }
    Head::read(head).map(drop)
}

fn refuse_unknown(fields: &Fields<'_>, known: &[&[&str]], is_strict: bool) -> Result<(), String> {
    match fields.unknown(&known.concat()).filter(|_| is_strict) {
        Some(name) => Err(format!(
            "error unmarshaling JSON: while decoding JSON: json: unknown field {name:?}"
        )),
        None => Ok(()),
    }
}

/// What an index has besides entries.
#[derive(Debug)]
struct Head {
    server_info: Option<serde_json::Value>,
    api_version: String,
    generated: String,
    public_keys: Vec<String>,
    annotations: Vec<(String, String)>,
}

impl Head {
    fn read(node: &Node) -> Result<Self, String> {
        let mut head = Self {
            server_info: None,
            api_version: String::new(),
            generated: NEVER.to_owned(),
            public_keys: Vec::new(),
            annotations: Vec::new(),
        };
        let Some(fields) = Fields::of(node, "repo.IndexFile")? else {
            return Ok(head);
        };
        let info = fields.get("serverInfo").map(json_of).transpose()?;
        head.server_info = info.filter(|info| info.as_object().is_none_or(|info| !info.is_empty()));
        fields.text("apiVersion", &mut head.api_version)?;
        head.generated = time(&fields, "generated")?;
        fields.texts("publicKeys", &mut head.public_keys)?;
        head.annotations = fields.pairs("annotations")?.unwrap_or_default();
        Ok(head)
    }
}

/// An entry whole.
#[derive(Debug, Default)]
struct ChartVersion {
    metadata: Metadata,
    urls: Option<Vec<String>>,
    created: String,
    removed: bool,
    /// `digest`, `checksum`, `engine`, `tillerVersion`, `url`.
    texts: [String; 5],
}

const TEXTS: [&str; 5] = ["digest", "checksum", "engine", "tillerVersion", "url"];

impl ChartVersion {
    fn read(node: &Node, is_strict: bool) -> Result<Self, String> {
        let mut entry = Self::default();
        let Some(fields) = Fields::of(node, "repo.ChartVersion")? else {
            return Err("an entry of the index is null".to_owned());
        };
        refuse_unknown(&fields, &[&CHART_FIELDS, &ENTRY_FIELDS], is_strict)?;
        entry.metadata.read(node)?;
        if entry.metadata.api_version.is_empty() {
            "v1".clone_into(&mut entry.metadata.api_version);
        }
        if fields.list("urls", "[]string")?.is_some() {
            let mut urls = Vec::new();
            fields.texts("urls", &mut urls)?;
            entry.urls = Some(urls);
        }
        entry.created = time(&fields, "created")?;
        fields.truth("removed", &mut entry.removed)?;
        for (name, text) in TEXTS.into_iter().zip(&mut entry.texts) {
            fields.text(name, text)?;
        }
        Ok(entry)
    }

    /// The version, if the chart is valid. One that names a dependency twice counts: some servers leave aliases out of indexes.
    fn valid(mut self) -> Option<Version> {
        match self.metadata.validate() {
            Err(error) if !error.starts_with("validation: more than one dependency with name or alias") => None,
            _ => Version::parse(&self.metadata.version).ok(),
        }
    }

    fn write(&self, json: &mut Writer<'_>) -> io::Result<()> {
        json.open("{")?;
        write_metadata(&self.metadata, json)?;
        json.key("urls")?;
        match &self.urls {
            Some(urls) => json.texts(urls)?,
            None => json.raw("null")?,
        }
        json.key("created")?;
        json.text(&self.created)?;
        json.truth("removed", self.removed)?;
        for (name, text) in TEXTS.into_iter().zip(&self.texts) {
            json.filled(name, text)?;
        }
        json.close("}")
    }
}

/// The fields of a chart.
pub(crate) fn write_metadata(chart: &Metadata, json: &mut Writer<'_>) -> io::Result<()> {
    json.filled("name", &chart.name)?;
    json.filled("home", &chart.home)?;
    json.filled_texts("sources", &chart.sources)?;
    json.filled("version", &chart.version)?;
    json.filled("description", &chart.description)?;
    json.filled_texts("keywords", &chart.keywords)?;
    if !chart.maintainers.is_empty() {
        json.key("maintainers")?;
        json.open("[")?;
        for maintainer in chart.maintainers.iter().flatten() {
            json.item()?;
            json.open("{")?;
            json.filled("name", &maintainer.name)?;
            json.filled("email", &maintainer.email)?;
            json.filled("url", &maintainer.url)?;
            json.close("}")?;
        }
        json.close("]")?;
    }
    json.filled("icon", &chart.icon)?;
    json.filled("apiVersion", &chart.api_version)?;
    json.filled("condition", &chart.condition)?;
    json.filled("tags", &chart.tags)?;
    json.filled("appVersion", &chart.app_version)?;
    json.truth("deprecated", chart.deprecated)?;
    json.filled_pairs("annotations", chart.annotations.as_deref().unwrap_or_default())?;
    json.filled("kubeVersion", &chart.kube_version)?;
    let dependencies = chart.dependencies.as_deref().unwrap_or_default();
    if !dependencies.is_empty() {
        json.key("dependencies")?;
        write_dependencies(dependencies, json)?;
    }
    json.filled("type", &chart.kind)
}

/// A list of dependencies.
pub(crate) fn write_dependencies(dependencies: &[Option<Dependency>], json: &mut Writer<'_>) -> io::Result<()> {
    json.open("[")?;
    for dependency in dependencies.iter().flatten() {
        json.item()?;
        json.open("{")?;
        json.key("name")?;
        json.text(&dependency.name)?;
        json.filled("version", &dependency.version)?;
        json.key("repository")?;
        json.text(&dependency.repository)?;
        json.filled("condition", &dependency.condition)?;
        json.filled_texts("tags", &dependency.tags)?;
        json.truth("enabled", dependency.enabled)?;
        if !dependency.import_values.is_empty() {
            json.key("import-values")?;
            json.any(&dependency.import_values.clone().into())?;
        }
        json.filled("alias", &dependency.alias)?;
        json.close("}")?;
    }
    json.close("]")
}

#[cfg(test)]
mod tests {
    use super::IndexDocument;

    fn written(text: &str) -> Result<String, String> {
        let mut out = Vec::new();
        IndexDocument::read(text)?.write(&mut out).unwrap();
        Ok(String::from_utf8(out).unwrap())
    }

    /// `tests/sources` compares the bytes with those of source-controller.
    #[test]
    fn an_index_is_written_in_order_and_without_invalid_charts() {
        let text = "\
apiVersion: v1
entries:
  web:
  - name: web
    version: 1.9.0
    appVersion: 1.10
    created: 2026-01-01T00:00:00.500+00:00
    urls: [web-1.9.0.tgz]
  - {name: web, version: 1.10.0, description: a <b>, urls: [], annotations: {z: 1, a: true}}
  - {name: web, version: none}
  db: []
generated: 2026-01-01T00:00:00Z
";
        let wanted = r#"{
  "apiVersion": "v1",
  "generated": "2026-01-01T00:00:00Z",
  "entries": {
    "db": [],
    "web": [
      {
        "name": "web",
        "version": "1.10.0",
        "description": "a \u003cb\u003e",
        "apiVersion": "v1",
        "annotations": {
          "a": "true",
          "z": "1"
        },
        "urls": [],
        "created": "0001-01-01T00:00:00Z"
      },
      {
        "name": "web",
        "version": "1.9.0",
        "apiVersion": "v1",
        "appVersion": "1.1",
        "urls": [
          "web-1.9.0.tgz"
        ],
        "created": "2026-01-01T00:00:00.5Z"
      }
    ]
  }
}"#;
        assert_eq!(written(text).unwrap(), wanted);
    }

    #[test]
    fn what_is_not_an_index_is_an_error() {
        for (text, wanted) in [
            ("", "empty index.yaml file"),
            ("entries: {}\n", "no API version specified"),
            (
                "<html></html>",
                "cannot unmarshal string into Go value of type repo.IndexFile",
            ),
            ("apiVersion: v1\nother: 1\n", "unknown field \"other\""),
            (
                "apiVersion: v1\nentries: {a: [{name: a, version: 1.0.0, more: 1}]}\n",
                "unknown field \"more\"",
            ),
            ("apiVersion: v1\ngenerated: today\n", "parsing time"),
        ] {
            let error = written(text).unwrap_err();
            assert!(error.contains(wanted), "{text}: {error}");
        }
        let lax = r#"{"apiVersion":"v1","more":1,"entries":{}}"#;
        assert!(written(lax).unwrap().ends_with("\"entries\": {}\n}"));
    }
}
