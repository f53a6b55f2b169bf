//! `--sops-vault-configmap` and `transit-engine.auth.fluxcd.io` (N-061): values encrypted by the real sops at a Vault
//! are decrypted there with the token of a login by the API server's own token of the Kustomization's ServiceAccount.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tool;
use bumpwright_testkit::world::{CONFIG_MAP, KUSTOMIZATION, SERVICE_ACCOUNT};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};

/// Plain texts by their ciphertexts.
type Kept = Arc<Mutex<BTreeMap<String, String>>>;

fn body(request: &Request) -> Json {
    serde_json::from_slice(&request.body).unwrap()
}

/// A transit engine: the user `hunter2.admin` encrypts, and logged in users decrypt.
fn vault(kept: &Kept, request: &Request) -> Reply {
    let refused = |status| {
        let mut reply = Reply::json(&json!({"errors": ["permission denied"]}));
        reply.status = status;
        reply
    };
    let sent = body(request);
    let text = |name: &str| sent[name].as_str().unwrap().to_owned();
    let mut kept = kept.lock();
    match (request.path.as_str(), request.header("x-vault-token")) {
        ("/v1/transit/encrypt/sops", Some("hunter2.admin")) => {
            let stands = format!("vault:v1:{}", kept.len());
            kept.insert(stands.clone(), text("plaintext"));
            Reply::json(&json!({"data": {"ciphertext": stands}}))
        }
        ("/v1/auth/kubernetes/login", None) => Reply::json(&json!({"auth": {"client_token": "hunter2.login"}})),
        ("/v1/transit/decrypt/sops", Some("hunter2.login")) => match kept.get(&text("ciphertext")) {
            Some(plain) => Reply::json(&json!({"data": {"plaintext": plain}})),
            None => refused(400),
        },
        _ => refused(403),
    }
}

fn encrypted(world: &KustomizeWorld<'_>, address: &str, plain: &str) -> Option<String> {
    let file = world.folder.path().join("map.yaml");
    std::fs::write(&file, plain).unwrap();
    let mut sops = Command::new(tool("sops")?);
    sops.args(["--encrypt", "--hc-vault-transit"])
        .arg(format!("{address}/v1/transit/keys/sops"));
    sops.args(["--encrypted-regex", "^data$"])
        .arg(&file)
        .env("VAULT_TOKEN", "hunter2.admin");
    let output = sops
        .env("HOME", world.folder.path())
        .env_remove("VAULT_ADDR")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn n_061_a_service_account_logs_in() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "vault-logins");
    let kept = Kept::default();
    let server = StubHttp::start(move |request| vault(&kept, request));
    let address = format!("http://{}", server.address());
    let Some(file) = encrypted(&world, &address, &map("one", "p@ss w0rd")) else {
        return;
    };
    assert!(!file.contains("p@ss"), "{file}");
    let config = |address: &str| format!("instances:\n- address: {address}\n  loginPath: auth/kubernetes/login\n");
    world.put(CONFIG_MAP, "vaults", json!({"data": {"config.yaml": config(&address)}}));
    world.put(SERVICE_ACCOUNT, "sops", json!({}));
    let starter = world
        .starter("controller")
        .flags(&["--controllers=kustomize", "--sops-vault-configmap=vaults"]);
    let controller = starter.variable("VAULT_TOKEN", "hunter2.process").start();
    world.publish("app", "1", &[("map.yaml", &file)]);
    let decryption = json!({"provider": "sops", "serviceAccountName": "sops"});
    world.kustomize("app", json!({ "decryption": decryption }));
    world.applied("app", "1");
    assert_eq!(world.value("one", "key"), "p@ss w0rd");
    let looked_up = format!(
        "gotk_token_cache_events_total{{event_type=\"cache_miss\",kind=\"Kustomization\",name=\"app\",namespace=\"{}\",\
         operation=\"decrypt_with_transit_engine\"}}",
        world.namespace
    );
    assert_eq!(controller.metric(&looked_up), Some(1.0));

    let logins: Vec<Request> = server
        .requests()
        .into_iter()
        .filter(|request| request.path.ends_with("/login"))
        .collect();
    let login = body(&logins[0]);
    assert_eq!(login["role"], format!("{}_sops", world.namespace));
    // The API server accepts the token for this audience alone.
    let review = |audience: &str| {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
            "spec": {"token": login["jwt"], "audiences": [audience]},
        });
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        cluster.request("POST", path, "", &review.to_string()).body["status"].clone()
    };
    let reviewed = review(&address);
    let user = format!("system:serviceaccount:{}:sops", world.namespace);
    assert_eq!(
        (&reviewed["authenticated"], &reviewed["user"]["username"]),
        (&json!(true), &json!(user))
    );
    assert_ne!(review("https://elsewhere")["authenticated"], json!(true));

    // A server that the ConfigMap does not name gets neither a login nor the token of the process.
    world.patch(
        CONFIG_MAP,
        "vaults",
        &json!({"data": {"config.yaml": config("https://vault.example.com")}}),
    );
    let before = server.requests().len();
    world.request(KUSTOMIZATION, "app", "again");
    let words = |said: &str| {
        said.split_whitespace()
            .filter(|word| *word != "|")
            .collect::<Vec<_>>()
            .join(" ")
    };
    let wanted = format!(
        "no Vault login path configured for address '{address}' in ConfigMap '{}/vaults'",
        world.namespace
    );
    world.ready(KUSTOMIZATION, "app", "False", |_, said| words(said).contains(&wanted));
    assert_eq!(server.requests().len(), before);

    // The controller of a test is no ServiceAccount itself.
    world.patch(
        CONFIG_MAP,
        "vaults",
        &json!({"data": {"config.yaml": config(&address)}}),
    );
    world.patch(
        KUSTOMIZATION,
        "app",
        &json!({"spec": {"decryption": {"serviceAccountName": null}}}),
    );
    let wanted = "failed to issue Kubernetes token for Vault authentication: failed to create provider access token for the \
                  controller: its identity is not a ServiceAccount;";
    world.ready(KUSTOMIZATION, "app", "False", |_, said| words(said).contains(wanted));
    assert!(!controller.log().contains("hunter2"), "{}", controller.log());
    assert_eq!(controller.stop(), Some(0));
}

