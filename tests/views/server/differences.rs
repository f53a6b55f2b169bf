//! What commits changed, on the pages of automations; and what choices have come to know of tags. Only the process
//! that reconciles has it.

use serde_json::json;

use bumpwright_testkit::image_world::ImageWorld;
use bumpwright_testkit::images::Media;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{AUTOMATION, IMAGE_POLICY, IMAGE_REPOSITORY, World, newest};

use super::seeded::{account, by_token, exchange, seeded};

/// A controller that serves pages for tokens at a port.
fn flags(port: u16) -> [String; 2] {
    [format!("--ui-addr=127.0.0.1:{port}"), "--ui-auth=token".to_owned()]
}

fn page(port: u16, target: &str, token: &str) -> String {
    let bearer = format!("Bearer {token}");
    exchange(port, "GET", target, &[("Authorization", &bearer)], "").text()
}

/// The lines of marked fields are shown, of Secrets the place, and of everything else nothing; to who may list the
/// automation and its source.
#[test]
fn a_commit_is_shown_by_its_marked_lines() {
    let Some(cluster) = seeded() else { return };
    let world = ImageWorld::bare(cluster, "ui-commits");
    let marked = world.marked("1.0.0");
    let deployment = format!("kind: Deployment\nmetadata: {{name: web}}\npassword: hunter2\n{marked}token: hunter3\n");
    let secret = format!("kind: Secret\nmetadata: {{name: web}}\nstringData:\n  password: hunter2\n  {marked}");
    let sealed = format!("kind: ConfigMap\n{marked}sops: {{mac: hunter4}}\n");
    let files = [
        ("deployment.yaml", &deployment),
        ("secret.yaml", &secret),
        ("sealed.yaml", &sealed),
    ];
    let files: Vec<Change<'_>> = files
        .iter()
        .map(|(path, text)| Change::File(path, text.as_bytes()))
        .collect();
    world.repo.commit("main", "more", &files);
    world.add_all("1h");
    let port = free_port();
    let flags = flags(port);
    let _controller = world.controller(&flags.each_ref().map(String::as_str));
    world.app_ready(IMAGE_REPOSITORY);
    world.app_ready(IMAGE_POLICY);
    world.settled();
    let viewer = account(cluster, "ui-commits", "commits", "ui-view");
    let target = "/automations/ui-commits/app";
    let shown = |token: &str| page(port, target, token);
    assert!(!shown(&viewer).contains("@@ "), "{}", shown(&viewer));
    world.release("1.1.0");
    world.in_git("1.1.0");
    wait_for(|| shown(&viewer).contains("@@ "), || shown(&viewer));
    let text = shown(&viewer);
    for line in [
        "--- a/deployment.yaml",
        "@@ -4 +4 @@",
        "app:1.0.0 #",
        "app:1.1.0 #",
        "+ secret.yaml:5: of a Secret, not shown",
        "+ sealed.yaml:2: of an encrypted file, not shown",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("hunter") && !text.contains("stringData"), "{text}");
    // The status has the second commit alone: the first one is known by the short id of an event.
    world.release("1.2.0");
    world.in_git("1.2.0");
    wait_for(|| shown(&viewer).contains("app:1.2.0 #"), || shown(&viewer));
    wait_for(|| shown(&viewer).contains("app:1.0.0 #"), || shown(&viewer));
    // Who may not list the source gets the page without what is in the repository.
    let rules = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "ui-automations"},
        "rules": [{"apiGroups": ["image.toolkit.fluxcd.io"], "resources": ["*"], "verbs": ["list"]}]});
    cluster.apply(&rules.to_string());
    let some = account(cluster, "ui-commits", "automations", "ui-automations");
    let text = shown(&some);
    assert!(text.contains("you may not list it") && !text.contains("@@ "), "{text}");
    let neighbour = account(cluster, "okapi", "neighbour", "ui-view");
    let answer = exchange(
        port,
        "GET",
        target,
        &[("Authorization", &format!("Bearer {neighbour}"))],
        "",
    );
    assert!(
        answer.status == 404 && !answer.text().contains("1.1.0"),
        "{}",
        answer.text()
    );
    // A commit that is named by somebody and not there.
    let other = json!({"lastPushCommit": "d".repeat(40), "lastPushTime": "2026-01-01T00:00:00Z"});
    world.patch_status(AUTOMATION, "app", &other);
    wait_for(
        || shown(&viewer).contains("does not have this commit"),
        || shown(&viewer),
    );
}

/// Where nobody has mirrors, the link to the forge stays.
#[test]
fn without_a_mirror_there_are_links() {
    let (Some(cluster), Some(pages)) = (seeded(), by_token()) else {
        return;
    };
    let text = pages.page("/automations/okapi/okapi-all", cluster.token());
    let link = format!("https://github.com/okapi/fleet/commit/{}", "c".repeat(40));
    assert!(text.contains(&link), "{text}");
    assert!(text.contains("this process has no mirror of the repository"), "{text}");
}

/// Ages that a minimum age has asked for, and signatures that were verified; no columns where nobody has asked.
#[test]
fn ages_and_signatures_are_those_that_choices_have_asked_for() {
    let Some(cluster) = seeded() else { return };
    let Some(registry) = Registry::start() else { return };
    let world = World::new(cluster, "ui-ages");
    let images = registry.images();
    let digest = images.image("team/app", Media::Docker, "linux/amd64", Some("2020-01-01T00:00:00Z"));
    images.tag("team/app", "1.0.0", &digest);
    let name = format!("{}/team/app", registry.host());
    world.add(
        IMAGE_REPOSITORY,
        "app",
        json!({"image": name, "interval": "1h", "insecure": true}),
    );
    world.add(IMAGE_POLICY, "plain", newest("app"));
    world.annotated(
        IMAGE_POLICY,
        "aged",
        &json!({"bumpwright.dev/minimum-age": "72h"}),
        newest("app"),
    );
    let signed = json!({"bumpwright.dev/verify-provider": "cosign",
        "bumpwright.dev/verify-identity": "issuer=https://issuer.example.com subject~.*"});
    world.annotated(IMAGE_POLICY, "signed", &signed, newest("app"));
    let port = free_port();
    let flags = flags(port);
    let _controller = world.controller(&flags.each_ref().map(String::as_str));
    let viewer = account(cluster, "ui-ages", "ages", "ui-view");
    for policy in ["plain", "aged"] {
        world.ready(IMAGE_POLICY, policy, "True", |_, _| true);
    }
    world.ready(IMAGE_POLICY, "signed", "False", |_, message| {
        message.contains("unsigned")
    });
    let shown = |policy: &str| page(port, &format!("/images/ui-ages/{policy}"), &viewer);
    wait_for(|| shown("aged").contains("2020-01-01"), || shown("aged"));
    assert!(
        shown("aged").contains(">Made<") && !shown("aged").contains(">Signature<"),
        "{}",
        shown("aged")
    );
    wait_for(|| shown("signed").contains("not accepted: "), || shown("signed"));
    assert!(
        shown("signed").contains(">Signature<") && !shown("signed").contains(">Made<"),
        "{}",
        shown("signed")
    );
    wait_for(|| shown("plain").contains("1.0.0"), || shown("plain"));
    assert!(
        !shown("plain").contains(">Made<") && !shown("plain").contains(">Signature<"),
        "{}",
        shown("plain")
    );
}
