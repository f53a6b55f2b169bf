//! Pushing to the real git: leases, refusals, options, broken connections.

use bumpwright_git::{GitError, Push};
use bumpwright_testkit::git_http::{Fault, GitHttp};
use bumpwright_testkit::mirror::{
    Speaks, branch, bump, folder, id, mirror, mirror_with, push, push_of, transport, update,
};
use bumpwright_testkit::repo::{Change, Repo};
use tempfile::TempDir;

/// A repository with some files, its server, and a place for mirrors.
struct World {
    root: TempDir,
    repo: Repo,
    http: GitHttp,
}

impl World {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(arguments: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let repo = Repo::init_with(root.path().join("r.git"), arguments);
        repo.commit(
            "main",
            "first",
            &[Change::File("a.yaml", b"a: 1\n"), Change::File("d/e/b.yaml", b"b: 1\n")],
        );
        repo.commit(
            "main",
            "second",
            &[
                Change::Executable("d/run", b"#!/bin/sh\n"),
                Change::Symlink("d/link", "../a.yaml"),
            ],
        );
        repo.config("http.receivepack", "true");
        let http = GitHttp::start(root.path());
        Self { root, repo, http }
    }

    /// Both ways to the repository.
    fn urls(&self) -> [String; 2] {
        [self.repo.dir.to_str().unwrap().to_owned(), self.http.url("r.git")]
    }

    fn storage(&self) -> TempDir {
        tempfile::tempdir_in(self.root.path()).unwrap()
    }
}

#[test]
fn a_bump_arrives_as_it_was_made() {
    for arguments in [&[][..], &["--object-format=sha256"]] {
        let world = World::with(arguments);
        for (round, url) in world.urls().iter().enumerate() {
            let storage = world.storage();
            let mirror = mirror(storage.path(), url);
            let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
            let content = format!("b: {round}0\n");
            let (new, pack) = bump(&fetched, "Bump\n\nbody", &[("d/e/b.yaml", content.as_bytes())]);
            push(&mirror, &fetched, new, &pack).unwrap();

            assert_eq!(world.repo.rev("main").unwrap(), new.to_string());
            assert_eq!(world.repo.show("main", "d/e/b.yaml"), content.as_bytes());
            let modes: Vec<String> = world.repo.tree("main").into_iter().map(|entry| entry.mode).collect();
            assert_eq!(modes, ["100644", "100644", "120000", "100755"]);
            world.repo.fsck();
            folder(storage.path()).fsck();
            let again = mirror.fetch(&branch("main"), &[]).unwrap();
            assert_eq!((again.tip.commit, again.transferred), (new, false));
        }
    }
}

#[test]
fn a_stale_lease_tells_where_the_branch_is_now() {
    let world = World::new();
    for url in world.urls() {
        let storage = world.storage();
        let mirror = mirror(storage.path(), &url);
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        let (new, pack) = bump(&fetched, "late", &[("a.yaml", b"a: late\n")]);
        let rival = world
            .repo
            .commit("main", "rival", &[Change::File("a.yaml", b"a: rival\n")]);
        let error = push(&mirror, &fetched, new, &pack).unwrap_err();
        let GitError::Moved {
            reference,
            expected,
            now,
        } = error
        else {
            panic!("{error}")
        };
        assert_eq!(
            (reference.as_str(), expected, now),
            ("refs/heads/main", Some(fetched.tip.commit), Some(id(&rival)))
        );
        assert_eq!(world.repo.rev("main").unwrap(), rival);

        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        let (new, pack) = bump(&fetched, "again", &[("a.yaml", url.as_bytes())]);
        push(&mirror, &fetched, new, &pack).unwrap();
        assert_eq!(world.repo.rev("main^").unwrap(), rival);
        folder(storage.path()).fsck();
    }
}

