//! Identities: the private keys of `.agekey` entries, and the decryption of a file with them.

use zeroize::Zeroizing;

use super::armor;
use super::bech32::{self, Bech32Error};
use super::error::{AgeError, FileKeyError, UnwrapError};
use super::header::{self, Header, Stanza};
use super::hybrid::HybridKey;
use super::ssh::{SshKey, SshKeyError};
use super::stream::payload;
use super::unwrap::Unwrap;
use super::x25519::X25519Key;
use bumpwright_gostd::quote;

enum Identity {
    X25519(X25519Key),
    Hybrid(Box<HybridKey>),
    Ssh(SshKey),
    /// A key that needs a plugin.
    Plugin,
}

/// Private age keys. They can be used but not printed.
#[derive(Default)]
pub struct Identities(Vec<Identity>);

/// Why a text has no valid identities, in SOPS' words. Errors do not contain keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// A line that does not begin like a key.
    #[error("failed to parse and add to age identities: unknown identity type")]
    Unknown,
    /// A line with a malformed key.
    #[error("failed to parse and add to age identities: malformed secret key: {0}")]
    Malformed(String),
    /// A private SSH key.
    #[error("failed to parse and add to age identities: {0}")]
    Ssh(#[from] SshKeyError),
}

/// Longer lines end the reading, as with Go's scanner.
const MAX_LINE: usize = 64 * 1024;

const OPENSSH: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";

impl Identities {
    /// Adds the keys of an `.agekey` entry: one a line, apart from empty lines and those with `#`; or
    /// one private SSH key.
    ///
    /// # Errors
    /// For a line that is not a key. The keys before it have not been added.
    pub fn import(&mut self, text: &[u8]) -> Result<(), IdentityError> {
        let text = Zeroizing::new(String::from_utf8_lossy(text).into_owned());
        if text.trim_start().starts_with(OPENSSH) {
            self.0.push(Identity::Ssh(SshKey::read(text.trim_start())?));
            return Ok(());
        }
        let lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        let lines = lines.take_while(|line| line.len() < MAX_LINE);
        let keys = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let mut keys = keys.map(identity).collect::<Result<Vec<_>, _>>()?;
        self.0.append(&mut keys);
        Ok(())
    }

    /// The number of keys.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Decrypts an armored file.
    pub(crate) fn open(&self, text: &str) -> Result<Zeroizing<Vec<u8>>, AgeError> {
        if self.0.is_empty() {
            return Err(AgeError::NoIdentity);
        }
        let mut source = armor::open(text.as_bytes());
        let header = header::read(&mut source)?;
        let file_key = self.file_key(&header)?;
        payload(&mut source, &file_key)
    }

    fn file_key(&self, header: &Header) -> Result<Zeroizing<Vec<u8>>, FileKeyError> {
        // age's own keys are tried before others.
        let is_own = |key: &&Identity| matches!(key, Identity::X25519(_) | Identity::Hybrid(_));
        let (own, others): (Vec<_>, Vec<_>) = self.0.iter().partition(is_own);
        for identity in own.into_iter().chain(others) {
            match identity.unwrap(&header.stanzas) {
                Unwrap::NotMine => {}
                Unwrap::Failed(error) => return Err(error.into()),
                Unwrap::Done(key) if header.is_authentic(&key) => return Ok(key),
                Unwrap::Done(_) => return Err(FileKeyError::Mac),
            }
        }
        Err(match self.0.len() {
            1 => FileKeyError::NoMatch,
            _ => FileKeyError::NoneMatch,
        })
    }
}

impl Identity {
    fn unwrap(&self, stanzas: &[Stanza]) -> Unwrap {
        for stanza in stanzas {
            let result = match self {
                Self::X25519(key) => key.unwrap(stanza),
                Self::Hybrid(key) => key.unwrap(stanza),
                Self::Ssh(key) => key.unwrap(stanza),
                Self::Plugin => Unwrap::Failed(UnwrapError::Plugin),
            };
            if !matches!(result, Unwrap::NotMine) {
                return result;
            }
        }
        Unwrap::NotMine
    }
}

/// The prefix of an age key, before its `1`.
const X25519: &str = "AGE-SECRET-KEY-";

/// The same, of a post-quantum key.
const HYBRID: &str = "AGE-SECRET-KEY-PQ-";

fn identity(line: &str) -> Result<Identity, IdentityError> {
    if line.starts_with("AGE-PLUGIN-") {
        return Ok(Identity::Plugin);
    }
    let is_of = |prefix: &&str| line.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('1'));
    let wanted = [HYBRID, X25519].into_iter().find(is_of).ok_or(IdentityError::Unknown)?;
    let malformed = |error: Bech32Error| IdentityError::Malformed(error.to_string());
    let (prefix, secret) = bech32::decode(line).map_err(malformed)?;
    if prefix != wanted {
        // The prefix may be a part of a damaged key.
        let is_short = prefix.len() < wanted.len() + 8;
        let shown = if is_short {
            quote(prefix)
        } else {
            "<redacted>".to_owned()
        };
        return Err(IdentityError::Malformed(format!("unknown type {shown}")));
    }
    let (key, name) = match wanted {
        HYBRID => (
            HybridKey::new(&secret).map(|key| Identity::Hybrid(Box::new(key))),
            "MLKEM768-X25519",
        ),
        _ => (X25519Key::new(&secret).map(Identity::X25519), "X25519"),
    };
    key.ok_or_else(|| IdentityError::Malformed(format!("invalid {name} secret key")))
}
