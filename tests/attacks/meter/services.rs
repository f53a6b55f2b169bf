//! Services beside the sources: forges, key services, GitHub Apps, and webhooks.

use serde_json::{Value as Json, json};

use super::{Place, Row, Specs, TIMEOUT};
use bumpwright_testkit::hostile::Pour;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::rsa::Rsa;
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, KUSTOMIZATION, automation};

pub const ROWS: &[Row] = &[
    Row::new("branches", AUTOMATION, branches),
    Row::new("pull-requests", AUTOMATION, pull_requests),
    Row::new("vault", KUSTOMIZATION, vault),
    Row::new("github-app", GIT_REPOSITORY, github_app),
];

/// JSON of many small parts.
fn parts(first: &str) -> Pour {
    Pour::repeated("application/json", first, r#"{"":0},"#)
}

/// Automations that push to branches of their own, and have pull requests at the server.
fn requesting(place: &Place, forge: &'static str, api: &str) -> Specs {
    let marker = json!({"$imagepolicy": format!("{}:app", place.world.namespace)});
    let file = format!("image: ghcr.io/o/app:1.0.0 # {marker}\n");
    place.source("fleet", "app.yaml", &file);
    add_choice(&place.world, "app", "2.0.0");
    place.secret("forge", &[("token", "t0ken")]);
    let api = place.url(api);
    Box::new(move |number| {
        let mut spec = automation("fleet");
        spec["git"]["push"] = json!({"branch": format!("{forge}-{number}")});
        let annotations = json!({
            "bumpwright.dev/pull-request": forge, "bumpwright.dev/pull-request-secret": "forge",
            "bumpwright.dev/pull-request-api": api, "bumpwright.dev/pull-request-base": "stable",
        });
        json!({"metadata": {"annotations": annotations}, "spec": spec})
    })
}

fn branches(place: &Place) -> Specs {
    place.hostile.answer("/gitea/", parts("[").sized(8 << 20, "{}]"));
    requesting(place, "gitea", "gitea/")
}

fn pull_requests(place: &Place) -> Specs {
    place.hostile.answer("/github/", parts("[").sized(8 << 20, "{}]"));
    requesting(place, "github", "github/")
}

/// The answer of a key service.
fn vault(place: &Place) -> Specs {
    place
        .hostile
        .answer("/vault/", parts(r#"{"data":["#).sized(8 << 20, "{}]}"));
    place.secret("keys", &[("sops.vault-token", "t0ken")]);
    let sops = json!({
        "hc_vault": [{"vault_address": place.url("vault"), "engine_path": "transit", "key_name": "k",
            "created_at": "2026-01-01T00:00:00Z", "enc": "vault:v1:AAAA"}],
        "lastmodified": "2026-01-01T00:00:00Z", "version": "3.9.0",
        "mac": "ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAA,type:str]",
    });
    let value = "ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAA,type:str]";
    let file: Json = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": value}, "sops": sops,
    });
    place.source("sealed", "secret.yaml", &file.to_string());
    Box::new(|_| {
        json!({
            "interval": "1h", "timeout": TIMEOUT, "path": "./", "prune": true,
            "sourceRef": {"kind": "GitRepository", "name": "sealed"},
            "decryption": {"provider": "sops", "secretRef": {"name": "keys"}},
        })
    })
}

/// The token of a GitHub App, from a server that the tenant names.
fn github_app(place: &Place) -> Specs {
    place.hostile.answer(
        "/app/",
        parts(r#"{"token":"t","x":["#).sized((1 << 20) - 64, "{}]}").status(201),
    );
    let key = Rsa::make(place.world.folder.path())
        .map(|rsa| rsa.key)
        .unwrap_or_default();
    let base = place.url("app");
    for number in 0..8 {
        let data = [
            ("githubAppID", format!("{number}")),
            ("githubAppInstallationOwner", "o".to_owned()),
            ("githubAppPrivateKey", key.clone()),
            ("githubAppBaseURL", base.clone()),
        ];
        let data: Vec<(&str, &str)> = data.iter().map(|(name, value)| (*name, value.as_str())).collect();
        place.secret(&format!("app-{number}"), &data);
    }
    Box::new(|number| {
        json!({
            "interval": "1h", "timeout": TIMEOUT, "url": "https://github.example.com/o/r", "provider": "github",
            "ref": {"branch": "main"}, "secretRef": {"name": format!("app-{number}")},
        })
    })
}