#[test]
fn a_rival_between_the_listing_and_the_push_is_seen_too() {
    let world = World::new();
    let storage = world.storage();
    let mirror = mirror(storage.path(), &world.http.url("r.git"));
    let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
    let (new, pack) = bump(&fetched, "late", &[("a.yaml", b"a: late\n")]);
    let repo = world.repo.clone();
    world.http.before_push(move |_| {
        repo.commit("main", "rival", &[Change::File("a.yaml", b"a: rival\n")]);
    });
    let error = push(&mirror, &fetched, new, &pack).unwrap_err();
    assert!(
        matches!(error, GitError::Moved { now: Some(now), .. } if Some(now) == world.repo.rev("main").map(|tip| id(&tip))),
        "{error}"
    );
}

#[test]
fn branches_are_made_replaced_and_deleted() {
    let world = World::new();
    for (round, url) in world.urls().iter().enumerate() {
        let storage = world.storage();
        let mirror = mirror(storage.path(), url);
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        let name = format!("refs/heads/bump/größe-{round}");
        let (one, pack) = bump(&fetched, "one", &[("a.yaml", b"a: one\n")]);
        mirror.store(&fetched.objects, &pack).unwrap();
        mirror
            .push(&push_of(update(&name, None, Some(one))), Some(&pack))
            .unwrap();
        assert_eq!(world.repo.rev(&name).unwrap(), one.to_string());

        // It exists now, so it cannot be made again.
        let (two, pack) = bump(&fetched, "two", &[("a.yaml", b"a: two\n")]);
        let error = mirror
            .push(&push_of(update(&name, None, Some(two))), Some(&pack))
            .unwrap_err();
        assert!(
            matches!(error, GitError::Moved { expected: None, now: Some(now), .. } if now == one),
            "{error}"
        );

        // Siblings replace each other only when the caller says so.
        mirror.store(&fetched.objects, &pack).unwrap();
        let mut gentle = update(&name, Some(one), Some(two));
        gentle.force = false;
        let error = mirror.push(&push_of(gentle), Some(&pack)).unwrap_err();
        assert!(error.to_string().contains("non-fast-forward"), "{error}");
        mirror
            .push(&push_of(update(&name, Some(one), Some(two))), Some(&pack))
            .unwrap();
        assert_eq!(world.repo.rev(&name).unwrap(), two.to_string());

        mirror.push(&push_of(update(&name, Some(two), None)), None).unwrap();
        assert_eq!(world.repo.rev(&name), None);
        world.repo.fsck();
    }
}

#[test]
fn a_fast_forward_from_behind_the_boundary_is_seen() {
    let world = World::new();
    for _ in 0..5 {
        world
            .repo
            .commit("main", "more", &[Change::File("a.yaml", b"a: more\n")]);
    }
    world.repo.git(&["branch", "other", "main~3"]);
    let other = id(&world
        .repo
        .commit("other", "aside", &[Change::File("a.yaml", b"a: other\n")]));
    let ways = world
        .urls()
        .into_iter()
        .flat_map(|url| [(url.clone(), Speaks::Two), (url, Speaks::Zero)]);
    for (round, (url, speaks)) in ways.enumerate() {
        let behind = format!("refs/heads/behind-{round}");
        world.repo.git(&["update-ref", &behind, "main~4"]);
        let old = id(&world.repo.rev(&behind).unwrap());
        let storage = world.storage();
        let mirror = mirror_with(storage.path(), &url, speaks, true);
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        let (new, pack) = bump(&fetched, "bump", &[("a.yaml", b"a: bump\n")]);
        mirror.store(&fetched.objects, &pack).unwrap();
        let gentle = |reference: &str, old| bumpwright_git::RefUpdate {
            force: false,
            ..update(reference, Some(old), Some(new))
        };
        mirror.push(&push_of(gentle(&behind, old)), Some(&pack)).unwrap();
        assert_eq!(world.repo.rev(&behind).unwrap(), new.to_string());
        let error = mirror
            .push(&push_of(gentle("refs/heads/other", other)), Some(&pack))
            .unwrap_err();
        assert!(error.to_string().contains("non-fast-forward"), "{error}");
        assert_eq!(world.repo.rev("other").unwrap(), other.to_string());
        assert!(!mirror.is_ancestor(id(&"1".repeat(40)), new).unwrap());
    }
}

