//! Servers that break, lie, hang and send too much, seen from the command: an error that names the remote, no partial
//! push, and a next run that works and still fetches only new objects.

use std::cell::Cell;

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::git_http::{Fault, GitHttp, Seen};
use bumpwright_testkit::packets::{deflated, entry_head, frame, pack_of, repack, sealed};
use bumpwright_testkit::repo::{Change, Repo};

const AUTHOR: [&str; 2] = ["--author", "Bot <bot@example.com>"];
const RESULT: &str = "application/x-git-upload-pack-result";

/// Where in a run a fault is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Greeting,
    Listing,
    Fetch,
    PushGreeting,
    Push,
}

impl At {
    fn is(self, seen: &Seen) -> bool {
        let has = |word: &[u8]| seen.body.windows(word.len()).any(|window| window == word);
        match (seen.service.as_str(), seen.method.as_str()) {
            ("git-upload-pack", "GET") => self == Self::Greeting,
            ("git-upload-pack", _) if has(b"command=fetch") => self == Self::Fetch,
            ("git-upload-pack", _) => self == Self::Listing,
            ("git-receive-pack", "GET") => self == Self::PushGreeting,
            _ => self == Self::Push,
        }
    }
}

/// A repository behind HTTP that a first run has been to, and somebody's commit that the mirror does not have yet.
struct World {
    bench: Bench,
    repo: Repo,
    http: GitHttp,
    round: Cell<u32>,
}

fn table(round: u32) -> String {
    (0..2_000)
        .map(|n| format!("row {n} {}\n", if n == 7 { round } else { n * 7919 }))
        .collect()
}

fn marked(tag: u32) -> String {
    format!("image: ghcr.io/o/app:{tag} # {{\"$imagepolicy\": \"fs:app\"}}\n")
}

impl World {
    /// Without a mirror.
    fn cold() -> Self {
        let bench = Bench::new();
        let repo = bench.repository("app.git");
        let (app, table) = (marked(0), table(0));
        let files = [
            Change::File("apps/a.yaml", app.as_bytes()),
            Change::File("table.txt", table.as_bytes()),
        ];
        repo.commit("main", "first", &files);
        let http = GitHttp::start(&bench.dir);
        let round = Cell::new(0);
        Self {
            bench,
            repo,
            http,
            round,
        }
    }

    fn warm() -> Self {
        let world = Self::cold();
        world.lands();
        world.theirs();
        world
    }

    fn url(&self) -> String {
        self.http.url("app.git")
    }

    /// Somebody else commits, so that there is something to fetch, as a difference to what the mirror has.
    fn theirs(&self) {
        self.repo.commit(
            "main",
            "theirs",
            &[Change::File("table.txt", table(self.round.get()).as_bytes())],
        );
    }

    fn arguments(&self) -> [String; 3] {
        [
            "update".to_owned(),
            self.url(),
            format!("--set=fs:app=ghcr.io/o/app:{}", self.round.get() + 1),
        ]
    }

    /// A run that must succeed; its change is at the remote.
    fn lands(&self) {
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.bench.ok(&[&arguments, AUTHOR.as_slice()].concat());
        let round = self.round.get() + 1;
        self.round.set(round);
        assert_eq!(self.repo.show("main", "apps/a.yaml"), marked(round).as_bytes());
        self.repo.fsck();
    }

    /// A run that meets `fault` wherever it comes to `at`, and must fail: with an error of sane length that names the
    /// remote, and nothing changed there. Gives the error.
    fn fails(&self, at: At, fault: Fault) -> String {
        self.fails_with(at, fault, &[])
    }

