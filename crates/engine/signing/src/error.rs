//! Why a key cannot sign.

use bumpwright_gostd::{Time, Zone};

/// Why a key cannot sign. No variant holds any part of a key or passphrase.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SigningError {
    /// The text is longer than any Secret.
    #[error("it is longer than 1 MiB, which no key is")]
    TooLong,
    /// No OpenPGP block.
    #[error("it holds no armoured OpenPGP key; export one with `gpg --armor --export-secret-keys KEY`")]
    NoArmour,
    /// An OpenPGP block without the private half.
    #[error(
        "it holds the public half of a key only; export the private one with `gpg --armor --export-secret-keys KEY`"
    )]
    PublicOnly,
    /// An OpenPGP block that is damaged.
    #[error("the OpenPGP key in it is damaged; export it again with `gpg --armor --export-secret-keys KEY`")]
    DamagedOpenPgp,
    /// A key that is past its time.
    #[error("OpenPGP key {id} has expired on {}; prolong it (`gpg --quick-set-expire`), or give another key", date(*.on))]
    Expired {
        /// Key id, 16 hexadecimal digits.
        id: String,
        /// Seconds since 1970-01-01 UTC.
        on: i64,
    },
    /// A key whose owner has taken it back.
    #[error("OpenPGP key {id} was revoked on {}; give another key", date(*.on))]
    Revoked {
        /// Key id, 16 hexadecimal digits.
        id: String,
        /// Seconds since 1970-01-01 UTC.
        on: i64,
    },
    /// A key from the future.
    #[error("OpenPGP key {id} is not valid before {}; wait, or set the clock of the machine that made it or of this one", date(*.from))]
    NotYetValid {
        /// Key id, 16 hexadecimal digits.
        id: String,
        /// Seconds since 1970-01-01 UTC.
        from: i64,
    },
    /// A key without a part that may sign and whose private half is there.
    #[error(
        "OpenPGP key {id} has no private key that may sign; export it with one (`gpg --list-secret-keys` marks them with S)"
    )]
    NoSigningKey {
        /// Key id, 16 hexadecimal digits.
        id: String,
    },
    /// An algorithm, or an effort to unlock the key, that is not supported.
    #[error("OpenPGP key {id}: {what}")]
    UnsupportedOpenPgp {
        /// Key id, 16 hexadecimal digits.
        id: String,
        /// What is not supported, and what is.
        what: &'static str,
    },
    /// The key is locked and no passphrase was given.
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
    /// No PEM block.
    #[error("it holds no private key of SSH; give it as ssh-keygen writes it")]
    NoPem,
    /// A PEM block that is no SSH key.
    #[error("{label:?} is not supported; write the key anew with `ssh-keygen -p -f KEY`")]
    UnsupportedPem {
        /// What stands after `BEGIN`.
        label: String,
    },
    /// A PEM block that is damaged.
    #[error("the SSH key in it is damaged, or its format is not known; give it as ssh-keygen writes it")]
    DamagedSsh,
    /// An SSH key of a kind that does not sign commits (N-011).
    #[error("SSH keys of type {algorithm} cannot sign commits; use ed25519, ECDSA or RSA")]
    SshAlgorithm {
        /// The algorithm's name.
        algorithm: String,
    },
    /// An RSA key whose size nobody accepts (N-011).
    #[error("the RSA key has {bits} bits; from 2048 to 16384 are supported")]
    RsaSize {
        /// Its size.
        bits: u32,
    },
    /// An SSH key whose passphrase takes minutes to derive.
    #[error(
        "the SSH key takes {rounds} rounds to unlock, 1024 at most; write it anew with `ssh-keygen -p -a 100 -f KEY`"
    )]
    Rounds {
        /// Rounds of bcrypt.
        rounds: u32,
    },
    /// A signature did not come about.
    #[error("{name} made no signature: {why}")]
    Failed {
        /// The signer.
        name: String,
        /// What went wrong.
        why: String,
    },
}

/// A moment as RFC 3339 writes it.
fn date(seconds: i64) -> String {
    let time = Time::unix(seconds, 0).in_zone(Zone::Utc);
    let text = time.rfc_3339().map(|text| String::from_utf8_lossy(&text).into_owned());
    text.unwrap_or_else(|_| format!("second {seconds}"))
}