#[test]
fn a_reference_to_what_the_server_has_needs_no_objects() {
    let world = World::new();
    for (round, url) in world.urls().iter().enumerate() {
        let storage = world.storage();
        let mirror = mirror(storage.path(), url);
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        let name = format!("refs/heads/copy-{round}");
        mirror
            .push(&push_of(update(&name, None, Some(fetched.tip.commit))), None)
            .unwrap();
        assert_eq!(world.repo.rev(&name).unwrap(), fetched.tip.commit.to_string());
    }
}

#[test]
fn the_words_of_a_hook_reach_the_caller() {
    let world = World::new();
    world.repo.hook(
        "pre-receive",
        "printf '\\033[31mpolicy\\033[0m: no bumps on \\tSunday\\r\\n' >&2; exit 1",
    );
    for url in world.urls() {
        let storage = world.storage();
        let mirror = mirror(storage.path(), &url);
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        let (new, pack) = bump(&fetched, "no", &[("a.yaml", b"a: no\n")]);
        let error = push(&mirror, &fetched, new, &pack).unwrap_err();
        let GitError::Rejected {
            reference,
            reason,
            said,
        } = error
        else {
            panic!("{error}")
        };
        assert_eq!(
            (reference.as_str(), reason.as_str()),
            ("refs/heads/main", "pre-receive hook declined")
        );
        assert_eq!(said, "policy: no bumps on  Sunday");
    }
}

#[test]
fn two_megabytes_of_words_are_survived() {
    let world = World::new();
    world.repo.hook(
        "post-receive",
        "yes 'a rather long line of no use' | head -c 2000000 >&2",
    );
    for url in world.urls() {
        let storage = world.storage();
        let mirror = mirror(storage.path(), &url);
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        let (new, pack) = bump(&fetched, "talk", &[("a.yaml", url.as_bytes())]);
        push(&mirror, &fetched, new, &pack).unwrap();
        assert_eq!(world.repo.rev("main").unwrap(), new.to_string());
    }
}

#[test]
fn protected_branches_are_told_in_the_words_of_the_server() {
    let world = World::new();
    world.repo.config("receive.denyNonFastForwards", "true");
    world.repo.config("receive.denyDeletes", "true");
    for url in world.urls() {
        let storage = world.storage();
        let mirror = mirror(storage.path(), &url);
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        let error = mirror
            .push(
                &push_of(update("refs/heads/main", Some(fetched.tip.commit), None)),
                None,
            )
            .unwrap_err();
        assert!(
            matches!(&error, GitError::Rejected { reason, .. } if reason.contains("deletion prohibited")),
            "{error}"
        );

        let (orphan, pack) = {
            let edits = [(b"a.yaml".to_vec(), b"a: orphan\n".to_vec())].into();
            let (tree, mut new) = fetched.objects.write_edits(fetched.tip.tree, &edits).unwrap();
            let person = bumpwright_git::Person {
                name: "B".into(),
                email: "b@x".into(),
                seconds: 1,
                offset_minutes: -90,
            };
            let commit = bumpwright_git::Commit {
                tree,
                parents: Vec::new(),
                author: person.clone(),
                committer: person,
                message: Vec::new(),
                signature: None,
            };
            (new.add_commit(&commit).unwrap(), new.pack().unwrap())
        };
        let error = push(&mirror, &fetched, orphan, &pack).unwrap_err();
        assert!(
            matches!(&error, GitError::Rejected { reason, .. } if reason.contains("non-fast-forward")),
            "{error}"
        );
    }
}

