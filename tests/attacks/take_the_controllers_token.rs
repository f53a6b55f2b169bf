//! Attempts to get the controller's own tokens: for the API server, for a cloud, for Vault. Each tenant has a server
//! that records all requests.

use std::process::Command;

use serde_json::{Value as Json, json};

use crate::siege::{OUTSIDE, Siege, siege};
use bumpwright_testkit::controller::Starter;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, map};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::rsa::Rsa;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::tls::Certificates;
use bumpwright_testkit::tool;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{
    CONFIG_MAP, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, SERVICE_ACCOUNT, World, newest,
};

/// Part of each secret.
const HUNTER: &str = "hunter2";

/// A tenant with a server that acts as a cluster.
struct Mallory {
    world: KustomizeWorld<'static>,
    server: StubHttp,
    ca: String,
}

impl std::ops::Deref for Mallory {
    type Target = KustomizeWorld<'static>;

    fn deref(&self) -> &KustomizeWorld<'static> {
        &self.world
    }
}

impl Mallory {
    /// None without openssl.
    fn new(siege: &'static Siege, namespace: &str) -> Option<Self> {
        let certificates = Certificates::make()?;
        let server = StubHttp::with(Some(certificates.server_config(false)), |_| Reply::status(403));
        let world = World::new(siege.cluster, namespace).labelled("siege", OUTSIDE);
        Some(Self {
            world: KustomizeWorld::of(world),
            server,
            ca: String::from_utf8(certificates.ca).unwrap(),
        })
    }

    /// The controller with a ServiceAccount of its own that may do everything, as in a real cluster.
    fn controller_as_account(&self, kinds: &str) -> Starter {
        self.put(SERVICE_ACCOUNT, "controller", json!({}));
        let subject = json!({"kind": "ServiceAccount", "name": "controller", "namespace": self.namespace});
        let name = format!("{}-controller", self.namespace);
        self.cluster.bind(&name, "cluster-admin", &subject);
        let path = format!("{}/token", self.path(SERVICE_ACCOUNT, "controller"));
        let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let issued = self.cluster.request("POST", &path, "", &request.to_string());
        let token = issued.body["status"]["token"].as_str().unwrap();
        let kubeconfig = self.folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, self.cluster.kubeconfig_with(token)).unwrap();
        let starter = self.starter("controller").kubeconfig(&kubeconfig);
        starter.flags(&[&format!("--controllers={kinds}"), "--requeue-dependency=1s"])
    }

    /// A Kustomization for the server, which a ConfigMap of the same name describes; `more` comes on top.
    fn aim(&self, name: &str, more: &Json) {
        let mut data = json!({"provider": "generic", "address": self.server.url(""), "ca.crt": self.ca});
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.put(CONFIG_MAP, name, json!({ "data": data }));
        self.publish(name, "1", &[("map.yaml", &map(name, "1"))]);
        self.kustomize(name, json!({"kubeConfig": {"configMapRef": {"name": name}}}));
    }

    /// All bearer tokens that were sent to the server.
    fn loot(&self) -> Vec<String> {
        let all = self.server.requests();
        let headers = all.iter().filter_map(|request| request.header("authorization"));
        headers
            .map(|header| header.trim_start_matches("Bearer ").to_owned())
            .collect()
    }

    /// The user of a token at the API server, if any.
    fn user(&self, token: &str, audience: Option<&str>) -> Option<String> {
        let audiences: Vec<&str> = audience.into_iter().collect();
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
            "spec": {"token": token, "audiences": audiences}});
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let status = self.cluster.request("POST", path, "", &review.to_string()).body["status"].take();
        status["user"]["username"].as_str().map(str::to_owned)
    }
}

