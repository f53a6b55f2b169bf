//! Chart repositories with an index: how they are reached, by their HelmRepository and the Secrets of the fleet, and
//! their indexes.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bumpwright_api::{HelmRepository, HelmRepositorySpec, LocalRef, Metadata, ObjectName};
use bumpwright_chart::{PullError, Repository};
use bumpwright_connect::helm_repository::settings;
use bumpwright_fleet::{ChartError, SourceObject};
use bumpwright_helm::Index;
use bumpwright_http::{Client, Deadline, Peer, RetryPolicy};
use bumpwright_json::Texts;
use bumpwright_secret::Secret;
use parking_lot::Mutex;
use serde_json::Value;
use url::Url;

use super::network::manifests;
use crate::cli::access::own_login;
use crate::cli::error::Attempt as _;

/// An index that was fetched, or is being fetched.
type Shared = Arc<OnceLock<Result<Arc<Index>, PullError>>>;

/// The indexes of a run, each fetched once: real ones have 30 MB, and a fleet has many charts of one repository.
#[derive(Default)]
pub(super) struct Indexes(Mutex<Vec<(Reached, Shared)>>);

impl Indexes {
    /// The index of a repository; of those that are reached alike, the same.
    ///
    /// # Errors
    /// [`Repository::index`]
    pub(super) fn of(&self, reached: &Reached) -> Result<Arc<Index>, PullError> {
        self.slot(reached)
            .get_or_init(|| reached.repository().index().map(Arc::new))
            .clone()
    }

    fn slot(&self, reached: &Reached) -> Shared {
        let mut all = self.0.lock();
        let known = all.iter().find(|(other, _)| other == reached);
        if let Some((_, slot)) = known {
            return Arc::clone(slot);
        }
        let slot = Shared::default();
        all.push((reached.clone(), Arc::clone(&slot)));
        slot
    }
}

/// How a repository is reached: its address, login, trust and time limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    url: Url,
    authorization: Option<Secret>,
    /// Whether other hosts that the index names get the login too.
    pass_credentials: bool,
    peer: Peer,
}

impl Reached {
    /// As source-controller reaches it, within `limit`. `objects` are those of its namespace; without a login among
    /// them it is the user's, which no other host gets.
    ///
    /// # Errors
    /// What Flux refuses: the address, or a Secret.
    pub(super) fn of(source: &SourceObject, objects: &[Value], limit: Duration) -> Result<Self, ChartError> {
        let object = source.object.as_ref().unwrap_or(&Value::Null);
        let url = address(object.text_at("/spec/url"))?;
        let refused = |why: String| ChartError::Broken(format!("{}: {why}", source.shown()));
        let spec: HelmRepositorySpec = serde_json::from_value(object.value_at("/spec").clone())
            .map_err(|error| refused(format!("spec is invalid: {error}")))?;
        let mut repository = HelmRepository {
            metadata: Metadata {
                name: source.name.name.clone(),
                namespace: Some(source.name.namespace.clone()),
                ..Metadata::default()
            },
            spec,
        };
        let objects = manifests(objects);
        let namespace = repository.metadata.namespace_or_default().to_owned();
        let is_here = |reference: &LocalRef| objects.secret(&ObjectName::new(&namespace, &reference.name)).is_some();
        let spec = &mut repository.spec;
        spec.secret_ref = spec.secret_ref.take().filter(is_here);
        spec.cert_secret_ref = spec.cert_secret_ref.take().filter(is_here);
        let timeout = spec.timeout.map_or(limit, |timeout| timeout.as_std().min(limit));
        let pass_credentials = spec.pass_credentials;
        let given = settings(&repository, &objects).map_err(|error| refused(error.to_string()))?;
        let is_given = given.authorization.is_some();
        Ok(Self {
            authorization: given.authorization.or_else(|| own_login(&url)),
            url,
            pass_credentials: pass_credentials && is_given,
            peer: Peer { timeout, ..given.peer },
        })
    }

    /// The repository, from now on within its time limit.
    pub(super) fn repository(&self) -> Repository {
        Repository {
            url: self.url.clone(),
            authorization: self.authorization.clone(),
            pass_credentials: self.pass_credentials,
            client: Client::new(
                self.peer.clone(),
                RetryPolicy {
                    tries: 2,
                    ..RetryPolicy::default()
                },
            ),
            deadline: Deadline::after(self.peer.timeout),
        }
    }
}

/// The address of a repository with an index.
///
/// # Errors
/// It is not one that Flux takes.
pub(super) fn address(text: &str) -> Result<Url, ChartError> {
    let url = Url::parse(text).at(format_args!("{text:?} is not a URL"));
    let url = url.map_err(|error| ChartError::Broken(error.to_string()))?;
    if matches!(url.scheme(), "https" | "http") {
        Ok(url)
    } else {
        let wrong = format!("{text:?}: a chart repository is at an https:// URL");
        Err(ChartError::Broken(wrong))
    }
}
