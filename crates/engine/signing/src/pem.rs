//! PEM of private keys of OpenSSH and OpenSSL, including the older encryption of blocks (RFC 1421).

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeDecrypt, KeyIvInit};
use zeroize::Zeroizing;

use super::SigningError;
use bumpwright_secret::Secret;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A block of PEM.
pub(super) struct Pem {
    /// The label after `BEGIN`.
    pub(super) label: String,
    /// `DEK-Info`, if the block is encrypted.
    encryption: Option<String>,
    bytes: Zeroizing<Vec<u8>>,
}

impl Pem {
    /// The first block of a text. Blanks around lines come from YAML and from copying.
    pub(super) fn first(text: &Secret) -> Result<Self, SigningError> {
        let mut lines = text.expose().lines().map(str::trim);
        let label = lines.find_map(label).ok_or(SigningError::NoPem)?.to_owned();
        let end = format!("-----END {label}-----");
        let mut encryption = None;
        let mut body = Zeroizing::new(String::with_capacity(text.expose().len()));
        loop {
            let line = lines.next().ok_or(SigningError::NoPem)?;
            if line == end {
                break;
            }
            match line.split_once(':') {
                Some(("DEK-Info", value)) => encryption = Some(value.trim().to_owned()),
                Some(_) => {}
                None => body.push_str(line),
            }
        }
        let bytes = BASE64.decode(body.as_bytes()).map_err(|_| SigningError::DamagedSsh)?;
        Ok(Self {
            label,
            encryption,
            bytes: Zeroizing::new(bytes),
        })
    }

    /// The content of the block, decrypted if necessary.
    pub(super) fn content(self, passphrase: Option<&Secret>) -> Result<Zeroizing<Vec<u8>>, SigningError> {
        let Some(encryption) = &self.encryption else {
            return Ok(self.bytes);
        };
        let passphrase = passphrase.ok_or(SigningError::PassphraseMissing)?;
        let unsupported = || SigningError::UnsupportedPem {
            label: format!("{}, not encrypted with AES-CBC", self.label),
        };
        let (cipher, iv) = encryption.split_once(',').ok_or_else(unsupported)?;
        let iv = hex(iv).ok_or_else(unsupported)?;
        let salt = iv.get(..8).ok_or_else(unsupported)?;
        let key = |length| derive(passphrase, salt, length);
        let mut buffer = self.bytes.clone();
        let plain = match cipher {
            "AES-128-CBC" => decrypt(
                cbc::Decryptor::<aes::Aes128>::new_from_slices(&key(16), &iv),
                &mut buffer,
            ),
            "AES-192-CBC" => decrypt(
                cbc::Decryptor::<aes::Aes192>::new_from_slices(&key(24), &iv),
                &mut buffer,
            ),
            "AES-256-CBC" => decrypt(
                cbc::Decryptor::<aes::Aes256>::new_from_slices(&key(32), &iv),
                &mut buffer,
            ),
            _ => return Err(unsupported()),
        };
        // A key begins like ASN.1; otherwise the passphrase was wrong and the padding valid by chance.
        plain
            .filter(|plain| plain.first() == Some(&0x30))
            .ok_or(SigningError::WrongSshPassphrase)
    }

    /// Whether it has the older encryption.
    pub(super) fn is_encrypted(&self) -> bool {
        self.encryption.is_some()
    }
}

/// The label in the first line of a block.
fn label(line: &str) -> Option<&str> {
    let label = line.strip_prefix("-----BEGIN ")?.strip_suffix("-----")?;
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == ' ';
    (label.len() <= 40 && label.chars().all(plain)).then_some(label)
}

/// OpenSSL's `EVP_BytesToKey` with MD5 and one round.
fn derive(passphrase: &Secret, salt: &[u8], length: usize) -> Zeroizing<Vec<u8>> {
    let mut key = Zeroizing::new(Vec::with_capacity(48));
    let mut last: Zeroizing<Vec<u8>> = Zeroizing::default();
    while key.len() < length {
        let mut hash = md5::Context::new();
        hash.consume(last.as_slice());
        hash.consume(passphrase.expose());
        hash.consume(salt);
        last = Zeroizing::new(hash.finalize().0.to_vec());
        key.extend_from_slice(&last);
    }
    key.truncate(length);
    key
}

fn decrypt<C: BlockModeDecrypt, E>(cipher: Result<C, E>, buffer: &mut [u8]) -> Option<Zeroizing<Vec<u8>>> {
    let plain = cipher.ok()?.decrypt_padded::<Pkcs7>(buffer).ok()?;
    Some(Zeroizing::new(plain.to_vec()))
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    Some(
        pairs
            .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
            .collect(),
    )
}
