//! The chart that is meant by CHART: a folder, an archive, a registry, a repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::args::RemoteArgs;
use crate::cli::access::own_login;
use crate::cli::error::{Attempt as _, CliError};
use bumpwright_chart::{Located, OciChart, Pull, Repository, read_chart};
use bumpwright_helm::Chart;
use bumpwright_http::{Client, Deadline, Peer, RetryPolicy, Tls, basic_header};
use bumpwright_registry::{Details, LoginLocations, Registry, UserKeychain};
use bumpwright_secret::Secret;
use url::Url;

/// The time for a chart, from the first request to the last byte.
const PATIENCE: Duration = Duration::from_secs(300);

/// Loads a chart.
///
/// # Errors
/// Helm's, in its words where it has the same.
pub(super) fn load(chart: &str, remote: &RemoteArgs) -> Result<Chart, CliError> {
    let name = chart.trim();
    let path = Path::new(name);
    let deadline = Deadline::after(PATIENCE);
    if let Some(repository) = &remote.repo {
        return of_archive(&from_repository(repository, name, remote, deadline)?);
    }
    if path.exists() {
        return read_chart(path).map_err(CliError::from);
    }
    let quoted = bumpwright_gostd::quote(name);
    match name.split_once("://") {
        Some(("oci", _)) => of_archive(&from_registry(name, range(remote), remote, deadline)?),
        Some(("https" | "http", _)) => of_archive(&from_url(name, remote, deadline)?),
        Some((scheme, _)) => Err(CliError::new(format!(
            "{scheme}:// is not a scheme of charts: use oci://, https:// or --repo"
        ))),
        None if path.is_absolute() || name.starts_with('.') => Err(CliError::new(format!("path {quoted} not found"))),
        None if name.contains('/') => Err(CliError::new(format!(
            "path {quoted} not found. The list of repositories that `helm repo add` makes is not read: name the repository with --repo URL"
        ))),
        None => {
            Err(CliError::new(format!("path {quoted} not found")).hint("for the chart of a repository add --repo URL"))
        }
    }
}

/// The archive of a chart in a repository, `https`, `http` or `oci`.
pub(in crate::cli) fn archive(repository: &str, name: &str, remote: &RemoteArgs) -> Result<Vec<u8>, CliError> {
    let deadline = Deadline::after(PATIENCE);
    if repository.starts_with("oci://") {
        let url = format!("{}/{name}", repository.trim_end_matches('/'));
        from_registry(&url, range(remote), remote, deadline)
    } else {
        from_repository(repository, name, remote, deadline)
    }
}

fn of_archive(archive: &[u8]) -> Result<Chart, CliError> {
    Chart::from_archive(archive).map_err(CliError::from)
}

fn from_registry(url: &str, version: &str, remote: &RemoteArgs, deadline: Deadline) -> Result<Vec<u8>, CliError> {
    let chart = OciChart::parse(url)?;
    let keychain = UserKeychain::load(&LoginLocations::from_environment())?;
    let login = keychain.login(chart.repository())?;
    let from = Pull {
        registry: Arc::new(Registry::new(peer(remote)?, remote.plain_http).with_details(Details::LeftOut)),
        login,
        deadline,
    };
    Ok(chart.pull(version, from)?.archive)
}

/// The wanted version; with --devel a range that has prereleases too.
fn range(remote: &RemoteArgs) -> &str {
    if remote.version.is_empty() && remote.devel {
        ">0.0.0-0"
    } else {
        &remote.version
    }
}

fn from_repository(address: &str, name: &str, remote: &RemoteArgs, deadline: Deadline) -> Result<Vec<u8>, CliError> {
    let repository = repository(address, remote, deadline)?;
    let located = repository.locate(name, range(remote)).map_err(CliError::from)?;
    if located.url.scheme() != "oci" {
        return repository.archive(&located).map_err(CliError::from);
    }
    let url = located.url.as_str();
    let is_complete = url.rsplit('/').next().is_some_and(|last| last.contains([':', '@']));
    let version = if is_complete { "" } else { &located.version };
    from_registry(url, version, remote, deadline)
}

fn from_url(address: &str, remote: &RemoteArgs, deadline: Deadline) -> Result<Vec<u8>, CliError> {
    let repository = repository(address, remote, deadline)?;
    let located = Located {
        url: repository.url.clone(),
        version: String::new(),
        digest: String::new(),
    };
    repository.archive(&located).map_err(CliError::from)
}

fn repository(address: &str, remote: &RemoteArgs, deadline: Deadline) -> Result<Repository, CliError> {
    let url = Url::parse(address).at(format_args!("{address:?} is not a URL"))?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(CliError::new(format!(
            "{address:?}: a chart repository is at an https:// URL"
        )));
    }
    let given = authorization(remote)?;
    let is_given = given.is_some();
    Ok(Repository {
        authorization: given.or_else(|| own_login(&url)),
        url,
        // The user's login for a host is for no other one.
        pass_credentials: remote.pass_credentials && is_given,
        client: Client::new(peer(remote)?, RetryPolicy::default()),
        deadline,
    })
}

fn authorization(remote: &RemoteArgs) -> Result<Option<Secret>, CliError> {
    let (Some(name), Some(file)) = (&remote.username, &remote.password_file) else {
        return Ok(None);
    };
    let password = fs::read_to_string(file).at(file.display())?;
    let password = Secret::from(password.trim_end_matches(['\r', '\n']).to_owned());
    Ok(Some(basic_header(name, &password)))
}

/// Who is talked to: with the CA certificates that the user gives.
pub(super) fn peer(remote: &RemoteArgs) -> Result<Peer, CliError> {
    let read = |file: &PathBuf| fs::read(file).at(file.display());
    let ca = remote.ca_file.as_ref().map(read).transpose()?;
    Ok(Peer {
        tls: Tls { ca, ..Tls::default() },
        timeout: PATIENCE,
        ..Peer::default()
    })
}
