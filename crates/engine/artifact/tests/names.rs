//! Digests and revisions as texts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_artifact::revision::{digest_text, modern};
use bumpwright_artifact::{Algorithm, Digest, Revision};

#[test]
fn digests_are_those_of_go() {
    let text = b"hello world";
    for (algorithm, digest) in [
        (Algorithm::Sha1, "sha1:2aae6c35c94fcfb415dbe95f408b9ce91ee846ed"),
        (
            Algorithm::Sha256,
            "sha256:b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9",
        ),
        (
            Algorithm::Sha384,
            "sha384:fdbd8e75a67f29f701a4e040385e2e23986303ea10239211af907fcbb83578b3e417cb71ce646efd0819dd8c088de1bd",
        ),
        (
            Algorithm::Sha512,
            "sha512:309ecc489c12d6eb4cc40f50c902f2b4d0ed77ee511a7c7a9bcd3ca86d4cd86f989dd35bc5ff499670da34255b45b0cfd830e81f605dcf7dc5542e93ae9cd76f",
        ),
        (
            Algorithm::Blake3,
            "blake3:d74981efa70a0c880b8d8c1985d075dbcbf679b99a5f9914e5aaf96b831a9e24",
        ),
    ] {
        assert_eq!(algorithm.digest(text).to_string(), digest);
        let parsed: Digest = digest.parse().unwrap();
        assert_eq!((parsed.algorithm(), parsed.to_string().as_str()), (algorithm, digest));
        assert!(parsed.is_of(text) && !parsed.is_of(b"hello"));
        assert_eq!(algorithm.name().parse(), Ok(algorithm));
    }
}

#[test]
fn what_is_no_digest_is_refused_with_its_reason() {
    let zeros = "0".repeat(63);
    for (text, reason) in [
        ("", "it must be <algorithm>:<hash>"),
        ("sha256", "it must be <algorithm>:<hash>"),
        ("sha256:", "it must be <algorithm>:<hash>"),
        (":abc", "it must be <algorithm>:<hash>"),
        ("SHA256:abc", "it must be <algorithm>:<hash>"),
        ("md5:!", "it must be <algorithm>:<hash>"),
        ("sha256:abc", "sha256 has 64 digits"),
        (&format!("sha256:{zeros}A"), "in lower case"),
        (&format!("sha256:{zeros}g"), "0-9 and a-f"),
        (
            "md5:d41d8cd98f00b204e9800998ecf8427e",
            "unsupported digest algorithm: md5",
        ),
        (
            "sha256+b64u:LCa0a2j_xo_5m0U8HTBBNBNCLXBkg7-g",
            "unsupported digest algorithm: sha256+b64u",
        ),
    ] {
        let error = text.parse::<Digest>().unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

const SHA1: &str = "5394cb7f48332b2de7c17dd8b8384bbc84b7e738";
const SHA256: &str = "5ac85ca617f3774baff4ae0a420b810b2546dbc9af9f346b1d55c5ed9873c55c";

/// The cases of source-controller's TransformLegacyRevision.
#[test]
fn old_revisions_become_modern() {
    for (old, new) in [
        (format!("HEAD/{SHA1}"), format!("sha1:{SHA1}")),
        (format!("main/{SHA1}"), format!("main@sha1:{SHA1}")),
        (format!("feature/branch/{SHA1}"), format!("feature/branch@sha1:{SHA1}")),
        (format!("tag/{SHA256}"), format!("tag@sha256:{SHA256}")),
        (SHA256.to_owned(), format!("sha256:{SHA256}")),
        (SHA1.to_owned(), format!("sha1:{SHA1}")),
    ] {
        assert_eq!(modern(&old), new);
        assert_eq!(Revision::parse(&old), Revision::parse(&new));
    }
    let others = [
        "",
        "v1.0.0",
        "v1.0.0-rc1+metadata",
        "arbitrary/revision",
        "5394cb7f48332b2de7c17dd8b8384bbc84b7xxxx",
    ];
    let modern_ones = [
        format!("main@sha1:{SHA1}"),
        format!("sha1:{SHA1}"),
        format!("latest@sha256:{SHA256}"),
    ];
    for text in others.into_iter().chain(modern_ones.iter().map(String::as_str)) {
        assert_eq!(modern(text), text);
    }
}

/// C04: printing and parsing are inverse; the algorithm is the written one, not the one that the length suggests.
#[test]
fn revisions_have_a_name_an_algorithm_and_a_hash() {
    for (name, algorithm, hash, text) in [
        ("main", Algorithm::Sha1, SHA1, format!("main@sha1:{SHA1}")),
        (
            "feature/branch",
            Algorithm::Sha1,
            SHA1,
            format!("feature/branch@sha1:{SHA1}"),
        ),
        ("odd@branch", Algorithm::Sha1, SHA1, format!("odd@branch@sha1:{SHA1}")),
        (
            "refs/pull/1/head",
            Algorithm::Sha256,
            SHA256,
            format!("refs/pull/1/head@sha256:{SHA256}"),
        ),
        ("v1", Algorithm::Blake3, SHA256, format!("v1@blake3:{SHA256}")),
        ("", Algorithm::Sha1, SHA1, format!("sha1:{SHA1}")),
    ] {
        let revision = Revision {
            name: name.to_owned(),
            algorithm,
            hash: hash.to_owned(),
        };
        assert_eq!(revision.to_string(), text);
        assert_eq!(Revision::parse(&text), Some(revision));
    }
}

#[test]
fn texts_that_are_no_revisions_stay_as_they_are() {
    let short = format!("main@sha256:{SHA1}");
    let nameless = format!("@sha1:{SHA1}");
    for text in [
        "",
        "main",
        "main/abc",
        "main@sha1:abc",
        "main@md5:abc",
        &short,
        &nameless,
    ] {
        assert_eq!(Revision::parse(text), None, "{text}");
        assert_eq!(modern(text), text);
    }
}

#[test]
fn revisions_of_images_end_in_their_digest() {
    assert_eq!(digest_text("v1@sha256:abc"), "sha256:abc");
    assert_eq!(digest_text("sha256:abc"), "sha256:abc");
}
