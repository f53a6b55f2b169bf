//! The sources, named after their purpose.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use super::artifacts::World;
use crate::rounds::Case;
use bumpwright_testkit::sigstore::{ISSUER, Sigstore};

/// Secrets and ServiceAccounts.
pub fn objects(world: &World) -> Vec<Json> {
    let login = |password: &str| {
        let auth = STANDARD.encode(format!("ann:{password}"));
        let text = json!({"auths": {world.closed.host(): {"auth": auth}}}).to_string();
        json!({".dockerconfigjson": text})
    };
    let secret = |name: &str, kind: &str, data: Json| json!({"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": {"name": name}, "stringData": data});
    const DOCKER: &str = "kubernetes.io/dockerconfigjson";
    vec![
        secret("login", DOCKER, login("hunter2")),
        secret("wrong-login", DOCKER, login("no")),
        secret("key", "Opaque", json!({"cosign.pub": world.public_key})),
        secret("other-key", "Opaque", json!({"cosign.pub": world.other_key})),
        secret(
            "both-keys",
            "Opaque",
            json!({"a.pub": world.other_key, "b.pub": world.public_key}),
        ),
        secret("no-key", "Opaque", json!({"cosign.pub": "no key"})),
        secret("nothing", "Opaque", json!({})),
        secret(
            "sigstore",
            "Opaque",
            json!({"trusted_root.json": Sigstore::of("acme").trusted_root().to_string()}),
        ),
        secret("no-sigstore", "Opaque", json!({"trusted_root.json": "{}"})),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "puller"},
            "imagePullSecrets": [{"name": "login"}]}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "plain"}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "lost"},
            "imagePullSecrets": [{"name": "missing"}]}),
    ]
}

