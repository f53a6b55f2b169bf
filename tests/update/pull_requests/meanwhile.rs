//! What people, other runs and the server do to a request meanwhile.

use super::{BOTH, is_trial, world};
use bumpwright_testkit::forge::{ForgeKind, Pull};
use bumpwright_testkit::repo::Change;
use serde_json::{Value, json};

/// Gitea opens two requests for the same branches if it is asked in the same moment.
#[test]
fn the_newer_of_two_requests_is_closed() {
    let world = world(ForgeKind::Gitea);
    world.kept(&[]);
    let mut twin = Some(());
    world.forge.by_hand(|pull| (pull.open, pull.merged) = (false, true));
    world.forge.fault(move |request, pulls| {
        if request.method == "POST" && !is_trial(request) && twin.take().is_some() {
            // Hidden from the server's own check by its base, until ours is there.
            let rival = Pull {
                number: 2,
                open: true,
                merged: false,
                base: "hidden".to_owned(),
                ..pulls[0].clone()
            };
            pulls.push(rival);
        } else if request.method == "GET" && pulls.len() == 3 {
            pulls[1].base = "main".to_owned();
        }
        None
    });
    world.image("3.0.0");
    let request = world.kept(&[]);
    assert_eq!((&request["state"], &request["number"]), (&json!("updated"), &json!(2)));
    let open: Vec<(usize, bool)> = world
        .forge
        .pulls()
        .iter()
        .map(|pull| (pull.number, pull.open))
        .collect();
    assert_eq!(open, [(1, false), (2, true), (3, false)]);
    // Its end is nobody's refusal; that of the other one is.
    world.forge.fault(|_, pulls| {
        pulls[1].open = false;
        None
    });
    let request = world.kept(&[]);
    assert_eq!((&request["state"], &request["number"]), (&json!("declined"), &json!(2)));
}

/// Gitea closes requests of a branch name some time after it was deleted, also those opened in between.
#[test]
fn what_gitea_closed_by_itself_is_opened_again() {
    let world = world(ForgeKind::Gitea);
    world.kept(&[]);
    world.forge.by_hand(|pull| (pull.open, pull.lived) = (false, Some(1)));
    assert_eq!(world.kept(&[])["number"], 2);
    world
        .forge
        .by_hand(|pull| (pull.open, pull.branch_deleted) = (false, true));
    assert_eq!(world.kept(&[])["number"], 3);
    // Somebody who closes each of them means it.
    world.forge.by_hand(|pull| (pull.open, pull.lived) = (false, Some(2)));
    let request = world.kept(&[]);
    assert_eq!((&request["state"], &request["number"]), (&json!("declined"), &json!(1)));
    // At GitHub nothing but people closes requests.
    let github = super::world(ForgeKind::GitHub);
    github.kept(&[]);
    github.forge.by_hand(|pull| (pull.open, pull.lived) = (false, Some(1)));
    assert_eq!(github.state(), "declined");
}

#[test]
fn an_edit_in_the_same_moment_stays() {
    let world = world(ForgeKind::Gitea);
    world.kept(&[]);
    let mut person = Some(());
    world.forge.fault(move |request, pulls| {
        if request.method == "PATCH" && person.take().is_some() {
            pulls[0].body = format!("Ada was here.\n\n{}", pulls[0].body);
            pulls[0].edits += 1;
        }
        None
    });
    world.image("3.0.0");
    world.forge.asked();
    assert_eq!(world.state(), "updated");
    let asked = world.forge.asked();
    assert_eq!(
        asked[2..],
        ["PATCH pulls/1", "GET pulls/1", "PATCH pulls/1"],
        "{asked:?}"
    );
    let body = &world.forge.pulls()[0].body;
    assert!(body.starts_with("Ada was here.") && body.contains("3.0.0"), "{body}");
}

#[test]
fn commits_of_people_are_not_overwritten_unless_that_is_asked_for() {
    for kind in BOTH {
        let world = world(kind);
        world.kept(&[]);
        let head = world
            .repo
            .commit("auto", "by hand", &[Change::File("README", b"hello")]);
        world.image("3.0.0");
        let (code, run) = world.update(&["--strict"]);
        assert_eq!((code, &run["pullRequest"]["state"]), (3, &json!("edited")), "{run:#}");
        assert_eq!(
            (&run["changes"], &run["pushes"], &run["commit"]),
            (&json!([]), &json!([]), &Value::Null)
        );
        let skip = &run["skips"][0];
        assert_eq!(
            (&skip["reason"], &skip["path"], &skip["line"]),
            (&json!("BranchEdited"), &json!("a.yaml"), &json!(3))
        );
        let words = "pull request #1 has commits of others on auto";
        assert!(skip["message"].as_str().unwrap().contains(words), "{skip}");
        assert_eq!(world.repo.rev("auto").unwrap(), head);
        assert_eq!(world.kept(&["--pull-request-overwrite"])["state"], "updated");
        assert_eq!(world.repo.log("main..auto").len(), 1);
        // A branch whose commits are in the base already has nothing to lose, nor has one without a request.
        let head = world
            .repo
            .commit("auto", "by hand", &[Change::File("README", b"hello")]);
        world.repo.git(&["update-ref", "refs/heads/main", &head]);
        world.image("4.0.0");
        assert_eq!(world.state(), "updated");
        world
            .repo
            .commit("auto", "by hand", &[Change::File("README", b"again")]);
        world.forge.by_hand(|pull| (pull.open, pull.merged) = (false, true));
        assert_eq!(world.state(), "opened");
    }
}

