//! A cluster with two tenants, and servers of pages before it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value as Json, json};

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{
    AUTOMATION, EVENT, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, World, automation,
    git_repository, newest,
};

pub const RBAC: &str = "rbac.authorization.k8s.io";

/// What the other tenant's objects are called: it may be in no page for the first one.
pub const SECRET_WORD: &str = "zebra";

/// The objects that nobody reconciles.
const FLAGS: [&str; 2] = [
    "--watch-label-selector=nobody=reconciles",
    "--controllers=image-reflector",
];

/// A server of pages.
pub struct Pages {
    pub port: u16,
    pub controller: Controller,
}

/// An answer as it came.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a header; empty when there is none.
    pub fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .unwrap_or_default()
    }
}

impl Pages {
    /// Starts a server with these flags on a free port of this machine.
    pub fn start(cluster: &Cluster, flags: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap().keep();
        let port = free_port();
        let mut all: Vec<String> = FLAGS.map(str::to_owned).into();
        all.push(format!("--ui-addr=127.0.0.1:{port}"));
        all.extend_from_slice(flags);
        let controller = Controller::ours_to_the_end(&cluster.kubeconfig(), "flux-system", &folder, &all);
        let pages = Self { port, controller };
        pages.listens();
        pages
    }

    pub fn listens(&self) {
        until("pages are served", || {
            TcpStream::connect(("127.0.0.1", self.port)).is_ok()
        });
    }

    /// Sends a request, and reads to the end of the answer.
    pub fn send(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        exchange(self.port, method, target, headers, body)
    }

    pub fn get(&self, target: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("GET", target, headers, "")
    }

    /// Sends a form.
    pub fn post(&self, target: &str, headers: &[(&str, &str)], fields: &[(&str, &str)]) -> Answer {
        let body: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)))
            .collect();
        self.send("POST", target, headers, &body.join("&"))
    }

    /// The page of a path, for a bearer token.
    pub fn page(&self, target: &str, token: &str) -> String {
        let answer = self.get(target, &[("Authorization", &format!("Bearer {token}"))]);
        assert_eq!(answer.status, 200, "{target}: {}", answer.text());
        answer.text()
    }
}

pub fn exchange(port: u16, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut request = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        request.push_str(&format!("Host: localhost:{port}\r\n"));
    }
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    if method == "POST" {
        request.push_str("Content-Type: application/x-www-form-urlencoded\r\n");
        request.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    request.push_str("\r\n");
    request.push_str(body);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    // The server may reset the connection once it has answered.
    let _ = stream.read_to_end(&mut answer);
    let end = answer
        .windows(4)
        .position(|part| part == b"\r\n\r\n")
        .unwrap_or_else(|| panic!("{method} {target}: no answer"));
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer {
        status,
        body: answer[end + 4..].to_vec(),
        head,
    }
}

/// As in a form or a query.
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    text.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// The cluster with its objects; none when a program is missing.
pub fn seeded() -> Option<&'static Cluster> {
    static SEEDED: OnceLock<Option<&'static Cluster>> = OnceLock::new();
    *SEEDED.get_or_init(|| {
        let cluster = Cluster::shared()?;
        cluster.define();
        // Before the servers of pages ask for the kinds.
        let _ = cluster.define_helm();
        let role = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": {"name": "ui-view"}, "rules": [
            {"apiGroups": ["image.toolkit.fluxcd.io", "source.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"],
             "resources": ["*"], "verbs": ["get", "list", "watch"]},
            {"apiGroups": [""], "resources": ["events", "configmaps", "secrets"], "verbs": ["get", "list"]},
        ]});
        cluster.apply(&role.to_string());
        seed(cluster, "okapi", "okapi");
        seed(cluster, SECRET_WORD, SECRET_WORD);
        Some(cluster)
    })
}

