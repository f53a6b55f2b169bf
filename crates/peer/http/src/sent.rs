//! A hook for each sent request, for metrics.

use std::fmt;
use std::sync::Arc;

/// Called before each request; no-op by default. It must not block.
#[derive(Clone, Default)]
pub struct Sent(Option<Arc<dyn Fn() + Send + Sync>>);

impl Sent {
    /// Calls `hook`.
    #[must_use]
    pub fn new(hook: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hook)))
    }

    /// Calls the hook.
    pub fn notify(&self) {
        if let Some(hook) = &self.0 {
            hook();
        }
    }
}

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Sent(hook)" } else { "Sent" })
    }
}
