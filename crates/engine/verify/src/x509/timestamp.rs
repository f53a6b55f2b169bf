//! Timestamps of RFC 3161: the time at which an authority saw a signature, in a CMS envelope (RFC 5652).

use super::chain::{TIME_STAMPING, verify_chain};
use super::{Certificate, read_time};
use crate::cosign::der::{Der, INTEGER, OCTET_STRING, SEQUENCE, SET};
use crate::digest::Hash;

/// Greatest size of a timestamp in bytes, and greatest number of certificates in it.
const MAX_TIMESTAMP: usize = 256 << 10;
const MAX_CERTIFICATES: usize = 8;
const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
const TST_INFO: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x01, 0x04];
const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03];
const MESSAGE_DIGEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04];
/// Hash functions, and algorithms of signatures that name one.
const HASHES: [(&[u8], Hash); 9] = [
    (&[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01], Hash::Sha256),
    (&[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02], Hash::Sha384),
    (&[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03], Hash::Sha512),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02], Hash::Sha256),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03], Hash::Sha384),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04], Hash::Sha512),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b], Hash::Sha256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c], Hash::Sha384),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d], Hash::Sha512),
];

/// A timestamp: its parts are not verified yet.
pub(crate) struct Timestamp<'a> {
    info: &'a [u8],
    certificates: Vec<Certificate>,
    issuer: &'a [u8],
    serial: &'a [u8],
    hash: Hash,
    signature_hash: Hash,
    attributes: &'a [u8],
    signature: &'a [u8],
    imprint: (Hash, &'a [u8]),
    time: i64,
}

impl<'a> Timestamp<'a> {
    /// Reads the response of an authority.
    pub(crate) fn read_response(der: &'a [u8]) -> Option<Self> {
        let mut response = Der(der).sequence()?;
        let granted = response.sequence()?.element(INTEGER)?;
        matches!(granted, [0 | 1]).then_some(())?;
        Self::read(response.whole(SEQUENCE)?.whole)
    }

    /// Reads a token, which is a response without its status.
    pub(crate) fn read(der: &'a [u8]) -> Option<Self> {
        if der.len() > MAX_TIMESTAMP {
            return None;
        }
        let mut outer = Der(der).sequence()?;
        outer.object().filter(|kind| *kind == SIGNED_DATA)?;
        let mut data = Der(outer.element(0xa0)?).sequence()?;
        data.element(INTEGER)?;
        data.element(SET)?;
        let mut content = data.sequence()?;
        content.object().filter(|kind| *kind == TST_INFO)?;
        let info = Der(content.element(0xa0)?).element(OCTET_STRING)?;
        let mut certificates = Vec::new();
        let mut listed = data.element(0xa0).map(Der);
        while let Some(certificate) = listed.as_mut().and_then(Der::any) {
            if certificates.len() == MAX_CERTIFICATES {
                return None;
            }
            certificates.push(Certificate::read(certificate.whole)?);
        }
        data.element(0xa1);
        let mut signers = Der(data.element(SET)?);
        let mut signer = signers.sequence().filter(|_| signers.is_empty())?;
        signer.element(INTEGER)?;
        let mut identifier = signer.sequence()?;
        let issuer = identifier.whole(SEQUENCE)?.whole;
        let serial = identifier.element(INTEGER)?;
        let hash = hash_of(signer.sequence()?)?;
        let attributes = signer.element(0xa0)?;
        // An algorithm without a hash function, such as that of RSA keys, has that of the digest.
        let signature_hash = hash_of(signer.sequence()?).unwrap_or(hash);
        let signature = signer.element(OCTET_STRING)?;
        let mut parts = Der(info).sequence()?;
        parts.element(INTEGER)?;
        parts.object()?;
        let mut imprint = parts.sequence()?;
        let imprint = (hash_of(imprint.sequence()?)?, imprint.element(OCTET_STRING)?);
        parts.element(INTEGER)?;
        let time = read_time(parts.any()?)?;
        Some(Self {
            info,
            certificates,
            issuer,
            serial,
            hash,
            signature_hash,
            attributes,
            signature,
            imprint,
            time,
        })
    }

    /// The time, if it is of these bytes and an authority with this chain signed it. The chain ends in a root; before
    /// it are intermediates, and first of all the authority's own certificate, unless that is in the timestamp.
    pub(crate) fn verify(&self, stamped: &[u8], chain: &[Certificate]) -> Option<i64> {
        let (hash, imprint) = self.imprint;
        let (root, others) = chain.split_last()?;
        let certificates = others.iter().chain(&self.certificates);
        let of_signer =
            |certificate: &&Certificate| certificate.issuer == self.issuer && certificate.serial == self.serial;
        let signer = certificates.clone().chain([root]).find(of_signer)?;
        let signs = hash.digest(stamped) == imprint && self.attributes_hold() && self.is_signed_by(signer);
        let intermediates: Vec<Certificate> = certificates
            .filter(|certificate| *certificate != signer)
            .cloned()
            .collect();
        let chained = || verify_chain(signer, &intermediates, root, self.time, TIME_STAMPING).is_ok();
        (signs && chained()).then_some(self.time)
    }

    /// Whether the signed attributes are about this content.
    fn attributes_hold(&self) -> bool {
        let value = |wanted: &[u8]| {
            let mut rest = Der(self.attributes);
            let mut attributes = None;
            while let Some(mut attribute) = rest.sequence() {
                if attribute.object() == Some(wanted) {
                    if attributes.is_some() {
                        return None;
                    }
                    attributes = attribute.element(SET);
                }
            }
            attributes
        };
        let kind = value(CONTENT_TYPE).and_then(|set| Der(set).object());
        let digest = value(MESSAGE_DIGEST).and_then(|set| Der(set).element(OCTET_STRING));
        kind == Some(TST_INFO) && digest == Some(&*self.hash.digest(self.info))
    }

    fn is_signed_by(&self, signer: &Certificate) -> bool {
        // What is signed is the set itself, not the tag that it has inside of the envelope (RFC 5652, 5.4).
        let mut set = vec![SET];
        set.extend(length_of(self.attributes.len()));
        set.extend_from_slice(self.attributes);
        let key = signer.public_key();
        key.is_some_and(|key| key.verify_hashed(self.signature_hash, &set, self.signature))
    }
}

fn hash_of(mut algorithm: Der<'_>) -> Option<Hash> {
    let identifier = algorithm.object()?;
    HASHES
        .iter()
        .find(|(known, _)| *known == identifier)
        .map(|(_, hash)| *hash)
}

/// The length of an element, as it is encoded.
pub(crate) fn length_of(length: usize) -> Vec<u8> {
    let bytes = length.to_be_bytes();
    let digits = crate::numbers::plain(&bytes);
    match digits {
        [] => vec![0],
        [short] if *short < 0x80 => vec![*short],
        digits => {
            // Of eight at most.
            [&[0x80 | digits.len() as u8], digits].concat()
        }
    }
}
