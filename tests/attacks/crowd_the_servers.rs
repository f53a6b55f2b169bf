//! Connections to the controller's own servers that send nothing, or too little.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::siege::siege;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{GIT_REPOSITORY, SECRET, World, git_repository};

/// The time limit of an answer on a busy machine. The kubelet's limit is a second, and three probes until
/// it restarts the pod.
const SOON: Duration = Duration::from_secs(5);

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// The first line of the answer, and how long it took.
fn ask(port: u16, request: &str) -> (String, Duration) {
    let began = Instant::now();
    let mut stream = connect(port);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => answer.push(byte[0]),
            _ => break,
        }
    }
    (String::from_utf8_lossy(&answer).trim().to_owned(), began.elapsed())
}

/// This process has the other ends of all connections.
fn raise_the_limit_of_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
}

/// Connects a thousand times, sends this, and nothing more. Then another client sends requests, again and again.
fn crowd(port: u16, beginning: &str, request: &str, expected: &str) {
    raise_the_limit_of_files();
    let mut crowd = Vec::new();
    for _ in 0..1_000 {
        let mut stream = connect(port);
        // The server may have closed it already.
        let _ = stream.write_all(beginning.as_bytes());
        crowd.push(stream);
    }
    for round in 0..5 {
        let (answer, took) = ask(port, request);
        println!("port {port}, {beginning:?}, {round}: {answer} after {took:?}");
        assert!(answer.starts_with(expected), "{answer:?}");
        assert!(took < SOON, "{took:?}");
        // A closed client reconnects.
        crowd.rotate_left(100);
        crowd.truncate(900);
        crowd.extend((0..100).map(|_| connect(port)));
    }
}

/// A tenant opens a thousand connections to metrics and probes and sends nothing, or half a request, so that the
/// kubelet would restart the controller.
#[test]
fn probes_are_answered_in_a_crowd() {
    let Some(siege) = siege() else { return };
    let (metrics, health) = siege.controller.ports();
    until("it serves both", || {
        [metrics, health]
            .iter()
            .all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok())
    });
    for beginning in ["", "GET /healthz HTT", "GET /healthz HTTP/1.1\r\nHost: x\r\nX: "] {
        crowd(
            health,
            beginning,
            "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
            "HTTP/1.1 200",
        );
        crowd(
            metrics,
            beginning,
            "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
            "HTTP/1.1 200",
        );
    }
    siege.stands();
}

/// The same to artifacts and webhooks, so that nothing would be applied and no push noticed.
#[test]
fn artifacts_and_webhooks_are_served_in_a_crowd() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-crowds");
    let (artifacts, webhooks) = (free_port(), free_port());
    world.put(SECRET, "hooks", json!({"stringData": {"github": "s3cr3t-t0ken"}}));
    let repo = world.repository("a.git");
    repo.commit(
        "main",
        "1",
        &[bumpwright_testkit::repo::Change::File("a.yaml", b"a: 1\n")],
    );
    let mut fields = json!({"spec": git_repository(&world.git.url("a.git"))});
    fields["metadata"]["labels"]["siege"] = json!(crate::siege::OUTSIDE);
    world.put(GIT_REPOSITORY, "a", fields);
    let controller = world.controller(&[
        "--controllers=source",
        &format!("--storage-addr=127.0.0.1:{artifacts}"),
        &format!("--storage-adv-addr=127.0.0.1:{artifacts}"),
        &format!("--webhook-addr=127.0.0.1:{webhooks}"),
        "--webhook-secret=hooks",
    ]);
    world.ready(GIT_REPOSITORY, "a", "True", |_, _| true);
    let artifact = world.get(GIT_REPOSITORY, "a")["status"]["artifact"]["path"]
        .as_str()
        .unwrap()
        .to_owned();
    let fetch = format!("GET /{artifact} HTTP/1.1\r\nHost: x\r\n\r\n");
    let hook = "POST /hook/github HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";
    for beginning in [
        "",
        "GET /gitrep",
        "POST /hook/github HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
    ] {
        crowd(artifacts, beginning, &fetch, "HTTP/1.1 200");
        crowd(webhooks, beginning, hook, "HTTP/1.1 40");
    }
    until("it is well", || {
        controller.probe("healthz").is_some_and(|(status, _)| status == 200)
    });
    assert!(
        controller.memory("VmHWM") < 256 << 10,
        "{} KiB",
        controller.memory("VmHWM")
    );
    siege.stands();
}
