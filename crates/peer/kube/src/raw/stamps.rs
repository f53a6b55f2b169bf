//! Asks for the versions of objects, by lists that are shared.

use std::sync::Arc;

use futures::FutureExt as _;
use tokio::time::Instant;

use super::discovery::Resource;
use super::lists::{Fault, Flight, Key, MOST, MOST_BYTES, Outcome, Source, StampQuery, Stamps, Way, sort, weight};
use crate::client::cluster::Cluster;
use crate::error::ClusterError;

impl Cluster {
    /// Lists uids and versions of the objects of a caller: by a list of them alone, or by one of the objects of all
    /// callers with the same identity, when several of them ask.
    pub async fn stamps_since(&self, resource: &Resource, query: StampQuery<'_>) -> Result<Stamps, Arc<ClusterError>> {
        let key = Key {
            account: self.account.clone(),
            gvk: resource.gvk.clone(),
            namespace: query.namespace.to_owned(),
            all: query.all.to_owned(),
        };
        let begin = |number| self.begin_shared(resource.clone(), key.clone(), number);
        let outcome = match self.lists.way(&key, &query, Instant::now(), begin) {
            Way::Own => Err(Fault::Unshared),
            Way::Shared(flight) => flight.await,
            Way::Kept(stamps) => Ok(stamps),
        };
        match outcome {
            Ok(stamps) => Ok(Stamps(Source::Shared(stamps))),
            Err(Fault::Failed(error)) => Err(error),
            Err(Fault::Unshared) => {
                let stamps = self.stamps(resource, query.namespace, query.own).await;
                let mut stamps = stamps.map_err(Arc::new)?;
                sort(&mut stamps);
                Ok(Stamps(Source::Own(stamps)))
            }
        }
    }

    /// A list of all objects; nothing is sent before it is awaited.
    fn begin_shared(&self, resource: Resource, key: Key, number: u64) -> Flight {
        let cluster = self.clone();
        let list = async move {
            let outcome = cluster.all_stamps(&resource, &key).await;
            cluster.lists.ended(&key, number, &outcome, Instant::now());
            outcome
        };
        list.boxed().shared()
    }

    /// The reservation ends with the list: what is kept has a bound of its own.
    async fn all_stamps(&self, resource: &Resource, key: &Key) -> Outcome {
        let stamps = self.stamps_within(resource, (&key.namespace, &key.all), MOST).await;
        let mut stamps = match stamps {
            Ok(Some(stamps)) if weight(&stamps) <= MOST_BYTES => stamps.into_value(),
            Ok(_) => return Err(Fault::Unshared),
            // Perhaps it is the selector.
            Err(error) if error.is_unlistable() => return Err(Fault::Unshared),
            Err(error) => return Err(Fault::Failed(Arc::new(error))),
        };
        sort(&mut stamps);
        Ok(stamps.into())
    }
}
