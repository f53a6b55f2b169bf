//! Webhooks, with a real API server: an authenticated request triggers the reconciliation of the objects of its event
//! (`docs/guides/webhooks.md`). Payloads of providers are in `crates/engine/webhook/tests`.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::digests::github_signature;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{
    GIT_REPOSITORY, HELM_CHART, HELM_REPOSITORY, IMAGE_REPOSITORY, ObjectKind, SECRET, World,
};
use serde_json::{Value as Json, json};

const TOKEN: &str = "s3cr3t-t0ken";

/// A controller that serves webhooks.
struct Served<'a> {
    // Before the folder that has its log goes.
    controller: Controller,
    world: World<'a>,
    port: u16,
}

impl<'a> Served<'a> {
    fn start(cluster: &'a Cluster, namespace: &str) -> Self {
        Self::with(cluster, namespace, &[])
    }

    fn with(cluster: &'a Cluster, namespace: &str, flags: &[&str]) -> Self {
        cluster.define();
        let world = World::new(cluster, namespace);
        let port = free_port();
        let address = format!("--webhook-addr=127.0.0.1:{port}");
        let starter = world.starter("controller").flags(flags);
        let controller = starter.flags(&[&address, "--webhook-secret=hooks"]).start();
        until("it is ready", || {
            controller.probe("readyz").filter(|(status, _)| *status == 200)
        });
        Self {
            controller,
            world,
            port,
        }
    }

    fn tokens(&self) {
        let data = json!({"stringData": {"github": TOKEN, "dockerhub": TOKEN}});
        self.world.put(SECRET, "hooks", data);
    }

    /// The status and the text of the answer.
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
        let mut request = http::Request::builder()
            .method(method)
            .uri(format!("http://127.0.0.1:{}{path}", self.port))
            .header("Content-Type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .new_agent();
        let mut answer = agent.run(request.body(body).unwrap()).unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
    }

    /// Sends GitHub's event of a push, signed with `token`.
    fn push(&self, repository: &str, token: &str) -> (u16, String) {
        let change = json!({"ref": "refs/heads/main", "after": "a".repeat(40)});
        self.event("push", change, repository, token)
    }

    fn event(&self, kind: &str, mut body: Json, repository: &str, token: &str) -> (u16, String) {
        body["repository"] = json!({
                "full_name": repository, "default_branch": "main",
                "clone_url": format!("https://github.com/{repository}.git"),
                "ssh_url": format!("git@github.com:{repository}.git"),
                "html_url": format!("https://github.com/{repository}"),
        });
        let body = body.to_string();
        let signature = github_signature(token, body.as_bytes());
        let headers = [("X-GitHub-Event", kind), ("X-Hub-Signature-256", &signature)];
        self.send("POST", "/hook/github", &headers, body.as_bytes())
    }

    fn asked(&self, kind: ObjectKind, name: &str) -> Json {
        self.world.get(kind, name)["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"].clone()
    }
}

fn git(url: &str) -> Json {
    json!({"interval": "1h", "url": url, "ref": {"branch": "main"}})
}

#[test]
fn a_push_makes_its_repositories_look_and_no_others() {
    let Some(cluster) = Cluster::shared() else { return };
    let served = Served::start(cluster, "webhooks-push");
    served.tokens();
    served
        .world
        .add(GIT_REPOSITORY, "ours", git("ssh://git@github.com/acme/fleet"));
    served
        .world
        .add(GIT_REPOSITORY, "other", git("https://github.com/acme/other"));
    // The watch may be late.
    let (_, text) = wait_for(
        || Some(served.push("acme/fleet", TOKEN)).filter(|(status, text)| *status == 202 && text.contains("1 object")),
        || served.controller.log(),
    );
    assert!(served.asked(GIT_REPOSITORY, "ours").is_string(), "{text}");
    assert!(served.asked(GIT_REPOSITORY, "other").is_null());
    let first = served.asked(GIT_REPOSITORY, "ours");
    assert_eq!(served.push("acme/fleet", TOKEN).0, 202);
    assert_ne!(served.asked(GIT_REPOSITORY, "ours"), first, "each push asks again");
}

/// A pull request that is opened, or has a new head, is for the repositories whose requests are reviewed.
#[test]
fn a_pull_request_makes_reviewed_repositories_look() {
    let Some(cluster) = Cluster::shared() else { return };
    let served = Served::start(cluster, "webhooks-requests");
    served.tokens();
    let spec = git("https://github.com/acme/fleet");
    served.world.add(GIT_REPOSITORY, "plain", spec.clone());
    let annotations = json!({"bumpwright.dev/review": "true"});
    served.world.annotated(GIT_REPOSITORY, "reviewed", &annotations, spec);
    let sent = || {
        served.event(
            "pull_request",
            json!({"number": 7, "action": "synchronize"}),
            "acme/fleet",
            TOKEN,
        )
    };
    let (_, text) = wait_for(
        || Some(sent()).filter(|(status, text)| *status == 202 && text.contains("1 object")),
        || served.controller.log(),
    );
    assert!(served.asked(GIT_REPOSITORY, "reviewed").is_string(), "{text}");
    assert!(served.asked(GIT_REPOSITORY, "plain").is_null());
}