/// The objects of a tenant, all of whose names and texts have its word.
fn seed(cluster: &'static Cluster, namespace: &str, word: &str) {
    let world = World::new(cluster, namespace);
    let name = |what: &str| format!("{word}-{what}");
    let ready = |status: &str, reason: &str, message: String| {
        json!([{"type": "Ready", "status": status, "reason": reason, "message": message, "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z"}])
    };
    world.add(
        GIT_REPOSITORY,
        &name("fleet"),
        git_repository(&format!("https://github.com/{word}/fleet")),
    );
    let artifact = json!({"revision": format!("main@sha1:{}", "a".repeat(40)), "lastUpdateTime": "2026-01-01T00:00:00Z",
        "path": "p", "url": "http://x/p", "digest": format!("sha256:{}", "b".repeat(64))});
    world.patch_status(
        GIT_REPOSITORY,
        &name("fleet"),
        &json!({"artifact": artifact, "observedGeneration": 1,
        "conditions": ready("True", "Succeeded", format!("stored {word}"))}),
    );
    world.add(
        IMAGE_REPOSITORY,
        &name("web"),
        json!({"image": format!("ghcr.io/{word}/web"), "interval": "1h"}),
    );
    world.patch_status(
        IMAGE_REPOSITORY,
        &name("web"),
        &json!({"observedGeneration": 1,
        "lastScanResult": {"tagCount": 3, "scanTime": "2026-01-01T00:00:00Z", "latestTags": ["main", "2.0.0", "1.0.0"]},
        "conditions": ready("True", "Succeeded", "scanned".to_owned())}),
    );
    world.put(IMAGE_POLICY, &name("web"), json!({"spec": newest(&name("web")), "metadata": {"annotations": {
        "state.bumpwright.dev/failed-versions": json!({"2.0.0": {"image": format!("ghcr.io/{word}/web"),
            "kustomization": format!("{word}/{word}-apps"), "message": format!("{word} failed"), "commit": "c", "at": 1}}).to_string(),
    }}}));
    world.patch_status(
        IMAGE_POLICY,
        &name("web"),
        &json!({"observedGeneration": 1,
        "latestRef": {"name": format!("ghcr.io/{word}/web"), "tag": "2.0.0"},
        "conditions": ready("True", "Succeeded", "resolved".to_owned())}),
    );
    world.add(AUTOMATION, &name("all"), automation(&name("fleet")));
    world.patch_status(
        AUTOMATION,
        &name("all"),
        &json!({"observedGeneration": 1, "lastPushCommit": "c".repeat(40), "lastPushTime": "2026-01-01T00:00:00Z",
        "observedPolicies": {name("web"): {"name": format!("ghcr.io/{word}/web"), "tag": "1.0.0"}},
        "conditions": ready("True", "Succeeded", "repository up-to-date".to_owned())}),
    );
    let spec = |depends: Json| {
        json!({"interval": "1h", "path": "./apps", "prune": true, "dependsOn": depends,
            "sourceRef": {"kind": "GitRepository", "name": name("fleet")}})
    };
    let inventory = json!({"entries": [
        {"id": format!("{namespace}_{word}-map__ConfigMap"), "v": "v1"},
        {"id": format!("{namespace}_{word}-secret__Secret"), "v": "v1"},
    ]});
    world.add(KUSTOMIZATION, &name("base"), spec(json!([])));
    world.patch_status(
        KUSTOMIZATION,
        &name("base"),
        &json!({"observedGeneration": 1,
        "conditions": ready("False", "BuildFailed", format!("{word} <img src=x onerror=alert(1)> is broken"))}),
    );
    world.add(KUSTOMIZATION, &name("apps"), spec(json!([{"name": name("base")}])));
    world.patch_status(KUSTOMIZATION, &name("apps"), &json!({"observedGeneration": 1, "inventory": inventory,
        "conditions": ready("False", "DependencyNotReady", format!("dependency '{namespace}/{word}-base' is not ready"))}));
    world.add(KUSTOMIZATION, &name("prunes"), spec(json!([])));
    let message =
        "refused to prune 3 of 4 objects: annotate the Kustomization with bumpwright.dev/approve-prune: main@sha1:abc";
    world.patch_status(
        KUSTOMIZATION,
        &name("prunes"),
        &json!({"observedGeneration": 1, "conditions": ready("False", "PruneRefused", message.to_owned())}),
    );
    world.apply(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name("map"), "namespace": namespace},
        "data": {"password": "hunter2"}}),
    );
    world.apply(
        &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name("secret"), "namespace": namespace},
        "stringData": {"password": "hunter2"}}),
    );
    world.put(EVENT, &name("event"), json!({"type": "Warning", "reason": "BuildFailed", "message": format!("{word} event"),
        "involvedObject": {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "namespace": namespace,
            "name": name("base")},
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": now(), "count": 1}));
}

/// Now, as objects have it.
pub fn now() -> String {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let seconds = i64::try_from(since.as_secs()).unwrap();
    bumpwright_gostd::Time::unix(seconds, 0).written(bumpwright_gostd::RFC_3339)
}

/// A ServiceAccount in a namespace of its own, with a role in a namespace, and a token of it: those of one namespace
/// count as one person where something is bounded.
pub fn account(cluster: &Cluster, namespace: &str, name: &str, role: &str) -> String {
    account_in(cluster, &home(name), namespace, name, role)
}

/// The namespace of a ServiceAccount.
pub fn home(name: &str) -> String {
    format!("home-{name}")
}

/// As [`account`], in this namespace.
pub fn account_in(cluster: &Cluster, home: &str, namespace: &str, name: &str, role: &str) -> String {
    cluster.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}}).to_string());
    let object = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": home}});
    cluster.apply(&object.to_string());
    if !role.is_empty() {
        let subject = json!({"kind": "ServiceAccount", "name": name, "namespace": home});
        bind(cluster, namespace, name, role, &subject);
    }
    token(cluster, home, name)
}

pub fn bind(cluster: &Cluster, namespace: &str, name: &str, role: &str, subject: &Json) {
    let binding = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": namespace}, "subjects": [subject],
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}});
    cluster.apply(&binding.to_string());
}

pub fn token(cluster: &Cluster, home: &str, account: &str) -> String {
    let path = format!("/api/v1/namespaces/{home}/serviceaccounts/{account}/token");
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = cluster.request("POST", &path, "", &request.to_string());
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.body["status"]["token"].as_str().unwrap().to_owned()
}

/// The server that all tests share whose people have tokens.
pub fn by_token() -> Option<&'static Pages> {
    static PAGES: OnceLock<Option<Pages>> = OnceLock::new();
    let start = || {
        Some(Pages::start(
            seeded()?,
            &["--ui-auth=token".to_owned(), "--ui-actions".to_owned()],
        ))
    };
    PAGES.get_or_init(start).as_ref()
}
