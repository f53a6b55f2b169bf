//! `update --release-notes`: what images were built from, by their labels in a real registry, and what the forge of
//! their source says, stubs of the APIs of Gitea and GitLab.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use serde_json::{Value, json};

struct World {
    bench: Bench,
    registry: Registry,
    forge: StubHttp,
    gitlab: StubHttp,
    /// The status of the forge's answers in place of 200.
    status: Arc<AtomicU16>,
}

const IMAGES: [&str; 4] = ["web", "side", "lab", "inner"];

/// GitLab's *Get a release by a tag name*, without a login; all else is refused.
fn gitlab(request: &Request) -> Reply {
    let is_plain = request.method == "GET"
        && request.header("accept") == Some("application/json")
        && request.header("authorization").is_none();
    match request.target.as_str() {
        _ if !is_plain => Reply::status(400),
        "/api/v4/projects/acme%2Fteam%2Flab/releases/v2.0.0" => Reply::json(&json!({
            "tag_name": "v2.0.0",
            "name": "Lab 2",
            "description": "- calmer, see !7\r\n",
            "_links": {"self": "https://gitlab.example.org/acme/team/lab/-/releases/v2.0.0"},
        })),
        _ => Reply::status(404),
    }
}

/// `web` comes from Gitea, `lab` from GitLab, `side` from a GitLab that may not be asked, `inner`
/// from an address inside.
fn world() -> Option<World> {
    let registry = Registry::start()?;
    let status = Arc::new(AtomicU16::new(200));
    let answered = Arc::clone(&status);
    let forge = StubHttp::start(
        move |request| match (answered.load(Ordering::Relaxed), request.path.as_str()) {
            (200, "/api/v1/repos/acme/web/releases/tags/v2.0.0") => Reply::json(&json!({
                "html_url": "https://git.example.com/acme/web/releases/tag/v2.0.0",
                "name": "Faster @everyone",
                "body": "\r\n## New\r\n\r\n- quicker, see #1 <img src=x>\r\n```\r\n",
            })),
            (200, _) => Reply::status(404),
            (status, _) => Reply::status(status),
        },
    );
    let world = World {
        bench: Bench::new(),
        registry,
        forge,
        gitlab: StubHttp::start(gitlab),
        status,
    };
    let own = format!("http://{}/acme/web", world.forge.host());
    let inside = format!("http://{}/acme/inner", world.registry.host());
    let lab = format!("http://{}/acme/team/lab/-/tree/main", world.gitlab.host());
    for (name, source) in [
        ("web", own.as_str()),
        ("side", "https://bitbucket.org/acme/side"),
        ("lab", &lab),
        ("inner", &inside),
    ] {
        let (images, repository) = (world.registry.images(), format!("acme/{name}"));
        images.built_from(&repository, "1.0.0", (source, "1111111"));
        images.built_from(&repository, "2.0.0", (source, "2222222"));
    }
    let policy = |name: &&str| {
        format!(
            "---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {{name: {name}, namespace: fs}}\n\
             spec: {{interval: 1h, image: '{}/acme/{name}'}}\n---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\n\
             metadata: {{name: {name}, namespace: fs}}\nspec: {{imageRepositoryRef: {{name: {name}}}, policy: {{semver: {{range: '*'}}}}}}\n",
            world.registry.host()
        )
    };
    world
        .bench
        .write("p.yaml", IMAGES.iter().map(policy).collect::<String>());
    Some(world)
}

impl World {
    fn marked(&self) {
        let host = self.registry.host();
        let field = |name: &str| format!("{name}: {host}/acme/{name}:1.0.0 # {{\"$imagepolicy\": \"fs:{name}\"}}\n");
        self.bench.write("apps/a.yaml", IMAGES.map(field).concat());
    }

    fn arguments(&self) -> Vec<String> {
        let api = format!("gitea=http://{}/api/v1", self.forge.host());
        let gitlab = format!("gitlab=http://{}/api/v4", self.gitlab.host());
        [
            "update",
            "apps",
            "-f",
            "p.yaml",
            "--release-notes",
            "--release-notes-api",
            &api,
            "--release-notes-api",
            &gitlab,
        ]
        .map(str::to_owned)
        .to_vec()
    }
}

