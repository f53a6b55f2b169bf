//! Ways to the services of clouds. Each is known once: what was asked there is kept with it.

use std::sync::{Mutex, PoisonError};

use url::Url;

use bumpwright_cloud::{Cloud, Endpoints, Environment, TokenCache};
use bumpwright_http::{Peer, Proxy};

/// So many are known at once. In a cluster, objects come and go.
const MOST: usize = 256;

/// How services are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) proxy: Option<Proxy>,
    /// AWS' token service, where it is not the usual one.
    pub(crate) aws_sts: Option<Url>,
}

/// The clouds of a process, by the way to them.
#[derive(Debug)]
pub(crate) struct Clouds {
    tokens: TokenCache,
    known: Mutex<Vec<(Way, Cloud)>>,
}

impl Clouds {
    pub(crate) fn new(tokens: TokenCache) -> Self {
        Self {
            tokens,
            known: Mutex::default(),
        }
    }

    /// Those that are reached on this way.
    pub(crate) fn on(&self, way: Way) -> Cloud {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cloud)) = known.iter().find(|(other, _)| *other == way) {
            return cloud.clone();
        }
        let peer = Peer {
            proxy: way.proxy.clone(),
            ..Peer::default()
        };
        let endpoints = Endpoints {
            aws_sts: way.aws_sts.clone(),
            ..Endpoints::default()
        };
        let cloud = Cloud::sharing(&self.tokens, Environment::of_process(), endpoints, peer);
        if known.len() >= MOST {
            // Proxies that have changed leave some behind that nobody asks any more.
            known.clear();
        }
        known.push((way, cloud.clone()));
        cloud
    }
}
