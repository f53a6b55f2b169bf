//! `bumpwright.dev/release-notes` and `review-release-notes`: what the releases of new images are, in the pull request
//! of an automation, and in reviews. Registry and Git are real, the forge is a stub.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::forge::{Forge, ForgeKind};
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{
    AUTOMATION, GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, SECRET, World, automation,
    git_repository, newest, with,
};
use serde_json::json;

/// The forge of the automation has the release of `web`, whose label names it; the label of `inner`
/// names an address inside.
#[test]
fn a_pull_request_says_what_the_releases_of_its_images_are() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(registry) = Registry::start() else { return };
    cluster.define();
    let world = World::new(cluster, "release-notes");
    let root = world.folder.path().join("forge");
    let repo = Repo::init(root.join("o/app.git"));
    repo.config("http.receivepack", "true");
    let forge = Forge::start(ForgeKind::Gitea, &root, "token t0ken");
    let (asked, with_login) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counters = (Arc::clone(&asked), Arc::clone(&with_login));
    forge.fault(move |request, _| {
        let tag = request.path.strip_prefix("/api/v1/repos/o/app/releases/tags/")?;
        counters.0.fetch_add(1, Ordering::SeqCst);
        if request.header("authorization").is_some() {
            counters.1.fetch_add(1, Ordering::SeqCst);
        }
        if tag != "1.1.0" {
            return Some(Reply::status(404));
        }
        Some(Reply::json(&json!({
            "html_url": "https://forge.example/o/app/releases/tag/1.1.0",
            "name": "Faster @everyone",
            "body": "- quicker, see #1\n",
        })))
    });

    let own = format!("http://{}/o/app", forge.server.host());
    let inside = format!("http://{}/o/inner", registry.host());
    let mut file = String::new();
    for (name, source) in [("web", &own), ("inner", &inside)] {
        for (tag, revision) in [("1.0.0", "1111111"), ("1.1.0", "2222222")] {
            registry
                .images()
                .built_from(&format!("o/{name}"), tag, (source, revision));
        }
        let image = format!("{}/o/{name}", registry.host());
        let spec = json!({"image": image, "interval": "1h", "insecure": true});
        world.add(IMAGE_REPOSITORY, name, spec);
        world.add(IMAGE_POLICY, name, newest(name));
        let marker = json!({"$imagepolicy": format!("{}:{name}", world.namespace)});
        file.push_str(&format!("{name}: {image}:1.0.0 # {marker}\n"));
    }
    drop(repo.commit("main", "first", &[Change::File("app.yaml", file.as_bytes())]));
    world.put(SECRET, "forge", json!({"stringData": {"token": "t0ken"}}));
    world.add(GIT_REPOSITORY, "app", git_repository(&forge.server.url("o/app.git")));
    let mut spec = automation("app");
    spec["git"]["push"] = json!({"branch": "auto"});
    let annotations = json!({
        "bumpwright.dev/pull-request": "gitea", "bumpwright.dev/pull-request-secret": "forge",
        "bumpwright.dev/release-notes": "true",
    });
    world.annotated(AUTOMATION, "app", &annotations, spec);

    let controller = world.controller(&["--controllers=image-reflector,image-automation"]);
    let body = || forge.pulls().first().map(|pull| pull.body.clone()).unwrap_or_default();
    wait_for(
        || body().contains("o/web:1.1.0") && body().contains("o/inner:1.1.0"),
        || format!("{}\n{}", body(), controller.log()),
    );
    let text = body();
    for part in [
        "### Releases\n",
        "`1.0.0` → `1.1.0` · [Faster @&#8203;everyone](https://forge.example/o/app/releases/tag/1.1.0)\n",
        "  ```text\n  - quicker, see #1\n  ```\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert_eq!(with_login.load(Ordering::SeqCst), 0, "a label may name any repository");
    let requests = registry.requests();
    let is_of_registry = requests.iter().all(|request| request.target.starts_with("/v2/"));
    assert!(is_of_registry, "the label of inner");

    // Without the annotation nobody is asked, and the section is gone.
    let off = json!({"metadata": {"annotations": {"bumpwright.dev/release-notes": "false"}}});
    world.patch(AUTOMATION, "app", &off);
    let before = asked.load(Ordering::SeqCst);
    world.request(AUTOMATION, "app", "without");
    until("the section is gone", || !body().contains("### Releases"));
    assert_eq!(asked.load(Ordering::SeqCst), before);
}

