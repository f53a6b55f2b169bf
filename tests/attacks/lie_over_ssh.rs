//! SSH servers that lie: at the greeting, about who they are, and after they have let the client in.

use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::siege::siege;
use crate::tarpit::{Tarpit, say, trickle};
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::sshd::{Sshd, keygen};
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::{GIT_REPOSITORY, SECRET, World, git_repository};

/// The timeout of each object, and how long all of them may take together: four of a namespace go on at once.
const TIMEOUT: Duration = Duration::from_secs(5);
const MOST: Duration = Duration::from_secs(60);

/// A line for known_hosts, and a key.
struct Login {
    hosts: String,
    key: String,
}

impl Login {
    fn of(hosts: String, key: &Path) -> Self {
        let key = std::fs::read_to_string(key).unwrap();
        Self { hosts, key }
    }
}

/// Says the same until the client is gone.
fn forever(stream: &mut TcpStream, text: &[u8]) {
    let text = text.repeat(1000);
    while say(stream, &text) {}
}

/// What is before the handshake: by name, with what the message has.
fn greetings() -> Vec<(&'static str, Tarpit, &'static str)> {
    let hello = |stream: &mut TcpStream| stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n").is_ok();
    vec![
        ("silent", Tarpit::silent(), "deadline exceeded"),
        ("trickle", Tarpit::start(trickle), "deadline exceeded"),
        (
            "lines",
            Tarpit::start(|stream| forever(stream, b"welcome\r\n")),
            "the SSH handshake failed",
        ),
        (
            "line",
            Tarpit::start(|stream| forever(stream, b"welcome")),
            "the SSH handshake failed",
        ),
        (
            "hello",
            Tarpit::start(move |stream| {
                hello(stream);
                while stream.read_some() {}
            }),
            "deadline exceeded",
        ),
        (
            "length",
            Tarpit::start(move |stream| {
                hello(stream);
                forever(stream, &[0xff; 64]);
            }),
            "the SSH handshake failed",
        ),
        (
            "zeros",
            Tarpit::start(move |stream| {
                hello(stream);
                forever(stream, &[0; 64]);
            }),
            "the SSH handshake failed",
        ),
    ]
}

trait ReadSome {
    fn read_some(&mut self) -> bool;
}

impl ReadSome for TcpStream {
    fn read_some(&mut self) -> bool {
        matches!(std::io::Read::read(self, &mut [0; 4096]), Ok(1..))
    }
}

/// What the server runs instead of the program that was asked for: by name, with what the message has.
fn programs(repository: &Path) -> Vec<(&'static str, String, &'static str)> {
    let pack = format!("git-upload-pack '{}'", repository.display());
    let id = "1".repeat(40);
    let reference = format!("{id} refs/tags/{}\n", "x".repeat(900));
    let references = format!("{:04x}{}", reference.len() + 4, reference.trim_end());
    vec![
        ("no-word", "sleep 1000".to_owned(), "deadline exceeded"),
        (
            "endless-errors",
            "yes no, and no again >&2".to_owned(),
            "deadline exceeded",
        ),
        // A line of `yes` is a packet. Nobody asked for these references, so that they are dropped as they come.
        ("endless-references", format!("yes '{references}'"), "deadline exceeded"),
        ("endless-zeros", "cat /dev/zero".to_owned(), "not the Git protocol"),
        // The greeting and the list are real, the pack stops, trickles, or goes on for ever.
        (
            "pack-stops",
            format!("{pack} | {{ dd bs=1 count=9000 status=none; sleep 1000; }}"),
            "deadline exceeded",
        ),
        (
            "pack-trickles",
            format!("{pack} | {{ dd bs=1 count=9000 status=none; while sleep 1; do printf x; done; }}"),
            "deadline exceeded",
        ),
        (
            "pack-endless",
            format!("{pack} | {{ dd bs=1 count=9000 status=none; cat /dev/zero; }}"),
            "a pack cannot be read",
        ),
    ]
}

fn add(world: &World<'_>, name: &str, url: &str, login: &Login) {
    let data = json!({"identity": login.key, "known_hosts": login.hosts});
    world.put(SECRET, name, json!({ "stringData": data }));
    let mut spec = git_repository(url);
    spec["timeout"] = json!(format!("{}s", TIMEOUT.as_secs()));
    spec["secretRef"] = json!({ "name": name });
    world.add(GIT_REPOSITORY, name, spec);
}

/// Each ends with its timeout or before, the message names the server and what is wrong, and no connection is left.
#[test]
fn at_every_step() {
    let Some(siege) = siege() else { return };
    let Some(server) = Sshd::start() else { return };
    let world = World::new(siege.cluster, "mallory-lies-over-ssh");
    let repo = world.repository("app.git");
    let noise = bumpwright_testkit::packets::noise(50_000);
    repo.commit("main", "first", &[Change::File("noise.bin", &noise)]);
    let key = keygen(&server.dir.path().join("any"), &["-t", "ed25519"]);
    let mut expected = Vec::new();
    let greetings = greetings();
    let began = Instant::now();
    for (name, pit, message) in &greetings {
        let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
        let login = Login::of(format!("[127.0.0.1]:{} {public}", pit.port), &key);
        add(&world, name, &format!("ssh://git@{}/app.git", pit.host()), &login);
        expected.push((*name, pit.host(), *message));
    }
    let host = format!("127.0.0.1:{}", server.port);
    // Its key is not the one that is known.
    let good = server.key("good", &["-t", "ed25519"]);
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    let stranger = Login::of(format!("[127.0.0.1]:{} {public}", server.port), &good);
    add(&world, "other-key", &server.url(&repo.dir), &stranger);
    expected.push(("other-key", host.clone(), "is not the one in known_hosts"));
    for (name, script, message) in programs(&repo.dir) {
        let key = server.forced_key(name, &script);
        let login = Login::of(server.host_line("ed25519"), &key);
        add(&world, name, &server.url(&repo.dir), &login);
        expected.push((name, host.clone(), message));
    }
    for (name, host, wanted) in &expected {
        let said = world.ready(GIT_REPOSITORY, name, "False", |_, message| {
            message.contains(host.as_str()) && message.contains(wanted)
        });
        assert!(said.len() < 2000, "{name}: {said}");
    }
    assert!(began.elapsed() < MOST, "{:?}", began.elapsed());
    // Suspended, they leave nothing behind.
    for (name, ..) in &expected {
        world.patch(GIT_REPOSITORY, name, &json!({"spec": {"suspend": true}}));
    }
    until("no connection is left", || {
        greetings.iter().all(|(_, pit, _)| pit.open() == 0)
    });
    siege.stands();
}
