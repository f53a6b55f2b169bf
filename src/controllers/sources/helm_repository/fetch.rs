//! The index of a chart repository.

use std::sync::Arc;

use url::Url;

use super::error::Error;
use super::validators::Validators;
use crate::controllers::sources::source::{SourceRequest, run_on_network};
use bumpwright_api::{Artifact, HelmRepository, Objects};
use bumpwright_artifact::Algorithm;
use bumpwright_connect::helm_repository::{ChartRepository, settings};
use bumpwright_gostd as gostd;
use bumpwright_helm::IndexDocument;
use bumpwright_http::{Answer, Client, Deadline, HeldBody, NetError, Request, RetryPolicy, shown};

/// What the server has.
pub(super) enum Fetched {
    /// What the artifact was made of.
    Unchanged,
    New(FetchedIndex),
}

/// A valid index.
pub(super) struct FetchedIndex {
    pub(super) text: HeldBody,
    /// Its digest.
    pub(super) revision: String,
    pub(super) validators: Validators,
}

/// Fetches the index, unless the artifact `current` was made of it.
pub(super) async fn index(
    request: &SourceRequest<'_, HelmRepository>,
    current: Option<Artifact>,
    objects: Objects,
) -> Result<Fetched, Error> {
    let repository = request.object.clone();
    let (sources, name) = (Arc::clone(request.sources), request.name().clone());
    let url = address(&repository.spec.url)?;
    let known = current
        .as_ref()
        .and_then(|current| sources.validators.of(&name, url.as_str(), &current.revision));
    run_on_network(move || {
        let reached = settings(&repository, &objects)?;
        let Some(answer) = asked(&url, reached, known.as_ref(), sources.charts.sizes.index)? else {
            return Ok(Fetched::Unchanged);
        };
        let revision = Algorithm::Sha256.digest(&answer.body).to_string();
        let validators = Validators::of(url.as_str(), &revision, &answer);
        if current.is_some_and(|current| current.revision == revision) {
            sources.validators.put(&name, validators);
            return Ok(Fetched::Unchanged);
        }
        let text = answer.into_body();
        let read = std::str::from_utf8(&text).map_err(|_| "the index is not UTF-8".to_owned());
        read.and_then(IndexDocument::read).map_err(Error::IndexationFailed)?;
        Ok(Fetched::New(FetchedIndex {
            text,
            revision,
            validators,
        }))
    })
    .await
}

/// Where the index of a repository is.
fn address(repository: &str) -> Result<Url, Error> {
    if repository.starts_with("oci://") {
        let why = "'oci' URL scheme cannot be used with 'default' HelmRepository type";
        return Err(Error::UrlInvalid(why.to_owned()));
    }
    gostd::Url::parse(repository.as_bytes()).map_err(|error| Error::UrlInvalid(error.to_string()))?;
    let mut url = Url::parse(repository).map_err(|error| Error::UrlInvalid(error.to_string()))?;
    let path = format!("{}/index.yaml", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Ok(url)
}

/// The index; none when the server says that it is the known one.
fn asked(url: &Url, reached: ChartRepository, known: Option<&Validators>, most: u64) -> Result<Option<Answer>, Error> {
    let deadline = Deadline::after(reached.peer.timeout);
    let mut request = Request::get(url.clone()).limit(usize::try_from(most).unwrap_or(usize::MAX));
    if let Some(authorization) = reached.authorization {
        request = request.authorization(authorization);
    }
    let (etag, modified) = known.map_or((None, None), |known| (known.etag.clone(), known.last_modified.clone()));
    if let Some(etag) = etag {
        request = request.header("if-none-match", etag);
    }
    if let Some(modified) = modified {
        request = request.header("if-modified-since", modified);
    }
    let answer = Client::new(reached.peer, RetryPolicy::default()).send(&request, deadline);
    let answer = answer.map_err(|error| match error {
        NetError::TooLarge { .. } => Error::Fetch(format!("index exceeds the maximum index file size of {most} bytes")),
        error => Error::Fetch(error.to_string()),
    })?;
    match answer.status.as_u16() {
        200 => Ok(Some(answer)),
        304 if known.is_some() => Ok(None),
        _ => Err(Error::Fetch(format!(
            "failed to fetch {} : {}",
            shown(url),
            answer.status
        ))),
    }
}
