//! `--reviews` and Gitea: a status and one comment of an open request, forks when they are allowed.

use super::{Fleet, forge};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{GIT_REPOSITORY, KUSTOMIZATION, SECRET, World};
use serde_json::{Value, json};

fn claim(size: &str) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data, namespace: db}}\nspec:\n  \
         accessModes: [ReadWriteOnce]\n  resources:\n    requests:\n      storage: {size}\n"
    )
}

struct Reviewed<'a> {
    // Before the folder that has its log goes.
    controller: Option<Controller>,
    world: World<'a>,
    fleet: Fleet,
}

impl<'a> Reviewed<'a> {
    fn start(cluster: &'a Cluster, name: &str) -> Option<Self> {
        let fleet = Fleet::new(name)?;
        cluster.define();
        let world = World::new(cluster, &format!("{}-{name}", forge().name()));
        fleet
            .hosted
            .commit(&fleet.owner, "main", &[("app/claim.yaml", &claim("10Gi"))]);
        let login = json!({"stringData": {"username": fleet.owner.name, "password": fleet.owner.token}});
        world.put(SECRET, "git", login);
        let source = json!({"kind": "GitRepository", "name": "app"});
        let spec = json!({"interval": "1h", "prune": true, "path": "./app", "sourceRef": source});
        world.add(KUSTOMIZATION, "app", spec);
        let annotations = json!({"bumpwright.dev/review": "gitea", "bumpwright.dev/review-comment": "true"});
        let spec = json!({
            "interval": "1h", "url": fleet.hosted.url(), "ref": {"branch": "main"}, "secretRef": {"name": "git"},
        });
        world.annotated(GIT_REPOSITORY, "app", &annotations, spec);
        let mut reviewed = Self {
            controller: None,
            world,
            fleet,
        };
        reviewed.restart();
        Some(reviewed)
    }

    fn restart(&mut self) {
        if let Some(controller) = self.controller.take() {
            assert_eq!(controller.stop(), Some(0));
        }
        self.controller = Some(self.world.controller(&["--controllers=image-automation", "--reviews"]));
    }

    fn get(&self, below: &str) -> Value {
        self.fleet.hosted.api(&self.fleet.owner, "GET", below, &Value::Null)
    }

    fn open(&self, head: &str) -> u64 {
        let request = json!({"title": "By hand", "head": head, "base": "main"});
        let made = self.fleet.hosted.api(&self.fleet.owner, "POST", "/pulls", &request);
        made["number"].as_u64().unwrap()
    }

    /// Waits for the only status of the head of a request: state and description.
    fn status(&self, number: u64) -> (String, String) {
        let head = self.fleet.request(number)["head"]["sha"].as_str().unwrap().to_owned();
        let statuses = || self.get(&format!("/commits/{head}/statuses"));
        let has_one = || statuses().as_array().is_some_and(|all| !all.is_empty());
        wait_for(has_one, || self.controller.as_ref().unwrap().log());
        let all = statuses();
        assert_eq!(
            (all.as_array().unwrap().len(), &all[0]["context"]),
            (1, &json!("bumpwright/review"))
        );
        let text = |key: &str| all[0][key].as_str().unwrap().to_owned();
        (text("status"), text("description"))
    }

    fn comments(&self, number: u64) -> Vec<Value> {
        let all = self.get(&format!("/issues/{number}/comments"));
        serde_json::from_value(all).unwrap()
    }
}

