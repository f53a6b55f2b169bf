//! Answers of the server, compared with source-controller's for the same requests (fixtures/storage/http.jsonl).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

mod support;

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use bumpwright_storage::{Digest, LATEST};
use serde_json::Value;
use support::server::{Answer, Serving};
use support::{World, filler, rows, texts, world};

/// When the recorded files were modified: 2026-01-02T03:04:05Z.
const MODIFIED: Duration = Duration::from_secs(1_767_323_045);

/// Intended differences: the row, the status of this server, and why.
const DIFFERENCES: &[(&str, u16, &str)] = &[
    ("method-POST", 405, METHOD),
    ("method-PUT", 405, METHOD),
    ("method-DELETE", 405, METHOD),
    ("method-OPTIONS", 405, METHOD),
    ("method-PATCH", 405, METHOD),
    ("method-get", 405, METHOD),
    ("method-TRACE", 405, METHOD),
    ("options-star", 405, METHOD),
    ("root", 200, LISTING),
    ("kind", 404, LISTING),
    ("kind-slash", 404, LISTING),
    ("namespace-slash", 404, LISTING),
    ("name", 404, LISTING),
    ("name-slash", 404, LISTING),
    ("other-tenant", 404, LISTING),
    ("index", 404, LISTING),
    ("lock", 404, "locks are not served"),
    ("file-slash", 404, CLEAN),
    ("dots", 404, CLEAN),
    ("dots-out", 404, CLEAN),
    ("dot", 404, CLEAN),
    ("encoded-dots", 404, CLEAN),
    ("two-slashes", 404, CLEAN),
    ("two-slashes-inside", 404, CLEAN),
    ("long-name", 404, "names that are not valid do not exist"),
    ("long-path", 404, "names that are not valid do not exist"),
    (
        "folded-header",
        400,
        "no client sends them, and proxies interpret them in different ways",
    ),
    ("http-2.0", 400, GARBAGE),
    ("http-9", 400, GARBAGE),
    ("no-version", 400, GARBAGE),
    ("bad-header", 400, GARBAGE),
    ("space-before-colon", 400, GARBAGE),
    ("no-slash", 400, GARBAGE),
    (
        "fragment",
        200,
        "hyper cuts fragments off; clients do not send them (RFC 9112, section 3.2)",
    ),
];
const METHOD: &str = "Go's file server answers all methods as GET";
const LISTING: &str = "folders are not listed";
const GARBAGE: &str =
    "hyper answers what is not HTTP/1 with a status alone, Go with a text that names it; http-2.0 is 505 there";
const CLEAN: &str = "paths are not normalized; Go redirects, or resolves what is encoded";

/// The files of the recording.
fn recorded_world() -> World {
    let world = world();
    let contents: Vec<u8> = (0..1000_usize)
        .map(|at| [0x1f, 0x8b, 0x08].get(at).copied().unwrap_or((at * 7 + at / 256) as u8))
        .collect();
    for (file, contents) in [
        ("a.tar.gz", &contents[..]),
        ("b c+d.tar.gz", &contents[..]),
        ("empty.tar.gz", b""),
    ] {
        let written = world
            .storage
            .write(&world.artifact(file), None, filler(contents))
            .unwrap();
        let file = File::options().write(true).open(world.path(&written)).unwrap();
        file.set_modified(UNIX_EPOCH + MODIFIED).unwrap();
    }
    // As made by source-controller: with the whole path.
    std::os::unix::fs::symlink(world.folder().join("a.tar.gz"), world.folder().join(LATEST)).unwrap();
    fs::create_dir_all(world.root.path().join("gitrepository/other/app")).unwrap();
    world
}

fn recorded(row: &Value) -> Answer {
    Answer {
        status: u16::try_from(row["status"].as_u64().unwrap()).unwrap(),
        headers: texts(&row["headers"]),
        digest: format!("sha256:{}", row["body"].as_str().unwrap()),
        ..Answer::default()
    }
}