    fn fails_with(&self, at: At, fault: Fault, more: &[&str]) -> String {
        let before = self.repo.refs();
        let shown = format!("{at:?} {}", format!("{fault:?}").chars().take(80).collect::<String>());
        self.http.intercept(move |seen| at.is(seen).then(|| fault.clone()));
        let arguments = self.arguments();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let arguments = match more {
            [] => [&arguments, AUTHOR.as_slice()].concat(),
            more => more.to_vec(),
        };
        let ran = self.bench.run(&arguments);
        assert_eq!(ran.code, 2, "{shown}: {}\n{}", ran.out, ran.err);
        assert!(ran.err.contains(&self.url()), "{shown}: {}", ran.err);
        assert!(ran.err.len() < 20_000, "{shown}: {} bytes of error", ran.err.len());
        assert!(!ran.err.contains('\u{1b}'), "{shown}: {:?}", ran.err);
        assert!(!ran.err.contains("panicked"), "{shown}: {}", ran.err);
        assert_eq!(self.repo.refs(), before, "{shown}: nothing has changed at the remote");
        ran.err
    }

    /// The next run meets no fault: it works, fetches the difference only, and both sides are sound.
    fn recovers(&self) {
        self.http.intercept(|_| None);
        self.http.clear();
        let held = self
            .bench
            .mirror()
            .rev("refs/heads/main")
            .expect("the mirror still knows main");
        self.lands();
        let fetches: Vec<Seen> = self
            .http
            .requests()
            .into_iter()
            .filter(|seen| At::Fetch.is(seen))
            .collect();
        assert_eq!(fetches.len(), 1);
        let asked = String::from_utf8_lossy(&fetches[0].body).into_owned();
        assert!(asked.contains(&format!("have {held}")), "{asked}");
        assert!(self.http.sent() < 8_000, "{} bytes for one line", self.http.sent());
        self.bench.mirror().fsck();
        self.theirs();
    }
}

#[test]
fn connections_that_break_in_the_middle_of_a_pack() {
    let world = World::warm();
    for bytes in [0, 3, 20, 60, 150, 400] {
        let error = world.fails(At::Fetch, Fault::CloseAfter(bytes));
        assert!(!error.contains("damaged"), "{bytes}: {error}");
    }
    world.recovers();
    world.fails(At::Listing, Fault::CloseAfter(10));
    world.fails(At::Fetch, Fault::Drop);
    world.fails(At::PushGreeting, Fault::CloseAfter(10));
    world.fails(At::Push, Fault::Drop);
    // The commit that could not be pushed is in the mirror; what is fetched is still a difference.
    world.lands_after_failed_push();
}

impl World {
    /// As [`World::recovers`], where the fetch before the failed push has brought everything.
    fn lands_after_failed_push(&self) {
        self.http.intercept(|_| None);
        self.http.clear();
        self.lands();
        assert!(!self.http.requests().iter().any(|seen| At::Fetch.is(seen)));
        self.bench.mirror().fsck();
        self.theirs();
    }
}

#[test]
fn servers_that_answer_500() {
    let broken = || Fault::Status(500, "out of order\n".to_owned());
    let cold = World::cold();
    let error = cold.fails(At::Greeting, broken());
    assert!(error.contains("500") && error.contains("out of order"), "{error}");
    let world = World::warm();
    for at in [At::Listing, At::Fetch] {
        let error = world.fails(at, broken());
        assert!(
            error.contains("500") && error.contains("out of order"),
            "{at:?}: {error}"
        );
        world.recovers();
    }
    for at in [At::PushGreeting, At::Push] {
        let error = world.fails(at, broken());
        assert!(
            error.contains("500") && error.contains("out of order"),
            "{at:?}: {error}"
        );
        world.lands_after_failed_push();
    }
    // The server takes the push and fails afterwards: the remote is asked what became of it.
    world
        .http
        .intercept(|seen| At::Push.is(seen).then_some(Fault::StatusAfter(500)));
    world.lands();
}

