//! `--reviews`: open pull requests at forges that are GitHub and Gitea by their documents, reviewed with the
//! Kustomizations of a cluster.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::forge::{Forge, ForgeKind, refused};
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::waiting::{until, wait_for};
use bumpwright_testkit::world::{EVENT, GIT_REPOSITORY, HELM_REPOSITORY, KUSTOMIZATION, SECRET, World};
use serde_json::{Value, json};

const TOKEN: &str = "t0ken-of-the-forge";
const PASSWORD: &str = "hunter22-of-the-cluster";

/// A repository at a forge, with a Kustomization of its folder `app`.
struct Reviewed<'a> {
    // Before the folder that has its log and storage goes.
    controller: Option<Controller>,
    world: World<'a>,
    repo: Repo,
    forge: Forge,
    rounds: std::cell::Cell<usize>,
}

fn claim(size: &str) -> String {
    format!(
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data, namespace: db}}\nspec:\n  accessModes: [ReadWriteOnce]\n  \
         resources:\n    requests:\n      storage: {size}\n"
    )
}

fn start<'a>(cluster: &'a Cluster, name: &str, kind: ForgeKind, annotations: &Value) -> Reviewed<'a> {
    let mut reviewed = without_controller(cluster, name, kind, annotations);
    reviewed.restart();
    reviewed
}

fn without_controller<'a>(cluster: &'a Cluster, name: &str, kind: ForgeKind, annotations: &Value) -> Reviewed<'a> {
    cluster.define();
    let world = World::new(cluster, name);
    let root = world.folder.path().join("forge");
    let repo = Repo::init(root.join("o/app.git"));
    repo.commit(
        "main",
        "first",
        &[Change::File("app/claim.yaml", claim("10Gi").as_bytes())],
    );
    let (provider, authorization) = match kind {
        ForgeKind::GitHub => ("github", format!("Bearer {TOKEN}")),
        ForgeKind::Gitea => ("gitea", format!("Basic {}", STANDARD.encode(format!("bot:{TOKEN}")))),
    };
    let forge = Forge::start(kind, &root, &authorization);
    world.put(
        SECRET,
        "git",
        json!({"stringData": {"username": "bot", "password": TOKEN}}),
    );
    world.put(SECRET, "vars", json!({"stringData": {"password": PASSWORD}}));
    let source = json!({"kind": "GitRepository", "name": "app"});
    let variables = json!({"substituteFrom": [{"kind": "Secret", "name": "vars"}]});
    let spec = json!({"interval": "1h", "prune": true, "path": "./app", "sourceRef": source, "postBuild": variables});
    world.add(KUSTOMIZATION, "app", spec);
    let mut all = json!({"bumpwright.dev/review": provider, "bumpwright.dev/review-comment": "true"});
    all.as_object_mut()
        .unwrap()
        .extend(annotations.as_object().unwrap().clone());
    let url = forge.server.url("o/app.git");
    let spec = json!({"interval": "1h", "url": url, "ref": {"branch": "main"}, "secretRef": {"name": "git"}});
    world.annotated(GIT_REPOSITORY, "app", &all, spec);
    Reviewed {
        controller: None,
        world,
        repo,
        forge,
        rounds: std::cell::Cell::default(),
    }
}

