//! Objects of a build (K-129, K-150 … K-155, N-062), and the Secrets with keys (K-132, K-135, K-136, K-147).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bumpwright_sops::{
    Format, LocalKeys, MASK, Masks, ciphertext, decrypt_object, is_encrypted_object, is_encrypted_secret,
    read_age_secret, read_secret,
};
use bumpwright_yaml::{FileId, ReadOptions, read_first, write_json};
use serde_json::{Value, json};
use support::{Case, case_named, fixture, keys};

fn age1() -> LocalKeys {
    keys(&["age1".to_owned()])
}

fn object(case: &Case) -> Value {
    let node = read_first(&case.file, &ReadOptions::kyaml(FileId::NONE))
        .unwrap()
        .unwrap();
    let mut text = String::new();
    write_json(&node, &mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn encrypted_secret() -> Value {
    object(&case_named("rule encrypted_regex yaml/secret"))
}

#[test]
fn an_object_is_decrypted_although_a_build_has_changed_it() {
    let mut secret = encrypted_secret();
    assert!(is_encrypted_secret(&secret));
    secret["metadata"]["namespace"] = json!("elsewhere");
    secret["metadata"]["labels"] = json!({ "owner": "me" });
    assert!(decrypt_object(&mut secret, &age1()).unwrap());
    let data = json!({ "user": "app", "password": "p@ss w0rd", "empty": "" });
    assert_eq!(secret["stringData"], data);
    assert_eq!(secret["metadata"]["labels"], json!({ "owner": "me" }));
    assert!(secret.get("sops").is_none());
    assert!(!is_encrypted_secret(&secret));
}

#[test]
fn masks_stand_in_the_place_of_values() {
    let mut secret = encrypted_secret();
    assert!(decrypt_object(&mut secret, &Masks).unwrap());
    let data = json!({ "user": MASK, "password": MASK, "empty": "" });
    assert_eq!(secret["stringData"], data);
    assert!(secret.get("sops").is_none());
    let mut plain = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"a": "Yg=="}});
    assert!(!decrypt_object(&mut plain, &Masks).unwrap());
}

#[test]
fn objects_of_any_kind_are_decrypted() {
    let mut object = encrypted_secret();
    object["kind"] = json!("HelmRelease");
    assert!(decrypt_object(&mut object, &age1()).unwrap());
    assert_eq!(object["stringData"]["user"], json!("app"));
}

/// N-062
#[test]
fn an_annotation_keeps_an_object_as_it_is() {
    for (value, decrypted) in [
        ("disabled", false),
        ("Disabled", false),
        ("Enabled", true),
        ("no", true),
    ] {
        let mut object = encrypted_secret();
        object["metadata"]["annotations"] = json!({ "kustomize.toolkit.fluxcd.io/decrypt": value });
        assert_eq!(decrypt_object(&mut object, &age1()).unwrap(), decrypted, "{value}");
    }
}

#[test]
fn what_is_not_encrypted_stays_as_it_is() {
    for mut object in [
        json!({ "kind": "ConfigMap", "data": { "a": "mac: ENC[" } }),
        json!({ "kind": "Secret", "data": { "a": "AAAA", "b": "no base64!", "c": 1 } }),
        json!({ "kind": "Secret", "sops": {}, "data": {} }),
        json!({ "kind": "Secret", "sops": null }),
        json!("text"),
    ] {
        let before = object.clone();
        assert!(!decrypt_object(&mut object, &age1()).unwrap(), "{before}");
        assert_eq!(object, before);
    }
}

/// The objects of `fixtures/sops/comments.jsonl`: encrypted, and in plain text.
fn chosen_by_comments() -> Vec<(Value, Value)> {
    let of = |text: &Value| {
        let node = read_first(text.as_str().unwrap().as_bytes(), &ReadOptions::kyaml(FileId::NONE));
        let mut json = String::new();
        write_json(&node.unwrap().unwrap(), &mut json).unwrap();
        serde_json::from_str(&json).unwrap()
    };
    let table = fixture("comments.jsonl");
    let rows = table.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.map(|row| (of(&row["file"]), of(&row["plain"]))).collect()
}

/// A build has dropped the comments by which SOPS chose the values: what looks encrypted is decrypted, as by
/// kustomize-controller v1.10 (N-065).
#[test]
fn values_that_comments_chose_are_decrypted_without_them() {
    for (mut object, plain) in chosen_by_comments() {
        let mut masked = object.clone();
        assert!(object.to_string().contains("ENC[AES256_GCM"));
        assert!(decrypt_object(&mut object, &age1()).unwrap());
        assert_eq!(object, plain);
        assert!(decrypt_object(&mut masked, &Masks).unwrap());
        let masked = masked.to_string();
        assert!(masked.contains(MASK) && !masked.contains("ENC["), "{masked}");
    }
}

