//! Key rings as go-crypto v1.4.1 reads them (`openpgp/keys.go`): the first block of armour, its keys with the user ids and
//! subkeys that they themselves have signed. What is signed is checked only for keys that a signature asks for, so a ring
//! of any size costs a reading and no arithmetic.

use sequoia_openpgp as pgp;

use pgp::crypto::hash::Hash as _;
use pgp::packet::key::{KeyParts, KeyRole, PrimaryRole, PublicParts, SubordinateRole};
use pgp::packet::{Key, Packet, Signature, UserID};
use pgp::types::SignatureType;
use pgp::{Fingerprint, KeyID};

use super::asymmetric;
use super::details::{Details, Unusable, outlived};
use super::framing::{FramingError, Packets};
use crate::armour;

/// What checking the signatures of one key may cost ([`asymmetric::cost`]): some seconds. Honest keys have some dozens.
const MOST_COST: usize = 4_000;

/// Why a ring cannot be read, in go-crypto's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RingError {
    #[error(transparent)]
    Armour(#[from] armour::ArmourError),
    #[error("openpgp: invalid argument: expected public or private key block, got: {0}")]
    OtherBlock(String),
    #[error("openpgp: invalid data: {0}")]
    Structural(String),
    #[error("unexpected EOF")]
    Cut,
}

fn structural<T>(what: impl Into<String>) -> Result<T, RingError> {
    Err(RingError::Structural(what.into()))
}

type Primary = Key<PublicParts, PrimaryRole>;
type Subordinate = Key<PublicParts, SubordinateRole>;

/// The keys of an armoured block, each as its packets.
pub(super) struct Ring {
    keys: Vec<Vec<Packet>>,
}

impl Ring {
    pub(super) fn read(text: &[u8]) -> Result<Self, RingError> {
        let block = armour::openpgp(text)?;
        if !matches!(block.label.as_str(), "PGP PUBLIC KEY BLOCK" | "PGP PRIVATE KEY BLOCK") {
            return Err(RingError::OtherBlock(block.label));
        }
        let groups = groups(&block.content);
        let (mut keys, mut refused) = match (groups, block.damage) {
            (Ok(groups), None) => groups,
            (Ok(_) | Err(RingError::Cut), Some(damage)) => return Err(damage.into()),
            (Err(error), _) => return Err(error),
        };
        // Go reads on as long as there is a single key that it can take.
        keys.retain(|packets| match shape(packets) {
            Ok(()) => true,
            Err(error) => {
                refused = Some(error);
                false
            }
        });
        match refused {
            Some(error) if keys.is_empty() => Err(error),
            _ => Ok(Self { keys }),
        }
    }

    /// The keys that have a part with this id, checked. A key that does not hold is left out, and is the error if it is alone.
    pub(super) fn with(&self, id: &KeyID) -> Result<Vec<Entity>, RingError> {
        let mut found = Vec::new();
        let mut refused = None;
        for packets in self.keys.iter().filter(|packets| has_part(packets, id)) {
            match Entity::read(packets) {
                Ok(entity) => found.push(entity),
                Err(error) => refused = Some(error),
            }
        }
        match refused {
            Some(error) if found.is_empty() && self.keys.len() == 1 => Err(error),
            _ => Ok(found),
        }
    }
}

/// Keys as their packets, and what is wrong with some that were left out.
type Groups = (Vec<Vec<Packet>>, Option<RingError>);

