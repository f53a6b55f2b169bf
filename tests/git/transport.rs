//! Each transport against the real server: `git http-backend` and the git programs as children.

use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant};

use bumpwright_git::{Auth, Protocol, Remote, RemoteUrl, Service, TransportError, open};
use bumpwright_secret::Secret;
use bumpwright_testkit::again;
use bumpwright_testkit::git_http::{Fault, GitHttp, Login, Options};
use bumpwright_testkit::packets::{LS_REFS, list, push, read};
use bumpwright_testkit::repo::{Change, Repo, git};

fn remote(url: &str) -> Remote {
    Remote {
        // Nothing waits for it to pass.
        timeout: Duration::from_secs(120),
        ..Remote::new(RemoteUrl::parse(url).unwrap())
    }
}

fn list_at(remote: &Remote) -> Result<Vec<String>, TransportError> {
    list(open(remote)?.as_ref())
}

/// A folder with the repository `r.git`, and the line that listing its branches gives.
fn served() -> (tempfile::TempDir, Repo, String) {
    let root = tempfile::tempdir().unwrap();
    let repo = Repo::init(root.path().join("r.git"));
    let id = repo.commit("main", "first", &[Change::File("a", b"1\n")]);
    (root, repo, format!("{id} refs/heads/main\n"))
}

fn basic(user: &str, password: &str) -> Auth {
    Auth::Basic {
        username: user.to_owned(),
        password: Secret::new(password),
    }
}

#[test]
fn local_path_and_file_url() {
    let (root, _, line) = served();
    let path = root.path().join("r.git");
    for url in [path.display().to_string(), format!("file://{}", path.display())] {
        assert_eq!(list_at(&remote(&url)).unwrap(), std::slice::from_ref(&line));
    }
}

#[test]
fn local_path_with_quote_and_blank() {
    let root = tempfile::tempdir().unwrap();
    let repo = Repo::init(root.path().join("it's a repo.git"));
    let id = repo.commit("main", "first", &[]);
    assert_eq!(
        list_at(&remote(repo.dir.to_str().unwrap())).unwrap(),
        [format!("{id} refs/heads/main\n")]
    );
}

#[test]
fn pushes_of_many_bytes_and_their_refusal() {
    let (root, repo, _) = served();
    let server = GitHttp::start(root.path());
    let source = Repo::init(root.path().join("source.git"));
    for (name, url) in [("local", repo.dir.display().to_string()), ("http", server.url("r.git"))] {
        let new = source.commit(
            name,
            name,
            &[Change::File("noise", &bumpwright_testkit::packets::noise(3 << 20))],
        );
        let transport = open(&remote(&url)).unwrap();
        let reference = format!("refs/heads/{name}");
        let report = push(transport.as_ref(), &source, &new, &reference).unwrap();
        assert_eq!(report, ["unpack ok\n".to_owned(), format!("ok {reference}\n")]);
        assert_eq!(repo.rev(name), Some(new.clone()));
        let report = push(transport.as_ref(), &source, &new, &reference).unwrap();
        assert!(
            report.iter().any(|line| line.starts_with(&format!("ng {reference} "))),
            "{report:?}"
        );
    }
    repo.fsck();
}

/// In a child process, because git is told by the environment whose repository it is.
#[test]
fn local_environment_and_ownership() {
    if let Ok(path) = std::env::var("BUMPWRIGHT_TEST_PATH") {
        match list_at(&remote(&path)) {
            Ok(lines) => println!("lines {}", lines.len()),
            Err(TransportError::Config { detail, .. }) => println!("refused {detail}"),
            Err(other) => panic!("{other:?}"),
        }
        return;
    }
    let (root, repo, _) = served();
    let child = |name: &str, value: &str| {
        let mut command = again(local_environment_and_ownership);
        bumpwright_testkit::repo::hermetic(&mut command);
        bumpwright_testkit::repo::run_text(
            command
                .arg("--nocapture")
                .env("BUMPWRIGHT_TEST_PATH", &repo.dir)
                .env("HOME", root.path())
                .env(name, value),
        )
    };
    for name in ["GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "GIT_SHALLOW_FILE"] {
        assert!(child(name, "/nowhere").contains("lines 1"), "{name}");
    }
    let text = child("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1");
    let hint = format!(
        "refused git refuses this repository because it belongs to another user; allow it with \
                        `git config --global --add safe.directory {}`",
        repo.dir.display()
    );
    assert!(text.contains(&hint), "{text}");
}

