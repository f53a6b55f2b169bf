//! HTTP to one peer: trust, proxies, time limits, redirects and retries.
//!
//! [`Agents`] are for callers with their own use of HTTP (Git streams its answers); [`Client`] is for all other
//! requests: it follows redirects without sending credentials to another host, bounds answers, and retries when
//! a server demands it.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod agent;
mod agents;
mod client;
mod deadline;
mod error;
mod explain;
mod inside;
mod interruptible;
mod job;
mod login;
mod opened;
mod proxy;
mod request;
mod retry_policy;
mod sent;
mod streamed;
mod tls;
mod web;
mod whole;

pub use agent::{Peer, ProxyError, SettingsError, proxy_of_environment};
pub use agents::{AgentError, Agents, PrivateAddress};
pub use client::Client;
pub use deadline::Deadline;
pub use error::{NetError, shown};
pub use explain::{Fault, WORDS, explain, gone, scrubbed, server_text};
pub use job::Job;
pub use login::{FetchLogin, FetchLoginError, Fetched, Login};
pub use opened::{Incoming, Opened};
pub use proxy::{InvalidProxy, Proxy, ProxyParts, TunnelError};
pub use request::{Answer, HeldBody, Request};
pub use retry_policy::{RetryPolicy, pause_between};
pub use sent::Sent;
pub use streamed::Streamed;
pub use tls::{Tls, TlsError};
pub use web::{bare, basic_header, decoded, host_of, leads_inside, location, trusted, unescaped};
