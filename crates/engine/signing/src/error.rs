//! Errors of reading a key and signing with it.

use bumpwright_gostd::{Time, Zone};

/// A key that cannot sign. No variant contains any part of a key or passphrase.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningError {
    /// The text is longer than any Secret.
    #[error("it is longer than 1 MiB, so it is not a key")]
    TooLong,
    #[error("it has no armoured OpenPGP key; export one with `gpg --armor --export-secret-keys KEY`")]
    NoArmour,
    /// An OpenPGP block without the private half.
    #[error("it has only the public half of a key; export the private one with `gpg --armor --export-secret-keys KEY`")]
    PublicOnly,
    /// An OpenPGP block that is damaged.
    #[error("the OpenPGP key in it is damaged; export it again with `gpg --armor --export-secret-keys KEY`")]
    DamagedOpenPgp,
    #[error("OpenPGP key {id} has expired on {}; extend it (`gpg --quick-set-expire`), or give another key", date(*.on))]
    Expired {
        /// Key id, 16 hexadecimal digits.
        id: String,
        /// Seconds since 1970-01-01 UTC.
        on: i64,
    },
    #[error("OpenPGP key {id} was revoked on {}; give another key", date(*.on))]
    Revoked {
        /// Key id, 16 hexadecimal digits.
        id: String,
        /// Seconds since 1970-01-01 UTC.
        on: i64,
    },
    /// A key that is not valid yet.
    #[error("OpenPGP key {id} is not valid before {}; wait, or set the clock of the machine that made it or of this one", date(*.from))]
    NotYetValid {
        /// Key id, 16 hexadecimal digits.
        id: String,
        /// Seconds since 1970-01-01 UTC.
        from: i64,
    },
    /// A key without a signing subkey with its private half.
    #[error(
        "OpenPGP key {id} has no private key that may sign; export it with one (`gpg --list-secret-keys` marks them with S)"
    )]
    NoSigningKey {
        /// Key id, 16 hexadecimal digits.
        id: String,
    },
    /// An unsupported algorithm, or an unlocking that is too expensive.
    #[error("OpenPGP key {id}: {what}")]
    UnsupportedOpenPgp {
        /// Key id, 16 hexadecimal digits.
        id: String,
        /// What is not supported, and what is.
        what: &'static str,
    },
    /// The key has a passphrase, and none was given.
    #[error("the key is protected by a passphrase, and none was given")]
    PassphraseMissing,
    /// The passphrase does not unlock the OpenPGP key.
    #[error("the passphrase does not unlock OpenPGP key {id}")]
    WrongOpenPgpPassphrase {
        /// Key id, 16 hexadecimal digits.
        id: String,
    },
    /// The passphrase does not unlock the SSH key.
    #[error("the passphrase does not unlock the SSH key")]
    WrongSshPassphrase,
    #[error("it has no SSH private key; give it in the format of ssh-keygen")]
    NoPem,
    /// A PEM block that is not an SSH key.
    #[error("{label:?} is not supported; rewrite the key with `ssh-keygen -p -f KEY`")]
    UnsupportedPem {
        /// The label after `BEGIN`.
        label: String,
    },
    /// A PEM block that is damaged.
    #[error("the SSH key in it is damaged, or its format is unknown; give it in the format of ssh-keygen")]
    DamagedSsh,
    /// An SSH key of a type that does not sign commits (N-011).
    #[error("SSH keys of type {algorithm} cannot sign commits; use ed25519, ECDSA or RSA")]
    SshAlgorithm { algorithm: String },
    /// An RSA key of an unsupported size (N-011).
    #[error("the RSA key has {bits} bits; from 2048 to 16384 are supported")]
    RsaSize { bits: u32 },
    /// An SSH key that takes minutes to unlock.
    #[error("the SSH key takes {rounds} rounds to unlock, 1024 at most; rewrite it with `ssh-keygen -p -a 100 -f KEY`")]
    Rounds { rounds: u32 },
    #[error("{name} failed to sign: {why}")]
    Failed { name: String, why: String },
}

/// A time in RFC 3339.
fn date(seconds: i64) -> String {
    let time = Time::unix(seconds, 0).in_zone(Zone::Utc);
    let text = time.rfc_3339().map(|text| String::from_utf8_lossy(&text).into_owned());
    text.unwrap_or_else(|_| format!("second {seconds}"))
}
