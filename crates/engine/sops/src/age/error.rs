//! Why an age file is not decrypted, in the words of age and SOPS.

use bumpwright_gostd::{CorruptInput, quote_bytes};
use thiserror::Error;

/// Where SOPS looks for keys on a machine of its own.
const LOCATIONS: &str = "'SOPS_AGE_SSH_PRIVATE_KEY_FILE', 'SOPS_AGE_SSH_PRIVATE_KEY_CMD', '~/.ssh/id_ed25519', \
                         '~/.ssh/id_rsa', 'SOPS_AGE_KEY', 'SOPS_AGE_KEY_FILE', 'SOPS_AGE_KEY_CMD', and \
                         '~/.config/sops/age/keys.txt'";
/// Go's error for a low-order point.
pub(super) const LOW_ORDER: &str = "crypto/ecdh: bad X25519 remote ECDH input: low order point";

/// The error of a file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum AgeError {
    /// No key is configured.
    #[error("failed to load age identities. Did not find keys in locations {LOCATIONS}.")]
    NoIdentity,
    /// Its header cannot be read.
    #[error("failed to create reader for decrypting sops data key with age: failed to read header: {0}")]
    Header(#[from] HeaderError),
    /// No key opens its header.
    #[error("failed to create reader for decrypting sops data key with age: {0}")]
    FileKey(#[from] FileKeyError),
    /// It ends before its payload.
    #[error("failed to create reader for decrypting sops data key with age: failed to read nonce: {0}")]
    Nonce(#[source] End),
    /// Its payload cannot be decrypted.
    #[error("failed to copy age decrypted data into bytes.Buffer: {0}")]
    Payload(#[from] PayloadError),
}

/// Why reading goes no further.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum End {
    #[error("EOF")]
    Eof,
    /// Something is left, and too little.
    #[error("unexpected EOF")]
    Cut,
    /// The armor has a fault there.
    #[error("invalid armor: {0}")]
    Armor(#[from] ArmorError),
}

/// What is wrong with an armor.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ArmorError {
    #[error("unexpected EOF")]
    Cut,
    #[error("too much leading whitespace")]
    LeadingSpace,
    #[error("invalid first line: {}", quote_bytes(.0))]
    FirstLine(Vec<u8>),
    #[error("empty line in armored data")]
    EmptyLine,
    #[error("column limit exceeded")]
    LongLine,
    #[error(transparent)]
    Base64(#[from] CorruptInput),
    #[error("invalid closing line: {}", quote_bytes(.0))]
    ClosingLine(Vec<u8>),
    /// What comes after it.
    #[error("{0}")]
    Trailing(&'static str),
}

/// What is wrong with a header.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum HeaderError {
    #[error("parsing age header: file is empty")]
    Empty,
    #[error("parsing age header: failed to read intro: {0}")]
    NoIntro(#[source] End),
    #[error("parsing age header: unexpected intro: {}", quote_bytes(.0))]
    Intro(Vec<u8>),
    /// It ends before its last line.
    #[error("parsing age header: failed to read header: {0}")]
    Cut(#[source] End),
    /// It ends within its last line.
    #[error("failed to read header: {0}")]
    ClosingCut(#[source] End),
    #[error("parsing age header: malformed closing line: {}", quote_bytes(.0))]
    Closing(Vec<u8>),
    #[error("parsing age header: malformed closing line {}: {problem}", quote_bytes(.line))]
    Mac {
        line: Vec<u8>,
        #[source]
        problem: CorruptInput,
    },
    /// The MAC has another size: Go prints an error that it does not have.
    #[error("parsing age header: malformed closing line {}: %!v(<nil>)", quote_bytes(.0))]
    MacSize(Vec<u8>),
    #[error("failed to parse header: {0}")]
    Stanza(#[from] StanzaError),
}

/// What is wrong with what a header has for a recipient.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum StanzaError {
    #[error("failed to read line: {0}")]
    Cut(#[source] End),
    #[error("malformed stanza opening line: {}", quote_bytes(.0))]
    Opening(Vec<u8>),
    #[error("malformed stanza: {}", quote_bytes(.0))]
    Arguments(Vec<u8>),
    /// Its last line is full, as old versions wrote it.
    #[error(
        "malformed body line {}: stanza ended without a short line\nnote: this might be a file encrypted with an old beta \
         version of age or rage; use age v1.0.0-beta6 or rage to decrypt it",
        quote_bytes(.0)
    )]
    NoShortLine(Vec<u8>),
    #[error("parsing age header: malformed body line {}: {problem}", quote_bytes(.line))]
    Body {
        line: Vec<u8>,
        #[source]
        problem: CorruptInput,
    },
    #[error("parsing age header: malformed body line {}: too long", quote_bytes(.0))]
    LongBody(Vec<u8>),
}

/// Why no key opens a header.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum FileKeyError {
    /// The only key is not that of a recipient.
    #[error("identity did not match any of the recipients: incorrect identity for recipient block")]
    NoMatch,
    #[error("no identity matched any of the recipients")]
    NoneMatch,
    /// The header was changed.
    #[error("bad header MAC")]
    Mac,
    /// A key is that of a recipient, and does not open what is for it.
    #[error(transparent)]
    Unwrap(#[from] UnwrapError),
}

/// Why a key does not open what is for it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum UnwrapError {
    #[error("plugins of age are not run here")]
    Plugin,
    /// It has other arguments than the kind has.
    #[error("invalid {0} recipient block")]
    Arguments(&'static str),
    #[error("failed to parse {kind} recipient: {problem}")]
    Share {
        kind: &'static str,
        #[source]
        problem: CorruptInput,
    },
    #[error("invalid X25519 recipient: {LOW_ORDER}")]
    LowOrder,
    /// The share of a post-quantum key is not one.
    #[error("invalid mlkem768x25519 recipient: {0}")]
    Encapsulated(&'static str),
    #[error("encrypted value has unexpected length")]
    Length,
    #[error("invalid X25519 recipient block: incorrect file key size")]
    FileKeySize,
    #[error("failed to decrypt file key: chacha20poly1305: message authentication failed")]
    Ed25519,
    #[error("failed to decrypt file key: crypto/rsa: decryption error")]
    Rsa,
}

/// What is wrong with a payload.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum PayloadError {
    #[error(transparent)]
    Cut(#[from] End),
    #[error("last chunk is empty, try age v1.0.0, and please consider reporting this")]
    EmptyChunk,
    #[error("failed to decrypt and authenticate payload chunk, file may be corrupted or tampered with")]
    Chunk,
    #[error("trailing data after end of encrypted file")]
    Trailing,
    /// The armor has a fault after it.
    #[error("non-EOF error reading after end of encrypted file: {0}")]
    Fault(#[source] End),
}