/// A damaged value is not applied as it is; its path is reported, and not its text.
#[test]
fn a_damaged_value_that_a_comment_chose_is_told() {
    let (mut secret, _) = chosen_by_comments().swap_remove(0);
    let value = secret["stringData"]["password"].as_str().unwrap();
    secret["stringData"]["password"] = json!(value.trim_end_matches(']'));
    for error in [
        decrypt_object(&mut secret.clone(), &age1()).unwrap_err().to_string(),
        decrypt_object(&mut secret, &Masks).unwrap_err().to_string(),
    ] {
        assert!(
            error.contains("could not decrypt value at 'stringData.password': ") && !error.contains("ENC["),
            "{error}"
        );
    }
}

/// What a rule leaves out, although it was encrypted, would be applied as ciphertext.
#[test]
fn values_that_stay_encrypted_are_refused() {
    let sealed = encrypted_secret()["stringData"]["password"].clone();
    let mut narrowed = encrypted_secret();
    narrowed["sops"]["encrypted_regex"] = json!("^(data)$");
    let mut pasted = encrypted_secret();
    pasted["data"] = json!({ "key.pem": STANDARD.encode(sealed.as_str().unwrap()) });
    pasted["sops"]["encrypted_regex"] = json!("^(stringData)$");
    let mut release = encrypted_secret();
    release["kind"] = json!("HelmRelease");
    release["apiVersion"] = json!("helm.toolkit.fluxcd.io/v2");
    release["spec"] = json!({ "values": [{ "token": sealed }] });
    for (object, field, why) in [
        (narrowed, "stringData.password", "`encrypted_regex: ^(data)$`"),
        (pasted, "data.key.pem", "`encrypted_regex: ^(stringData)$`"),
        (release, "spec.values.0.token", "`encrypted_regex: ^(data|stringData)$`"),
    ] {
        let keys = age1();
        let services: [&dyn bumpwright_sops::KeyService; 2] = [&keys, &Masks];
        for service in services {
            let mut changed = object.clone();
            let error = decrypt_object(&mut changed, service).unwrap_err();
            assert!(error.is_left());
            let told = error.to_string();
            let wanted = format!("{field} is still encrypted: {why}");
            assert!(told.contains(&wanted) && !told.contains("ENC["), "{told}");
            assert_eq!(changed, object);
        }
    }
}

/// A text of a plain object, or one that is more than a value of SOPS, is nobody's ciphertext.
#[test]
fn texts_about_sops_are_no_ciphertext() {
    let mut map = encrypted_secret();
    map["kind"] = json!("ConfigMap");
    map["data"] = json!({ "readme": "values look like ENC[AES256_GCM,data:eA==,type:str] then" });
    map["sops"]["encrypted_regex"] = json!("^(stringData)$");
    assert!(decrypt_object(&mut map, &age1()).unwrap());
    let plain = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "ENC[AES256_GCM,data:eA==]" } });
    assert!(!decrypt_object(&mut plain.clone(), &age1()).unwrap());
    assert!(!is_encrypted_object(&plain) && ciphertext(&plain).is_none());
}

#[test]
fn encrypted_objects_are_known_where_sops_is_no_field_of_their_kind() {
    for (version, is_known) in [
        ("v1", true),
        ("apps/v1", true),
        ("networking.k8s.io/v1", true),
        ("helm.toolkit.fluxcd.io/v2", true),
        ("isindir.github.com/v1alpha3", false),
    ] {
        let mut object = encrypted_secret();
        object["kind"] = json!("Thing");
        object["apiVersion"] = json!(version);
        assert_eq!(is_encrypted_object(&object), is_known, "{version}");
        object["sops"] = json!({});
        assert!(!is_encrypted_object(&object), "{version}");
    }
}

/// The words of kustomize-controller v1.9.5 (scenario `sops-wrong-key`).
#[test]
fn a_key_that_does_not_fit_is_told() {
    let mut object = encrypted_secret();
    object["metadata"]["namespace"] = json!("apps");
    let before = object.clone();
    let error = decrypt_object(&mut object, &keys(&["age2".to_owned()]))
        .unwrap_err()
        .to_string();
    let table: Value = serde_json::from_str(&fixture("keys.json")).unwrap();
    let recipient = table["age1"]["public"].as_str().unwrap();
    let wanted = format!(
        "failed to decrypt and format 'apps/creds' Secret data: cannot get sops data key: Failed to get the data key \
         required to decrypt the SOPS file.\n\nGroup 0: FAILED\n  {recipient}: FAILED\n    - | failed to create reader \
         for decrypting sops data key with\n      | age: identity did not match any of the recipients: incorrect\n      \
         | identity for recipient block\n\nRecovery failed because no master key was able to decrypt the file. In\norder \
         for SOPS to recover the file, at least one key has to be successful,\nbut none were."
    );
    assert_eq!(error, wanted);
    assert_eq!(object, before);
}

