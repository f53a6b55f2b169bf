//! The subpackets of a signature by the rules of go-crypto v1.4.1 (`packet/signature.go`): which are read in which
//! area, which signatures are ignored, and when a signature has expired.

use sequoia_openpgp as pgp;

use pgp::packet::Signature;
use pgp::packet::signature::subpacket::{Subpacket, SubpacketValue};
use pgp::types::ReasonForRevocation;
use pgp::{Fingerprint, KeyID};

/// Subpackets that go-crypto supports; others must not be critical.
const KNOWN: [u8; 23] = [
    2, 3, 4, 5, 6, 9, 11, 16, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 32, 33, 35, 39,
];

/// The subpackets of a signature. Times are in seconds; points in time since 1970-01-01 UTC.
#[derive(Clone, Debug, Default)]
pub(super) struct Details {
    pub(super) made: i64,
    lifetime: Option<i64>,
    pub(super) key_lifetime: Option<i64>,
    issuer: Option<KeyID>,
    issuer_fingerprint: Option<Fingerprint>,
    /// Whether the key may make signatures; `None` without key flags.
    pub(super) may_sign: Option<bool>,
    pub(super) is_primary_id: bool,
    compromised: bool,
    pub(super) critical_notation: bool,
    pub(super) embedded: Option<Box<Signature>>,
}

/// Why a signature packet has no [`Details`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    /// The packet is ignored.
    Unsupported,
    /// The key that it is part of is invalid.
    Structural(&'static str),
}

impl Details {
    /// Reads the hashed and the unhashed area.
    pub(super) fn of(signature: &Signature) -> Result<Self, Unusable> {
        if signature.version() != 4 {
            return Err(Unusable::Unsupported);
        }
        let mut details = Self::default();
        let mut created = None;
        for subpacket in signature.hashed_area().iter() {
            details.hashed(subpacket, &mut created)?;
        }
        details.made = created.ok_or(Unusable::Structural("no creation time in signature"))?;
        for subpacket in signature.unhashed_area().iter() {
            details.anywhere(subpacket)?;
        }
        Ok(details)
    }

    fn hashed(&mut self, subpacket: &Subpacket, made: &mut Option<i64>) -> Result<(), Unusable> {
        if subpacket.critical() && !KNOWN.contains(&subpacket.tag().into()) {
            return Err(Unusable::Unsupported);
        }
        match subpacket.value() {
            SubpacketValue::SignatureCreationTime(time) => *made = Some(i64::from(u32::from(*time))),
            SubpacketValue::SignatureExpirationTime(time) => self.lifetime = Some(i64::from(u32::from(*time))),
            SubpacketValue::KeyExpirationTime(time) => self.key_lifetime = Some(i64::from(u32::from(*time))),
            SubpacketValue::ExportableCertification(false) => return Err(Unusable::Unsupported),
            SubpacketValue::PrimaryUserID(primary) => self.is_primary_id = *primary,
            SubpacketValue::KeyFlags(flags) => {
                self.may_sign = Some(self.may_sign.unwrap_or(false) || flags.for_signing());
            }
            SubpacketValue::ReasonForRevocation { code, .. } => {
                self.compromised = *code == ReasonForRevocation::KeyCompromised;
            }
            SubpacketValue::NotationData(_) => self.critical_notation |= subpacket.critical(),
            _ => {}
        }
        self.anywhere(subpacket)
    }

    /// Reads a subpacket that need not be hashed: a hint, or signed by itself.
    fn anywhere(&mut self, subpacket: &Subpacket) -> Result<(), Unusable> {
        match subpacket.value() {
            SubpacketValue::Issuer(id) => self.issuer = Some(id.clone()),
            SubpacketValue::IssuerFingerprint(fingerprint) => {
                self.issuer = Some(fingerprint.into());
                self.issuer_fingerprint = Some(fingerprint.clone());
            }
            SubpacketValue::EmbeddedSignature(signature) => {
                if self.embedded.is_some() {
                    return Err(Unusable::Structural("Cannot have multiple embedded signatures"));
                }
                self.embedded = Some(Box::new(signature.clone()));
            }
            _ => {}
        }
        Ok(())
    }

    /// The id of the issuer.
    pub(super) const fn issuer(&self) -> Option<&KeyID> {
        self.issuer.as_ref()
    }

    /// Whether the issuer is this key.
    pub(super) fn is_of(&self, fingerprint: &Fingerprint) -> bool {
        match (&self.issuer_fingerprint, &self.issuer) {
            (Some(said), _) => said == fingerprint,
            (None, Some(said)) => *said == KeyID::from(fingerprint),
            (None, None) => false,
        }
    }

    /// Whether the signature is made in the future, or has expired, at `now`.
    pub(super) fn has_expired(&self, now: i64) -> bool {
        self.made > now || outlived(self.made, self.lifetime, now)
    }

    /// Whether a revocation is valid at `now`. One for a compromised key always is.
    pub(super) fn revokes(&self, now: i64) -> bool {
        self.compromised || !self.has_expired(now)
    }
}

/// Whether a lifetime that begins at `made` has ended before `now`. Zero is unlimited.
pub(super) fn outlived(made: i64, lifetime: Option<i64>, now: i64) -> bool {
    lifetime.is_some_and(|lifetime| lifetime != 0 && now > made.saturating_add(lifetime))
}
