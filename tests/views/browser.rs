//! The pages in a real browser, with a real API server (`browser/scenes`). What a scene saw is
//! in `target/test-output/browser`.

mod facts;
mod fleet;
mod people;
mod proxied;
mod seed;

use std::process::Command;

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::browser::Browser;
use bumpwright_testkit::controller::{Controller, Starter};
use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::running::Running;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{
    GIT_REPOSITORY, IMAGE_POLICY, IMAGE_REPOSITORY, KUSTOMIZATION, QUICK, World, git_repository,
};
use serde_json::{Value as Json, json};

use crate::reviewed::{self, Reviewed};
use crate::server::seeded::exchange;
use fleet::Fleet;
use people::{bind_role, person};
use seed::Seed;

/// The parts of such a test; none when one is missing.
fn parts() -> Option<(Browser, &'static Cluster)> {
    let found = Browser::found()?;
    let cluster = Cluster::shared()?;
    cluster.define();
    Some((found, cluster))
}

/// A scene that asks for nothing.
fn nothing(what: &str, _: &Json) -> Json {
    panic!("nobody does {what}")
}

/// Waits until the pages of a controller are served.
fn served(url: &str) {
    let agent = ureq::Agent::config_builder()
        .proxy(None)
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .new_agent();
    until("the pages are served", || agent.get(url).call().is_ok());
}

/// `bumpwright ui` for a namespace.
fn looking(cluster: &Cluster, namespace: &str) -> (Running, String) {
    let kubeconfig = cluster.kubeconfig();
    let running = Running::start(|port, _| {
        let mut command = Command::new(bumpwright_testkit::program());
        command
            .args(["ui", "-n", namespace, "--ui-addr"])
            .arg(format!("127.0.0.1:{port}"))
            .arg("--kubeconfig")
            .arg(&kubeconfig);
        command
    });
    let url = format!("http://{}", running.address());
    (running, url)
}

/// With real controllers: one Kustomization is broken, others wait for it, drift or are suspended; an image is held.
#[test]
fn pages_work_by_clicks_live_and_without_script() {
    let Some((browser, cluster)) = parts() else { return };
    let fleet = Fleet::start(cluster, "fleet");
    let url = fleet.url();
    let of = |kind: &str, name: &str| format!("/{kind}/{}/{name}", fleet.namespace());
    let pages = [
        "/",
        "/attention",
        "/images",
        "/automations",
        "/kustomizations",
        "/sources",
        "/timeline",
        &of("images", "app"),
        &of("automations", "app"),
        &of("sources/GitRepository", "app"),
    ];
    let search = json!(["infra", "infra"]);
    browser.play("walk", json!({"url": url, "pages": pages, "search": search}), nothing);
    let texts = json!({
        "/": ["broken", "BuildFailed"],
        "/attention": ["broken", "BuildFailed", "suspended"],
        "/images": ["1.0.0", "release week"],
        of("images", "app"): ["1.0.0", "0.9.0"],
        "/automations": ["app"],
        "/kustomizations": ["infra", "broken", "blocked", "paused", "drifting"],
        of("kustomizations", "infra"): ["ConfigMap", "settings", "1 Current"],
        of("kustomizations", "drifting"): ["DriftDetected", "Last drift", "ConfigMap"],
        "/sources": ["app"],
        "/timeline": ["infra"],
        format!("/objects/core/ConfigMap/{}/settings", fleet.namespace()): ["settings", "kind: ConfigMap"],
    });
    browser.play("plain", json!({"url": url, "texts": texts, "search": search}), nothing);
    browser.play("tabs", json!({ "url": url }), nothing);
    let page = json!({"url": url, "path": "/kustomizations", "before": fleet.short(), "link": "infra"});
    browser.play("live", page, |what, _| {
        assert_eq!(what, "commit");
        json!(fleet.commit())
    });
}