/// K-150 … K-155: the format follows from the name of an entry.
#[test]
fn files_in_the_data_of_a_secret_are_decrypted() {
    for (name, case) in [
        ("config.yaml", "yaml/comments-spaced"),
        ("config.yml", "yaml/lists"),
        ("config.json", "json/basic"),
        (".dockerconfigjson", "json/docker"),
        ("config.env", "dotenv/basic"),
        ("config.ini", "ini/basic"),
        ("token", "binary/text"),
        ("token", "binary/bytes"),
    ] {
        let case = case_named(case);
        let mut secret = json!({
            "kind": "Secret",
            "data": { name: STANDARD.encode(&case.file), "other": "cGxhaW4=" },
        });
        assert!(decrypt_object(&mut secret, &age1()).unwrap(), "{name}");
        assert_eq!(
            secret["data"][name],
            json!(STANDARD.encode(case.want.unwrap())),
            "{name}"
        );
        assert_eq!(secret["data"]["other"], json!("cGxhaW4="));
    }
}

/// K-134: those bytes are as they were encrypted, so their MAC is checked.
#[test]
fn changed_files_in_the_data_of_a_secret_are_refused() {
    let case = case_named("tampered plain changed");
    let mut secret = json!({
        "kind": "Secret",
        "metadata": { "name": "s", "namespace": "apps" },
        "data": { "a.yaml": STANDARD.encode(&case.file) },
    });
    let error = decrypt_object(&mut secret, &age1()).unwrap_err().to_string();
    let wanted = "failed to decrypt and format 'apps/s' Secret field 'a.yaml': failed to verify sops data integrity: MAC \
                  mismatch";
    assert_eq!(error, wanted);
}

/// K-132: invalid keys are rejected where they are read.
#[test]
fn entries_are_known_by_their_names() {
    for (name, is_looked_at) in [
        ("identity.agekey", true),
        (".agekey", true),
        ("team.asc", true),
        ("sops.vault-token", false),
        ("sops.aws-kms", false),
        ("sops.azure-kv", false),
        ("sops.gcp-kms", false),
        ("agekey", false),
        ("key.agekey.txt", false),
    ] {
        let refused = read_secret([(name, b"no key".as_slice())], "apps/keys").is_err();
        assert_eq!(refused, is_looked_at, "{name}");
    }
}

/// K-135, K-136
#[test]
fn a_secret_gives_keys() {
    let table: Value = serde_json::from_str(&fixture("keys.json")).unwrap();
    let private = |name: &str| table[name]["private"].as_str().unwrap().as_bytes();
    let data = [
        ("a.agekey", private("age1")),
        ("b.agekey", private("age2")),
        ("c.asc", private("pgp-ecc")),
        ("notes", b"hello".as_slice()),
    ];
    let keys = read_secret(data, "apps/sops-keys").unwrap();
    assert_eq!(keys.age.len(), 2);
    let case = case_named("keys pgp-ecc yaml");
    let decrypted = bumpwright_sops::decrypt_file(&case.file, Format::Yaml, &keys).unwrap();
    assert_eq!(decrypted.unwrap().as_slice(), case.want.unwrap());
    // K-147: the other entries of that Secret do not count.
    assert_eq!(read_age_secret(data, "flux-system/age").unwrap().age.len(), 2);
}

/// The words of kustomize-controller (scenario `sops-bad-key-data`), gpg's folder left out; errors contain no entries.
#[test]
fn entries_without_a_key_are_refused() {
    let secret = "apps/sops-keys";
    let bech32 = "AGE-SECRET-KEY-19H8UMTK0ADML85NVX5J2WQVJYTKY3NCJ5VH2CL2TCNN0HX6ZK9ZQSEY24L";
    for (name, value, wanted) in [
        (
            "identity.agekey",
            "hello",
            "failed to import 'identity.agekey' data from sops decryption Secret 'apps/sops-keys': failed to parse and add \
             to age identities: unknown identity type",
        ),
        (
            "identity.agekey",
            bech32,
            "failed to import 'identity.agekey' data from sops decryption Secret 'apps/sops-keys': failed to parse and add \
             to age identities: malformed secret key: invalid checksum",
        ),
        (
            "identity.agekey",
            "AGE-SECRET-KEY-PQ-1QQQQQQQQ",
            "failed to import 'identity.agekey' data from sops decryption Secret 'apps/sops-keys': failed to parse and add \
             to age identities: malformed secret key: invalid checksum",
        ),
        (
            "identity.asc",
            "hello",
            "failed to import 'identity.asc' data from sops decryption Secret 'apps/sops-keys': failed to import armored \
             key data into GnuPG keyring (exit status 2): gpg: no valid OpenPGP data found.\ngpg: Total number processed: 0",
        ),
    ] {
        let error = read_secret([(name, value.as_bytes())], secret)
            .err()
            .unwrap()
            .to_string();
        assert_eq!(error, wanted);
    }
    let error = read_age_secret([("k.agekey", b"x".as_slice())], "flux-system/age")
        .err()
        .unwrap();
    let wanted = "failed to import 'k.agekey' data from sops SOPS age decryption Secret 'flux-system/age': failed to parse \
                  and add to age identities: unknown identity type";
    assert_eq!(error.to_string(), wanted);
}
