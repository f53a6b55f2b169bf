//! The transport of a remote, by its address.

use super::http::HttpTransport;
use super::process::ProcessTransport;
use super::remote::Remote;
use super::remote_url::Location;
use super::ssh::SshTransport;
use crate::{Transport, TransportError};

/// Creates the transport for a remote, without connecting. Its calls block: make them on a thread of their own, not on
/// one that drives an async runtime.
///
/// # Errors
/// [`TransportError::Config`] when the settings are not valid: unreadable keys or certificates, credentials of another
/// kind than the address.
pub fn open(remote: &Remote) -> Result<Box<dyn Transport>, TransportError> {
    match remote.url.location() {
        Location::Local(path) => Ok(Box::new(ProcessTransport::new(&remote.url, path, remote.timeout))),
        Location::Http(base) => Ok(Box::new(HttpTransport::new(remote, base)?)),
        Location::Ssh { host, port, path } => Ok(Box::new(SshTransport::new(remote, host, *port, path)?)),
    }
}
