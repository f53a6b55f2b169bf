//! The key service of this process: the age and OpenPGP keys of a Secret.

use super::pgp::{PgpImportError, PgpKeys};
use super::service::{KeyError, KeyService, MasterKey};
use crate::age::{Identities, IdentityError};
use zeroize::Zeroizing;

/// Keys that decrypt in this process.
#[derive(Default)]
pub struct LocalKeys {
    pub age: Identities,
    pub pgp: PgpKeys,
}

/// An entry without keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// An `.agekey` entry.
    #[error(transparent)]
    Age(#[from] IdentityError),
    /// An `.asc` entry.
    #[error(transparent)]
    Pgp(#[from] PgpImportError),
}

impl KeyService for LocalKeys {
    fn decrypt(&self, key: &MasterKey) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        match key {
            MasterKey::Age { enc, .. } => self.age.open(enc).map_err(|error| KeyError::new(error.to_string())),
            MasterKey::Pgp { enc, .. } => self.pgp.decrypt(enc),
            other => Err(KeyError::new(format!(
                "no service for keys of the kind {} is configured",
                other.kind()
            ))),
        }
    }
}

/// Local keys, and a service for all other kinds.
#[derive(Debug)]
pub struct KeyServices<L, R> {
    /// For age and OpenPGP.
    pub local: L,
    /// For all other kinds.
    pub remote: R,
}

impl<L: KeyService, R: KeyService> KeyService for KeyServices<L, R> {
    fn decrypt(&self, key: &MasterKey) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        match key {
            MasterKey::Age { .. } | MasterKey::Pgp { .. } => self.local.decrypt(key),
            other => self.remote.decrypt(other),
        }
    }
}