/// The tenant names the API server of this very cluster, or a cloud, as the audience of the controller's token for the
/// tenant's server, to impersonate the controller.
#[test]
fn the_controllers_token_for_the_api_server_by_naming_it_as_audience() {
    let Some(siege) = siege() else { return };
    let Some(mallory) = Mallory::new(siege, "mallory-audience") else {
        return;
    };
    let own = mallory.cluster.url().to_owned();
    let audiences = [
        own.clone(),
        format!("harmless\n  {own}\n"),
        format!("{own}/"),
        "https://kubernetes.default.svc.cluster.local".to_owned(),
        "sts.amazonaws.com".to_owned(),
        "api://AzureADTokenExchange".to_owned(),
    ];
    for (i, audience) in audiences.iter().enumerate() {
        mallory.aim(&format!("try-{i}"), &json!({"audiences": audience}));
    }
    let controller = mallory.controller_as_account("kustomize").start();
    for i in 0..audiences.len() {
        let said = mallory.refused(&format!("try-{i}"), "ReconciliationFailed");
        assert!(
            said.contains("the controller's own identity is not given away for the audience"),
            "{said}"
        );
    }
    assert_eq!(mallory.loot(), [""; 0]);

    // The intended use: a cluster that trusts the controller by its own address.
    mallory.aim("honest", &json!({}));
    until("the other cluster is asked", || !mallory.loot().is_empty());
    let token = mallory.loot().remove(0);
    let address = mallory.server.url("");
    let address = address.as_str();
    assert!(
        mallory
            .user(&token, Some(address))
            .is_some_and(|user| user.ends_with(":controller"))
    );
    assert_eq!(mallory.user(&token, None), None, "it is for the other cluster alone");
    assert!(!controller.log().contains(&token));
    siege.stands();
}

/// With isolated tenants, a tenant makes the controller use its own identity at the tenant's server: a token of this
/// cluster, or of Google.
#[test]
fn the_controllers_identity_where_tenants_are_kept_apart() {
    let Some(siege) = siege() else { return };
    for (i, flag) in ["--no-cross-namespace-refs=true", "--default-service-account=deployer"]
        .into_iter()
        .enumerate()
    {
        let Some(mallory) = Mallory::new(siege, &format!("mallory-apart-{i}")) else {
            return;
        };
        let Some(rsa) = Rsa::make(mallory.folder.path()) else {
            return;
        };
        let google = StubHttp::start(|_| Reply::json(&json!({"access_token": "google-hunter2", "expires_in": 3599})));
        let key = json!({
            "type": "service_account", "client_email": "a@b.iam.gserviceaccount.com", "private_key": rsa.key,
            "token_uri": google.url("token"),
        });
        let file = mallory.folder.path().join("google.json");
        std::fs::write(&file, key.to_string()).unwrap();
        mallory.aim("own", &json!({}));
        let cluster = "projects/p/locations/europe-west1/clusters/c";
        mallory.aim("google", &json!({"provider": "gcp", "cluster": cluster}));
        let starter = mallory.controller_as_account("kustomize").flags(&[flag]);
        let controller = starter.variable("GOOGLE_APPLICATION_CREDENTIALS", &file).start();
        for name in ["own", "google"] {
            let said = mallory.refused(name, "ReconciliationFailed");
            assert!(
                said.contains("--default-kubeconfig-service-account"),
                "{flag} {name}: {said}"
            );
        }
        assert_eq!(mallory.loot(), [""; 0], "{flag}");
        assert_eq!(google.count(), 0, "{flag}");
        let log = controller.log();
        assert!(
            !log.contains(HUNTER) && !log.contains("may send this process' own identity"),
            "{log}"
        );
    }
    siege.stands();
}

/// The tenant promotes from a Kustomization for a cluster that a ConfigMap names, where other
/// processes apply Kustomizations.
#[test]
fn the_controllers_identity_by_a_promotion() {
    let Some(siege) = siege() else { return };
    let Some(mallory) = Mallory::new(siege, "mallory-promoted") else {
        return;
    };
    let registry = StubHttp::start(|_| Reply::json(&json!({"name": "app", "tags": ["1.0.0"]})));
    let image = json!({"image": format!("{}/app", registry.host()), "interval": "1h", "insecure": true});
    mallory.aim("stage", &json!({}));
    // As its controller leaves it.
    let generation = mallory.get(KUSTOMIZATION, "stage")["metadata"]["generation"].clone();
    let ready = json!({"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = json!({"observedGeneration": generation, "conditions": [ready], "lastAppliedRevision": "main@sha1:a",
        "lastAttemptedRevision": "main@sha1:a", "inventory": {"entries": [{"id": "app_web_apps_Deployment", "v": "v1"}]}});
    mallory.patch_status(KUSTOMIZATION, "stage", &status);
    mallory.add(IMAGE_REPOSITORY, "app", image);
    let from = json!({"bumpwright.dev/promote-from": format!("Kustomization/{}/stage", mallory.namespace)});
    mallory.annotated(IMAGE_POLICY, "app", &from, newest("app"));
    let controller = mallory.controller_as_account("image-reflector").start();
    let said = mallory.ready(IMAGE_POLICY, "app", "False", |why, _| why == "ImageRefused");
    assert!(
        said.contains("only the process that applies Kustomizations logs in at a cluster that a ConfigMap names"),
        "{said}"
    );
    assert_eq!(mallory.loot(), [""; 0]);
    assert!(controller.is_running());
    siege.stands();
}

