//! Lists of versions: Kustomizations that are reconciled at the same time share them, no change is overlooked for that,
//! and a list that the API server does not answer is no reason to compare the objects one by one.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bumpwright_testkit::api_proxy::{ApiProxy, is_watch};
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::controller::Controller;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::kustomize_world::{KustomizeWorld, documents, map, revision};
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::waiting::wait_for;
use bumpwright_testkit::world::{CONFIG_MAP, KUSTOMIZATION};
use serde_json::json;

/// How many Kustomizations there are, each with objects of three kinds.
const MANY: usize = 10;

/// Kustomizations of one source behind a proxy that counts.
struct Crowd<'a> {
    world: KustomizeWorld<'a>,
    proxy: ApiProxy,
    kubeconfig: PathBuf,
    many: usize,
}

/// A list of versions.
fn is_list(request: &Request) -> bool {
    let labels = request.parameters("labelSelector").concat();
    request.method == "GET" && !is_watch(request) && labels.contains("kustomize.toolkit.fluxcd.io/name")
}

fn is_dry_run(request: &Request) -> bool {
    request.parameter("dryRun").is_some()
}

impl<'a> Crowd<'a> {
    fn new(cluster: &'a Cluster, namespace: &str, many: usize) -> Self {
        Self::every(cluster, namespace, many, "1h")
    }

    fn every(cluster: &'a Cluster, namespace: &str, many: usize, interval: &str) -> Self {
        let world = KustomizeWorld::new(cluster, namespace);
        let proxy = ApiProxy::start(cluster);
        let kubeconfig = proxy.kubeconfig(world.folder.path(), None);
        let this = Self {
            world,
            proxy,
            kubeconfig,
            many,
        };
        this.publish("1");
        for name in this.names() {
            let source = json!({"kind": "GitRepository", "name": "app"});
            let spec = json!({"sourceRef": source, "path": format!("./{name}"), "interval": interval});
            this.world.kustomize(&name, spec);
        }
        this
    }

    fn names(&self) -> Vec<String> {
        (0..self.many).map(|number| format!("k{number}")).collect()
    }

    /// A revision in which all objects are as before: all Kustomizations are due at once.
    fn publish(&self, revision: &str) {
        let file = |name: &String| {
            let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}});
            let secret =
                json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"key": "1"}});
            let objects = documents(&[map(name, "1"), account.to_string(), secret.to_string()]);
            (format!("{name}/all.yaml"), objects)
        };
        let files: Vec<_> = self.names().iter().map(file).collect();
        let mut files: Vec<_> = files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        files.push(("revision", revision));
        self.world.publish("app", revision, &files);
    }

    fn start(&self) -> Controller {
        self.world.controller_through(&self.kubeconfig, "controller", &[])
    }

    fn applied(&self, revision: &str) {
        for name in self.names() {
            self.world.applied(&name, revision);
        }
    }

    /// The requests of a round for a revision.
    fn round(&self, revision: &str) -> Vec<Request> {
        self.proxy.clear();
        self.publish(revision);
        self.applied(revision);
        self.proxy.requests()
    }

    /// How many lists of versions there were, by kind.
    fn lists(requests: &[Request]) -> BTreeMap<String, usize> {
        let mut lists = BTreeMap::new();
        for request in requests.iter().filter(|request| is_list(request)) {
            let kind = request.path.rsplit('/').next().unwrap_or_default();
            *lists.entry(kind.to_owned()).or_default() += 1;
        }
        lists
    }

    /// Lists of versions are answered by `answer`, which knows how many there were before.
    fn answer_lists(&self, answer: impl Fn(usize) -> Option<Reply> + Send + Sync + 'static) -> Arc<AtomicUsize> {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        self.proxy.intercept(move |request| {
            is_list(request)
                .then(|| answer(counted.fetch_add(1, Ordering::SeqCst)))
                .flatten()
        });
        count
    }
}

fn each(count: usize) -> BTreeMap<String, usize> {
    ["configmaps", "secrets", "serviceaccounts"]
        .map(|kind| (kind.to_owned(), count))
        .into()
}

#[test]
fn a_round_of_many_kustomizations_sends_one_list_per_kind() {
    let Some(cluster) = Cluster::shared() else { return };
    let crowd = Crowd::new(cluster, "lists-many", MANY);
    let controller = crowd.start();
    crowd.applied("1");
    // It turns out that several ask at once: all but the first share a list.
    let warm = Crowd::lists(&crowd.round("2"));
    assert!(warm.values().all(|count| *count < MANY), "{warm:?}");
    for round in ["3", "4"] {
        let requests = crowd.round(round);
        assert_eq!(Crowd::lists(&requests), each(1), "{}", controller.log());
        assert_eq!(requests.iter().filter(|request| is_dry_run(request)).count(), 0);
    }
    // What was changed before the round is found in it, by a list of any of them.
    let patch = json!({"data": {"key": "drifted"}});
    for name in crowd.names() {
        crowd.world.patch(CONFIG_MAP, &name, &patch);
    }
    let requests = crowd.round("5");
    assert_eq!(Crowd::lists(&requests), each(1));
    for name in crowd.names() {
        assert_eq!(crowd.world.value(&name, "key"), "1", "{name}");
    }
    // And by the request of one of them.
    for at in ["once", "twice"] {
        crowd.world.patch(CONFIG_MAP, "k3", &patch);
        crowd.world.again("k3", at);
        assert_eq!(crowd.world.value("k3", "key"), "1", "{at}");
    }
}