#[test]
fn local_advertisement_in_version_0() {
    let (_root, repo, line) = served();
    let transport = open(&remote(repo.dir.to_str().unwrap())).unwrap();
    for service in [Service::UploadPack, Service::ReceivePack] {
        let mut connection = transport.connect(service, Protocol::V0).unwrap();
        let lines = read(connection.advertisement().unwrap()).unwrap();
        let line = line.trim_end();
        assert!(
            lines.iter().any(|l| l.split('\0').next().unwrap().trim_end() == line),
            "{lines:?}"
        );
        connection.request(b"0000").unwrap();
        connection.finish().unwrap();
    }
}

#[test]
fn http_lists_over_one_connection() {
    let (root, _, line) = served();
    let server = GitHttp::start(root.path());
    let transport = open(&remote(&server.url("r.git"))).unwrap();
    for _ in 0..3 {
        assert_eq!(list(transport.as_ref()).unwrap(), std::slice::from_ref(&line));
    }
    assert_eq!(server.connections(), 1, "kept connections are used again");
    let seen = server.requests();
    assert_eq!(seen.len(), 6);
    assert!(seen.iter().all(|s| s.header("git-protocol") == Some("version=2")));
    assert!(
        seen.iter()
            .all(|s| s.header("user-agent").unwrap().starts_with("git/2.0 (bumpwright/"))
    );
    assert!(seen.iter().all(|s| s.header("authorization").is_none()));
}

#[test]
fn http_many_at_once() {
    let (root, _, line) = served();
    let server = GitHttp::start(root.path());
    let transport = open(&remote(&server.url("r.git"))).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(list(transport.as_ref()).unwrap(), std::slice::from_ref(&line));
                }
            });
        }
    });
    assert!(
        server.connections() <= 8,
        "{} connections for 8 threads",
        server.connections()
    );
}

#[test]
fn http_advertisement_in_version_0() {
    let (root, _, line) = served();
    let server = GitHttp::start(root.path());
    let transport = open(&remote(&server.url("r.git/"))).unwrap();
    for service in [Service::UploadPack, Service::ReceivePack] {
        let mut connection = transport.connect(service, Protocol::V0).unwrap();
        let lines = read(connection.advertisement().unwrap()).unwrap();
        let line = line.trim_end();
        assert!(
            lines.iter().any(|l| l.split('\0').next().unwrap().trim_end() == line),
            "{lines:?}"
        );
    }
}

