//! Listening at the addresses of flags.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::net::TcpListener;

/// Listens at an address. An empty host stands for all addresses of the machine, as Go takes `:PORT`: those of IPv6,
/// which include those of IPv4, or IPv4 alone on a machine without IPv6.
///
/// # Errors
/// When the address is taken or not this machine's.
pub async fn listen(host: &str, port: u16) -> io::Result<TcpListener> {
    if !host.is_empty() {
        return TcpListener::bind((host, port)).await;
    }
    match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
        Err(e) if !matches!(e.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied) => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await
        }
        bound => bound,
    }
}
