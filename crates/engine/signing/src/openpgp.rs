//! OpenPGP signatures (RFC 9580) like gpg's for git: detached, binary, version 4.

use std::fmt;
use std::io::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sequoia_openpgp as pgp;

use pgp::Packet;
use pgp::armor::{Kind, Writer};
use pgp::cert::amalgamation::ValidAmalgamation as _;
use pgp::cert::amalgamation::key::{PrimaryKey as _, ValidErasedKeyAmalgamation};
use pgp::cert::{Cert, CertParser, ValidCert};
use pgp::crypto::{KeyPair, Password, S2K, Signer as _};
use pgp::packet::Key;
use pgp::packet::key::{PublicParts, SecretKeyMaterial, SecretParts, UnspecifiedRole};
use pgp::packet::signature::Signature4;
use pgp::packet::signature::subpacket::{Subpacket, SubpacketArea, SubpacketValue};
use pgp::parse::Parse as _;
use pgp::policy::{AsymmetricAlgorithm, StandardPolicy};
use pgp::serialize::MarshalInto as _;
use pgp::types::{HashAlgorithm, KeyFlags, RevocationStatus, SignatureType, Timestamp};
use sha2::{Digest, Sha512};

use super::{Signer, SigningError};
use bumpwright_secret::Secret;
use bumpwright_text::Parts;

const BEGIN_PRIVATE: &str = "-----BEGIN PGP PRIVATE KEY BLOCK-----";
/// Greatest size of RSA keys: larger ones take minutes to sign with, and gpg makes none.
const MAX_BITS: usize = 16384;
/// Bounds of Argon2: 2 GiB of memory (RFC 9580, *S2K*, first recommendation), and passes.
const MAX_ARGON2: (u8, u8) = (21, 16);

/// An unlocked OpenPGP signing key.
pub(super) struct OpenPgp {
    pair: KeyPair,
    name: String,
    id: String,
    /// Earliest valid time of a signature, in seconds since 1970-01-01 UTC.
    from: i64,
    until: Option<i64>,
}

/// The signing subkey or primary key, still locked.
struct Chosen {
    key: Key<SecretParts, UnspecifiedRole>,
    id: String,
    from: i64,
    until: Option<i64>,
}

