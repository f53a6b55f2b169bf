//! Certificates and the keys that they are for.

use super::{
    base64, pem,
    private_keys::{PrivateKey, within},
    rsa_key::RsaKey,
    x509_create::{Signer, Wish, create},
    x509_parse,
};
use crate::template::{
    Args, Failure, Field, Function, Host, INT, LIST, STRING, Struct, StructType, Text, Type, Value, print,
};
use std::net::IpAddr;

/// The functions of this family.
pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("buildCustomCert", &[&STRING, &STRING], &CERTIFICATE, build_custom),
    Function::new("genCA", &[&STRING, &INT], &CERTIFICATE, authority),
    Function::new(
        "genCAWithKey",
        &[&STRING, &INT, &STRING],
        &CERTIFICATE,
        authority_with_key,
    ),
    Function::new(
        "genSelfSignedCert",
        &[&STRING, &LIST, &LIST, &INT],
        &CERTIFICATE,
        self_signed,
    ),
    Function::new(
        "genSelfSignedCertWithKey",
        &[&STRING, &LIST, &LIST, &INT, &STRING],
        &CERTIFICATE,
        self_signed_with_key,
    ),
    Function::new(
        "genSignedCert",
        &[&STRING, &LIST, &LIST, &INT, &CERTIFICATE],
        &CERTIFICATE,
        signed,
    ),
    Function::new(
        "genSignedCertWithKey",
        &[&STRING, &LIST, &LIST, &INT, &CERTIFICATE, &STRING],
        &CERTIFICATE,
        signed_with_key,
    ),
];

static CERTIFICATE: Type = Type::Struct(&CERTIFICATE_STRUCT);

/// Both fields are PEM.
static CERTIFICATE_STRUCT: StructType = StructType {
    name: "sprig.certificate",
    fields: &[Field::new("Cert", &STRING), Field::new("Key", &STRING)],
    methods: &[],
};

/// Bits of the keys that are made for certificates.
const BITS: usize = 2048;
/// Bytes of a certificate that are read in one step.
const BYTES_A_STEP: usize = 16;

/// `genCA NAME DAYS`
fn authority(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let wish = authority_wish(args)?;
    let key = new_key(host)?;
    certify(host, &wish, &key, &Signer::Itself)
}

/// `genCAWithKey NAME DAYS KEY`
fn authority_with_key(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let key = given_key(host, args.text(2)?)?;
    certify(host, &authority_wish(args)?, &key, &Signer::Itself)
}

/// `genSelfSignedCert NAME ADDRESSES HOSTS DAYS`
fn self_signed(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let wish = wish(host, args)?;
    let key = new_key(host)?;
    certify(host, &wish, &key, &Signer::Itself)
}

/// `genSelfSignedCertWithKey NAME ADDRESSES HOSTS DAYS KEY`
fn self_signed_with_key(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let key = given_key(host, args.text(4)?)?;
    let wish = wish(host, args)?;
    certify(host, &wish, &key, &Signer::Itself)
}

/// `genSignedCert NAME ADDRESSES HOSTS DAYS AUTHORITY`
fn signed(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    signed_by(host, args, new_key)
}

/// `genSignedCertWithKey NAME ADDRESSES HOSTS DAYS AUTHORITY KEY`
fn signed_with_key(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let key = given_key(host, args.text(5)?)?;
    signed_by(host, args, |_| Ok(key))
}

