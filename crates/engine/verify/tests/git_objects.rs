//! Commits and tags signed by gpg and ssh-keygen, with the verdicts of
//! Flux's own libraries (`fixtures/verify/git.jsonl`).
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bumpwright_verify::object::{self, ObjectFormat};
use bumpwright_verify::{GitKeys, verify_object};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

const CASES: &str = include_str!("../../../../fixtures/verify/git.jsonl");

#[derive(Deserialize)]
struct Case {
    name: String,
    kind: String,
    raw: String,
    now: i64,
    entries: BTreeMap<String, String>,
    payload: String,
    signature: String,
    key: Option<String>,
    error: Option<String>,
}

/// Cases whose message or result differs from Go's; each with the reason and the message here.
const OTHERWISE: &[(&str, &str, &str)] = &[];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn verdicts_are_those_of_flux() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in CASES.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let raw = STANDARD.decode(&case.raw).unwrap();
        let split = match case.kind.as_str() {
            "commit" => object::commit(&raw, ObjectFormat::Sha1),
            _ => object::tag(&raw),
        };
        assert_eq!(hex(&Sha256::digest(&split.payload)), case.payload, "{}", case.name);
        assert_eq!(
            String::from_utf8_lossy(&split.signature),
            case.signature,
            "{}",
            case.name
        );
        let keys = GitKeys::from_entries(case.entries.iter().map(|(name, text)| (name.as_str(), text.as_bytes())));
        let verdict = verify_object(&split, case.kind.parse().unwrap(), &keys, case.now);
        let verdict = verdict.map_err(|error| error.to_string());
        let other = OTHERWISE.iter().find(|(name, ..)| *name == case.name);
        let expected = match (other, case.key, case.error) {
            (Some((_, _, said)), ..) => Err((*said).to_owned()),
            (None, Some(key), _) => Ok(key),
            (None, None, error) => Err(error.unwrap()),
        };
        if verdict != expected {
            wrong.push(format!("{}: {verdict:?}, not {expected:?}", case.name));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 150, "{count}");
}
