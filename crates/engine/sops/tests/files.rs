//! Files that the real SOPS encrypted, decrypted as kustomize-controller does (`fixtures/sops`; K-128, K-134 … K-136).
//!
//! `BUMPWRIGHT_SOPS=file` tries the files of another table, as `fixtures/sops/generate` makes them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

mod support;

use bumpwright_sops::{Integrity, LocalKeys, decrypt};
use std::collections::HashMap;
use support::{Case, case_named, cases, keys};

/// Both errors without details of the file that only upstream includes, and without gpg's folder.
fn told(error: &str) -> String {
    let keybox = "gpg: keybox '/tmp/sops-gnupghome-0/pubring.kbx' created ";
    // Lines are broken elsewhere when something is left out.
    let words: Vec<&str> = error.split_whitespace().filter(|word| *word != "|").collect();
    let mut text = words.join(" ").replace(keybox, "");
    let quoting = [
        "Input string ",
        "invalid dotenv input line: ",
        "unclosed section: ",
        "empty key name: ",
        "delimiter not found: ",
        "missing closing key quote from ",
    ];
    for before in quoting {
        if let Some(at) = text.find(before) {
            text.truncate(at + before.len());
        }
    }
    text
}

fn outcome(case: &Case, local: &LocalKeys) -> Result<Vec<u8>, String> {
    decrypt(&case.file, case.from, case.to, local, Integrity::Checked)
        .map(|plain| plain.to_vec())
        .map_err(|error| error.to_string())
}

#[test]
fn files_become_what_sops_makes_of_them() {
    let cases = cases();
    let mut wrong = Vec::new();
    let mut sets: HashMap<&[String], LocalKeys> = HashMap::new();
    for case in &cases {
        let got = outcome(case, sets.entry(&case.keys).or_insert_with(|| keys(&case.keys)));
        let same = match (&got, &case.want) {
            (Ok(got), Ok(want)) => got == want,
            (Err(got), Err(want)) => {
                let past_the_mac = got.starts_with("failed to emit") && is_unknown_mac(case, want);
                told(got) == told(want) || past_the_mac || KNOWN.iter().any(|(name, _)| *name == case.name)
            }
            (Ok(got), Err(want)) => is_unknown_mac(case, want) && *got == case.unverified.as_bytes(),
            _ => false,
        };
        if !same {
            wrong.push(format!(
                "{}\n  want {}\n  got  {}",
                case.name,
                shown(&case.want),
                shown(&got)
            ));
        }
    }
    println!("files: {} of {}", cases.len() - wrong.len(), cases.len());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// SOPS turns comments in lists into items, and then rejects its own MAC; ours accepts it.
fn is_unknown_mac(case: &Case, want: &str) -> bool {
    let file = String::from_utf8_lossy(&case.file);
    want.ends_with(": MAC mismatch") && file.lines().any(is_comment_item)
}

fn is_comment_item(line: &str) -> bool {
    line.contains("- ENC[") && line.contains("type:comment]")
}

/// Errors in other words, and the reason.
const KNOWN: &[(&str, &str)] = &[
    ("metadata huawei alone", "the words of the stand-in for that service"),
    (
        "tampered null key",
        "two rules of go-yaml about keys, of which the other is asked first",
    ),
    ("tampered type bool", "the value is left out"),
    ("tampered type not fitting", "the value is left out"),
    ("tampered type time", "the value is left out"),
    (
        "tampered type bytes",
        "Go panics there, and its words are told at another step",
    ),
    ("tampered json text", "what stands there is left out"),
    ("tampered json text as binary", "what stands there is left out"),
];

fn shown(outcome: &Result<Vec<u8>, String>) -> String {
    match outcome {
        Ok(plain) => format!("{:?}", String::from_utf8_lossy(plain)),
        Err(error) => format!("error {error:?}"),
    }
}

/// A character that is not of base64 ends the message there, within a packet: the library for OpenPGP panics
/// at some of these.
#[test]
fn a_message_for_pgp_that_ends_too_early_is_an_error() {
    let case = case_named("keys pgp-ecc json");
    let text = String::from_utf8(case.file.clone()).unwrap();
    let keys = keys(&case.keys);
    let begin = text.find("-----BEGIN PGP MESSAGE-----\\n\\n").unwrap();
    let end = text.find("-----END PGP MESSAGE-----").unwrap();
    for at in (begin + 31..end).filter(|at| text.as_bytes()[*at].is_ascii_alphanumeric()) {
        let damaged = format!("{}]{}", &text[..at], &text[at + 1..]);
        // The letter of an escaped line end makes a file that is not JSON.
        let result = decrypt(damaged.as_bytes(), case.from, case.to, &keys, Integrity::Checked);
        assert!(result.is_err(), "{at}");
    }
}
