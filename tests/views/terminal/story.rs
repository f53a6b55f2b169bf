//! A fleet with our controllers: reconciled until it is healthy, then broken, then looked at.

use super::{even, json, ok, run};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::cli::Ran;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::nodes::Nodes;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{GIT_REPOSITORY, IMAGE_POLICY, KUSTOMIZATION};
use serde_json::json;

const NAMESPACE: &str = "story";

struct Fleet {
    _controller: Controller,
    nodes: Nodes,
    world: ImageWorld<'static>,
}

fn deployment(world: &ImageWorld<'_>, tag: &str) -> String {
    let namespace = &world.namespace;
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  selector: {{matchLabels: {{app: web}}}}\n  \
         template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n      - name: web\n        \
         image: {}:{tag} # {{\"$imagepolicy\": \"{namespace}:app\"}}\n",
        world.image("app")
    )
}

fn fleet(namespace: &'static str) -> Option<Fleet> {
    let cluster = Cluster::shared()?;
    let world = ImageWorld::new(cluster, namespace, "1h");
    let file = deployment(&world, "1.0.0");
    let changes = [
        Change::File("apps/web.yaml", file.as_bytes()),
        Change::Delete("app.yaml"),
    ];
    world.repo.commit("main", "apps", &changes);
    let spec = json!({
        "interval": "1h", "retryInterval": "1h", "timeout": "2s", "prune": true, "wait": true, "path": "./apps", "targetNamespace": namespace,
        "sourceRef": {"kind": "GitRepository", "name": "app"},
    });
    world.add(KUSTOMIZATION, "apps", spec);
    let address = format!("127.0.0.1:{}", free_port());
    let flags = ["--storage-addr", "--storage-adv-addr"].map(|flag| format!("{flag}={address}"));
    let controller = world
        .starter("ours")
        .flags(&["--controllers=image-reflector,image-automation,source,kustomize"])
        .flags(&flags)
        .start();
    let nodes = Nodes::start(cluster, namespace);
    Some(Fleet {
        _controller: controller,
        nodes,
        world,
    })
}

impl Fleet {
    fn run(&self, arguments: &[&str]) -> Ran {
        run(self.world.cluster, &[arguments, &["-n", NAMESPACE]].concat())
    }

    fn reconcile(&self, arguments: &[&str], code: i32) -> String {
        let ran = self.run(&[&["reconcile", "--timeout=30s"], arguments].concat());
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.err);
        ran.err
    }
}

/// All intervals are an hour: from the scan on each step follows from the one before.
#[test]
fn a_release_is_applied_without_an_interval() {
    let Some(fleet) = fleet("story-release") else { return };
    let world = &fleet.world;
    world.ready(KUSTOMIZATION, "apps", "True", |_, _| true);
    world.publish("app", "1.1.0");
    let scan = [
        "reconcile",
        "image",
        "repository",
        "app",
        "--timeout=30s",
        "-n",
        &world.namespace,
    ];
    assert_eq!(run(world.cluster, &scan).code, 0);
    until("the release is applied", || {
        let tip = world.repo.rev("main").unwrap();
        let applied = world.get(KUSTOMIZATION, "apps")["status"]["lastAppliedRevision"].clone();
        world.repo.log("main").len() == 3 && applied == format!("main@sha1:{tip}")
    });
}

