//! The templates of a chart and of its subcharts, executed.

mod capabilities;
mod context;
mod durations;
mod files;
mod functions;
mod glob;
mod pretty;
mod serial;
mod toml_error;
mod toml_read;
mod toml_write;
mod trace;
mod value;

use super::{
    chart::File,
    error::{HelmError, ReleaseError},
};
use bumpwright_sprig as sprig;
use bumpwright_template::{
    Error, Failure, Functions, Host, Limits, Map, ParsedText, Slot, Stage, Templates, Value, World,
};
pub(crate) use context::entries;
use std::{
    cell::RefCell,
    collections::HashMap,
    sync::{Arc, LazyLock},
};

/// The name of Helm's set of templates, which is in errors of `tpl`.
const SET: &str = "gotpl";

/// A template and what it is executed with.
pub(crate) struct Entry<'c> {
    pub(crate) path: String,
    pub(crate) file: &'c Arc<File>,
    /// The folder of the templates of its chart.
    pub(crate) base: String,
    /// The map that is its dot, shared by all templates of its chart.
    pub(crate) dot: Map,
}

/// Templates that have been parsed, for the next release of the same chart.
#[derive(Debug, Default)]
pub struct ParsedTemplates(RefCell<HashMap<String, (Arc<File>, ParsedText)>>);

impl ParsedTemplates {
    /// The template of an entry; an entry is known by its path and its file.
    fn get(&self, entry: &Entry<'_>) -> Result<ParsedText, HelmError> {
        if let Some((file, parsed)) = self.0.borrow().get(&entry.path)
            && Arc::ptr_eq(file, entry.file)
        {
            return Ok(parsed.clone());
        }
        let text = bumpwright_gostd::lossy(&entry.file.data);
        let parsed = ParsedText::parse(&entry.path, &text, &FUNCTIONS).map_err(|error| parse_error(&error))?;
        let value = (Arc::clone(entry.file), parsed.clone());
        self.0.borrow_mut().insert(entry.path.clone(), value);
        Ok(parsed)
    }
}

/// The results of all templates that are not partials, in the order of their execution.
pub(crate) fn render_templates(
    mut entries: Vec<Entry<'_>>,
    limits: Limits,
    world: &dyn World,
    parsed: &ParsedTemplates,
) -> Result<Vec<(String, String)>, HelmError> {
    // From the deepest folder to the highest, against the alphabet.
    entries.sort_by(|a, b| (depth(&b.path), &b.path).cmp(&(depth(&a.path), &a.path)));
    entries.dedup_by(|later, kept| later.path == kept.path && replace(later, kept));
    let mut set = Templates::new(SET, &FUNCTIONS);
    for entry in &entries {
        set.add_parsed(&parsed.get(entry)?);
    }
    let mut host = Host::new(limits, world).with_zero_for_missing_keys();
    let mut rendered = Vec::new();
    let is_partial = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with('_'));
    for entry in entries.iter().filter(|entry| !is_partial(&entry.path)) {
        let names = [("BasePath", &entry.base), ("Name", &entry.path)];
        let names = Value::dict(names.map(|(key, text)| (key, Value::text(text.as_str()))));
        entry.dot.insert("Template".into(), context::named_values(names));
        let dot = context::named_values(Value::Map(entry.dot.clone()));
        world.begin(&entry.path);
        let out = set.execute(&entry.path, &Slot::of(dot), &mut host);
        let out = out.map_err(|error| trace::exec_error(&error))?;
        host.produce(out.len()).map_err(|failure| limit(&failure))?;
        let text = bumpwright_gostd::lossy(&functions::without_no_value(out)).into_owned();
        rendered.push((entry.path.clone(), text));
    }
    Ok(rendered)
}

fn limit(failure: &Failure) -> HelmError {
    HelmError::Template {
        text: failure.text().to_owned(),
        limit: true,
    }
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
static FUNCTIONS: LazyLock<Functions> = LazyLock::new(|| {
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
});

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
/// Go's text, when the template does not parse or fails.
pub fn name_of_template(text: &str, world: &dyn World) -> Result<String, ReleaseError> {
    let tables: Vec<_> = sprig::TABLES.iter().chain(sprig::CHANCE).copied().collect();
    let template =
        bumpwright_template::Template::parse("name-template", text, &Functions::new(&tables)).map_err(Box::new)?;
    let mut host = Host::new(Limits::default(), world);
    let name = template.execute(&Slot::nothing(), &mut host).map_err(Box::new)?;
    Ok(bumpwright_gostd::lossy(&name).into_owned())
}
