//! Clients of cloud services, one for each route to them, with what they have fetched.

use parking_lot::Mutex;

use url::Url;

use bumpwright_cloud::{Cloud, Endpoints, Environment, TokenCache};
use bumpwright_http::{Peer, Proxy};

/// Limit on clients. In a cluster, objects come and go.
const MOST: usize = 256;

/// A route to services.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloudRoute {
    /// Trust and proxy.
    pub peer: Peer,
    /// The address of AWS's token service, if it is not the default.
    pub aws_sts: Option<Url>,
}

/// The cloud clients of a process, by route. They share one cache, but no token.
#[derive(Debug, Default)]
pub struct Clouds {
    tokens: TokenCache,
    known: Mutex<Vec<(CloudRoute, Cloud)>>,
}

impl Clouds {
    /// Clients with a shared cache of tokens.
    #[must_use]
    pub fn new(tokens: TokenCache) -> Self {
        Self {
            tokens,
            known: Mutex::default(),
        }
    }

    /// The clients for requests of this process itself.
    #[must_use]
    pub fn direct(&self) -> Cloud {
        self.by(CloudRoute::default())
    }

    /// The clients for the proxy of a spec, if it has one.
    #[must_use]
    pub(crate) fn by_proxy(&self, proxy: Option<&Proxy>) -> Cloud {
        self.by(CloudRoute {
            peer: Peer {
                proxy: proxy.cloned(),
                ..Peer::default()
            },
            aws_sts: None,
        })
    }

    /// The clients for a route.
    #[must_use]
    pub fn by(&self, route: CloudRoute) -> Cloud {
        let mut clouds = self.known.lock();
        if let Some((_, cloud)) = clouds.iter().find(|(other, _)| *other == route) {
            return cloud.clone();
        }
        let endpoints = Endpoints {
            aws_sts: route.aws_sts.clone(),
            ..Endpoints::default()
        };
        let cloud = Cloud::sharing(&self.tokens, Environment::of_process(), endpoints, route.peer.clone());
        if clouds.len() >= MOST {
            // Clients of changed proxies are not used any more.
            clouds.clear();
        }
        clouds.push((route, cloud.clone()));
        cloud
    }
}
