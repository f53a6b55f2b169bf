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
