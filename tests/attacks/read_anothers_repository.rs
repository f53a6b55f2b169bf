//! Reading a foreign repository from the controller's mirrors, and blocking others who share one.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;

use crate::siege::siege;
use bumpwright_testkit::git_http::{Fault, Login, Options};
use bumpwright_testkit::http_server::HttpServer;
use bumpwright_testkit::packets::frame;
use bumpwright_testkit::proxy::Proxy;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::world::{AUTOMATION, GIT_REPOSITORY, SECRET, World, automation, git_repository};

/// A Git server without objects that claims that `main` is at `commit`, and records its requests.
struct Liar {
    server: HttpServer,
    fetches: Arc<Mutex<Vec<String>>>,
}

impl Liar {
    fn start(commit: &str) -> Self {
        let fetches: Arc<Mutex<Vec<String>>> = Arc::default();
        let (asked, commit) = (Arc::clone(&fetches), commit.to_owned());
        let server = HttpServer::start(None, move |request, out| {
            let body = String::from_utf8_lossy(&request.body).into_owned();
            let (kind, packets) = if request.path.ends_with("/info/refs") {
                let lines = ["version 2\n", "ls-refs\n", "fetch=shallow\n", "object-format=sha1\n"];
                let lines = lines.map(|line| frame(line.as_bytes())).concat();
                let head = [frame(b"# service=git-upload-pack\n"), b"0000".to_vec()].concat();
                ("advertisement", [head, lines, b"0000".to_vec()].concat())
            } else if body.contains("command=ls-refs") {
                let line = format!("{commit} refs/heads/main\n");
                ("result", [frame(line.as_bytes()), b"0000".to_vec()].concat())
            } else {
                asked.lock().push(body);
                ("result", frame(b"ERR upload-pack: not our ref"))
            };
            let kind = format!("application/x-git-upload-pack-{kind}");
            Reply::bytes(200, &kind, packets).send(request, out)
        });
        Self { server, fetches }
    }
}

/// A tenant names a foreign private repository and its user, a wrong password, and a proxy of his own, behind which a
/// server says that the branch is at a commit that he has heard of. He gets neither the files, nor a word of what the
/// controller has of them.
#[test]
fn by_a_proxy_that_lies() {
    let Some(siege) = siege() else { return };
    let login = Options {
        login: Login::Basic("fleet".to_owned(), "hunter2".to_owned()),
        ..Options::default()
    };
    let alice = World::with_git(siege.cluster, "alice-private", login);
    let files = [Change::File("secret.yaml", b"kind: Plan\n")];
    let commit = alice.repository("private.git").commit("main", "first", &files);
    let url = alice.git.url("private.git");
    let repository = |secret: &str| {
        let mut spec = git_repository(&url);
        spec["secretRef"] = json!({ "name": secret });
        spec
    };
    alice.put(
        SECRET,
        "login",
        json!({"stringData": {"username": "fleet", "password": "hunter2"}}),
    );
    alice.add(GIT_REPOSITORY, "private", repository("login"));
    alice.ready(GIT_REPOSITORY, "private", "True", |_, _| true);

    let liar = Liar::start(&commit);
    let (_, host) = url.split_once("://").unwrap();
    let (host, _) = host.split_once('/').unwrap();
    let proxy = Proxy::leading(None, &[(host, liar.server.address())]);
    let mallory = World::new(siege.cluster, "mallory-proxy");
    mallory.put(
        SECRET,
        "login",
        json!({"stringData": {"username": "fleet", "password": "guess"}}),
    );
    let address = format!("http://{}", proxy.address);
    mallory.put(SECRET, "proxy", json!({"stringData": {"address": address}}));
    let mut spec = repository("login");
    spec["proxySecretRef"] = json!({"name": "proxy"});
    mallory.add(GIT_REPOSITORY, "stolen", spec);
    mallory.ready(GIT_REPOSITORY, "stolen", "False", |reason, _| {
        reason == "GitOperationFailed"
    });
    let stolen = mallory.get(GIT_REPOSITORY, "stolen");
    assert!(stolen["status"]["artifact"].is_null(), "{:#}", stolen["status"]);
    let mut bot = automation("stolen");
    bot["git"]["push"] = json!({"branch": "out"});
    mallory.add(AUTOMATION, "bot", bot);
    mallory.ready(AUTOMATION, "bot", "False", |reason, _| reason == "GitOperationFailed");
    // Nor does the server learn from what is offered as common ground what is there.
    let asked = liar.fetches.lock().clone();
    assert!(
        !asked.is_empty() && asked.iter().all(|body| !body.contains("have ")),
        "{asked:?}"
    );
    assert!(!proxy.targets().is_empty(), "his proxy was used");
    siege.stands();
}

/// A tenant has a transfer that never ends, with ten hours to spare, from a repository that others use as well. They
/// wait for it as long as they want to and not as long as he does, and are told.
#[test]
fn by_a_transfer_that_never_ends() {
    let Some(siege) = siege() else { return };
    let alice = World::new(siege.cluster, "alice-shared");
    let files = [Change::File("map.yaml", b"kind: ConfigMap\n")];
    alice.repository("shared.git").commit("main", "first", &files);
    alice.git.intercept(|seen| {
        let fetches = seen.service == "git-upload-pack" && seen.body.windows(5).any(|word| word == b"want ");
        fetches.then_some(Fault::StallAfter(100))
    });
    let spec = |timeout: &str| {
        let mut spec = git_repository(&alice.git.url("shared.git"));
        spec["timeout"] = json!(timeout);
        spec
    };
    let mallory = World::new(siege.cluster, "mallory-stalls");
    mallory.add(GIT_REPOSITORY, "stalled", spec("600m"));
    bumpwright_testkit::waiting::until("his transfer has begun", || {
        let wants = |seen: &&bumpwright_testkit::git_http::Seen| seen.body.windows(5).any(|word| word == b"want ");
        alice.git.requests().iter().filter(wants).count() > 0
    });
    alice.add(GIT_REPOSITORY, "shared", spec("2s"));
    let message = alice.ready(GIT_REPOSITORY, "shared", "False", |reason, _| {
        reason == "GitOperationFailed"
    });
    assert!(message.contains("another transfer"), "{message}");
    assert!(message.contains("within 2s"), "{message}");
    let _ = mallory.delete(GIT_REPOSITORY, "stalled");
    std::thread::sleep(Duration::from_millis(1));
    siege.stands();
}
