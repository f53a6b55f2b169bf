//! Being told of each request that is sent, for those who count.

use std::fmt;
use std::sync::Arc;

/// Is told of each request before it is sent; by default nobody is. It must not block.
#[derive(Clone, Default)]
pub struct Sent(Option<Arc<dyn Fn() + Send + Sync>>);

impl Sent {
    /// Tells `told`.
    #[must_use]
    pub fn new(hook: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(hook)))
    }

    /// A request is sent now.
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