#[test]
fn push_options_arrive_or_the_push_does_not_happen() {
    let world = World::new();
    let seen = world.root.path().join("options");
    let script = format!(
        "echo \"$GIT_PUSH_OPTION_COUNT:$GIT_PUSH_OPTION_0:$GIT_PUSH_OPTION_1\" >> {}",
        seen.display()
    );
    world.repo.hook("pre-receive", &script);
    for url in world.urls() {
        let storage = world.storage();
        let mirror = mirror(storage.path(), &url);
        let options = vec![
            ("merge_request.create".to_owned(), String::new()),
            ("topic".to_owned(), "a b".to_owned()),
        ];
        let one_push = |content: &str, allow_dropped_push_options| {
            let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
            let (new, pack) = bump(&fetched, "options", &[("a.yaml", content.as_bytes())]);
            let updates = vec![update("refs/heads/main", Some(fetched.tip.commit), Some(new))];
            mirror.store(&fetched.objects, &pack).unwrap();
            mirror.push(
                &Push {
                    updates,
                    options: options.clone(),
                    allow_dropped_push_options,
                },
                Some(&pack),
            )
        };
        world.repo.config("receive.advertisePushOptions", "false");
        let before = world.repo.rev("main");
        assert!(matches!(one_push("1", false), Err(GitError::PushOptionsUnsupported)));
        assert_eq!(world.repo.rev("main"), before);
        one_push(&format!("{url}2"), true).unwrap();
        // What was remembered of the server is looked at again.
        world.repo.config("receive.advertisePushOptions", "true");
        one_push(&format!("{url}3"), false).unwrap();
        let lines = std::fs::read_to_string(&seen).unwrap();
        assert_eq!(lines, "0::\n2:merge_request.create=:topic=a b\n");
        std::fs::remove_file(&seen).unwrap();
    }
}

#[test]
fn a_push_whose_answer_is_lost_is_looked_up() {
    let world = World::new();
    let storage = world.storage();
    let mirror = mirror(storage.path(), &world.http.url("r.git"));
    let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
    let (new, pack) = bump(&fetched, "landed", &[("a.yaml", b"a: landed\n")]);
    world.http.fault(2, Fault::CloseAfter(0));
    push(&mirror, &fetched, new, &pack).unwrap();
    assert_eq!(world.repo.rev("main").unwrap(), new.to_string());

    // This one does not arrive.
    let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
    let (new, pack) = bump(&fetched, "lost", &[("a.yaml", b"a: lost\n")]);
    world.http.intercept(|seen| seen.is_push().then_some(Fault::Drop));
    let error = push(&mirror, &fetched, new, &pack).unwrap_err();
    assert!(matches!(error, GitError::Transport(_)), "{error}");
    assert_eq!(world.repo.rev("main").unwrap(), fetched.tip.commit.to_string());

    // Nor this one, and a concurrent one does.
    let rival = world
        .repo
        .commit("main", "rival", &[Change::File("a.yaml", b"a: rival\n")]);
    let error = push(&mirror, &fetched, new, &pack).unwrap_err();
    assert!(
        matches!(error, GitError::Moved { now: Some(now), .. } if now == id(&rival)),
        "{error}"
    );
}

#[test]
fn what_is_known_of_the_server_saves_requests() {
    let world = World::new();
    let storage = world.storage();
    let mirror = mirror(storage.path(), &world.http.url("r.git"));
    let mut counts = Vec::new();
    for round in 0..3 {
        world.http.clear();
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        let (new, pack) = bump(&fetched, "count", &[("a.yaml", format!("a: {round}0\n").as_bytes())]);
        push(&mirror, &fetched, new, &pack).unwrap();
        counts.push(world.http.requests().len());
    }
    // Greeting, listing, objects, greeting, push; then listing, push.
    assert_eq!(counts, [5, 2, 2]);
}

