//! A Sigstore of one's own, with real cryptography: an authority for certificates, a log of certificates, a
//! transparency log with a tree, a timestamp authority; and signatures of images with what they come with, as cosign 2
//! and 3 store them. Keys are made from names. `crates/engine/verify/tests/keyless.rs` has this file, too.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{DerSignature, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// When signatures are made, unless told otherwise: 2026-01-01.
pub const AT: i64 = 1_767_225_600;
const YEAR: i64 = 365 * 86_400;
const CODE_SIGNING: &str = "1.3.6.1.5.5.7.3.3";
const TIME_STAMPING: &str = "1.3.6.1.5.5.7.3.8";
pub const ISSUER: &str = "https://token.actions.githubusercontent.com";
pub const SUBJECT: &str = "https://github.com/acme/app/.github/workflows/release.yaml@refs/heads/main";

/// A key of P-256, made from a name.
#[derive(Clone)]
pub struct Key(SigningKey);

impl Key {
    pub fn of(name: &str) -> Self {
        Self(SigningKey::from_slice(&Sha256::digest(name)).unwrap())
    }

    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        let signature: DerSignature = self.0.sign(message);
        signature.as_bytes().to_vec()
    }

    /// A signature as two numbers, as in JWS.
    pub fn sign_raw(&self, message: &[u8]) -> Vec<u8> {
        let signature: p256::ecdsa::Signature = self.0.sign(message);
        signature.to_bytes().to_vec()
    }

    /// The annotations of a layer of cosign 2 with this content.
    pub fn annotations(&self, content: &[u8]) -> Value {
        json!({"dev.cosignproject.cosign/signature": STANDARD.encode(self.sign(content))})
    }

    /// The private key in PEM (RFC 5915).
    pub fn private_pem(&self) -> String {
        let point = self.0.verifying_key().to_sec1_point(false);
        let key = sequence(&[
            &[2, 1, 1],
            &tlv(4, &[&self.0.to_bytes()]),
            &tlv(0xa0, &[&oid("1.2.840.10045.3.1.7")]),
            &tlv(0xa1, &[&tlv(3, &[&[0], point.as_bytes()])]),
        ]);
        pem_of("EC PRIVATE KEY", &key)
    }

    /// The public key in PEM.
    pub fn pem(&self) -> String {
        pem_of("PUBLIC KEY", &self.public())
    }

    /// The public key: a `SubjectPublicKeyInfo`.
    pub fn public(&self) -> Vec<u8> {
        let point = self.0.verifying_key().to_sec1_point(false);
        let algorithm = sequence(&[&oid("1.2.840.10045.2.1"), &oid("1.2.840.10045.3.1.7")]);
        sequence(&[&algorithm, &tlv(3, &[&[0], point.as_bytes()])])
    }
}

/// An element of DER.
pub fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = content.len();
    let mut bytes = vec![tag];
    match length {
        0..=0x7f => bytes.push(length as u8),
        0x80..=0xff => bytes.extend([0x81, length as u8]),
        _ => bytes.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    bytes.extend(content);
    bytes
}

/// Elements of DER with their tags.
fn elements(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut found = Vec::new();
    while let [tag, length, rest @ ..] = bytes {
        let (length, rest) = match length {
            0..=0x7f => (usize::from(*length), rest),
            _ => {
                let (digits, rest) = rest.split_at(usize::from(length & 0x7f));
                (
                    digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)),
                    rest,
                )
            }
        };
        let (content, others) = rest.split_at(length);
        found.push((*tag, content.to_vec()));
        bytes = others;
    }
    found
}

fn whole((tag, content): &(u8, Vec<u8>)) -> Vec<u8> {
    tlv(*tag, &[content])
}

fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tlv(0x30, parts)
}

fn set(parts: &[&[u8]]) -> Vec<u8> {
    tlv(0x31, parts)
}

pub fn oid(text: &str) -> Vec<u8> {
    let arcs: Vec<u64> = text.split('.').map(|arc| arc.parse().unwrap()).collect();
    let mut content = vec![(arcs[0] * 40 + arcs[1]) as u8];
    for arc in &arcs[2..] {
        let mut digits = vec![(arc & 0x7f) as u8];
        let mut rest = arc >> 7;
        while rest > 0 {
            digits.push(0x80 | (rest & 0x7f) as u8);
            rest >>= 7;
        }
        digits.reverse();
        content.extend(digits);
    }
    tlv(6, &[&content])
}

