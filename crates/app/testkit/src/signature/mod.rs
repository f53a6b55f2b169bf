//! Keys, signatures and certificates.

pub mod aws_signature;
pub mod digests;
pub mod gpg;
pub mod rsa;
pub mod signatures;
pub mod sigstore;
pub mod tls;
