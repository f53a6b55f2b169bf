//! Repositories whose commits and tags the real git has signed, verified in all modes of a GitRepository.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::{SystemTime, UNIX_EPOCH};

use bumpwright_verify::object::ObjectFormat;
use bumpwright_verify::{CheckedOut, GitKeys, GitMode, ReferencingTag, verify_source};
use support::Bench;

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

fn keys(name: &str, text: &str) -> GitKeys {
    GitKeys::from_entries([(name, text.as_bytes())])
}

const MODES: [GitMode; 3] = [GitMode::Head, GitMode::Tag, GitMode::TagAndHead];

/// Verifies commit and signed tag in all modes, and returns the messages.
fn messages(bench: &Bench, format: ObjectFormat, keys: &GitKeys) -> Vec<Result<String, (&'static str, String)>> {
    let (commit, raw) = bench.object("commit", "HEAD");
    let (tag, tag_raw) = bench.object("tag", "v1");
    let tag = ReferencingTag::Annotated {
        id: &tag,
        raw: &tag_raw,
    };
    let source = CheckedOut {
        id: &commit,
        raw: &raw,
        format,
        tag: Some(tag),
    };
    let verdict = |mode| verify_source(mode, &source, keys, now());
    MODES
        .map(|mode| verdict(mode).map_err(|error| (error.reason().as_str(), error.to_string())))
        .into()
}

fn all_hold(bench: &Bench, format: ObjectFormat, keys: &GitKeys, key: &str) {
    let (commit, tag) = (
        bench.line("git", &["rev-parse", "HEAD"]),
        bench.line("git", &["rev-parse", "v1"]),
    );
    let head = format!("\n\t- commit '{commit}' with key '{key}'");
    let tag = format!("\n\t- tag 'v1@{tag}' with key '{key}'");
    let expected = [head.clone(), tag.clone(), tag + &head].map(|what| Ok(format!("verified signature of{what}")));
    assert_eq!(messages(bench, format, keys), expected);
}

#[test]
fn what_git_signs_with_gpg_is_verified() {
    let bench = Bench::new();
    let (id, public) = bench.gpg("ed25519");
    bench.repository("sha1", &[("user.signingkey", &id)]);
    all_hold(&bench, ObjectFormat::Sha1, &keys("author.asc", &public), &id);

    let other = Bench::new();
    let (_, public) = other.gpg("rsa2048");
    let no = "unable to verify payload with any of the given key rings: no matching key";
    let (commit, tag) = (
        bench.line("git", &["rev-parse", "HEAD"]),
        bench.line("git", &["rev-parse", "v1"]),
    );
    let head = format!("signature verification of commit '{commit}' failed: unable to verify Git commit: {no}");
    let tag = format!("signature verification of tag 'v1@{tag}' failed: unable to verify Git tag: {no}");
    let tag = Err(("InvalidTagSignature", tag));
    let expected = vec![Err(("InvalidCommitSignature", head)), tag.clone(), tag];
    assert_eq!(
        messages(&bench, ObjectFormat::Sha1, &keys("author.asc", &public)),
        expected
    );
}

#[test]
fn what_git_signs_with_ssh_is_verified() {
    for arguments in [
        &["-t", "ed25519"][..],
        &["-t", "ecdsa", "-b", "384"],
        &["-t", "rsa", "-b", "2048"],
    ] {
        let bench = Bench::new();
        let (fingerprint, public) = bench.ssh(arguments);
        bench.repository("sha1", &[("gpg.format", "ssh"), ("user.signingkey", "key.pub")]);
        all_hold(
            &bench,
            ObjectFormat::Sha1,
            &keys("author.sshpub", &public),
            &fingerprint,
        );
    }
}

#[test]
fn repositories_with_sha_256_have_their_own_header() {
    let bench = Bench::new();
    let (fingerprint, public) = bench.ssh(&["-t", "ed25519"]);
    bench.repository("sha256", &[("gpg.format", "ssh"), ("user.signingkey", "key.pub")]);
    let keys = keys("author.sshpub", &public);
    all_hold(&bench, ObjectFormat::Sha256, &keys, &fingerprint);
    let head = messages(&bench, ObjectFormat::Sha1, &keys).remove(0).unwrap_err().1;
    assert!(head.ends_with("failed: unsupported signature type: empty"), "{head}");
}

