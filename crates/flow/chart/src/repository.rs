//! Charts of repositories: an `index.yaml` and the archives that it names (Helm 4.3, `pkg/repo`).

use super::arrival::{ArrivalError, Arrived, arrived};
use bumpwright_helm::{Entry, Index, MAX_CHART_BYTES, MAX_INDEX_BYTES};
use bumpwright_http::{Answer, Client, Deadline, HeldBody, Job, NetError, Request, Streamed};
use bumpwright_secret::Secret;
use bumpwright_source::Unresolved;
use sha2::{Digest as _, Sha256};
use url::Url;

/// A chart repository and the client for it.
#[derive(Debug)]
pub struct Repository {
    /// Where `index.yaml` is.
    pub url: Url,
    pub authorization: Option<Secret>,
    /// Whether hosts of archives get it that are not the repository's.
    pub pass_credentials: bool,
    pub client: Client,
    /// When the last byte must be there.
    pub deadline: Deadline,
}

/// Where the archive of a chart is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Its URL: `https`, `http` or `oci`.
    pub url: Url,
    /// The version of the chart.
    pub version: String,
    /// Its SHA-256 in hexadecimal digits; may be empty.
    pub digest: String,
}

/// Why a chart cannot be pulled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PullError {
    /// The repository gives no index, or no archive: it may another time.
    #[error("{0}")]
    Unreachable(String),
    /// The repository does not have the chart, or another one than its index says.
    #[error("{0}")]
    Missing(String),
    /// The archive has too many bytes.
    #[error("size of chart exceeds '{most}' bytes limit")]
    TooLarge {
        /// How many are allowed.
        most: u64,
    },
}

impl From<Unresolved> for PullError {
    fn from(error: Unresolved) -> Self {
        match error {
            Unresolved::Absent(error) => Self::Missing(error),
            Unresolved::Unknown(error) => Self::Unreachable(error),
        }
    }
}

/// An address in the index of a repository is not a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reference:?} in the index is not a URL: {problem}")]
pub struct NotAUrl {
    /// As it is written.
    pub reference: String,
    #[source]
    pub problem: url::ParseError,
}

/// Why a file of a repository was not read.
enum Fault {
    TooLarge,
    /// The server says that it is not there.
    Absent(String),
    Other(String),
}

impl From<NetError> for Fault {
    fn from(error: NetError) -> Self {
        match error {
            NetError::TooLarge { .. } => Self::TooLarge,
            error => Self::Other(error.to_string()),
        }
    }
}

impl From<ArrivalError> for Fault {
    fn from(error: ArrivalError) -> Self {
        let of_net = match &error {
            ArrivalError::Answer(error) => error.get_ref().and_then(|error| error.downcast_ref::<NetError>()),
            _ => None,
        };
        match of_net {
            Some(error) => error.clone().into(),
            None => Self::Other(error.to_string()),
        }
    }
}

impl Repository {
    /// The chart of a version, or of the newest one in a range.
    pub fn locate(&self, name: &str, version: &str) -> Result<Located, PullError> {
        let index = self.read_index(Some(name), MAX_INDEX_BYTES as u64)?;
        let described = match version {
            "" => format!("chart {name:?}"),
            version => format!("chart {name:?} version {version:?}"),
        };
        let entry = index.newest(name, version);
        let entry = entry.map_err(|error| PullError::Missing(error.to_string()))?;
        let missing = |what: String| PullError::Missing(format!("{described} {what}"));
        let entry = entry.ok_or_else(|| missing(format!("not found in {} repository", shown(&self.url))))?;
        let located = self.located(entry);
        let located = located.map_err(|error| PullError::Missing(error.to_string()))?;
        located.ok_or_else(|| missing("has no downloadable URLs".to_owned()))
    }

    /// The index.
    ///
    /// # Errors
    /// [`PullError::Unreachable`], and [`PullError::Missing`] where the server has none, in Helm's words.
    pub fn index(&self) -> Result<Index, PullError> {
        self.index_within(MAX_INDEX_BYTES as u64)
    }

    /// The same, of so many bytes at most, and on the account of the job while it is read. Of the locations of an
    /// archive it has the first one.
    pub fn index_within(&self, most: u64) -> Result<Index, PullError> {
        self.read_index(None, most)
    }

    /// The index, or what it has of one chart. It is read as it arrives, and whole only where it is not of the
    /// form that Helm writes.
    fn read_index(&self, chart: Option<&str>, most: u64) -> Result<Index, PullError> {
        let mut address = self.url.clone();
        address.set_path(&format!("{}/index.yaml", self.url.path().trim_end_matches('/')));
        let read = self.arrived(&address, chart, most);
        read.map_err(|fault| self.no_index(fault, most))
    }

