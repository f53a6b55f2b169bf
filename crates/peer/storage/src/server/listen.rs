//! The server: accepts connections until it is told to stop.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bumpwright_http_server::Door;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connection::Connection;
use super::limits::Limits;
use crate::address::split_host_port;
use crate::error::StorageError;
use crate::storage::Storage;

/// After an error of `accept`, such as too many open files, before the next attempt.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The server cannot be started.
#[derive(Debug, Error)]
#[error("cannot listen on {address:?} for requests of artifacts: {cause}; choose another address with --storage-addr")]
pub struct ListenError {
    address: String,
    cause: io::Error,
}

/// Takes the address of `--storage-addr`: `HOST:PORT`, or `:PORT` for all addresses of the machine.
///
/// # Errors
/// [`ListenError`] when it is none, is taken, or is not this machine's.
pub async fn listen(address: &str) -> Result<TcpListener, ListenError> {
    let bound = match split_host_port(address).map(|(host, port)| (host, port.parse())) {
        Ok(("", Ok(port))) => everywhere(port).await,
        Ok((host, Ok(port))) => TcpListener::bind((host, port)).await,
        Ok((_, Err(_))) => Err(io::Error::new(io::ErrorKind::InvalidInput, "the port is not a number")),
        Err(detail) => Err(io::Error::new(io::ErrorKind::InvalidInput, detail)),
    };
    bound.map_err(|cause| ListenError {
        address: address.to_owned(),
        cause,
    })
}

/// All addresses of the machine, as Go takes `:PORT`: those of IPv6, which have those of IPv4 among them, or these alone
/// where there is no IPv6.
async fn everywhere(port: u16) -> io::Result<TcpListener> {
    match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
        Err(e) if !matches!(e.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied) => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await
        }
        bound => bound,
    }
}

/// What is told of files that could not be served.
pub(super) type OnFault = dyn Fn(&StorageError) + Send + Sync;

/// A server of artifacts that has its address, and serves once it is run.
pub struct FileServer {
    listener: TcpListener,
    storage: Storage,
    limits: Limits,
    on_fault: Arc<OnFault>,
}

impl FileServer {
    /// A server of this storage at an address of [`listen`]. `on_fault` is called, on any thread, for each request that
    /// finds a file damaged or unreadable: it is the place to log that.
    pub fn new(
        listener: TcpListener,
        storage: Storage,
        limits: Limits,
        on_fault: impl Fn(&StorageError) + Send + Sync + 'static,
    ) -> Self {
        Self {
            listener,
            storage,
            limits,
            on_fault: Arc::new(on_fault),
        }
    }

    /// The address, with the port that was chosen.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is done: then takes no more connections, ends the idle ones, and waits
    /// [`Limits::end_time`] for the answers on their way.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let (stopping, stopped) = watch::channel(());
        let mut connections = JoinSet::new();
        tokio::select! {
            () = self.accept(&stopped, &mut connections) => {}
            () = stop => {}
        }
        drop(self.listener);
        drop(stopping);
        // Whoever is not done by then is cut off when the set is dropped.
        let _ = timeout(self.limits.end_time, async {
            while connections.join_next().await.is_some() {}
        })
        .await;
    }

    async fn accept(&self, stopped: &watch::Receiver<()>, connections: &mut JoinSet<()>) {
        let door = Door::new(self.limits.connections);
        loop {
            // Those that ended are forgotten as new ones come.
            while connections.try_join_next().is_some() {}
            match self.listener.accept().await {
                Ok((stream, peer)) => {
                    let guest = door.enter(peer.ip()).await;
                    // An answer is sent in few writes; waiting to fill a packet only delays it.
                    let _ = stream.set_nodelay(true);
                    let connection = Connection {
                        stream,
                        read: Vec::new(),
                        storage: self.storage.clone(),
                        limits: self.limits.clone(),
                        on_fault: Arc::clone(&self.on_fault),
                        stopped: stopped.clone(),
                    };
                    connections.spawn(async move {
                        tokio::select! {
                            () = connection.serve(&guest) => {}
                            () = guest.sent_away() => {}
                        }
                    });
                }
                Err(_) => {
                    door.relieve();
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

impl std::fmt::Debug for FileServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileServer")
            .field("listener", &self.listener)
            .finish_non_exhaustive()
    }
}
