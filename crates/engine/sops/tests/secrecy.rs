//! Errors contain neither plain text nor keys.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use bumpwright_sops::{Integrity, LocalKeys, decrypt};
use serde_json::Value;
use support::{cases, fixture, keys};

/// Lines of private keys, too long to occur elsewhere.
fn key_lines() -> Vec<String> {
    let table: Value = serde_json::from_str(&fixture("keys.json")).unwrap();
    let keys = || table.as_object().unwrap().values();
    let private = keys().map(|key| key["private"].as_str().unwrap());
    // Private SSH keys contain the public ones, which files name.
    let is_public = |line: &str| keys().any(|key| key["public"].as_str().unwrap().contains(line));
    let lines = private.flat_map(str::lines).map(str::to_owned);
    let lines = lines.filter(|line| line.len() > 20 && !line.starts_with("-----"));
    lines.filter(|line| !is_public(line)).collect()
}

#[test]
fn errors_hold_neither_keys_nor_plain_text() {
    let lines = key_lines();
    let sets: [&[&str]; 4] = [&["age1"], &["age2", "pgp-other"], &["ssh-rsa", "ssh-ed25519"], &[]];
    let sets: Vec<LocalKeys> = sets
        .iter()
        .map(|names| keys(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()))
        .collect();
    let mut failures = 0;
    for case in cases() {
        for set in &sets {
            let Err(error) = decrypt(&case.file, case.from, case.to, set, Integrity::Checked) else {
                continue;
            };
            failures += 1;
            let told = format!("{error} {error:?}");
            assert!(!lines.iter().any(|line| told.contains(line)), "{}: {told}", case.name);
            for plain in ["p@ss w0rd", "\"one\"", "dXNlcjpwYXNz", "two words", "just some text"] {
                assert!(!told.contains(plain), "{}: {told}", case.name);
            }
        }
    }
    assert!(failures > 500, "only {failures} failures");
}
