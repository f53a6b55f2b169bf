//! Generates certificates with their keys.

use super::pem;
use super::private_keys::{PrivateKey, crate_error, within};
use super::x509::{CertificateSpec, Signer, create};
use crate::text::encoding::unbase64;
use bumpwright_template::{
    Args, Failure, Field, Function, Host, INT, LIST, STRING, Struct, StructType, Text, Type, Value, print,
};
use std::net::IpAddr;
use x509_cert::{Certificate, der::Decode};
use zeroize::Zeroizing;

/// The functions of this family.
pub(crate) static FUNCTIONS: &[Function] = &[
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

/// Bits of the keys of generated certificates.
const BITS: u32 = 2048;

/// `genCA NAME DAYS`
fn authority(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let spec = authority_spec(args)?;
    let key = new_key(host)?;
    certify(host, &spec, &key, &Signer::Itself)
}

/// `genCAWithKey NAME DAYS KEY`
fn authority_with_key(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let key = given_key(host, args.text(2)?)?;
    certify(host, &authority_spec(args)?, &key, &Signer::Itself)
}

/// `genSelfSignedCert NAME ADDRESSES HOSTS DAYS`
fn self_signed(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let spec = spec(host, args)?;
    let key = new_key(host)?;
    certify(host, &spec, &key, &Signer::Itself)
}

/// `genSelfSignedCertWithKey NAME ADDRESSES HOSTS DAYS KEY`
fn self_signed_with_key(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let key = given_key(host, args.text(4)?)?;
    let spec = spec(host, args)?;
    certify(host, &spec, &key, &Signer::Itself)
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
    let certificate = parsed(host, certificate, "decodedSignerCert")?;
    let signing_key = PrivateKey::from_pem(host, signing_key).map_err(within("error parsing private key: "))?;
    let spec = spec(host, args)?;
    // The slow part comes after all checks.
    let key = key(host)?;
    certify(host, &spec, &key, &Signer::Authority(&certificate, &signing_key))
}

/// `buildCustomCert CERTIFICATE KEY`: checks its arguments in base64.
fn build_custom(host: &mut Host<'_>, args: Args<'_>) -> Result<Value, Failure> {
    let (certificate, key) = (args.text(0)?, args.text(1)?);
    host.produce(certificate.len().saturating_add(key.len()))?;
    let Ok(certificate) = unbase64(certificate) else {
        return Err(Failure::new("unable to decode base64 certificate"));
    };
    let Ok(key) = unbase64(key).map(Zeroizing::new) else {
        return Err(Failure::new("unable to decode base64 private key"));
    };
    parsed(host, &certificate, "decodedCert")?;
    PrivateKey::from_pem(host, &key).map_err(within("error parsing private key: "))?;
    Ok(value(certificate.as_slice().into(), key.as_slice().into()))
}

/// The first certificate in the text, with Sprig's name for it in errors.
fn parsed(host: &mut Host<'_>, text: &[u8], name: &str) -> Result<Certificate, Failure> {
    let Some(block) = pem::decode(host, text)? else {
        return Err(Failure::new("unable to decode certificate"));
    };
    let what = format!("error parsing certificate: {name}.Bytes: ");
    Certificate::from_der(&block.bytes)
        .map_err(crate_error)
        .map_err(within(&what))
}

fn certify(
    host: &mut Host<'_>,
    spec: &CertificateSpec,
    key: &PrivateKey,
    signer: &Signer<'_>,
) -> Result<Value, Failure> {
    let names = spec.hosts.iter().map(|name| name.len() + 8).sum::<usize>();
    host.produce((names + spec.addresses.len() * 20 + spec.name.len()).saturating_mul(4))?;
    let certificate = create(host, spec, key, signer).map_err(within("error creating certificate: "))?;
    let certificate = pem::encode("CERTIFICATE", &certificate)?;
    Ok(value(certificate.as_str().into(), key.to_pem()?.as_str().into()))
}

fn value(certificate: Text, key: Text) -> Value {
    Value::Struct(Struct::new(
        &CERTIFICATE_STRUCT,
        vec![Value::String(certificate), Value::String(key)],
    ))
}

/// The certificate and the key from an earlier function.
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
    PrivateKey::new_rsa(host, BITS).map_err(within("error generating rsa key: "))
}

fn given_key(host: &mut Host<'_>, text: &Text) -> Result<PrivateKey, Failure> {
    PrivateKey::from_pem(host, text).map_err(within("parsing private key: "))
}

fn authority_spec(args: Args<'_>) -> Result<CertificateSpec, Failure> {
    Ok(CertificateSpec {
        name: args.text(0)?.clone(),
        addresses: Vec::new(),
        hosts: Vec::new(),
        days: args.int(1)?,
        is_authority: true,
    })
}