impl Reviewed<'_> {
    fn restart(&mut self) {
        if let Some(controller) = self.controller.take() {
            assert_eq!(controller.stop(), Some(0));
        }
        self.controller = Some(self.world.controller(&["--controllers=image-automation", "--reviews"]));
    }

    /// One of several processes that share the objects.
    fn shard(&self, name: &str) -> Controller {
        let starter = self.world.starter(name).variable("HOSTNAME", name);
        let starter = starter.flags(&[
            "--controllers=image-automation",
            "--reviews",
            "--enable-leader-election",
            "--shards",
        ]);
        starter.flags(&["--leader-election-retry-period=200ms"]).start()
    }

    fn change_claim(&self, size: &str) {
        let claim = claim(size);
        self.repo
            .commit("change", size, &[Change::File("app/claim.yaml", claim.as_bytes())]);
    }

    fn log(&self) -> String {
        self.controller.as_ref().map(Controller::log).unwrap_or_default()
    }

    /// A round that began after this call, and that has looked at this many requests at least, is over.
    fn round(&self) {
        self.rounds.set(self.rounds.get() + 1);
        let at = format!("round {}", self.rounds.get());
        let lists = |requests: &[Request]| requests.iter().filter(|one| one.parameter("sort").is_some()).count();
        let before = lists(&self.forge.api_requests());
        self.world.request(GIT_REPOSITORY, "app", &at);
        wait_for(|| lists(&self.forge.api_requests()) > before, || self.log());
        // The next one begins when this one is over.
        let before = lists(&self.forge.api_requests());
        self.world.request(GIT_REPOSITORY, "app", &format!("{at}, over"));
        wait_for(|| lists(&self.forge.api_requests()) > before, || self.log());
    }

    /// Waits for so many statuses; the newest one: state and description.
    fn status(&self, count: usize) -> (String, String) {
        wait_for(|| self.forge.statuses().len() >= count, || self.log());
        let statuses = self.forge.statuses();
        assert_eq!(statuses.len(), count, "{statuses:#?}");
        let last = statuses.last().unwrap();
        assert_eq!(last.context, "bumpwright/review");
        (last.state.clone(), last.description.clone())
    }

    /// What has left the process: bodies of requests, log, events.
    fn told(&self) -> String {
        let sent = self.forge.api_requests().into_iter();
        let sent = sent.map(|request| format!("{} {}", request.target, String::from_utf8_lossy(&request.body)));
        let events = self.world.list(EVENT).into_iter().map(|event| event.to_string());
        sent.chain(events).chain([self.log()]).collect::<Vec<_>>().join("\n")
    }

    fn warnings(&self, reason: &str) -> Vec<String> {
        let events = self.world.list(EVENT).into_iter();
        let ours = events.filter(|event| event["reason"] == reason && event["type"] == "Warning");
        ours.map(|event| event["message"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn each_pair_of_commits_is_reviewed_once_also_by_the_next_process() {
    let Some(cluster) = Cluster::shared() else { return };
    for (name, kind) in [
        ("reviews-github", ForgeKind::GitHub),
        ("reviews-gitea", ForgeKind::Gitea),
    ] {
        let mut reviewed = start(cluster, name, kind, &json!({}));
        reviewed.repo.git(&["branch", "change", "main"]);
        reviewed.repo.commit(
            "change",
            "smaller",
            &[Change::File("app/claim.yaml", claim("8Gi").as_bytes())],
        );
        // What is merged meanwhile is no change.
        reviewed
            .repo
            .commit("main", "other", &[Change::File("app/README", b"words\n")]);
        reviewed.forge.open("change", "main", 1);
        reviewed.world.request(GIT_REPOSITORY, "app", "opened");
        let (state, description) = reviewed.status(1);
        let base = reviewed.repo.rev("main~1").unwrap();
        assert_eq!(state, "failure", "{description}");
        assert!(
            description.starts_with("1 changed; new with this change: 1 error"),
            "{description}"
        );
        assert!(
            description.ends_with(&format!(" (from {})", &base[..12])),
            "{description}"
        );
        let comments = reviewed.forge.comments();
        assert_eq!((comments.len(), comments[0].number), (1, 1));
        for part in [
            "<!-- bumpwright:review - -->\n",
            "claims can only grow",
            "PersistentVolumeClaim db/data",
        ] {
            assert!(comments[0].body.contains(part), "{part}: {}", comments[0].body);
        }

        reviewed.round();
        reviewed.restart();
        reviewed.round();
        assert_eq!(reviewed.forge.statuses().len(), 1);
        assert_eq!(reviewed.forge.comments(), comments);

        reviewed.repo.commit(
            "change",
            "larger",
            &[Change::File("app/claim.yaml", claim("12Gi").as_bytes())],
        );
        reviewed.world.request(GIT_REPOSITORY, "app", "a new head");
        let (state, description) = reviewed.status(2);
        assert_eq!(state, "success", "{description}");
        let comments = reviewed.forge.comments();
        assert_eq!((comments.len(), comments[0].edits), (1, 1));
        assert!(
            !comments[0].body.contains("claims can only grow"),
            "{}",
            comments[0].body
        );

        let series = "bumpwright_reviews_total{verdict=\"success\"}";
        assert_eq!(reviewed.controller.as_ref().unwrap().metric(series), Some(1.0));
        reviewed
            .world
            .patch(GIT_REPOSITORY, "app", &json!({"spec": {"suspend": true}}));
        reviewed
            .repo
            .commit("change", "more", &[Change::File("app/README", b"w\n")]);
        until("nothing is listed any more", || {
            reviewed.forge.asked();
            std::thread::sleep(std::time::Duration::from_millis(300));
            reviewed.forge.asked().is_empty()
        });
        assert_eq!(reviewed.forge.statuses().len(), 2);
    }
}

#[test]
fn processes_that_share_the_objects_review_each_head_once_whoever_leaves() {
    let Some(cluster) = Cluster::shared() else { return };
    let reviewed = without_controller(cluster, "reviews-shards", ForgeKind::Gitea, &json!({}));
    reviewed.repo.git(&["branch", "change", "main"]);
    reviewed.change_claim("11Gi");
    reviewed.forge.open("change", "main", 1);
    let first = reviewed.shard("a");
    assert_eq!(reviewed.status(1).0, "success");
    let second = reviewed.shard("b");
    until("both are members", || second.log().contains("with 2 members"));
    reviewed.round();
    reviewed.change_claim("12Gi");
    reviewed.round();
    assert_eq!(reviewed.status(2).0, "success");

    assert_eq!(first.stop(), Some(0));
    reviewed.change_claim("13Gi");
    reviewed.round();
    assert_eq!(reviewed.status(3).0, "success");
    let third = reviewed.shard("c");
    until("both are members", || third.log().contains("with 2 members"));
    assert_eq!(second.stop(), Some(0));
    reviewed.change_claim("14Gi");
    reviewed.round();
    assert_eq!(reviewed.status(4).0, "success");
    let comments = reviewed.forge.comments();
    assert_eq!((comments.len(), comments[0].edits), (1, 3));
}

/// A busy repository asks for rounds all the time.
#[test]
fn a_round_that_is_asked_for_meanwhile_does_not_end_this_one() {
    let Some(cluster) = Cluster::shared() else { return };
    let reviewed = start(cluster, "reviews-busy", ForgeKind::Gitea, &json!({}));
    reviewed.repo.git(&["branch", "change", "main"]);
    reviewed.repo.commit(
        "change",
        "larger",
        &[Change::File("app/claim.yaml", claim("12Gi").as_bytes())],
    );
    let (reached, was_reached) = std::sync::mpsc::channel();
    let (go, may_go) = std::sync::mpsc::channel();
    let mut is_first = true;
    reviewed.forge.fault(move |request, _| {
        if request.path.ends_with("/status") && std::mem::take(&mut is_first) {
            reached.send(()).unwrap();
            may_go.recv().unwrap();
        }
        None
    });
    reviewed.forge.open("change", "main", 1);
    reviewed.world.request(GIT_REPOSITORY, "app", "opened");
    was_reached.recv().unwrap();
    reviewed.forge.server.clear();
    reviewed.world.request(GIT_REPOSITORY, "app", "meanwhile");
    until("its watch has it", || {
        let object = reviewed.world.get(GIT_REPOSITORY, "app");
        object["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"] == "meanwhile"
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    go.send(()).unwrap();
    reviewed.status(1);
    let asked = reviewed.forge.asked();
    let list = asked.iter().position(|one| one.starts_with("GET pulls"));
    let posted = asked.iter().position(|one| one.starts_with("POST statuses"));
    assert!(list.is_none_or(|list| posted.unwrap() < list), "{asked:#?}");
}

/// Nothing is said to change in what could not be built.
#[test]
fn what_could_not_be_compared_is_in_the_status_and_the_comment() {
    let Some(cluster) = Cluster::shared() else { return };
    let reviewed = without_controller(cluster, "reviews-uncompared", ForgeKind::Gitea, &json!({}));
    let broken = Change::File("app/kustomization.yaml", b"resources: [claim.yaml, missing.yaml]\n");
    reviewed.repo.commit("main", "broken", &[broken]);
    reviewed.repo.git(&["branch", "change", "main"]);
    reviewed.change_claim("12Gi");
    reviewed.forge.open("change", "main", 1);
    let controller = reviewed
        .world
        .controller(&["--controllers=image-automation", "--reviews"]);
    wait_for(|| !reviewed.forge.statuses().is_empty(), || controller.log());
    let (state, description) = reviewed.status(1);
    assert_eq!(state, "success", "{description}");
    assert!(
        description.starts_with("1 could not be compared; new with this change: 1 warning in "),
        "{description}"
    );
    let comments = reviewed.forge.comments();
    assert_eq!(comments.len(), 1);
    for part in [
        "What changes in the clusters is not known: 1 could not be compared",
        "not-compared",
    ] {
        assert!(comments[0].body.contains(part), "{part}: {}", comments[0].body);
    }
}

/// The same head is then another change.
#[test]
fn a_base_whose_history_is_rewritten_is_compared_again() {
    let Some(cluster) = Cluster::shared() else { return };
    for (name, kind) in [
        ("reviews-rewritten-github", ForgeKind::GitHub),
        ("reviews-rewritten-gitea", ForgeKind::Gitea),
    ] {
        let reviewed = start(cluster, name, kind, &json!({}));
        let is_from = |description: &str, base: &str| description.ends_with(&format!(" (from {})", &base[..12]));
        let first = reviewed.repo.rev("main").unwrap();
        let words = |words: &str| {
            let file = Change::File("app/README", words.as_bytes());
            reviewed.repo.commit("main", words, &[file])
        };
        let second = words("second");
        reviewed.repo.git(&["branch", "change", "main"]);
        reviewed.change_claim("12Gi");
        reviewed.forge.open("change", "main", 1);
        reviewed.world.request(GIT_REPOSITORY, "app", "opened");
        let (_, description) = reviewed.status(1);
        assert!(is_from(&description, &second), "{description}");

        reviewed.repo.git(&["update-ref", "refs/heads/main", &first]);
        words("another second");
        reviewed.world.request(GIT_REPOSITORY, "app", "rewritten");
        let (state, description) = reviewed.status(2);
        assert!(state == "success" && is_from(&description, &first), "{description}");
        let statuses = reviewed.forge.statuses();
        assert_eq!(statuses[0].commit, statuses[1].commit);
        reviewed.round();
        assert_eq!(reviewed.forge.statuses().len(), 2);
        let comments = reviewed.forge.comments();
        assert_eq!((comments.len(), comments[0].edits), (1, 1));
        assert_eq!(reviewed.warnings("ReviewFailed"), [""; 0]);
    }
}

#[test]
fn a_base_that_is_deleted_is_told_and_what_came_meanwhile_is_reviewed_when_it_is_back() {
    let Some(cluster) = Cluster::shared() else { return };
    for (name, kind) in [
        ("reviews-deleted-github", ForgeKind::GitHub),
        ("reviews-deleted-gitea", ForgeKind::Gitea),
    ] {
        let reviewed = start(cluster, name, kind, &json!({}));
        reviewed.repo.git(&["branch", "change", "main"]);
        reviewed.change_claim("12Gi");
        reviewed.forge.open("change", "main", 1);
        reviewed.world.request(GIT_REPOSITORY, "app", "opened");
        assert_eq!(reviewed.status(1).0, "success");

        let main = reviewed.repo.rev("main").unwrap();
        reviewed.repo.git(&["update-ref", "-d", "refs/heads/main"]);
        reviewed.change_claim("8Gi");
        reviewed.world.request(GIT_REPOSITORY, "app", "deleted");
        until("it is told", || match kind {
            // It says where a branch ends.
            ForgeKind::GitHub => !reviewed.warnings("ReviewFailed").is_empty(),
            ForgeKind::Gitea => reviewed
                .log()
                .contains("pull request #1 and main have no commit in common"),
        });
        assert_eq!(reviewed.forge.statuses().len(), 1);

        reviewed.repo.git(&["update-ref", "refs/heads/main", &main]);
        reviewed.world.request(GIT_REPOSITORY, "app", "back");
        assert_eq!(reviewed.status(2).0, "failure");
        let comments = reviewed.forge.comments();
        assert_eq!((comments.len(), comments[0].edits), (1, 1));
    }
}

#[test]
fn a_copied_mark_is_left_alone() {
    let Some(cluster) = Cluster::shared() else { return };
    let reviewed = start(cluster, "reviews-copied", ForgeKind::Gitea, &json!({}));
    reviewed.repo.git(&["branch", "change", "main"]);
    reviewed.repo.commit(
        "change",
        "larger",
        &[Change::File("app/claim.yaml", claim("12Gi").as_bytes())],
    );
    reviewed
        .forge
        .comment(1, "eve", "<!-- bumpwright:review - -->\nAll is well.");
    reviewed.forge.open("change", "main", 1);
    reviewed.world.request(GIT_REPOSITORY, "app", "opened");
    reviewed.status(1);
    let comments = reviewed.forge.comments();
    assert_eq!((comments.len(), comments[0].edits), (2, 0));
}

/// Files with which somebody would like to see what the cluster's Secret has, and have a server asked.
fn greedy(namespace: &str, server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: leak, namespace: db}}\ndata: {{a: \"${{password}}\", b: \"x${{password:0:20}}\"}}\n\
         ---\napiVersion: v1\nkind: Service\nmetadata: {{name: leak, namespace: db}}\nspec: {{type: ExternalName, externalName: \"${{password}}\", \
         ports: [{{port: \"${{password}}\"}}]}}\n\
         ---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {{name: charts, namespace: {namespace}}}\n\
         spec: {{interval: 1h, url: {server}}}\n\
         ---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: leak, namespace: {namespace}}}\nspec:\n  \
         interval: 1h\n  chart: {{spec: {{chart: web, version: 1.0.0, sourceRef: {{kind: HelmRepository, name: charts}}}}}}\n  \
         valuesFrom: [{{kind: Secret, name: vars, valuesKey: password, targetPath: a}}]\n\
         ---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: remote, namespace: {namespace}}}\nspec:\n  \
         interval: 1h\n  prune: true\n  path: ./remote\n  sourceRef: {{kind: GitRepository, name: app}}\n"
    )
}

#[test]
fn secrets_do_not_leave_the_cluster_and_a_fork_reaches_no_server() {
    let Some(cluster) = Cluster::shared() else { return };
    let name = "reviews-secret";
    let reviewed = start(cluster, name, ForgeKind::Gitea, &json!({}));
    let server = StubHttp::start(|_| Reply::status(404));
    // The cluster has this repository, so that those who may write here may use it.
    let spec = json!({"interval": "1h", "url": server.url("charts")});
    reviewed.world.add(HELM_REPOSITORY, "charts", spec);
    let files = greedy(name, &server.url("charts"));
    let remote = format!("resources:\n- {}\n", server.url("base.yaml"));
    let changes = [
        Change::File("app/leak.yaml", files.as_bytes()),
        Change::File("remote/kustomization.yaml", remote.as_bytes()),
    ];
    for branch in ["change", "fork"] {
        reviewed.repo.git(&["branch", branch, "main"]);
        reviewed.repo.commit(branch, "greedy", &changes);
    }
    let fork = reviewed.repo.rev("fork").unwrap();
    reviewed.repo.git(&["update-ref", "refs/pull/1/head", &fork]);
    reviewed.repo.git(&["branch", "-D", "fork"]);
    reviewed.forge.open("greedy", "main", 2);
    reviewed.forge.by_hand(|pull| pull.sha.clone_from(&fork));
    reviewed.round();
    assert_eq!((reviewed.forge.statuses(), reviewed.forge.comments()), (vec![], vec![]));
    assert!(
        reviewed.log().contains("pull request #1 is of a fork"),
        "{}",
        reviewed.log()
    );

    let allowed = json!({"metadata": {"annotations": {"bumpwright.dev/review-forks": "true"}}});
    reviewed.world.patch(GIT_REPOSITORY, "app", &allowed);
    reviewed.status(1);
    assert_eq!(server.count(), 0, "{:?}", server.requests());
    let comment = reviewed.forge.comments()[0].body.clone();
    assert!(comment.contains("HelmRelease"), "{comment}");

    reviewed.forge.open("change", "main", 1);
    reviewed
        .world
        .request(GIT_REPOSITORY, "app", "of the repository itself");
    reviewed.status(2);
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.path.starts_with("/charts/"))
    );
    let told = reviewed.told();
    assert!(told.contains("ConfigMap db/leak") || told.contains("db/leak"), "{told}");
    for secret in [PASSWORD, &PASSWORD[..20], &STANDARD.encode(PASSWORD), TOKEN] {
        assert!(!told.contains(secret), "{secret}: {told}");
    }
}

#[test]
fn a_forge_that_is_down_or_limits_is_told_once_and_asked_again() {
    let Some(cluster) = Cluster::shared() else { return };
    let reviewed = start(cluster, "reviews-down", ForgeKind::GitHub, &json!({}));
    reviewed.repo.git(&["branch", "change", "main"]);
    reviewed.repo.commit(
        "change",
        "larger",
        &[Change::File("app/claim.yaml", claim("12Gi").as_bytes())],
    );
    reviewed.forge.fault(|_, _| Some(refused(400, "out of order")));
    reviewed.forge.open("change", "main", 1);
    reviewed.world.request(GIT_REPOSITORY, "app", "down");
    until("it is told", || !reviewed.warnings("ReviewFailed").is_empty());
    let lists = || reviewed.forge.api_requests().len();
    let before = lists();
    until("it is asked again", || lists() > before + 1);
    assert_eq!(
        reviewed.warnings("ReviewFailed").len(),
        1,
        "{:#?}",
        reviewed.warnings("ReviewFailed")
    );
    // What was posted when the login was refused is not posted again.
    reviewed.forge.fault(|request, _| {
        let is_status = request.method == "POST" && request.path.contains("/statuses/");
        is_status.then(|| refused(403, "Resource not accessible by personal access token"))
    });
    until("a comment is there", || reviewed.forge.comments().len() == 1);
    until("it is told", || reviewed.warnings("ReviewFailed").len() == 2);
    assert!(
        reviewed
            .warnings("ReviewFailed")
            .iter()
            .any(|text| text.contains("not accessible"))
    );
    reviewed.forge.healthy();
    assert_eq!(reviewed.status(1).0, "success");
    let comments = reviewed.forge.comments();
    assert_eq!((comments.len(), comments[0].edits), (1, 0));

    // A limit: nothing is asked before it ends.
    reviewed
        .forge
        .fault(|_, _| Some(refused(429, "slow down").header("Retry-After", "3600")));
    reviewed.world.request(GIT_REPOSITORY, "app", "limited");
    until("it is told", || {
        reviewed
            .log()
            .contains("the rate limit is used up, try again in 3600 s")
    });
    let before = lists();
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert_eq!(lists(), before);
}

#[test]
fn heads_that_are_gone_and_commits_without_a_common_one_are_told_and_others_are_reviewed() {
    let Some(cluster) = Cluster::shared() else { return };
    let reviewed = start(
        cluster,
        "reviews-gone",
        ForgeKind::GitHub,
        &json!({"bumpwright.dev/review-name": "production"}),
    );
    reviewed.repo.git(&["branch", "change", "main"]);
    reviewed.repo.commit(
        "change",
        "larger",
        &[Change::File("app/claim.yaml", claim("12Gi").as_bytes())],
    );
    reviewed
        .repo
        .commit("orphan", "alone", &[Change::File("app/claim.yaml", b"")]);
    for head in ["deleted", "orphan", "lost", "change"] {
        reviewed.forge.open(head, "main", 1);
        if head == "lost" {
            reviewed
                .forge
                .by_hand(|pull| pull.sha = "0123456789012345678901234567890123456789".to_owned());
        }
    }
    reviewed.world.request(GIT_REPOSITORY, "app", "opened");
    until("the last one is reviewed", || reviewed.forge.statuses().len() == 1);
    let status = reviewed.forge.statuses()[0].clone();
    assert_eq!(status.context, "bumpwright/review/production");
    assert_eq!(Some(status.commit), reviewed.repo.rev("change"));
    for told in [
        "the head of pull request #1 is gone",
        "pull request #2",
        "pull request #3",
    ] {
        until(told, || reviewed.log().contains(told));
    }
}
