//! The life of a request: opened, amended, merged, declined.

use std::process::Stdio;

use super::{Fleet, flags, forge};
use bumpwright_testkit::cli::ran;
use bumpwright_testkit::gitea::Forge;
use bumpwright_testkit::waiting::until;
use serde_json::{Value, json};

#[test]
fn a_request_is_opened_amended_and_merged_by_each_style() {
    for style in ["merge", "rebase", "rebase-merge", "squash", "fast-forward-only"] {
        let Some(fleet) = Fleet::new(&format!("life-{style}")) else {
            return;
        };
        let (code, run) = fleet.update(&["--message", "Bump app\n\nIt is time.\n"]);
        assert_eq!(code, 0, "{style}: {run:#}");
        let number = run["pullRequest"]["number"].as_u64().unwrap();
        let request = fleet.request(number);
        assert_eq!(
            (&request["title"], &request["state"]),
            (&json!("Bump app"), &json!("open"))
        );
        assert_eq!(run["pullRequest"]["url"], request["html_url"]);
        assert!(
            request["body"]
                .as_str()
                .unwrap()
                .contains("| `ghcr.io/o/app:1.0.0` | `ghcr.io/o/app:2.0.0` |")
        );
        assert_eq!(fleet.kept(&[]), (number, "unchanged".to_owned()));
        fleet.image("3.0.0");
        assert_eq!(fleet.kept(&[]), (number, "updated".to_owned()));
        assert!(fleet.file("auto").contains("3.0.0"));
        assert_eq!(fleet.hosted.repo.log("main..auto").len(), 1, "{style}");

        fleet.hosted.merge(&fleet.owner, number, style, false);
        assert!(fleet.file("main").contains("3.0.0"), "{style}");
        let (code, run) = fleet.update(&[]);
        assert_eq!((code, &run["changes"]), (0, &json!([])), "{style}: {run:#}");
        fleet.image("4.0.0");
        let (next, state) = fleet.kept(&[]);
        assert!(next > number && state == "opened", "{style}: #{next} {state}");
        assert_eq!(fleet.hosted.repo.log("main..auto").len(), 1, "{style}");
        fleet.hosted.repo.fsck();
    }
}

