//! The server: where it listens, what clients are allowed, and what answers them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bumpwright_http_server::{self as http_server, Limits, blocking};
use thiserror::Error;
use tokio::net::TcpListener;

use super::resource::respond;
use crate::address::split_host_port;
use crate::error::StorageError;
use crate::storage::Storage;

/// The server cannot be started.
#[derive(Debug, Error)]
#[error("cannot listen on {address:?} for requests of artifacts: {cause}; choose another address with --storage-addr")]
pub struct ListenError {
    address: String,
    cause: io::Error,
}

/// Listens at the address of `--storage-addr`: `HOST:PORT`, or `:PORT` for all addresses of the machine.
///
/// # Errors
/// [`ListenError`] when it is not an address, is taken, or is not this machine's.
pub async fn listen(address: &str) -> Result<TcpListener, ListenError> {
    let bound = match split_host_port(address).map(|(host, port)| (host, port.parse())) {
        Ok((host, Ok(port))) => http_server::listen(host, port).await,
        Ok((_, Err(_))) => Err(io::Error::new(io::ErrorKind::InvalidInput, "the port is not a number")),
        Err(detail) => Err(io::Error::new(io::ErrorKind::InvalidInput, detail)),
    };
    bound.map_err(|cause| ListenError {
        address: address.to_owned(),
        cause,
    })
}

/// What clients are allowed. source-controller's server has no limits.
#[must_use]
pub fn limits() -> Limits {
    Limits {
        connections: 1024,
        idle_time: Duration::from_secs(60),
        stall_time: Duration::from_secs(30),
        ..Limits::default()
    }
}

/// Serves the artifacts of a storage until `stop` is done, and then those on their way. `on_fault` is called, on any
/// thread, for each request that finds a file damaged or unreadable: it is the place to log that.
pub async fn serve(
    listener: TcpListener,
    storage: Storage,
    limits: Limits,
    on_fault: impl Fn(&StorageError) + Send + Sync + 'static,
    stop: impl Future<Output = ()>,
) {
    let on_fault = Arc::new(on_fault);
    let handler = move |request| {
        let (storage, on_fault) = (storage.clone(), Arc::clone(&on_fault));
        blocking(move || {
            let (response, fault) = respond(&storage, &request);
            if let Some(fault) = fault {
                on_fault(&fault);
            }
            response
        })
    };
    http_server::serve(listener, limits, handler, stop).await;
}
