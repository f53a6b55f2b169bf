//! The references of a Kustomization to Secrets and ConfigMaps.

use std::sync::Arc;

use serde_json::Value;

/// The objects that `substituteFrom` names, as far as the fleet has them, in its order.
pub(crate) type References = Vec<Option<Arc<Value>>>;
