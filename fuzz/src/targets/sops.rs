//! SOPS: files in all formats, and objects.

use std::panic;
use std::sync::Once;

use bumpwright_sops::{Format, Integrity, LocalKeys, Masks, decrypt, decrypt_object, is_encrypted_secret};
use serde_json::Value;

const FORMATS: [Format; 5] = [Format::Yaml, Format::Json, Format::Dotenv, Format::Ini, Format::Binary];

/// The keys that the files of `fixtures/sops` are encrypted for.
const KEYS: &str = include_str!("../../../fixtures/sops/keys.json");

thread_local! {
    static OURS: LocalKeys = keys();
}

fn keys() -> LocalKeys {
    let known: Value = serde_json::from_str(KEYS).expect("the keys are JSON");
    let mut keys = LocalKeys::default();
    for key in known.as_object().into_iter().flatten().map(|(_, key)| &key["private"]) {
        let text = key.as_str().expect("a key has a text");
        if text.contains("AGE-SECRET-KEY") {
            keys.age.import(text.as_bytes()).expect("the key is valid");
        } else if text.contains("PGP PRIVATE KEY") {
            keys.pgp.import(text.as_bytes()).expect("the key is valid");
        }
    }
    assert!(!keys.age.is_empty());
    keys
}

/// Sequoia panics at some messages that end too early; `pgp::Keys` catches that, and libFuzzer must not end here.
fn let_sequoia_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let other = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let is_sequoia = |place: &panic::Location<'_>| place.file().contains("sequoia-openpgp");
            if !panic.location().is_some_and(is_sequoia) {
                other(panic);
            }
        }));
    });
}

/// A file in each format that it may be in, with keys and without.
pub fn check(input: &[u8]) {
    let_sequoia_panic();
    let _ = Format::detect(input);
    for from in FORMATS.into_iter().filter(|format| format.is_marked(input)) {
        OURS.with(|keys| {
            if let Ok(checked) = decrypt(input, from, from, keys, Integrity::Checked) {
                let also =
                    decrypt(input, from, from, keys, Integrity::ValuesOnly).expect("valid with a MAC, so without");
                assert!(*checked == *also);
            }
        });
        for to in FORMATS {
            let _ = decrypt(input, from, to, &Masks, Integrity::ValuesOnly);
        }
    }
    if let Ok(mut object) = serde_json::from_slice(input) {
        let _ = is_encrypted_secret(&object);
        let _ = OURS.with(|keys| decrypt_object(&mut object, keys));
    }
}
