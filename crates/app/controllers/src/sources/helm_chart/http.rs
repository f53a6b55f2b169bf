//! A chart of a repository with an index.

use std::sync::Arc;

use url::Url;

use super::error::Error;
use super::made::{Made, authentication, changes, is_known};
use super::source::requester;
use crate::dereference;
use crate::sources::source::{SourceRequest, run_on_network};
use bumpwright_api::{Artifact, HelmChart, HelmRepository, Objects};
use bumpwright_chart::{BuildError, Located, Repository, Which, build_remote, not_pulled};
use bumpwright_connect::helm_repository::settings;
use bumpwright_gostd as gostd;
use bumpwright_helm::{Entry, Index};
use bumpwright_http::{Client, Deadline, RetryPolicy};

pub(super) async fn chart(
    request: &SourceRequest<'_, HelmChart>,
    repository: &HelmRepository,
    artifact: &Artifact,
) -> Result<Made, Error> {
    let objects = dereference::of(&request.sources.shared, repository).await;
    let objects = objects.map_err(|error| Error::AuthenticationFailed(error.to_string()))?;
    let remote = connected(repository, &objects)?;
    let spec = &request.object.spec;
    check_name(&spec.chart)?;
    let index = index(request, artifact).await?;
    let chosen = index
        .chosen(&spec.chart, &spec.version)
        .map_err(|why| BuildError::Reference(format!("failed to get chart version for remote reference: {why}")))?;
    if spec.verify.as_ref().is_some_and(|verify| !verify.provider.is_empty()) {
        return Err(BuildError::Verification("not implemented".to_owned()).into());
    }
    let changes = changes(request, "");
    let which = Which {
        name: spec.chart.clone(),
        version: changes.version(&chosen.version)?,
    };
    if is_known(request, &which) {
        return Ok(Made::known(request, which, !changes.are_none()));
    }
    let located = located(&remote, &spec.chart, chosen)?;
    drop(index);
    let (account, sizes) = (request.fetches().memory, request.sources.charts.sizes);
    run_on_network(move || {
        let mut held = account.nothing();
        let archive = remote.archive_within(&located, sizes.archive);
        let archive = archive.map_err(|error| authentication(not_pulled(&error)))?;
        held.grow(archive.len() as u64)
            .map_err(|error| BuildError::Pull(error.to_string()))?;
        let built = build_remote(archive.into_bytes(), &which, &changes, sizes, &mut held).map_err(authentication)?;
        Ok(Made::new(which, !changes.are_none(), built, held))
    })
    .await
}

async fn index(request: &SourceRequest<'_, HelmChart>, artifact: &Artifact) -> Result<Arc<Index>, Error> {
    let (sources, artifact, requester) = (Arc::clone(request.sources), artifact.clone(), requester(request));
    let budget = sources.shared.settings.fetches.of(&requester.namespace);
    run_on_network(move || {
        let charts = &sources.charts;
        let index = charts.indexes.get(&charts.trees, &artifact, &requester, &budget);
        index.map_err(Error::ReadOperationFailed)
    })
    .await
}

/// The repository of an object.
pub(super) fn connected(repository: &HelmRepository, objects: &Objects) -> Result<Repository, Error> {
    let address = &repository.spec.url;
    gostd::Url::parse(address.as_bytes()).map_err(|error| Error::UrlInvalid(error.to_string()))?;
    let reached = settings(repository, objects)?;
    let url = Url::parse(address).map_err(|error| Error::UrlInvalid(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Error::Client(format!("scheme {:?} not supported", url.scheme())));
    }
    Ok(Repository {
        url,
        authorization: reached.authorization,
        pass_credentials: repository.spec.pass_credentials,
        deadline: Deadline::after(reached.peer.timeout),
        client: Client::new(reached.peer, RetryPolicy::default()),
    })
}

/// Where the archive of an entry is.
pub(super) fn located(remote: &Repository, name: &str, entry: &Entry) -> Result<Located, BuildError> {
    let failed = |why: String| BuildError::Pull(format!("failed to download chart for remote reference: {why}"));
    let located = remote.located(entry).map_err(|error| failed(error.to_string()))?;
    located.ok_or_else(|| failed(format!("chart '{name}' has no downloadable URLs")))
}

/// Whether a name is one of a chart: lower case letters, digits and `-`, in parts that end with `/` or `.`.
pub(super) fn check_name(name: &str) -> Result<(), BuildError> {
    let refused = |why: String| Err(BuildError::Reference(why));
    if name.is_empty() {
        return refused("no name set for remote chart reference".to_owned());
    }
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let mut before = b'.';
    let fits = name.bytes().all(|byte| {
        let fits = match byte {
            b'/' => is_plain(before),
            b'.' => is_plain(before) || before == b'/',
            byte => is_plain(byte),
        };
        before = byte;
        fits
    });
    if fits {
        Ok(())
    } else {
        refused(format!(
            "invalid chart name '{name}': a valid name must be lower case letters and numbers and MAY be separated with dashes (-), \
             slashes (/) or periods (.)"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn names_are_those_that_flux_takes() {
        for (name, fits) in [
            ("web", true),
            ("org/web-2.x", true),
            ("a/.b", true),
            ("Web", false),
            ("/web", false),
            (".web", false),
            ("a//b", false),
            ("a..b", false),
            ("a_b", false),
            ("", false),
        ] {
            assert_eq!(check_name(name).is_ok(), fits, "{name}");
        }
    }
}