#[test]
fn a_request_gets_a_status_for_each_head_and_one_comment() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(mut reviewed) = Reviewed::start(cluster, "reviewed") else {
        return;
    };
    let owner = reviewed.fleet.owner.clone();
    let branch = json!({"new_branch_name": "change", "old_branch_name": "main"});
    reviewed.fleet.hosted.api(&owner, "POST", "/branches", &branch);
    let commit = |reviewed: &Reviewed<'_>, size: &str| {
        reviewed
            .fleet
            .hosted
            .commit(&owner, "change", &[("app/claim.yaml", &claim(size))]);
    };
    commit(&reviewed, "8Gi");
    let number = reviewed.open("change");
    reviewed.world.request(GIT_REPOSITORY, "app", "opened");
    let (state, description) = reviewed.status(number);
    assert_eq!(state, "failure", "{description}");
    assert!(
        description.contains("1 changed; new with this change: 1 error"),
        "{description}"
    );
    let comments = reviewed.comments(number);
    assert_eq!(comments.len(), 1);
    assert!(comments[0]["body"].as_str().unwrap().contains("claims can only grow"));

    // Another process finds what is done.
    reviewed.restart();
    commit(&reviewed, "12Gi");
    reviewed.world.request(GIT_REPOSITORY, "app", "a new head");
    assert_eq!(reviewed.status(number).0, "success");
    let now = reviewed.comments(number);
    assert_eq!((now.len(), &now[0]["id"]), (1, &comments[0]["id"]));
    assert!(!now[0]["body"].as_str().unwrap().contains("claims can only grow"));
    reviewed.world.request(GIT_REPOSITORY, "app", "the same head");
    assert_eq!(reviewed.status(number).0, "success");
}

#[test]
fn a_fork_is_reviewed_when_that_is_allowed() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(reviewed) = Reviewed::start(cluster, "forked") else {
        return;
    };
    let hosted = &reviewed.fleet.hosted;
    let eve = hosted.gitea.user(&format!("eve-of-{}", reviewed.world.namespace));
    hosted.api(&eve, "POST", "/forks", &json!({"name": "app"}));
    let sha = hosted.repo.git(&["rev-parse", "main:app/claim.yaml"]);
    let content = STANDARD.encode(claim("8Gi"));
    let operation = json!({"operation": "update", "path": "app/claim.yaml", "sha": sha, "content": content});
    let commit = json!({"branch": "main", "new_branch": "change", "message": "by eve", "files": [operation]});
    let path = format!("repos/{}/app/contents", eve.name);
    let made = hosted.gitea.api(&eve, "POST", &path, &commit);
    assert_eq!(made.status, 201, "{made:?}");
    let number = reviewed.open(&format!("{}:change", eve.name));
    reviewed.world.request(GIT_REPOSITORY, "app", "opened");
    let log = || reviewed.controller.as_ref().unwrap().log();
    wait_for(|| log().contains(&format!("pull request #{number} is of a fork")), log);
    assert_eq!(reviewed.comments(number), Vec::<Value>::new());
    let allowed = json!({"metadata": {"annotations": {"bumpwright.dev/review-forks": "true"}}});
    reviewed.world.patch(GIT_REPOSITORY, "app", &allowed);
    assert_eq!(reviewed.status(number).0, "failure");
    assert_eq!(reviewed.comments(number).len(), 1);
}

/// What a status means for a request is up to the rules of its branch.
#[test]
fn a_protected_branch_takes_a_request_whose_review_is_a_success() {
    let Some(cluster) = Cluster::shared() else { return };
    let Some(reviewed) = Reviewed::start(cluster, "guarded") else {
        return;
    };
    let (hosted, owner) = (&reviewed.fleet.hosted, &reviewed.fleet.owner);
    let rule = json!({
        "rule_name": "main", "enable_push": false, "enable_status_check": true, "status_check_contexts": ["bumpwright/review"],
    });
    hosted.api(owner, "POST", "/branch_protections", &rule);
    let branch = json!({"new_branch_name": "change", "old_branch_name": "main"});
    hosted.api(owner, "POST", "/branches", &branch);
    hosted.commit(owner, "change", &[("app/claim.yaml", &claim("8Gi"))]);
    let number = reviewed.open("change");
    reviewed.world.request(GIT_REPOSITORY, "app", "opened");
    assert_eq!(reviewed.status(number).0, "failure");
    let merge = json!({"Do": "merge"});
    let refused = hosted.try_api(owner, "POST", &format!("/pulls/{number}/merge"), &merge);
    assert_eq!(refused.status, 405, "{refused:?}");

    hosted.commit(owner, "change", &[("app/claim.yaml", &claim("12Gi"))]);
    reviewed.world.request(GIT_REPOSITORY, "app", "a new head");
    assert_eq!(reviewed.status(number).0, "success");
    hosted.merge(owner, number, "merge", false);
}
