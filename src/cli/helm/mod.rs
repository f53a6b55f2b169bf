//! `bumpwright helm`: charts rendered in process, as Helm 4 renders them.

pub mod args;
mod location;
mod output;
mod schemas;
mod values;

use std::process::ExitCode;

use crate::cli::console::{cannot_print, end, print};
use crate::cli::error::CliError;
use crate::cli::images::now;
pub(in crate::cli) use args::RemoteArgs;
use args::{Command, Helm, OutputArgs, ReleaseArgs, Template};
use bumpwright_helm::{
    Capabilities, HelmError, ParsedTemplates, Release, Settings, generated_name, merge_values, name_of_template,
    render_sharing, shown_only,
};
use bumpwright_update::Machine;
pub(in crate::cli) use location::archive;

/// The name of a release that was given none, as in Helm.
const UNNAMED: &str = "release-name";

#[must_use]
pub fn run(args: &Helm) -> ExitCode {
    let Command::Template(args) = &args.command;
    end(template(args))
}

fn template(args: &Template) -> Result<(), CliError> {
    args.unsupported.check()?;
    let (name, chart) = name_and_chart(args)?;
    let more = args.release.api_versions.iter().map(String::as_str);
    let capabilities = Capabilities::of(&args.release.kube_version, more.filter(|version| !version.is_empty()));
    let capabilities = capabilities?;
    let overrides = values::overrides(&args.values)?;
    let values = merge_values(&overrides, &mut |name| {
        Ok(values::content(name).map_err(|error| error.to_string())?)
    })?;
    let mut chart = location::load(chart, &args.remote)?;
    if !args.values.skip_schema_validation {
        schemas::fetch(&mut chart, &args.values.schema_host, &args.remote)?;
    }
    chart.check_installable()?;
    let release = Release {
        name,
        namespace: args.release.namespace.clone(),
        is_upgrade: args.release.is_upgrade,
    };
    let settings = Settings {
        skip_schemas: args.values.skip_schema_validation,
        ..Settings::default()
    };
    let parsed = ParsedTemplates::default();
    let rendered = render_sharing(&chart, &values, &release, &capabilities, settings, &Machine, &parsed);
    let rendered = rendered.map_err(|error| match error {
        HelmError::Schema(_) => schemas::explained(error, &chart),
        _ => unprintable(error, &args.output),
    })?;
    let text = match &args.output.output_dir {
        Some(folder) => output::write(folder, &rendered, &release.name, &args.output)?,
        None => rendered.text(&output::selection(&args.output))?,
    };
    // The process ends: the trees of a large chart would take a sixth of its time to give back.
    std::mem::forget((parsed, chart, rendered));
    print(text.as_bytes()).map_err(cannot_print)
}

/// With --debug, prints what was rendered although it is not YAML; else says that there is a flag for it.
fn unprintable(error: HelmError, args: &OutputArgs) -> CliError {
    let partial = match &error {
        HelmError::Document { .. } if !args.debug => {
            return CliError::new(format!("{error}\n\nUse --debug flag to render out invalid YAML"));
        }
        HelmError::Document { partial, .. } => &**partial,
        HelmError::Template { .. } if args.debug => &[],
        _ => return error.into(),
    };
    let shown = partial.iter().filter(|(_, text)| !text.trim().is_empty());
    let shown: String = shown
        .map(|(path, text)| format!("---\n# Source: {path}\n{text}\n"))
        .collect();
    let shown = format!("{}\n", shown.trim());
    let selected = if args.show_only.is_empty() {
        Ok(shown)
    } else {
        shown_only(&shown, &args.show_only)
    };
    match selected.map(|text| print(text.as_bytes())) {
        Ok(Ok(())) => error.into(),
        Ok(Err(error)) => cannot_print(error),
        Err(missing) => missing.into(),
    }
}

/// The name of the release and the chart, as Helm tells them apart.
fn name_and_chart(args: &Template) -> Result<(String, &str), CliError> {
    let release = &args.release;
    match args.name_and_chart.as_slice() {
        [name, chart] => match (&release.name_template, release.generate_name) {
            (_, true) => Err(CliError::new("cannot set --generate-name and also specify a name")),
            (Some(_), _) => Err(CliError::new("cannot set --name-template and also specify a name")),
            (None, false) => Ok((name.clone(), chart)),
        },
        [chart] => Ok((own_name(chart, release)?, chart)),
        [_, _, more @ ..] => Err(CliError::new(format!(
            "expected at most two arguments, unexpected arguments: {}",
            more.join(", ")
        ))),
        [] => Err(CliError::new("a chart is required")),
    }
}

fn own_name(chart: &str, release: &ReleaseArgs) -> Result<String, CliError> {
    match &release.name_template {
        Some(template) => name_of_template(template, &Machine).map_err(CliError::from),
        None if release.generate_name => Ok(generated_name(chart, now().unix_seconds())),
        None => Ok(UNNAMED.to_owned()),
    }
}
