//! Key rings as go-crypto v1.4.1 reads them (`openpgp/keys.go`): the first armoured block, its keys with their
//! self-signed user ids and subkeys. Self-signatures are checked only for the keys that a signature needs, so that a
//! ring of any size costs parsing and no arithmetic.

use sequoia_openpgp as pgp;

use pgp::KeyID;
use pgp::packet::key::{PrimaryRole, PublicParts, SubordinateRole};
use pgp::packet::{Key, Packet};

use super::asymmetric;
use super::entity::Entity;
use super::framing::{FramingError, Packets};
use crate::armour;

/// Errors of reading a ring, with go-crypto's messages.
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

pub(super) fn structural<T>(what: impl Into<String>) -> Result<T, RingError> {
    Err(RingError::Structural(what.into()))
}

pub(super) type Primary = Key<PublicParts, PrimaryRole>;
pub(super) type Subordinate = Key<PublicParts, SubordinateRole>;

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
        // Go ignores invalid keys as long as one is valid.
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

    /// The checked keys that have a primary key or subkey with this id. An invalid key is skipped, and is an error if
    /// it is the only one.
    pub(super) fn with(&self, id: &KeyID) -> Result<Vec<Entity>, RingError> {
        let mut entities = Vec::new();
        let mut refused = None;
        for packets in self.keys.iter().filter(|packets| has_part(packets, id)) {
            match Entity::read(packets) {
                Ok(entity) => entities.push(entity),
                Err(error) => refused = Some(error),
            }
        }
        match refused {
            Some(error) if entities.is_empty() && self.keys.len() == 1 => Err(error),
            _ => Ok(entities),
        }
    }
}

/// Keys as their packets, and the error of one that was skipped.
type Groups = (Vec<Vec<Packet>>, Option<RingError>);

/// The packets of a ring, key by key. A byte that is not a tag makes the key that it is found in invalid, and the whole
/// ring unless another key or the end follows.
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

/// Checks the packets of a key, without arithmetic.
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

pub(super) fn primary(packet: &Packet) -> Option<Primary> {
    match packet {
        Packet::PublicKey(key) => Some(key.clone()),
        Packet::SecretKey(key) => Some(key.clone().parts_into_public()),
        _ => None,
    }
}

pub(super) fn subordinate(packet: &Packet) -> Option<Subordinate> {
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
