//! The header of an age file: the file key wrapped for each recipient, and a MAC over all of it.

use super::error::{End, HeaderError, StanzaError};
use super::stream::Input;
use super::strict_base64;
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

const INTRO: &[u8] = b"age-encryption.org/v1\n";
const STANZA: &[u8] = b"->";
const FOOTER: &[u8] = b"---";
const BYTES_PER_LINE: usize = 48;

/// The file key wrapped for one recipient.
pub(super) struct Stanza {
    pub(super) kind: String,
    pub(super) arguments: Vec<String>,
    pub(super) body: Vec<u8>,
}

pub(super) struct Header {
    pub(super) stanzas: Vec<Stanza>,
    /// The bytes that the MAC covers.
    authenticated: Vec<u8>,
    mac: Vec<u8>,
}

impl Header {
    /// Whether the MAC matches the file key.
    pub(super) fn is_authentic(&self, file_key: &[u8]) -> bool {
        let mut key = Zeroizing::new([0; 32]);
        // HKDF always has room for 32 bytes.
        let _ = Hkdf::<Sha256>::new(None, file_key).expand(b"header", &mut *key);
        Hmac::<Sha256>::new_from_slice(&*key)
            .is_ok_and(|mac| mac.chain_update(&self.authenticated).verify_slice(&self.mac).is_ok())
    }
}

pub(super) fn read(input: &mut Input) -> Result<Header, HeaderError> {
    let intro = input.line().map_err(|end| match end {
        End::Eof => HeaderError::Empty,
        end => HeaderError::NoIntro(end),
    })?;
    if intro != INTRO {
        return Err(HeaderError::Intro(intro));
    }
    let mut authenticated = intro;
    let mut stanzas = Vec::new();
    loop {
        if input.rest().len() < FOOTER.len() {
            return Err(HeaderError::Cut(input.end(End::Eof)));
        }
        if input.rest().starts_with(FOOTER) {
            let line = input.line().map_err(HeaderError::ClosingCut)?;
            authenticated.extend_from_slice(FOOTER);
            let mac = mac_of(&line)?;
            return Ok(Header {
                stanzas,
                authenticated,
                mac,
            });
        }
        stanzas.push(stanza(input, &mut authenticated)?);
    }
}

/// The words of a line.
fn words(line: &[u8]) -> Vec<&[u8]> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.split(|byte| *byte == b' ').collect()
}

fn mac_of(line: &[u8]) -> Result<Vec<u8>, HeaderError> {
    let [FOOTER, argument] = words(line)[..] else {
        return Err(HeaderError::Closing(line.to_vec()));
    };
    let mac = strict_base64(argument, false).map_err(|problem| HeaderError::Mac {
        line: line.to_vec(),
        problem,
    })?;
    if mac.len() == 32 {
        Ok(mac)
    } else {
        Err(HeaderError::MacSize(line.to_vec()))
    }
}

fn stanza(input: &mut Input, authenticated: &mut Vec<u8>) -> Result<Stanza, StanzaError> {
    let line = input.line().map_err(StanzaError::Cut)?;
    if !line.starts_with(STANZA) {
        return Err(StanzaError::Opening(line));
    }
    let printable = |text: &&[u8]| !text.is_empty() && text.iter().all(|byte| (33..=126).contains(byte));
    let text = |text: &&[u8]| String::from_utf8_lossy(text).into_owned();
    let (kind, arguments) = match &words(&line)[..] {
        [STANZA, kind, arguments @ ..] if printable(kind) && arguments.iter().all(printable) => {
            (text(kind), arguments.iter().map(text).collect())
        }
        _ => return Err(StanzaError::Arguments(line)),
    };
    authenticated.extend_from_slice(&line);
    let mut body = Vec::new();
    loop {
        let line = input.line().map_err(StanzaError::Cut)?;
        let bytes = match strict_base64(line.strip_suffix(b"\n").unwrap_or(&line), false) {
            Ok(bytes) => bytes,
            Err(_) if line.starts_with(FOOTER) || line.starts_with(STANZA) => {
                return Err(StanzaError::NoShortLine(line));
            }
            Err(problem) => return Err(StanzaError::Body { line, problem }),
        };
        if bytes.len() > BYTES_PER_LINE {
            return Err(StanzaError::LongBody(line));
        }
        authenticated.extend_from_slice(&line);
        body.extend_from_slice(&bytes);
        if bytes.len() < BYTES_PER_LINE {
            return Ok(Stanza { kind, arguments, body });
        }
    }
}
