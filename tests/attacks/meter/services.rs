//! Services beside the sources: forges, key services, GitHub Apps, and webhooks.

use serde_json::{Value as Json, json};

use super::{Place, Row, Specs, TIMEOUT};
use bumpwright_testkit::digests::github_signature;
use bumpwright_testkit::hostile::Pour;
use bumpwright_testkit::image_world::add_choice;
use bumpwright_testkit::rsa::Rsa;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, KUSTOMIZATION, SECRET, World, automation, git_repository};

pub const ROWS: &[Row] = &[
    Row::new("branches", AUTOMATION, branches),
    Row::new("pull-requests", AUTOMATION, pull_requests),
    Row::new("vault", KUSTOMIZATION, vault),
    Row::new("aws-kms", KUSTOMIZATION, aws_kms),
    Row::new("google-kms", KUSTOMIZATION, google_kms),
    Row::new("google-tokens", KUSTOMIZATION, google_tokens),
    Row::new("webhooks", GIT_REPOSITORY, webhooks),
    Row::new("github-app", GIT_REPOSITORY, github_app),
];

const CREATED: &str = "2026-01-01T00:00:00Z";

/// The token of webhooks, which the platform team has given to a forge.
const WEBHOOK_TOKEN: &str = "s3cr3t-t0ken";

/// The beginning of a push.
const PUSH: &str = r#"{"ref":"refs/heads/main","repository":{"full_name":"acme/fleet","clone_url":"https://github.com/acme/fleet.git"},"commits":["#;

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

/// Kustomizations of a Secret that is encrypted for these keys.
fn sealed(place: &Place, keys: Json) -> Specs {
    let value = "ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAA,type:str]";
    let mut sops = json!({"lastmodified": CREATED, "version": "3.9.0", "mac": value});
    sops.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    let file = json!({
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

fn vault(place: &Place) -> Specs {
    place
        .hostile
        .answer("/vault/", parts(r#"{"data":["#).sized(8 << 20, "{}]}"));
    place.secret("keys", &[("sops.vault-token", "t0ken")]);
    let key = json!({
        "vault_address": place.url("vault"), "engine_path": "transit", "key_name": "k", "created_at": CREATED, "enc": "vault:v1:AAAA",
    });
    sealed(place, json!({ "hc_vault": [key] }))
}

fn aws_kms(place: &Place) -> Specs {
    place
        .clouds
        .answer("/aws", parts(r#"{"Plaintext":"","x":["#).sized(8 << 20, "{}]}"));
    let keys = "aws_access_key_id: AK\naws_secret_access_key: hunter2\n";
    place.secret("keys", &[("sops.aws-kms", keys)]);
    let key = json!({"arn": "arn:aws:kms:eu-west-1:1:key/k", "created_at": CREATED, "enc": "AAAA"});
    sealed(place, json!({ "kms": [key] }))
}

/// The token server is the one that the Secret names.
fn google_kms(place: &Place) -> Specs {
    let token = json!({"access_token": "t", "expires_in": 3600, "token_type": "Bearer"});
    place.hostile.whole("/token", "application/json", token.to_string());
    place
        .clouds
        .answer("/google/", parts(r#"{"plaintext":"","x":["#).sized(8 << 20, "{}]}"));
    google_key(place)
}

/// A token server with an answer of the largest size.
fn google_tokens(place: &Place) -> Specs {
    place
        .hostile
        .answer("/token", parts(r#"{"access_token":"","x":["#).sized(8 << 20, "{}]}"));
    google_key(place)
}

fn google_key(place: &Place) -> Specs {
    let key = Rsa::make(place.world.folder.path()).map(|rsa| rsa.key);
    let entry = json!({
        "type": "service_account", "project_id": "p", "private_key_id": "k1", "private_key": key,
        "client_email": "a@p.iam.gserviceaccount.com", "token_uri": place.url("token"),
    });
    place.secret("keys", &[("sops.gcp-kms", &entry.to_string())]);
    let name = "projects/p/locations/global/keyRings/r/cryptoKeys/k";
    let key = json!({"resource_id": name, "created_at": CREATED, "enc": "AAAA"});
    sealed(place, json!({ "gcp_kms": [key] }))
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
            ("githubAppID", format!("{}", number + 1)),
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

/// Bodies of the largest size for as many connections as there may be, half of them from a forge that is trusted; and
/// sources, which the controller goes on to reconcile.
fn webhooks(place: &Place) -> Specs {
    let hooks = World::new(place.world.cluster, "flux-system");
    let tokens = json!({"github": WEBHOOK_TOKEN, "dockerhub": WEBHOOK_TOKEN});
    hooks.put(SECRET, "webhooks", json!({ "stringData": tokens }));
    let body = parts(PUSH).sized(1 << 20, "{}]}").bytes();
    let signature = github_signature(WEBHOOK_TOKEN, &body);
    let url = format!("http://127.0.0.1:{}/hook/github", place.webhooks);
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let send = |signature: &str| {
        let request = agent.post(&url).header("X-GitHub-Event", "push");
        let answer = request.header("X-Hub-Signature-256", signature).send(&body[..]);
        answer.map(|answer| answer.status().as_u16()).unwrap_or_default()
    };
    // The token is known a moment after the Secret is there.
    until("the token is known", || (200..300).contains(&send(&signature)));
    std::thread::scope(|scope| {
        for number in 0..64 {
            let (send, signature) = (&send, if number % 2 == 0 { &signature } else { "sha256=00" });
            scope.spawn(move || send(signature));
        }
    });
    let url = place.url("none.git");
    Box::new(move |_| git_repository(&url))
}