#[test]
fn servers_that_hang_are_given_up_at_the_timeout_of_the_repository() {
    let world = World::warm();
    // What comes before the push has to pass, on a busy machine too.
    for (at, fault, timeout) in [
        (At::Listing, Fault::Delay(HOUR), "700ms"),
        (At::Fetch, Fault::StallAfter(0), "700ms"),
        (At::Fetch, Fault::StallAfter(100), "700ms"),
        (At::Push, Fault::Delay(HOUR), "6s"),
    ] {
        let reference = format!("  ref: {{branch: main}}\n  timeout: {timeout}\n");
        let manifests = bumpwright_testkit::cli::policy("fs", "app", "ghcr.io/o/app", "9")
            + &bumpwright_testkit::cli::git_repository("fs", "repo", &world.url(), &reference)
            + &bumpwright_testkit::cli::automation("fs", "auto", "repo", "", "");
        world.bench.write("m.yaml", manifests);
        let error = world.fails_with(at, fault, &["update", "-f", "m.yaml"]);
        assert!(
            error.contains(&format!("no answer within {timeout}")),
            "{at:?}: {error}"
        );
    }
    world.lands_after_failed_push();
}

const HOUR: std::time::Duration = std::time::Duration::from_secs(3600);

fn flipped(mut pack: Vec<u8>) -> Vec<u8> {
    let middle = pack.len() / 2;
    pack[middle] ^= 0x20;
    pack
}

/// A delta on a missing object: copies one byte.
fn baseless(pack: Vec<u8>) -> Vec<u8> {
    let delta = deflated(&[5, 1, 0x90, 1]);
    let entry = [entry_head(7, 4), vec![0xab; 20], delta].concat();
    assert!(pack.starts_with(b"PACK"));
    pack_of(&[entry])
}

/// A delta on what stands before the pack.
fn before_the_start(_: Vec<u8>) -> Vec<u8> {
    pack_of(&[[entry_head(6, 4), vec![0x7f], deflated(&[5, 1, 0x90, 1])].concat()])
}

/// A delta that copies from behind the end of its base.
fn behind_the_end(_: Vec<u8>) -> Vec<u8> {
    let base = [entry_head(3, 5), deflated(b"hello")].concat();
    let distance = u8::try_from(base.len()).unwrap();
    let delta = [5, 200, 0b1001_0001, 3, 200];
    let delta = [entry_head(6, delta.len()), vec![distance], deflated(&delta)].concat();
    pack_of(&[base, delta])
}

/// More objects are announced than come.
fn short_of_objects(pack: Vec<u8>) -> Vec<u8> {
    let end = pack.len() - 20;
    let mut bytes = pack[..end].to_vec();
    bytes[11] += 1;
    sealed(bytes)
}

fn garbage(_: Vec<u8>) -> Vec<u8> {
    pack_of(&[b"\xb3\x0bgarbage, garbage, garbage".to_vec()])
}

