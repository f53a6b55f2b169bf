//! Git without a work tree: transports, fetch, trees, commits, packs and push.

mod credential;
mod deadline;
mod http;
mod http_agent;
mod http_answer;
mod http_error;
mod known_hosts;
mod process;
mod proxy;
mod remote;
mod remote_url;
mod secret;
mod ssh;
mod ssh_config;
mod ssh_pattern;
mod ssh_session;
mod transport;

pub use proxy::Proxy;
pub use remote::{Auth, KnownHosts, Remote, Ssh, Tls, open};
pub use remote_url::{RemoteUrl, Scheme};
pub use secret::Secret;
pub use transport::{Connection, Protocol, Service, Transport, TransportError};
