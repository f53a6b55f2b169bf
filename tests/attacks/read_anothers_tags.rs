//! Reading the tags of a foreign image, and influencing the choice for others.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::siege::{Siege, siege};
use bumpwright_testkit::proxy::Proxy;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::world::{IMAGE_POLICY, IMAGE_REPOSITORY, SECRET, World, newest};

/// A registry with one image, for those who log in when `login` is given.
fn registry(tags: &[&str], login: Option<(&str, &str)>) -> StubHttp {
    let list = json!({"name": "app", "tags": tags});
    let login = login.map(|(user, password)| (user.to_owned(), password.to_owned()));
    StubHttp::start(move |request| {
        if login.is_some() && request.login() != login {
            return Reply::registry_error(401, "UNAUTHORIZED", "who are you?")
                .header("WWW-Authenticate", "Basic realm=\"private\"");
        }
        match request.path.as_str() {
            "/v2/" => Reply::json(&json!({})),
            "/v2/app/tags/list" => Reply::json(&list),
            _ => Reply::status(404),
        }
    })
}

fn scanned(registry: &StubHttp) -> Json {
    json!({"image": format!("{}/app", registry.host()), "interval": "1h", "insecure": true})
}

fn tenant<'a>(siege: &'a Siege, namespace: &str, spec: Json) -> World<'a> {
    let world = World::new(siege.cluster, namespace);
    world.add(IMAGE_POLICY, "app", newest("app"));
    world.add(IMAGE_REPOSITORY, "app", spec);
    world
}

fn docker_config(host: &str, user: &str, password: &str) -> Json {
    let login = json!({"username": user, "password": password});
    let config = json!({"auths": BTreeMap::from([(host, login)])});
    json!({"type": "kubernetes.io/dockerconfigjson", "stringData": {".dockerconfigjson": config.to_string()}})
}

/// A tenant names a foreign private image without its credentials. The scan fails, and the policy does not get the tags
/// that the other's scan has found.
#[test]
fn without_its_credentials() {
    let Some(siege) = siege() else { return };
    let registry = registry(&["1.0.0", "7.7.7"], Some(("fleet", "hunter2")));
    let alice = World::new(siege.cluster, "alice-tags");
    alice.put(SECRET, "login", docker_config(&registry.host(), "fleet", "hunter2"));
    let mut spec = scanned(&registry);
    spec["secretRef"] = json!({"name": "login"});
    alice.add(IMAGE_REPOSITORY, "app", spec);
    alice.add(IMAGE_POLICY, "app", newest("app"));
    alice.ready(IMAGE_POLICY, "app", "True", |_, message| message.contains("7.7.7"));

    let mallory = tenant(siege, "mallory-tags", scanned(&registry));
    mallory.ready(IMAGE_REPOSITORY, "app", "False", |reason, _| reason.ends_with("Failed"));
    // Before the repository was there the policy said so, for the same reason.
    mallory.ready(IMAGE_POLICY, "app", "False", |reason, message| {
        reason == "DependencyNotReady" && message.contains("no tags in database")
    });
    let policy = mallory.get(IMAGE_POLICY, "app");
    assert!(policy["status"]["latestRef"].is_null(), "{:#}", policy["status"]);
    siege.stands();
}

/// A tenant scans the image of another through a proxy of his own, which answers with a tag that is newer than any
/// other. Only he gets to see it.
#[test]
fn and_write_them_through_a_proxy() {
    let Some(siege) = siege() else { return };
    let honest = registry(&["1.0.0"], None);
    let liar = registry(&["99.0.0"], None);
    let alice = tenant(siege, "alice-chooses", scanned(&honest));
    alice.ready(IMAGE_POLICY, "app", "True", |_, message| message.contains("1.0.0"));

    let host = honest.host();
    let to = std::net::ToSocketAddrs::to_socket_addrs(&liar.host()).unwrap();
    let to = to.into_iter().find(std::net::SocketAddr::is_ipv4).unwrap();
    let proxy = Proxy::leading(None, &[(&host, to)]);
    let mut spec = scanned(&honest);
    spec["proxySecretRef"] = json!({"name": "proxy"});
    let mallory = World::new(siege.cluster, "mallory-chooses");
    let address = format!("http://{}", proxy.address);
    mallory.put(SECRET, "proxy", json!({"stringData": {"address": address}}));
    mallory.add(IMAGE_REPOSITORY, "app", spec);
    mallory.add(IMAGE_POLICY, "app", newest("app"));
    mallory.ready(IMAGE_POLICY, "app", "True", |_, message| message.contains("99.0.0"));

    alice.patch(
        IMAGE_POLICY,
        "app",
        &json!({"spec": {"policy": {"semver": {"range": ">=0.1.0"}}}}),
    );
    let seen = || alice.get(IMAGE_POLICY, "app")["status"]["observedGeneration"] == 2;
    bumpwright_testkit::waiting::until("her policy has chosen again", seen);
    let chosen = alice.get(IMAGE_POLICY, "app")["status"]["latestRef"]["tag"].take();
    assert_eq!(chosen, "1.0.0");
    siege.stands();
}
