//! The servers of metrics and probes: short pages for few clients.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use thiserror::Error;
use tokio::net::TcpListener;

use super::listen_address::ListenAddress;
use super::server_request::{Page, PageRequest};
use bumpwright_http_server::{Limits, blocking, listen, serve};

/// A server cannot be started.
#[derive(Debug, Error)]
#[error("cannot listen on {address} for {what}: {cause}; choose another address with {flag}")]
pub struct ServeError {
    what: &'static str,
    flag: &'static str,
    address: ListenAddress,
    cause: io::Error,
}

/// A server that listens, and serves once it is run.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
}

impl Server {
    /// Listens at an address; none when it is [`ListenAddress::Off`]. `what` and `flag` are for the error: `metrics`,
    /// `--metrics-addr`.
    ///
    /// # Errors
    /// [`ServeError`] when the address is taken or not this machine's.
    pub async fn bind(
        address: &ListenAddress,
        what: &'static str,
        flag: &'static str,
    ) -> Result<Option<Self>, ServeError> {
        let ListenAddress::At { host, port } = address else {
            return Ok(None);
        };
        let listener = listen(host, *port).await.map_err(|cause| ServeError {
            what,
            flag,
            address: address.clone(),
            cause,
        })?;
        Ok(Some(Self { listener }))
    }

    /// The address, with the port that was chosen.
    ///
    /// # Errors
    /// When the system does not return it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// The listener alone, for a server of another kind.
    #[must_use]
    pub fn into_listener(self) -> TcpListener {
        self.listener
    }

    /// Serves pages until `stop` is done, and then those on their way. `page` runs on a thread where it may
    /// block for a moment.
    pub async fn run(
        self,
        page: impl Fn(&PageRequest) -> Page + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
    ) {
        let page = Arc::new(page);
        let handler = move |request| {
            let page = Arc::clone(&page);
            blocking(move || match PageRequest::read(&request) {
                Some(request) => page(&request).response(&request),
                None => Page::text(405, "405 Method Not Allowed\n").response(&PageRequest::default()),
            })
        };
        serve(self.listener, Limits::default(), handler, stop).await;
    }
}
