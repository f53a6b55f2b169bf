//! The sources, named after their purpose.

use serde_json::{Value as Json, json};

use super::indexes::World;
use crate::rounds::Case;

/// The Secrets that the sources name.
pub fn secrets(world: &World) -> Vec<Json> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (ca, (certificate, key)) = (text(&world.certificates.ca), &world.certificates.client);
    let client = json!({"ca.crt": ca, "tls.crt": text(certificate), "tls.key": text(key)});
    let older = json!({"caFile": ca, "certFile": text(certificate), "keyFile": text(key)});
    let all = [
        ("login", json!({"username": "ann", "password": "pw"})),
        ("wrong", json!({"username": "ann", "password": "no"})),
        ("no-password", json!({"username": "ann"})),
        ("no-name", json!({"password": "pw"})),
        ("nothing", json!({})),
        ("ca", json!({"ca.crt": ca})),
        ("client", client),
        ("older", older),
        ("half-pair", json!({"ca.crt": ca, "tls.crt": text(certificate)})),
    ];
    let secret =
        |(name, data)| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
    all.map(secret).into_iter().collect()
}

fn with(mut spec: Json, more: Json) -> Json {
    let more = more.as_object().unwrap().clone();
    spec.as_object_mut().unwrap().extend(more);
    spec
}

/// Repositories that are answered by their name.
const BY_NAME: [&str; 23] = [
    "plain",
    "etag",
    "dated",
    "changing",
    "then-broken",
    "then-gone",
    "moved",
    "json",
    "empty",
    "no-version",
    "no-entries",
    "no-charts",
    "page",
    "unknown-field",
    "unknown-in-entry",
    "odd-time",
    "list",
    "not-yaml",
    "rich",
    "numbers",
    "many",
    "large",
    "gone",
];

pub fn cases(world: &World) -> Vec<Case> {
    let plain = |name: &str, more: Json| with(json!({"url": world.plain.url(name)}), more);
    let secure = |more: Json| {
        let url = format!("https://localhost:{}/plain", world.tls.address().port());
        with(json!({"url": url}), more)
    };
    let reference = |name: &str| json!({"name": name});
    let closed = |name: &str| plain("closed", json!({"secretRef": reference(name)}));
    let certified = |name: &str| secure(json!({"certSecretRef": reference(name)}));
    let mut all: Vec<(&'static str, Json)> = BY_NAME.map(|name| (name, plain(name, json!({})))).to_vec();
    all.extend([
        ("slash", plain("plain/", json!({}))),
        ("query", plain("plain?a=b", json!({}))),
        ("default", plain("plain", json!({"type": "default"}))),
        ("suspended", plain("plain", json!({"suspend": true}))),
        ("failing", plain("failing", json!({}))),
        ("nowhere", json!({"url": format!("http://{}/a", world.nowhere)})),
        ("slow", json!({"url": world.slow.url("a"), "timeout": "1s"})),
        ("bad-url", json!({"url": "http://[::1"})),
        ("oci-url", json!({"url": "oci://registry.example/charts"})),
        ("login", closed("login")),
        ("login-wrong", closed("wrong")),
        ("login-of-nobody", plain("closed", json!({}))),
        ("login-half", closed("no-password")),
        ("login-other-half", closed("no-name")),
        ("login-empty", closed("nothing")),
        ("login-missing", closed("none")),
        ("pass", with(closed("login"), json!({"passCredentials": true}))),
        ("tls", certified("client")),
        ("tls-older", secure(json!({"secretRef": reference("older")}))),
        ("tls-half", certified("half-pair")),
        ("tls-of-nothing", certified("nothing")),
        ("tls-missing", certified("none")),
        ("tls-without-pair", certified("ca")),
        ("tls-unknown", secure(json!({}))),
    ]);
    let still = all.into_iter().map(|(name, spec)| Case {
        name,
        spec,
        change: None,
    });
    let changed = [
        ("then-suspended", plain("plain", json!({})), json!({"suspend": true})),
        (
            // The address changes and not the server, which a retry between the rounds would find changed already.
            "then-there",
            plain("gone", json!({})),
            json!({"url": world.plain.url("plain")}),
        ),
        (
            "then-rich",
            plain("plain", json!({})),
            json!({"url": world.plain.url("rich")}),
        ),
        (
            "then-closed",
            plain("closed", json!({})),
            json!({"secretRef": reference("login")}),
        ),
    ];
    let changed = changed.into_iter().map(|(name, spec, change)| Case {
        name,
        spec,
        change: Some(change),
    });
    still.chain(changed).collect()
}
