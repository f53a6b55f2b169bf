//! The values that a user gives: files and flags.

use std::io::Read as _;
use std::path::Path;

use super::args::ValueArgs;
use crate::cli::error::CliError;
use bumpwright_chart::go_error;
use bumpwright_helm::{MAX_CHART_BYTES, Override, Overrides};

/// Reads the files; flags are kept as they are.
///
/// # Errors
/// A file cannot be read: in Helm's words.
pub(super) fn overrides(args: &ValueArgs) -> Result<Overrides, CliError> {
    let files = args.values.iter().map(|name| Ok((name.clone(), bytes(name)?)));
    let of = |make: fn(String) -> Override, texts: &[String]| texts.iter().cloned().map(make).collect::<Vec<_>>();
    let arguments = [
        of(Override::Json, &args.set_json),
        of(Override::Typed, &args.set),
        of(Override::Text, &args.set_string),
        of(Override::File, &args.set_file),
        of(Override::Literal, &args.set_literal),
    ];
    Ok(Overrides {
        files: files.collect::<Result<_, CliError>>()?,
        arguments: arguments.concat(),
    })
}

/// The content of a file that `--set-file` names.
///
/// # Errors
/// It cannot be read: in Helm's words.
pub(super) fn content(name: &str) -> Result<String, CliError> {
    bytes(name).map(|bytes| bumpwright_gostd::lossy(&bytes).into_owned())
}

fn bytes(name: &str) -> Result<Vec<u8>, CliError> {
    if let Some((scheme, _)) = name.split_once("://") {
        return Err(CliError::new(format!(
            "{name}: files are not fetched by {scheme}: download it before"
        )));
    }
    let path = Path::new(name);
    let mut bytes = Vec::new();
    let most = MAX_CHART_BYTES + 1;
    let read = match name {
        "-" => std::io::stdin().lock().take(most).read_to_end(&mut bytes),
        _ => {
            let file = std::fs::File::open(path).map_err(|error| go_error("open", path, &error))?;
            file.take(most).read_to_end(&mut bytes)
        }
    };
    read.map_err(|error| go_error("read", path, &error))?;
    if bytes.len() as u64 == most {
        Err(CliError::new(format!("{name}: larger than {MAX_CHART_BYTES} bytes")))
    } else {
        Ok(bytes)
    }
}