    fn arrived(&self, address: &Url, chart: Option<&str>, most: u64) -> Result<Index, Fault> {
        match self.opened(address, most)? {
            Ok(stream) => match arrived(stream, chart)? {
                Arrived::Table(index) => Ok(index),
                Arrived::Text(text) => whole(&text.bytes),
                Arrived::Late => whole(&self.fetched(address, most)?),
            },
            Err(body) => whole(&body),
        }
    }

    /// Why the index cannot be had, in Helm's words.
    fn no_index(&self, fault: Fault, most: u64) -> PullError {
        let said = |error: String| {
            format!(
                "looks like {} is not a valid chart repository or cannot be reached: {error}",
                shown(&self.url)
            )
        };
        match fault {
            Fault::TooLarge => PullError::Unreachable(said(format!(
                "index exceeds the maximum index file size of {most} bytes"
            ))),
            Fault::Absent(error) => PullError::Missing(said(error)),
            Fault::Other(error) => PullError::Unreachable(said(error)),
        }
    }

    /// Where the archive of an entry of the index is; none without an URL.
    pub fn located(&self, entry: &Entry) -> Result<Option<Located>, NotAUrl> {
        let Some(reference) = entry.urls.first() else {
            return Ok(None);
        };
        Ok(Some(Located {
            url: self.resolved(reference)?,
            version: entry.version.to_string(),
            digest: entry.digest.to_string(),
        }))
    }

    /// The archive at an `https` or `http` URL that the index names, compared with its digest.
    pub fn archive(&self, located: &Located) -> Result<Vec<u8>, PullError> {
        self.archive_within(located, MAX_CHART_BYTES).map(HeldBody::into_bytes)
    }

    /// The same, of so many bytes at most, and on the account of the job.
    pub fn archive_within(&self, located: &Located, most: u64) -> Result<HeldBody, PullError> {
        let archive = self.fetched(&located.url, most).map_err(|fault| match fault {
            Fault::TooLarge => PullError::TooLarge { most },
            Fault::Absent(error) => PullError::Missing(error),
            Fault::Other(error) => PullError::Unreachable(error),
        })?;
        let wanted = located.digest.trim_start_matches("sha256:");
        let digest: String = Sha256::digest(&*archive)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        if wanted.is_empty() || wanted.eq_ignore_ascii_case(&digest) {
            Ok(archive)
        } else {
            Err(PullError::Missing(format!(
                "{} is not the archive that the index names: its SHA-256 is {digest}, the index has {wanted}",
                shown(&located.url)
            )))
        }
    }

    /// An URL of the index: relative ones are below the repository, and get its query.
    fn resolved(&self, reference: &str) -> Result<Url, NotAUrl> {
        if let Ok(url) = Url::parse(reference) {
            return Ok(url);
        }
        let mut base = self.url.clone();
        base.set_path(&format!("{}/", self.url.path().trim_end_matches('/')));
        let mut url = base.join(reference).map_err(|problem| NotAUrl {
            reference: reference.to_owned(),
            problem,
        })?;
        url.set_query(self.url.query());
        Ok(url)
    }

    fn fetched(&self, url: &Url, most: u64) -> Result<HeldBody, Fault> {
        let answer = self.client.send(&self.request(url, most), self.deadline)?;
        body(url, answer)
    }

    /// The body of an answer as it arrives; of one with another status than 200, whole.
    fn opened(&self, url: &Url, most: u64) -> Result<Result<Streamed, HeldBody>, Fault> {
        match self.client.stream(&self.request(url, most), self.deadline)? {
            Ok(stream) => Ok(Ok(stream)),
            Err(answer) => body(url, answer).map(Err),
        }
    }

    fn request(&self, url: &Url, most: u64) -> Request {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let mut request = Request::get(url.clone()).limit(most);
        let is_own = (url.scheme(), url.host_str(), url.port_or_known_default())
            == (self.url.scheme(), self.url.host_str(), self.url.port_or_known_default());
        if !is_own {
            // The index may lead anywhere, as a redirect may.
            request = request.redirected_from(self.url.clone());
        }
        match self.authorization.as_ref().filter(|_| is_own || self.pass_credentials) {
            Some(authorization) => request.authorization(authorization.clone()),
            None => request,
        }
    }
}

/// An index of any form.
fn whole(text: &[u8]) -> Result<Index, Fault> {
    let read = Index::read_on(text, Some(&mut Job::account().nothing()));
    read.map_err(|error| Fault::Other(error.to_string()))
}

/// The body of an answer that is a success.
fn body(url: &Url, answer: Answer) -> Result<HeldBody, Fault> {
    let said = || format!("failed to fetch {} : {}", shown(url), answer.status);
    match answer.status.as_u16() {
        200..=299 => Ok(answer.into_body()),
        404 | 410 => Err(Fault::Absent(said())),
        _ => Err(Fault::Other(said())),
    }
}

/// A URL without the login that may be in it.
fn shown(url: &Url) -> String {
    bumpwright_http::bare(url).to_string()
}
