//! What a Git server sends: to a fetch, to a push, and texts of repositories.

use std::io::{BufRead, Cursor};
use std::path::PathBuf;
use std::sync::Arc;

use bumpwright_git::{
    Also, Checkout, Connection, Mirror, MirrorOptions, ObjectId, Objects, Protocol, Push, RefUpdate, RemoteUrl,
    Service, Transport, TransportError, address_of_submodule, check_reference, submodules_named,
};
use parking_lot::Mutex;

/// A server whose words are known before it is asked.
struct Script {
    /// What each request gets; a server that keeps its state has one text for all of them.
    parts: Mutex<Vec<Vec<u8>>>,
    stateless: bool,
}

struct Talk {
    rest: Arc<Script>,
    stream: Cursor<Vec<u8>>,
}

impl Script {
    fn new(input: &[u8]) -> Arc<Self> {
        let mut parts: Vec<Vec<u8>> = super::parts(input).into_iter().map(<[u8]>::to_vec).collect();
        parts.reverse();
        let stateless = parts.len() > 1;
        Arc::new(Self {
            parts: Mutex::new(parts),
            stateless,
        })
    }

    fn whole(input: &[u8]) -> Arc<Self> {
        Arc::new(Self {
            parts: Mutex::new(vec![input.to_vec()]),
            stateless: false,
        })
    }

    fn next(&self) -> Vec<u8> {
        self.parts.lock().pop().unwrap_or_default()
    }
}

/// The server that says this, to the end.
pub fn server(input: &[u8]) -> impl Transport + use<> {
    Server(Script::whole(input))
}

struct Server(Arc<Script>);

impl Transport for Server {
    fn connect(&self, _: Service, _: Protocol) -> Result<Box<dyn Connection>, TransportError> {
        let stream = Cursor::new(if self.0.stateless { Vec::new() } else { self.0.next() });
        Ok(Box::new(Talk {
            rest: Arc::clone(&self.0),
            stream,
        }))
    }
}

impl Connection for Talk {
    fn stateless(&self) -> bool {
        self.rest.stateless
    }

    fn advertisement(&mut self) -> Result<Box<dyn BufRead + Send + '_>, TransportError> {
        self.request(b"")
    }

    fn request(&mut self, _: &[u8]) -> Result<Box<dyn BufRead + Send + '_>, TransportError> {
        if self.rest.stateless {
            return Ok(Box::new(Cursor::new(self.rest.next())));
        }
        Ok(Box::new(&mut self.stream))
    }

    fn finish(self: Box<Self>) -> Result<(), TransportError> {
        Ok(())
    }
}

/// A folder for mirrors, in memory where there is such a place.
pub fn folder() -> tempfile::TempDir {
    let memory = PathBuf::from("/dev/shm");
    let made = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    made.expect("a folder is made")
}

/// Reads what a commit leads to.
pub fn walked(objects: &Objects, tree: ObjectId, depth: usize) {
    let Ok(tree) = objects.tree(tree) else { return };
    for entry in tree.entries().take(20).flatten() {
        if entry.kind.is_file() {
            let _ = objects.blob(entry.id, 1 << 20);
        } else if depth < 4 {
            walked(objects, entry.id, depth + 1);
        }
    }
}

/// A server's side of a fetch.
pub fn fetch(input: &[u8]) {
    let checkouts = [
        Checkout::Branch("main".to_owned()),
        Checkout::Default,
        Checkout::Semver {
            range: "*".to_owned(),
            choose: &|tags: &[String]| tags.first().cloned(),
        },
        Checkout::Name("refs/tags/v1".to_owned()),
    ];
    for shallow in [true, false] {
        let folder = folder();
        let server = Arc::new(Server(Script::new(input)));
        let mirror = Mirror::open(folder.path(), "m", server, MirrorOptions { shallow }).expect("a mirror is opened");
        let also = [Also {
            reference: "refs/heads/other".to_owned(),
            fetch: true,
        }];
        for checkout in &checkouts {
            let mirror = mirror.with_transport(Arc::new(Server(Script::new(input))));
            if let Ok(fetched) = mirror.fetch(checkout, &also) {
                walked(&fetched.objects, fetched.tip.tree, 0);
            }
        }
    }
}

/// A server's side of a push.
pub fn push(input: &[u8]) {
    let folder = folder();
    let server = Arc::new(Server(Script::new(input)));
    let mirror = Mirror::open(folder.path(), "m", server, MirrorOptions::default()).expect("a mirror is opened");
    let id = |digit: &str| ObjectId::from_hex(digit.repeat(40).as_bytes()).expect("it is an id");
    let update = |name: &str, expect, new| RefUpdate {
        reference: name.to_owned(),
        expect,
        new,
        force: true,
    };
    let push = Push {
        updates: vec![
            update("refs/heads/a", Some(id("1")), None),
            update("refs/heads/b", Some(id("1")), Some(id("2"))),
            update("refs/for/main", None, Some(id("2"))),
        ],
        options: vec![("topic".to_owned(), "x".to_owned())],
        allow_dropped_push_options: true,
    };
    for statuses in [
        mirror.push_each(&push, None),
        mirror.push_each(
            &Push {
                options: Vec::new(),
                ..push.clone()
            },
            None,
        ),
    ] {
        for status in statuses.into_iter().flatten() {
            assert!(
                !status.said.contains(|c: char| c.is_control() && c != '\n'),
                "{:?}",
                status.said
            );
        }
    }
    let _ = mirror.holders("refs/heads/", id("1"));
}

/// Addresses, names of references, `.gitmodules`.
pub fn text(input: &[u8]) {
    let (first, second) = super::halves(input);
    for module in submodules_named(first).unwrap_or_default() {
        let _ = RemoteUrl::parse(&address_of_submodule("https://h/o/r.git", &module.url));
    }
    let (first, second) = (String::from_utf8_lossy(first), String::from_utf8_lossy(second));
    let _ = check_reference(&first);
    let address = address_of_submodule(&first, &second);
    for text in [first.as_ref(), &address] {
        if let Ok(url) = RemoteUrl::parse(text) {
            let shown = url.to_string();
            let again = RemoteUrl::parse(&shown).expect("an address that is shown is read");
            assert_eq!(again.to_string(), shown);
            let _ = (url.host(), url.user(), url.ssh_path(), url.local_path());
        }
    }
}
