//! Hashes, keys, certificates and chance.

pub(crate) mod certificates;
pub(crate) mod derive_password;
pub(crate) mod hashes;
pub(crate) mod pem;
pub(crate) mod private_keys;
pub(crate) mod random;
pub(crate) mod random_text;
pub(crate) mod x509;
