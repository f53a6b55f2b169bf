//! Kubeconfigs of a tenant for the stage that an ImagePolicy promotes from: with files and programs of the controller's
//! machine, with addresses at which it might use its own identity, and with servers that answer too much.

use serde_json::{Value as Json, json};

use crate::answer_without_end::{Answers, server};
use crate::siege::{Siege, siege};
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::world::{IMAGE_POLICY, IMAGE_REPOSITORY, SECRET, newest, with};

/// A tenant with a scanned image.
struct Mallory {
    world: ImageWorld<'static>,
}

impl std::ops::Deref for Mallory {
    type Target = ImageWorld<'static>;

    fn deref(&self) -> &ImageWorld<'static> {
        &self.world
    }
}

impl Mallory {
    fn new(siege: &'static Siege, namespace: &str) -> Self {
        let world = ImageWorld::bare(siege.cluster, namespace);
        world.add(IMAGE_REPOSITORY, "app", world.scanning("app"));
        Self { world }
    }

    /// A policy that promotes from a cluster, and the Secret of the same name with this kubeconfig.
    fn promotes(&self, name: &str, kubeconfig: &Json) {
        self.put(SECRET, name, json!({"stringData": {"value": kubeconfig.to_string()}}));
        let annotations = json!({"bumpwright.dev/promote-from": format!("Kustomization/{}/stage", self.namespace),
            "bumpwright.dev/promote-kubeconfig": name});
        self.annotated(IMAGE_POLICY, name, &annotations, newest("app"));
    }

    /// Waits until the policy is refused an image; returns why.
    fn refused(&self, name: &str, text: &str) -> String {
        self.ready(IMAGE_POLICY, name, "False", |reason, message| {
            reason == "ImageRefused" && message.contains(text)
        })
    }
}

/// A kubeconfig for a server.
fn at(cluster: &Json, user: &Json) -> Json {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    })
}

/// For the API server that the controller itself uses: as nobody, by a file, by a program, or by somebody else's name.
#[test]
fn to_the_controllers_own_cluster() {
    let Some(siege) = siege() else { return };
    let mallory = Mallory::new(siege, "mallory-stage");
    let good: Json = serde_json::from_str(&siege.cluster.kubeconfig_with("")).unwrap();
    let own = &good["clusters"][0]["cluster"];
    let ran = mallory.folder.path().join("ran");
    let program = json!({"apiVersion": "client.authentication.k8s.io/v1", "command": "touch", "args": [ran],
        "interactiveMode": "Never"});
    let helper = json!({"name": "gcp", "config": {"cmd-path": "touch", "cmd-args": ran, "expiry-key": "{.a}"}});
    // The controller's own.
    let token = siege.cluster.kubeconfig().with_file_name("tokens.csv");
    assert!(token.exists());
    let unread = |what: &str| format!("references a {what} file, only {what}-data is supported");
    let nobody = "User \"system:anonymous\" cannot get resource \"kustomizations\"";
    for (name, cluster, user, why) in [
        ("nobody", own.clone(), json!({}), nobody.to_owned()),
        ("empty-token", own.clone(), json!({"token": ""}), nobody.to_owned()),
        ("program", own.clone(), json!({"exec": program}), nobody.to_owned()),
        (
            "helper",
            own.clone(),
            json!({"auth-provider": helper}),
            nobody.to_owned(),
        ),
        (
            "acting",
            own.clone(),
            json!({"as": "admin", "as-groups": ["system:masters"]}),
            nobody.to_owned(),
        ),
        (
            "token-file",
            own.clone(),
            json!({"tokenFile": token}),
            "references a tokenFile, only an inline token is supported".to_owned(),
        ),
        (
            "certificate-file",
            own.clone(),
            json!({"client-certificate": token, "client-key": token}),
            unread("client-certificate"),
        ),
        (
            "key-file",
            own.clone(),
            json!({"client-key": token}),
            unread("client-key"),
        ),
        (
            "authority-file",
            with(own.clone(), &json!({"certificate-authority": token})),
            json!({}),
            unread("certificate-authority"),
        ),
        (
            "insecure",
            json!({"server": siege.cluster.url(), "insecure-skip-tls-verify": true}),
            json!({"token": "t"}),
            "client error (Connect)".to_owned(),
        ),
    ] {
        mallory.promotes(name, &at(&cluster, &user));
        let told = mallory.refused(name, &why);
        assert!(
            !told.contains("hunter2") && !told.contains(siege.cluster.token()),
            "{told}"
        );
    }
    // A user that the context does not name is not read either.
    let mut second = at(own, &json!({"token": siege.cluster.token()}));
    let other = json!({"name": "other", "user": {"tokenFile": token}});
    second["users"].as_array_mut().unwrap().push(other);
    mallory.promotes("second", &second);
    mallory.refused("second", "user 'other' references a tokenFile");
    assert!(!ran.exists(), "a program was run");
    siege.stands();
}

