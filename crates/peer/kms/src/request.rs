//! One decryption of a data key.

use std::sync::{Arc, OnceLock};

use zeroize::Zeroizing;

use super::StaticCredentials;
use super::challenges::Challenges;
use super::vault::error::SettingsError;
use super::vault::logged_in::LoggedIn;
use super::vault::settings::VaultSettings;
use bumpwright_cloud::{Cloud, CloudError, WorkloadIdentity};
use bumpwright_http::Deadline;

/// A data key, wiped on drop.
pub(super) type Plaintext = Zeroizing<Vec<u8>>;

/// One decryption of a data key.
#[derive(Clone, Copy)]
pub(super) struct KeyRequest<'s> {
    pub(super) cloud: &'s Cloud,
    pub(super) given: &'s StaticCredentials,
    pub(crate) account: &'s Result<Option<WorkloadIdentity>, CloudError>,
    pub(super) challenges: &'s Challenges,
    pub(super) vault: &'s OnceLock<Result<VaultSettings, Arc<SettingsError>>>,
    pub(super) logged_in: Option<&'s LoggedIn>,
    pub(super) listed_only: bool,
    pub(super) deadline: Deadline,
}

impl<'s> KeyRequest<'s> {
    /// The ServiceAccount to use; none for this process.
    pub(super) fn account(&self) -> Result<Option<&'s WorkloadIdentity>, CloudError> {
        match self.account {
            Ok(account) => Ok(account.as_ref()),
            Err(error) => Err(error.clone()),
        }
    }
}