/// The packets of a ring, key by key. A byte that begins no packet spoils the key that it is found in, and all of the ring
/// unless another key or the end follows.
fn groups(bytes: &[u8]) -> Result<Groups, RingError> {
    let mut keys: Vec<Vec<Packet>> = Vec::new();
    let mut refused = None;
    let mut seeking = true;
    for packet in Packets(bytes) {
        match packet {
            Ok(Some(packet @ (Packet::PublicKey(_) | Packet::SecretKey(_)))) => {
                seeking = false;
                keys.push(vec![packet]);
            }
            Ok(_) if seeking && keys.is_empty() && refused.is_none() => {
                refused = Some(RingError::Structural(
                    "first packet was not a public/private key".to_owned(),
                ));
            }
            Ok(Some(packet)) if !seeking => keys.last_mut().into_iter().for_each(|key| key.push(packet.clone())),
            Ok(_) => {}
            Err(FramingError::Tag) => {
                let error = RingError::Structural("tag byte does not have MSB set".to_owned());
                if seeking && refused.is_some() {
                    return Err(error);
                }
                if !seeking {
                    keys.pop();
                }
                seeking = true;
                refused = Some(error);
            }
            Err(FramingError::Cut) => return Err(RingError::Cut),
        }
    }
    Ok((keys, refused))
}

/// What makes a key one at all, without any arithmetic.
fn shape(packets: &[Packet]) -> Result<(), RingError> {
    let primary = packets.first().and_then(primary);
    let Some(primary) = primary.filter(|key| key.version() == 4) else {
        return structural("first packet was not a public/private key");
    };
    if !asymmetric::can_sign(&primary) {
        return structural("primary key cannot be used for signatures");
    }
    if !packets.iter().any(|packet| matches!(packet, Packet::UserID(_))) {
        return structural("v4 entity without any identities");
    }
    Ok(())
}

fn primary(packet: &Packet) -> Option<Primary> {
    match packet {
        Packet::PublicKey(key) => Some(key.clone()),
        Packet::SecretKey(key) => Some(key.clone().parts_into_public()),
        _ => None,
    }
}

fn subordinate(packet: &Packet) -> Option<Subordinate> {
    match packet {
        Packet::PublicSubkey(key) => Some(key.clone()),
        Packet::SecretSubkey(key) => Some(key.clone().parts_into_public()),
        _ => None,
    }
}

fn has_part(packets: &[Packet], id: &KeyID) -> bool {
    packets.iter().any(|packet| match packet {
        Packet::PublicKey(key) => key.keyid() == *id,
        Packet::SecretKey(key) => key.keyid() == *id,
        Packet::PublicSubkey(key) => key.keyid() == *id,
        Packet::SecretSubkey(key) => key.keyid() == *id,
        _ => false,
    })
}

/// A user id with what its key has signed of it.
struct Identity {
    name: Vec<u8>,
    signature: Option<Details>,
    revocations: Vec<Details>,
}

/// A subkey with what its primary key has signed of it.
struct Subkey {
    key: Subordinate,
    binding: Details,
    revocations: Vec<Details>,
}

/// A key whose own signatures hold.
pub(super) struct Entity {
    primary: Primary,
    identities: Vec<Identity>,
    subkeys: Vec<Subkey>,
    revocations: Vec<Details>,
}

impl Entity {
    /// The id by which a key is named: 16 hexadecimal digits.
    pub(super) fn id(&self) -> String {
        self.primary.keyid().to_hex()
    }

    fn read(packets: &[Packet]) -> Result<Self, RingError> {
        let Some(primary) = packets.first().and_then(primary) else {
            return structural("first packet was not a public/private key");
        };
        let mut reader = Reader {
            fingerprint: primary.fingerprint(),
            entity: Self {
                primary,
                identities: Vec::new(),
                subkeys: Vec::new(),
                revocations: Vec::new(),
            },
            cost: 0,
        };
        let mut rest = packets.get(1..).unwrap_or_default();
        while let Some((packet, after)) = rest.split_first() {
            // What is signed stands before its signatures.
            let length = after.iter().take_while(|packet| is_beside(packet)).count();
            let (signatures, next) = after.split_at_checked(length).unwrap_or((after, &[]));
            match packet {
                Packet::UserID(id) => reader.user_id(id, signatures)?,
                Packet::Signature(signature) => reader.revocation(signature)?,
                Packet::PublicSubkey(_) | Packet::SecretSubkey(_) => reader.subkey(packet, signatures)?,
                _ => {}
            }
            rest = if matches!(packet, Packet::Signature(_)) {
                after
            } else {
                next
            };
        }
        if reader.entity.identities.is_empty() {
            return structural("v4 entity without any identities");
        }
        Ok(reader.entity)
    }