/// Labels by name, people, a draft: given once, and what the server does not have is told.
#[test]
fn a_request_is_given_labels_and_people() {
    let Some(fleet) = Fleet::new("equipped") else { return };
    let ada = fleet.collaborator("equipped-ada").name;
    for name in ["ops", "images"] {
        let label = json!({"name": name, "color": "#00aabb"});
        fleet.hosted.api(&fleet.owner, "POST", "/labels", &label);
    }
    let all = ["--label=ops,images", "--reviewer", &ada, "--assignee", &ada, "--draft"];
    let (number, state) = fleet.kept(&all);
    assert_eq!(state, "opened");
    let names = |request: &Value, list: &str, key: &str| {
        let mut names: Vec<String> = request[list]
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| one[key].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    let request = fleet.request(number);
    assert_eq!(names(&request, "labels", "name"), ["images", "ops"]);
    assert_eq!(names(&request, "assignees", "login"), [ada.as_str()]);
    assert_eq!(names(&request, "requested_reviewers", "login"), [ada.as_str()]);
    assert_eq!(request["title"], "WIP: Bump app to 2.0.0");
    assert_eq!(fleet.kept(&all), (number, "unchanged".to_owned()));

    fleet.edit(number, &json!({"title": "Bump app to 2.0.0", "assignees": []}));
    fleet.image("3.0.0");
    assert_eq!(fleet.kept(&all), (number, "updated".to_owned()));
    let request = fleet.request(number);
    assert_eq!(request["title"], "Bump app to 3.0.0");
    assert!(names(&request, "assignees", "login").is_empty());

    let refused = fleet.refused(&["--label=nobody"]);
    assert!(
        refused.contains("there is no label \"nobody\": make it first"),
        "{refused}"
    );
    let refused = fleet.refused(&["--reviewer=nobody-of-that-name"]);
    assert!(refused.contains("cannot ask for reviews"), "{refused}");
}

/// Gitea closes the requests of a branch name some time after the branch was deleted, also one that
/// is opened in between.
#[test]
fn the_server_closes_requests_of_deleted_branches_and_nobody_has_declined_them() {
    let Some(fleet) = Fleet::new("deleted") else { return };
    let (first, _) = fleet.kept(&[]);
    fleet.hosted.merge(&fleet.owner, first, "merge", true);
    fleet.image("3.0.0");
    // In that moment: the server may or may not close it.
    let (second, state) = fleet.kept(&[]);
    assert_eq!(state, "opened");
    // Surely closed, as by the deletion of a branch that came before.
    if fleet.request(second)["state"] == "open" {
        fleet.hosted.api(&fleet.owner, "DELETE", "/branches/auto", &Value::Null);
        until("it is closed", || fleet.request(second)["state"] == "closed");
    }
    let (third, state) = fleet.kept(&[]);
    assert!(third > second && state == "opened", "#{third} {state}");

    // One that is older than any such delay; its timeline tells.
    fleet.hosted.age_requests();
    fleet.hosted.api(&fleet.owner, "DELETE", "/branches/auto", &Value::Null);
    until("it is closed", || fleet.request(third)["state"] == "closed");
    let (fourth, state) = fleet.kept(&[]);
    match forge() {
        Forge::Gitea => assert!(fourth > third && state == "opened", "#{fourth} {state}"),
        // Its timeline does not tell: that may have been a no.
        Forge::Forgejo => assert_eq!((fourth, state.as_str()), (third, "declined")),
    }
}

#[test]
fn a_request_that_somebody_closed_stays_closed_and_its_branch_away() {
    let Some(fleet) = Fleet::new("declined") else { return };
    let (number, _) = fleet.kept(&[]);
    fleet.hosted.age_requests();
    fleet.hosted.close(&fleet.owner, number);
    let head = fleet.rev("auto");
    fleet.hosted.commit(&fleet.owner, "main", &[("README", "hello")]);
    assert_eq!(fleet.kept(&[]), (number, "declined".to_owned()));
    assert_eq!(fleet.rev("auto"), head);
    // Some time later.
    fleet.hosted.api(&fleet.owner, "DELETE", "/branches/auto", &Value::Null);
    until("the branch is gone", || fleet.rev("auto").is_none());
    for _ in 0..2 {
        let (code, run) = fleet.update(&[]);
        assert_eq!((code, &run["pullRequest"]["state"]), (0, &json!("declined")), "{run:#}");
        assert_eq!((&run["pushes"], &run["commit"]), (&json!([]), &Value::Null), "{run:#}");
    }
    assert_eq!((fleet.rev("auto"), fleet.numbers("open")), (None, vec![]));
    let url = fleet.hosted.url();
    let told = fleet.bench.ok(&flags(&url));
    let link = fleet.request(number)["html_url"].as_str().unwrap().to_owned();
    assert!(
        told.out.contains("not pushed: 1 field in 1 file") && told.out.contains(&link),
        "{}",
        told.out
    );
    fleet.image("3.0.0");
    let (next, state) = fleet.kept(&[]);
    assert!(next > number && state == "opened", "#{next} {state}");
}

#[test]
fn runs_side_by_side_leave_one_request() {
    let Some(fleet) = Fleet::new("beside") else { return };
    for image in ["2.0.0", "3.0.0", "4.0.0"] {
        fleet.image(image);
        let url = fleet.hosted.url();
        let start = |n: usize| {
            let mut command = fleet.bench.command(&flags(&url));
            command.env("BUMPWRIGHT_CACHE", fleet.bench.home.path().join(format!("cache-{n}")));
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let runs: Vec<_> = (0..4).map(start).collect();
        for run in runs {
            let run = ran(run.wait_with_output().unwrap());
            assert_eq!(run.code, 0, "{}{}", run.out, run.err);
        }
        let open = fleet.numbers("open");
        assert_eq!(open.len(), 1, "{image}: {open:?}");
        fleet.hosted.age_requests();
        fleet.hosted.merge(&fleet.owner, open[0], "merge", false);
    }
}
