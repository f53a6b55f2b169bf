//! Why the user's own logins cannot be had.

use std::path::PathBuf;

use super::config_fault::ConfigFault;
use super::credential_helper::HelperError;

/// Why the user's own logins cannot be had. A file that does not exist is no error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// A configuration cannot be read.
    #[error("{} cannot be read for registry logins: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// A configuration is larger than any that docker writes.
    #[error("{} is larger than {limit} bytes, too large for docker's configuration", path.display())]
    Large {
        /// The file.
        path: PathBuf,
        /// The most that is read.
        limit: u64,
    },
    /// A configuration is not what docker writes.
    #[error("{}:{fault}; fix it, or log in again with `docker login`", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where and what.
        fault: ConfigFault,
    },
    /// The variable is not what docker reads.
    #[error("DOCKER_AUTH_CONFIG: {fault}; fix or unset it")]
    Environment {
        /// Where and what.
        fault: ConfigFault,
    },
    /// A helper failed.
    #[error(transparent)]
    Helper(#[from] HelperError),
}