#[test]
fn http_credentials_are_sent_at_once() {
    let (root, _, line) = served();
    let login = Login::Basic("me".to_owned(), "p:w".to_owned());
    let server = GitHttp::with(
        root.path(),
        Options {
            login,
            ..Options::default()
        },
    );
    let url = server.url("r.git");
    let with = |auth| Remote { auth, ..remote(&url) };
    assert_eq!(list_at(&with(basic("me", "p:w"))).unwrap(), std::slice::from_ref(&line));
    assert_eq!(server.requests().len(), 2, "no challenge is waited for");
    let in_url = url.replace("http://", "http://me:p%3Aw@");
    assert_eq!(list_at(&remote(&in_url)).unwrap(), [line]);
    for (auth, hint) in [
        (
            basic("me", "hunter2"),
            "; the server refused the credentials that were sent",
        ),
        (Auth::None, "; no credentials were sent"),
    ] {
        let error = list_at(&with(auth)).unwrap_err();
        let TransportError::Unauthorized { detail, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(detail, "Unauthorized");
        assert!(error.to_string().ends_with(hint), "{error}");
        assert!(!format!("{error:?}").contains("hunter2"));
    }
}

#[test]
fn http_token_as_the_user_name() {
    let (root, _, line) = served();
    let login = Login::Basic("t0k".to_owned(), String::new());
    let private = GitHttp::with(
        root.path(),
        Options {
            login,
            ..Options::default()
        },
    );
    let public = GitHttp::start(root.path());
    for (server, requests, with_login) in [(&private, 4, 2), (&public, 2, 0)] {
        let url = server.url("r.git").replace("http://", "http://t0k@");
        assert_eq!(list_at(&remote(&url)).unwrap(), std::slice::from_ref(&line));
        let seen = server.requests();
        let authorized = seen.iter().filter(|s| s.header("authorization").is_some()).count();
        assert_eq!((seen.len(), authorized), (requests, with_login));
    }
}

#[test]
fn http_path_with_quote_and_blank() {
    let root = tempfile::tempdir().unwrap();
    let id = Repo::init(root.path().join("it's a repo.git")).commit("main", "first", &[]);
    let server = GitHttp::start(root.path());
    for path in ["it's a repo.git", "it%27s%20a%20repo.git"] {
        assert_eq!(
            list_at(&remote(&server.url(path))).unwrap(),
            [format!("{id} refs/heads/main\n")]
        );
    }
}

#[test]
fn http_bearer_token() {
    let (root, _, line) = served();
    let options = Options {
        login: Login::Bearer("t0k".to_owned()),
        ..Options::default()
    };
    let server = GitHttp::with(root.path(), options);
    let auth = |token: &str| Auth::Bearer {
        token: Secret::new(token),
    };
    let with = |auth| Remote {
        auth,
        ..remote(&server.url("r.git"))
    };
    assert_eq!(list_at(&with(auth("t0k"))).unwrap(), [line]);
    assert!(matches!(
        list_at(&with(auth("other"))),
        Err(TransportError::Unauthorized { .. })
    ));
    let shown = format!("{:?}", with(auth("hunter2")));
    assert!(shown.contains("***") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn http_statuses_are_told_apart() {
    let (root, ..) = served();
    let server = GitHttp::start(root.path());
    let transport = open(&remote(&server.url("r.git"))).unwrap();
    let failing = |status, text: &str| {
        server.fault(1, Fault::Status(status, text.to_owned()));
        list(transport.as_ref()).unwrap_err()
    };
    let error = failing(403, "\u{1b}[1mprotected\0\n");
    assert!(
        matches!(&error, TransportError::Forbidden { detail, .. } if detail == "[1mprotected"),
        "{error}"
    );
    let error = failing(503, &"x".repeat(5000));
    assert!(
        matches!(&error, TransportError::Status { status: 503, detail, .. } if detail.len() == 2048),
        "{error}"
    );
    let error = failing(404, "");
    assert!(
        matches!(&error, TransportError::NotFound { detail, .. } if detail == "Not Found"),
        "{error}"
    );
    let error = list_at(&remote(&server.url("missing.git"))).unwrap_err();
    assert!(matches!(error, TransportError::NotFound { .. }), "{error}");
}

#[test]
fn http_server_that_is_no_git_server() {
    let (root, ..) = served();
    let server = GitHttp::start(root.path());
    let transport = open(&remote(&server.url("r.git"))).unwrap();
    let login_page = Fault::Page(
        200,
        "text/html; charset=utf-8".to_owned(),
        b"<html>Sign in</html>".to_vec(),
    );
    server.fault(1, login_page.clone());
    let error = list(transport.as_ref()).unwrap_err().to_string();
    assert!(
        error.contains("not a smart HTTP Git server") && error.contains("`text/html`"),
        "{error}"
    );
    server.fault(2, login_page);
    let error = list(transport.as_ref()).unwrap_err().to_string();
    assert!(error.contains("`application/x-git-upload-pack-result`"), "{error}");
}

#[test]
fn http_redirect_on_the_same_host() {
    let (root, _, line) = served();
    let login = Login::Basic("me".to_owned(), "pw".to_owned());
    let server = GitHttp::with(
        root.path(),
        Options {
            login,
            ..Options::default()
        },
    );
    let new = server.url("r.git");
    server.intercept(move |seen| {
        let to = format!("{new}{}?{}", seen.path.strip_prefix("/old.git")?, seen.query);
        Some(Fault::Redirect(if seen.method == "GET" { 301 } else { 308 }, to))
    });
    let transport = open(&Remote {
        auth: basic("me", "pw"),
        ..remote(&server.url("old.git"))
    })
    .unwrap();
    assert_eq!(list(transport.as_ref()).unwrap(), std::slice::from_ref(&line));
    let paths: Vec<_> = server.requests().iter().map(|s| s.path.clone()).collect();
    assert_eq!(
        paths,
        ["/old.git/info/refs", "/r.git/info/refs", "/r.git/git-upload-pack"]
    );
    // A fresh transport that leaves the advertisement out is told by the POST, and asks then.
    let transport = open(&Remote {
        auth: basic("me", "pw"),
        ..remote(&server.url("old.git"))
    })
    .unwrap();
    let mut connection = transport.connect(Service::UploadPack, Protocol::V2).unwrap();
    assert_eq!(read(connection.request(LS_REFS).unwrap()).unwrap(), [line]);
}

#[test]
fn http_redirect_to_another_host_gets_no_credentials() {
    let (root, _, line) = served();
    let (here, there) = (GitHttp::start(root.path()), GitHttp::start(root.path()));
    let to = there.url("r.git");
    here.intercept(move |seen| Some(Fault::Redirect(302, format!("{to}/info/refs?{}", seen.query))));
    let auth = basic("me", "pw");
    assert_eq!(
        list_at(&Remote {
            auth,
            ..remote(&here.url("r.git"))
        })
        .unwrap(),
        [line]
    );
    assert!(here.requests().iter().all(|s| s.header("authorization").is_some()));
    assert_eq!(there.requests().len(), 2);
    assert!(there.requests().iter().all(|s| s.header("authorization").is_none()));
}

#[test]
fn http_redirects_end() {
    let (root, ..) = served();
    let server = GitHttp::start(root.path());
    let to = server.url("r.git/info/refs?service=git-upload-pack");
    server.intercept(move |_| Some(Fault::Redirect(302, to.clone())));
    let error = list_at(&remote(&server.url("r.git"))).unwrap_err().to_string();
    assert!(error.contains("more than 5 redirects"), "{error}");
    assert_eq!(server.requests().len(), 6);
    server.intercept(|seen| (!seen.path.starts_with("/login")).then(|| Fault::Redirect(302, "/login".to_owned())));
    let error = list_at(&remote(&server.url("r.git"))).unwrap_err();
    assert!(matches!(error, TransportError::NotFound { .. }), "{error}");
    server.intercept(|_| Some(Fault::Redirect(302, "file:///etc/passwd".to_owned())));
    let error = list_at(&remote(&server.url("r.git"))).unwrap_err().to_string();
    assert!(error.contains("refused to follow"), "{error}");
}

#[test]
fn http_server_that_hangs() {
    let (root, ..) = served();
    let server = GitHttp::start(root.path());
    let limit = Duration::from_millis(400);
    for nth in [1, 2] {
        server.fault(nth, Fault::Delay(Duration::from_secs(20)));
        let start = Instant::now();
        let error = list_at(&Remote {
            timeout: limit,
            ..remote(&server.url("r.git"))
        })
        .unwrap_err();
        assert!(
            matches!(error, TransportError::Timeout { limit: l, .. } if l == limit),
            "{error}"
        );
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
}

#[test]
fn http_server_that_cannot_be_reached() {
    let nobody = format!("http://127.0.0.1:{}/r.git", bumpwright_testkit::ports::free_port());
    let error = list_at(&remote(&nobody)).unwrap_err();
    assert!(
        matches!(&error, TransportError::Connect { .. }) && error.to_string().contains("refused"),
        "{error}"
    );
    let error = list_at(&remote("http://nowhere.invalid/r.git")).unwrap_err();
    assert!(error.to_string().contains("cannot be resolved"), "{error}");
}

#[test]
fn http_stream_that_breaks_is_an_error_and_no_end() {
    let (root, ..) = served();
    let server = GitHttp::start(root.path());
    let transport = open(&remote(&server.url("r.git"))).unwrap();
    server.fault(1, Fault::CloseAfter(40));
    let mut connection = transport.connect(Service::UploadPack, Protocol::V2).unwrap();
    let mut all = Vec::new();
    let error = connection.advertisement().unwrap().read_to_end(&mut all).unwrap_err();
    let error = TransportError::from_stream("test", error);
    assert!(matches!(error, TransportError::Connect { .. }), "{error}");
}

#[test]
fn http_repeats_only_what_changes_nothing() {
    let (root, _, line) = served();
    let server = GitHttp::start(root.path());
    let transport = open(&remote(&server.url("r.git"))).unwrap();
    server.fault(1, Fault::Drop);
    server.fault(3, Fault::Drop);
    assert_eq!(list(transport.as_ref()).unwrap(), [line]);
    assert_eq!(server.requests().len(), 4);
    server.clear();
    server.fault(1, Fault::Drop);
    let mut connection = transport.connect(Service::ReceivePack, Protocol::V0).unwrap();
    assert!(connection.request(b"0000").is_err());
    assert_eq!(server.requests().len(), 1, "a push is never sent twice");
}

/// The peak of this process's memory, in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn http_answers_are_not_held_in_memory() {
    // The peak is one of all tests in a process.
    const ALONE: &str = "BUMPWRIGHT_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let ran = again(http_answers_are_not_held_in_memory)
            .env(ALONE, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(said.contains("1 passed"), "{said}");
        return;
    }
    const SIZE: u64 = 100 * 1024 * 1024;
    let (root, ..) = served();
    let server = GitHttp::start(root.path());
    server.fault(1, Fault::Zeros("application/x-git-upload-pack-result".to_owned(), SIZE));
    let transport = open(&remote(&server.url("r.git"))).unwrap();
    let before = peak_memory();
    let mut connection = transport.connect(Service::UploadPack, Protocol::V2).unwrap();
    let count = std::io::copy(&mut connection.request(LS_REFS).unwrap(), &mut std::io::sink()).unwrap();
    assert_eq!(count, SIZE);
    let grown = peak_memory() - before;
    assert!(grown < 40 * 1024, "{grown} KiB more for {SIZE} bytes");
}

#[test]
fn http_refuses_keys_of_ssh() {
    let auth = Auth::SshKey {
        identity: Secret::new("k"),
        passphrase: None,
    };
    let Err(error) = open(&Remote {
        auth,
        ..remote("https://host/r.git")
    }) else {
        panic!("opened")
    };
    assert!(matches!(error, TransportError::Config { .. }), "{error}");
}

#[test]
fn support_repository_holds_what_was_committed() {
    let (_root, repo, _) = served();
    let first = repo.rev("main").unwrap();
    let changes = [
        Change::Executable("bin/x", b"#!/bin/sh\n"),
        Change::Symlink("link", "bin/x"),
        Change::Submodule("sub", &first),
        Change::File("sp ace/\"q\"", b"\0\xff"),
        Change::Delete("a"),
    ];
    let second = repo.commit("main", "second\n\nbody", &changes);
    let tree: Vec<_> = repo
        .tree("main")
        .into_iter()
        .map(|e| format!("{} {}", e.mode, e.path))
        .collect();
    assert_eq!(
        tree,
        ["100755 bin/x", "120000 link", "100644 sp ace/\"q\"", "160000 sub"]
    );
    assert_eq!(repo.show("main", "sp ace/\"q\""), b"\0\xff");
    let log = repo.log("main");
    assert_eq!(
        (log[0].id.as_str(), log[0].message.as_str()),
        (second.as_str(), "second\n\nbody")
    );
    assert_eq!(log[0].parents, [first]);
    assert_eq!(repo.refs().get("refs/heads/main"), Some(&second));
    repo.fsck();
}

/// The real git can use the test server: what the tests say about ours is not an artefact of the server.
#[test]
fn support_server_serves_git_itself() {
    let (root, repo, _) = served();
    let server = GitHttp::start(root.path());
    let clone = root.path().join("clone");
    bumpwright_testkit::repo::run(
        git(root.path())
            .args(["clone", "-q", "--bare", &server.url("r.git")])
            .arg(&clone),
    );
    let clone = Repo { dir: clone };
    let rival = repo.clone();
    let pushed = clone.commit("other", "pushed", &[Change::File("big", &[7; 2_000_000])]);
    server.before_push(move |_| {
        rival.commit("rival", "meanwhile", &[]);
    });
    bumpwright_testkit::repo::run(git(Path::new(&clone.dir)).args(["push", "-q", &server.url("r.git"), "other"]));
    assert_eq!(repo.rev("other"), Some(pushed));
    assert!(repo.rev("rival").is_some());
    repo.fsck();
}
