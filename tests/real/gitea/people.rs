//! What people do to a request and its branch, and what their rules ask for.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Fleet, flags, forge};
use bumpwright_testkit::gitea::Forge;
use bumpwright_testkit::stub_http::StubHttp;
use serde_json::{Value, json};

#[test]
fn what_people_write_stays() {
    let Some(fleet) = Fleet::new("writers") else { return };
    let (number, _) = fleet.kept(&[]);
    let request = fleet.request(number);
    let body = format!(
        "Ada looks at it.\r\n\r\n{}\r\nLGTM\r\n",
        request["body"].as_str().unwrap()
    );
    fleet.edit(number, &json!({"title": "WIP: images", "body": body}));
    assert_eq!(fleet.kept(&[]), (number, "unchanged".to_owned()));
    fleet.image("3.0.0");
    assert_eq!(fleet.kept(&[]), (number, "updated".to_owned()));
    let request = fleet.request(number);
    let body = request["body"].as_str().unwrap();
    assert_eq!(request["title"], "WIP: images");
    assert!(
        body.starts_with("Ada looks at it.") && body.trim_end().ends_with("LGTM"),
        "{body}"
    );
    assert!(body.contains("3.0.0") && !body.contains("2.0.0"), "{body}");
}

/// Between our look at a description and our change of it, a person changes it too.
#[test]
fn an_edit_in_the_same_moment_stays() {
    let Some(fleet) = Fleet::new("moment") else { return };
    let (number, _) = fleet.kept(&[]);
    let (gitea, person) = (fleet.hosted.gitea, fleet.owner.clone());
    let path = format!("repos/{}/pulls/{number}", fleet.hosted.path);
    let is_first = AtomicBool::new(true);
    let proxy = StubHttp::in_front_of(gitea.address(), move |request| {
        if request.method == "PATCH" && is_first.swap(false, Ordering::SeqCst) {
            let before = gitea.api(&person, "GET", &path, &Value::Null).body;
            let body = format!("Ada was here.\n\n{}", before["body"].as_str().unwrap());
            let edited = gitea.api(&person, "PATCH", &path, &json!({"body": body}));
            assert_eq!(edited.status, 201, "{edited:?}");
        }
        None
    });
    fleet.image("3.0.0");
    let api = proxy.url("api/v1");
    assert_eq!(
        fleet.kept(&["--pull-request-api", &api]),
        (number, "updated".to_owned())
    );
    let body = fleet.request(number)["body"].as_str().unwrap().to_owned();
    // Forgejo takes the version of a description from browsers only.
    let stays = forge() == Forge::Gitea;
    assert!(
        body.starts_with("Ada was here.") == stays && body.contains("3.0.0"),
        "{body}"
    );
}

#[test]
fn commits_of_people_are_not_overwritten_unless_that_is_asked_for() {
    let Some(fleet) = Fleet::new("committers") else { return };
    let ada = fleet.collaborator("ada");
    let (number, _) = fleet.kept(&[]);
    fleet.hosted.commit(&ada, "auto", &[("notes.md", "By Ada.\n")]);
    let head = fleet.rev("auto");
    for image in ["2.0.0", "3.0.0"] {
        fleet.image(image);
        let (code, run) = fleet.update(&[]);
        assert_eq!((code, &run["pullRequest"]["state"]), (0, &json!("edited")), "{run:#}");
        assert_eq!(run["pullRequest"]["number"], number);
        assert_eq!((&run["changes"], &run["pushes"]), (&json!([]), &json!([])), "{run:#}");
        assert_eq!(
            (&run["skips"][0]["reason"], &run["skips"][0]["line"]),
            (&json!("BranchEdited"), &json!(3))
        );
        assert_eq!(fleet.rev("auto"), head);
    }
    let url = fleet.hosted.url();
    let told = fleet.bench.run(&[&flags(&url)[..], &["--strict"]].concat());
    assert_eq!(told.code, 3, "{}", told.out);
    let note = format!("note: pull request #{number} has commits of others on auto");
    assert!(
        told.out.contains(&note) && told.out.contains("--pull-request-overwrite"),
        "{}",
        told.out
    );

    assert_eq!(
        fleet.kept(&["--pull-request-overwrite"]),
        (number, "updated".to_owned())
    );
    assert!(fleet.file("auto").contains("3.0.0"));
    assert_eq!(fleet.hosted.repo.log("main..auto").len(), 1);

    // An amended commit, and one more after a merge.
    fleet.hosted.commit(&ada, "auto", &[("a.yaml", "image: mine\n")]);
    fleet.hosted.merge(&fleet.owner, number, "squash", false);
    fleet.hosted.commit(&fleet.owner, "main", &[("a.yaml", super::MARKED)]);
    let (next, state) = fleet.kept(&[]);
    assert!(next > number && state == "opened", "#{next} {state}");
}

/// A branch that only accepts merges with an approval, and a request that merges itself once it has one.
#[test]
fn reviews_that_a_branch_requires_are_awaited_by_automerge() {
    let Some(fleet) = Fleet::new("protected") else { return };
    let reviewer = fleet.collaborator("reviewer");
    let rule = json!({
        "rule_name": "main", "required_approvals": 1, "enable_push": false, "dismiss_stale_approvals": true,
    });
    fleet.hosted.api(&fleet.owner, "POST", "/branch_protections", &rule);
    // Straight to the branch: refused in the server's words, without empty lines of its hook.
    let url = fleet.hosted.url();
    let direct = ["update", "-f", "p.yaml", &url, "--author", super::BOT, "--offline"];
    let told = fleet
        .bench
        .run(&[&direct[..], &["--username", "bot", "--password-file", "password"]].concat());
    assert!(
        told.code == 2 && told.err.contains("protected branch main"),
        "{}",
        told.err
    );
    assert!(!told.err.lines().any(|line| line.trim() == "error:"), "{}", told.err);

    let (number, state) = fleet.kept(&[]);
    assert_eq!(state, "opened");
    let merge = format!("/pulls/{number}/merge");
    let automatic = json!({"Do": "squash", "merge_when_checks_succeed": true});
    let approve = |expected: &str| {
        let head = fleet.rev("auto");
        let review = json!({"event": "APPROVED", "body": "", "commit_id": head});
        let made = fleet
            .hosted
            .api(&reviewer, "POST", &format!("/pulls/{number}/reviews"), &review);
        assert_eq!(made["state"], expected);
    };
    approve("APPROVED");
    // The approval was for another commit.
    fleet.image("3.0.0");
    assert_eq!(fleet.kept(&[]), (number, "updated".to_owned()));
    let reviews = format!("/pulls/{number}/reviews");
    bumpwright_testkit::waiting::until("the approval is dismissed", || {
        fleet.hosted.api(&fleet.owner, "GET", &reviews, &Value::Null)[0]["dismissed"] == true
    });
    let answer = fleet
        .hosted
        .try_api(&fleet.owner, "POST", &merge, &json!({"Do": "squash"}));
    assert_eq!(answer.status, 405, "{answer:?}");
    bumpwright_testkit::waiting::until("automerge is scheduled", || {
        let answer = fleet.hosted.try_api(&fleet.owner, "POST", &merge, &automatic);
        answer.status == 201 || answer.status == 200 || answer.status == 409
    });
    approve("APPROVED");
    bumpwright_testkit::waiting::until("it merges itself", || fleet.request(number)["merged"] == true);
    assert!(fleet.file("main").contains("3.0.0"));
    let (code, run) = fleet.update(&[]);
    assert_eq!((code, &run["changes"]), (0, &json!([])), "{run:#}");
}
