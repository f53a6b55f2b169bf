//! A key with its self-signed user ids and subkeys, as go-crypto v1.4.1 checks them (`openpgp/keys.go`), and the
//! validity of its signatures.

use sequoia_openpgp as pgp;

use pgp::crypto::hash::{Context, Hash as _};
use pgp::packet::key::{KeyParts, KeyRole};
use pgp::packet::{Key, Packet, Signature, UserID};
use pgp::types::SignatureType;
use pgp::{Fingerprint, KeyID};

use super::asymmetric;
use super::details::{Details, Unusable, outlived};
use super::keyring::{Primary, RingError, Subordinate, primary, structural, subordinate};
use bumpwright_text::Parts;

/// Greatest cost of checking the signatures of one key ([`asymmetric::cost`]): some seconds. Real
/// keys cost some dozens.
const MAX_COST: usize = 4_000;

/// A user id with the signatures of its key.
struct Identity {
    name: Vec<u8>,
    signature: Option<Details>,
    revocations: Vec<Details>,
}

/// A subkey with the signatures of its primary key.
struct Subkey {
    key: Subordinate,
    binding: Details,
    revocations: Vec<Details>,
}

/// A key with valid self-signatures.
pub(super) struct Entity {
    primary: Primary,
    identities: Vec<Identity>,
    subkeys: Vec<Subkey>,
    revocations: Vec<Details>,
}

impl Entity {
    /// The key id: 16 hexadecimal digits.
    pub(super) fn id(&self) -> String {
        self.primary.keyid().to_hex()
    }

    pub(super) fn read(packets: &[Packet]) -> Result<Self, RingError> {
        let Some(primary) = packets.first().and_then(primary) else {
            return structural("first packet was not a public/private key");
        };
        let mut builder = EntityBuilder {
            fingerprint: primary.fingerprint(),
            entity: Self {
                primary,
                identities: Vec::new(),
                subkeys: Vec::new(),
                revocations: Vec::new(),
            },
            cost: 0,
        };
        let mut rest = packets.tail(1);
        while let Some((packet, after)) = rest.split_first() {
            // A signed packet precedes its signatures.
            let length = after.iter().take_while(|packet| is_beside(packet)).count();
            let (signatures, next) = after.split_at_checked(length).unwrap_or((after, &[]));
            match packet {
                Packet::UserID(id) => builder.user_id(id, signatures)?,
                Packet::Signature(signature) => builder.revocation(signature)?,
                Packet::PublicSubkey(_) | Packet::SecretSubkey(_) => builder.subkey(packet, signatures)?,
                _ => {}
            }
            rest = if matches!(packet, Packet::Signature(_)) {
                after
            } else {
                next
            };
        }
        if builder.entity.identities.is_empty() {
            return structural("v4 entity without any identities");
        }
        Ok(builder.entity)
    }

    /// The primary user id.
    fn primary_identity(&self) -> Option<&Identity> {
        self.identities.iter().reduce(|best, other| {
            let better = other.revocations.len() < best.revocations.len()
                || (other.revocations.len() == best.revocations.len() && other.rank() > best.rank());
            if better { other } else { best }
        })
    }

    /// The primary key or subkey with this id, if it may sign.
    pub(super) fn signer(&self, id: &KeyID) -> Option<Signer<'_>> {
        let identity = self.primary_identity()?;
        let signature = identity.signature.as_ref()?;
        if self.primary.keyid() == *id && signature.may_sign == Some(true) {
            return Some(Signer {
                entity: self,
                identity,
                signature,
                subkey: None,
            });
        }
        let subkey = self.subkeys.iter().find(|subkey| subkey.key.keyid() == *id)?;
        let may_sign = subkey.binding.may_sign == Some(true);
        may_sign.then_some(Signer {
            entity: self,
            identity,
            signature,
            subkey: Some(subkey),
        })
    }
}

impl Identity {
    fn rank(&self) -> Option<(bool, i64)> {
        self.signature
            .as_ref()
            .map(|signature| (signature.is_primary_id, signature.made))
    }
}

/// Whether a packet is a signature, or may precede the signatures of a packet.
const fn is_beside(packet: &Packet) -> bool {
    matches!(
        packet,
        Packet::Signature(_) | Packet::Unknown(_) | Packet::Trust(_) | Packet::Marker(_)
    )
}