#[test]
fn packs_that_are_not_what_they_should_be() {
    type Case = (&'static str, fn(&[u8]) -> Vec<u8>);
    let cases: [Case; 9] = [
        ("a flipped byte", |answer| repack(answer, flipped)),
        ("a wrong checksum", |answer| {
            repack(answer, |mut pack| {
                *pack.last_mut().unwrap() ^= 1;
                pack
            })
        }),
        ("cut, in whole frames", |answer| {
            repack(answer, |pack| pack[..pack.len() / 2].to_vec())
        }),
        ("cut, with a checksum", |answer| {
            repack(answer, |pack| sealed(pack[..pack.len() / 2].to_vec()))
        }),
        ("a delta without its base", |answer| repack(answer, baseless)),
        ("a delta before the start", |answer| repack(answer, before_the_start)),
        ("a delta behind the end", |answer| repack(answer, behind_the_end)),
        ("fewer objects than announced", |answer| {
            repack(answer, short_of_objects)
        }),
        ("garbage", |answer| repack(answer, garbage)),
    ];
    let world = World::warm();
    for (name, change) in cases {
        let error = world.fails(At::Fetch, Fault::Altered(change));
        // What the server sent is at fault, not what the mirror holds.
        assert!(!error.contains("mirror is damaged"), "{name}: {error}");
        world.recovers();
    }
    let cold = World::cold();
    for (name, change) in cases {
        let error = cold.fails(At::Fetch, Fault::Altered(change));
        assert!(error.contains("failed to fetch"), "{name}: {error}");
    }
    cold.http.intercept(|_| None);
    cold.lands();
}

/// Zeros, honestly announced: three gigabytes in three megabytes would take ten seconds to make, so their
/// announcement is all there is behind the first few.
fn huge(_: Vec<u8>) -> Vec<u8> {
    pack_of(&[[entry_head(3, 3 << 30), deflated(&[0; 1 << 16])].concat()])
}

/// 200 MB of zeros, which come as 200 kB.
fn bomb(_: Vec<u8>) -> Vec<u8> {
    let zeros = vec![0; 200 << 20];
    pack_of(&[[entry_head(3, zeros.len()), deflated(&zeros)].concat()])
}

/// The same, said to be small.
fn hidden_bomb(_: Vec<u8>) -> Vec<u8> {
    pack_of(&[[entry_head(3, 100), deflated(&vec![0; 200 << 20])].concat()])
}

#[test]
fn objects_that_inflate_to_far_more_take_no_memory() {
    type Case = (&'static str, fn(&[u8]) -> Vec<u8>);
    let cases: [Case; 3] = [
        ("huge", |answer| repack(answer, huge)),
        ("a bomb", |answer| repack(answer, bomb)),
        ("a hidden bomb", |answer| repack(answer, hidden_bomb)),
    ];
    for world in [World::cold(), World::warm()] {
        for (name, change) in cases {
            let before = world.repo.refs();
            world
                .http
                .intercept(move |seen| At::Fetch.is(seen).then_some(Fault::Altered(change)));
            let arguments = world.arguments();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let (ran, peak) = world.bench.weighed(&[&arguments, AUTHOR.as_slice()].concat());
            assert_eq!(ran.code, 2, "{name}: {}", ran.err);
            assert!(ran.err.contains(&world.url()), "{name}: {}", ran.err);
            assert!(peak < 64 * 1024, "{name}: {peak} KiB");
            assert_eq!(world.repo.refs(), before);
        }
        world.http.intercept(|_| None);
        world.lands();
        world.bench.mirror().fsck();
    }
}

fn loud(first: &[u8]) -> Vec<u8> {
    [first, "\u{1b}[31mno\u{1b}[0m, and no again. ".repeat(2_000).as_bytes()].concat()
}

#[test]
fn words_of_servers_are_cut_and_cleaned() {
    let world = World::warm();
    let page = |kind: &str, body: Vec<u8>| Fault::Page(200, kind.to_owned(), body);
    let error = world.fails(At::Fetch, page(RESULT, frame(&loud(b"ERR "))));
    assert!(error.contains("the server refuses: no, and no again."), "{error}");
    world.recovers();
    let fatal = [b"000dpackfile\n".to_vec(), frame(&loud(b"\x03"))].concat();
    let error = world.fails(At::Fetch, page(RESULT, fatal));
    assert!(error.contains("the server stopped: no, and no again."), "{error}");
    world.recovers();
    let error = world.fails(At::Listing, Fault::Status(503, "x".repeat(2 << 20)));
    assert!(error.contains("503"), "{error}");
    world.recovers();
    // In version 0's report on a push.
    let report = [frame(b"unpack ok\n"), frame(&loud(b"ng refs/heads/main "))].concat();
    let kind = "application/x-git-receive-pack-result";
    let cut: Vec<u8> = report
        .chunks(50_000)
        .flat_map(|part| frame(&[b"\x01", part].concat()))
        .collect();
    let end = frame(b"\x010000");
    let error = world.fails(At::Push, page(kind, [cut, end, b"0000".to_vec()].concat()));
    assert!(error.contains("no, and no again."), "{error}");
    let unpack = frame(&loud(b"unpack "));
    let cut: Vec<u8> = unpack
        .chunks(50_000)
        .flat_map(|part| frame(&[b"\x01", part].concat()))
        .collect();
    let end = frame(b"\x010000");
    let error = world.fails(At::Push, page(kind, [cut, end, b"0000".to_vec()].concat()));
    assert!(
        error.contains("could not take the objects: no, and no again."),
        "{error}"
    );
    world.lands_after_failed_push();
    // Two megabytes from a hook, beside the refusal.
    world.repo.hook(
        "pre-receive",
        "yes 'a rather long line of no use' | head -c 2000000 >&2; exit 1",
    );
    let before = world.repo.refs();
    let arguments = world.arguments();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (ran, peak) = world.bench.weighed(&[&arguments, AUTHOR.as_slice()].concat());
    assert_eq!(ran.code, 2);
    assert!(
        ran.err.contains("pre-receive hook declined") && ran.err.len() < 20_000,
        "{}",
        ran.err.len()
    );
    assert!(peak < 64 * 1024, "{peak} KiB");
    assert_eq!(world.repo.refs(), before);
}

#[test]
fn lists_without_an_end_are_given_up() {
    let world = World::warm();
    let line = frame(format!("shallow {}\n", "1".repeat(40)).as_bytes());
    let body = [frame(b"shallow-info\n"), line.repeat(300_000)].concat();
    let error = world.fails(At::Fetch, Fault::Page(200, RESULT.to_owned(), body));
    assert!(error.contains("too many"), "{error}");
    world.recovers();
}

#[test]
fn answers_that_are_not_of_git() {
    let login = "<!DOCTYPE html><html><body><form action=/login>…</form></body></html>";
    let html = || Fault::Page(200, "text/html; charset=utf-8".to_owned(), login.as_bytes().to_vec());
    let cold = World::cold();
    let error = cold.fails(At::Greeting, html());
    assert!(
        error.contains("not a smart HTTP Git server") && error.contains("login"),
        "{error}"
    );
    let world = World::warm();
    for at in [At::Listing, At::Fetch] {
        let error = world.fails(at, html());
        assert!(error.contains("not a smart HTTP Git server"), "{at:?}: {error}");
        assert!(!error.contains("<form"), "{error}");
        world.recovers();
    }
    for at in [At::PushGreeting, At::Push] {
        let error = world.fails(at, html());
        assert!(error.contains("not a smart HTTP Git server"), "{at:?}: {error}");
        world.lands_after_failed_push();
    }
    // Said to be of Git, and is not.
    for kind in [RESULT, "application/x-git-upload-pack-advertisement"] {
        for at in [At::Listing, At::Fetch] {
            let fault = Fault::Page(200, kind.to_owned(), login.as_bytes().to_vec());
            world.fails(at, fault);
        }
    }
    world.recovers();
}

#[test]
fn redirects_to_somewhere_else() {
    let portal = GitHttp::start(std::path::Path::new("/nowhere"));
    portal.intercept(|_| {
        Some(Fault::Page(
            200,
            "text/html".to_owned(),
            b"<html>log in</html>".to_vec(),
        ))
    });
    let to = portal.url("login?next=/app.git/info/refs");
    let cold = World::cold();
    let error = cold.fails(At::Greeting, Fault::Redirect(302, to.clone()));
    assert!(
        error.contains("not a smart HTTP Git server") || error.contains("redirected"),
        "{error}"
    );
    let world = World::warm();
    // Requests are not sent anywhere else: only an advertisement says where a repository has moved to.
    for at in [At::Listing, At::Fetch] {
        let error = world.fails(at, Fault::Redirect(302, to.clone()));
        assert!(error.contains("redirect"), "{at:?}: {error}");
        world.recovers();
    }
    let error = world.fails(At::Push, Fault::Redirect(307, to));
    assert!(error.contains("redirect"), "{error}");
    world.lands_after_failed_push();
    assert!(
        portal.requests().iter().all(|seen| seen.method == "GET"),
        "no pack goes to the portal"
    );
}