#[test]
fn an_image_is_scanned_when_its_registry_says_so() {
    let Some(cluster) = Cluster::shared() else { return };
    let served = Served::start(cluster, "webhooks-image");
    served.tokens();
    let spec = json!({"image": "docker.io/acme/app", "interval": "1h", "suspend": false});
    served.world.add(IMAGE_REPOSITORY, "app", spec);
    let body = json!({
        "push_data": {"tag": "1.2.3", "pusher": "ci", "pushed_at": 1}, "callback_url": "https://registry.hub.docker.com/x",
        "repository": {"repo_name": "acme/app", "name": "app", "namespace": "acme"},
    });
    let body = body.to_string();
    let authorization = format!("Bearer {TOKEN}");
    let send = |path: &str, headers: &[(&str, &str)]| served.send("POST", path, headers, body.as_bytes());
    wait_for(
        || {
            let answer = send("/hook/dockerhub", &[("Authorization", &authorization)]);
            (answer.0 == 202 && answer.1.contains("1 object")).then_some(())
        },
        || served.controller.log(),
    );
    assert!(served.asked(IMAGE_REPOSITORY, "app").is_string());
}

/// That a Receiver's annotation asks for them is seen beside Flux, in `helm_sources` and `chart_sources`.
#[test]
fn charts_look_when_their_registry_or_a_pipeline_says_so() {
    let Some(cluster) = Cluster::shared() else { return };
    let storage = format!("--storage-addr=127.0.0.1:{}", free_port());
    let flags = ["--controllers=source,helm", &storage];
    let served = Served::with(cluster, "webhooks-charts", &flags);
    let data = json!({"stringData": {"dockerhub": TOKEN, "generic-hmac": TOKEN}});
    served.world.put(SECRET, "hooks", data);
    let add = |kind, name, spec| served.world.add(kind, name, spec);
    let registry = json!({"type": "oci", "url": "oci://docker.io/acme/"});
    add(HELM_REPOSITORY, "registry", registry);
    let stable = json!({"url": "http://charts.localhost:1/stable", "interval": "1h"});
    add(HELM_REPOSITORY, "stable", stable);
    for chart in ["web", "other"] {
        let source = json!({"kind": "HelmRepository", "name": "registry"});
        let spec = json!({"chart": chart, "interval": "1h", "sourceRef": source});
        add(HELM_CHART, chart, spec);
    }
    let pushed = json!({
        "push_data": {"tag": "1.2.3", "pusher": "ci", "pushed_at": 1}, "callback_url": "https://registry.hub.docker.com/x",
        "repository": {"repo_name": "acme/web", "name": "web", "namespace": "acme"},
    });
    let authorization = format!("Bearer {TOKEN}");
    let pushed = pushed.to_string();
    let released = json!({"repository": "https://charts.localhost:1/stable"}).to_string();
    let signature = github_signature(TOKEN, released.as_bytes());
    for (path, header, body) in [
        ("/hook/dockerhub", ("Authorization", &authorization), &pushed),
        ("/hook/generic-hmac", ("X-Signature", &signature), &released),
    ] {
        wait_for(
            || {
                let answer = served.send("POST", path, &[(header.0, header.1)], body.as_bytes());
                (answer.0 == 202 && answer.1.contains("1 object")).then_some(())
            },
            || served.controller.log(),
        );
    }
    assert!(served.asked(HELM_CHART, "web").is_string());
    assert!(served.asked(HELM_CHART, "other").is_null());
    assert!(served.asked(HELM_REPOSITORY, "stable").is_string());
    assert!(served.asked(HELM_REPOSITORY, "registry").is_null());
}

#[test]
fn strangers_are_refused() {
    let Some(cluster) = Cluster::shared() else { return };
    let served = Served::start(cluster, "webhooks-strangers");
    // Without a Secret no request is authenticated.
    let (status, _) = served.push("acme/fleet", TOKEN);
    assert!((401..=404).contains(&status), "{status}");
    served.tokens();
    served
        .world
        .add(GIT_REPOSITORY, "ours", git("https://github.com/acme/fleet"));
    until("the new Secret is read", || {
        (served.push("acme/fleet", TOKEN).0 == 202).then_some(())
    });
    let before = served.asked(GIT_REPOSITORY, "ours");
    let (status, text) = served.push("acme/fleet", "wr0ng");
    assert_eq!(status, 401, "{text}");
    assert_eq!(
        served
            .send("POST", "/hook/github", &[("X-GitHub-Event", "push")], b"{}")
            .0,
        401
    );
    assert_eq!(served.send("GET", "/hook/github", &[], b"").0, 405);
    assert_eq!(served.send("POST", "/elsewhere", &[], b"{}").0, 404);
    assert_eq!(
        served.send("POST", "/hook/github", &[], &vec![b' '; (1 << 20) + 1]).0,
        413
    );
    assert_eq!(served.asked(GIT_REPOSITORY, "ours"), before);
    let log = served.controller.log();
    assert!(!log.contains(TOKEN) && !log.contains("wr0ng"), "{log}");
}
