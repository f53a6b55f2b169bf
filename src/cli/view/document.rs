//! Documents for programs: JSON, and YAML as Go writes it.

use serde::Serialize;
use serde_json::Value;

use crate::cli::error::{Attempt as _, CliError};
use crate::cli::words;
use bumpwright_yaml::{node_of_json, write_sigs};

/// The version of all documents. New fields may be added to one.
pub(in crate::cli) const VERSION: u32 = 1;

/// As JSON, safe for a terminal.
///
/// # Errors
/// A value that JSON does not have.
pub(in crate::cli) fn json(value: &impl Serialize) -> Result<String, CliError> {
    let text = serde_json::to_string_pretty(value).at("cannot write the document")?;
    Ok(format!("{}\n", words::json(&text)))
}

/// As YAML. Texts that are not safe for a terminal have escapes in JSON alone, and a document of JSON is
/// one of YAML too.
///
/// # Errors
/// A value that JSON does not have.
pub(in crate::cli) fn yaml(value: &impl Serialize) -> Result<String, CliError> {
    let tree: Value = serde_json::to_value(value).at("cannot write the document")?;
    let mut text = String::new();
    match write_sigs(&node_of_json(&tree), &mut text) {
        Ok(()) if words::printable(&text) == text => Ok(text),
        _ => json(&tree),
    }
}