fn spec(host: &mut Host<'_>, args: Args<'_>) -> Result<CertificateSpec, Failure> {
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
    Ok(CertificateSpec {
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
    use crate::testing::{FixedWorld, call};
    use bumpwright_template::Limits;
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

    fn authority_of(key: Value) -> Value {
        call("genCAWithKey", &["the authority".into(), Value::int(20), key]).unwrap()
    }

    fn server(authority: &Value, addresses: &[&str], hosts: &[&str]) -> Result<Value, Failure> {
        let (addresses, hosts, days) = (names(addresses), names(hosts), Value::int(10));
        let arguments = ["server".into(), addresses, hosts, days, authority.clone(), key("ecdsa")];
        call("genSignedCertWithKey", &arguments)
    }

    fn der(certificate: &Value) -> CertificateDer<'static> {
        let mut host = Host::new(Limits::default(), &FixedWorld);
        let block = pem::decode(&mut host, parts_of(certificate).unwrap().0).unwrap();
        block.unwrap().bytes.to_vec().into()
    }

    /// The verdict of a client about a server with the certificate.
    fn verify(authority: &Value, certificate: &Value, host: &str, at: u64) -> Result<(), webpki::Error> {
        let (authority, certificate) = (der(authority), der(certificate));
        let anchor = anchor_from_trusted_cert(&authority)?;
        let certificate = EndEntityCert::try_from(&certificate)?;
        let algorithms = [
            ring::ED25519,
            ring::ECDSA_P256_SHA256,
            ring::ECDSA_P384_SHA384,
            ring::RSA_PKCS1_2048_8192_SHA256,
        ];
        let time = UnixTime::since_unix_epoch(Duration::from_secs(at));
        certificate.verify_for_usage(&algorithms, &[anchor], &[], time, KeyUsage::server_auth(), None, None)?;
        certificate.verify_is_valid_for_subject_name(&ServerName::try_from(host).unwrap())
    }

    #[test]
    fn clients_trust_what_an_authority_signs() {
        for kind in ["ed25519", "ecdsa"] {
            let authority = authority_of(key(kind));
            let certificate = server(&authority, &["10.0.0.1", "::1"], &["a.example"]).unwrap();
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
    fn authorities_may_come_from_elsewhere() {
        use rsa::pkcs8::{EncodePrivateKey, LineEnding::LF};
        let rsa = call("genCA", &["the authority".into(), Value::int(20)]).unwrap();
        let rsa = parts_of(&rsa).unwrap().1.clone();
        let PrivateKey::Rsa(number) = given_key(&mut Host::new(Limits::default(), &FixedWorld), &rsa).unwrap() else {
            panic!("another kind of key");
        };
        let p384 = p384::SecretKey::from_slice(&[7; 48]).unwrap();
        let p521 = p521::SecretKey::from_slice(&[1; 66]).unwrap();
        for (name, key) in [
            ("RSA in PKCS #1", rsa.lossy().as_ref()),
            ("RSA in PKCS #8", &number.to_pkcs8_pem(LF).unwrap()),
            ("P-384 in SEC 1", &PrivateKey::P384(p384.clone()).to_pem().unwrap()),
            ("P-384 in PKCS #8", &p384.to_pkcs8_pem(LF).unwrap()),
            ("P-521 in PKCS #8", &p521.to_pkcs8_pem(LF).unwrap()),
        ] {
            let authority = authority_of(key.into());
            let base64 = |text: &str| call("b64enc", &[text.into()]).unwrap();
            let chain = parts_of(&authority).unwrap().0.lossy().repeat(2);
            let authority = call("buildCustomCert", &[base64(&chain), base64(key)]).unwrap();
            let certificate = server(&authority, &[], &["a.example"]).unwrap();
            let answer = verify(&authority, &certificate, "a.example", NOW);
            // The verifier does not support the hash of the longest curve.
            assert!(answer.is_ok() != name.starts_with("P-521"), "{name}: {answer:?}");
        }
    }

    #[test]
    fn new_keys_are_made_when_none_is_given() {
        let (hosts, days) = (names(&["a.example"]), Value::int(10));
        let arguments = ["server".into(), names(&[]), hosts, days, authority_of(key("ecdsa"))];
        let certificate = call("genSignedCert", &arguments).unwrap();
        assert_eq!(verify(&arguments[4], &certificate, "a.example", NOW), Ok(()));
        let key = parts_of(&certificate).unwrap().1;
        assert!(key.starts_with(b"-----BEGIN RSA PRIVATE KEY-----\n"), "{}", key.lossy());
    }

    #[test]
    fn what_is_wrong_is_said_as_in_go() {
        let good = authority_of(key("ed25519"));
        let (certificate, _) = parts_of(&good).unwrap();
        let broken = value("x".into(), "x".into());
        let swapped = value(certificate.clone(), "x".into());
        let (_, other) = parts_of(&swapped).unwrap();
        let stranger = authority_of(key("ecdsa"));
        let stranger = value(certificate.clone(), parts_of(&stranger).unwrap().1.clone());
        let wrong_name = [Value::text(b"\xff".as_slice()), Value::int(1), key("ed25519")];
        let wrong_key = ["x".into(), Value::int(1), Value::String(other.clone())];
        for (result, error) in [
            (server(&broken, &[], &[]), "unable to decode certificate"),
            (
                server(&swapped, &[], &[]),
                "error parsing private key: no PEM data in input",
            ),
            (
                server(&stranger, &[], &[]),
                "error creating certificate: x509: provided PrivateKey doesn't match parent's PublicKey",
            ),
            (server(&good, &["1.2.3"], &[]), "error parsing ip: 1.2.3"),
            (
                server(&good, &[], &["é"]),
                r#"error creating certificate: x509: "é" cannot be encoded as an IA5String"#,
            ),
            (
                call("genCAWithKey", &wrong_key),
                "parsing private key: no PEM data in input",
            ),
            (
                call("genCAWithKey", &wrong_name),
                "error creating certificate: asn1: string not valid UTF-8",
            ),
            (
                call("buildCustomCert", &["!".into(), "".into()]),
                "unable to decode base64 certificate",
            ),
        ] {
            assert_eq!(result.unwrap_err(), Failure::new(error));
        }
    }
}