/// `YYYYMMDDHHMMSSZ`.
fn date(seconds: i64) -> String {
    let (days, of_day) = (seconds.div_euclid(86_400) + 719_468, seconds.rem_euclid(86_400));
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}Z")
}

/// As RFC 3339.
fn rfc3339(seconds: i64) -> String {
    let text = date(seconds);
    let part = |from: usize, to: usize| &text[from..to];
    format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(8, 10),
        part(10, 12),
        part(12, 14)
    )
}

/// A name such as `C=DE,O=Acme`, or only a common name.
fn name(common: &str) -> Vec<u8> {
    if common.is_empty() {
        return sequence(&[]);
    }
    let attribute = |text: &str| {
        let (kind, value) = text.split_once('=').unwrap_or(("CN", text));
        let kinds = [
            ("CN", "2.5.4.3"),
            ("C", "2.5.4.6"),
            ("ST", "2.5.4.8"),
            ("O", "2.5.4.10"),
            ("OU", "2.5.4.11"),
        ];
        let (_, identifier) = kinds.iter().find(|(known, _)| *known == kind).unwrap();
        set(&[&sequence(&[&oid(identifier), &tlv(0x0c, &[value.as_bytes()])])])
    };
    let attributes: Vec<Vec<u8>> = common.split(',').map(attribute).collect();
    sequence(&[&attributes.concat()])
}

pub fn extension(identifier: &str, critical: bool, value: &[u8]) -> Vec<u8> {
    let critical: &[u8] = if critical { &[1, 1, 0xff] } else { &[] };
    sequence(&[&oid(identifier), critical, &tlv(4, &[value])])
}

pub fn basic_constraints(is_authority: bool) -> Vec<u8> {
    let content: &[u8] = if is_authority { &[1, 1, 0xff] } else { &[] };
    extension("2.5.29.19", true, &sequence(&[content]))
}

pub fn key_usage(bits: u8, unused: u8) -> Vec<u8> {
    extension("2.5.29.15", true, &tlv(3, &[&[unused, bits]]))
}

pub fn extended_key_usage(usage: &str) -> Vec<u8> {
    extension("2.5.29.37", false, &sequence(&[&oid(usage)]))
}

/// An authority of certificates, or the owner of one.
#[derive(Clone)]
pub struct Owner {
    pub name: String,
    pub key: Key,
    pub certificate: Vec<u8>,
}

/// The signed part of a certificate.
fn unsigned(owner: (&str, &Key), issuer: &str, validity: (i64, i64), serial: u8, extensions: &[Vec<u8>]) -> Vec<u8> {
    let algorithm = sequence(&[&oid("1.2.840.10045.4.3.2")]);
    let time = |seconds: i64| tlv(0x17, &[&date(seconds).as_bytes()[2..]]);
    let extensions: Vec<&[u8]> = extensions.iter().map(Vec::as_slice).collect();
    sequence(&[
        &tlv(0xa0, &[&[2, 1, 2]]),
        &[2, 1, serial],
        &algorithm,
        &name(issuer),
        &sequence(&[&time(validity.0), &time(validity.1)]),
        &name(owner.0),
        &owner.1.public(),
        &tlv(0xa3, &[&sequence(&extensions)]),
    ])
}

fn signed(unsigned: &[u8], key: &Key) -> Vec<u8> {
    let algorithm = sequence(&[&oid("1.2.840.10045.4.3.2")]);
    sequence(&[unsigned, &algorithm, &tlv(3, &[&[0], &key.sign(unsigned)])])
}

impl Owner {
    fn of(common: &str, issuer: Option<&Self>, extensions: &[Vec<u8>], serial: u8) -> Self {
        Self::valid(common, issuer, extensions, serial, (AT - 5 * YEAR, AT + 10 * YEAR))
    }

    /// The owner of a key with this name, and a certificate by an issuer or by itself.
    pub fn valid(
        common: &str,
        issuer: Option<&Self>,
        extensions: &[Vec<u8>],
        serial: u8,
        validity: (i64, i64),
    ) -> Self {
        let key = Key::of(common);
        let (issuer_name, by) = issuer.map_or((common, &key), |issuer| (&*issuer.name, &issuer.key));
        let content = unsigned((common, &key), issuer_name, validity, serial, extensions);
        let certificate = signed(&content, by);
        Self {
            name: common.to_owned(),
            certificate,
            key,
        }
    }

