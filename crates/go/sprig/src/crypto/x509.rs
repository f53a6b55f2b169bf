//! Builds certificates as Sprig does.

use super::private_keys::{PrivateKey, crate_error};
use bumpwright_gostd::quote_bytes;
use bumpwright_template::{Failure, Host, Text};
use bumpwright_text::Parts;
use sha2::{Digest, Sha256};
use std::{net::IpAddr, time::Duration};
use x509_cert::{
    Certificate, TbsCertificate,
    attr::AttributeTypeAndValue,
    builder::{self, CertificateBuilder, profile::BuilderProfile},
    der::{
        Any, DateTime, Decode, Encode,
        asn1::{Ia5String, OctetString, PrintableStringRef, SetOfVec, Utf8StringRef},
        oid::db::{rfc4519::COMMON_NAME, rfc5280},
    },
    ext::{
        Extension,
        pkix::{
            AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages, SubjectAltName,
            SubjectKeyIdentifier, name::GeneralName,
        },
    },
    name::Name,
    serial_number::SerialNumber,
    spki::SubjectPublicKeyInfoRef,
    time::{Time, Validity},
};

/// The content of a certificate.
#[derive(Debug)]
pub(crate) struct CertificateSpec {
    /// The common name of the subject.
    pub name: Text,
    pub addresses: Vec<IpAddr>,
    pub hosts: Vec<Text>,
    /// From the current time on.
    pub days: i64,
    pub is_authority: bool,
}

/// The signer of a certificate.
pub(crate) enum Signer<'a> {
    /// The certified key itself.
    Itself,
    Authority(&'a Certificate, &'a PrivateKey),
}

/// The builder requires names and extensions; the latter are added by hand.
struct Profile {
    subject: Name,
    issuer: Name,
}

impl BuilderProfile for Profile {
    fn get_issuer(&self, _: &Name) -> Name {
        self.issuer.clone()
    }

    fn get_subject(&self) -> Name {
        self.subject.clone()
    }

    fn build_extensions(
        &self,
        _: SubjectPublicKeyInfoRef<'_>,
        _: SubjectPublicKeyInfoRef<'_>,
        _: &TbsCertificate,
    ) -> builder::Result<Vec<Extension>> {
        Ok(Vec::new())
    }
}

/// Bytes of the identifier of a key.
const KEY_ID: usize = 20;

/// A certificate in DER.
pub(crate) fn create(
    host: &mut Host<'_>,
    spec: &CertificateSpec,
    key: &PrivateKey,
    signer: &Signer<'_>,
) -> Result<Vec<u8>, Failure> {
    let public = key.public()?;
    let subject = subject(&spec.name)?;
    let mut authority_id = None;
    let (issuer, signing_key) = match signer {
        Signer::Itself => (subject.clone(), key),
        Signer::Authority(certificate, signing_key) => {
            let authority = certificate.tbs_certificate();
            if *authority.subject_public_key_info() != signing_key.public()? {
                let text = "x509: provided PrivateKey doesn't match parent's PublicKey";
                return Err(Failure::new(text));
            }
            if *authority.subject() != subject {
                let id = authority.get_extension::<SubjectKeyIdentifier>().map_err(crate_error)?;
                authority_id = id.map(|(_, id)| id.0);
            }
            (authority.subject().clone(), *signing_key)
        }
    };
    let mut serial = [0; 16];
    host.world().random(&mut serial);
    let serial = SerialNumber::new(&serial).map_err(crate_error)?;
    let validity = validity(host, spec.days)?;
    let profile = Profile { subject, issuer };
    let mut builder = CertificateBuilder::new(profile, serial, validity, public.clone()).map_err(crate_error)?;

    let mut usage = KeyUsages::DigitalSignature | KeyUsages::KeyEncipherment;
    if spec.is_authority {
        usage |= KeyUsages::KeyCertSign;
    }
    let usages = vec![rfc5280::ID_KP_SERVER_AUTH, rfc5280::ID_KP_CLIENT_AUTH];
    let constraints = BasicConstraints {
        ca: spec.is_authority,
        path_len_constraint: None,
    };
    builder.add_extension(&KeyUsage(usage)).map_err(crate_error)?;
    builder.add_extension(&ExtendedKeyUsage(usages)).map_err(crate_error)?;
    builder.add_extension(&constraints).map_err(crate_error)?;
    if spec.is_authority {
        // The crate would use SHA-1, as the standard says; Go uses the start of this one.
        let hash = Sha256::digest(public.subject_public_key.raw_bytes());
        let id = OctetString::new(hash.part(..KEY_ID)).map_err(crate_error)?;
        builder.add_extension(&SubjectKeyIdentifier(id)).map_err(crate_error)?;
    }
    if authority_id.is_some() {
        let id = AuthorityKeyIdentifier {
            key_identifier: authority_id,
            ..AuthorityKeyIdentifier::default()
        };
        builder.add_extension(&id).map_err(crate_error)?;
    }
    if !spec.hosts.is_empty() || !spec.addresses.is_empty() {
        builder.add_extension(&alternative_names(spec)?).map_err(crate_error)?;
    }
    signing_key.sign(host, builder)?.to_der().map_err(crate_error)
}

/// A distinguished name with only a common name; an empty one is left out.
fn subject(name: &[u8]) -> Result<Name, Failure> {
    if name.is_empty() {
        return Ok(Name::default());
    }
    let value = match (PrintableStringRef::new(name), Utf8StringRef::new(name)) {
        (Ok(name), _) => Any::from(name),
        (_, Ok(name)) => Any::from(name),
        _ => return Err(Failure::new("asn1: string not valid UTF-8")),
    };
    let attribute = AttributeTypeAndValue {
        oid: COMMON_NAME,
        value,
    };
    let names = SetOfVec::try_from([attribute]).and_then(|set| vec![set].to_der());
    names.and_then(|names| Name::from_der(&names)).map_err(crate_error)
}

fn alternative_names(spec: &CertificateSpec) -> Result<SubjectAltName, Failure> {
    let hosts = spec.hosts.iter().map(|host| {
        let text = || format!("x509: {} cannot be encoded as an IA5String", quote_bytes(host));
        let name = Ia5String::new(&**host).map(GeneralName::DnsName);
        name.map_err(|_| Failure::new(text()))
    });
    let addresses = spec.addresses.iter().map(|address| Ok(address.to_canonical().into()));
    hosts.chain(addresses).collect::<Result<_, _>>().map(SubjectAltName)
}

/// From the current time on, for `days` days; their number overflows as Go's does. No certificate ends before 1970: one
/// that should is invalid anyway.
fn validity(host: &Host<'_>, days: i64) -> Result<Validity, Failure> {
    const NANOSECONDS: i64 = 1_000_000_000;
    let (now, _) = host.world().now();
    let lasts = days.wrapping_mul(86_400 * NANOSECONDS) / NANOSECONDS;
    let time = |seconds: i64| {
        let since_1970 = Duration::from_secs(seconds.try_into().unwrap_or_default());
        DateTime::from_unix_duration(since_1970)
            .map(Time::from)
            .map_err(crate_error)
    };
    Ok(Validity::new(time(now)?, time(now.saturating_add(lasts))?))
}
