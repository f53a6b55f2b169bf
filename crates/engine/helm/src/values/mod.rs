//! Values: read, overridden, and coalesced over the charts.

mod bounds;
mod coalesce;
mod dependencies;
mod error;
mod import;
mod literal;
mod lookup;
mod overrides;
mod reads;
mod set;
mod weight;

pub(crate) use coalesce::coalesce_values;
pub(crate) use dependencies::{is_in_range, process_dependencies};
pub use error::ValuesError;
pub use overrides::{Override, Overrides, merge_values, set_value};
pub use reads::{UnreadValue, ValueReads};
pub use set::SetError;
pub(crate) use weight::Weight;

use crate::yaml::{self, YamlError};
use serde_json::{Map, Value as Json};

/// A table of values. Whole numbers of files are floats, as in Helm; those of `--set` are integers.
pub type Values = Map<String, Json>;

/// The values of a file: its documents, merged in their order.
///
/// # Errors
/// [`ValuesError::Document`]
pub fn read_values(text: &[u8]) -> Result<Values, ValuesError> {
    let mut values = Values::new();
    for document in documents(text) {
        merge_tables(&mut values, yaml::object(&document)?);
    }
    Ok(values)
}

/// The values of the first document of a file, which source-controller reads only.
pub fn read_table(text: &[u8]) -> Result<Values, YamlError> {
    yaml::object(text)
}

/// The documents of a stream, split at lines of `---` as client-go's reader does it: one that nothing precedes stays.
fn documents(text: &[u8]) -> Vec<Vec<u8>> {
    let mut documents = Vec::new();
    let mut current = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if let Some(rest) = line.strip_prefix(b"---") {
            let rest = rest.trim_ascii();
            if (rest.is_empty() || rest.starts_with(b"#")) && !current.is_empty() {
                documents.push(std::mem::take(&mut current));
                continue;
            }
        }
        current.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            current.push(b'\n');
        }
    }
    if !current.is_empty() {
        documents.push(current);
    }
    documents
}

/// Merges tables into each other; everything else of `from` replaces what is in `into`.
pub fn merge_tables(into: &mut Values, from: Values) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Json::Object(table)), Json::Object(inner)) => merge_tables(table, inner),
            (_, value) => drop(into.insert(key, value)),
        }
    }
}

/// Values of JSON, as Helm has them: every number is a float.
#[must_use]
pub fn numbers_as_floats(values: Values) -> Values {
    let floats = |(key, value)| (key, set::with_floats(value));
    values.into_iter().map(floats).collect()
}
