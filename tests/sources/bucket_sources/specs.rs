//! The sources, named after their purpose.

use serde_json::{Value as Json, json};

use super::objects::{SECRET, World};
use crate::rounds::Case;

/// The Secrets and ServiceAccounts that the sources name.
pub fn secrets(world: &World) -> Vec<Json> {
    let ca = String::from_utf8(world.certificates.ca.clone()).unwrap();
    let all = [
        ("key", json!({"accesskey": "AKID", "secretkey": SECRET})),
        ("wrong-key", json!({"accesskey": "AKID", "secretkey": "no"})),
        ("half-key", json!({"accesskey": "AKID"})),
        ("empty-key", json!({"accesskey": "", "secretkey": ""})),
        ("nothing", json!({})),
        ("ldap", json!({"username": "ann", "password": "pw"})),
        ("wrong-ldap", json!({"username": "ann", "password": "no"})),
        ("half-ldap", json!({"username": "ann"})),
        ("ca", json!({"ca.crt": ca})),
        ("proxy", json!({"address": format!("socks5://{}", world.proxy.address)})),
        ("dead-proxy", json!({"address": format!("socks5://{}", world.nowhere)})),
        ("odd-proxy", json!({"address": "ftp://127.0.0.1:1"})),
    ];
    let secret =
        |(name, data)| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "account"}});
    all.map(secret).into_iter().chain([account]).collect()
}

fn with(mut spec: Json, more: Json) -> Json {
    let more = more.as_object().unwrap().clone();
    spec.as_object_mut().unwrap().extend(more);
    spec
}

fn named(name: &str) -> Json {
    json!({"name": name})
}

pub fn cases(world: &World) -> Vec<Case> {
    let all = [contents(world), logins(world), ways(world), clouds(world)];
    let still = all.into_iter().flatten().map(|(name, spec)| Case {
        name,
        spec,
        change: None,
    });
    let changed = changing(world).into_iter().map(|(name, spec, change)| Case {
        name,
        spec,
        change: Some(change),
    });
    still.chain(changed).collect()
}

