//! Public servers that redirect the controller to private addresses: its own machine, its network, the metadata of its
//! cloud. Names that resolve to them count as much as addresses.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Once;
use std::thread;

use serde_json::{Value as Json, json};

use crate::siege::siege;
use bumpwright_testkit::http_server::Request;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::world::{GIT_REPOSITORY, IMAGE_REPOSITORY, OCI_REPOSITORY, ObjectKind, World, git_repository};

/// An address of the network for documentation (RFC 5737), which counts as outside. It is given to this
/// machine alone, and stays.
const OUTSIDE: &str = "198.51.100.7";

/// An address outside that leads to a server of the test's. None where this machine may not be given the address.
fn outside(server: SocketAddr) -> Option<SocketAddr> {
    static ADDED: Once = Once::new();
    ADDED.call_once(|| {
        let mut command = Command::new("ip");
        // It may be there from another run.
        let _ = command
            .args(["address", "add", &format!("{OUTSIDE}/32"), "dev", "lo"])
            .output();
    });
    let Ok(listener) = TcpListener::bind((OUTSIDE, 0)) else {
        assert!(std::env::var_os("CI").is_none(), "an address outside needs root");
        println!("skipped: an address outside needs root");
        return None;
    };
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(server) else {
                continue;
            };
            pass(client.try_clone().unwrap(), server.try_clone().unwrap());
            pass(server, client);
        }
    });
    Some(address)
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        to.shutdown(std::net::Shutdown::Write)
    });
}

/// A private server that records requests; there must be none.
struct Inside(StubHttp);

impl Inside {
    fn start() -> Self {
        Self(StubHttp::start(|_| {
            Reply::json(&json!({"token": "hunter2", "tags": ["hunter2"]}))
        }))
    }

    /// Its address as a number and as a name.
    fn addresses(&self) -> [String; 2] {
        let port = self.0.address().port();
        [format!("http://127.0.0.1:{port}"), format!("http://localhost:{port}")]
    }

    fn assert_untouched(&self) {
        let seen = self.0.requests();
        assert!(seen.is_empty(), "somebody was led inside: {seen:#?}");
    }
}

/// Adds an object for a public server; its redirect is refused, and the private server gets no request.
fn attack(
    name: &str,
    kind: ObjectKind,
    words: &str,
    spec: impl Fn(SocketAddr) -> Json,
    answer: fn(&Request, &str) -> Reply,
) {
    let Some(siege) = siege() else { return };
    let mallory = World::new(siege.cluster, &format!("mallory-{name}"));
    for way in 0..2 {
        let inside = Inside::start();
        let [address, name] = inside.addresses();
        let address = if way == 0 { address } else { name };
        let server = StubHttp::start(move |request| answer(request, &address));
        let Some(outside) = outside(server.address()) else {
            return;
        };
        let name = format!("led-{way}");
        mallory.add(kind, &name, spec(outside));
        let said = mallory.ready(kind, &name, "False", |_, said| said.contains(words));
        assert!(!said.contains("hunter2"), "{said}");
        assert!(server.count() > 0, "the server outside is asked");
        inside.assert_untouched();
    }
    siege.stands();
}

fn moved(address: &str, path: &str) -> Reply {
    Reply::status(307).header("Location", &format!("{address}/{path}"))
}

/// As a registry without logins that has one repository.
fn registry(request: &Request, answer: impl FnOnce(&str) -> Reply) -> Reply {
    match request.path.as_str() {
        "/v2/" => Reply::json(&json!({})),
        path => answer(path),
    }
}

fn images(outside: SocketAddr) -> Json {
    json!({"interval": "1h", "image": format!("{outside}/app"), "insecure": true})
}

fn artifact(outside: SocketAddr) -> Json {
    json!({"interval": "1h", "url": format!("oci://{outside}/app"), "insecure": true, "ref": {"tag": "1"}})
}

const WORDS: &str = "a private or link-local address";

/// A Git server redirects the advertisement.
#[test]
fn by_a_git_server() {
    let spec = |outside| git_repository(&format!("http://{outside}/app.git"));
    attack("git", GIT_REPOSITORY, WORDS, spec, |_, inside| {
        moved(inside, "app.git/info/refs?service=git-upload-pack")
    });
}

/// A registry redirects the list of tags.
#[test]
fn by_a_registry_that_moves() {
    attack("registry", IMAGE_REPOSITORY, WORDS, images, |request, inside| {
        registry(request, |_| moved(inside, "latest/meta-data"))
    });
}

/// A registry names a private token server.
#[test]
fn by_a_registry_that_names_a_token_server() {
    attack("realm", IMAGE_REPOSITORY, WORDS, images, |_, inside| {
        let challenge = format!("Bearer realm=\"{inside}/token\",service=\"r\"");
        Reply::status(401).header("WWW-Authenticate", &challenge)
    });
}

/// A registry redirects manifests to a private address.
#[test]
fn by_a_registry_of_artifacts() {
    attack("artifact", OCI_REPOSITORY, WORDS, artifact, |request, inside| {
        registry(request, |_| moved(inside, "blob"))
    });
}