fn signed_by(
    host: &mut Host<'_>,
    args: Args<'_>,
    key: impl FnOnce(&mut Host<'_>) -> Result<PrivateKey, Failure>,
) -> Result<Value, Failure> {
    let (certificate, signing_key) = parts_of(args.value(4)?)?;
    host.produce(certificate.len().saturating_mul(2))?;
    host.step((certificate.len() / BYTES_A_STEP) as u64)?;
    let Some(block) = pem::decode(certificate) else {
        return Err(Failure::new("unable to decode certificate"));
    };
    let certificate =
        x509_parse::parse(&block.bytes).map_err(within("error parsing certificate: decodedSignerCert.Bytes: "))?;
    let signing_key = PrivateKey::from_pem(host, signing_key).map_err(within("error parsing private key: "))?;
    let wish = wish(host, args)?;
    // What takes long comes after all that can be wrong.
    let key = key(host)?;
    certify(host, &wish, &key, &Signer::Authority(&certificate, &signing_key))
}

/// `buildCustomCert CERTIFICATE KEY`: checks what it is given in base64.
fn build_custom(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let (certificate, key) = (args.text(0)?, args.text(1)?);
    host.produce(certificate.len().saturating_add(key.len()).saturating_mul(2))?;
    host.step((certificate.len() / BYTES_A_STEP) as u64)?;
    let Ok(certificate) = base64::decode(certificate) else {
        return Err(Failure::new("unable to decode base64 certificate"));
    };
    let Ok(key) = base64::decode(key) else {
        return Err(Failure::new("unable to decode base64 private key"));
    };
    let Some(block) = pem::decode(&certificate) else {
        return Err(Failure::new("unable to decode certificate"));
    };
    x509_parse::parse(&block.bytes).map_err(within("error parsing certificate: decodedCert.Bytes: "))?;
    PrivateKey::from_pem(host, &key).map_err(within("error parsing private key: "))?;
    Ok(value(certificate.as_slice().into(), key.as_slice().into()))
}

fn certify(host: &mut Host<'_>, wish: &Wish, key: &PrivateKey, signer: &Signer<'_>) -> Result<Value, Failure> {
    let names = wish.hosts.iter().map(|name| name.len() + 8).sum::<usize>();
    host.produce((names + wish.addresses.len() * 20 + wish.name.len()).saturating_mul(4))?;
    let certificate = create(host, wish, key, signer).map_err(within("error creating certificate: "))?;
    let certificate = pem::encode("CERTIFICATE", &certificate);
    Ok(value(certificate.as_str().into(), key.to_pem()?.as_str().into()))
}

fn value(certificate: Text, key: Text) -> Value {
    Value::Struct(Struct::new(
        &CERTIFICATE_STRUCT,
        vec![Value::String(certificate), Value::String(key)],
    ))
}

/// The certificate and the key that a function has made before.
fn parts_of(value: &Value) -> Result<(&Text, &Text), Failure> {
    let Value::Struct(certificate) = value else {
        return Err(Failure::new("internal: the authority is not a certificate"));
    };
    match certificate.fields() {
        [Value::String(certificate), Value::String(key)] => Ok((certificate, key)),
        _ => Err(Failure::new("internal: a certificate has other fields")),
    }
}

fn new_key(host: &mut Host<'_>) -> Result<PrivateKey, Failure> {
    let key = RsaKey::generate(host, BITS).map_err(within("error generating rsa key: "))?;
    Ok(PrivateKey::Rsa(key))
}

fn given_key(host: &mut Host<'_>, text: &Text) -> Result<PrivateKey, Failure> {
    PrivateKey::from_pem(host, text).map_err(within("parsing private key: "))
}

fn authority_wish(args: Args<'_>) -> Result<Wish, Failure> {
    Ok(Wish {
        name: args.text(0)?.clone(),
        addresses: Vec::new(),
        hosts: Vec::new(),
        days: args.int(1)?,
        is_authority: true,
    })
}

fn wish(host: &mut Host<'_>, args: Args<'_>) -> Result<Wish, Failure> {
    let (addresses, hosts) = (args.slice(1)?.items(), args.slice(2)?.items());
    host.step((addresses.len() + hosts.len()) as u64)?;
    let addresses = addresses
        .iter()
        .map(|item| address(host, item))
        .collect::<Result<_, _>>()?;
    let hosts = hosts
        .iter()
        .map(|item| match item {
            Value::String(name) => Ok(name.clone()),
            other => Err(not_a_string(host, "error processing alternate dns name", other)),
        })
        .collect::<Result<_, _>>()?;
    Ok(Wish {
        name: args.text(0)?.clone(),
        addresses,
        hosts,
        days: args.int(3)?,
        is_authority: false,
    })
}

fn address(host: &mut Host<'_>, item: &Value) -> Result<IpAddr, Failure> {
    let Value::String(text) = item else {
        return Err(not_a_string(host, "error parsing ip", item));
    };
    let address = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    address.ok_or_else(|| Failure::new(format!("error parsing ip: {}", text.lossy())))
}

fn not_a_string(host: &mut Host<'_>, what: &str, item: &Value) -> Failure {
    let mut text = Vec::new();
    match print(host, &mut text, item) {
        Ok(()) => Failure::new(format!("{what}: {} is not a string", String::from_utf8_lossy(&text))),
        Err(limit) => limit,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

    use super::*;
    use crate::{
        sprig::{dice::tests::LoadedDice, trial::call},
        template::Limits,
    };
    use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
    use std::time::Duration;
    use webpki::{EndEntityCert, KeyUsage, anchor_from_trusted_cert, ring};

    const NOW: u64 = 1_700_000_000;
    const DAY: u64 = 86_400;

    fn key(kind: &str) -> Value {
        call("genPrivateKey", &[kind.into()]).unwrap()
    }

    fn names(names: &[&str]) -> Value {
        Value::list(names.iter().map(|&name| name.into()).collect())
    }

    fn der(certificate: &Value) -> CertificateDer<'static> {
        let text = parts_of(certificate).unwrap().0;
        pem::decode(text).unwrap().bytes.to_vec().into()
    }

    /// What a client says of a server that shows the certificate.
    fn verify(authority: &Value, certificate: &Value, host: &str, at: u64) -> Result<(), webpki::Error> {
        let (authority, certificate) = (der(authority), der(certificate));
        let anchor = anchor_from_trusted_cert(&authority)?;
        let certificate = EndEntityCert::try_from(&certificate)?;
        let algorithms = [ring::ED25519, ring::ECDSA_P256_SHA256, ring::RSA_PKCS1_2048_8192_SHA256];
        let time = UnixTime::since_unix_epoch(Duration::from_secs(at));
        certificate.verify_for_usage(&algorithms, &[anchor], &[], time, KeyUsage::server_auth(), None, None)?;
        certificate.verify_is_valid_for_subject_name(&ServerName::try_from(host).unwrap())
    }

    #[test]
    fn clients_trust_what_an_authority_signs() {
        for kind in ["ed25519", "ecdsa"] {
            let authority = call("genCAWithKey", &["the authority".into(), Value::int(20), key(kind)]).unwrap();
            let certificate = call(
                "genSignedCertWithKey",
                &[
                    "server".into(),
                    names(&["10.0.0.1", "::1"]),
                    names(&["a.example"]),
                    Value::int(10),
                    authority.clone(),
                    key("ecdsa"),
                ],
            )
            .unwrap();
            for host in ["10.0.0.1", "::1", "a.example"] {
                assert_eq!(verify(&authority, &certificate, host, NOW), Ok(()), "{kind} {host}");
            }
            assert!(verify(&authority, &certificate, "b.example", NOW).is_err());
            assert!(verify(&authority, &certificate, "a.example", NOW - 1).is_err());
            assert!(verify(&authority, &certificate, "a.example", NOW + 10 * DAY + 1).is_err());
            assert!(verify(&certificate, &certificate, "a.example", NOW).is_err());
        }
    }

    #[test]
    fn new_keys_are_made_when_none_is_given() {
        let world = LoadedDice::default();
        let mut host = Host::new(Limits::default(), &world);
        let authority = authority(&mut host, Args(&["the authority".into(), Value::int(20)])).unwrap();
        let arguments = [
            "server".into(),
            names(&[]),
            names(&["a.example"]),
            Value::int(10),
            authority.clone(),
        ];
        let certificate = signed(&mut host, Args(&arguments)).unwrap();
        assert_eq!(verify(&authority, &certificate, "a.example", NOW), Ok(()));
        assert!(
            parts_of(&certificate)
                .unwrap()
                .1
                .starts_with(b"-----BEGIN RSA PRIVATE KEY-----\n")
        );
    }

    #[test]
    fn what_is_wrong_is_said_as_in_go() {
        let good = call("genCAWithKey", &["x".into(), Value::int(1), key("ed25519")]).unwrap();
        let broken = value("x".into(), "x".into());
        let swapped = value(parts_of(&good).unwrap().0.clone(), "x".into());
        let signed = |name: &'static str, address, host, authority: &Value| {
            let arguments = [
                name.into(),
                names(&[address]),
                names(&[host]),
                Value::int(1),
                authority.clone(),
                key("ed25519"),
            ];
            call("genSignedCertWithKey", &arguments).unwrap_err()
        };
        for (failure, error) in [
            (signed("x", "::", "x", &broken), "unable to decode certificate"),
            (
                signed("x", "::", "x", &swapped),
                "error parsing private key: no PEM data in input",
            ),
            (signed("x", "1.2.3", "x", &good), "error parsing ip: 1.2.3"),
            (
                signed("x", "::", "é", &good),
                r#"error creating certificate: x509: "é" cannot be encoded as an IA5String"#,
            ),
            (
                call("genCAWithKey", &["x".into(), Value::int(1), "x".into()]).unwrap_err(),
                "parsing private key: no PEM data in input",
            ),
            (
                call(
                    "genCAWithKey",
                    &[Value::text(b"\xff".as_slice()), Value::int(1), key("ed25519")],
                )
                .unwrap_err(),
                "error creating certificate: asn1: string not valid UTF-8",
            ),
            (
                call("buildCustomCert", &["!".into(), "".into()]).unwrap_err(),
                "unable to decode base64 certificate",
            ),
        ] {
            assert_eq!(failure, Failure::new(error));
        }
    }
}