/// The primary key or subkey that made a signature.
pub(super) struct Signer<'a> {
    entity: &'a Entity,
    identity: &'a Identity,
    signature: &'a Details,
    subkey: Option<&'a Subkey>,
}

impl Signer<'_> {
    /// Whether this key made a signature over a digest.
    pub(super) fn made(&self, signature: &Signature, digest: &[u8]) -> bool {
        match self.subkey {
            Some(subkey) => asymmetric::verify(&subkey.key, signature, digest),
            None => asymmetric::verify(&self.entity.primary, signature, digest),
        }
    }

    /// Whether a signature by this key is valid at `now` (`checkMessageSignatureDetails`): nothing revoked, expired or
    /// made in the future, and no critical notations, none of which is supported.
    pub(super) fn validates(&self, for_it: &Details, now: i64) -> bool {
        let revoked = |revocations: &[Details]| revocations.iter().any(|revocation| revocation.revokes(now));
        let embedded = self.subkey.and_then(|subkey| subkey.binding.embedded.as_ref());
        let embedded = embedded.map(|signature| Details::of(signature));
        let Ok(embedded) = embedded.transpose() else {
            return false;
        };
        let mut signatures = vec![for_it, self.signature];
        signatures.extend(self.subkey.map(|subkey| &subkey.binding));
        signatures.extend(embedded.as_ref());
        if signatures.iter().any(|signature| signature.critical_notation) {
            return false;
        }
        if revoked(&self.entity.revocations)
            || revoked(&self.identity.revocations)
            || self.subkey.is_some_and(|subkey| revoked(&subkey.revocations))
        {
            return false;
        }
        !key_expired(&self.entity.primary, self.signature, now)
            && self
                .subkey
                .is_none_or(|subkey| !key_expired(&subkey.key, &subkey.binding, now))
            && !signatures.iter().any(|signature| signature.has_expired(now))
    }
}

fn key_expired<P: KeyParts, R: KeyRole>(key: &Key<P, R>, signature: &Details, now: i64) -> bool {
    let since = key.creation_time().duration_since(std::time::UNIX_EPOCH);
    let created = since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    created > now || outlived(created, signature.key_lifetime, now)
}

/// Builds an [`Entity`] packet by packet.
struct EntityBuilder {
    fingerprint: Fingerprint,
    entity: Entity,
    cost: usize,
}

impl EntityBuilder {
    /// Whether `key` made a signature over the data that `hash` hashes.
    fn check<P: KeyParts, R: KeyRole>(
        &mut self,
        key: &Key<P, R>,
        signature: &Signature,
        hash: impl FnOnce(&mut Context) -> pgp::Result<()>,
    ) -> Result<bool, RingError> {
        self.cost = self.cost.saturating_add(asymmetric::cost(key));
        if self.cost > MAX_COST {
            return structural("too many signatures on one key");
        }
        Ok(digest(signature, hash).is_some_and(|digest| asymmetric::verify(key, signature, &digest)))
    }

    fn user_id(&mut self, id: &UserID, signatures: &[Packet]) -> Result<(), RingError> {
        let mut identity = Identity {
            name: id.value().to_vec(),
            signature: None,
            revocations: Vec::new(),
        };
        let mut is_signed = false;
        for (signature, details) in usable(signatures) {
            let details = details?;
            let is_revocation = signature.typ() == SignatureType::CertificationRevocation;
            if !is_revocation && !is_certification(signature.typ()) {
                return structural("user ID signature with wrong type");
            }
            if !details.is_of(&self.fingerprint) {
                continue;
            }
            let primary = self.entity.primary.clone();
            let hash = |context: &mut _| signature.hash_userid_binding(context, &primary, id);
            if !self.check(&primary, signature, hash)? {
                let refusal = asymmetric::refusal(&primary);
                return structural(format!("user ID self-signature invalid: {refusal}"));
            }
            is_signed = true;
            if is_revocation {
                identity.revocations.push(details);
            } else if identity
                .signature
                .as_ref()
                .is_none_or(|known| details.made > known.made)
            {
                identity.signature = Some(details);
            }
        }
        if is_signed {
            self.entity.identities.retain(|known| known.name != identity.name);
            self.entity.identities.push(identity);
        }
        Ok(())
    }

