//! The index of a chart repository.

use std::fs::File;
use std::io::{BufWriter, Read as _, Write as _};
use std::sync::Arc;

use url::Url;

use super::error::Error;
use super::text::Text;
use super::validators::Validators;
use crate::sources::source::{SourceRequest, run_on_network};
use crate::sources::spool::temporary_file;
use bumpwright_api::{Artifact, HelmRepository, Objects};
use bumpwright_artifact::Algorithm;
use bumpwright_budget::{Budget, BudgetedWriter, Share};
use bumpwright_connect::helm_repository::{ChartRepository, settings};
use bumpwright_gostd as gostd;
use bumpwright_helm::{IndexDocument, IndexScan, Scanned};
use bumpwright_http::{Client, Deadline, NetError, Request, RetryPolicy, Streamed, shown};

/// Bytes of an index that are read at once.
const PIECE: usize = 64 << 10;

/// What the server has.
pub(super) enum Fetched {
    /// What the artifact was made of.
    Unchanged,
    New(Box<FetchedIndex>),
}

pub(super) struct FetchedIndex {
    pub(super) document: IndexDocument,
    pub(super) text: Text,
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
    let validator = current
        .as_ref()
        .and_then(|current| sources.validators.of(&name, url.as_str(), &current.revision));
    let account = request.fetches();
    run_on_network(move || {
        let reached = settings(&repository, &objects)?;
        let most = sources.charts.sizes.index;
        let Some(answer) = asked(&url, reached, validator.as_ref(), most)? else {
            return Ok(Fetched::Unchanged);
        };
        let header = |name: &str| answer.header(name).map(str::to_owned);
        let headers = (header("etag"), header("last-modified"));
        let folder = &sources.shared.settings.storage;
        let file = || Ok::<_, Error>(BudgetedWriter::new(temporary_file(folder)?, &account.spool));
        let read = spooled(answer, file()?, file()?, &account, most)?;
        let validators = Validators::of(url.as_str(), &read.revision, headers);
        if current.is_some_and(|current| current.revision == read.revision) {
            sources.validators.put(&name, validators);
            return Ok(Fetched::Unchanged);
        }
        let (document, text) = checked(read.scan, read.text, &account.memory)?;
        Ok(Fetched::New(Box::new(FetchedIndex {
            document,
            text,
            revision: read.revision,
            validators,
        })))
    })
    .await
}

/// A file that takes disk space of a namespace.
type Spool = BudgetedWriter<File>;

/// An index that was read to its end.
struct ReadIndex {
    text: Spool,
    scan: IndexScan<BufWriter<Spool>>,
    revision: String,
}

/// Keeps an index in a file, and reads it as it arrives.
fn spooled(
    mut answer: Streamed,
    mut text: Spool,
    json: Spool,
    account: &Budget,
    most: u64,
) -> Result<ReadIndex, Error> {
    let json = BufWriter::with_capacity(PIECE, json);
    let mut scan = IndexScan::new(json, account.memory.nothing());
    let mut digest = Algorithm::Sha256.digester();
    let mut buffer = vec![0; PIECE];
    loop {
        let count = answer.read(&mut buffer).map_err(|error| {
            match error.get_ref().and_then(|error| error.downcast_ref::<NetError>()) {
                Some(error) => not_fetched(error, most),
                None => Error::Fetch(error.to_string()),
            }
        })?;
        let Some(piece) = buffer.get(..count).filter(|piece| !piece.is_empty()) else {
            break;
        };
        digest.update(piece);
        scan.push(piece);
        text.write_all(piece).map_err(|error| Error::Fetch(error.to_string()))?;
    }
    Ok(ReadIndex {
        text,
        scan,
        revision: digest.finish().to_string(),
    })
}

/// An index that is valid, and the text for it.
fn checked(scan: IndexScan<BufWriter<Spool>>, text: Spool, memory: &Share) -> Result<(IndexDocument, Text), Error> {
    let read = match scan.finish() {
        Ok(Scanned::Document(document, json)) => match json.into_inner() {
            Ok(json) => return Ok((document, Text::of(json))),
            Err(error) => Err(error.to_string()),
        },
        Ok(Scanned::Other(held)) => {
            let text = Text::of(text);
            let whole = text.whole(memory);
            let read = whole
                .map_err(|error| error.to_string())
                .and_then(|(whole, _held)| IndexDocument::read(&whole, held).map_err(|error| error.to_string()));
            read.map(|document| (document, text))
        }
        Err(error) => Err(error.to_string()),
    };
    read.map_err(Error::IndexationFailed)
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
fn asked(
    url: &Url,
    reached: ChartRepository,
    known: Option<&Validators>,
    most: u64,
) -> Result<Option<Streamed>, Error> {
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
    let answer = Client::new(reached.peer, RetryPolicy::default()).stream(&request, deadline);
    match answer.map_err(|error| not_fetched(&error, most))? {
        Ok(streamed) => Ok(Some(streamed)),
        Err(answer) if answer.status.as_u16() == 304 && known.is_some() => Ok(None),
        Err(answer) => Err(Error::Fetch(format!(
            "failed to fetch {} : {}",
            shown(url),
            answer.status
        ))),
    }
}

fn not_fetched(error: &NetError, most: u64) -> Error {
    match error {
        NetError::TooLarge { .. } => Error::Fetch(format!("index exceeds the maximum index file size of {most} bytes")),
        error => Error::Fetch(error.to_string()),
    }
}
