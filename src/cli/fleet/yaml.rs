//! `--output yaml`: the objects as they would be applied.

use std::fmt::Write as _;

use crate::cli::error::CliError;
use bumpwright_fleet::{Fleet, Node};
use bumpwright_yaml::{node_of_json, write_sigs};

/// The objects of all Kustomizations, each headed by its name.
///
/// # Errors
/// An object has no form as YAML.
pub(super) fn render(fleets: &[Fleet], is_wanted: &dyn Fn(&Node) -> bool) -> Result<String, CliError> {
    let mut out = String::new();
    for fleet in fleets {
        for node in fleet.nodes.iter().filter(|node| is_wanted(node)) {
            for (n, object) in node.objects().iter().enumerate() {
                out.push_str("---\n");
                if n == 0 {
                    let _ = writeln!(out, "# {}", node.title());
                }
                write_sigs(&node_of_json(&object.value), &mut out).map_err(|error| error.go().to_owned())?;
            }
        }
    }
    Ok(out)
}
