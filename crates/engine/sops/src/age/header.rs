//! The header of an age file: the file key wrapped for each recipient, and a MAC over all of it.

use super::stream::Input;
use super::strict_base64;
use bumpwright_gostd::quote_bytes;
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

/// A parsed header.
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

/// Parses a header; errors are in age's words.
pub(super) fn read(input: &mut Input) -> Result<Header, String> {
    const PARSING: &str = "parsing age header: ";
    let intro = input.line().map_err(|end| {
        if end == "EOF" {
            format!("{PARSING}file is empty")
        } else {
            format!("{PARSING}failed to read intro: {end}")
        }
    })?;
    if intro != INTRO {
        return Err(format!("{PARSING}unexpected intro: {}", quote_bytes(&intro)));
    }
    let mut authenticated = intro;
    let mut stanzas = Vec::new();
    loop {
        if input.rest().len() < FOOTER.len() {
            return Err(format!("{PARSING}failed to read header: {}", input.end("EOF")));
        }
        if input.rest().starts_with(FOOTER) {
            let line = input.line().map_err(|end| format!("failed to read header: {end}"))?;
            authenticated.extend_from_slice(FOOTER);
            let mac = mac_of(&line).map_err(|error| format!("{PARSING}{error}"))?;
            return Ok(Header {
                stanzas,
                authenticated,
                mac,
            });
        }
        let stanza = stanza(input, &mut authenticated);
        stanzas.push(stanza.map_err(|error| format!("failed to parse header: {error}"))?);
    }
}

fn split(line: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let mut parts = line.split(|byte| *byte == b' ');
    (parts.next().unwrap_or_default(), parts.collect())
}

fn mac_of(line: &[u8]) -> Result<Vec<u8>, String> {
    let (prefix, arguments) = split(line);
    let [argument] = arguments.as_slice() else {
        return Err(format!("malformed closing line: {}", quote_bytes(line)));
    };
    if prefix != FOOTER {
        return Err(format!("malformed closing line: {}", quote_bytes(line)));
    }
    let malformed = |why: &str| format!("malformed closing line {}: {why}", quote_bytes(line));
    let mac = strict_base64(argument, false).map_err(|error| malformed(&error))?;
    if mac.len() == 32 {
        Ok(mac)
    } else {
        Err(malformed("%!v(<nil>)"))
    }
}

fn stanza(input: &mut Input, authenticated: &mut Vec<u8>) -> Result<Stanza, String> {
    let read_line = |input: &mut Input| input.line().map_err(|end| format!("failed to read line: {end}"));
    let line = read_line(input)?;
    if !line.starts_with(STANZA) {
        return Err(format!("malformed stanza opening line: {}", quote_bytes(&line)));
    }
    let (prefix, arguments) = split(&line);
    let printable = |text: &&[u8]| !text.is_empty() && text.iter().all(|byte| (33..=126).contains(byte));
    if prefix != STANZA || arguments.is_empty() || !arguments.iter().all(printable) {
        return Err(format!("malformed stanza: {}", quote_bytes(&line)));
    }
    let mut arguments = arguments
        .into_iter()
        .map(|text| String::from_utf8_lossy(text).into_owned());
    let kind = arguments.next().unwrap_or_default();
    let arguments = arguments.collect();
    authenticated.extend_from_slice(&line);
    let mut body = Vec::new();
    loop {
        let line = read_line(input)?;
        let malformed = |why: &str| format!("malformed body line {}: {why}", quote_bytes(&line));
        let bytes = strict_base64(line.strip_suffix(b"\n").unwrap_or(&line), false).map_err(|error| {
            if line.starts_with(FOOTER) || line.starts_with(STANZA) {
                malformed(
                    "stanza ended without a short line\nnote: this might be a file encrypted with an old beta version \
                     of age or rage; use age v1.0.0-beta6 or rage to decrypt it",
                )
            } else {
                format!("parsing age header: {}", malformed(&error))
            }
        })?;
        if bytes.len() > BYTES_PER_LINE {
            return Err(format!("parsing age header: {}", malformed("too long")));
        }
        authenticated.extend_from_slice(&line);
        body.extend_from_slice(&bytes);
        if bytes.len() < BYTES_PER_LINE {
            return Ok(Stanza { kind, arguments, body });
        }
    }
}
