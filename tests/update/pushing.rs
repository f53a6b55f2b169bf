//! What people see of a push: before it, while they wait, and when they interrupt it.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use bumpwright_testkit::cli::{Bench, Ran, automation, git_repository, policy, ran};
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::waiting::until;

const MARKED: &[u8] = b"image: ghcr.io/o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";

/// A repository with one marked file, and an automation that names it.
fn fleet() -> (Bench, Repo, String) {
    let bench = Bench::new();
    let repo = bench.repository("app.git");
    repo.commit("main", "first", &[Change::File("a.yaml", MARKED)]);
    let url = format!("file://{}", repo.dir.display());
    let all = [
        policy("fs", "app", "ghcr.io/o/app", "2.0.0"),
        git_repository("fs", "fleet", &url, "  ref: {branch: main}\n"),
        automation("fs", "bot", "fleet", "", "  update: {path: ./}\n"),
    ];
    bench.write("all.yaml", all.concat());
    (bench, repo, url)
}

const BY_MANIFEST: [&str; 4] = ["update", "-f", "all.yaml", "--git-server=file://"];

#[test]
fn a_push_is_told_before_it_is_made() {
    let (bench, repo, url) = fleet();
    repo.hook("pre-receive", "echo no >&2; exit 1");
    let ran = bench.run(&BY_MANIFEST);
    assert_eq!(ran.code, 2, "{}", ran.err);
    let line = ran.err.lines().find(|line| line.starts_with("pushing: ")).unwrap();
    assert!(line.starts_with("pushing: 1 field in 1 file as "), "{line}");
    let end = format!(" to main of {url}, by fluxbot <flux@example.com>");
    assert!(line.ends_with(&end), "{line}");
    let dry = bench.ok(&[&BY_MANIFEST[..], &["--dry-run"]].concat());
    assert!(!dry.err.contains("pushing"), "{}", dry.err);
    repo.hook("pre-receive", "");
    let done = bench.ok(&BY_MANIFEST);
    assert!(done.err.contains("pushing: "), "{}", done.err);
    assert_eq!(repo.log("main").len(), 2, "nobody is asked without a terminal");
}

/// What another branch has now, and what becomes of it, is told by a preview.
#[test]
fn a_preview_says_what_the_push_branch_has() {
    let (bench, repo, url) = fleet();
    bench.write("p.yaml", policy("fs", "app", "ghcr.io/o/app", "2.0.0"));
    let update = [
        "update",
        &url,
        "-f",
        "p.yaml",
        "--author",
        "bot <bot@example.com>",
        "--dry-run",
    ];
    let preview = || bench.ok(&[&update[..], &["--push-branch", "auto"]].concat()).out;
    let first = preview();
    assert!(
        first.contains("note: it would be pushed to auto, which is new"),
        "{first}"
    );
    repo.git(&["branch", "auto", "main"]);
    let second = preview();
    let id = repo.git(&["rev-parse", "--short=7", "auto"]);
    let told = format!(
        "note: auto has {} (\"first\") now: the commit would take its place",
        id.trim()
    );
    assert!(second.contains(&told), "{second}");
    let main = bench.ok(&update).out;
    assert!(!main.contains("note: "), "{main}");
}

/// Runs at a terminal, with what is typed there.
fn at_terminal(bench: &Bench, arguments: &[&str], typed: impl AsRef<[u8]>) -> Option<Ran> {
    if !bumpwright_testkit::has("script", "bsdutils") {
        return None;
    }
    let inner = bench.command(arguments);
    let words: Vec<String> = std::iter::once(inner.get_program())
        .chain(inner.get_args())
        .map(|word| format!("'{}'", word.to_string_lossy()))
        .collect();
    let mut command = Command::new("script");
    command
        .args(["-qec", &words.join(" "), "/dev/null"])
        .current_dir(&bench.dir);
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(typed.as_ref()).unwrap();
    let mut output = child.wait_with_output().unwrap();
    // The terminal shows what was typed, whatever it is.
    output.stdout = String::from_utf8_lossy(&output.stdout).into_owned().into_bytes();
    Some(ran(output))
}