/// The relevant parts of an answer: not the tag, where Go has none, and not the length of an error.
fn relevant(answer: &Answer, with_tag: bool) -> (u16, Vec<String>, String) {
    let mut headers = answer.headers.clone();
    headers.retain(|line| {
        let is_error = answer.status >= 400 && line.starts_with("Content-Length");
        !is_error && (with_tag || !line.starts_with("Etag"))
    });
    headers.sort();
    (answer.status, headers, answer.digest.clone())
}

#[test]
fn answers_are_those_of_source_controller_but_for_the_named_ones() {
    let world = recorded_world();
    let serving = Serving::start(&world);
    let rows = rows("http.jsonl");
    let (mut alike, mut differ, mut faults) = (0, 0, Vec::new());
    for row in &rows {
        let (id, request) = (row["id"].as_str().unwrap(), row["request"].as_str().unwrap());
        let ours = serving.ask(request);
        if let Some((_, status, _)) = DIFFERENCES.iter().find(|(name, ..)| *name == id) {
            assert_eq!(ours.status, *status, "{id}");
            differ += 1;
            continue;
        }
        // The tags of the recording are those of one file.
        let is_tagged = !request.contains("empty");
        let expected = relevant(&recorded(&row["tagged"]), is_tagged);
        if relevant(&ours, is_tagged) == expected {
            alike += 1
        } else {
            faults.push(format!(
                "{id}\n  ours {:?}\n  Go's {expected:?}",
                relevant(&ours, is_tagged)
            ))
        }
        // Without tags in the request it makes no difference that source-controller has none.
        if !request.contains("sha256:") {
            let plain = relevant(&recorded(&row["plain"]), false);
            let is_304 = ours.status == 304;
            assert!(
                is_304 || relevant(&ours, false) == plain || faults.iter().any(|fault| fault.starts_with(id)),
                "{id}"
            );
        }
    }
    println!("http: {alike} of {} alike, {differ} differ as named", rows.len());
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert_eq!(differ, DIFFERENCES.len());
    assert!(serving.faults().is_empty(), "{:?}", serving.faults());
}

#[test]
fn nothing_tells_a_folder_that_is_there_from_one_that_is_not() {
    let world = recorded_world();
    let serving = Serving::start(&world);
    let there = [
        "/gitrepository",
        "/gitrepository/",
        "/gitrepository/other/",
        "/gitrepository/apps/podinfo",
    ];
    let absent = [
        "/gitrepositorx",
        "/gitrepositorx/",
        "/gitrepository/othez/",
        "/gitrepository/apps/podinfp",
    ];
    for (there, absent) in there.iter().zip(absent) {
        let there = serving.get(there);
        assert_eq!(there.status, 404);
        assert_eq!(relevant(&there, true), relevant(&serving.get(absent), true));
    }
    let root = serving.get("/");
    assert!(!String::from_utf8_lossy(&root.body).contains("gitrepository"));
}

#[test]
fn a_flipped_byte_is_not_served() {
    let world = world();
    let written = world.write("a.tar.gz", b"hello");
    let serving = Serving::start(&world);
    let path = format!("/{}", written.path);
    for _ in 0..2 {
        assert_eq!(serving.get(&path).body, b"hello");
    }
    // Same length and, as far as one can, the same times.
    let modified = fs::metadata(world.path(&written)).unwrap().modified().unwrap();
    fs::write(world.path(&written), "hellO").unwrap();
    File::options()
        .write(true)
        .open(world.path(&written))
        .unwrap()
        .set_modified(modified)
        .unwrap();
    assert_eq!(serving.get(&path).status, 404);
    assert!(!world.storage.exists(&written));
    let faults = serving.faults();
    assert!(
        faults.len() == 1 && faults[0].contains("is not what was written"),
        "{faults:?}"
    );
    // The reconciler writes it again.
    world.storage.write(&written, None, filler(b"hello")).unwrap();
    assert_eq!(serving.get(&path).body, b"hello");
}