/// A server that refuses, or breaks off, may be another one than before.
#[test]
fn a_server_that_refused_or_broke_off_is_asked_again_what_it_can() {
    let world = World::new();
    let storage = world.storage();
    let mirror = mirror(storage.path(), &world.http.url("r.git"));
    let greetings = |content: &str| {
        world.http.clear();
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        let (new, pack) = bump(&fetched, "count", &[("a.yaml", content.as_bytes())]);
        let pushed = push(&mirror, &fetched, new, &pack);
        let seen = world.http.requests();
        let greeted = seen
            .iter()
            .filter(|seen| seen.method == "GET" && seen.query.contains("git-receive-pack"));
        (greeted.count(), pushed.is_ok())
    };
    assert_eq!([greetings("1"), greetings("2")], [(1, true), (0, true)]);
    world.repo.hook("pre-receive", "exit 1");
    assert_eq!([greetings("3"), greetings("4")], [(0, false), (1, false)]);
    world.repo.hook("pre-receive", "exit 0");
    assert_eq!([greetings("5"), greetings("6")], [(1, true), (0, true)]);
    world.http.intercept(|seen| seen.is_push().then_some(Fault::Drop));
    assert_eq!(greetings("7"), (0, false));
    world.http.intercept(|_| None);
    assert_eq!(greetings("8"), (1, true));
}

#[test]
fn forbidden_and_unauthorized_are_told_apart_from_refusals() {
    let world = World::new();
    world.repo.config("http.receivepack", "false");
    let storage = world.storage();
    let mirror = mirror(storage.path(), &world.http.url("r.git"));
    let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
    let (new, pack) = bump(&fetched, "no", &[("a.yaml", b"a: no\n")]);
    let error = push(&mirror, &fetched, new, &pack).unwrap_err();
    assert!(
        matches!(
            error,
            GitError::Transport(bumpwright_git::TransportError::Forbidden { .. })
        ),
        "{error}"
    );
}

/// Who may not push loses no race: starting over would not help, however busy the branch is.
#[test]
fn a_forbidden_push_is_no_lost_race() {
    let world = World::new();
    let storage = world.storage();
    let mirror = mirror(storage.path(), &world.http.url("r.git"));
    let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
    let (new, pack) = bump(&fetched, "no", &[("a.yaml", b"a: no\n")]);
    let repo = world.repo.clone();
    world.http.intercept(move |seen| {
        seen.is_push().then(|| {
            repo.commit("main", "rival", &[Change::File("a.yaml", b"a: rival\n")]);
            Fault::Status(403, "no".to_owned())
        })
    });
    let error = push(&mirror, &fetched, new, &pack).unwrap_err();
    assert!(
        matches!(
            error,
            GitError::Transport(bumpwright_git::TransportError::Forbidden { .. })
        ),
        "{error}"
    );
}

/// An answer that is lost says nothing about a reference that had the wanted value all along.
#[test]
fn a_reference_that_stays_as_it_is_survives_a_lost_answer() {
    let world = World::new();
    let storage = world.storage();
    let mirror = mirror(storage.path(), &world.http.url("r.git"));
    let tip = Some(mirror.fetch(&branch("main"), &[]).unwrap().tip.commit);
    world.http.intercept(|seen| seen.is_push().then_some(Fault::Drop));
    mirror
        .push(&push_of(update("refs/heads/main", tip, tip)), None)
        .unwrap();
    let error = mirror
        .push(&push_of(update("refs/heads/next", None, tip)), None)
        .unwrap_err();
    assert!(matches!(error, GitError::Transport(_)), "{error}");
}

/// The next fetch starts from what the mirror remembers, so that has to be what the server has, and
/// what the mirror holds.
#[test]
fn the_mirror_remembers_what_was_accepted_and_nothing_else() {
    let world = World::new();
    for (round, url) in world.urls().iter().enumerate() {
        let storage = world.storage();
        let mirror = mirror(storage.path(), url);
        let remembered = |name: &str| folder(storage.path()).rev(name).map(|hex| id(&hex));
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        let tip = Some(fetched.tip.commit);
        let (new, pack) = bump(&fetched, "new", &[("a.yaml", url.as_bytes())]);

        world.repo.hook("update", "test \"$1\" != refs/heads/main");
        push(&mirror, &fetched, new, &pack).unwrap_err();
        assert_eq!(remembered("refs/heads/main"), tip, "a refused update");
        world.repo.hook("update", "exit 0");
        push(&mirror, &fetched, new, &pack).unwrap();
        assert_eq!(remembered("refs/heads/main"), Some(new), "an accepted one");

        let review = format!("refs/for/main-{round}");
        mirror.push(&push_of(update(&review, None, Some(new))), None).unwrap();
        assert_eq!(remembered(&review), None, "a target of reviews");

        let other = id(&world
            .repo
            .commit("other", "other", &[Change::File("o", url.as_bytes())]));
        let copy = format!("refs/heads/copy-{round}");
        mirror.push(&push_of(update(&copy, None, Some(other))), None).unwrap();
        assert_eq!(remembered(&copy), None, "a commit that the mirror does not hold");
        assert_eq!(mirror.fetch(&branch(&copy[11..]), &[]).unwrap().tip.commit, other);
        folder(storage.path()).fsck();
    }
}

