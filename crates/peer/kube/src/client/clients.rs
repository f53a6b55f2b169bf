//! The clients of one connection.

use std::sync::Arc;

use kube::Client;
use parking_lot::RwLock;

pub(crate) type Shared = Arc<RwLock<Clients>>;

#[derive(Clone)]
pub(crate) struct Clients {
    /// Retries by itself when the server is too busy, after the time in its answer.
    pub(crate) plain: Client,
    /// The same, for answers that are read as a whole without an account: they have a bound.
    pub(crate) whole: Client,
    /// Reports each failure at once: a watch has pauses of its own, and its failures are shown.
    pub(crate) watching: Client,
    /// Host and port.
    pub(crate) host: Arc<str>,
    pub(crate) place: Arc<str>,
}