#[test]
fn tags_that_cannot_be_verified() {
    let bench = Bench::new();
    let (_, public) = bench.ssh(&["-t", "ed25519"]);
    bench.repository("sha1", &[("gpg.format", "ssh"), ("user.signingkey", "key.pub")]);
    let keys = keys("author.sshpub", &public);
    let (commit, raw) = bench.object("commit", "HEAD");
    let (plain, plain_raw) = bench.object("tag", "plain");
    let annotated = ReferencingTag::Annotated {
        id: &plain,
        raw: &plain_raw,
    };
    let unsigned = |tag: &str| format!("cannot verify signature of tag '{tag}' since it is not signed");
    let none = "cannot verify tag object's signature if a tag reference is not specified";
    for (tag, message, reason, stalls) in [
        (None, none.to_owned(), "InvalidVerificationMode", true),
        (
            Some(ReferencingTag::Lightweight { name: "v0" }),
            unsigned("v0"),
            "InvalidGitObject",
            false,
        ),
        (
            Some(annotated),
            unsigned(&format!("plain@{plain}")),
            "InvalidGitObject",
            false,
        ),
    ] {
        let source = CheckedOut {
            id: &commit,
            raw: &raw,
            format: ObjectFormat::Sha1,
            tag,
        };
        assert!(verify_source(GitMode::Head, &source, &keys, now()).is_ok());
        for mode in [GitMode::Tag, GitMode::TagAndHead] {
            let error = verify_source(mode, &source, &keys, now()).unwrap_err();
            assert_eq!(error.to_string(), message);
            assert_eq!((error.reason().as_str(), error.is_stalling()), (reason, stalls));
        }
    }
}

#[test]
fn modes_are_read_as_upstream_reads_them() {
    assert_eq!(GitMode::read(""), None);
    for (text, mode) in [
        ("HEAD", "HEAD"),
        ("head", "HEAD"),
        ("x", "HEAD"),
        ("Tag", "Tag"),
        ("TagAndHEAD", "TagAndHEAD"),
    ] {
        assert_eq!(GitMode::read(text).unwrap().as_str(), mode, "{text}");
    }
    // A source is verified again when the mode requires more than the observed one.
    for (observed, due) in [
        (None, [true, true, true]),
        (Some("HEAD"), [false, true, true]),
        (Some("Tag"), [true, false, true]),
        (Some("TagAndHEAD"), [false, false, false]),
    ] {
        assert_eq!(MODES.map(|mode| mode.is_due(observed)), due, "{observed:?}");
    }
}

#[test]
fn nothing_of_an_entry_gets_into_an_error_or_a_log() {
    let bench = Bench::new();
    let (id, public) = bench.gpg("ed25519");
    bench.repository("sha1", &[("user.signingkey", &id)]);
    let secret = bench.line("gpg", &["--armor", "--export-secret-keys", &id]);
    bench.ssh(&["-t", "ed25519"]);
    let private = bench.text("key");
    let broken = secret.replacen("-----END", "????\n-----END", 1);
    let entries = [
        ("a.asc", private.as_str()),
        ("b.asc", &broken),
        ("c.sshpub", &private),
        ("d.sshpub", &secret),
    ];
    let entries = GitKeys::from_entries(entries.map(|(name, text)| (name, text.as_bytes())));
    assert_eq!(format!("{entries:?}"), "2 key rings, 2 texts of authorized keys");
    let said = format!("{:?}", messages(&bench, ObjectFormat::Sha1, &entries));
    for line in secret
        .lines()
        .chain(private.lines())
        .filter(|line| line.len() > 8 && !line.starts_with('-'))
    {
        assert!(!said.contains(line), "{said}");
    }
    // The private half has all of the public one, as in Flux.
    all_hold(&bench, ObjectFormat::Sha1, &keys("a.asc", &secret), &id);
    all_hold(&bench, ObjectFormat::Sha1, &keys("a", &public), &id);
}
