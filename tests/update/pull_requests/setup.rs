//! What a request is given beside its text: labels, reviewers, assignees, a merge by the forge; and what it says when
//! nobody has written a message.

use bumpwright_testkit::reply::Reply;
use serde_json::json;

use super::{BOTH, ForgeKind, refused, world};

const ALL: [&str; 8] = [
    "--label",
    "ops,images",
    "--reviewer=ada",
    "--reviewer=team:platform",
    "--assignee",
    "bob",
    "--draft",
    "--automerge=squash",
];

/// It is given when the request is opened, and stays as people leave it until something else is wanted.
#[test]
fn a_new_request_is_labelled_assigned_and_reviewed() {
    for kind in BOTH {
        let world = world(kind);
        assert_eq!(world.kept(&ALL)["state"], "opened");
        let pull = world.forge.pulls().pop().unwrap();
        assert_eq!(pull.labels, ["ops", "images"]);
        assert_eq!(pull.reviewers, ["ada", "team:platform"]);
        assert_eq!(pull.assignees, ["bob"]);
        assert_eq!(pull.automerge.as_deref(), Some("squash"));
        assert!(pull.draft);
        let title = match kind {
            ForgeKind::GitHub => "Bump app to 2.0.0",
            ForgeKind::Gitea => "WIP: Bump app to 2.0.0",
        };
        assert_eq!(pull.title, title);

        world.forge.by_hand(|pull| {
            pull.labels.clear();
            pull.assignees = vec!["ada".to_owned()];
        });
        world.forge.asked();
        assert_eq!(world.kept(&ALL)["state"], "unchanged");
        assert_eq!(world.forge.asked(), [world.listing("open", 1)]);
        assert!(world.forge.pulls()[0].labels.is_empty());

        // Another image is no reason to give it all again; other labels are.
        world.image("3.0.0");
        assert_eq!(world.kept(&ALL)["state"], "updated");
        assert!(world.forge.pulls()[0].labels.is_empty());
        assert_eq!(world.forge.pulls()[0].title, title.replace("2.0.0", "3.0.0"));
        assert_eq!(world.kept(&["--label", "ops", "--assignee=bob"])["state"], "updated");
        let pull = world.forge.pulls().pop().unwrap();
        assert_eq!(
            (&pull.labels[..], &pull.assignees[..]),
            (&["ops".to_owned()][..], &["ada".to_owned(), "bob".to_owned()][..])
        );
        assert_eq!(world.kept(&[])["state"], "updated");
        assert_eq!(world.kept(&[])["state"], "unchanged");
    }
}

/// What the forge does not do is an error, after the request is opened; the next run tries it again.
#[test]
fn what_a_forge_does_not_give_is_told_and_tried_again() {
    for kind in BOTH {
        let world = world(kind);
        let says = |flags: &[&str], wanted: &str| {
            let (code, run) = world.update(flags);
            let error = run["error"].as_str().unwrap_or_default();
            assert!(code == 2 && error.contains(wanted), "{kind:?}: {run:#}");
            assert_eq!(world.forge.pulls().len(), 1);
        };
        let unassigned = match kind {
            ForgeKind::GitHub => "\"eve\" cannot be assigned here",
            ForgeKind::Gitea => "Assignee does not exist",
        };
        says(&["--assignee", "eve"], unassigned);
        says(&["--reviewer", "eve"], "cannot ask for reviews of pull request #1: ");
        if kind == ForgeKind::Gitea {
            says(&["--label", "ops,new"], "there is no label \"new\": make it first");
        }
        world
            .forge
            .fault(|request, _| request.path.ends_with("/labels").then(|| refused(500, "later")));
        says(&["--label", "ops"], "cannot label pull request #1: ");
        world.forge.healthy();
        assert_eq!(world.kept(&["--label", "ops"])["state"], "updated");
        assert_eq!(world.forge.pulls()[0].labels, ["ops"]);
    }
}

/// GitHub refuses to wait for nothing.
#[test]
fn a_merge_that_nothing_holds_back_is_refused_with_the_way_out() {
    let world = world(ForgeKind::GitHub);
    world.repo.git(&["branch", "unprotected", "main"]);
    let (code, run) = world.update(&["--automerge", "--pull-request-base", "unprotected"]);
    let error = run["error"].as_str().unwrap();
    assert!(
        code == 2 && error.contains("is in clean status; the base has no rules"),
        "{error}"
    );
    world.forge.fault(|request, _| {
        let secret = format!("no, {}", request.header("authorization").unwrap_or_default());
        let answer = json!({"errors": [{"message": secret}]});
        (request.path == "/api/graphql").then(|| Reply::json(&answer))
    });
    let (_, run) = world.update(&["--automerge", "--pull-request-base", "unprotected"]);
    assert!(!run.to_string().contains(super::TOKEN), "{run}");
}

/// A message that nobody has written says less than what is bumped: title and description do.
#[test]
fn a_request_without_a_message_tells_what_is_bumped() {
    let world = world(ForgeKind::GitHub);
    assert_eq!(world.kept(&[])["state"], "opened");
    let pull = world.forge.pulls().pop().unwrap();
    assert_eq!(pull.title, "Bump app to 2.0.0");
    assert!(
        pull.body
            .contains("-->\n\n- `ghcr.io/o/app`: `1.0.0` → `2.0.0`\n\n1 field in 1 file\n"),
        "{}",
        pull.body
    );
    assert!(!pull.body.contains("```"), "{}", pull.body);
    assert_eq!(
        world.repo.log("auto")[0].message,
        "Bump app to 2.0.0\n\n- ghcr.io/o/app: 1.0.0 → 2.0.0"
    );
}

/// Each flag needs a request.
#[test]
fn flags_without_a_request_are_refused() {
    let world = world(ForgeKind::GitHub);
    let url = world.forge.server.url("o/app.git");
    for flag in ["--label=a", "--reviewer=a", "--assignee=a", "--draft", "--automerge"] {
        let ran = world.bench.run(&[
            "update",
            "-f",
            "p.yaml",
            &url,
            "--offline",
            "--author=B <b@e.com>",
            flag,
        ]);
        let name = flag.split('=').next().unwrap();
        assert!(
            ran.code == 2 && ran.err.contains(&format!("{name} needs --pull-request")),
            "{}",
            ran.err
        );
    }
}
