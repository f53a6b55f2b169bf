//! Webhooks with bytes changed, cut, repeated and swapped, from a generator with fixed seeds.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use fastrand::Rng;
use serde_json::json;

use crate::siege::siege;
use bumpwright_testkit::digests::github_signature;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{SECRET, World};

const TOKEN: &str = "s3cr3t-t0ken";
const SEEDS: u64 = 600;

fn body(random: &mut Rng) -> Vec<u8> {
    let push = json!({
        "ref": "refs/heads/main", "after": "a".repeat(40),
        "repository": {"full_name": "acme/fleet", "clone_url": "https://github.com/acme/fleet.git"},
        "push_data": {"tag": "1.2.3"}, "events": [{"action": "push", "target": {"repository": "a", "tag": "1"}}],
    })
    .to_string();
    match random.usize(..8) {
        0 => "[".repeat(random.usize(..1 << 20)).into_bytes(),
        1 => format!("{{\"repository\":{}1{}", "{\"a\":".repeat(50_000), "}".repeat(50_000)).into_bytes(),
        2 => vec![b'x'; (1 << 20) + random.usize(..64)],
        3 => format!("payload={}", push.replace('"', "%22")).into_bytes(),
        4 => (0..random.usize(..4096)).map(|_| random.u8(..)).collect(),
        5 => format!("{{\"events\":[{}]}}", vec!["{\"action\":\"push\"}"; 20_000].join(",")).into_bytes(),
        6 => format!("{{\"ref\":\"{}\"}}", "\\u0000\\ud800é".repeat(random.usize(..20_000))).into_bytes(),
        _ => push.into_bytes(),
    }
}

fn head(random: &mut Rng, body: &[u8]) -> Vec<u8> {
    let providers = [
        "github",
        "gitlab",
        "gitea",
        "bitbucket",
        "dockerhub",
        "harbor",
        "quay",
        "generic",
        "..%2f",
        "\u{e9}",
    ];
    let method = random
        .choice(["POST", "POST", "POST", "POST", "GET", "PUT", "BREW"])
        .unwrap();
    let path = format!(
        "/hook/{}{}",
        random.choice(providers).unwrap(),
        "/x".repeat(random.usize(..3))
    );
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: x\r\n");
    for _ in 0..random.usize(..4) {
        let name = random
            .choice([
                "X-GitHub-Event",
                "X-Gitlab-Event",
                "X-Gitea-Event",
                "X-Event-Key",
                "Content-Type",
                "X-Gitlab-Token",
            ])
            .unwrap();
        let value = random
            .choice([
                "push",
                "Push Hook",
                "ping",
                "repo:push",
                "application/x-www-form-urlencoded",
                TOKEN,
            ])
            .unwrap();
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match random.usize(..5) {
        0 => head.push_str(&format!("X-Hub-Signature-256: {}\r\n", github_signature(TOKEN, body))),
        1 => head.push_str("X-Hub-Signature-256: sha256=zz\r\n"),
        2 => head.push_str(&format!(
            "X-Hub-Signature-256: sha256={}\r\n",
            "0".repeat(random.usize(..5_000))
        )),
        3 => head.push_str(&format!("Authorization: Bearer {TOKEN}\r\n")),
        _ => head.push_str(&"X-Many: 1\r\n".repeat(random.usize(..300))),
    }
    head.into_bytes()
}

/// A request, whole or not.
fn request(seed: u64) -> Vec<u8> {
    let random = &mut Rng::with_seed(seed);
    let body = body(random);
    let mut bytes = head(random, &body);
    match random.usize(..5) {
        0 => {
            bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n");
            let size = random.usize(1..=5_000);
            for chunk in body.chunks(size) {
                bytes.extend(format!("{:x};{}\r\n", chunk.len(), "e".repeat(random.usize(..20))).into_bytes());
                bytes.extend(chunk);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
        }
        1 => bytes.extend(format!("Content-Length: {}\r\n\r\n", usize::MAX).into_bytes()),
        2 => bytes.extend(b"Content-Length: -1\r\nContent-Length: 7\r\n\r\n"),
        _ => bytes.extend(format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes()),
    }
    bytes.extend(&body);
    for _ in 0..random.usize(..4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.usize(..bytes.len());
        match random.usize(..3) {
            0 => bytes[at] = random.u8(..),
            1 => bytes.truncate(at),
            _ => bytes.insert(at, b'\n'),
        }
    }
    bytes
}

/// Clients send invalid requests, some of them signed. Each is answered or closed in time, at
/// little cost, and a valid one is handled afterwards.
#[test]
fn no_garbled_webhook_costs_more_than_its_answer() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-garbles");
    let port = free_port();
    world.put(
        SECRET,
        "hooks",
        json!({"stringData": {"github": TOKEN, "dockerhub": TOKEN, "harbor": TOKEN}}),
    );
    let address = format!("--webhook-addr=127.0.0.1:{port}");
    let controller = world.controller(&[&address, "--webhook-secret=hooks"]);
    until("it is ready", || {
        controller.probe("readyz").is_some_and(|(status, _)| status == 200)
    });
    let mut longest = Duration::ZERO;
    for seed in 0..SEEDS {
        let began = Instant::now();
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
        // It may be closed before its end.
        let _ = stream.write_all(&request(seed));
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let took = began.elapsed();
        longest = longest.max(took);
        assert!(took < Duration::from_secs(50), "seed {seed}: {took:?}, {read:?}");
        assert!(
            !answer.starts_with(b"HTTP/1.1 5"),
            "seed {seed}: {}",
            String::from_utf8_lossy(&answer)
        );
        assert!(controller.is_running(), "seed {seed} ended it");
    }
    let peak = controller.memory("VmHWM");
    println!("{SEEDS} webhooks, {longest:?} at most; peak {peak} KiB");
    assert!(peak < 256 << 10, "{peak} KiB");
    let body = br#"{"zen": "x", "hook_id": 1}"#;
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .new_agent();
    let answer = agent
        .post(format!("http://127.0.0.1:{port}/hook/github"))
        .header("X-GitHub-Event", "ping")
        .header("X-Hub-Signature-256", github_signature(TOKEN, body))
        .send(&body[..])
        .unwrap();
    assert!(answer.status().as_u16() < 300, "{}", answer.status());
    siege.stands();
}
