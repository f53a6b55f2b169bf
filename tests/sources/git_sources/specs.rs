//! The sources, named after their purpose.

use serde_json::{Value as Json, json};

use super::repositories::World;
use crate::rounds::Case;

fn case(name: &'static str, spec: Json) -> Case {
    Case {
        name,
        spec,
        change: None,
    }
}

fn changed(name: &'static str, spec: Json, change: Json) -> Case {
    Case {
        name,
        spec,
        change: Some(change),
    }
}

/// The Secrets that the sources name.
pub fn secrets(world: &World) -> Vec<Json> {
    let all = [
        ("login", json!({"username": "user", "password": "secret"})),
        ("wrong-login", json!({"username": "user", "password": "no"})),
        ("no-user", json!({"password": "secret"})),
        ("token", json!({"bearerToken": "t0ken"})),
        (
            "both",
            json!({"bearerToken": "t0ken", "username": "user", "password": "secret"}),
        ),
        ("nothing", json!({})),
        (
            "app",
            json!({"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "x"}),
        ),
        ("pgp", json!({"author.asc": world.gpg_public})),
        ("pgp-other", json!({"author.asc": world.other_gpg_public})),
        ("ssh-keys", json!({"author.sshpub": world.ssh_public})),
        (
            "all-keys",
            json!({"a.asc": world.gpg_public, "b.asc": world.other_gpg_public, "c.sshpub": world.ssh_public}),
        ),
        ("bad-proxy", json!({"username": "user"})),
    ];
    let secret =
        |(name, data)| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
    all.into_iter().chain(world.ssh.secrets()).map(secret).collect()
}

pub fn cases(world: &World) -> Vec<Case> {
    [
        references(world),
        mistakes(world),
        access(world),
        contents(world),
        verification(world),
        world.ssh.cases(&world.plain.dir),
        changes(world),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn references(world: &World) -> Vec<Case> {
    let plain = world.open.url("plain.git");
    let at = |reference: Json| json!({"url": plain, "ref": reference});
    let third = world.plain.rev("main").unwrap();
    vec![
        case("branch", at(json!({"branch": "main"}))),
        case("branch-by-default", json!({"url": plain})),
        case("branch-with-slash", at(json!({"branch": "feature/one"}))),
        case("branch-by-full-name", at(json!({"branch": "refs/heads/main"}))),
        case("tag-annotated", at(json!({"tag": "v1.0.0"}))),
        case("tag-lightweight", at(json!({"tag": "v1.1.0"}))),
        case("semver-range", at(json!({"semver": ">=1.0.0 <1.2.0"}))),
        case("semver-prerelease", at(json!({"semver": ">=2.0.0-0"}))),
        case("semver-build-metadata", at(json!({"semver": "1.2.x"}))),
        case("semver-all", at(json!({"semver": "*"}))),
        case("commit", at(json!({"commit": world.first_commit}))),
        case(
            "commit-on-branch",
            at(json!({"commit": world.first_commit, "branch": "main"})),
        ),
        case("name-branch", at(json!({"name": "refs/heads/dev"}))),
        case("name-tag", at(json!({"name": "refs/tags/v1.0.0"}))),
        case("name-tag-peeled", at(json!({"name": "refs/tags/v1.0.0^{}"}))),
        case("name-pull-request", at(json!({"name": "refs/pull/1/head"}))),
        case("name-head", at(json!({"name": "HEAD"}))),
        case(
            "precedence-commit",
            at(json!({"branch": "main", "tag": "v1.0.0", "semver": "*", "name": "refs/heads/dev", "commit": third})),
        ),
        case(
            "precedence-name",
            at(json!({"branch": "main", "tag": "v1.0.0", "semver": "*", "name": "refs/heads/dev"})),
        ),
        case(
            "precedence-tag",
            at(json!({"branch": "main", "tag": "v1.0.0", "semver": "*"})),
        ),
        case("precedence-semver", at(json!({"branch": "dev", "semver": "1.1.x"}))),
        case(
            "sha256",
            json!({"url": world.open.url("sha256.git"), "ref": {"branch": "main"}}),
        ),
    ]
}

fn mistakes(world: &World) -> Vec<Case> {
    let plain = world.open.url("plain.git");
    let at = |reference: Json| json!({"url": plain, "ref": reference});
    let empty = world.open.url("empty.git");
    vec![
        case("branch-missing", at(json!({"branch": "nope"}))),
        case("tag-missing", at(json!({"tag": "nope"}))),
        case("semver-none-fits", at(json!({"semver": ">=9"}))),
        case("semver-bad", at(json!({"semver": "not a range"}))),
        case("commit-missing", at(json!({"commit": "d".repeat(40)}))),
        case(
            "commit-missing-on-branch",
            at(json!({"commit": "d".repeat(40), "branch": "main"})),
        ),
        case("commit-short", at(json!({"commit": "abc123"}))),
        case("name-missing", at(json!({"name": "refs/pull/9/head"}))),
        case("name-ends-in-slash", at(json!({"name": "refs/heads/dev/"}))),
        case(
            "repository-missing",
            json!({"url": world.open.url("none.git"), "ref": {"branch": "main"}}),
        ),
        case(
            "host-missing",
            json!({"url": format!("{}/a.git", world.nowhere), "ref": {"branch": "main"}}),
        ),
        case("url-bad", json!({"url": "http://[::1/a.git"})),
        case("empty-branch", json!({"url": empty, "ref": {"branch": "main"}})),
        case("empty-tag", json!({"url": empty, "ref": {"tag": "v1"}})),
        case("empty-semver", json!({"url": empty, "ref": {"semver": "*"}})),
        case(
            "too-slow",
            json!({"url": world.open.url("slow.git"), "timeout": "1s", "ref": {"branch": "main"}}),
        ),
        case("suspended", json!({"url": plain, "suspend": true})),
    ]
}

fn access(world: &World) -> Vec<Case> {
    let with =
        |url: String, secret: &str| json!({"url": url, "ref": {"branch": "main"}, "secretRef": {"name": secret}});
    let basic = || world.basic.url("plain.git");
    vec![
        case("secret-basic", with(basic(), "login")),
        case("secret-wrong", with(basic(), "wrong-login")),
        case("secret-none-given", json!({"url": basic(), "ref": {"branch": "main"}})),
        case("secret-missing", with(basic(), "nowhere")),
        case("secret-without-user", with(basic(), "no-user")),
        case("secret-empty", with(basic(), "nothing")),
        case("secret-bearer", with(world.bearer.url("plain.git"), "token")),
        case("secret-both", with(world.bearer.url("plain.git"), "both")),
        case(
            "secret-in-url",
            json!({
                "url": basic().replacen("http://", "http://user:secret@", 1), "ref": {"branch": "main"},
            }),
        ),
        case("secret-of-app", with(basic(), "app")),
        case("provider-github", json!({"url": basic(), "provider": "github"})),
        case("ssh-without-secret", json!({"url": "ssh://git@127.0.0.1:1/a.git"})),
        case(
            "ssh-without-identity",
            with("ssh://git@127.0.0.1:1/a.git".to_owned(), "login"),
        ),
        case(
            "proxy-missing",
            json!({"url": basic(), "proxySecretRef": {"name": "nowhere"}}),
        ),
        case(
            "proxy-without-address",
            json!({"url": basic(), "proxySecretRef": {"name": "bad-proxy"}}),
        ),
    ]
}

fn contents(world: &World) -> Vec<Case> {
    let of = |repository: &str, more: Json| {
        let mut spec = json!({"url": world.open.url(repository), "ref": {"branch": "main"}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        spec
    };
    let include = |fields: Json| json!({"include": [fields]});
    vec![
        case("odd-names", of("odd.git", json!({}))),
        case(
            "ignore-in-spec",
            of("plain.git", json!({"ignore": "/*\n!/deploy\n!*.png\n"})),
        ),
        case("ignore-empty", of("plain.git", json!({"ignore": ""}))),
        case(
            "ignore-only-comments",
            of("plain.git", json!({"ignore": "# nothing\n\n"})),
        ),
        case("ignore-in-repository", of("ignores.git", json!({}))),
        case(
            "ignore-in-both",
            of("ignores.git", json!({"ignore": "!/other\n*.yaml\n"})),
        ),
        case("included", of("lib.git", json!({}))),
        case(
            "include",
            of("plain.git", include(json!({"repository": {"name": "included"}}))),
        ),
        case(
            "include-part",
            of(
                "plain.git",
                include(json!({"repository": {"name": "included"}, "fromPath": "chart", "toPath": "deploy/lib"})),
            ),
        ),
        case(
            "include-over-files",
            of(
                "plain.git",
                include(json!({"repository": {"name": "included"}, "fromPath": "./chart/", "toPath": "deploy"})),
            ),
        ),
        case(
            "include-of-nothing",
            of(
                "plain.git",
                include(json!({"repository": {"name": "included"}, "fromPath": "none", "toPath": "lib"})),
            ),
        ),
        case(
            "include-outside",
            of(
                "plain.git",
                include(json!({"repository": {"name": "included"}, "toPath": "../../up"})),
            ),
        ),
        case(
            "include-missing",
            of("plain.git", include(json!({"repository": {"name": "nobody"}}))),
        ),
        case(
            "include-not-ready",
            of("plain.git", include(json!({"repository": {"name": "branch-missing"}}))),
        ),
        case(
            "sparse",
            of("plain.git", json!({"sparseCheckout": ["deploy/base", "./img"]})),
        ),
        case("sparse-prefix", of("plain.git", json!({"sparseCheckout": ["deploy"]}))),
        case(
            "sparse-missing",
            of("plain.git", json!({"sparseCheckout": ["deploy", "none"]})),
        ),
        case("sparse-root", of("plain.git", json!({"sparseCheckout": ["./"]}))),
        case(
            "sparse-tag",
            json!({
                "url": world.open.url("plain.git"), "ref": {"tag": "v1.0.0"}, "sparseCheckout": ["deploy"],
            }),
        ),
        case(
            "sparse-commit",
            json!({
                "url": world.open.url("plain.git"), "ref": {"commit": world.first_commit}, "sparseCheckout": ["deploy"],
            }),
        ),
        case("submodules", of("modules.git", json!({"recurseSubmodules": true}))),
        case("submodules-left-out", of("modules.git", json!({}))),
        case(
            "submodules-lost",
            of("lost-module.git", json!({"recurseSubmodules": true})),
        ),
    ]
}

fn verification(world: &World) -> Vec<Case> {
    let of = |reference: Json, mode: Option<&str>, secret: &str| {
        let mut verify = json!({"secretRef": {"name": secret}});
        if let Some(mode) = mode {
            verify["mode"] = json!(mode);
        }
        json!({"url": world.open.url("signed.git"), "ref": reference, "verify": verify})
    };
    vec![
        case("verify-pgp", of(json!({"branch": "pgp"}), Some("HEAD"), "pgp")),
        case("verify-by-default", of(json!({"branch": "pgp"}), None, "all-keys")),
        case("verify-old-mode", of(json!({"branch": "pgp"}), Some("head"), "pgp")),
        case("verify-ssh", of(json!({"branch": "ssh"}), Some("HEAD"), "ssh-keys")),
        case(
            "verify-other-key",
            of(json!({"branch": "pgp"}), Some("HEAD"), "pgp-other"),
        ),
        case("verify-other-kind", of(json!({"branch": "ssh"}), Some("HEAD"), "pgp")),
        case("verify-unsigned", of(json!({"branch": "main"}), Some("HEAD"), "pgp")),
        case(
            "verify-no-secret",
            of(json!({"branch": "pgp"}), Some("HEAD"), "nowhere"),
        ),
        case("verify-tag", of(json!({"tag": "v-pgp"}), Some("Tag"), "pgp")),
        case(
            "verify-tag-and-head",
            of(json!({"tag": "v-pgp"}), Some("TagAndHEAD"), "pgp"),
        ),
        case(
            "verify-tag-ssh",
            of(json!({"tag": "v-ssh"}), Some("TagAndHEAD"), "all-keys"),
        ),
        case(
            "verify-tag-unsigned",
            of(json!({"tag": "v-unsigned"}), Some("Tag"), "pgp"),
        ),
        case(
            "verify-tag-lightweight",
            of(json!({"tag": "light-pgp"}), Some("Tag"), "pgp"),
        ),
        case("verify-tag-of-branch", of(json!({"branch": "pgp"}), Some("Tag"), "pgp")),
        case(
            "verify-tag-by-name",
            of(json!({"name": "refs/tags/v-pgp"}), Some("TagAndHEAD"), "pgp"),
        ),
    ]
}

fn changes(world: &World) -> Vec<Case> {
    let (moving, plain) = (world.open.url("moving.git"), world.open.url("plain.git"));
    let main = |url: &str| json!({"url": url, "ref": {"branch": "main"}});
    vec![
        case("moves", main(&moving)),
        case(
            "moves-by-name",
            json!({"url": moving, "ref": {"name": "refs/heads/main"}}),
        ),
        changed("gets-ignore", main(&plain), json!({"ignore": "*.md\n"})),
        changed("loses-its-branch", main(&plain), json!({"ref": {"branch": "nope"}})),
        changed(
            "finds-its-branch",
            json!({"url": plain, "ref": {"branch": "nope"}}),
            json!({"ref": {"branch": "main"}}),
        ),
        changed(
            "stalls-no-more",
            json!({"url": "http://[::1/a.git"}),
            json!({"url": plain}),
        ),
        changed("is-suspended", main(&plain), json!({"suspend": true})),
        changed(
            "goes-on",
            json!({"url": plain, "suspend": true}),
            json!({"suspend": false}),
        ),
        changed(
            "gets-verified",
            json!({"url": world.open.url("signed.git"), "ref": {"branch": "pgp"}}),
            json!({
                "verify": {"mode": "HEAD", "secretRef": {"name": "pgp"}},
            }),
        ),
        changed(
            "gets-untrusted",
            json!({
                "url": world.open.url("signed.git"), "ref": {"branch": "pgp"}, "verify": {"secretRef": {"name": "pgp"}},
            }),
            json!({"ref": {"branch": "main"}}),
        ),
        changed("gets-sparse", main(&plain), json!({"sparseCheckout": ["deploy"]})),
    ]
}
