//! An entry of an index whole: out of YAML, and as JSON.

use super::IndexError;
use super::block::{self, Map, Scalar, Value};
use super::document::refuse_unknown;
use super::json::Writer;
use crate::chart::{Dependency, Fields, Maintainer, Metadata, MetadataError, spelled_time, time};
use bumpwright_semver::Version;
use bumpwright_yaml::{Dialect, Node, Tag, plain_tag};
use std::io;

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

#[derive(Debug, Default)]
pub(super) struct ChartVersion {
    metadata: Metadata,
    urls: Option<Vec<String>>,
    created: String,
    removed: bool,
    /// `digest`, `checksum`, `engine`, `tillerVersion`, `url`.
    texts: [String; 5],
}

const TEXTS: [&str; 5] = ["digest", "checksum", "engine", "tillerVersion", "url"];

impl ChartVersion {
    pub(super) fn read(node: &Node, is_strict: bool) -> Result<Self, IndexError> {
        let mut entry = Self::default();
        let Some(fields) = Fields::of(node, "repo.ChartVersion")? else {
            return Err(IndexError::NullEntry);
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

    /// The entry in a text of the form that Helm writes; none of another form, or with a field of another type.
    pub(super) fn of_block(text: &str, column: usize) -> Option<Self> {
        let mut entry = Self {
            created: spelled_time("").ok()?,
            ..Self::default()
        };
        for (key, value) in block::mapping(text, column)? {
            entry.set(key, value)?;
        }
        if entry.metadata.api_version.is_empty() {
            "v1".clone_into(&mut entry.metadata.api_version);
        }
        Some(entry)
    }

    fn set(&mut self, key: &str, value: Value<'_>) -> Option<()> {
        let chart = &mut self.metadata;
        let [digest, checksum, engine, tiller, url] = &mut self.texts;
        let field = match key {
            "name" => &mut chart.name,
            "home" => &mut chart.home,
            "version" => &mut chart.version,
            "description" => &mut chart.description,
            "icon" => &mut chart.icon,
            "apiVersion" => &mut chart.api_version,
            "condition" => &mut chart.condition,
            "tags" => &mut chart.tags,
            "appVersion" => &mut chart.app_version,
            "kubeVersion" => &mut chart.kube_version,
            "type" => &mut chart.kind,
            "digest" => digest,
            "checksum" => checksum,
            "engine" => engine,
            "tillerVersion" => tiller,
            "url" => url,
            _ => return self.set_other(key, value),
        };
        *field = text(value)?;
        Some(())
    }

    fn set_other(&mut self, key: &str, value: Value<'_>) -> Option<()> {
        let chart = &mut self.metadata;
        match key {
            "urls" => self.urls = Some(texts(value)?),
            "created" => self.created = spelled_time(&moment(value)?).ok()?,
            "removed" => self.removed = truth(value)?,
            "deprecated" => chart.deprecated = truth(value)?,
            "sources" => chart.sources = texts(value)?,
            "keywords" => chart.keywords = texts(value)?,
            "annotations" => chart.annotations = Some(pairs(value)?),
            "maintainers" => chart.maintainers = each(value, |map| maintainer(map).map(Some))?,
            "dependencies" => chart.dependencies = Some(each(value, |map| dependency(map).map(Some))?),
            _ => return None,
        }
        Some(())
    }

    /// The version, if the chart is valid; its texts are cleaned. One that names a dependency twice counts: some
    /// servers leave aliases out of indexes.
    pub(super) fn valid(&mut self) -> Option<Version> {
        match self.metadata.validate() {
            Ok(()) | Err(MetadataError::DuplicateDependency(_)) => Version::parse(&self.metadata.version).ok(),
            Err(_) => None,
        }
    }

    pub(super) fn write(&self, json: &mut Writer<'_>) -> io::Result<()> {
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

/// A text of which no type of YAML makes another one.
fn text(value: Value<'_>) -> Option<String> {
    match value {
        Value::Scalar(Scalar { text, is_plain }) if !is_plain || plain_tag(&text, Dialect::V2) == Tag::Str => {
            Some(text.into_owned())
        }
        _ => None,
    }
}

/// A time with or without quotes.
fn moment(value: Value<'_>) -> Option<String> {
    match value {
        Value::Scalar(Scalar { text, is_plain: true }) if plain_tag(&text, Dialect::V2) == Tag::Timestamp => {
            Some(text.into_owned())
        }
        value => text(value),
    }
}

fn truth(value: Value<'_>) -> Option<bool> {
    match value {
        Value::Scalar(Scalar { text, is_plain: true }) => match &*text {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn texts(value: Value<'_>) -> Option<Vec<String>> {
    match value {
        Value::List(items) => items.into_iter().map(text).collect(),
        _ => None,
    }
}

fn pairs(value: Value<'_>) -> Option<Vec<(String, String)>> {
    match value {
        Value::Map(map) => map
            .into_iter()
            .map(|(key, value)| Some((key.to_owned(), text(value)?)))
            .collect(),
        _ => None,
    }
}

/// The items of a list of mappings.
fn each<'t, T>(value: Value<'t>, read: impl Fn(Map<'t>) -> Option<T>) -> Option<Vec<T>> {
    let item = |value| match value {
        Value::Map(map) => read(map),
        _ => None,
    };
    match value {
        Value::List(items) => items.into_iter().map(item).collect(),
        _ => None,
    }
}

fn maintainer(map: Map<'_>) -> Option<Maintainer> {
    let mut maintainer = Maintainer::default();
    for (key, value) in map {
        match key {
            "name" => maintainer.name = text(value)?,
            "email" => maintainer.email = text(value)?,
            "url" => maintainer.url = text(value)?,
            _ => return None,
        }
    }
    Some(maintainer)
}

fn dependency(map: Map<'_>) -> Option<Dependency> {
    let mut dependency = Dependency::default();
    for (key, value) in map {
        match key {
            "name" => dependency.name = text(value)?,
            "version" => dependency.version = text(value)?,
            "repository" => dependency.repository = text(value)?,
            "condition" => dependency.condition = text(value)?,
            "alias" => dependency.alias = text(value)?,
            "tags" => dependency.tags = texts(value)?,
            "enabled" => dependency.enabled = truth(value)?,
            _ => return None,
        }
    }
    Some(dependency)
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
    if let Some(annotations) = &chart.annotations {
        json.filled_pairs("annotations", annotations)?;
    }
    json.filled("kubeVersion", &chart.kube_version)?;
    if let Some(dependencies) = chart.dependencies.as_deref().filter(|list| !list.is_empty()) {
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
