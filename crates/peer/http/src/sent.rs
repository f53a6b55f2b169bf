//! Hooks for sent requests and refused logins, for metrics.

use std::fmt;
use std::sync::Arc;

type Hook = Arc<dyn Fn() + Send + Sync>;

/// Called before each request, and when a login is refused; no-op by default. Hooks must not block.
#[derive(Clone, Default)]
pub struct Sent {
    sent: Option<Hook>,
    refused: Option<Hook>,
}

impl Sent {
    /// Calls `hook` before each request.
    #[must_use]
    pub fn new(hook: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            sent: Some(Arc::new(hook)),
            refused: None,
        }
    }

    /// Calls `hook` when a login is refused, too.
    #[must_use]
    pub fn refusing(self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            refused: Some(Arc::new(hook)),
            ..self
        }
    }

    /// A request is about to be sent.
    pub fn notify(&self) {
        if let Some(hook) = &self.sent {
            hook();
        }
    }

    /// A login was refused, or is missing.
    pub fn refused(&self) {
        if let Some(hook) = &self.refused {
            hook();
        }
    }
}

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.sent.is_some() { "Sent(hook)" } else { "Sent" })
    }
}
