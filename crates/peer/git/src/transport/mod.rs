//! Ways to a remote: HTTP, SSH, and programs of this machine.

pub(crate) mod connection;
pub(crate) mod http;
pub(crate) mod http_answer;
pub(crate) mod http_error;
pub(crate) mod known_hosts;
pub(crate) mod open;
pub(crate) mod process;
pub(crate) mod remote;
pub(crate) mod remote_url;
pub(crate) mod ssh;
pub(crate) mod ssh_config;
pub(crate) mod ssh_pattern;
pub(crate) mod ssh_session;
