//! The input of an age file, and its payload: chunks of 64 KiB, each sealed with its number as the nonce.

use super::error::{AgeError, ArmorError, End, PayloadError};
use bumpwright_text::Parts;
use chacha20poly1305::aead::AeadInOut;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit, Nonce};
use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::Zeroizing;

const CHUNK: usize = 64 * 1024;
pub(super) const TAG: usize = 16;
const NONCE: usize = 16;
const SEALED_CHUNK: usize = CHUNK + TAG;

/// Bytes, and the fault after them.
pub(super) struct Input {
    bytes: Vec<u8>,
    at: usize,
    fault: Option<ArmorError>,
}

impl Input {
    pub(super) const fn new(bytes: Vec<u8>, fault: Option<ArmorError>) -> Self {
        Self { bytes, at: 0, fault }
    }

    pub(super) fn rest(&self) -> &[u8] {
        self.bytes.part(self.at..)
    }

    /// Reads a line with its line break; the error is that of the end of the input.
    pub(super) fn line(&mut self) -> Result<Vec<u8>, End> {
        let end = self.rest().iter().position(|byte| *byte == b'\n');
        end.and_then(|at| self.take(at + 1)).ok_or_else(|| self.end(End::Eof))
    }

    /// The error of reading on.
    pub(super) fn end(&self, eof: End) -> End {
        self.fault.clone().map_or(eof, End::Armor)
    }

    pub(super) const fn has_fault(&self) -> bool {
        self.fault.is_some()
    }

    fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        let taken = self.rest().get(..count)?.to_vec();
        self.at += count;
        Some(taken)
    }
}

/// Decrypts the payload after the header.
pub(super) fn payload(input: &mut Input, file_key: &[u8]) -> Result<Zeroizing<Vec<u8>>, AgeError> {
    let Some(nonce) = input.take(NONCE) else {
        let eof = if input.rest().is_empty() { End::Eof } else { End::Cut };
        return Err(AgeError::Nonce(input.end(eof)));
    };
    let mut key = Zeroizing::new([0; 32]);
    // HKDF always has room for 32 bytes.
    let _ = Hkdf::<Sha256>::new(Some(&nonce), file_key).expand(b"payload", &mut *key);
    let cipher = ChaCha20Poly1305::new((&*key).into());
    Ok(chunks(input, &cipher)?)
}

fn chunks(input: &Input, cipher: &ChaCha20Poly1305) -> Result<Zeroizing<Vec<u8>>, PayloadError> {
    let mut out = Zeroizing::new(Vec::with_capacity(input.rest().len()));
    let mut rest = input.rest();
    let mut number = 0_u64;
    loop {
        let whole = rest.len() >= SEALED_CHUNK;
        let (chunk, behind) = rest.split_at(rest.len().min(SEALED_CHUNK));
        rest = behind;
        if !whole {
            if input.has_fault() || chunk.is_empty() {
                return Err(input.end(End::Cut).into());
            }
            if number > 0 && chunk.len() == TAG {
                return Err(PayloadError::EmptyChunk);
            }
        }
        let mut last = !whole;
        let mut plain = open(cipher, number, last, chunk);
        if plain.is_none() && !last {
            last = true;
            plain = open(cipher, number, last, chunk);
        }
        let plain = plain.ok_or(PayloadError::Chunk)?;
        out.extend_from_slice(&plain);
        if last {
            return match (rest.is_empty(), &input.fault) {
                (false, _) => Err(PayloadError::Trailing),
                (true, Some(fault)) => Err(PayloadError::Fault(fault.clone().into())),
                (true, None) => Ok(out),
            };
        }
        number += 1;
    }
}

fn open(cipher: &ChaCha20Poly1305, number: u64, last: bool, chunk: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut nonce = [0; 12];
    let (_, counter) = nonce.split_at_mut(3);
    let (counter, flag) = counter.split_at_mut(8);
    counter.copy_from_slice(&number.to_be_bytes());
    flag.fill(u8::from(last));
    open_once(cipher, &nonce, chunk)
}

/// Decrypts a sealed message.
pub(super) fn open_once(cipher: &ChaCha20Poly1305, nonce: &[u8; 12], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let bare = sealed.len().checked_sub(TAG)?;
    let (message, tag) = sealed.split_at_checked(bare)?;
    let mut message = Zeroizing::new(message.to_vec());
    let tag = tag.try_into().ok()?;
    let buffer = message.as_mut_slice().into();
    cipher
        .decrypt_inout_detached(&Nonce::from(*nonce), b"", buffer, &tag)
        .ok()?;
    Some(message)
}
