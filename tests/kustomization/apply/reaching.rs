//! Other accounts and other clusters (K-071, K-103 to K-111).

use std::sync::Arc;

use bumpwright_api::ObjectName;
use bumpwright_kube::{Cluster, RemoteRules, SERVICE_ACCOUNT};
use serde_json::{Value as Json, json};

use super::world::{World, config_map};
use bumpwright_testkit::proxy::Proxy;

/// Lets the account `flux` of the namespace do this with ConfigMaps.
fn allow(world: &World, verbs: &str) {
    let rules = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: flux, namespace: NS}
rules: [{apiGroups: [''], resources: [configmaps], verbs: VERBS}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: flux, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: flux}
subjects: [{kind: ServiceAccount, name: flux, namespace: NS}]
";
    world
        .server
        .apply(&rules.replace("NS", &world.namespace).replace("VERBS", verbs));
}

/// The words are those of the recorded scenario `default-service-account`.
#[test]
fn accounts_are_impersonated() {
    let Some(mut world) = World::new() else { return };
    let yaml = config_map("c1", "{k: v}");
    world.act_as("flux");
    let words = "ConfigMap/NS/c1 dry-run failed (Forbidden): configmaps \"c1\" is forbidden: User \
        \"system:serviceaccount:NS:flux\" cannot patch resource \"configmaps\" in API group \"\" in the namespace \"NS\"\n";
    assert_eq!(world.refused(&yaml), words);
    allow(&world, "[get, create, patch]");
    bumpwright_testkit::waiting::until("the role counts", || world.try_apply(&yaml).is_ok());
    // What may not be listed is looked at one by one.
    let quiet = world.requests(|world| assert_eq!(world.apply(&yaml), ["ConfigMap/NS/c1 unchanged"]));
    assert_eq!(quiet, 3);
    world.edit("c1", "x", &json!({"data": {"k": "w"}}));
    assert_eq!(world.apply(&yaml), ["ConfigMap/NS/c1 configured"]);
}

/// What one account has seen says nothing about what another may do.
#[test]
fn accounts_share_no_memory() {
    let Some(mut world) = World::new() else { return };
    let yaml = config_map("c1", "{k: v}");
    world.apply(&yaml);
    world.act_as("flux");
    assert!(world.refused(&yaml).contains("cannot patch resource"));
}

fn remote(world: &World, text: &str, rules: RemoteRules) -> Result<Cluster, String> {
    let told = Arc::new(|_: &str, _: &str, _: &str| ());
    let cluster = world.block_on(Cluster::from_kubeconfig(text, rules, told));
    cluster.map_err(|error| error.to_string())
}

#[test]
fn a_kubeconfig_leads_to_its_cluster() {
    let Some(mut world) = World::new() else { return };
    let text = world.server.kubeconfig_with(world.server.token());
    world.cluster = remote(&world, &text, RemoteRules::default()).unwrap();
    assert_eq!(world.apply(&config_map("c1", "{}")), ["ConfigMap/NS/c1 created"]);
    // K-106: an account on top of it.
    world.act_as("flux");
    assert!(
        world
            .refused(&config_map("c1", "{}"))
            .contains("system:serviceaccount:NS:flux")
    );
    world.cluster = remote(&world, &world.server.kubeconfig_with("wrong"), RemoteRules::default()).unwrap();
    assert_eq!(
        world.refused(&config_map("c2", "{}")),
        "ConfigMap/NS/c2 dry-run failed (Unauthorized): Unauthorized\n"
    );
}

/// client-go, `rest.Config.Proxy`: HTTP, HTTP in TLS and SOCKS5, with a login.
#[test]
fn a_kubeconfig_may_lead_through_a_proxy() {
    let Some(mut world) = World::new() else { return };
    let proxy = Proxy::start(Some(("us@er", "hunter2:/")));
    let (plain, secured) = (proxy.address.port(), proxy.in_tls(world.server.tls()).port());
    let through = |place: &str| {
        let mut file: Json = serde_json::from_str(&world.server.kubeconfig_with(world.server.token())).unwrap();
        file["clusters"][0]["cluster"]["proxy-url"] = json!(place);
        remote(&world, &file.to_string(), RemoteRules::default())
    };
    let server = world.server.url().trim_start_matches("https://").to_owned();
    let ask = |place: &str| {
        let cluster = through(place).unwrap();
        world
            .block_on(cluster.get(&SERVICE_ACCOUNT, &ObjectName::new("default", "nobody")))
            .unwrap_err()
    };
    for place in [
        format!("http://us%40er:hunter2%3A%2F@localhost:{plain}"),
        format!("https://us%40er:hunter2%3A%2F@localhost:{secured}/"),
        format!("socks5://us%40er:hunter2%3A%2F@localhost:{plain}"),
    ] {
        let before = proxy.targets().len();
        let answer = ask(&place);
        assert!(answer.is_not_found(), "{answer}");
        assert!(proxy.targets().len() > before, "{place}");
    }
    assert!(
        proxy.targets().iter().all(|target| *target == server),
        "{:?}",
        proxy.targets()
    );
    for place in ["http://us%40er:wrong2@localhost", "socks5://us%40er:wrong2@localhost"] {
        let said = ask(&format!("{place}:{plain}")).to_string();
        assert!(said.contains("the proxy refused") && !said.contains("wrong2"), "{said}");
    }
    let said = through("ftp://user:hunter2@localhost").unwrap_err();
    assert!(
        said.starts_with("invalid proxy-url: ") && !said.contains("hunter2"),
        "{said}"
    );
    world.cluster = through(&format!("socks5h://us%40er:hunter2%3A%2F@localhost:{plain}")).unwrap();
    assert_eq!(world.apply(&config_map("c1", "{}")), ["ConfigMap/NS/c1 created"]);
}

