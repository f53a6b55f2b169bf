//! The templates of a chart and of its subcharts, executed.

mod capabilities;
mod context;
mod durations;
mod files;
mod functions;
mod glob;
mod pretty;
mod serial;
mod toml_read;
mod toml_write;
mod trace;

use super::{
    chart::{Chart, File},
    error::HelmError,
    release::{Capabilities, Release},
    values::Values,
};
use bumpwright_sprig as sprig;
use bumpwright_template::{Error, Functions, Host, Limits, Map, Slot, Stage, Templates, Value, World};

/// The name of Helm's set of templates, which is in errors of `tpl`.
const SET: &str = "gotpl";

/// A template and what it is executed with.
pub(crate) struct Entry<'c> {
    pub(crate) path: String,
    pub(crate) file: &'c File,
    /// The folder of the templates of its chart.
    pub(crate) base: String,
    /// The map that is its dot, shared by all templates of its chart.
    pub(crate) dot: Map,
}

/// The results of all templates that are no partials, in the order of their execution.
///
/// # Errors
/// Helm's, in its words.
pub(crate) fn render_templates(
    chart: &Chart,
    values: &Values,
    release: &Release,
    capabilities: &Capabilities,
    limits: Limits,
    world: &dyn World,
) -> Result<Vec<(String, String)>, HelmError> {
    let mut entries = context::entries(chart, values, release, capabilities);
    // From the deepest folder to the highest, against the alphabet.
    entries.sort_by(|a, b| (depth(&b.path), &b.path).cmp(&(depth(&a.path), &a.path)));
    entries.dedup_by(|later, kept| later.path == kept.path && replace(later, kept));
    let functions = functions();
    let mut set = Templates::new(SET, &functions);
    for entry in &entries {
        let text = bumpwright_gostd::lossy(&entry.file.data);
        set.add(&entry.path, &text).map_err(|error| parse_error(&error))?;
    }
    let mut host = Host::new(limits, world).with_zero_for_missing_keys();
    let mut rendered = Vec::new();
    let is_partial = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with('_'));
    for entry in entries.iter().filter(|entry| !is_partial(&entry.path)) {
        let names = [("BasePath", &entry.base), ("Name", &entry.path)];
        let names = Value::dict(names.map(|(key, text)| (key, Value::text(text.as_str()))));
        entry.dot.insert("Template".into(), context::named_values(names));
        let dot = context::named_values(Value::Map(entry.dot.clone()));
        let out = set.execute(&entry.path, &Slot::of(dot), &mut host);
        let out = out.map_err(|error| trace::exec_error(&error))?;
        let text = bumpwright_gostd::lossy(&out).replace("<no value>", "");
        rendered.push((entry.path.clone(), text));
    }
    Ok(rendered)
}

/// The last of several files with one path counts.
fn replace<'c>(later: &mut Entry<'c>, kept: &mut Entry<'c>) -> bool {
    std::mem::swap(later, kept);
    true
}

fn depth(path: &str) -> usize {
    path.matches('/').count()
}

/// The functions of charts: Sprig's without the environment, and Helm's own.
fn functions() -> Functions {
    let tables = sprig::TABLES.iter().chain(sprig::CHANCE).copied();
    let own = [
        functions::FUNCTIONS,
        serial::FUNCTIONS,
        durations::FUNCTIONS,
        toml_write::FUNCTIONS,
        toml_read::FUNCTIONS,
        pretty::FUNCTIONS,
    ];
    let tables: Vec<_> = tables.chain(own).collect();
    Functions::new(&tables)
}

fn parse_error(error: &Error) -> HelmError {
    let parts: Vec<&str> = error.text.split(": ").collect();
    let text = match parts[..] {
        [_, location, .., last] => format!("parse error at ({location}): {last}"),
        [_, last] => format!("parse error at ({last}): {last}"),
        _ => error.text.clone(),
    };
    let limit = error.stage == Stage::Limit;
    HelmError::Template { text, limit }
}

/// The name that a template of `--name-template` gives a release.
///
/// # Errors
/// Go's, when it is no template or fails.
pub fn name_of_template(text: &str, world: &dyn World) -> Result<String, HelmError> {
    let tables: Vec<_> = sprig::TABLES.iter().chain(sprig::CHANCE).copied().collect();
    let failed = |error: Error| HelmError::Release(error.text);
    let template =
        bumpwright_template::Template::parse("name-template", text, &Functions::new(&tables)).map_err(failed)?;
    let mut host = Host::new(Limits::default(), world);
    let name = template.execute(&Slot::nothing(), &mut host).map_err(failed)?;
    Ok(bumpwright_gostd::lossy(&name).into_owned())
}