type Specs = Vec<(&'static str, Json)>;

fn open(world: &World, bucket: &str) -> Json {
    json!({"bucketName": bucket, "endpoint": world.moto.address().to_string(), "insecure": true})
}

fn contents(world: &World) -> Specs {
    let podinfo = |more| with(open(world, "podinfo"), more);
    vec![
        ("plain", podinfo(json!({}))),
        ("region", podinfo(json!({"region": "eu-west-1"}))),
        ("other-region", podinfo(json!({"region": "us-east-2"}))),
        ("prefix", podinfo(json!({"prefix": "deploy/"}))),
        ("prefix-of-names", podinfo(json!({"prefix": "deploy/h"}))),
        ("prefix-of-nothing", podinfo(json!({"prefix": "nothing/"}))),
        ("ignore", podinfo(json!({"ignore": "/*\n!/deploy\n"}))),
        ("ignore-all", podinfo(json!({"ignore": "*\n"}))),
        ("ignore-nothing", podinfo(json!({"ignore": ""}))),
        ("sourceignore", open(world, "ruled")),
        (
            "sourceignore-and-ignore",
            with(open(world, "ruled"), json!({"ignore": "!README.md\n"})),
        ),
        (
            "sourceignore-and-prefix",
            with(open(world, "ruled"), json!({"prefix": "deploy"})),
        ),
        ("empty", open(world, "empty")),
        ("odd", open(world, "odd")),
        ("clash", open(world, "clash")),
        ("moving", open(world, "moving")),
        ("then-ruled", open(world, "then-ruled")),
        ("missing", open(world, "missing")),
        ("bad-name", open(world, "a..b")),
        ("suspended", podinfo(json!({"suspend": true}))),
    ]
}

fn logins(world: &World) -> Specs {
    let closed = |more| {
        let spec = json!({"bucketName": "podinfo", "endpoint": world.closed.host(), "insecure": true});
        with(spec, more)
    };
    let key = |name| closed(json!({"secretRef": named(name)}));
    let in_region = |name| closed(json!({"secretRef": named(name), "region": "eu-west-1"}));
    let ldap = |more| {
        let sts = with(json!({"provider": "ldap", "endpoint": world.sts.url("sts")}), more);
        closed(json!({"region": "eu-west-1", "sts": sts}))
    };
    vec![
        ("key", key("key")),
        ("key-of-region", in_region("key")),
        ("key-wrong", key("wrong-key")),
        ("key-wrong-of-region", in_region("wrong-key")),
        ("key-half", key("half-key")),
        ("key-empty", key("empty-key")),
        ("key-of-nothing", key("nothing")),
        ("key-missing", key("none")),
        ("nobody", closed(json!({}))),
        ("ldap", ldap(json!({"secretRef": named("ldap")}))),
        ("ldap-wrong", ldap(json!({"secretRef": named("wrong-ldap")}))),
        ("ldap-half", ldap(json!({"secretRef": named("half-ldap")}))),
        ("ldap-missing", ldap(json!({"secretRef": named("none")}))),
        ("ldap-nobody", ldap(json!({}))),
        (
            "ldap-certificates-missing",
            ldap(json!({"secretRef": named("ldap"), "certSecretRef": named("none")})),
        ),
    ]
}

fn ways(world: &World) -> Specs {
    let podinfo = |more| with(open(world, "podinfo"), more);
    let tls = |more| {
        let endpoint = format!("localhost:{}", world.tls.address().port());
        with(json!({"bucketName": "podinfo", "endpoint": endpoint}), more)
    };
    vec![
        ("tls", tls(json!({"certSecretRef": named("ca")}))),
        ("tls-unknown", tls(json!({}))),
        ("tls-of-plain", podinfo(json!({"insecure": false}))),
        ("certificates-missing", podinfo(json!({"certSecretRef": named("none")}))),
        ("certificates-none", podinfo(json!({"certSecretRef": named("nothing")}))),
        ("proxy", podinfo(json!({"proxySecretRef": named("proxy")}))),
        ("proxy-dead", podinfo(json!({"proxySecretRef": named("dead-proxy")}))),
        ("proxy-odd", podinfo(json!({"proxySecretRef": named("odd-proxy")}))),
        (
            "proxy-without-address",
            podinfo(json!({"proxySecretRef": named("nothing")})),
        ),
        ("proxy-missing", podinfo(json!({"proxySecretRef": named("none")}))),
        ("nowhere", podinfo(json!({"endpoint": world.nowhere}))),
        (
            "too-slow",
            podinfo(json!({"endpoint": world.slow.host(), "timeout": "1s"})),
        ),
        (
            "endpoint-with-scheme",
            podinfo(json!({"endpoint": format!("http://{}", world.moto.address())})),
        ),
        (
            "endpoint-with-path",
            podinfo(json!({"endpoint": format!("{}/path", world.moto.address())})),
        ),
    ]
}

fn clouds(world: &World) -> Specs {
    let of = |provider: &str, more| {
        let spec = json!({"bucketName": "podinfo", "endpoint": world.closed.host(), "insecure": true,
            "provider": provider});
        with(spec, more)
    };
    vec![
        ("aws-with-key", of("aws", json!({"secretRef": named("key")}))),
        ("aws-nobody", of("aws", json!({}))),
        (
            "aws-sts-elsewhere",
            of(
                "aws",
                json!({"region": "eu-west-1", "sts": {"provider": "aws", "endpoint": "https://sts.example.com"}}),
            ),
        ),
        (
            "aws-sts-with-key",
            of(
                "aws",
                json!({"secretRef": named("key"), "sts": {"provider": "aws", "endpoint": "https://sts.example.com"}}),
            ),
        ),
        ("aws-account", of("aws", json!({"serviceAccountName": "account"}))),
        ("gcp-of-nothing", of("gcp", json!({"secretRef": named("nothing")}))),
        ("gcp-missing", of("gcp", json!({"secretRef": named("none")}))),
        ("gcp-account", of("gcp", json!({"serviceAccountName": "account"}))),
        (
            "azure-of-nothing",
            of(
                "azure",
                json!({"secretRef": named("nothing"), "endpoint": "https://account.blob.core.windows.net"}),
            ),
        ),
        ("azure-account", of("azure", json!({"serviceAccountName": "account"}))),
    ]
}

fn changing(world: &World) -> Vec<(&'static str, Json, Json)> {
    let podinfo = || open(world, "podinfo");
    vec![
        ("then-ignoring", podinfo(), json!({"ignore": "*.md\n"})),
        ("then-prefix", podinfo(), json!({"prefix": "deploy/"})),
        ("then-lost", podinfo(), json!({"bucketName": "missing"})),
        ("then-found", open(world, "missing"), json!({"bucketName": "podinfo"})),
        (
            "then-refused",
            with(
                podinfo(),
                json!({"endpoint": world.closed.host(), "secretRef": named("key")}),
            ),
            json!({"secretRef": named("wrong-key")}),
        ),
        ("then-suspended", open(world, "moving"), json!({"suspend": true})),
        (
            "then-resumed",
            with(podinfo(), json!({"suspend": true})),
            json!({"suspend": false}),
        ),
    ]
}
