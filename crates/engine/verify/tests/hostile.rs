//! Hostile input that would cost time or memory: everything is bounded, and excess is rejected. No test measures time;
//! without the bounds they would not end.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bumpwright_verify::cosign::{self, CosignError, CosignKeys, Evidence};
use bumpwright_verify::object::{self, ObjectFormat};
use bumpwright_verify::{SignatureKind, openpgp, ssh};
use support::Bench;

const NOW: i64 = 1_800_000_000;
const MEBIBYTE: usize = 1 << 20;

fn armoured(label: &str, content: &[u8]) -> String {
    let text = STANDARD.encode(content);
    let lines: Vec<_> = text
        .as_bytes()
        .chunks(64)
        .map(|line| std::str::from_utf8(line).unwrap())
        .collect();
    format!(
        "-----BEGIN {label}-----\n\n{}\n-----END {label}-----\n",
        lines.join("\n")
    )
}

/// A packet of OpenPGP with a length of four bytes.
fn packet(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap();
    [&[0xc0 | tag, 0xff][..], &length.to_be_bytes(), content].concat()
}

fn number(bytes: usize) -> Vec<u8> {
    let bits = u16::try_from(bytes * 8).unwrap();
    [&bits.to_be_bytes()[..], &vec![0xff; bytes]].concat()
}

/// A signature of version 4 by the key with the id 1, as long as its number.
fn signature(bytes: usize) -> Vec<u8> {
    let hashed = [5, 2, 0x60, 0, 0, 0];
    let unhashed = [9, 16, 0, 0, 0, 0, 0, 0, 0, 1];
    let head = [&[4, 0, 1, 8, 0, 6][..], &hashed, &[0, 10], &unhashed, &[0, 0]].concat();
    packet(2, &[head, number(bytes)].concat())
}

#[test]
fn texts_of_a_mebibyte_are_read_once() {
    let bench = Bench::new();
    let (_, ring) = bench.gpg("ed25519");
    let blocks = "-----BEGIN PGP SIGNATURE-----\n".repeat(MEBIBYTE / 30);
    let headers = format!("-----BEGIN PGP SIGNATURE-----\n{}", "a: b\n".repeat(MEBIBYTE / 5));
    let long = format!("-----BEGIN PGP SIGNATURE-----\n\n{}", "A".repeat(MEBIBYTE));
    let zeros = armoured("PGP SIGNATURE", &vec![0; MEBIBYTE]);
    for text in [&blocks, &headers, &long, &zeros] {
        assert!(openpgp::verify(text.as_bytes(), b"x", &[&ring], NOW).is_err());
        let raw = format!("tree 1\n\n{text}");
        assert!(object::tag(raw.as_bytes()).signature.starts_with(b"-----BEGIN"));
        assert!(object::commit(raw.as_bytes(), ObjectFormat::Sha1).signature.is_empty());
    }
    for text in [&blocks, &headers, &long, &zeros] {
        let text = text.replace("PGP", "SSH");
        assert_eq!(SignatureKind::of(text.as_bytes()), SignatureKind::Ssh);
        assert!(ssh::verify(text.as_bytes(), b"x", &["ssh-ed25519 AAAA"]).is_err());
    }
}

#[test]
fn thousands_of_signatures_and_nested_packets() {
    let bench = Bench::new();
    let (_, ring) = bench.gpg("ed25519");
    let many = armoured("PGP SIGNATURE", &signature(64).repeat(10_000));
    // Containers (compressed data) are not opened, and lengths in parts add up to nothing.
    let mut nested = signature(64);
    for _ in 0..200 {
        nested = packet(8, &[&[0][..], &nested].concat());
    }
    let nested = armoured("PGP SIGNATURE", &nested);
    let parts = armoured("PGP SIGNATURE", &[&[0xc2][..], &[0xfe; 4096]].concat());
    for text in [many, nested, parts] {
        let error = openpgp::verify(text.as_bytes(), b"x", &[&ring], NOW).unwrap_err();
        assert_eq!(error, openpgp::OpenPgpError::NoMatchingKey);
    }
}

#[test]
fn rings_with_numbers_of_any_size() {
    // An RSA key whose modulus has 65,528 bits, alone and many times over.
    let key = packet(6, &[&[4, 0x50, 0, 0, 0, 1][..], &number(8191), &number(8191)].concat());
    let user = packet(13, b"a");
    let ring = [key, user, signature(8191)].concat();
    let ring = armoured("PGP PUBLIC KEY BLOCK", &ring.repeat(32));
    let signature = armoured("PGP SIGNATURE", &signature(8191));
    assert!(openpgp::verify(signature.as_bytes(), b"x", &[&ring], NOW).is_err());
}

