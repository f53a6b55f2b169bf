//! Schemas that a chart's schema refers to: fetched over https, from the hosts that the user allows.

use std::sync::Arc;
use std::time::Duration;

use super::args::RemoteArgs;
use super::location::peer;
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
pub(super) fn fetch(chart: &mut Chart, hosts: &[String], remote: &RemoteArgs) -> Result<(), String> {
    if hosts.is_empty() {
        return Ok(());
    }
    let client = Client::new(peer(remote)?, RetryPolicy::default());
    let deadline = Deadline::after(PATIENCE);
    let mut known = Arc::new(SchemaDocuments::new());
    while let Some(url) = wanted(chart, &known, hosts) {
        if known.len() >= MOST {
            return Err(format!("schemas of the values refer to more than {MOST} others"));
        }
        let failed = |why: String| format!("failed to fetch the schema {url}: {why}");
        let document = fetched(&url, &client, deadline).map_err(failed)?;
        Arc::make_mut(&mut known).insert(url.to_string(), Arc::new(document));
    }
    chart.schemas_elsewhere = known;
    Ok(())
}

/// An error about values; says how to allow a schema that is elsewhere.
pub(super) fn explained(error: &HelmError, chart: &Chart) -> String {
    let missing = missing_schema(chart, &chart.schemas_elsewhere).and_then(|url| Url::parse(&url).ok());
    match missing.filter(|url| url.scheme() == "https").and_then(|url| host(&url)) {
        Some(host) => format!(
            "{}\nto fetch it from there: --schema-host {host}",
            error.to_string().trim_end()
        ),
        None => error.to_string(),
    }
}

/// The next schema that is at an allowed host.
fn wanted(chart: &Chart, known: &Arc<SchemaDocuments>, hosts: &[String]) -> Option<Url> {
    let url = Url::parse(&missing_schema(chart, known)?).ok()?;
    let is_allowed = url.scheme() == "https" && host(&url).is_some_and(|host| hosts.contains(&host));
    is_allowed.then_some(url)
}

/// A host as it is allowed: with its port where it has one.
fn host(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(
        url.port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")),
    )
}

fn fetched(url: &Url, client: &Client, deadline: Deadline) -> Result<Value, String> {
    let request = Request::get(url.clone()).limit(MAX_BYTES);
    let answer = client.send(&request, deadline).map_err(|error| error.to_string())?;
    if answer.status.is_success() {
        serde_json::from_slice(&answer.into_body()).map_err(|error| error.to_string())
    } else {
        Err(answer.status.to_string())
    }
}
