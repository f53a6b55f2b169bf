//! What templates see: `.Values`, `.Chart`, `.Release`, `.Capabilities`, `.Files`, `.Subcharts`, `.Template`.

use serde_json::Value as Json;

use super::Entry;
use super::capabilities::capabilities_value;
use super::files::files_value;
use super::serial::yaml_text;
use super::value::{table_of, value_of};
use crate::chart::{Chart, Dependency, Metadata};
use crate::release::{Capabilities, Release};
use crate::values::Values;
use bumpwright_template::{ANY, Args, DICT, Failure, Host, Map, Method, NamedType, STRING, Type, Value};

/// `common.Values`
static VALUES: NamedType = NamedType {
    name: "common.Values",
    underlying: &DICT,
    methods: &[
        Method::new("AsMap", &[], &DICT, |_, args| Ok(Value::Map(args.map(0)?.clone()))),
        Method::new("PathValue", &[&STRING], &ANY, path_value),
        Method::new("Table", &[&STRING], &VALUES_TYPE, |_, args| {
            let path = args.text(1)?.lossy();
            table(args.map(0)?, &path).map(|map| named_values(Value::Map(map)))
        }),
        Method::new("YAML", &[], &STRING, |host, args| {
            let map = Value::Map(args.map(0)?.clone());
            let text = yaml_text(host, &map)?;
            Ok(Value::text(format!("{text}\n")))
        }),
    ],
};

static VALUES_TYPE: Type = Type::Named(&VALUES);

/// The table at a path.
fn table(map: &Map, path: &str) -> Result<Map, Failure> {
    path.split('.')
        .try_fold(map.clone(), |map, key| match map.get(&Value::text(key)) {
            Some(value) if matches!(value.bare(), Value::Map(_)) => match value.bare() {
                Value::Map(inner) => Ok(inner.clone()),
                _ => Ok(map),
            },
            _ => Err(Failure::new(format!("{} is not a table", bumpwright_gostd::quote(key)))),
        })
}

/// What is at a path and no table.
fn path_value(_: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let path = args.text(1)?.lossy();
    if path.is_empty() {
        return Err(Failure::new("YAML path cannot be empty"));
    }
    let (above, key) = path.rsplit_once('.').unwrap_or(("", &path));
    let map = match above {
        "" => Some(args.map(0)?.clone()),
        above => table(args.map(0)?, above).ok(),
    };
    let value = map.and_then(|map| map.get(&Value::text(key)));
    let value = value.filter(|value| !matches!(value.bare(), Value::Map(_)));
    value.ok_or_else(|| Failure::new(format!("{} is not a value", bumpwright_gostd::quote(key))))
}

/// A map as `common.Values`.
pub(super) fn named_values(map: Value) -> Value {
    Value::named(&VALUES, map)
}

/// What all charts see alike.
struct Common {
    release: Value,
    capabilities: Value,
}

/// The templates of a chart and of its subcharts.
pub(crate) fn entries<'c>(
    chart: &'c Chart,
    values: &Values,
    release: &Release,
    capabilities: &Capabilities,
) -> Vec<Entry<'c>> {
    let common = Common {
        release: release_value(release),
        capabilities: capabilities_value(capabilities),
    };
    let mut entries = Vec::new();
    let path = chart.name().to_owned();
    add(chart, &path, true, table_of(values), &common, &mut entries);
    entries
}

