//! Clients of the services of clouds, one for each route to them: what was fetched there is kept with it.

use std::sync::{Mutex, PoisonError};

use url::Url;

use bumpwright_cloud::{Cloud, Endpoints, Environment, TokenCache};
use bumpwright_http::{Peer, Proxy};

/// So many are kept at once. In a cluster, objects come and go.
const MOST: usize = 256;

/// How services are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloudRoute {
    /// Trust and proxy.
    pub peer: Peer,
    /// AWS' token service, where it is not the usual one.
    pub aws_sts: Option<Url>,
}

/// The clouds of a process, by the route to them. They share a cache of tokens and never a token.
#[derive(Debug, Default)]
pub struct Clouds {
    tokens: TokenCache,
    known: Mutex<Vec<(CloudRoute, Cloud)>>,
}

impl Clouds {
    /// Clouds whose tokens are kept in a cache that others use as well.
    #[must_use]
    pub fn new(tokens: TokenCache) -> Self {
        Self {
            tokens,
            known: Mutex::default(),
        }
    }

    /// The clouds as this process itself reaches them.
    #[must_use]
    pub fn direct(&self) -> Cloud {
        self.by(CloudRoute::default())
    }

    /// The clouds by the proxy of a spec, if it has one.
    #[must_use]
    pub fn by_proxy(&self, proxy: Option<&Proxy>) -> Cloud {
        self.by(CloudRoute {
            peer: Peer {
                proxy: proxy.cloned(),
                ..Peer::default()
            },
            aws_sts: None,
        })
    }

    /// The clouds by a route.
    #[must_use]
    pub fn by(&self, route: CloudRoute) -> Cloud {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, cloud)) = known.iter().find(|(other, _)| *other == route) {
            return cloud.clone();
        }
        let endpoints = Endpoints {
            aws_sts: route.aws_sts.clone(),
            ..Endpoints::default()
        };
        let cloud = Cloud::sharing(&self.tokens, Environment::of_process(), endpoints, route.peer.clone());
        if known.len() >= MOST {
            // Proxies that have changed leave some behind that are not used any more.
            known.clear();
        }
        known.push((route, cloud.clone()));
        cloud
    }
}