/// Without the flags that isolate tenants, the operator is warned.
#[test]
fn that_the_identity_may_be_taken_is_told_at_the_start() {
    let Some(siege) = siege() else { return };
    let Some(mallory) = Mallory::new(siege, "mallory-warned") else {
        return;
    };
    let controller = mallory.controller_as_account("kustomize").start();
    controller.says("Kustomizations may send this process' own identity to any address");
    siege.stands();
}

/// Encrypts with the sops program for a key at a stub of Vault. None without the program.
fn encrypted(world: &World<'_>, server: &StubHttp) -> Option<String> {
    let file = world.folder.path().join("map.yaml");
    std::fs::write(&file, map("one", "plain")).unwrap();
    let mut sops = Command::new(tool("sops")?);
    let key = format!("{}v1/transit/keys/sops", server.url(""));
    sops.args([
        "--encrypt",
        "--encrypted-regex",
        "^data$",
        "--hc-vault-transit",
        key.as_str(),
    ]);
    sops.arg(&file)
        .env("VAULT_TOKEN", "tenants-own")
        .env("HOME", world.folder.path());
    let output = sops.env_remove("VAULT_ADDR").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The tenant encrypts a file for a server of its own, to get the controller's Vault token.
#[test]
fn the_controllers_vault_token_by_naming_a_server() {
    let Some(siege) = siege() else { return };
    let flags: [&[&str]; 3] = [
        &["--no-cross-namespace-refs=true"],
        &["--default-service-account=deployer"],
        &["--default-decryption-service-account=sops"],
    ];
    for (i, flags) in flags.into_iter().enumerate() {
        let world = World::new(siege.cluster, &format!("mallory-vault-{i}")).labelled("siege", OUTSIDE);
        let world = KustomizeWorld::of(world);
        world.put(SERVICE_ACCOUNT, "sops", json!({}));
        // The data key is returned as it was sent.
        let server = StubHttp::start(|request| {
            let sent: Json = serde_json::from_slice(&request.body).unwrap_or_default();
            let text = |name: &str| sent[name].as_str().unwrap_or_default().to_owned();
            match request.path.as_str() {
                "/v1/transit/encrypt/sops" => {
                    Reply::json(&json!({"data": {"ciphertext": format!("vault:v1:{}", text("plaintext"))}}))
                }
                _ => Reply::json(&json!({"data": {"plaintext": text("ciphertext").trim_start_matches("vault:v1:")}})),
            }
        });
        let Some(file) = encrypted(&world, &server) else { return };
        world.publish("app", "1", &[("map.yaml", &file)]);
        world.kustomize("app", json!({"decryption": {"provider": "sops"}}));
        let starter = |folder: &str| {
            let starter = world.starter(folder).flags(&["--controllers=kustomize"]).flags(flags);
            starter.variable("VAULT_TOKEN", "hunter2.process")
        };
        let taken = || {
            let all = server.requests();
            all.iter()
                .filter(|request| request.header("x-vault-token") == Some("hunter2.process"))
                .count()
        };
        let controller = starter("open").start();
        let said = world.ready(KUSTOMIZATION, "app", "False", |_, said| {
            said.contains("SOPS_HC_VAULT_ALLOWLIST")
        });
        assert!(!said.contains(HUNTER) && !controller.log().contains(HUNTER), "{said}");
        assert_eq!(taken(), 0, "{flags:?}");
        drop(controller);

        // The operator's own servers are those of the list.
        let listed = starter("listed")
            .variable("SOPS_HC_VAULT_ALLOWLIST", server.url(""))
            .start();
        world.request(KUSTOMIZATION, "app", "again");
        until("the server of the list is asked", || taken() > 0);
        drop(listed);
    }
    siege.stands();
}