/// Adds the templates of a chart, and returns the map that they see.
fn add<'c>(
    chart: &'c Chart,
    path: &str,
    is_root: bool,
    values: Value,
    common: &Common,
    entries: &mut Vec<Entry<'c>>,
) -> Value {
    let mut subcharts = Vec::new();
    for subchart in &chart.dependencies {
        let path = format!("{path}/charts/{}", subchart.name());
        let key = Value::text(subchart.name());
        let inner = match values.bare() {
            Value::Map(map) => map.get(&key).filter(|value| matches!(value, Value::Map(_))),
            _ => None,
        };
        let inner = inner.unwrap_or_else(|| Value::dict::<&str>([]));
        let dot = add(subchart, &path, false, inner, common, entries);
        subcharts.push((key, dot));
    }
    let dot = Map::new(
        &STRING,
        &bumpwright_template::ANY,
        [
            ("Capabilities".into(), common.capabilities.clone()),
            ("Chart".into(), chart_value(&chart.metadata, is_root)),
            ("Files".into(), files_value(&chart.files)),
            ("Release".into(), common.release.clone()),
            (
                "Subcharts".into(),
                Value::Map(Map::new(&STRING, &bumpwright_template::ANY, subcharts)),
            ),
            ("Values".into(), named_values(values)),
        ],
    );
    let is_library = chart.metadata.kind.eq_ignore_ascii_case("library");
    for file in &chart.templates {
        let name = file.name.rsplit('/').next().unwrap_or(&file.name);
        if is_library && !name.starts_with('_') {
            continue;
        }
        entries.push(Entry {
            path: format!("{path}/{}", file.name),
            file,
            base: format!("{path}/templates"),
            dot: dot.clone(),
        });
    }
    Value::Map(dot)
}

fn release_value(release: &Release) -> Value {
    let Release {
        name,
        namespace,
        is_upgrade,
    } = release;
    Value::dict([
        ("IsInstall", Value::Bool(!is_upgrade)),
        ("IsUpgrade", Value::Bool(*is_upgrade)),
        ("Name", Value::text(name.as_str())),
        ("Namespace", Value::text(namespace.as_str())),
        ("Revision", Value::int(1)),
        ("Service", Value::text("Helm")),
    ])
}

fn texts(items: &[String]) -> Value {
    Value::list(items.iter().map(|item| Value::text(item.as_str())).collect())
}

fn chart_value(metadata: &Metadata, is_root: bool) -> Value {
    let text = |text: &String| Value::text(text.as_str());
    let annotations = match &metadata.annotations {
        None => Map::nil(&STRING, &STRING),
        Some(pairs) => Map::new(
            &STRING,
            &STRING,
            pairs.iter().map(|(key, value)| (text(key), text(value))),
        ),
    };
    let maintainers = metadata.maintainers.iter().flatten().map(|maintainer| {
        Value::dict([
            ("Email", text(&maintainer.email)),
            ("Name", text(&maintainer.name)),
            ("URL", text(&maintainer.url)),
        ])
    });
    let dependencies = metadata.dependencies.iter().flatten().flatten().map(dependency_value);
    Value::dict([
        ("APIVersion", text(&metadata.api_version)),
        ("Annotations", Value::Map(annotations)),
        ("AppVersion", text(&metadata.app_version)),
        ("Condition", text(&metadata.condition)),
        ("Dependencies", Value::list(dependencies.collect())),
        ("Deprecated", Value::Bool(metadata.deprecated)),
        ("Description", text(&metadata.description)),
        ("Home", text(&metadata.home)),
        ("Icon", text(&metadata.icon)),
        ("IsRoot", Value::Bool(is_root)),
        ("Keywords", texts(&metadata.keywords)),
        ("KubeVersion", text(&metadata.kube_version)),
        ("Maintainers", Value::list(maintainers.collect())),
        ("Name", text(&metadata.name)),
        ("Sources", texts(&metadata.sources)),
        ("Tags", text(&metadata.tags)),
        ("Type", text(&metadata.kind)),
        ("Version", text(&metadata.version)),
    ])
}

fn dependency_value(dependency: &Dependency) -> Value {
    let text = |text: &String| Value::text(text.as_str());
    let imports = dependency.import_values.iter().map(|import| match import {
        Json::Object(pair) => {
            let pairs = pair
                .iter()
                .map(|(key, value)| (Value::text(key.as_str()), value_of(value)));
            Value::Map(Map::new(&STRING, &STRING, pairs))
        }
        other => value_of(other),
    });
    Value::dict([
        ("Alias", text(&dependency.alias)),
        ("Condition", text(&dependency.condition)),
        ("Enabled", Value::Bool(dependency.enabled)),
        ("ImportValues", Value::list(imports.collect())),
        ("Name", text(&dependency.name)),
        ("Repository", text(&dependency.repository)),
        ("Tags", texts(&dependency.tags)),
        ("Version", text(&dependency.version)),
    ])
}
