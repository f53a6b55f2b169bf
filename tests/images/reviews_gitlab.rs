//! `--reviews` at GitLab: merge requests of a project in a group of groups, by its documents.

use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::forge::{GitLab, PROJECT};
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{EVENT, GIT_REPOSITORY, KUSTOMIZATION, SECRET, World};
use serde_json::json;

const TOKEN: &str = "glpat-of-the-project";

fn claim(size: &str) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data, namespace: db}}\nspec:\n  accessModes: [ReadWriteOnce]\n  \
         resources:\n    requests:\n      storage: {size}\n"
    )
}

#[test]
fn merge_requests_are_reviewed_once_with_a_status_and_a_note() {
    let Some(cluster) = Cluster::shared() else { return };
    cluster.define();
    let world = World::new(cluster, "reviews-gitlab");
    let root = world.folder.path().join("forge");
    let repo = Repo::init(root.join(format!("{PROJECT}.git")));
    let commit = |branch: &str, size: &str| {
        let file = claim(size);
        drop(repo.commit(branch, size, &[Change::File("app/claim.yaml", file.as_bytes())]));
    };
    commit("main", "10Gi");
    for branch in ["change", "fork"] {
        repo.git(&["branch", branch, "main"]);
        commit(branch, "8Gi");
    }
    let fork = repo.rev("fork").unwrap();
    repo.git(&["update-ref", "refs/merge-requests/2/head", &fork]);
    repo.git(&["branch", "-D", "fork"]);
    let gitlab = GitLab::start(&root, TOKEN);
    world.put(
        SECRET,
        "git",
        json!({"stringData": {"username": "oauth2", "password": TOKEN}}),
    );
    let source = json!({"kind": "GitRepository", "name": "app"});
    let spec = json!({"interval": "1h", "prune": true, "path": "./app", "sourceRef": source});
    world.add(KUSTOMIZATION, "app", spec);
    let spec = json!({
        "interval": "1h", "url": gitlab.server.url(&format!("{PROJECT}.git")), "ref": {"branch": "main"},
        "secretRef": {"name": "git"},
    });
    let annotations = json!({"bumpwright.dev/review": "gitlab", "bumpwright.dev/review-comment": "true"});
    world.annotated(GIT_REPOSITORY, "app", &annotations, spec);
    gitlab.comment(1, "eve", "<!-- bumpwright:review - -->\nAll is well.");
    gitlab.open("change", "main", 1);
    gitlab.open("fork", "main", 2);

    let arguments = ["--controllers=image-automation", "--reviews"];
    let mut controller = world.controller(&arguments);
    wait_for(|| !gitlab.statuses().is_empty(), || controller.log());
    let status = gitlab.statuses().remove(0);
    assert_eq!(
        (status.context.as_str(), status.state.as_str()),
        ("bumpwright/review", "failed")
    );
    assert_eq!(Some(status.commit), repo.rev("change"));
    let base = repo.rev("main").unwrap();
    assert!(
        status.description.ends_with(&format!("(from {})", &base[..12])),
        "{}",
        status.description
    );
    let notes = gitlab.comments();
    assert_eq!((notes.len(), notes[0].edits), (2, 0));
    assert!(notes[1].body.contains("claims can only grow"), "{}", notes[1].body);
    until("the fork is told", || {
        controller.log().contains("pull request #2 is of a fork")
    });

    // The next process reads in the status that it was done.
    assert_eq!(controller.stop(), Some(0));
    controller = world.controller(&arguments);
    let before = gitlab.lists();
    for round in ["one", "two"] {
        // The process may list, and see the request, as soon as it is there.
        let before = gitlab.lists();
        world.request(GIT_REPOSITORY, "app", round);
        wait_for(|| gitlab.lists() > before, || controller.log());
    }
    assert!(gitlab.lists() > before);
    assert_eq!((gitlab.statuses().len(), gitlab.comments()), (1, notes));

    commit("change", "12Gi");
    world.request(GIT_REPOSITORY, "app", "a new head");
    wait_for(|| gitlab.statuses().len() > 1, || controller.log());
    assert_eq!(gitlab.statuses()[1].state, "success");
    let notes = gitlab.comments();
    assert_eq!((notes.len(), notes[1].edits), (2, 1));

    // The commits of forks take no status: without a note there would be nothing.
    let annotate = |comment: Option<&str>| {
        let annotations = json!({"bumpwright.dev/review-forks": "true", "bumpwright.dev/review-comment": comment});
        world.patch(
            GIT_REPOSITORY,
            "app",
            &json!({"metadata": {"annotations": annotations}}),
        );
    };
    annotate(None);
    until("it is told", || {
        let mut events = world.list(EVENT).into_iter();
        events.any(|event| event["message"].as_str().unwrap_or_default().contains("review-forks"))
    });
    assert_eq!((gitlab.statuses().len(), gitlab.comments().len()), (2, 2));
    annotate(Some("true"));
    wait_for(|| gitlab.comments().len() == 3, || controller.log());
    let note = gitlab.comments().remove(2);
    assert_eq!((note.number, note.edits), (2, 0));
    assert!(note.body.contains("claims can only grow"), "{}", note.body);

    // The next process has no status to read: it reviews again, and posts nothing.
    assert_eq!(controller.stop(), Some(0));
    controller = world.controller(&arguments);
    wait_for(
        || controller.log().contains("reviewed pull request #2"),
        || controller.log(),
    );
    assert_eq!(gitlab.comments().remove(2), note);
    assert_eq!(gitlab.statuses().len(), 2);
}
