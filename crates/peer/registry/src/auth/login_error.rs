//! Errors of the user's own logins.

use std::path::PathBuf;

use super::config_fault::ConfigFault;
use super::credential_helper::HelperError;

/// Why the user's own logins cannot be read. A missing file is not an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// A configuration cannot be read.
    #[error("{} cannot be read for registry logins: {reason}", path.display())]
    Unreadable {
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// A configuration is larger than any of docker's.
    #[error("{} is larger than {limit} bytes, too large for docker's configuration", path.display())]
    Large { path: PathBuf, limit: u64 },
    /// A configuration is not valid.
    #[error("{}:{fault}; fix it, or log in again with `docker login`", path.display())]
    Malformed {
        path: PathBuf,
        /// The fault and its location.
        fault: ConfigFault,
    },
    /// The variable is not valid.
    #[error("DOCKER_AUTH_CONFIG: {fault}; fix or unset it")]
    Environment {
        /// The fault and its location.
        fault: ConfigFault,
    },
    #[error(transparent)]
    Helper(#[from] HelperError),
}
