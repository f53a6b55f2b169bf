//! Schemas that a chart's schema refers to: fetched over https, from the hosts that the user allows.

use std::sync::Arc;
use std::time::Duration;

use super::args::RemoteArgs;
use super::location::peer;
use crate::cli::error::{Attempt as _, CliError};
use bumpwright_helm::{Chart, HelmError, SchemaDocuments, missing_schema};
use bumpwright_http::{Client, Deadline, Request, RetryPolicy};
use serde_json::Value;
use url::Url;

/// The time for all schemas of a chart.
const PATIENCE: Duration = Duration::from_secs(60);

/// Schemas that are fetched for a chart.
const MOST: usize = 64;

/// Bytes of each.
const MAX_BYTES: usize = 4 << 20;

/// Fetches what the schemas of a chart and of its subcharts refer to, as far as it is at these hosts.
///
/// # Errors
/// A schema cannot be fetched, or is not JSON.
pub(super) fn fetch(chart: &mut Chart, hosts: &[String], remote: &RemoteArgs) -> Result<(), CliError> {
    if hosts.is_empty() {
        return Ok(());
    }
    let client = Client::new(peer(remote)?, RetryPolicy::default());
    let deadline = Deadline::after(PATIENCE);
    let mut documents = Arc::new(SchemaDocuments::new());
    while let Some(missing) = Missing::of(chart, &documents).filter(|missing| hosts.contains(&missing.host)) {
        if documents.len() >= MOST {
            return Err(CliError::new(format!(
                "schemas of the values refer to more than {MOST} others"
            )));
        }
        let document = fetched(&missing.url, &client, deadline);
        let document = document.at(format_args!("failed to fetch the schema {}", missing.url))?;
        // As the schema has it: as a URL it may be another text.
        Arc::make_mut(&mut documents).insert(missing.address, Arc::new(document));
    }
    chart.schemas_elsewhere = documents;
    Ok(())
}

/// An error about values; says how to allow a schema that is elsewhere.
pub(super) fn explained(error: HelmError, chart: &Chart) -> CliError {
    match Missing::of(chart, &chart.schemas_elsewhere) {
        Some(missing) => CliError::new(format!(
            "{}\nto fetch it from there: --schema-host {}",
            error.to_string().trim_end(),
            missing.host
        )),
        None => error.into(),
    }
}

/// A schema at an https URL.
struct Missing {
    /// As the schema has it that refers to it.
    address: String,
    url: Url,
    /// With its port where it has one, as it is allowed.
    host: String,
}

impl Missing {
    /// The next one that is not known, if it is at such a URL.
    fn of(chart: &Chart, known: &Arc<SchemaDocuments>) -> Option<Self> {
        let address = missing_schema(chart, known)?;
        let url = Url::parse(&address).ok().filter(|url| url.scheme() == "https")?;
        let host = url.host_str()?;
        let host = url
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        Some(Self { address, url, host })
    }
}

fn fetched(url: &Url, client: &Client, deadline: Deadline) -> Result<Value, CliError> {
    let request = Request::get(url.clone()).limit(MAX_BYTES);
    let answer = client.send(&request, deadline)?;
    if answer.status.is_success() {
        serde_json::from_slice(&answer.into_body()).map_err(CliError::from)
    } else {
        Err(CliError::new(answer.status.to_string()))
    }
}
