//! X.509 certificates: what is read from them, and chains to an authority.

mod chain;
mod time;
mod timestamp;

use crate::cosign::der::{Der, INTEGER, OCTET_STRING, SEQUENCE};
use crate::cosign::public_key::PublicKey;
pub use chain::ChainError;
pub(crate) use chain::{CODE_SIGNING, verify_chain, verify_signing_chain};
pub(crate) use time::read_time;
pub(crate) use timestamp::{Timestamp, length_of};

/// Greatest size of a certificate in bytes.
const MAX_CERTIFICATE: usize = 64 << 10;
const BOOLEAN: u8 = 1;
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];
/// `otherName` with the name of a user at Fulcio: 1.3.6.1.4.1.57264.1.7.
const USER_NAME: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xbf, 0x30, 0x01, 0x07];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificate {
    pub(crate) der: Vec<u8>,
    /// What its authority signed.
    pub(crate) signed: Vec<u8>,
    /// The serial number, as it is encoded.
    pub(crate) serial: Vec<u8>,
    /// The issuer's name, as it is encoded.
    pub(crate) issuer: Vec<u8>,
    /// The owner's name, as it is encoded.
    pub(crate) subject: Vec<u8>,
    /// Seconds since 1970 of the first and the last moment at which it is valid.
    pub(crate) validity: (i64, i64),
    /// The public key, as it is encoded.
    pub(crate) key: Vec<u8>,
    /// Identifiers and values.
    pub(crate) extensions: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Certificate {
    pub(crate) fn read(der: &[u8]) -> Option<Self> {
        let mut outer = Der(der);
        let mut whole = outer
            .sequence()
            .filter(|_| outer.is_empty() && der.len() <= MAX_CERTIFICATE)?;
        let signed = whole.whole(SEQUENCE)?;
        whole.sequence()?;
        whole.bits().filter(|_| whole.is_empty())?;
        let mut parts = Der(signed.content);
        parts.element(0xa0);
        let serial = parts.element(INTEGER)?.to_vec();
        parts.sequence()?;
        let issuer = parts.whole(SEQUENCE)?.whole.to_vec();
        let mut validity = parts.sequence()?;
        let validity = (read_time(validity.any()?)?, read_time(validity.any()?)?);
        let subject = parts.whole(SEQUENCE)?.whole.to_vec();
        let key = parts.whole(SEQUENCE)?.whole.to_vec();
        // Unique identifiers of issuer and owner.
        parts.element(0x81);
        parts.element(0x82);
        let extensions = match parts.element(0xa3) {
            Some(list) => extensions(list)?,
            None => Vec::new(),
        };
        parts.is_empty().then(|| Self {
            der: der.to_vec(),
            signed: signed.whole.to_vec(),
            serial,
            issuer,
            subject,
            validity,
            key,
            extensions,
        })
    }

    /// The value of an extension.
    pub(crate) fn extension(&self, identifier: &[u8]) -> Option<&[u8]> {
        let extension = self.extensions.iter().find(|(known, _)| known == identifier);
        extension.map(|(_, value)| value.as_slice())
    }

    pub(crate) fn public_key(&self) -> Option<PublicKey> {
        PublicKey::from_der(&self.key)
    }

    /// The alternative names of its owner that are text: email addresses, URIs, DNS names, and names
    /// of users at Fulcio.
    pub(crate) fn subjects(&self) -> Vec<String> {
        let names = self.extension(SUBJECT_ALT_NAME).and_then(|value| Der(value).sequence());
        let Some(mut names) = names else { return Vec::new() };
        let mut subjects = Vec::new();
        while let Some(name) = names.any() {
            let text = match name.tag {
                0x81 | 0x82 | 0x86 => Some(name.content),
                0xa0 => user_name(Der(name.content)),
                _ => None,
            };
            subjects.extend(text.and_then(|text| String::from_utf8(text.to_vec()).ok()));
        }
        subjects
    }
}

fn user_name(mut name: Der<'_>) -> Option<&[u8]> {
    name.object().filter(|kind| *kind == USER_NAME)?;
    Der(name.element(0xa0)?).element(0x0c)
}

fn extensions(list: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut outer = Der(list);
    let mut rest = outer.sequence().filter(|_| outer.is_empty())?;
    let mut extensions: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    while !rest.is_empty() {
        let mut extension = rest.sequence()?;
        let identifier = extension.object()?.to_vec();
        extension.element(BOOLEAN);
        let value = extension.element(OCTET_STRING).filter(|_| extension.is_empty())?;
        // Two values for one extension would leave open which one counts.
        if extensions.iter().any(|(known, _)| *known == identifier) {
            return None;
        }
        extensions.push((identifier, value.to_vec()));
    }
    Some(extensions)
}
