//! The supported clouds.

use std::fmt;
use std::str::FromStr;

use crate::CloudError;

/// A value of `spec.provider` (N-050), without `generic`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provider {
    Aws,
    Azure,
    Gcp,
}

impl FromStr for Provider {
    type Err = CloudError;

    /// # Errors
    /// [`CloudError::Provider`].
    fn from_str(name: &str) -> Result<Self, CloudError> {
        match name {
            "aws" => Ok(Self::Aws),
            "azure" => Ok(Self::Azure),
            "gcp" => Ok(Self::Gcp),
            _ => Err(CloudError::Provider { name: name.to_owned() }),
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Aws => "aws",
            Self::Azure => "azure",
            Self::Gcp => "gcp",
        })
    }
}
