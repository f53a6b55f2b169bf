//! Logins at servers of Vault.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::error::ForeignError;
use super::terms::TransitLogin;
use bumpwright_http::Deadline;
use bumpwright_secret::Secret;

/// Settings of logins. With them, requests to a server without a token in the Secret use the token of a login there,
/// and never that of this process.
pub struct VaultLogins {
    /// Where to log in.
    pub paths: LoginPaths,
    /// Issues the token for the login.
    pub issue: Box<IssueFor>,
}

/// Cached logins, one at each server.
#[derive(Debug)]
pub(crate) struct LoggedIn {
    pub(crate) logins: VaultLogins,
    pub(crate) state: Mutex<LoginState>,
}

/// Issues a token of the object's ServiceAccount, or of this process' own, for an audience.
pub type IssueFor = dyn Fn(&str, Deadline) -> Result<Secret, ForeignError> + Send + Sync;

/// Where to log in at a server, and as which role.
pub enum LoginPaths {
    /// As a ConfigMap says; servers that are not in it get no requests. The role is that of the token's account.
    ConfigMap {
        /// The ConfigMap as `namespace/name` (`--sops-vault-configmap`).
        name: String,
        read: Box<ReadConfig>,
    },
    /// As the annotations of the account say, at whichever server a file names.
    Annotations(TransitLogin),
}

#[derive(Debug, Default)]
pub(crate) struct LoginState {
    /// Login paths by server.
    pub(crate) paths: Option<BTreeMap<String, String>>,
    pub(crate) tokens: BTreeMap<String, Secret>,
}

/// Reads the entries of a ConfigMap.
pub type ReadConfig = dyn Fn() -> Result<BTreeMap<String, String>, ForeignError> + Send + Sync;