/// In two namespaces, of which people have rights in one.
#[test]
fn people_sign_in_and_act_with_their_own_rights() {
    let Some((browser, cluster)) = parts() else { return };
    let (own, other) = ("tenant-a", "tenant-b");
    let world = World::new(cluster, own).labelled("tenants", "both");
    let repo = world.repository("app.git");
    repo.commit(
        "main",
        "first",
        &[Change::File("map.yaml", fleet::map("app", "first").as_bytes())],
    );
    world.add(GIT_REPOSITORY, "app", git_repository(&world.git.url("app.git")));
    let spec = json!({
        "interval": "1h", "path": "./", "prune": true, "targetNamespace": own, "sourceRef": {"kind": "GitRepository", "name": "app"},
    });
    world.add(KUSTOMIZATION, "app", spec);
    World::new(cluster, other);
    Seed::new(cluster, other).labelled("tenants", "both").fleet();
    let starter = Controller::ours(&cluster.kubeconfig(), own, &world.folder_of("controller"));
    let starter = starter
        .flags(&QUICK[1..])
        .flags(&["--watch-label-selector=tenants=both"]);
    let (_controller, url) = controller(starter, &["--ui-auth=token", "--ui-actions"]);
    world.ready(KUSTOMIZATION, "app", "True", |_, _| true);
    let (reader, doer) = (person(cluster, own, "reader"), person(cluster, own, "doer"));
    bind_role(cluster, own, "reader", &["get", "list", "watch"]);
    bind_role(cluster, own, "doer", &["get", "list", "watch", "patch"]);
    let forbidden = [
        "/kustomizations/tenant-b/shop",
        "/images/tenant-b/web",
        "/automations/tenant-b/shop",
        "/sources/GitRepository/tenant-b/fleet",
        "/objects/core/ConfigMap/tenant-b/kube-root-ca.crt",
        "/objects/core/Secret/tenant-a/any",
        "/objects/rbac.authorization.k8s.io/ClusterRole/-/cluster-admin",
    ];
    let seen = json!({
        "url": url, "token": reader, "person": "reader", "own": own, "other": other, "secret": seed::SECRET, "forbidden": forbidden,
    });
    browser.play("sign_in", seen, nothing);
    let path = format!("/kustomizations/{own}/app");
    let is_suspended = || world.get(KUSTOMIZATION, "app")["spec"]["suspend"] == true;
    browser.play(
        "act",
        json!({"url": url, "path": path, "allowed": doer, "forbidden": reader, "namespace": own, "name": "app"}),
        |what, _| {
            match what {
                "is requested" => until("it is requested", || {
                    let object = world.get(KUSTOMIZATION, "app");
                    object["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"].is_string()
                }),
                "is suspended" => until("it is suspended", is_suspended),
                "is resumed" => until("it is resumed", || !is_suspended()),
                other => panic!("nobody does {other}"),
            }
            json!(true)
        },
    );
}

/// With a process that reviews the requests of a forge.
#[test]
fn reviews_are_read_at_all_widths_by_keys_and_without_script() {
    let Some((browser, cluster)) = parts() else { return };
    let reviewed = Reviewed::start(cluster, "browsed-reviews", &[]);
    let [before, _] = reviewed.fall_behind();
    let behind = reviewed.path_of("not-applied", &before);
    let shown = || exchange(reviewed.port(), "GET", &behind, &[], "").text();
    reviewed.looks_until(|| shown().contains("8Gi"), shown);
    let mut page = picture("ui-review", &reviewed.path(1), "light");
    // Below the title, which is a hostile one.
    page["clip"] = json!({"x": 0, "y": 96, "width": 1280, "height": 504});
    shows(
        &browser,
        &reviewed.url(),
        ("docs/guides/reviews.md", "../ui-review.webp"),
        &[page],
    );
    let scene = json!({
        "url": reviewed.url(), "path": reviewed.path(1), "other": reviewed.path(2), "title": reviewed::TITLE,
        "secret": reviewed::PASSWORD, "behind": behind,
    });
    browser.play("reviews", scene, |what, _| {
        assert_eq!(what, "push");
        reviewed.push("30Gi");
        json!(null)
    });
}

/// In messages, annotations, events, inventories and tags; names of 253 characters; 10,000 tags.
#[test]
fn hostile_text_is_shown_as_text() {
    let Some((browser, cluster)) = parts() else { return };
    let world = ImageWorld::bare(cluster, "hostile");
    for tag in 0..10_000 {
        world.publish("app", &format!("1.{tag}.0"));
    }
    world.publish("app", seed::MARKUP);
    world.publish("app", seed::TURNING);
    world.add_image("app", "1h");
    let seed = Seed::new(cluster, "hostile");
    let long = seed.hostile();
    let port = free_port();
    let flag = format!("--ui-addr=127.0.0.1:{port}");
    let _controller = world.controller(&[&flag]);
    world.ready(IMAGE_REPOSITORY, "app", "True", |_, _| true);
    world.ready(IMAGE_POLICY, "app", "True", |_, _| true);
    let url = format!("http://127.0.0.1:{port}");
    served(&url);
    let q = "%3Cimg%20src%3Dx%20onerror%3D%22hit%3D1%22%3E";
    let paths = json!([
        "/",
        "/attention",
        "/images",
        "/automations",
        "/kustomizations",
        "/sources",
        "/timeline",
        "/images/hostile/app",
        "/images/hostile/app?page=50",
        "/images/hostile/markup",
        "/kustomizations/hostile/markup",
        format!("/kustomizations/hostile/{long}"),
        "/automations/hostile/markup",
        "/sources/GitRepository/hostile/markup",
        format!("/search?q={q}"),
        format!("/kustomizations?q={q}"),
        format!("/kustomizations?only={q}"),
        format!("/objects/core/ConfigMap/hostile/{q}"),
        format!("/nowhere/{q}"),
    ]);
    browser.play(
        "hostile",
        json!({"url": url, "paths": paths, "text": seed::MARKUP, "shown": 8}),
        nothing,
    );
}