/// A request of the repository has the releases of images that an ImageRepository names; that of a fork has none,
/// and nobody is asked.
#[test]
fn a_review_says_what_the_releases_of_new_images_are() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(registry) = Registry::start() else { return };
    cluster.define();
    let world = World::new(cluster, "reviews-release-notes");
    let root = world.folder.path().join("forge");
    let repo = Repo::init(root.join("o/app.git"));
    let login = format!("Basic {}", STANDARD.encode("bot:t0ken"));
    let forge = Forge::start(ForgeKind::Gitea, &root, &login);
    forge.fault(|request, _| {
        let tag = request.path.strip_prefix("/api/v1/repos/o/app/releases/tags/")?;
        if tag != "1.1.0" || request.header("authorization").is_some() {
            return Some(Reply::status(404));
        }
        Some(Reply::json(&json!({
            "html_url": "https://forge.example/o/app/releases/tag/1.1.0", "name": "Faster", "body": "- quicker\n",
        })))
    });
    let own = format!("http://{}/o/app", forge.server.host());
    for name in ["web", "side", "forked"] {
        for (tag, revision) in [("1.0.0", "1111111"), ("1.1.0", "2222222")] {
            registry
                .images()
                .built_from(&format!("o/{name}"), tag, (&own, revision));
        }
    }
    registry.images().built_from("o/gone", "1.0.0", (&own, "1111111"));
    // Nothing names `side`.
    for name in ["web", "forked", "gone"] {
        let image = format!("{}/o/{name}", registry.host());
        world.add(
            IMAGE_REPOSITORY,
            name,
            json!({"image": image, "interval": "1h", "insecure": true}),
        );
    }
    let deployment = |name: &str, tag: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: web}}\nspec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  \
             template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec: {{containers: [{{name: {name}, image: '{}/o/{name}:{tag}'}}]}}\n",
            registry.host()
        )
    };
    let commit = |branch: &str, names: &[&str], tag: &str| {
        let files: Vec<(String, String)> = names
            .iter()
            .map(|name| (format!("app/{name}.yaml"), deployment(name, tag)))
            .collect();
        let changes: Vec<Change<'_>> = files
            .iter()
            .map(|(path, text)| Change::File(path, text.as_bytes()))
            .collect();
        repo.commit(branch, "state", &changes)
    };
    drop(commit("main", &["web", "side", "forked", "gone"], "1.0.0"));
    for branch in ["change", "fork"] {
        repo.git(&["branch", branch, "main"]);
    }
    drop(commit("change", &["web", "side", "gone"], "1.1.0"));
    drop(commit("fork", &["forked"], "1.1.0"));
    let head = repo.rev("fork").unwrap();
    repo.git(&["update-ref", "refs/pull/1/head", &head]);
    repo.git(&["branch", "-D", "fork"]);
    forge.open("fork", "main", 2);
    forge.by_hand(|pull| pull.sha.clone_from(&head));
    forge.open("change", "main", 1);

    world.put(
        SECRET,
        "git",
        json!({"stringData": {"username": "bot", "password": "t0ken"}}),
    );
    let source = json!({"kind": "GitRepository", "name": "app"});
    let spec = json!({"interval": "1h", "prune": true, "path": "./app", "sourceRef": source});
    world.add(KUSTOMIZATION, "app", spec);
    let spec = json!({
        "interval": "1h", "url": forge.server.url("o/app.git"), "ref": {"branch": "main"}, "secretRef": {"name": "git"},
    });
    let annotations = json!({
        "bumpwright.dev/review": "gitea", "bumpwright.dev/review-comment": "true", "bumpwright.dev/review-forks": "true",
        "bumpwright.dev/review-release-notes": "true",
    });
    world.annotated(GIT_REPOSITORY, "app", &annotations, spec);

    let port = free_port();
    let pages = format!("--ui-addr=127.0.0.1:{port}");
    let controller = world.controller(&["--controllers=image-automation", "--reviews", &pages]);
    wait_for(|| forge.comments().len() == 2, || controller.log());
    let comment = |number: usize| {
        let of_request = forge.comments().into_iter().find(|one| one.number == number);
        of_request.unwrap().body
    };
    let own = comment(2);
    for part in [
        "<details><summary>Releases: 1</summary>",
        "o/web`: `1.0.0` → `1.1.0` · [Faster](https://forge.example/o/app/releases/tag/1.1.0)\n",
        "- quicker\n",
        "o/gone:1.1.0 does not exist in its registry",
    ] {
        assert!(own.contains(part), "{part}\n{own}");
    }
    assert!(!own.contains("o/web:1.1.0 does not exist"), "{own}");
    let of_fork = comment(1);
    assert!(
        of_fork.contains("o/forked:1.1.0") && !of_fork.contains("Releases"),
        "{of_fork}"
    );
    // Of the others none is asked about.
    let requests = registry.requests();
    let other = requests
        .iter()
        .find(|request| request.target.starts_with("/v2/o/side/") || request.target.starts_with("/v2/o/forked/"));
    assert!(
        other.is_none(),
        "{}",
        other.map_or("", |request| request.target.as_str())
    );
    assert!(requests.iter().any(|request| request.target.starts_with("/v2/o/web/")));

    // What an automation pushed has a page for itself.
    let pushed = commit("main", &["web"], "1.1.0");
    world.add(AUTOMATION, "all", with(automation("app"), &json!({"suspend": true})));
    let status = json!({"lastPushCommit": pushed, "lastPushTime": "2026-01-01T00:00:00Z"});
    world.patch_status(AUTOMATION, "all", &status);
    let page = format!(
        "http://127.0.0.1:{port}/reviews/{}/app/push-{}",
        world.namespace,
        &pushed[..12]
    );
    let text = || {
        let answer = ureq::get(&page).call().ok()?;
        answer.into_body().read_to_string().ok()
    };
    let rounds = AtomicUsize::new(0);
    let look = || {
        let round = rounds.fetch_add(1, Ordering::Relaxed);
        world.request(GIT_REPOSITORY, "app", &round.to_string());
        text().is_some_and(|text| {
            text.contains("https://forge.example/o/app/releases/tag/1.1.0") && text.contains("quicker")
        })
    };
    wait_for(look, || format!("{:?}\n{}", text(), controller.log()));
}