#[test]
fn what_a_status_says_is_held_against_files_of_before() {
    let world = world();
    let written = world.write("a.tar.gz", b"hello");
    let path = format!("/{}", written.path);
    // As after a restart: the digest is not known before a status has it.
    let again = World {
        storage: bumpwright_storage::Storage::new(support::settings(world.root.path())).unwrap(),
        root: world.root,
    };
    let serving = Serving::start(&again);
    let first = serving.get(&path);
    assert_eq!(
        (first.status, first.header("Etag")),
        (200, Some(format!("\"{}\"", written.digest)))
    );
    fs::write(again.path(&written), "hellO").unwrap();
    assert!(again.storage.verify(&written).is_err());
    assert_eq!(serving.get(&path).status, 404);
}

#[test]
fn links_that_lead_elsewhere_are_not_followed() {
    let world = recorded_world();
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(outside.path(), "secret").unwrap();
    let link = |target: &Path, name: &str| std::os::unix::fs::symlink(target, world.folder().join(name)).unwrap();
    link(outside.path(), "out.tar.gz");
    link(Path::new("../../other/app"), "dir.tar.gz");
    // Even if there is a file of that name here.
    link(&outside.path().with_file_name("a.tar.gz"), "away.tar.gz");
    link(Path::new("latest.tar.gz"), "twice.tar.gz");
    link(Path::new("gone.tar.gz"), "gone-link.tar.gz");
    std::os::unix::fs::symlink(
        outside.path().parent().unwrap(),
        world.root.path().join("gitrepository/apps/away"),
    )
    .unwrap();
    let serving = Serving::start(&world);
    for path in [
        "podinfo/out.tar.gz",
        "podinfo/dir.tar.gz",
        "podinfo/away.tar.gz",
        "podinfo/twice.tar.gz",
        "podinfo/gone-link.tar.gz",
    ] {
        assert_eq!(
            serving.get(&format!("/gitrepository/apps/{path}")).status,
            404,
            "{path}"
        );
    }
    let name = outside.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(serving.get(&format!("/gitrepository/apps/away/{name}")).status, 404);
    assert_eq!(serving.get("/gitrepository/apps/podinfo/latest.tar.gz").status, 200);
}

#[test]
fn requests_follow_one_another_on_a_connection() {
    let world = recorded_world();
    let serving = Serving::start(&world);
    let mut client = serving.connect();
    // Three at once, one of them without a body, then one more.
    let file = "/gitrepository/apps/podinfo/a.tar.gz HTTP/1.1\r\nHost: h\r\n";
    client.send(&format!(
        "GET {file}\r\nHEAD {file}\r\nGET {file}Range: bytes=0-1\r\n\r\n"
    ));
    assert_eq!(client.answer(true).body.len(), 1000);
    assert_eq!(client.answer(false).status, 200);
    assert_eq!(client.answer(true).body, [0x1f, 0x8b]);
    client.send(&format!("GET {file}Connection: close\r\n\r\n"));
    let last = client.answer(true);
    assert_eq!(
        (last.body.len(), last.header("Connection")),
        (1000, Some("close".to_owned()))
    );
    assert!(client.is_over());
}

#[test]
fn a_large_artifact_arrives_whole_also_while_it_is_replaced() {
    let world = world();
    let contents: Vec<u8> = (0..6_000_000_u32).map(|at| (at % 253) as u8).collect();
    let written = world.write("a.tar.gz", &contents);
    let serving = Serving::start(&world);
    let mut client = serving.connect();
    client.send(&format!("GET /{} HTTP/1.1\r\nHost: h\r\n\r\n", written.path));
    // More than the connection holds is still to come.
    world.storage.write(&written, None, filler(b"new")).unwrap();
    let answer = client.answer(true);
    let digest: Digest = written.digest.parse().unwrap();
    assert!(answer.body == contents || answer.body == b"new");
    assert!(answer.body == b"new" || answer.header("Etag") == Some(format!("\"{digest}\"")));
    assert_eq!(serving.get(&format!("/{}", written.path)).body, b"new");
}
