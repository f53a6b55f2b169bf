//! The tokens of a Secret, by provider.

use std::collections::BTreeMap;
use std::fmt;

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::Provider;

/// The tokens that authenticate requests.
///
/// Entries of the Secret are called `PROVIDER` or `PROVIDER.LABEL`. Each is a token; all of a provider are valid, so
/// that one can be rotated without a gap. `Debug` shows only their number.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Tokens {
    of: BTreeMap<Provider, Vec<Token>>,
}

/// A token, and its digest for paths.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) bytes: Zeroizing<Vec<u8>>,
    digest: String,
}

/// An invalid entry of the Secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEntry {
    /// Its name is not a provider's.
    #[error(
        "the entry {entry:?} of the Secret {namespace}/{secret} is of no known provider; call it PROVIDER or PROVIDER.LABEL with one of: {}",
        Provider::names()
    )]
    Name {
        entry: String,
        /// The namespace of the Secret.
        namespace: String,
        /// The name of the Secret.
        secret: String,
    },
    #[error("the entry {entry:?} of the Secret {namespace}/{secret} is empty; put a long random token there")]
    Empty {
        entry: String,
        /// The namespace of the Secret.
        namespace: String,
        /// The name of the Secret.
        secret: String,
    },
}

impl Tokens {
    /// Reads the data of a Secret; returns the invalid entries, too. A line break at the end is not part of a token.
    pub fn read<'a>(
        namespace: &str,
        secret: &str,
        data: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> (Self, Vec<InvalidEntry>) {
        let (mut tokens, mut invalid) = (Self::default(), Vec::new());
        for (entry, value) in data {
            let name = entry.split_once('.').map_or(entry, |(provider, _label)| provider);
            let token = without_line_break(value);
            let (entry, namespace, secret) = (entry.to_owned(), namespace.to_owned(), secret.to_owned());
            match Provider::named(name) {
                None => invalid.push(InvalidEntry::Name {
                    entry,
                    namespace,
                    secret,
                }),
                Some(_) if token.is_empty() => invalid.push(InvalidEntry::Empty {
                    entry,
                    namespace,
                    secret,
                }),
                Some(provider) => {
                    let token = Token::new(token, &secret, &namespace);
                    tokens.of.entry(provider).or_default().push(token);
                }
            }
        }
        (tokens, invalid)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The paths with the digests of tokens, for senders that cannot sign: `/hook/dockerhub/9f86…`. They are secret.
    pub fn paths(&self, provider: Provider) -> impl Iterator<Item = String> {
        self.of(provider)
            .iter()
            .map(move |token| format!("{}{provider}/{}", super::bounds::PATH_PREFIX, token.digest()))
    }

    pub(crate) fn of(&self, provider: Provider) -> &[Token] {
        self.of.get(&provider).map_or(&[], Vec::as_slice)
    }
}

impl Token {
    /// The digest is made like that of notification-controller's `Receiver`, with the Secret in place of the Receiver.
    fn new(bytes: &[u8], secret: &str, namespace: &str) -> Self {
        let digest = Sha256::new()
            .chain_update(bytes)
            .chain_update(secret)
            .chain_update(namespace);
        let digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let bytes = Zeroizing::new(bytes.to_vec());
        Self { bytes, digest }
    }

    /// SHA-256 over token, name of the Secret and its namespace, in lower-case hexadecimal digits.
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.of.iter().map(|(provider, tokens)| (provider, tokens.len())))
            .finish()
    }
}

fn without_line_break(value: &[u8]) -> &[u8] {
    let value = value.strip_suffix(b"\n").unwrap_or(value);
    value.strip_suffix(b"\r").unwrap_or(value)
}