#[test]
fn releases_of_new_images_are_said_with_links_and_first_lines() {
    let Some(world) = world() else { return };
    world.marked();
    let arguments = world.arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (code, document) = world.bench.json(&[&arguments[..], &["--dry-run"]].concat());
    assert_eq!(code, 0, "{document:#}");
    let host = world.registry.host();
    let expected = json!([
        {
            "image": format!("{host}/acme/web"), "old": "1.0.0", "new": "2.0.0",
            "release": "https://git.example.com/acme/web/releases/tag/v2.0.0", "title": "Faster @everyone",
            "text": ["## New", "", "- quicker, see #1 <img src=x>", "```"],
        },
        {
            "image": format!("{host}/acme/side"), "old": "1.0.0", "new": "2.0.0",
            "compare": "https://bitbucket.org/acme/side/branches/compare/2222222%0D1111111",
        },
        {
            "image": format!("{host}/acme/lab"), "old": "1.0.0", "new": "2.0.0",
            "release": "https://gitlab.example.org/acme/team/lab/-/releases/v2.0.0", "title": "Lab 2",
            "text": ["- calmer, see !7"],
        },
    ]);
    let run = &document["runs"][0];
    assert_eq!(run["releases"], expected, "{run:#}");
    assert_eq!(run["notes"], Value::Null, "{run:#}");
    // Labels name hosts as they like: an address inside is not asked.
    let asked = world.registry.requests();
    assert!(
        asked.iter().all(|request| request.target.starts_with("/v2/")),
        "the label of inner"
    );
    let summary = world
        .bench
        .ok(&[&arguments[..], &["--dry-run", "--output", "markdown"]].concat())
        .out;
    let head = format!(
        "### Releases\n\n- `{host}/acme/web`: `1.0.0` → `2.0.0` · [Faster @&#8203;everyone](https://git.example.com/"
    );
    assert!(summary.contains(&head), "{summary}");
    assert!(summary.contains("  ````text\n  ## New\n"), "{summary}");
    // Without the flag neither labels nor forges are asked.
    let before = world.forge.requests().len();
    let (_, document) = world.bench.json(&["update", "apps", "-f", "p.yaml", "--dry-run"]);
    assert_eq!(document["runs"][0]["releases"], Value::Null);
    assert_eq!(world.forge.requests().len(), before);
}

#[test]
fn a_forge_that_is_down_holds_nothing_up() {
    let Some(world) = world() else { return };
    world.marked();
    world.status.store(403, Ordering::Relaxed);
    let arguments = world.arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (code, document) = world.bench.json(&arguments);
    let run = &document["runs"][0];
    assert_eq!(code, 0, "{run:#}");
    assert!(world.bench.read("apps/a.yaml").contains("/acme/web:2.0.0"));
    let notes = run["notes"].as_array().unwrap();
    assert_eq!(notes.len(), 1, "{run:#}");
    let note = notes[0].as_str().unwrap();
    assert!(
        note.starts_with("releases of ") && note.contains("cannot look at the release 2.0.0: "),
        "{note}"
    );
}

/// The annotation is the flag without the job's own forges and token.
#[test]
fn an_annotation_asks_for_release_notes() {
    let Some(world) = world() else { return };
    world.marked();
    let policies = world.bench.read("p.yaml");
    let automation = |value: &str| {
        format!(
            "---\napiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageUpdateAutomation\n\
             metadata: {{name: up, namespace: fs, annotations: {{bumpwright.dev/release-notes: '{value}'}}}}\n\
             spec: {{interval: 1h, sourceRef: {{kind: GitRepository, name: fleet}}, update: {{path: ./}}, \
             git: {{commit: {{author: {{name: a, email: a@b.c}}}}}}}}\n"
        )
    };
    let releases = |value: &str| {
        world.bench.write("p.yaml", format!("{policies}{}", automation(value)));
        let (code, document) = world.bench.json(&["update", "apps", "-f", "p.yaml", "--dry-run"]);
        assert_eq!(code, 0, "{document:#}");
        document["runs"][0]["releases"].clone()
    };
    let found = releases("true");
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found:#}");
    assert_eq!(
        found[0]["compare"],
        "https://bitbucket.org/acme/side/branches/compare/2222222%0D1111111"
    );
    assert_eq!(releases("false"), Value::Null);
    assert!(world.forge.requests().is_empty() && world.gitlab.requests().is_empty());
}