#[test]
fn people_at_a_terminal_are_asked_where_a_manifest_names_the_repository() {
    let (bench, repo, url) = fleet();
    let Some(refused) = at_terminal(&bench, &BY_MANIFEST, "n\n") else {
        return;
    };
    assert!(refused.out.contains("push? [y]es, [n]o, [a]ll"), "{}", refused.out);
    assert!(
        refused.code == 2 && refused.out.contains("not pushed, as answered"),
        "{}",
        refused.out
    );
    assert_eq!(repo.log("main").len(), 1);
    let unread = at_terminal(&bench, &BY_MANIFEST, b"\xff\n").unwrap();
    assert!(
        unread.code == 2 && unread.out.contains("cannot read the answer") && unread.out.contains("--push does not ask"),
        "{}",
        unread.out
    );
    assert_eq!(repo.log("main").len(), 1);
    let taken = at_terminal(&bench, &BY_MANIFEST, "y\n").unwrap();
    assert_eq!(taken.code, 0, "{}", taken.out);
    assert_eq!(repo.log("main").len(), 2);
    // An address that is typed is meant, and so is a flag.
    for more in [&["--push"][..], &[url.as_str()]] {
        repo.commit("main", "back", &[Change::File("a.yaml", MARKED)]);
        let before = repo.log("main").len();
        let pushed = at_terminal(&bench, &[&BY_MANIFEST[..], more].concat(), "").unwrap();
        assert!(pushed.code == 0 && !pushed.out.contains("push?"), "{}", pushed.out);
        assert_eq!(repo.log("main").len(), before + 1);
    }
}

#[test]
fn an_interrupted_push_says_whether_it_landed() {
    for (verdict, landed) in [("exit 0", true), ("exit 1", false)] {
        let (bench, repo, _) = fleet();
        let [reached, go] = ["reached", "go"].map(|name| bench.path(name));
        let wait = format!(
            "touch {}; while [ ! -e {} ]; do sleep 0.05; done; {verdict}",
            reached.display(),
            go.display()
        );
        repo.hook("pre-receive", &wait);
        let log = std::fs::File::create(bench.path("log")).unwrap();
        let mut command = bench.command(&BY_MANIFEST);
        let child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        until("the push has reached the server", || reached.exists());
        let kill = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap();
        assert!(kill.success());
        until("the interrupt is told", || {
            bench.read("log").contains("interrupted: a push has begun")
        });
        std::fs::write(&go, "").unwrap();
        let ran = ran(child.wait_with_output().unwrap());
        assert_eq!(ran.code, 130, "{}\n{}", ran.out, bench.read("log"));
        assert_eq!(ran.out.contains("pushed"), landed, "{}", ran.out);
        assert_eq!(bench.read("log").contains("error: "), !landed, "{}", bench.read("log"));
        assert_eq!(repo.log("main").len(), if landed { 2 } else { 1 });
    }
}

/// A server that takes connections and never answers.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    (listener, host)
}

/// The first line on standard error of a command that does not end, which is interrupted then as by default.
fn waits(bench: &Bench, arguments: &[&str]) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    let mut child = bench
        .command(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = Vec::new();
    let mut err = child.stderr.take().unwrap();
    let mut byte = [0];
    while err.read(&mut byte).unwrap() == 1 && byte != *b"\n" {
        line.extend(byte);
    }
    let kill = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().signal(), Some(2));
    String::from_utf8(line).unwrap()
}

#[test]
fn silent_servers_are_named_while_they_are_waited_for() {
    let (bench, ..) = fleet();
    let (_listener, host) = silent();
    let url = format!("http://{host}/acme/fleet.git");
    let git = waits(&bench, &["update", "-f", "all.yaml", &url]);
    assert_eq!(git, format!("waiting: fetching {url} …"));
    let image = format!("{host}/acme/app");
    let registry = waits(&bench, &["policy", "--image", &image, "--semver", "*"]);
    assert_eq!(registry, format!("waiting: fetching the tags of {image} …"));
    let fleet = waits(&bench, &["fleet", &url]);
    assert_eq!(fleet, format!("waiting: fetching {url} …"));
}