    /// Reads a direct signature, which may revoke the key.
    fn revocation(&mut self, signature: &Signature) -> Result<(), RingError> {
        if signature.typ() != SignatureType::KeyRevocation {
            return Ok(());
        }
        let details = match Details::of(signature) {
            Ok(details) => details,
            Err(Unusable::Unsupported) => return Ok(()),
            Err(Unusable::Structural(what)) => return structural(what),
        };
        let primary = self.entity.primary.clone();
        let hash = |context: &mut _| signature.hash_direct_key(context, &primary);
        if !self.check(&primary, signature, hash)? {
            return structural("revocation signature signed by alternate key");
        }
        self.entity.revocations.push(details);
        Ok(())
    }

    fn subkey(&mut self, packet: &Packet, signatures: &[Packet]) -> Result<(), RingError> {
        let Some(key) = subordinate(packet) else { return Ok(()) };
        let mut binding: Option<Details> = None;
        let mut revocations = Vec::new();
        for (signature, details) in usable(signatures) {
            let details = details?;
            let is_revocation = signature.typ() == SignatureType::SubkeyRevocation;
            if !is_revocation && signature.typ() != SignatureType::SubkeyBinding {
                return structural("subkey signature with wrong type");
            }
            let primary = self.entity.primary.clone();
            let hash = |context: &mut _| signature.hash_subkey_binding(context, &primary, &key);
            if !self.check(&primary, signature, hash)? {
                let refusal = asymmetric::refusal(&primary);
                return structural(format!("subkey signature invalid: {refusal}"));
            }
            self.crossed(&key, &details)?;
            if is_revocation {
                revocations.push(details);
            } else if binding.as_ref().is_none_or(|known| details.made > known.made) {
                binding = Some(details);
            }
        }
        let Some(binding) = binding else {
            return structural("subkey packet not followed by signature");
        };
        self.entity.subkeys.push(Subkey {
            key,
            binding,
            revocations,
        });
        Ok(())
    }

    /// Checks that a signing subkey has signed its binding to the primary key.
    fn crossed(&mut self, key: &Subordinate, details: &Details) -> Result<(), RingError> {
        if details.may_sign != Some(true) {
            return Ok(());
        }
        let Some(embedded) = &details.embedded else {
            return structural(format!("{CROSS}signing subkey is missing cross-signature"));
        };
        let primary = self.entity.primary.clone();
        let hash = |context: &mut _| embedded.hash_primary_key_binding(context, &primary, key);
        if self.check(key, embedded, hash)? {
            Ok(())
        } else {
            let refusal = asymmetric::refusal(key);
            structural(format!("{CROSS}error while verifying cross-signature: {refusal}"))
        }
    }
}

/// Prefix of go-crypto's messages about the signature of a subkey over its primary key.
const CROSS: &str = "subkey signature invalid: openpgp: invalid data: ";

const fn is_certification(kind: SignatureType) -> bool {
    matches!(
        kind,
        SignatureType::GenericCertification
            | SignatureType::PersonaCertification
            | SignatureType::CasualCertification
            | SignatureType::PositiveCertification
    )
}

/// The signatures that are not ignored.
fn usable(packets: &[Packet]) -> impl Iterator<Item = (&Signature, Result<Details, RingError>)> {
    packets.iter().filter_map(|packet| {
        let Packet::Signature(signature) = packet else {
            return None;
        };
        asymmetric::hash(signature.hash_algo())?;
        match Details::of(signature) {
            Ok(details) => Some((signature, Ok(details))),
            Err(Unusable::Unsupported) => None,
            Err(Unusable::Structural(what)) => Some((signature, structural(what))),
        }
    })
}

/// The digest of a signature; `hash` adds the data and the signature's own trailer.
pub(super) fn digest(signature: &Signature, hash: impl FnOnce(&mut Context) -> pgp::Result<()>) -> Option<Vec<u8>> {
    asymmetric::hash(signature.hash_algo())?;
    let mut context = signature.hash_algo().context().ok()?.for_signature(signature.version());
    hash(&mut context).ok()?;
    context.into_digest().ok()
}

/// The digest of a signature over a message.
pub(super) fn message_digest(signature: &Signature, message: &[u8]) -> Option<Vec<u8>> {
    digest(signature, |context| {
        context.update(message);
        signature.hash(context)
    })
}
