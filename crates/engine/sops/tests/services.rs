//! The interface to key services: which one is called for which key, in which order, and the error when none succeeds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use bumpwright_sops::{Format, Integrity, KeyError, KeyService, KeyServices, LocalKeys, MasterKey, decrypt};
use std::cell::RefCell;
use support::{case_named, keys};
use zeroize::Zeroizing;

/// Refuses every key and records it.
#[derive(Default)]
struct Refusing(RefCell<Vec<MasterKey>>);

impl KeyService for Refusing {
    fn decrypt(&self, key: &MasterKey) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        self.0.borrow_mut().push(key.clone());
        Err(KeyError::new(format!(
            "the service has no {} today, and that takes more than one line",
            key.kind()
        )))
    }
}

/// Recovers the data key of another file's age key for any key.
struct Knowing(LocalKeys, MasterKey);

impl KeyService for Knowing {
    fn decrypt(&self, _: &MasterKey) -> Result<Zeroizing<Vec<u8>>, KeyError> {
        self.0.decrypt(&self.1)
    }
}

fn all_kinds() -> Vec<u8> {
    case_named("metadata all kinds, age fits").file
}

#[test]
fn keys_are_tried_in_the_order_of_sops() {
    let service = Refusing::default();
    let error = decrypt(&all_kinds(), Format::Yaml, Format::Yaml, &service, Integrity::Checked).unwrap_err();
    let asked = service.0.into_inner();
    let kinds: Vec<&str> = asked.iter().map(MasterKey::kind).collect();
    assert_eq!(kinds, ["age", "kms", "kms", "gcp_kms", "hckms", "azure_kv", "hc_vault"]);
    let told = error.to_string();
    for name in [
        "arn:aws:kms:eu-west-1:123:key/abc+arn:aws:iam::123:role/r|app:x,env:y|dev: FAILED",
        "  arn:aws:kms:eu-west-1:123:key/def: FAILED",
        "projects/p/locations/global/keyRings/r/cryptoKeys/k: FAILED",
        "https://v.vault.azure.net/keys/k/abc: FAILED",
        "https://vault.example.com:8200/v1/transit/keys/k: FAILED",
        "cn-north-1:abc: FAILED\n    - | the service has no hckms today, and that takes more than one\n      | line\n",
    ] {
        assert!(told.contains(name), "{name}\n{told}");
    }
}

#[test]
fn a_service_sees_what_the_file_says() {
    let service = Refusing::default();
    let _ = decrypt(&all_kinds(), Format::Yaml, Format::Yaml, &service, Integrity::Checked);
    let asked = service.0.into_inner();
    let [
        _,
        MasterKey::AwsKms {
            arn,
            role,
            context,
            profile,
            enc,
            created_at,
        },
        ..,
    ] = asked.as_slice()
    else {
        panic!("no key of AWS");
    };
    assert_eq!(arn, "arn:aws:kms:eu-west-1:123:key/abc");
    assert_eq!(role, "arn:aws:iam::123:role/r");
    assert_eq!(context["app"].as_deref(), Some("x"));
    assert_eq!((profile.as_str(), enc.as_str()), ("dev", "AAAA"));
    assert_eq!(created_at, "2026-01-01T00:00:00Z");
}

#[test]
fn a_service_decrypts_what_local_keys_do_not() {
    let file = all_kinds();
    let watching = Refusing::default();
    let _ = decrypt(&file, Format::Yaml, Format::Yaml, &watching, Integrity::Checked);
    let age = watching.0.into_inner().remove(0);
    let knowing = Knowing(keys(&["age1".to_owned()]), age);
    let none = LocalKeys::default();
    let services = KeyServices {
        local: &none,
        remote: &knowing,
    };
    let plain = decrypt(&file, Format::Yaml, Format::Yaml, &services, Integrity::Checked).unwrap();
    assert_eq!(plain.as_slice(), b"a: one\n");
}
