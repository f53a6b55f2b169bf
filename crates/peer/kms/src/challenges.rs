//! The challenges of key vaults, which are asked for once.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::azure_challenge::Challenge;

/// The challenges of vaults by their origin.
#[derive(Debug, Default)]
pub(super) struct Challenges(pub(crate) Mutex<HashMap<String, Challenge>>);