#[test]
fn five_hundred_of_each_stay_small_and_can_be_reached_by_keyboard() {
    let Some((browser, cluster)) = parts() else { return };
    let world = World::new(cluster, "many");
    Seed::new(cluster, "many").many(500);
    let (_running, url) = looking(cluster, "many");
    let paths = [
        "/",
        "/attention",
        "/images",
        "/automations",
        "/kustomizations",
        "/kustomizations?graph=all",
        "/kustomizations?page=2",
        "/automations?page=5",
        "/images?only=behind",
        "/sources",
        "/timeline",
        "/timeline?page=2",
        "/search?q=storefront",
    ];
    let live = json!({"path": "/kustomizations?q=storefront&page=2", "words": "changed on the second page",
        "next": "/kustomizations?q=storefront&page=3", "before": "/kustomizations?q=storefront"});
    let scene = json!({"url": url, "paths": paths, "most": 150_000, "live": live});
    browser.play("many", scene, |what, _| {
        assert_eq!(what, "change");
        let ready = json!([{"type": "Ready", "status": "False", "reason": "BuildFailed", "message": "changed on the second page",
            "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        world.patch_status(KUSTOMIZATION, "team-151-storefront", &json!({ "conditions": ready }));
        json!(null)
    });
}

/// `BLESS=1` makes them again.
#[test]
fn the_readme_shows_what_pages_look_like() {
    let Some((browser, cluster)) = parts() else { return };
    World::new(cluster, "shop");
    let seed = Seed::new(cluster, "shop");
    seed.fleet();
    let (_running, url) = looking(cluster, "shop");
    for (name, path, scheme) in [
        ("ui-overview", "/", "light"),
        ("ui-images", "/images", "dark"),
        ("ui-kustomizations", "/kustomizations", "light"),
    ] {
        let link = format!("docs/{name}.webp");
        shows(&browser, &url, ("README.md", &link), &[picture(name, path, scheme)]);
    }
}

/// What a picture is of.
fn picture(name: &str, path: &str, scheme: &str) -> serde_json::Value {
    json!({"name": name, "path": path, "width": 1280, "height": 720, "scheme": scheme})
}

/// The pictures in `docs` are what pages look like, and the document has the link.
fn shows(browser: &Browser, url: &str, (document, link): (&str, &str), pictures: &[serde_json::Value]) {
    if !is_usual_font() {
        return;
    }
    let root = bumpwright_testkit::root();
    let text = std::fs::read_to_string(root.join(document)).unwrap();
    assert!(text.contains(link), "{document} does not show {link}");
    let bless = std::env::var_os("BLESS").is_some();
    browser.play(
        "pictures",
        json!({"url": url, "docs": root.join("docs"), "pictures": pictures, "bless": bless, "tolerance": 0.02}),
        nothing,
    );
}

/// Pictures are compared with ones that have these letters.
fn is_usual_font() -> bool {
    let Ok(found) = Command::new("fc-match").arg("sans-serif").output() else {
        return bumpwright_testkit::has("fc-match", "fontconfig");
    };
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    let is_usual = found.starts_with("DejaVuSans.ttf");
    assert!(
        is_usual || std::env::var_os("CI").is_none(),
        "another font than DejaVu Sans: {found}"
    );
    if !is_usual {
        println!("skipped: the pictures are compared with DejaVu Sans as the usual font, which is {found}");
    }
    is_usual
}

/// All controllers, with pages.
fn controller(starter: Starter, flags: &[&str]) -> (Controller, String) {
    let (port, storage) = (free_port(), free_port());
    let address = format!("127.0.0.1:{storage}");
    let mut all = vec![
        "--controllers=source,kustomize,image-reflector,image-automation".to_owned(),
        format!("--ui-addr=127.0.0.1:{port}"),
        format!("--storage-addr={address}"),
        format!("--storage-adv-addr={address}"),
        "--requeue-dependency=1s".to_owned(),
    ];
    all.extend(flags.iter().map(|flag| (*flag).to_owned()));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let controller = starter.flags(&all).start();
    let url = format!("http://127.0.0.1:{port}");
    served(&url);
    (controller, url)
}