/// For a server of the tenant that asks for credentials and sends elsewhere, and for one inside the cluster
/// whose answers are secret.
#[test]
fn to_servers_that_are_no_clusters() {
    let Some(siege) = siege() else { return };
    let mallory = Mallory::new(siege, "mallory-elsewhere");
    let inside = StubHttp::start(|request| {
        // As the metadata services of clouds.
        let secret = json!({"AccessKeyId": "hunter2", "Token": "hunter2"});
        match request.path.split('/').nth(1) {
            Some("json") => Reply::json(&secret),
            Some("text") => Reply::text(200, &format!("hunter2\n{secret}")),
            Some("absent") => Reply::text(404, "hunter2"),
            _ => Reply::text(403, "hunter2"),
        }
    });
    for (name, why) in [
        ("json", "it is not ready: it has not been reconciled"),
        ("text", "unreadable answer: "),
        ("absent", "there is no such Kustomization"),
        (
            "denied",
            "the server does not allow this method on the requested resource",
        ),
    ] {
        // Nothing of the path is the tenant's but its beginning.
        let address = inside.url(&format!("{name}/security-credentials/role?x=#"));
        mallory.promotes(name, &at(&json!({"server": address}), &json!({})));
        let told = mallory.refused(name, why);
        assert!(!told.contains("hunter2"), "{told}");
    }
    let seen = inside.requests();
    assert!(!seen.is_empty());
    let stage = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/mallory-elsewhere/kustomizations/stage";
    assert!(seen.iter().all(|request| request.target.ends_with(stage)), "{seen:?}");

    let before = inside.requests().len();
    let target = inside.url("moved");
    let asks = StubHttp::start(move |request| match request.path.split('/').nth(1) {
        Some("moved") => Reply::status(307).header("Location", &target),
        _ => Reply::status(401).header("WWW-Authenticate", "Bearer"),
    });
    for (name, why) in [("asks", "the server has asked for the client"), ("moved", "307")] {
        mallory.promotes(name, &at(&json!({"server": asks.url(name)}), &json!({})));
        mallory.refused(name, why);
    }
    assert_eq!(inside.requests().len(), before, "no redirect is followed");
    for request in [asks.requests(), inside.requests()].concat() {
        for header in [
            "authorization",
            "cookie",
            "impersonate-user",
            "metadata-flavor",
            "metadata",
        ] {
            assert_eq!(request.header(header), None, "{request:?}");
        }
    }
    siege.stands();
}

/// A stage with these fields instead of good ones, behind a server that knows it and its only Deployment and pod.
fn stage(image: &str, more: &[(&str, Json)]) -> StubHttp {
    let template = json!({"spec": {"containers": [{"name": "web", "image": image}]}});
    let mut all = json!({
        "kustomization": {"metadata": {"generation": 1}, "status": {
            "observedGeneration": 1, "lastAppliedRevision": "1", "lastAttemptedRevision": "1",
            "conditions": [{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": ""}],
            "inventory": {"entries": [{"id": "n_web_apps_Deployment", "v": "v1"}]},
        }},
        "deployment": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "n", "generation": 1},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template},
            "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
                "conditions": [{"type": "Available", "status": "True"}]}},
        "pods": {"items": [{"metadata": {"name": "p", "namespace": "n"}, "spec": template["spec"], "status": {}}]},
    });
    for (pointer, value) in more {
        *all.pointer_mut(pointer).unwrap() = value.clone();
    }
    StubHttp::start(move |request| {
        let last = request.path.rsplit('/').next().unwrap_or_default();
        Reply::json(match last {
            "stage" => &all["kustomization"],
            "pods" => &all["pods"],
            _ => &all["deployment"],
        })
    })
}

/// A name, the fields of a stage that are other ones, and what is told.
type Case<'a> = (&'a str, &'a [(&'a str, Json)], &'a str);

/// With servers whose answers are long, here and there.
#[test]
fn with_answers_that_are_too_long() {
    let Some(siege) = siege() else { return };
    let mallory = Mallory::new(siege, "mallory-answers");
    for (name, answers, why) in [
        (
            "endless",
            Answers::Endless("xxxxxxxxxxxxxxxx"),
            "--build-memory raises the bound",
        ),
        (
            "nested",
            Answers::Endless(r#"{"a":1},"#),
            "--build-memory raises the bound",
        ),
        ("refusal", Answers::Refusal, "an error on the server"),
    ] {
        let server = server(answers);
        let address = json!({"server": format!("http://{}", server.host())});
        mallory.promotes(name, &at(&address, &json!({"token": "t"})));
        let told = mallory.refused(name, why);
        assert!(told.len() < 40_000, "{name}: {} bytes of message", told.len());
    }
    let long = json!("x".repeat(2 << 20));
    let image = format!("{}:1.0.0", mallory.image("app"));
    let entries = vec![json!({"id": "n_web_apps_Deployment"}); 20_000];
    let waits = json!({"containerStatuses": [{"name": "web", "state": {"waiting": {"reason": long}}}]});
    let cases: [Case<'_>; 7] = [
        (
            "message",
            &[
                ("/kustomization/status/conditions/0/status", json!("False")),
                ("/kustomization/status/conditions/0/message", long.clone()),
            ],
            "it is not ready: x",
        ),
        (
            "revision",
            &[("/kustomization/status/lastAttemptedRevision", long.clone())],
            "it has tried revision x",
        ),
        (
            "id",
            &[(
                "/kustomization/status/inventory/entries/0/id",
                json!(format!("n_{}_apps_Deployment", "x".repeat(2 << 20))),
            )],
            "none of its Deployments",
        ),
        (
            "entries",
            &[("/kustomization/status/inventory/entries", json!(entries))],
            "it has 20000 workloads",
        ),
        (
            "selector",
            &[("/deployment/spec/selector/matchLabels/app", long.clone())],
            "GET /api/v1/namespaces/n/pods: ",
        ),
        ("pod", &[("/pods/items/0/metadata/name", long.clone())], "is not ready"),
        ("reason", &[("/pods/items/0/status", waits)], "container web waits: x"),
    ];
    for (name, more, why) in cases {
        let server = stage(&image, more);
        mallory.promotes(name, &at(&json!({"server": server.url("")}), &json!({"token": "t"})));
        let told = mallory.refused(name, why);
        assert!(told.len() < 5000, "{name}: {} bytes of message", told.len());
    }
    siege.stands();
}