pub fn cases(world: &World) -> Vec<Case> {
    let app = world.url("app");
    let at = |reference: Json| json!({"url": app, "ref": reference});
    let odd = |tag: &str| json!({"url": world.url("odd"), "ref": {"tag": tag}});
    let with = |mut spec: Json, more: Json| {
        let more = more.as_object().unwrap().clone();
        spec.as_object_mut().unwrap().extend(more);
        spec
    };
    let closed = |more: Json| {
        let url = format!("oci://{}/app", world.closed.host());
        with(json!({"url": url, "ref": {"tag": "1.0.0"}}), more)
    };
    let verify = |secret: &str| {
        let verify = json!({"provider": "cosign", "secretRef": {"name": secret}});
        with(at(json!({"digest": world.first})), json!({"verify": verify}))
    };
    let keyless = |tag: &str, root: &str, identities: Json| {
        let verify =
            json!({"provider": "cosign", "trustedRootSecretRef": {"name": root}, "matchOIDCIdentity": identities});
        json!({"url": world.url("keyless"), "ref": {"tag": tag}, "verify": verify})
    };
    let by = |subject: &str| json!([{"issuer": format!("^{ISSUER}$"), "subject": subject}]);
    let acme = || by("^https://github.com/acme/app/.*$");
    let other = "application/vnd.acme.files.v1.tar+gzip";
    let specs = vec![
        ("latest", json!({"url": app})),
        ("tag", at(json!({"tag": "1.0.0"}))),
        (
            "digest",
            at(json!({"digest": world.first, "semver": "1.x", "tag": "moving"})),
        ),
        ("semver", at(json!({"semver": "1.x", "tag": "moving"}))),
        ("semver-of-candidates", at(json!({"semver": ">=1.0.0-0"}))),
        (
            "semver-filter",
            at(json!({"semver": ">=1.0.0-0", "semverFilter": "^1"})),
        ),
        ("semver-without-match", at(json!({"semver": "9.x"}))),
        ("semver-malformed", at(json!({"semver": "one"}))),
        ("filter-malformed", at(json!({"semver": "1.x", "semverFilter": "["}))),
        ("tag-missing", at(json!({"tag": "none"}))),
        ("repository-missing", json!({"url": world.url("none")})),
        (
            "repository-missing-semver",
            json!({"url": world.url("none"), "ref": {"semver": "1.x"}}),
        ),
        ("digest-malformed", at(json!({"digest": "sha256:abc"}))),
        (
            "digest-missing",
            at(json!({"digest": format!("sha256:{}", "0".repeat(64))})),
        ),
        ("url-with-tag", json!({"url": format!("{app}:1.0.0")})),
        ("url-in-capitals", json!({"url": world.url("App")})),
        (
            "ignore",
            with(at(json!({"tag": "1.0.0"})), json!({"ignore": "*.md\nbin/\n"})),
        ),
        ("sourceignore", odd("ignoring")),
        ("docker", odd("docker")),
        ("without-layers", odd("empty")),
        ("no-archive", odd("text")),
        (
            "no-archive-copied",
            with(odd("text"), json!({"layerSelector": {"operation": "copy"}})),
        ),
        (
            "copied",
            with(
                odd("two"),
                json!({"layerSelector": {"mediaType": other, "operation": "copy"}}),
            ),
        ),
        (
            "selected",
            with(odd("two"), json!({"layerSelector": {"mediaType": other}})),
        ),
        (
            "selected-missing",
            with(odd("two"), json!({"layerSelector": {"mediaType": "x/y"}})),
        ),
        ("out-of-the-root", odd("out")),
        ("links", odd("links")),
        ("cut-off", odd("cut")),
        ("size-wrong", odd("size")),
        ("index", odd("index")),
        ("index-of-others", odd("index-arm")),
        ("insecure", with(at(json!({"tag": "1.0.0"})), json!({"insecure": true}))),
        ("login", closed(json!({"secretRef": {"name": "login"}}))),
        ("login-wrong", closed(json!({"secretRef": {"name": "wrong-login"}}))),
        ("login-missing", closed(json!({"secretRef": {"name": "missing"}}))),
        ("login-none", closed(json!({}))),
        ("account", closed(json!({"serviceAccountName": "puller"}))),
        ("account-missing", closed(json!({"serviceAccountName": "missing"}))),
        ("account-lost", closed(json!({"serviceAccountName": "lost"}))),
        (
            "account-of-cloud",
            closed(json!({"serviceAccountName": "plain", "provider": "aws"})),
        ),
        (
            "cloud-elsewhere",
            with(at(json!({"tag": "1.0.0"})), json!({"provider": "aws"})),
        ),
        (
            "proxy-missing",
            with(
                at(json!({"tag": "1.0.0"})),
                json!({"proxySecretRef": {"name": "missing"}}),
            ),
        ),
        (
            "certificates-missing",
            with(
                at(json!({"tag": "1.0.0"})),
                json!({"certSecretRef": {"name": "missing"}}),
            ),
        ),
        (
            "certificates-none",
            with(
                at(json!({"tag": "1.0.0"})),
                json!({"certSecretRef": {"name": "nothing"}}),
            ),
        ),
        ("verified", verify("key")),
        ("verified-by-one", verify("both-keys")),
        ("verified-by-other", verify("other-key")),
        (
            "verified-by-referrer",
            with(
                at(json!({"digest": world.candidate})),
                json!({"verify": {"provider": "cosign", "secretRef": {"name": "key"}}}),
            ),
        ),
        (
            "refused-by-referrer",
            with(
                at(json!({"digest": world.candidate})),
                json!({"verify": {"provider": "cosign", "secretRef": {"name": "other-key"}}}),
            ),
        ),
        ("verified-by-none", verify("no-key")),
        ("verified-by-nothing", verify("nothing")),
        ("verified-key-missing", verify("missing")),
        (
            "unsigned",
            with(
                at(json!({"tag": "1.1.0"})),
                json!({"verify": {"provider": "cosign", "secretRef": {"name": "key"}}}),
            ),
        ),
        (
            "notation",
            with(at(json!({"tag": "1.1.0"})), json!({"verify": {"provider": "notation"}})),
        ),
        ("keyless", keyless("bundle", "sigstore", acme())),
        ("keyless-simple", keyless("simple", "sigstore", acme())),
        ("keyless-anybody", keyless("bundle", "sigstore", json!([]))),
        (
            "keyless-identity",
            keyless("bundle", "sigstore", by("^https://github.com/mallory/.*$")),
        ),
        ("keyless-sigstore", keyless("other", "sigstore", acme())),
        ("keyless-pattern", keyless("bundle", "sigstore", by("("))),
        ("keyless-root-missing", keyless("bundle", "missing", acme())),
        ("keyless-root-empty", keyless("bundle", "nothing", acme())),
        ("keyless-root-invalid", keyless("bundle", "no-sigstore", acme())),
        ("suspended", with(at(json!({"tag": "1.0.0"})), json!({"suspend": true}))),
        ("moving", at(json!({"tag": "moving"}))),
    ];
    let still = specs.into_iter().map(|(name, spec)| Case {
        name,
        spec,
        change: None,
    });
    let changed = [
        (
            "then-ignoring",
            at(json!({"tag": "1.0.0"})),
            json!({"ignore": "deploy/\n"}),
        ),
        (
            "then-copied",
            at(json!({"tag": "1.0.0"})),
            json!({"layerSelector": {"operation": "copy"}}),
        ),
        (
            "then-lost",
            at(json!({"tag": "1.0.0"})),
            json!({"ref": {"tag": "none"}}),
        ),
        (
            "then-found",
            at(json!({"tag": "none"})),
            json!({"ref": {"tag": "1.0.0"}}),
        ),
        ("then-unverified", verify("key"), json!({"verify": null})),
        (
            "then-refused",
            verify("key"),
            json!({"verify": {"secretRef": {"name": "other-key"}}}),
        ),
        (
            "then-unsigned",
            verify("key"),
            json!({"ref": {"digest": null, "tag": "1.1.0"}}),
        ),
        ("then-suspended", at(json!({"tag": "moving"})), json!({"suspend": true})),
    ];
    let changed = changed.into_iter().map(|(name, spec, change)| Case {
        name,
        spec,
        change: Some(change),
    });
    still.chain(changed).collect()
}