#[test]
fn texts_of_authorized_keys_with_very_many_keys() {
    let bench = Bench::new();
    let (_, public) = bench.ssh(&["-t", "ed25519"]);
    std::fs::write(bench.path().join("payload"), "x").unwrap();
    bench.run("ssh-keygen", &["-Y", "sign", "-q", "-n", "git", "-f", "key", "payload"]);
    let signature = bench.text("payload.sig");
    // The key matches and the payload does not, so each of them is verified.
    let error = ssh::verify(signature.as_bytes(), b"y", &[&public.repeat(20_000)]).unwrap_err();
    let ssh::SshError::NoMatchingKey(errors) = error else {
        panic!("{error}");
    };
    assert_eq!(errors.len(), 64);
}

#[test]
fn manifests_and_bundles_beyond_their_bounds() {
    let layer = r#"{"mediaType":"a","digest":"sha256:00","size":1}"#;
    let layers = vec![layer; 1001].join(",");
    let manifest = format!(r#"{{"layers":[{layers}],"manifests":[{layers}]}}"#);
    assert_eq!(
        cosign::signature_layers(manifest.as_bytes()),
        Err(CosignError::TooMany(1001))
    );
    assert_eq!(cosign::referrers(manifest.as_bytes()), Err(CosignError::TooMany(1001)));
    assert_eq!(cosign::bundle_layer(manifest.as_bytes()), None);
    let deep = "[".repeat(MEBIBYTE);
    assert!(matches!(
        cosign::signature_layers(deep.as_bytes()),
        Err(CosignError::Manifest(_))
    ));
    let bundles = [deep.as_bytes()];
    let evidence = Evidence {
        bundles: &bundles,
        layers: &[],
    };
    let keys = CosignKeys::from_entries([("a.pub", deep.as_bytes())]);
    let error = cosign::verify(&keys, "sha256:00", "r", &evidence).unwrap_err();
    assert_eq!(error, CosignError::Key(cosign::PublicKeyError::NoPem));
    for digest in ["", "sha256", "sha256:", "sha256:../x", "sha256:zz", "../x:00"] {
        assert_eq!(cosign::signature_tag(digest), None, "{digest}");
    }
}

/// A ring in which a bit of a revocation is changed holds no key, rather than one that is not revoked.
#[test]
fn damaged_revocations_are_not_passed_over() {
    let bench = Bench::new();
    let (id, plain) = bench.gpg("ed25519");
    std::fs::write(bench.path().join("payload"), "x").unwrap();
    let options = ["--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""];
    bench.run(
        "gpg",
        &[&options[..], &["--armor", "--detach-sign", "payload"]].concat(),
    );
    let signature = bench.text("payload.asc");
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let now = i64::try_from(now.as_secs()).unwrap();
    let verdict = |ring: &str| openpgp::verify(signature.as_bytes(), b"x", &[ring], now);
    assert_eq!(verdict(&plain), Ok(id.clone()));

    let folder = bench.path().join("openpgp-revocs.d");
    let file = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap();
    let text = std::fs::read_to_string(file.path())
        .unwrap()
        .replace(":-----BEGIN", "-----BEGIN");
    std::fs::write(bench.path().join("ready.rev"), text).unwrap();
    bench.run("gpg", &["--batch", "--quiet", "--import", "ready.rev"]);
    let revoked = bench.line("gpg", &["--armor", "--export", &id]);
    assert!(verdict(&revoked).is_err());
    let lines: String = revoked
        .lines()
        .skip(2)
        .take_while(|line| !line.starts_with('='))
        .collect();
    let ring = STANDARD.decode(lines).unwrap();
    // The revocation is the second packet, after a key of 51 bytes.
    let length = 2 + usize::from(ring[54]);
    for at in 53 + 2..53 + length {
        for bit in 0..8 {
            let mut spoilt = ring.clone();
            spoilt[at] ^= 1 << bit;
            let error = verdict(&armoured("PGP PUBLIC KEY BLOCK", &spoilt));
            assert!(error.is_err() || may_be_another(at - 55), "{at} {bit}: {error:?}");
        }
    }
}

/// Bits that make the packet an unknown signature (version, type, algorithms): Flux ignores such, too.
const fn may_be_another(offset: usize) -> bool {
    offset < 4
}
