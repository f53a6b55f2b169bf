//! Secrets that the real sops encrypts at Vault and at OpenBao, which has its API, decrypted for Kustomizations: keys
//! that are rotated, tokens that are revoked, logins of ServiceAccounts that the server has reviewed by the API server
//! or verifies itself, namespaces (only OpenBao's are free), TLS, a sealed server (K-144, K-146, N-061).

use std::process::Command;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::key_stores::{ROOT, Vault, unboxed};
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map};
use bumpwright_testkit::tool;
use bumpwright_testkit::world::{CONFIG_MAP, KUSTOMIZATION, SECRET, SERVICE_ACCOUNT};
use serde_json::json;

/// The token of the controller's environment, which no server knows.
const PROCESS: (&str, &str) = ("VAULT_TOKEN", "hunter2-process");

fn sops(world: &KustomizeWorld<'_>, vault: &Vault, arguments: &[&str], text: &str) -> Option<String> {
    let file = world.folder.path().join("file.yaml");
    std::fs::write(&file, text).unwrap();
    let mut sops = Command::new(tool("sops")?);
    sops.args(arguments).arg(&file);
    sops.env("HOME", world.folder.path())
        .env("VAULT_TOKEN", ROOT)
        .env_remove("VAULT_ADDR");
    if let Some(ca) = vault.ca() {
        sops.env("VAULT_CACERT", ca);
    }
    let output = sops.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// A ConfigMap whose value is encrypted for the key at this path below `/v1/`.
fn encrypted(world: &KustomizeWorld<'_>, vault: &Vault, key: &str, name: &str, value: &str) -> Option<String> {
    let key = format!("{}/v1/{key}", vault.address());
    let arguments = ["encrypt", "--encrypted-regex", "^data$", "--hc-vault-transit", &key];
    let file = sops(world, vault, &arguments, &map(name, value))?;
    assert!(!file.contains(value), "{file}");
    Some(file)
}

/// A Kustomization of these files with the token of the Secret `keys`.
fn with_token(world: &KustomizeWorld<'_>, token: &str, files: &[(&str, &str)]) {
    world.put(SECRET, "keys", json!({"stringData": {"sops.vault-token": token}}));
    world.publish("app", "1", files);
    world.kustomize(
        "app",
        json!({"decryption": {"provider": "sops", "secretRef": {"name": "keys"}}}),
    );
}

/// Waits for a message with these words.
fn says(world: &KustomizeWorld<'_>, wanted: &[&str]) {
    world.ready(KUSTOMIZATION, "app", "False", |_, said| {
        let said = unboxed(said);
        wanted.iter().all(|wanted| said.contains(wanted))
    });
}

fn keys_are_rotated(program: &str) {
    let (Some(cluster), Some(vault)) = (Cluster::shared(), Vault::start(program)) else {
        return;
    };
    let world = KustomizeWorld::new(cluster, &format!("{program}-rotates"));
    vault.make_key("", "team/transit", "sops", "aes256-gcm96");
    vault.make_key("", "team/transit", "rsa", "rsa-2048");
    let encrypted =
        |key: &str, name, value| encrypted(&world, &vault, &format!("team/transit/keys/{key}"), name, value);
    let Some(old) = encrypted("sops", "old", "f1rst") else {
        return;
    };
    vault.write("team/transit/keys/sops/rotate", json!({}));
    let (new, other) = (
        encrypted("sops", "new", "s3cond").unwrap(),
        encrypted("rsa", "other", "th1rd").unwrap(),
    );
    assert!(old.contains("vault:v1:") && new.contains("vault:v2:"), "{old}{new}");
    let token = vault.token(json!({"policies": ["sops-decryptor", "rsa-decryptor"], "ttl": "1h", "no_parent": true}));
    let starter = world.starter("controller").flags(&["--controllers=kustomize"]);
    let controller = starter.variable(PROCESS.0, PROCESS.1).start();
    with_token(
        &world,
        &token,
        &[("old.yaml", &old), ("new.yaml", &new), ("other.yaml", &other)],
    );
    world.applied("app", "1");
    let values = ["old", "new", "other"].map(|name| world.value(name, "key"));
    assert_eq!(values, ["f1rst", "s3cond", "th1rd"].map(|value| json!(value)));

    // Who rotates the data key first may forbid the old version of the key afterwards.
    let anew = sops(&world, &vault, &["rotate"], &old).unwrap();
    assert!(anew.contains("vault:v2:"), "{anew}");
    vault.write("team/transit/keys/sops/config", json!({"min_decryption_version": 2}));
    world.again("app", "forbidden");
    says(
        &world,
        &[
            "team/transit/decrypt/sops",
            "Code: 400. Errors:",
            "disallowed by policy (too old)",
        ],
    );
    world.publish(
        "app",
        "2",
        &[("old.yaml", &anew), ("new.yaml", &new), ("other.yaml", &other)],
    );
    world.applied("app", "2");

    // A token for another key, and none at all.
    let other = r#"path "team/transit/decrypt/another" { capabilities = ["update"] }"#;
    vault.write("sys/policies/acl/sops-decryptor", json!({ "policy": other }));
    world.again("app", "powerless");
    says(&world, &["Code: 403. Errors:", "permission denied"]);
    vault.write("auth/token/revoke", json!({ "token": token }));
    world.again("app", "revoked");
    says(&world, &["Code: 403. Errors:", "permission denied"]);
    let said = format!("{}{:#}", controller.log(), world.get(KUSTOMIZATION, "app"));
    assert!(!said.contains(&token) && !said.contains("hunter2"), "{said}");
    assert_eq!(controller.stop(), Some(0));
}

#[test]
fn keys_are_rotated_at_vault() {
    keys_are_rotated("vault");
}

#[test]
fn keys_are_rotated_at_openbao() {
    keys_are_rotated("bao");
}

/// Lets Vault ask the API server about tokens, and the ServiceAccount `sops` of a namespace decrypt; the namespace of
/// OpenBao is empty or `name/`.
fn trust(world: &KustomizeWorld<'_>, vault: &Vault, at: &str) {
    let (cluster, ns) = (world.cluster, &world.namespace);
    for name in ["sops", "reviewer"] {
        world.put(SERVICE_ACCOUNT, name, json!({}));
    }
    let reviewer = json!({"kind": "ServiceAccount", "name": "reviewer", "namespace": ns});
    cluster.bind(&format!("{ns}-reviewer"), "system:auth-delegator", &reviewer);
    let path = format!("{}/token", world.path(SERVICE_ACCOUNT, "reviewer"));
    let answer = cluster.request("POST", &path, "", &json!({"spec": {}}).to_string());
    let authority = String::from_utf8(cluster.ca().to_vec()).unwrap();

    vault.write(&format!("{at}sys/auth/kubernetes"), json!({"type": "kubernetes"}));
    let config = json!({
        "kubernetes_host": cluster.url(), "kubernetes_ca_cert": authority, "disable_local_ca_jwt": true,
        "token_reviewer_jwt": answer.body["status"]["token"],
    });
    vault.write(&format!("{at}auth/kubernetes/config"), config);
    role(world, vault, at, "sops");

    cluster.show_keys();
    vault.write(&format!("{at}sys/auth/jwt"), json!({"type": "jwt"}));
    let keys = format!("{}/openid/v1/jwks", cluster.url());
    vault.write(
        &format!("{at}auth/jwt/config"),
        json!({"jwks_url": keys, "jwks_ca_pem": authority}),
    );
    let bound = json!({
        "role_type": "jwt", "user_claim": "sub", "bound_subject": format!("system:serviceaccount:{ns}:sops"),
        "bound_audiences": [vault.address()], "token_policies": ["sops-decryptor"],
    });
    vault.write(&format!("{at}auth/jwt/role/{ns}_sops"), bound);
}

/// The role that is for the ServiceAccount `sops` by its name, bound to this one.
fn role(world: &KustomizeWorld<'_>, vault: &Vault, at: &str, account: &str) {
    let ns = &world.namespace;
    let bound = json!({
        "bound_service_account_names": [account], "bound_service_account_namespaces": [ns], "audience": vault.address(),
        "token_policies": ["sops-decryptor"], "token_ttl": "10m",
    });
    vault.write(&format!("{at}auth/kubernetes/role/{ns}_sops"), bound);
}

fn service_accounts_log_in(program: &str, at: &str) {
    let (Some(cluster), Some(vault)) = (Cluster::shared(), Vault::start(program)) else {
        return;
    };
    let world = KustomizeWorld::new(cluster, &format!("{program}-{}logins", at.replace('/', "-")));
    if let Some(name) = at.strip_suffix('/') {
        vault.write(&format!("sys/namespaces/{name}"), json!({}));
    }
    vault.make_key(at, "transit", "sops", "aes256-gcm96");
    let Some(file) = encrypted(&world, &vault, &format!("{at}transit/keys/sops"), "one", "p@ss w0rd") else {
        return;
    };
    trust(&world, &vault, at);
    let log_in_at = |path: &str| {
        let config = format!("instances:\n- address: {}\n  loginPath: {at}{path}\n", vault.address());
        world.put(CONFIG_MAP, "vaults", json!({"data": {"config.yaml": config}}));
    };
    log_in_at("auth/kubernetes/login");
    let starter = world
        .starter("controller")
        .flags(&["--controllers=kustomize", "--sops-vault-configmap=vaults"]);
    let controller = starter.variable(PROCESS.0, PROCESS.1).start();
    world.publish("app", "1", &[("map.yaml", &file)]);
    let decryption = json!({"provider": "sops", "serviceAccountName": "sops"});
    world.kustomize("app", json!({ "decryption": decryption }));
    world.applied("app", "1");
    assert_eq!(world.value("one", "key"), "p@ss w0rd");

    role(&world, &vault, at, "another");
    world.again("app", "another");
    let role = format!("{}_sops", world.namespace);
    says(
        &world,
        &[
            &format!("failed to authenticate with Vault '{}' at login path", vault.address()),
            &format!("as role '{role}'"),
            "Code: 403. Errors:",
            "service account name not authorized",
        ],
    );

    log_in_at("auth/jwt/login");
    world.again("app", "jwt");
    world.applied("app", "1");
    vault.write(
        &format!("{at}auth/jwt/role/{role}"),
        json!({
            "role_type": "jwt", "user_claim": "sub", "bound_subject": "system:serviceaccount:kube-system:sops",
            "bound_audiences": [vault.address()], "token_policies": ["sops-decryptor"],
        }),
    );
    world.again("app", "jwt-of-another");
    says(&world, &["Code: 400. Errors:", "invalid subject (sub) claim"]);
    assert!(!controller.log().contains("hunter2"), "{}", controller.log());
    assert_eq!(controller.stop(), Some(0));
}

#[test]
fn service_accounts_log_in_at_vault() {
    service_accounts_log_in("vault", "");
}

#[test]
fn service_accounts_log_in_at_openbao() {
    service_accounts_log_in("bao", "");
}

#[test]
fn service_accounts_log_in_at_a_namespace_of_openbao() {
    service_accounts_log_in("bao", "team/");
}

fn a_sealed_server_is_waited_for(program: &str) {
    let (Some(cluster), Some(vault)) = (Cluster::shared(), Vault::with(program, true)) else {
        return;
    };
    let world = KustomizeWorld::new(cluster, &format!("{program}-sealed"));
    vault.make_key("", "transit", "sops", "chacha20-poly1305");
    let Some(file) = encrypted(&world, &vault, "transit/keys/sops", "one", "p@ss w0rd") else {
        return;
    };
    let token = vault.token(json!({"policies": ["sops-decryptor"]}));
    let flags = ["--controllers=kustomize"];
    let stranger = world.starter("stranger").flags(&flags).start();
    with_token(&world, &token, &[("map.yaml", &file)]);
    says(&world, &["TLS"]);
    stranger.stop();

    let starter = world.starter("controller").flags(&flags);
    let controller = starter.variable("VAULT_CACERT", vault.ca().unwrap()).start();
    world.applied("app", "1");
    vault.seal();
    world.again("app", "sealed");
    says(&world, &["Code: 503. Errors:", "is sealed"]);
    vault.unseal();
    world.applied("app", "1");
    assert_eq!(controller.stop(), Some(0));
}

#[test]
fn a_sealed_vault_is_waited_for() {
    a_sealed_server_is_waited_for("vault");
}

#[test]
fn a_sealed_openbao_is_waited_for() {
    a_sealed_server_is_waited_for("bao");
}
