//! `bumpwright fleet review --release-notes`: what the releases of new images are, by their labels in a real registry,
//! and a stub of Gitea's API.

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{git, run};
use bumpwright_testkit::stub_http::StubHttp;
use serde_json::{Value, json};

use crate::output_schema::verdicts;

struct World {
    bench: Bench,
    registry: Registry,
    forge: StubHttp,
}

/// Two workloads have an image of one source, and one is of a source at an address inside.
fn world(release: impl Fn() -> Reply + Send + Sync + 'static) -> Option<World> {
    let registry = Registry::start()?;
    let forge = StubHttp::start(move |request| {
        let is_plain = request.method == "GET" && request.header("authorization").is_none();
        match request.path.as_str() {
            _ if !is_plain => Reply::status(400),
            "/api/v1/repos/acme/web/releases/tags/2.0.0" => release(),
            _ => Reply::status(404),
        }
    });
    let world = World {
        bench: Bench::new(),
        registry,
        forge,
    };
    let own = format!("http://{}/acme/web", world.forge.host());
    let inside = format!("http://{}/acme/inner", world.registry.host());
    for (name, source) in [("acme/web", &own), ("acme/inner", &inside)] {
        let images = world.registry.images();
        images.built_from(name, "1.0.0", (source, "1111111"));
        images.built_from(name, "2.0.0", (source, "2222222"));
    }
    world.write("1.0.0");
    run(git(&world.bench.dir).args(["init", "--quiet", "-b", "main"]));
    run(git(&world.bench.dir).args(["add", "-A"]));
    let user = ["-c", "user.name=A", "-c", "user.email=a@b.c"];
    run(git(&world.bench.dir)
        .args(user)
        .args(["commit", "--quiet", "-m", "state"]));
    world.write("2.0.0");
    Some(world)
}

impl World {
    fn write(&self, tag: &str) {
        let host = self.registry.host();
        let deployment = |(name, image): (&str, &str)| {
            format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: web}}\nspec:\n  selector: {{matchLabels: {{app: web}}}}\n  \
                 template:\n    metadata: {{labels: {{app: web}}}}\n    spec: {{containers: [{{name: web, image: '{host}/{image}:{tag}'}}]}}\n"
            )
        };
        let all = [("one", "acme/web"), ("two", "acme/web"), ("three", "acme/inner")].map(deployment);
        self.bench.write("clusters/a/apps.yaml", all.join("---\n"));
    }

    fn review(&self, more: &[&str]) -> (i32, String, String) {
        let api = format!("gitea=http://{}/api/v1", self.forge.host());
        let fixed = [
            "fleet",
            "review",
            "--from",
            "main",
            "clusters/a",
            "--release-notes",
            "--release-notes-api",
            &api,
        ];
        let ran = self.bench.run(&[&fixed[..], more].concat());
        (ran.code, ran.out, ran.err)
    }

    fn asked(&self) -> usize {
        self.forge.requests().len()
    }
}

fn release() -> Reply {
    Reply::json(&json!({
        "html_url": "https://git.example.com/acme/web/releases/tag/2.0.0",
        "name": "Faster @everyone",
        "body": "## New\r\n\r\n- quicker, see #1 <img src=x>\r\n```\r\n",
    }))
}

#[test]
fn releases_of_new_images_are_in_every_output_once() {
    let Some(world) = world(release) else { return };
    let (code, document, said) = world.review(&["--output", "json"]);
    assert_eq!(code, 0, "{document}\n{said}");
    let document: Value = serde_json::from_str(&document).unwrap();
    let image = format!("{}/acme/web", world.registry.host());
    let expected = json!([{
        "image": image, "old": "1.0.0", "new": "2.0.0",
        "release": "https://git.example.com/acme/web/releases/tag/2.0.0", "title": "Faster @everyone",
        "text": ["## New", "", "- quicker, see #1 <img src=x>", "```"],
    }]);
    assert_eq!(document["releases"], expected);
    assert_eq!(document["releasesLeftOut"], 0);
    // The address inside is not asked, and the release of an image that two workloads have is asked for once.
    assert_eq!(world.asked(), 1);
    let inside = world.registry.requests();
    assert!(
        inside.iter().all(|request| request.target.starts_with("/v2/")),
        "the label of inner"
    );
    if let Some(verdicts) = verdicts(include_str!("../../docs/reference/review.schema.json"), &[document]) {
        assert_eq!(verdicts, [""], "review.schema.json");
    }
    let (_, text, _) = world.review(&[]);
    let line =
        format!("image {image}: 1.0.0 → 2.0.0: Faster @everyone https://git.example.com/acme/web/releases/tag/2.0.0\n");
    assert!(text.contains(&line), "{text}");
    let (_, comment, _) = world.review(&["--output", "markdown"]);
    for part in [
        "<details><summary>Releases: 1</summary>\n\n- `",
        "[Faster @&#8203;everyone](https://git.example.com/acme/web/releases/tag/2.0.0)\n",
        "  ````text\n  ## New\n  \n  - quicker, see #1 <img src=x>\n  ```\n  ````\n",
    ] {
        assert!(comment.contains(part), "{part}\n{comment}");
    }
    let (_, page, _) = world.review(&["--output", "html"]);
    assert!(
        page.contains("Releases") && page.contains("- quicker, see #1 &lt;img src"),
        "{page}"
    );
    let (_, gerrit, _) = world.review(&["--output", "gerrit"]);
    assert!(
        gerrit.contains("1.0.0 → 2.0.0: https://git.example.com/acme/web/releases/tag/2.0.0"),
        "{gerrit}"
    );
}

#[test]
fn without_images_nobody_is_asked_for_releases() {
    let Some(world) = world(release) else { return };
    let before = world.registry.requests().len();
    let (code, text, _) = world.review(&["--images=false"]);
    assert!(code == 0 && !text.contains("Faster"), "{text}");
    let ran = world
        .bench
        .run(&["fleet", "review", "--from", "main", "--images=false", "clusters/a"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!((world.asked(), world.registry.requests().len()), (0, before));
}

#[test]
fn a_forge_that_refuses_is_a_note() {
    let Some(world) = world(|| Reply::status(403)) else {
        return;
    };
    let (code, text, said) = world.review(&[]);
    let is_without = text.lines().all(|line| !line.starts_with("image "));
    assert!(code == 0 && is_without, "{text}");
    let note = format!(
        "note: releases of {}/acme/web: cannot look at the release 2.0.0: ",
        world.registry.host()
    );
    assert!(said.contains(&note), "{said}");
}