/// Those that have come one after the other, each with lists of its own, come together at their next interval.
#[test]
fn those_that_are_due_one_after_the_other_share_lists() {
    let Some(cluster) = Cluster::shared() else { return };
    let crowd = Crowd::every(cluster, "lists-staggered", MANY, "60s");
    let _controller = crowd.start();
    crowd.applied("1");
    crowd.proxy.clear();
    for name in crowd.names() {
        crowd.world.again(&name, "once");
    }
    assert_eq!(Crowd::lists(&crowd.proxy.requests()), each(MANY));
    crowd.proxy.clear();
    let written = |requests: &[Request]| {
        let status = |name: &String| format!("/kustomizations/{name}/status");
        let is_of = |name: &String| requests.iter().any(|request| request.path.ends_with(&status(name)));
        crowd.names().iter().filter(|name| is_of(name)).count()
    };
    wait_for(
        || (written(&crowd.proxy.requests()) == MANY).then_some(()),
        || format!("{} have come", written(&crowd.proxy.requests())),
    );
    let lists = Crowd::lists(&crowd.proxy.requests());
    assert!(lists.values().all(|count| *count <= MANY / 2), "{lists:?}");
}

/// A busy server is waited for: three times it says so, and then it answers.
#[test]
fn a_list_that_is_answered_late_costs_no_dry_run() {
    let Some(cluster) = Cluster::shared() else { return };
    let crowd = Crowd::new(cluster, "lists-late", 1);
    let _controller = crowd.start();
    crowd.applied("1");
    for (round, status) in [("2", 503), ("3", 500)] {
        // The client itself asks again after a 503; after a 500 there are three attempts for each kind.
        let fails = if status == 503 { 9 } else { 2 };
        let lists = crowd.answer_lists(move |before| (before < fails).then(|| Reply::status(status)));
        let requests = crowd.round(round);
        assert!(lists.load(Ordering::SeqCst) > fails);
        assert_eq!(
            requests.iter().filter(|request| is_dry_run(request)).count(),
            0,
            "{status}"
        );
    }
}

/// A server that does not answer lists gets no dry runs instead. Nothing is written or deleted meanwhile.
#[test]
fn a_list_that_is_never_answered_fails_the_apply() {
    let Some(cluster) = Cluster::shared() else { return };
    let crowd = Crowd::new(cluster, "lists-never", 1);
    let _controller = crowd.start();
    crowd.applied("1");
    let lists = crowd.answer_lists(|_| Some(Reply::status(500)));
    crowd.proxy.clear();
    // Its Secret is not in the revision any more.
    crowd
        .world
        .publish("app", "2", &[("k0/all.yaml", map("k0", "1").as_str())]);
    let message = crowd.world.refused("k0", "ReconciliationFailed");
    let wanted = format!(
        "the API server did not answer the list of ConfigMap in namespace {}, so what has changed",
        crowd.world.namespace
    );
    assert!(message.starts_with(&wanted), "{message}");
    assert!(lists.load(Ordering::SeqCst) >= 3);
    let about = |request: &&Request| request.path.contains("/configmaps/") || request.path.contains("/secrets/");
    let requests = crowd.proxy.requests();
    let requests: Vec<_> = requests
        .iter()
        .filter(about)
        .filter(|request| request.method != "GET")
        .map(|request| format!("{} {}", request.method, request.target))
        .collect();
    assert_eq!(requests, Vec::<String>::new());
    assert_eq!(crowd.world.inventory("k0").len(), 3);
    // It is tried again at the retry interval.
    crowd.proxy.intercept(|_| None);
    crowd.world.applied("k0", "2");
    wait_for(
        || crowd.world.inventory("k0").len() == 1,
        || format!("{:#}", crowd.world.get(KUSTOMIZATION, "k0")),
    );
    assert_eq!(
        crowd.world.get(KUSTOMIZATION, "k0")["status"]["lastAppliedRevision"],
        revision("2")
    );
}

/// What may not be listed is compared one by one.
#[test]
fn a_list_that_is_refused_costs_dry_runs() {
    let Some(cluster) = Cluster::shared() else { return };
    let crowd = Crowd::new(cluster, "lists-refused", 1);
    let _controller = crowd.start();
    crowd.applied("1");
    for (round, status) in [("2", 403), ("3", 404), ("4", 405)] {
        let lists = crowd.answer_lists(move |_| Some(Reply::status(status)));
        let requests = crowd.round(round);
        assert_eq!(lists.load(Ordering::SeqCst), 3, "{status}: once for each kind");
        assert_eq!(
            requests.iter().filter(|request| is_dry_run(request)).count(),
            3,
            "{status}"
        );
    }
}