/// fluxcd/pkg `runtime/client`, *ValidateKubeConfig*, and client-go's words for what is no configuration.
#[test]
fn a_kubeconfig_has_to_stand_for_itself() {
    let Some(world) = World::new() else { return };
    let base: Json = serde_json::from_str(&world.server.kubeconfig_with("t")).unwrap();
    for (pointer, value, words) in [
        (
            "/clusters/0/cluster",
            json!({"server": "https://x", "certificate-authority": "/ca"}),
            "cluster 'test' references a certificate-authority file, only certificate-authority-data is supported",
        ),
        (
            "/users/0/user",
            json!({"tokenFile": "/token"}),
            "user 'test' references a tokenFile, only an inline token is supported",
        ),
        (
            "/users/0/user",
            json!({"client-certificate": "/crt"}),
            "user 'test' references a client-certificate file, only client-certificate-data is supported",
        ),
        (
            "/users/0/user",
            json!({"client-key": "/key"}),
            "user 'test' references a client-key file, only client-key-data is supported",
        ),
        (
            "/current-context",
            json!(""),
            "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment variable",
        ),
        (
            "/current-context",
            json!("lost"),
            "invalid configuration: [context was not found for specified context: lost, cluster has no server defined]",
        ),
    ] {
        let mut file = base.clone();
        *file.pointer_mut(pointer).unwrap() = value;
        assert_eq!(
            remote(&world, &file.to_string(), RemoteRules::default()).unwrap_err(),
            words
        );
    }
}

/// K-111: a program is not run, unless `--insecure-kubeconfig-exec` lets it.
#[test]
fn programs_of_a_kubeconfig_are_not_run() {
    let Some(mut world) = World::new() else { return };
    let mut file: Json = serde_json::from_str(&world.server.kubeconfig_with("t")).unwrap();
    let credential = json!({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {"token": world.server.token()}});
    let exec = json!({"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": "echo",
        "args": [credential.to_string()]});
    *file.pointer_mut("/users/0/user").unwrap() = json!({ "exec": exec });
    world.cluster = remote(&world, &file.to_string(), RemoteRules::default()).unwrap();
    assert!(
        world
            .refused(&config_map("c1", "{}"))
            .contains("forbidden: User \"system:anonymous\"")
    );
    let rules = RemoteRules {
        exec: true,
        ..RemoteRules::default()
    };
    world.cluster = remote(&world, &file.to_string(), rules).unwrap();
    assert_eq!(world.apply(&config_map("c1", "{}")), ["ConfigMap/NS/c1 created"]);
    // What it is given and prints is not told.
    let env = json!([{"name": "PW", "value": "hunter2"}]);
    for (script, told) in [
        (
            "echo hunter2; exit 3",
            "the program of the kubeconfig failed with exit code 3",
        ),
        (
            "echo hunter2",
            "the program of the kubeconfig printed no ExecCredential",
        ),
    ] {
        *file.pointer_mut("/users/0/user/exec").unwrap() = json!({"apiVersion": "client.authentication.k8s.io/v1",
            "interactiveMode": "Never", "command": "/bin/sh", "args": ["-c", script], "env": env});
        let error = match remote(&world, &file.to_string(), rules) {
            Ok(cluster) => {
                world.cluster = cluster;
                world.refused(&config_map("c2", "{}"))
            }
            Err(error) => error,
        };
        assert!(error.contains(told) && !error.contains("hunter2"), "{error}");
    }
}

/// K-111: a server whose certificate nobody vouches for is not talked to, unless `--insecure-kubeconfig-tls` lets it.
#[test]
fn certificates_are_verified_whatever_a_kubeconfig_says() {
    let Some(mut world) = World::new() else { return };
    let mut file: Json = serde_json::from_str(&world.server.kubeconfig_with(world.server.token())).unwrap();
    let cluster = file.pointer_mut("/clusters/0/cluster").unwrap();
    cluster
        .as_object_mut()
        .unwrap()
        .remove("certificate-authority-data")
        .unwrap();
    cluster["insecure-skip-tls-verify"] = json!(true);
    world.cluster = remote(&world, &file.to_string(), RemoteRules::default()).unwrap();
    let refused = world.refused(&config_map("c1", "{}"));
    assert!(refused.contains("client error (Connect)"), "{refused}");
    let rules = RemoteRules {
        skip_tls_verify: true,
        ..RemoteRules::default()
    };
    world.cluster = remote(&world, &file.to_string(), rules).unwrap();
    assert_eq!(world.apply(&config_map("c1", "{}")), ["ConfigMap/NS/c1 created"]);
}
