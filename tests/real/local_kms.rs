//! Secrets that the real sops encrypts with AWS KMS, at local-kms, decrypted for Kustomizations (K-137, K-149).

use std::process::Command;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::key_stores::{LocalKms, ROOT, Vault, unboxed};
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map};
use bumpwright_testkit::tool;
use bumpwright_testkit::world::{KUSTOMIZATION, SECRET};
use serde_json::json;

/// The keys of the Secret; local-kms accepts any.
const LOGIN: &str = "aws_access_key_id: AKID\naws_secret_access_key: hunter2\n";

fn encrypted(world: &KustomizeWorld<'_>, endpoint: &str, arguments: &[&str], text: &str) -> Option<String> {
    let file = world.folder.path().join("file.yaml");
    std::fs::write(&file, text).unwrap();
    let mut sops = Command::new(tool("sops")?);
    sops.args(["encrypt", "--encrypted-regex", "^data$"])
        .args(arguments)
        .arg(&file);
    sops.env("HOME", world.folder.path())
        .env("AWS_ENDPOINT_URL_KMS", endpoint)
        .env("VAULT_TOKEN", ROOT);
    sops.env("AWS_ACCESS_KEY_ID", "AKID")
        .env("AWS_SECRET_ACCESS_KEY", "hunter2");
    let output = sops.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_key_of_aws_is_used_while_it_may_be() {
    let (Some(cluster), Some(kms)) = (Cluster::shared(), LocalKms::start()) else {
        return;
    };
    let world = KustomizeWorld::new(cluster, "local-kms");
    let endpoint = format!("http://{}", kms.address());
    let made = kms.call("CreateKey", &json!({}));
    let (id, arn) = (
        &made["KeyMetadata"]["KeyId"],
        made["KeyMetadata"]["Arn"].as_str().unwrap(),
    );
    kms.call("CreateAlias", &json!({"AliasName": "alias/sops", "TargetKeyId": id}));
    let alias = format!("{}alias/sops", arn.split("key/").next().unwrap());
    let context = ["--kms", arn, "--encryption-context", "app:web,stage:prod"];
    let Some(one) = encrypted(&world, &endpoint, &context, &map("one", "f1rst")) else {
        return;
    };
    let two = encrypted(&world, &endpoint, &["--kms", &alias], &map("two", "s3cond")).unwrap();
    world.put(SECRET, "keys", json!({"stringData": {"sops.aws-kms": LOGIN}}));
    let starter = world.starter("controller").flags(&["--controllers=kustomize"]);
    let controller = starter.variable("AWS_ENDPOINT_URL_KMS", &endpoint).start();
    world.publish("app", "1", &[("one.yaml", &one), ("two.yaml", &two)]);
    world.kustomize(
        "app",
        json!({"decryption": {"provider": "sops", "secretRef": {"name": "keys"}}}),
    );
    world.applied("app", "1");
    assert_eq!(
        [world.value("one", "key"), world.value("two", "key")],
        ["f1rst", "s3cond"]
    );

    let refused = |wanted: &str| world.ready(KUSTOMIZATION, "app", "False", |_, said| said.contains(wanted));
    // The context is authenticated.
    let moved = one.replace("stage: prod", "stage: test");
    assert_ne!(moved, one);
    world.publish("app", "2", &[("one.yaml", &moved), ("two.yaml", &two)]);
    refused("InvalidCiphertextException");
    world.publish("app", "3", &[("one.yaml", &one), ("two.yaml", &two)]);
    world.applied("app", "3");
    kms.call("DisableKey", &json!({ "KeyId": id }));
    world.again("app", "disabled");
    refused("DisabledException");
    kms.call("EnableKey", &json!({ "KeyId": id }));
    world.applied("app", "3");
    assert!(!controller.log().contains("hunter2"), "{}", controller.log());
    assert_eq!(controller.stop(), Some(0));
}

/// A file for two master keys is decrypted with the one that is left, whichever is named first.
#[test]
fn one_of_two_services_is_enough() {
    let (Some(cluster), Some(kms), Some(vault)) = (Cluster::shared(), LocalKms::start(), Vault::start("bao")) else {
        return;
    };
    let world = KustomizeWorld::new(cluster, "two-services");
    let endpoint = format!("http://{}", kms.address());
    let arn = kms.call("CreateKey", &json!({}))["KeyMetadata"]["Arn"]
        .as_str()
        .unwrap()
        .to_owned();
    vault.make_key("", "transit", "sops", "aes256-gcm96");
    let key = format!("{}/v1/transit/keys/sops", vault.address());
    let both = ["--kms", &arn, "--hc-vault-transit", &key];
    let Some(file) = encrypted(&world, &endpoint, &both, &map("one", "f1rst")) else {
        return;
    };
    let token = vault.token(json!({"policies": ["sops-decryptor"]}));
    let logins = json!({"sops.aws-kms": LOGIN, "sops.vault-token": token});
    world.put(SECRET, "keys", json!({ "stringData": logins }));
    let starter = world.starter("controller").flags(&["--controllers=kustomize"]);
    let starter = starter.variable("VAULT_MAX_RETRIES", "0");
    let controller = starter.variable("AWS_ENDPOINT_URL_KMS", &endpoint).start();
    world.publish("app", "1", &[("one.yaml", &file)]);
    world.kustomize(
        "app",
        json!({"decryption": {"provider": "sops", "secretRef": {"name": "keys"}}}),
    );
    world.applied("app", "1");
    drop(vault);
    world.again("app", "without-vault");
    world.applied("app", "1");
    drop(kms);
    world.again("app", "without-both");
    world.ready(KUSTOMIZATION, "app", "False", |_, said| {
        let said = unboxed(said);
        said.contains("transit/decrypt/sops") && said.contains("data key with AWS KMS")
    });
    assert_eq!(controller.stop(), Some(0));
}