    /// The user id that speaks for the key.
    fn primary_identity(&self) -> Option<&Identity> {
        self.identities.iter().reduce(|best, other| {
            let better = other.revocations.len() < best.revocations.len()
                || (other.revocations.len() == best.revocations.len() && other.rank() > best.rank());
            if better { other } else { best }
        })
    }

    /// Whether the part with this id may sign, and if so which it is.
    pub(super) fn part(&self, id: &KeyID) -> Option<Part<'_>> {
        let identity = self.primary_identity()?;
        let signature = identity.signature.as_ref()?;
        if self.primary.keyid() == *id && signature.may_sign == Some(true) {
            return Some(Part {
                entity: self,
                identity,
                signature,
                subkey: None,
            });
        }
        let subkey = self.subkeys.iter().find(|subkey| subkey.key.keyid() == *id)?;
        let may_sign = subkey.binding.may_sign == Some(true);
        may_sign.then_some(Part {
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

/// Packets that stand between something signed and its signatures, or are such.
const fn is_beside(packet: &Packet) -> bool {
    matches!(
        packet,
        Packet::Signature(_) | Packet::Unknown(_) | Packet::Trust(_) | Packet::Marker(_)
    )
}

/// The part of a key that made a signature.
pub(super) struct Part<'a> {
    entity: &'a Entity,
    identity: &'a Identity,
    signature: &'a Details,
    subkey: Option<&'a Subkey>,
}

impl Part<'_> {
    /// Whether it made a signature over a digest.
    pub(super) fn made(&self, signature: &Signature, digest: &[u8]) -> bool {
        match self.subkey {
            Some(subkey) => asymmetric::verify(&subkey.key, signature, digest),
            None => asymmetric::verify(&self.entity.primary, signature, digest),
        }
    }

    /// Whether a signature that it made counts at `now` (`checkMessageSignatureDetails`): nothing revoked, expired or of
    /// the future, and no critical notation, which nobody here knows.
    pub(super) fn vouches(&self, for_it: &Details, now: i64) -> bool {
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
    let made = since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
    made > now || outlived(made, signature.key_lifetime, now)
}

/// Builds an [`Entity`] packet by packet.
struct Reader {
    fingerprint: Fingerprint,
    entity: Entity,
    cost: usize,
}

impl Reader {
    /// Whether a signature over what `hash` hashes is of `key`.
    fn check<P: KeyParts, R: KeyRole>(
        &mut self,
        key: &Key<P, R>,
        signature: &Signature,
        hash: impl FnOnce(&mut pgp::crypto::hash::Context) -> pgp::Result<()>,
    ) -> Result<bool, RingError> {
        self.cost = self.cost.saturating_add(asymmetric::cost(key));
        if self.cost > MOST_COST {
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

    /// A signature that stands for itself: if it revokes, the whole key.
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

    /// A subkey that signs must have signed that it belongs to its primary key.
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

/// How go-crypto begins what is wrong with the signature of a subkey over its primary key.
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

/// The signatures that are not passed over.
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

/// The digest that a signature is over; `hash` puts in what comes before the signature's own trailer, and that too.
pub(super) fn digest(
    signature: &Signature,
    hash: impl FnOnce(&mut pgp::crypto::hash::Context) -> pgp::Result<()>,
) -> Option<Vec<u8>> {
    asymmetric::hash(signature.hash_algo())?;
    let mut context = signature.hash_algo().context().ok()?.for_signature(signature.version());
    hash(&mut context).ok()?;
    context.into_digest().ok()
}

/// The digest of a message under a signature.
pub(super) fn message_digest(signature: &Signature, message: &[u8]) -> Option<Vec<u8>> {
    digest(signature, |context| {
        context.update(message);
        signature.hash(context)
    })
}
