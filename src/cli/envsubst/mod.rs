//! `bumpwright envsubst`: the variables of the environment in a text, by the rules of `spec.postBuild` (K-097, KB-041).

pub mod args;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::process::ExitCode;

use crate::cli::console::{cannot_print, end, print};
use crate::cli::error::{Attempt as _, CliError};
use args::Envsubst;
use bumpwright_substitute::{EvalError, MAX_BYTES, eval};

#[must_use]
pub fn run(args: &Envsubst) -> ExitCode {
    end(substituted(args).and_then(|text| print(&text).map_err(cannot_print)))
}

fn substituted(args: &Envsubst) -> Result<Vec<u8>, CliError> {
    let shown = args
        .file
        .as_deref()
        .map_or("standard input".to_owned(), |file| file.display().to_string());
    let text = read(args).at(&shown)?;
    let variables: BTreeMap<String, Vec<u8>> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_vec())))
        .collect();
    let lookup = |name: &str| variables.get(name).map(Vec::as_slice);
    let evaluated = eval(&text, lookup, args.strict);
    evaluated.map_err(|error| match line_of(&text, lookup, args.strict, &error) {
        Some(line) => CliError::from(error).at(format_args!("{shown}:{line}")),
        None => CliError::from(error).at(shown),
    })
}

fn read(args: &Envsubst) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let most = MAX_BYTES as u64 + 1;
    match &args.file {
        Some(file) => std::fs::File::open(file)?.take(most).read_to_end(&mut text)?,
        None => std::io::stdin().lock().take(most).read_to_end(&mut text)?,
    };
    Ok(text)
}

/// The first line that has the error by itself; an expression may span lines, which then have none.
fn line_of<'v>(
    text: &'v [u8],
    lookup: impl Fn(&str) -> Option<&'v [u8]>,
    strict: bool,
    error: &EvalError,
) -> Option<usize> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let at = lines.position(|line| eval(line, &lookup, strict).is_err_and(|other| other == *error));
    at.map(|at| at + 1)
}