#[test]
fn two_processes_at_once_open_one() {
    for kind in BOTH {
        let world = world(kind);
        // Between looking and opening, another process opens one for an older image.
        let mut other = Some(());
        world.forge.fault(move |request, pulls| {
            let rival = request.method == "POST" && !is_trial(request) && other.take().is_some();
            if rival {
                pulls.push(Pull {
                    number: 1,
                    title: "Rival".to_owned(),
                    body: String::new(),
                    head: "auto".to_owned(),
                    base: "main".to_owned(),
                    head_repository: 1,
                    open: true,
                    ..Pull::default()
                });
            }
            None
        });
        let request = world.kept(&[]);
        assert_eq!((&request["state"], &request["number"]), (&json!("updated"), &json!(1)));
        let asked = [
            world.listing("open", 1),
            world.listing("closed", 1),
            "POST pulls".to_owned(),
            "POST pulls".to_owned(),
            world.listing("open", 1),
            "PATCH pulls/1".to_owned(),
        ];
        assert_eq!(world.forge.asked(), asked);
        assert_eq!(world.forge.pulls().len(), 1);
    }
}

#[test]
fn a_no_is_not_asked_about_again() {
    for kind in BOTH {
        let world = world(kind);
        world.kept(&[]);
        world.forge.by_hand(|pull| pull.open = false);
        world.forge.asked();
        for _ in 0..2 {
            let (code, run) = world.update(&[]);
            assert_eq!((code, &run["pullRequest"]["state"]), (0, &json!("declined")), "{run:#}");
        }
        let mut listings = vec![world.listing("open", 1), world.listing("closed", 1)];
        listings.extend(
            (kind == ForgeKind::Gitea).then(|| "GET issues/1/timeline?since=2026-01-02T00%3A00%3A00Z".to_owned()),
        );
        assert_eq!(world.forge.asked(), [listings.clone(), listings].concat());
        // On a newer base it would be another commit, but still the same question; so it is on a branch that is gone.
        world
            .repo
            .commit("main", "by hand", &[Change::File("README", b"hello")]);
        world.repo.git(&["update-ref", "-d", "refs/heads/auto"]);
        let told = world.bench.ok(&world.flags(&world.forge.server.url("o/app.git")));
        assert_eq!(world.repo.rev("auto"), None, "{}", told.out);
        assert!(told.out.contains("not pushed: 1 field in 1 file"), "{}", told.out);
        let note = "pull request #1 for the same changes was closed without merging";
        assert!(
            told.out.contains(note) && told.out.contains("#1 declined"),
            "{}",
            told.out
        );
        world.image("3.0.0");
        let request = world.kept(&[]);
        assert_eq!((&request["state"], &request["number"]), (&json!("opened"), &json!(2)));
        assert_eq!(world.forge.pulls().len(), 2);
    }
}

#[test]
fn at_github_the_commit_tells_as_well_which_request_was_closed() {
    let world = world(ForgeKind::GitHub);
    world.kept(&[]);
    let head = world.repo.rev("auto").unwrap();
    world.forge.by_hand(|pull| {
        pull.open = false;
        pull.body.clear();
        pull.sha = head;
    });
    assert_eq!(world.state(), "declined");
    world.forge.by_hand(|pull| pull.sha = "0".repeat(40));
    assert_eq!(world.state(), "opened");
}

#[test]
fn what_people_write_stays() {
    for kind in BOTH {
        let world = world(kind);
        world.kept(&[]);
        world.forge.by_hand(|pull| {
            pull.title = format!("Soon: {}", pull.title);
            pull.body = format!(
                "Ada looks at it.\r\n\r\n{}\r\nLGTM\r\n",
                pull.body.replace('\n', "\r\n")
            );
        });
        assert_eq!(world.state(), "unchanged");
        world.image("3.0.0");
        assert_eq!(world.state(), "updated");
        let sent = world.forge.sent();
        assert!(sent.get("title").is_none(), "the title is not ours any more: {sent}");
        let body = &world.forge.pulls()[0].body;
        assert!(
            body.starts_with("Ada looks at it.\r\n\r\n<!-- bumpwright:begin "),
            "{body}"
        );
        assert!(body.ends_with("<!-- bumpwright:end -->\n\r\nLGTM\r\n"), "{body}");
        assert!(body.contains("3.0.0") && !body.contains("2.0.0"), "{body}");
        assert_eq!(world.state(), "unchanged");
    }
}

#[test]
fn a_request_that_somebody_has_opened_by_hand_is_taken() {
    for kind in BOTH {
        let world = world(kind);
        world.forge.open("auto", "main", 1);
        assert_eq!(world.state(), "updated");
        let pulls = world.forge.pulls();
        assert_eq!((pulls.len(), pulls[0].title.as_str()), (1, "By hand"));
        assert!(
            pulls[0].body.starts_with("Words.\n\n<!-- bumpwright:begin "),
            "{}",
            pulls[0].body
        );
    }
}

#[test]
fn requests_of_others_are_not_ours() {
    for kind in BOTH {
        let world = world(kind);
        // A fork's branch of the same name, another base, and more than fits on two pages.
        world.forge.open("auto", "main", 2);
        world.forge.open("auto", "stable", 1);
        (0..65).for_each(|n| world.forge.open(&format!("topic-{n}"), "main", 1));
        assert_eq!(world.state(), "opened");
        let asked = world.forge.asked();
        if kind == ForgeKind::Gitea {
            let pages: Vec<String> = (1..=3).map(|page| world.listing("open", page)).collect();
            assert_eq!(asked[..3], pages);
        }
        assert_eq!(world.forge.pulls().last().unwrap().number, 68);
        (0..65).for_each(|n| world.forge.open(&format!("later-{n}"), "main", 1));
        assert_eq!(world.state(), "unchanged");
    }
}
