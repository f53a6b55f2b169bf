//! Values compared with the JSON Schemas of the charts.

mod texts;

use super::{chart::Chart, error::HelmError, values::Values};
use boon::{Compiler, Schemas, UrlLoader};
use serde_json::Value as Json;

/// The name of the schema in errors of the library.
const URL: &str = "file:///values.schema.json";

/// Compares values with the schemas of a chart and of its subcharts.
///
/// # Errors
/// Helm's, with what is wrong in each chart.
pub(crate) fn validate(chart: &Chart, values: &Values) -> Result<(), HelmError> {
    let mut faults = String::new();
    let mut values = Json::Object(values.clone());
    compare(chart, &mut values, &mut faults);
    match faults.is_empty() {
        true => Ok(()),
        false => Err(HelmError::Schema(faults)),
    }
}

fn compare(chart: &Chart, values: &mut Json, faults: &mut String) {
    if let Some(schema) = &chart.schema
        && let Err(fault) = compare_one(&schema.data, values)
    {
        faults.push_str(&format!("{}:\n{fault}", chart.name()));
    }
    for subchart in &chart.dependencies {
        match values.get_mut(subchart.name()) {
            None | Some(Json::Null) => {}
            Some(inner @ Json::Object(_)) => compare(subchart, inner, faults),
            Some(_) => faults.push_str(&format!(
                "{}:\ninvalid type for values: expected object (map)\n",
                subchart.name()
            )),
        }
    }
}

/// Refuses every schema that is elsewhere: nothing is fetched while a chart is rendered.
struct NoLoader;

impl UrlLoader for NoLoader {
    fn load(&self, url: &str) -> Result<Json, Box<dyn std::error::Error>> {
        if url.starts_with("urn:") {
            return Ok(Json::Bool(true));
        }
        Err(format!(
            "{url} is not fetched while a chart is rendered; put a copy into the schema, or skip schemas (--skip-schema-validation)"
        )
        .into())
    }
}

fn compare_one(schema: &[u8], values: &Json) -> Result<(), String> {
    let schema: Json = serde_json::from_slice(schema).map_err(|error| json_fault(schema, &error))?;
    let mut compiler = Compiler::new();
    compiler.use_loader(Box::new(NoLoader));
    compiler.add_resource(URL, schema).map_err(|error| error.to_string())?;
    let mut schemas = Schemas::new();
    let root = compiler
        .compile(URL, &mut schemas)
        .map_err(|error| texts::of_compiling(&error))?;
    schemas.validate(values, root).map_err(|error| {
        let mut text = texts::of(&error);
        if let Some((_, rest)) = text.split_once('\n') {
            text = rest.to_owned();
        }
        format!("{text}\n")
    })
}

/// Go's words for a text that is not JSON.
fn json_fault(text: &[u8], error: &serde_json::Error) -> String {
    if text.trim_ascii().is_empty() {
        return "EOF".to_owned();
    }
    match error.classify() {
        serde_json::error::Category::Eof => "unexpected EOF".to_owned(),
        _ => error.to_string(),
    }
}