#[test]
fn from_a_release_to_a_failure() {
    let Some(fleet) = fleet(NAMESPACE) else { return };
    let world = &fleet.world;
    world.ready(KUSTOMIZATION, "apps", "True", |_, _| true);
    until("all is current", || {
        let status = json(world, &["status"]);
        status["attention"] == json!([]) && status["counts"]["current"] == 1
    });
    let status = ok(world, &["status"]);
    assert!(
        status.contains("\nNothing needs attention\n\nImages: 1 current\n"),
        "{status}"
    );
    assert_eq!(fleet.run(&["status", "--exit-code"]).code, 0);

    // A release, brought to the cluster by hand: nothing has an interval of less than an hour.
    world.publish("app", "1.1.0");
    let image = format!("{}:1.1.0", world.image("app"));
    fleet.nodes.break_image(&image);
    fleet.reconcile(&["image", "repository", "app"], 0);
    world.ready(IMAGE_POLICY, "app", "True", |_, message| message.contains("1.1.0"));
    fleet.reconcile(&["automation", "app", "--with-source"], 0);
    until("the automation has pushed", || world.repo.log("main").len() == 3);
    let said = fleet.reconcile(&["ks", "apps", "--with-source"], 1);
    assert!(
        said.contains("✔ GitRepository/story/app is ready: stored artifact"),
        "{said}"
    );
    assert!(
        said.contains("✗ Kustomization/story/apps is not ready: HealthCheckFailed: "),
        "{said}"
    );

    let ran = fleet.run(&["status", "--exit-code"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    let text = even(&ran.out, "story");
    assert!(
        text.contains("\nNeeds attention: 1\n  Kustomization/NS/apps broken for "),
        "{text}"
    );
    assert!(
        text.contains(": HealthCheckFailed\n    health check failed after "),
        "{text}"
    );
    assert!(text.contains("\n    bumpwright explain HealthCheckFailed\n"), "{text}");
    assert!(text.contains("\nImages: 1 on its way\n"), "{text}");
    let image = &json(world, &["get", "images"])["images"][0];
    assert_eq!(image["stage"], "onTheWay");
    let why = image["why"].as_str().unwrap();
    assert!(
        why.starts_with("Kustomization story/apps fails: HealthCheckFailed: "),
        "{why}"
    );
    let trace = json(world, &["trace", "deployment", "web"]);
    assert_eq!(trace["traces"][0]["images"][0]["policy"], "ImagePolicy/story/app");
    assert_eq!(trace["traces"][0]["images"][0]["isKnown"], true);
    let events = ok(world, &["events", "--types=Warning"]);
    assert!(events.contains("HealthCheckFailed   kustomization/apps   "), "{events}");

    // Mended, and brought on.
    fleet.nodes.mend_image(&format!("{}:1.1.0", world.image("app")));
    until("its pods run", || {
        let web = world.cluster.get("/apis/apps/v1/namespaces/story/deployments/web");
        !web["status"].to_string().contains("ProgressDeadlineExceeded")
    });
    fleet.reconcile(&["ks", "apps"], 0);
    let status = ok(world, &["status"]);
    assert!(
        status.contains("\nNothing needs attention\n\nImages: 1 current\n"),
        "{status}"
    );
    let tip = world.repo.rev("main").unwrap();
    let short = &tip[..8];
    assert!(ok(world, &["tree", "ks", "apps"]).contains("└── Deployment/story/web\n"));
    assert!(ok(world, &["get", "sources"]).contains(&format!("main@sha1:{short}")));

    // Somebody takes it back by hand, and the automation has not run since.
    let file = deployment(world, "1.0.0");
    let back = [Change::File("apps/web.yaml", file.as_bytes())];
    world.repo.commit("main", "back", &back);
    fleet.reconcile(&["ks", "apps", "--with-source"], 0);
    let image = &json(world, &["get", "images"])["images"][0];
    let why = image["why"].as_str().unwrap();
    assert_eq!(image["stage"], "behind", "{why}");
    assert!(why.starts_with("Deployment story/web has 1.0.0, and "), "{why}");

    // Suspended and resumed: what the source has meanwhile is applied then.
    assert_eq!(fleet.run(&["suspend", "source", "git", "app"]).code, 0);
    assert!(world.get(GIT_REPOSITORY, "app")["spec"]["suspend"] == true);
    let ran = fleet.run(&["resume", "source", "git", "app", "--wait", "--timeout=30s"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("✔ GitRepository/story/app is ready: "), "{}", ran.err);
}