/// `transit-engine.auth.fluxcd.io` says where the ServiceAccount logs in, and as which role.
#[test]
fn n_061_a_service_account_says_where_it_logs_in() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = KustomizeWorld::new(cluster, "vault-annotated");
    let kept = Kept::default();
    let server = StubHttp::start(move |request| vault(&kept, request));
    let address = format!("http://{}", server.address());
    let Some(file) = encrypted(&world, &address, &map("one", "p@ss w0rd")) else {
        return;
    };
    let account = |path: &str| {
        let annotations = json!({
            "transit-engine.auth.fluxcd.io/login-path": path, "transit-engine.auth.fluxcd.io/role": "team",
        });
        world.put(
            SERVICE_ACCOUNT,
            "sops",
            json!({"metadata": {"annotations": annotations}}),
        );
    };
    account("auth/token/create");
    world.publish("app", "1", &[("map.yaml", &file)]);
    let decryption = json!({"provider": "sops", "serviceAccountName": "sops"});
    world.kustomize("app", json!({ "decryption": decryption }));
    let controller = world.controller(&[]);
    let said = world.ready(KUSTOMIZATION, "app", "False", |_, _| true);
    assert!(said.contains("login-path is invalid"), "{said}");
    let logins = || {
        let requests = server.requests().into_iter();
        requests
            .filter(|request| request.path.ends_with("/login"))
            .collect::<Vec<_>>()
    };
    assert!(logins().is_empty());

    account("auth/kubernetes/login");
    world.applied("app", "1");
    assert_eq!(world.value("one", "key"), "p@ss w0rd");
    assert_eq!(body(&logins()[0])["role"], "team");
    assert_eq!(controller.stop(), Some(0));

    // Two ways at once: nothing says which one is meant.
    let both = world.controller(&["--sops-vault-configmap=vaults"]);
    world.request(KUSTOMIZATION, "app", "both");
    let wanted = "cannot be combined with --sops-vault-configmap";
    world.ready(KUSTOMIZATION, "app", "False", |_, said| said.contains(wanted));
    assert_eq!(both.stop(), Some(0));
}