impl OpenPgp {
    /// Reads all keys of a text and unlocks the first one that can sign at `now`.
    pub(super) fn open(text: &Secret, passphrase: Option<&Secret>, now: i64) -> Result<Self, SigningError> {
        let mut refused = None;
        for cert in certificates(text)? {
            match choose(&cert, now) {
                Ok(chosen) => return Self::unlock(chosen, passphrase),
                // The error of the first key is reported.
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        Err(refused.unwrap_or(SigningError::DamagedOpenPgp))
    }

    fn unlock(chosen: Chosen, passphrase: Option<&Secret>) -> Result<Self, SigningError> {
        let Chosen { key, id, from, until } = chosen;
        let key = match key.secret() {
            SecretKeyMaterial::Unencrypted(_) => key,
            SecretKeyMaterial::Encrypted(locked) => {
                check_effort(locked.s2k(), &id)?;
                let passphrase = passphrase.ok_or(SigningError::PassphraseMissing)?;
                let wrong = |_| SigningError::WrongOpenPgpPassphrase { id: id.clone() };
                key.decrypt_secret(&Password::from(passphrase.expose()))
                    .map_err(wrong)?
            }
        };
        let pair = key.into_keypair().map_err(|_| SigningError::DamagedOpenPgp)?;
        Ok(Self {
            pair,
            name: format!("OpenPGP key {id}"),
            id,
            from,
            until,
        })
    }

    fn failed(&self) -> SigningError {
        SigningError::Failed {
            name: self.name(),
            why: "its algorithm is not supported, or its private half does not match its public one".to_owned(),
        }
    }

    /// The signature packet. Built here, since the library would add a random salt: Gerrit identifies a change
    /// by the same commit.
    fn packet(&self, payload: &[u8], made: u32) -> pgp::Result<Packet> {
        let mut pair = self.pair.clone();
        let hash = HashAlgorithm::SHA512;
        let algorithm = pair.public().pk_algo();
        let area = |value| SubpacketArea::new(vec![Subpacket::new(value, false)?]);
        let mut hashed = area(SubpacketValue::IssuerFingerprint(pair.public().fingerprint()))?;
        let time = SubpacketValue::SignatureCreationTime(Timestamp::from(made));
        hashed.add(Subpacket::new(time, false)?)?;
        let unhashed = area(SubpacketValue::Issuer(pair.public().keyid()))?;

        let bytes = hashed.to_vec()?;
        // RFC 9580, *Computing Signatures*: version, type, algorithms, hashed subpackets; then the length of these.
        let mut trailer = vec![4, SignatureType::Binary.into(), algorithm.into(), hash.into()];
        trailer.extend_from_slice(&u16::try_from(bytes.len())?.to_be_bytes());
        trailer.extend_from_slice(&bytes);
        let length = u32::try_from(trailer.len())?;
        trailer.extend_from_slice(&[4, 0xff]);
        trailer.extend_from_slice(&length.to_be_bytes());
        let digest = Sha512::new().chain_update(payload).chain_update(&trailer).finalize();

        let signed = pair.sign(hash, &digest)?;
        let [first, second, ..] = digest.0;
        let signature = Signature4::new(
            SignatureType::Binary,
            algorithm,
            hash,
            hashed,
            unhashed,
            [first, second],
            signed,
        );
        Ok(Packet::from(pgp::packet::Signature::from(signature)))
    }
}

impl Signer for OpenPgp {
    fn sign(&self, payload: &[u8], seconds: i64) -> Result<String, SigningError> {
        // A commit with the time of its parent may be older than the key, but a signature must not be.
        let created = seconds.max(self.from);
        if let Some(on) = self.until.filter(|until| *until <= created) {
            return Err(SigningError::Expired {
                id: self.id.clone(),
                on,
            });
        }
        let armoured = || {
            let packet = self.packet(payload, u32::try_from(created)?)?;
            let mut writer = Writer::new(Vec::new(), Kind::Signature)?;
            writer.write_all(&packet.to_vec()?)?;
            Ok::<_, pgp::anyhow::Error>(String::from_utf8(writer.finalize()?)?)
        };
        armoured().map_err(|_| self.failed())
    }

    fn name(&self) -> String {
        self.name.clone()
    }
}

impl fmt::Debug for OpenPgp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// All keys of all private blocks of a text.
fn certificates(text: &Secret) -> Result<Vec<Cert>, SigningError> {
    let mut certificates = Vec::new();
    let mut blocks = text.expose().match_indices(BEGIN_PRIVATE).map(|(at, _)| at).peekable();
    if blocks.peek().is_none() {
        return Err(if text.expose().contains("-----BEGIN PGP PUBLIC KEY BLOCK-----") {
            SigningError::PublicOnly
        } else {
            SigningError::NoArmour
        });
    }
    while let Some(start) = blocks.next() {
        let end = blocks.peek().copied().unwrap_or(text.expose().len());
        let block = text.expose().part(start..end);
        // Blanks around lines come from YAML and from copying.
        let block = Secret::new(block.lines().map(str::trim).collect::<Vec<_>>().join("\n"));
        let parser = CertParser::from_bytes(block.expose()).map_err(|_| SigningError::DamagedOpenPgp)?;
        // A damaged key does not prevent the use of another one.
        certificates.extend(parser.filter_map(Result::ok));
    }
    Ok(certificates)
}

/// Chooses as gpg at `now`: the newest signing subkey, else the primary key.
fn choose(cert: &Cert, now: i64) -> Result<Chosen, SigningError> {
    let policy = policy();
    let at = moment(now);
    let id = cert.keyid().to_hex();
    let valid = cert
        .with_policy(&policy, at)
        .map_err(|_| match seconds(cert.primary_key().key().creation_time()) {
            from if from > now => SigningError::NotYetValid { id: id.clone(), from },
            _ => SigningError::DamagedOpenPgp,
        })?;
    usable(&ValidErasedKeyAmalgamation::from(valid.primary_key()), now)?;
    let (mut best, mut refused) = (None, None);
    for part in valid.keys().filter(may_sign) {
        match usable(&part, now).and_then(|()| secret(&part, &id)) {
            Ok(key) => {
                let rank = (!part.primary(), key.creation_time());
                if best.as_ref().is_none_or(|(_, _, other)| *other <= rank) {
                    best = Some((part, key, rank));
                }
            }
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    let (part, key, _) = best.ok_or_else(|| refused.unwrap_or(SigningError::NoSigningKey { id }))?;
    Ok(chosen(&valid, &part, key))
}

fn chosen(
    valid: &ValidCert<'_>,
    part: &ValidErasedKeyAmalgamation<'_, PublicParts>,
    key: Key<SecretParts, UnspecifiedRole>,
) -> Chosen {
    let bound = part.binding_signature().signature_creation_time();
    let ends = [valid.primary_key().key_expiration_time(), part.key_expiration_time()];
    Chosen {
        id: key.keyid().to_hex(),
        from: seconds(bound.map_or(key.creation_time(), |bound| bound.max(key.creation_time()))),
        until: ends.into_iter().flatten().min().map(seconds),
        key,
    }
}

/// Accepts old algorithms in the self-signatures of a user's own key, as gpg does.
fn policy() -> StandardPolicy<'static> {
    let mut policy = StandardPolicy::new();
    policy.accept_hash(HashAlgorithm::SHA1);
    policy.accept_hash(HashAlgorithm::RipeMD);
    AsymmetricAlgorithm::variants().for_each(|algorithm| policy.accept_asymmetric_algo(algorithm));
    policy
}

/// Whether a key is for signatures. Old keys have no flags.
fn may_sign(part: &ValidErasedKeyAmalgamation<'_, PublicParts>) -> bool {
    let says = |flags: KeyFlags| flags.for_signing();
    part.key_flags()
        .map_or_else(|| part.key().pk_algo().for_signing(), says)
}

/// Refuses keys that were revoked, have expired or are not valid yet.
fn usable(part: &ValidErasedKeyAmalgamation<'_, PublicParts>, now: i64) -> Result<(), SigningError> {
    let id = || part.key().keyid().to_hex();
    if let RevocationStatus::Revoked(by) = part.revocation_status() {
        let on = by
            .iter()
            .filter_map(|signature| signature.signature_creation_time())
            .min();
        return Err(SigningError::Revoked {
            id: id(),
            on: on.map_or(now, seconds),
        });
    }
    if part.alive().is_ok() {
        return Ok(());
    }
    match part.key_expiration_time().map(seconds) {
        Some(on) if on <= now => Err(SigningError::Expired { id: id(), on }),
        _ => Err(SigningError::NotYetValid {
            id: id(),
            from: seconds(part.key().creation_time()),
        }),
    }
}

/// The private half of a key, if present: an export may omit it, or refer to a smart card.
fn secret(
    part: &ValidErasedKeyAmalgamation<'_, PublicParts>,
    of: &str,
) -> Result<Key<SecretParts, UnspecifiedRole>, SigningError> {
    let absent = || SigningError::NoSigningKey { id: of.to_owned() };
    let key = part.key().clone().parts_into_secret().map_err(|_| absent())?;
    if let SecretKeyMaterial::Encrypted(locked) = key.secret()
        && !locked.s2k().is_supported()
    {
        return Err(absent());
    }
    let unsupported = |what| SigningError::UnsupportedOpenPgp {
        id: key.keyid().to_hex(),
        what,
    };
    if key.version() != 4 {
        return Err(unsupported("only keys of version 4 are supported, which gpg makes"));
    }
    if key.mpis().bits().is_some_and(|bits| bits > MAX_BITS) {
        return Err(unsupported("it has more than 16384 bits"));
    }
    Ok(key)
}

/// Bounds the memory and time of unlocking a key, which may come from any tenant.
fn check_effort(derivation: &S2K, id: &str) -> Result<(), SigningError> {
    match derivation {
        S2K::Argon2 { t, m, .. } if *m > MAX_ARGON2.0 || *t > MAX_ARGON2.1 => Err(SigningError::UnsupportedOpenPgp {
            id: id.to_owned(),
            what: "its passphrase takes more than 2 GiB of memory, or too long, to unlock it; set the passphrase again",
        }),
        _ => Ok(()),
    }
}

fn moment(seconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(seconds.try_into().unwrap_or(0))
}

fn seconds(moment: SystemTime) -> i64 {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use pgp::cert::{CertBuilder, CipherSuite};
    use pgp::parse::stream::{DetachedVerifierBuilder, MessageLayer, MessageStructure, VerificationHelper};
    use pgp::serialize::SerializeInto;
    use pgp::types::ReasonForRevocation;

    use super::*;

    const MADE: i64 = 1_700_000_000;
    const DAY: i64 = 86_400;

    fn builder() -> CertBuilder<'static> {
        CertBuilder::new()
            .set_creation_time(moment(MADE))
            .add_userid("Ada <ada@acme.example>")
    }

    fn armoured(cert: &Cert) -> Secret {
        let bytes = SerializeInto::to_vec(&cert.as_tsk().armored()).unwrap();
        Secret::new(String::from_utf8(bytes).unwrap())
    }

    fn id(cert: &Cert, at: usize) -> String {
        cert.keys().nth(at).unwrap().key().keyid().to_hex()
    }

    fn open(cert: &Cert, now: i64) -> Result<OpenPgp, SigningError> {
        OpenPgp::open(&armoured(cert), None, now)
    }

    /// Accepts signatures of one key.
    struct By(Cert);

    impl VerificationHelper for By {
        fn get_certs(&mut self, _: &[pgp::KeyHandle]) -> pgp::Result<Vec<Cert>> {
            Ok(vec![self.0.clone()])
        }

        fn check(&mut self, structure: MessageStructure<'_>) -> pgp::Result<()> {
            for layer in structure {
                let MessageLayer::SignatureGroup { results } = layer else {
                    continue;
                };
                if let [Ok(_)] = results.as_slice() {
                    return Ok(());
                }
            }
            Err(pgp::anyhow::anyhow!("no good signature"))
        }
    }

    fn verifies(cert: &Cert, signature: &str, payload: &[u8], at: i64) -> bool {
        let policy = StandardPolicy::new();
        let verifier = DetachedVerifierBuilder::from_bytes(signature).unwrap();
        let verifier = verifier.with_policy(&policy, moment(at), By(cert.clone()));
        verifier.and_then(|mut verifier| verifier.verify_bytes(payload)).is_ok()
    }

    #[test]
    fn signatures_hold_for_what_was_signed_and_come_out_the_same() {
        for suite in [
            CipherSuite::Cv25519,
            CipherSuite::RSA2k,
            CipherSuite::P256,
            CipherSuite::P521,
        ] {
            let (cert, _) = builder()
                .set_cipher_suite(suite)
                .add_signing_subkey()
                .generate()
                .unwrap();
            let signer = open(&cert, MADE + DAY).unwrap();
            let signature = signer.sign(b"commit", MADE + DAY).unwrap();
            assert!(
                signature.starts_with("-----BEGIN PGP SIGNATURE-----\n\n"),
                "{signature}"
            );
            assert!(verifies(&cert, &signature, b"commit", MADE + 2 * DAY), "{suite:?}");
            assert!(!verifies(&cert, &signature, b"commit!", MADE + 2 * DAY), "{suite:?}");
            let again = signer.sign(b"commit", MADE + DAY).unwrap();
            // The library draws a number for each ECDSA signature.
            let drawn = matches!(suite, CipherSuite::P256 | CipherSuite::P521);
            assert_eq!(again == signature, !drawn, "{suite:?}");
        }
    }

    #[test]
    fn a_signature_is_never_older_than_its_key() {
        let (cert, _) = builder().add_signing_subkey().generate().unwrap();
        let signature = open(&cert, MADE + DAY).unwrap().sign(b"x", MADE - DAY).unwrap();
        assert!(verifies(&cert, &signature, b"x", MADE + DAY));
    }

    #[test]
    fn the_newest_subkey_that_signs_is_taken_before_the_primary_key() {
        let sign = || KeyFlags::empty().set_signing();
        let (cert, _) = builder()
            .set_primary_key_flags(sign().set_certification())
            .add_storage_encryption_subkey()
            .add_signing_subkey()
            .add_subkey(sign(), Some(Duration::from_secs(DAY.cast_unsigned())), None)
            .generate()
            .unwrap();
        let name = |now| open(&cert, now).unwrap().name();
        let lives = name(MADE + 2 * DAY);
        // Subkeys made at one time have no order of their own.
        let policy = pgp::policy::StandardPolicy::new();
        let subkeys = cert.keys().subkeys().with_policy(&policy, moment(MADE + 2 * DAY));
        let left: Vec<String> = subkeys
            .alive()
            .for_signing()
            .map(|key| format!("OpenPGP key {}", key.key().keyid().to_hex()))
            .collect();
        assert_eq!([lives], left.as_slice(), "the other one has expired");
        let (plain, _) = builder()
            .set_primary_key_flags(sign().set_certification())
            .add_storage_encryption_subkey()
            .generate()
            .unwrap();
        assert_eq!(
            open(&plain, MADE).unwrap().name(),
            format!("OpenPGP key {}", id(&plain, 0))
        );
    }

    #[test]
    fn keys_past_before_and_out_of_their_time_are_refused() {
        let week = Duration::from_secs(7 * DAY.cast_unsigned());
        let (short, _) = builder()
            .set_validity_period(week)
            .add_signing_subkey()
            .generate()
            .unwrap();
        let expired = open(&short, MADE + 8 * DAY).unwrap_err();
        let on = MADE + 7 * DAY;
        assert_eq!(expired, SigningError::Expired { id: id(&short, 0), on });
        assert!(
            expired.to_string().contains("has expired on 2023-11-21T22:13:20Z"),
            "{expired}"
        );
        let early = open(&short, MADE - DAY).unwrap_err();
        assert_eq!(
            early,
            SigningError::NotYetValid {
                id: id(&short, 0),
                from: MADE
            }
        );
        // A signer that lives long enough sees its key expire.
        let kept = open(&short, MADE).unwrap();
        assert!(matches!(kept.sign(b"", on), Err(SigningError::Expired { .. })));

        let (cert, _) = builder().add_signing_subkey().generate().unwrap();
        let mut primary = cert
            .primary_key()
            .key()
            .clone()
            .parts_into_secret()
            .unwrap()
            .into_keypair()
            .unwrap();
        let revocation = pgp::cert::CertRevocationBuilder::new()
            .set_signature_creation_time(moment(MADE + DAY))
            .unwrap()
            .set_reason_for_revocation(ReasonForRevocation::KeyCompromised, b"")
            .unwrap()
            .build(&mut primary, &cert, None)
            .unwrap();
        let (revoked, _) = cert.insert_packets(revocation).unwrap();
        let error = open(&revoked, MADE + 2 * DAY).unwrap_err();
        let on = MADE + DAY;
        assert_eq!(
            error,
            SigningError::Revoked {
                id: id(&revoked, 0),
                on
            }
        );
    }

    #[test]
    fn of_several_keys_the_first_that_can_is_taken() {
        let (gone, _) = builder()
            .set_validity_period(Duration::from_secs(1))
            .add_signing_subkey()
            .generate()
            .unwrap();
        let (good, _) = builder().add_signing_subkey().generate().unwrap();
        let both = Secret::new(format!("{}{}", armoured(&gone).expose(), armoured(&good).expose()));
        let signer = OpenPgp::open(&both, None, MADE + DAY).unwrap();
        assert_eq!(signer.name(), format!("OpenPGP key {}", id(&good, 1)));
    }

    #[test]
    fn passphrases_open_what_they_fit() {
        let (cert, _) = builder()
            .add_signing_subkey()
            .set_password(Some("hunter2".into()))
            .generate()
            .unwrap();
        let text = armoured(&cert);
        let open = |passphrase: Option<&str>| OpenPgp::open(&text, passphrase.map(Secret::from).as_ref(), MADE);
        assert_eq!(open(None).unwrap_err(), SigningError::PassphraseMissing);
        let wrong = open(Some("hunter3")).unwrap_err();
        assert_eq!(wrong, SigningError::WrongOpenPgpPassphrase { id: id(&cert, 1) });
        let signer = open(Some("hunter2")).unwrap();
        assert!(verifies(&cert, &signer.sign(b"x", MADE).unwrap(), b"x", MADE));
        assert_eq!(format!("{signer:?}"), format!("OpenPGP key {}", id(&cert, 1)));
    }

    #[test]
    fn texts_that_are_no_private_key() {
        let (cert, _) = builder().add_storage_encryption_subkey().generate().unwrap();
        let public = String::from_utf8(SerializeInto::to_vec(&cert.armored()).unwrap()).unwrap();
        let cut = armoured(&cert).expose().chars().take(300).collect::<String>();
        let certifies_only = armoured(&cert);
        let none = SigningError::NoSigningKey { id: id(&cert, 0) };
        for (text, error) in [
            ("", SigningError::NoArmour),
            ("garbage", SigningError::NoArmour),
            (public.as_str(), SigningError::PublicOnly),
            (BEGIN_PRIVATE, SigningError::DamagedOpenPgp),
            (cut.as_str(), SigningError::DamagedOpenPgp),
            (certifies_only.expose(), none),
        ] {
            assert_eq!(
                OpenPgp::open(&Secret::from(text), None, MADE).unwrap_err(),
                error,
                "{text}"
            );
        }
    }
}