/// `refs/pull/N/head` of the forges, by the commit.
#[test]
fn requests_are_found_by_their_commit() {
    let world = World::new();
    world.repo.git(&["update-ref", "refs/pull/7/head", "main"]);
    world.repo.git(&["update-ref", "refs/pull/8/head", "main~1"]);
    world.repo.git(&["update-ref", "refs/pulls/9/head", "main"]);
    let tip = id(&world.repo.rev("main").unwrap());
    for url in world.urls() {
        for speaks in [Speaks::Two, Speaks::Zero] {
            let storage = world.storage();
            let mirror = mirror_with(storage.path(), &url, speaks, true);
            assert_eq!(mirror.holders("refs/pull/", tip).unwrap(), ["refs/pull/7/head"]);
            let none: [&str; 0] = [];
            assert_eq!(mirror.holders("refs/pull/", id(&"1".repeat(40))).unwrap(), none);
        }
    }
}

#[test]
fn names_that_git_forbids_are_refused_before_anything_is_sent() {
    let world = World::new();
    let storage = world.storage();
    let mirror = mirror(storage.path(), &world.urls()[0]);
    let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
    for name in [
        "main",
        "refs/heads/a b",
        "refs/heads/a..b",
        "refs/heads/x.lock",
        "refs/heads/\n",
    ] {
        let error = mirror
            .push(&push_of(update(name, None, Some(fetched.tip.commit))), None)
            .unwrap_err();
        assert!(matches!(error, GitError::Invalid(_)), "{name}: {error}");
    }
}

#[test]
fn several_updates_have_a_status_each() {
    let world = World::new();
    world.repo.hook("update", "test \"$1\" != refs/heads/closed");
    for (round, url) in world.urls().iter().enumerate() {
        let storage = world.storage();
        let mirror = mirror(storage.path(), url);
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        let tip = Some(fetched.tip.commit);
        let open = format!("refs/heads/open-{round}");
        let updates = vec![
            update(&open, None, tip),
            update("refs/heads/closed", None, tip),
            update("refs/heads/main", None, tip),
        ];
        let statuses = mirror
            .push_each(
                &Push {
                    updates,
                    ..Push::default()
                },
                None,
            )
            .unwrap();
        assert!(statuses[0].refused.is_none());
        assert!(matches!(&statuses[1].refused, Some(GitError::Rejected { reason, .. }) if reason == "hook declined"));
        // The lease was wrong, but the branch has the wanted value.
        assert!(statuses[2].refused.is_none());
        assert_eq!(world.repo.rev(&open).unwrap(), fetched.tip.commit.to_string());
    }
}

#[test]
fn an_old_protocol_for_fetching_does_not_matter_to_a_push() {
    let world = World::new();
    for (round, speaks) in [Speaks::Zero, Speaks::One].into_iter().enumerate() {
        for url in world.urls() {
            let storage = world.storage();
            let mirror = mirror_with(storage.path(), &url, speaks, true);
            let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
            let (new, pack) = bump(&fetched, "old", &[("a.yaml", format!("{url}{round}").as_bytes())]);
            push(&mirror, &fetched, new, &pack).unwrap();
            assert_eq!(world.repo.rev("main").unwrap(), new.to_string());
        }
    }
    drop(transport(&world.urls()[0], Speaks::Two));
}