/// Commands with a limit of their own do not wait longer for one answer.
#[test]
fn a_time_limit_of_a_command_bounds_each_answer() {
    let (bench, ..) = fleet();
    let (_listener, host) = silent();
    let url = format!("http://{host}/acme/fleet.git");
    let ran = bench.run(&["fleet", &url, "--timeout", "500ms"]);
    let told = format!("error: {url}: no answer within 500ms\n");
    assert!(ran.code == 2 && ran.err.ends_with(&told), "{}", ran.err);
    let kubeconfig = format!(
        "{{clusters: [{{name: a, cluster: {{server: 'http://{host}'}}}}], users: [{{name: a, user: {{}}}}], \
         contexts: [{{name: a, context: {{cluster: a, user: a}}}}], current-context: a}}"
    );
    bench.write("kubeconfig", kubeconfig);
    for command in [
        &["reconcile", "kustomization", "apps"][..],
        &["resume", "kustomization", "apps", "--wait"],
        &["install"],
        &["uninstall"],
    ] {
        let ran = bench.run(&[command, &["--timeout", "500ms", "--kubeconfig", "kubeconfig"]].concat());
        assert!(
            ran.code == 2 && ran.err.contains("the API server did not answer within 0.5 seconds"),
            "{command:?}: {}",
            ran.err
        );
    }
    let ran = bench.run(&["check", "--timeout", "500ms", "--kubeconfig", "kubeconfig"]);
    let told = format!("error: not done within --timeout 500ms: asking http://{host}/\n");
    assert_eq!((ran.code, ran.err), (2, told));
    // Who reads the output gets one document all the same.
    let image = format!("{host}/acme/app");
    for command in [
        &["check", "--kubeconfig", "kubeconfig"][..],
        &["status", "--kubeconfig", "kubeconfig"],
        &["get", "images", "--kubeconfig", "kubeconfig"],
        &["events", "--kubeconfig", "kubeconfig"],
        &["policy", "--image", &image, "--semver", "*"],
    ] {
        let ran = bench.run(&[command, &["--timeout", "500ms", "--output", "json"]].concat());
        let document: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let error = document["error"].as_str().unwrap();
        assert!(
            error.starts_with("not done within --timeout 500ms"),
            "{command:?} {}",
            ran.out
        );
        assert_eq!((ran.code, ran.err), (2, format!("error: {error}\n")), "{command:?}");
    }
}

/// A command with a limit ends at it, and says what it was waiting for.
#[test]
fn a_time_limit_ends_the_command_with_what_it_waited_for() {
    let (bench, ..) = fleet();
    let (_listener, host) = silent();
    let url = format!("http://{host}/acme/fleet.git");
    let ran = bench.run(&["update", "-f", "all.yaml", &url, "--timeout", "500ms"]);
    let last = ran.err.lines().last().unwrap_or_default().to_owned();
    let told = format!("error: not done within --timeout 500ms: fetching {url} …");
    assert_eq!((ran.code, last), (2, told), "{}", ran.err);
    let image = format!("{host}/acme/app");
    let (code, document) = bench.json(&["update", "-f", "all.yaml", &url, "--timeout", "500ms"]);
    let error = document["runs"][0]["error"].as_str().unwrap();
    assert!(
        code == 2 && error.starts_with("not done within --timeout 500ms: fetching"),
        "{document:#}"
    );
    let ran = bench.run(&["policy", "--image", &image, "--semver", "*", "--timeout=500ms"]);
    assert!(ran.code == 2 && ran.err.contains(&image), "{}", ran.err);
    let wrong = bench.run(&["update", "--timeout", "soon"]);
    assert!(
        wrong.code == 2 && wrong.err.contains("invalid duration"),
        "{}",
        wrong.err
    );
    bench.ok(&["update", "--dry-run", "--timeout", "1m"]);
}