    pub fn authority(common: &str, issuer: Option<&Self>) -> Self {
        Self::of(common, issuer, &[basic_constraints(true), key_usage(6, 1)], 1)
    }
}

/// The parts of a Sigstore.
#[derive(Clone)]
pub struct Sigstore {
    pub root: Owner,
    pub intermediate: Owner,
    pub stamper_root: Owner,
    pub stamper: Owner,
    pub certificate_log: Key,
    pub log: Key,
}

/// A signature that is wished for.
#[derive(Clone)]
pub struct Wish {
    pub issuer: String,
    pub subject: String,
    /// When it is signed, and how long the certificate is valid before and after.
    pub at: i64,
    pub validity: (i64, i64),
    pub usage: &'static str,
    /// Whether the log of certificates has seen the certificate.
    pub certificate_logged: bool,
    /// Whether the log is of the second version, which signs no times.
    pub second: bool,
    pub promise: bool,
    pub proof: bool,
    pub stamped: bool,
}

impl Default for Wish {
    fn default() -> Self {
        Self {
            issuer: ISSUER.to_owned(),
            subject: SUBJECT.to_owned(),
            at: AT,
            validity: (60, 540),
            usage: CODE_SIGNING,
            certificate_logged: true,
            second: false,
            promise: true,
            proof: true,
            stamped: false,
        }
    }
}

/// A signer's certificate and key.
pub struct Signer {
    pub key: Key,
    pub certificate: Vec<u8>,
}

impl Sigstore {
    /// Keys are made from this name.
    pub fn of(name: &str) -> Self {
        let root = Owner::authority(&format!("{name} root"), None);
        let stamper_root = Owner::authority(&format!("{name} stamper root"), None);
        let stamper = [
            basic_constraints(false),
            key_usage(0x80, 7),
            extension("2.5.29.37", true, &sequence(&[&oid(TIME_STAMPING)])),
        ];
        Self {
            intermediate: Owner::authority(&format!("{name} intermediate"), Some(&root)),
            stamper: Owner::of(&format!("{name} stamper"), Some(&stamper_root), &stamper, 7),
            root,
            stamper_root,
            certificate_log: Key::of(&format!("{name} certificate log")),
            log: Key::of(&format!("{name} log")),
        }
    }

