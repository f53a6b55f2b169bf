//! What bounds a request, and where it is received.

/// The largest body, in bytes.
pub const MAX_BODY: usize = 1 << 20;

/// The greatest number of changes in one body.
pub const MAX_EVENTS: usize = 1000;

/// Prefix of the paths of webhooks, as in notification-controller.
pub(crate) const PATH_PREFIX: &str = "/hook/";