    /// `trusted_root.json`.
    pub fn trusted_root(&self) -> Value {
        let log = |key: &Key, url: &str| {
            let public = key.public();
            json!({"baseUrl": url, "hashAlgorithm": "SHA2_256", "logId": {"keyId": STANDARD.encode(Sha256::digest(&public))},
                "publicKey": {"rawBytes": STANDARD.encode(public), "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "validFor": {"start": rfc3339(AT - YEAR)}}})
        };
        let authority = |owners: &[&Owner]| {
            let chain = owners
                .iter()
                .map(|owner| json!({"rawBytes": STANDARD.encode(&owner.certificate)}));
            json!({"uri": "https://authority.example", "certChain": {"certificates": chain.collect::<Vec<_>>()},
                "validFor": {"start": rfc3339(AT - YEAR)}})
        };
        json!({"mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(&self.log, "https://log.example")],
            "certificateAuthorities": [authority(&[&self.intermediate, &self.root])],
            "ctlogs": [log(&self.certificate_log, "https://certificates.example")],
            "timestampAuthorities": [authority(&[&self.stamper, &self.stamper_root])]})
    }

    /// A certificate for an identity, as Fulcio issues it.
    pub fn signer(&self, wish: &Wish) -> Signer {
        let key = Key::of(&wish.subject);
        let kind = if wish.subject.contains("://") { 0x86 } else { 0x81 };
        let mut extensions = vec![
            key_usage(0x80, 7),
            extended_key_usage(wish.usage),
            extension("2.5.29.17", true, &sequence(&[&tlv(kind, &[wish.subject.as_bytes()])])),
            extension("1.3.6.1.4.1.57264.1.1", false, wish.issuer.as_bytes()),
            extension("1.3.6.1.4.1.57264.1.8", false, &tlv(0x0c, &[wish.issuer.as_bytes()])),
        ];
        let validity = (wish.at - wish.validity.0, wish.at + wish.validity.1);
        let content = |extensions: &[Vec<u8>]| unsigned(("", &key), &self.intermediate.name, validity, 42, extensions);
        if wish.certificate_logged {
            let list = self.seen(&content(&extensions), wish.at);
            extensions.push(extension("1.3.6.1.4.1.11129.2.4.2", false, &tlv(4, &[&list])));
        }
        let certificate = signed(&content(&extensions), &self.intermediate.key);
        Signer { key, certificate }
    }

    /// The list with the timestamp of the log of certificates.
    fn seen(&self, content: &[u8], at: i64) -> Vec<u8> {
        let time = (at as u64 * 1000).to_be_bytes();
        let issuer = Sha256::digest(self.intermediate.key.public());
        let length = &(content.len() as u32).to_be_bytes()[1..];
        let entry = [&[0, 0][..], &time, &[0, 1], &issuer, length, content, &[0, 0]].concat();
        let signature = self.certificate_log.sign(&entry);
        let id = Sha256::digest(self.certificate_log.public());
        let sized = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes(), bytes].concat();
        let one = [&[0][..], &id, &time, &[0, 0], &[4, 3], &sized(&signature)].concat();
        sized(&sized(&one))
    }

    /// An entry of the transparency log, as bundles have it.
    pub fn entry(&self, body: &Value, wish: &Wish) -> Value {
        let body = body.to_string().into_bytes();
        // Others signed, too.
        let mut leaves: Vec<Vec<u8>> = (0..6).map(|other| format!("entry {other}").into_bytes()).collect();
        leaves.insert(4, body.clone());
        let index = 4;
        let id = Sha256::digest(self.log.public());
        let kind: Value = serde_json::from_slice(&body).unwrap();
        let time = if wish.second { 0 } else { wish.at };
        let mut entry = json!({"logIndex": "1004", "logId": {"keyId": STANDARD.encode(id)},
            "kindVersion": {"kind": kind["kind"], "version": kind["apiVersion"]},
            "integratedTime": time.to_string(), "canonicalizedBody": STANDARD.encode(&body)});
        if wish.promise && !wish.second {
            entry["inclusionPromise"] = json!({"signedEntryTimestamp": STANDARD.encode(self.promise(&body, time))});
        }
        if wish.proof {
            let hashes: Vec<String> = path(&leaves, index).iter().map(|hash| STANDARD.encode(hash)).collect();
            entry["inclusionProof"] = json!({"logIndex": index.to_string(), "treeSize": leaves.len().to_string(),
                "rootHash": STANDARD.encode(tree(&leaves)), "hashes": hashes,
                "checkpoint": {"envelope": self.checkpoint(&leaves)}});
        }
        entry
    }

    /// The log's promise to include an entry.
    fn promise(&self, body: &[u8], time: i64) -> Vec<u8> {
        let id: String = Sha256::digest(self.log.public())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let (body, index) = (STANDARD.encode(body), 1004);
        self.log.sign(
            format!(r#"{{"body":"{body}","integratedTime":{time},"logID":"{id}","logIndex":{index}}}"#).as_bytes(),
        )
    }

    fn checkpoint(&self, leaves: &[Vec<u8>]) -> String {
        let body = format!(
            "log.example - 123\n{}\n{}\n",
            leaves.len(),
            STANDARD.encode(tree(leaves))
        );
        let id = Sha256::digest(self.log.public());
        let signature = [&id[..4], &self.log.sign(body.as_bytes())].concat();
        format!("{body}\n\u{2014} log.example {}\n", STANDARD.encode(signature))
    }

    /// The response of the timestamp authority about a signature.
    pub fn stamp(&self, signature: &[u8], at: i64) -> Vec<u8> {
        sequence(&[&sequence(&[&[2, 1, 0]]), &self.token(signature, at)])
    }

    /// The token in that response.
    pub fn token(&self, signature: &[u8], at: i64) -> Vec<u8> {
        let sha256 = sequence(&[&oid("2.16.840.1.101.3.4.2.1")]);
        let imprint = sequence(&[&sha256, &tlv(4, &[&Sha256::digest(signature)])]);
        self.stamped(&imprint, &[], at)
    }

    /// The answer of the timestamp authority to a request, as its server gives it.
    pub fn answer(&self, request: &[u8], at: i64) -> Vec<u8> {
        let mut parts = elements(&elements(request)[0].1);
        let imprint = whole(&parts.remove(1));
        let nonce = parts.iter().skip(1).find(|(tag, _)| *tag == 2).map(whole);
        let token = self.stamped(&imprint, &nonce.unwrap_or_default(), at);
        sequence(&[&sequence(&[&[2, 1, 0]]), &token])
    }

    /// A token about an imprint.
    fn stamped(&self, imprint: &[u8], nonce: &[u8], at: i64) -> Vec<u8> {
        let sha256 = sequence(&[&oid("2.16.840.1.101.3.4.2.1")]);
        let info_kind = oid("1.2.840.113549.1.9.16.1.4");
        let info = sequence(&[
            &[2, 1, 1],
            &oid("1.3.6.1.4.1.57264.2"),
            imprint,
            &[2, 1, 9],
            &tlv(0x18, &[date(at).as_bytes()]),
            nonce,
        ]);
        let attribute = |kind: &str, value: &[u8]| sequence(&[&oid(kind), &set(&[value])]);
        let digest = tlv(4, &[&Sha256::digest(&info)]);
        // The signer's certificate, by its digest (RFC 5035).
        let signer = sequence(&[&tlv(4, &[&Sha256::digest(&self.stamper.certificate)])]);
        let attributes = [
            attribute("1.2.840.113549.1.9.3", &info_kind),
            attribute("1.2.840.113549.1.9.4", &digest),
            attribute("1.2.840.113549.1.9.16.2.47", &sequence(&[&sequence(&[&signer])])),
        ]
        .concat();
        let signed = self.stamper.key.sign(&set(&[&attributes]));
        let signer = sequence(&[
            &[2, 1, 1],
            &sequence(&[&name(&self.stamper_root.name), &[2, 1, 7]]),
            &sha256,
            &tlv(0xa0, &[&attributes]),
            &sequence(&[&oid("1.2.840.10045.4.3.2")]),
            &tlv(4, &[&signed]),
        ]);
        let content = sequence(&[&info_kind, &tlv(0xa0, &[&tlv(4, &[&info])])]);
        let data = sequence(&[
            &[2, 1, 3],
            &set(&[&sha256]),
            &content,
            &tlv(0xa0, &[&self.stamper.certificate]),
            &set(&[&signer]),
        ]);
        sequence(&[&oid("1.2.840.113549.1.7.2"), &tlv(0xa0, &[&data])])
    }

    /// A bundle of cosign 3 around a statement.
    pub fn bundle(&self, statement: &Value, wish: &Wish) -> Value {
        let payload = statement.to_string().into_bytes();
        let kind = "application/vnd.in-toto+json";
        let encoding = [
            format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).as_bytes(),
            &payload,
        ]
        .concat();
        let signer = self.signer(wish);
        let signature = signer.key.sign(&encoding);
        let body = if wish.second {
            json!({"apiVersion": "0.0.2", "kind": "hashedrekord", "spec": {"hashedRekordV002": {
                "data": {"algorithm": "SHA2_256", "digest": STANDARD.encode(Sha256::digest(&encoding))},
                "signature": {"content": STANDARD.encode(&signature), "verifier": {
                    "x509Certificate": {"rawBytes": STANDARD.encode(&signer.certificate)},
                    "keyDetails": "PKIX_ECDSA_P256_SHA_256"}}}}})
        } else {
            json!({"apiVersion": "0.0.1", "kind": "dsse", "spec": {
                "envelopeHash": {"algorithm": "sha256", "value": "00"},
                "payloadHash": {"algorithm": "sha256", "value": hex(&Sha256::digest(&payload))},
                "signatures": [{"signature": STANDARD.encode(&signature), "verifier": STANDARD.encode(pem(&signer.certificate))}]}})
        };
        let mut material = json!({"certificate": {"rawBytes": STANDARD.encode(&signer.certificate)},
            "tlogEntries": [self.entry(&body, wish)]});
        if wish.stamped {
            let stamp = STANDARD.encode(self.stamp(&signature, wish.at));
            material["timestampVerificationData"] = json!({"rfc3161Timestamps": [{"signedTimestamp": stamp}]});
        }
        json!({"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": material,
            "dsseEnvelope": {"payload": STANDARD.encode(payload), "payloadType": kind,
                "signatures": [{"sig": STANDARD.encode(signature)}]}})
    }

    /// The annotations of a layer of cosign 2 with this content.
    pub fn annotations(&self, content: &[u8], wish: &Wish) -> Value {
        let signer = self.signer(wish);
        let signature = signer.key.sign(content);
        let body = json!({"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": {
            "data": {"hash": {"algorithm": "sha256", "value": hex(&Sha256::digest(content))}},
            "signature": {"content": STANDARD.encode(&signature), "publicKey": {"content": STANDARD.encode(pem(&signer.certificate))}}}});
        let mut annotations = json!({"dev.cosignproject.cosign/signature": STANDARD.encode(&signature),
            "dev.sigstore.cosign/certificate": pem(&signer.certificate)});
        if wish.promise {
            let body = body.to_string();
            let bundle = json!({"SignedEntryTimestamp": STANDARD.encode(self.promise(body.as_bytes(), wish.at)),
                "Payload": {"body": STANDARD.encode(&body), "integratedTime": wish.at, "logIndex": 1004,
                    "logID": hex(&Sha256::digest(self.log.public()))}});
            annotations["dev.sigstore.cosign/bundle"] = bundle.to_string().into();
        }
        if wish.stamped {
            let stamp = json!({"SignedRFC3161Timestamp": STANDARD.encode(self.stamp(&signature, wish.at))});
            annotations["dev.sigstore.cosign/rfc3161timestamp"] = stamp.to_string().into();
        }
        annotations
    }
}

/// The statement that cosign 3 signs for an image.
pub fn statement(digest: &str) -> Value {
    let (algorithm, hex) = digest.split_once(':').unwrap();
    json!({"_type": "https://in-toto.io/Statement/v1", "subject": [{"digest": {algorithm: hex}}],
        "predicateType": "https://sigstore.dev/cosign/sign/v1", "predicate": {}})
}

/// SLSA's provenance of an image.
pub fn provenance(digest: &str, builder: &str) -> Value {
    let mut statement = statement(digest);
    statement["predicateType"] = json!("https://slsa.dev/provenance/v1");
    statement["predicate"] = json!({"buildDefinition": {"buildType": "https://acme.example/build"},
        "runDetails": {"builder": {"id": builder}}});
    statement
}

/// What cosign 2 signs for an image.
pub fn simple_payload(digest: &str) -> String {
    json!({"critical": {"identity": {"docker-reference": ""}, "image": {"docker-manifest-digest": digest},
        "type": "cosign container image signature"}, "optional": null})
    .to_string()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A certificate in PEM.
pub fn pem(certificate: &[u8]) -> String {
    pem_of("CERTIFICATE", certificate)
}

pub fn pem_of(kind: &str, certificate: &[u8]) -> String {
    let text = STANDARD.encode(certificate);
    let lines: Vec<&str> = (0..text.len())
        .step_by(64)
        .map(|at| &text[at..text.len().min(at + 64)])
        .collect();
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"))
}

fn pair(left: &[u8], right: &[u8]) -> Vec<u8> {
    Sha256::new()
        .chain_update([1])
        .chain_update(left)
        .chain_update(right)
        .finalize()
        .to_vec()
}

/// Where a list of leaves is split.
fn half(count: usize) -> usize {
    count.next_power_of_two() / 2
}

/// The root of a tree (RFC 9162, 2.1.1).
fn tree(leaves: &[Vec<u8>]) -> Vec<u8> {
    match leaves {
        [leaf] => Sha256::new().chain_update([0]).chain_update(leaf).finalize().to_vec(),
        leaves => {
            let (left, right) = leaves.split_at(half(leaves.len()));
            pair(&tree(left), &tree(right))
        }
    }
}

/// The path from a leaf to the root (RFC 9162, 2.1.3.1).
fn path(leaves: &[Vec<u8>], index: usize) -> Vec<Vec<u8>> {
    if leaves.len() == 1 {
        return Vec::new();
    }
    let (left, right) = leaves.split_at(half(leaves.len()));
    let (mut path, sibling) = if index < left.len() {
        (path(left, index), tree(right))
    } else {
        (path(right, index - left.len()), tree(left))
    };
    path.push(sibling);
    path
}
