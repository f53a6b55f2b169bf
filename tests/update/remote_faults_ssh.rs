//! SSH servers that break, refuse and hang, seen from the command: an error that names the remote, no partial push,
//! and a next run that works and fetches only new objects.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;

use bumpwright_testkit::cli::{Bench, automation, git_repository, policy};
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_testkit::sshd::Sshd;

struct World {
    bench: Bench,
    repo: Repo,
    server: Sshd,
    good: std::path::PathBuf,
}

fn marked(tag: u32) -> String {
    format!("image: ghcr.io/o/app:{tag} # {{\"$imagepolicy\": \"fs:app\"}}\n")
}

impl World {
    /// With a mirror, and something new to fetch. None without sshd.
    fn warm() -> Option<Self> {
        let server = Sshd::start()?;
        let bench = Bench::new();
        let repo = bench.repository("app.git");
        repo.commit("main", "first", &[Change::File("a.yaml", marked(0).as_bytes())]);
        let good = server.key("good", &["-t", "ed25519"]);
        bench.write("hosts", server.host_line("ed25519"));
        let world = Self {
            bench,
            repo,
            server,
            good,
        };
        let ran = world.update(&world.good, 1);
        assert_eq!(ran.code, 0, "{}", ran.err);
        world.theirs();
        Some(world)
    }

    fn theirs(&self) {
        let noise = bumpwright_testkit::packets::noise(50_000);
        self.repo.commit("main", "theirs", &[Change::File("noise.bin", &noise)]);
    }

    fn url(&self) -> String {
        self.server.url(&self.repo.dir)
    }

    fn update(&self, key: &Path, tag: u32) -> bumpwright_testkit::cli::Ran {
        let (url, set) = (self.url(), format!("--set=fs:app=ghcr.io/o/app:{tag}"));
        let key = key.to_str().unwrap();
        let author = "Bot <bot@example.com>";
        self.bench.run(&[
            "update",
            &url,
            &set,
            "--ssh-key",
            key,
            "--known-hosts",
            "hosts",
            "--author",
            author,
        ])
    }

    /// A run with a key for which the server runs only this.
    fn fails(&self, name: &str, script: &str) -> String {
        let before = self.repo.refs();
        let key = self.server.forced_key(name, script);
        let ran = self.update(&key, 9);
        assert_eq!(ran.code, 2, "{name}: {}", ran.err);
        // Addresses are shown without the user.
        let url = self.url();
        assert!(ran.err.contains(url.rsplit_once('@').unwrap().1), "{name}: {}", ran.err);
        assert!(
            ran.err.len() < 20_000 && !ran.err.contains('\u{1b}'),
            "{name}: {}",
            ran.err
        );
        assert_eq!(self.repo.refs(), before, "{name}");
        ran.err
    }
}

#[test]
fn what_may_go_wrong_at_the_other_side() {
    let Some(world) = World::warm() else { return };
    let dir = world.repo.dir.display();
    // The connection goes away in the middle of the pack: greeting and listing are much shorter.
    let error = world.fails(
        "dropped",
        &format!("git-upload-pack '{dir}' | {{ dd bs=1 count=9000 status=none; kill -9 $PPID; }}"),
    );
    assert!(!error.contains("damaged"), "{error}");
    // There is no git.
    let error = world.fails("missing", "git-is-not-here --at-all");
    assert!(
        error.contains("git-is-not-here") && error.contains("not found"),
        "{error}"
    );
    // Something else runs than what was asked for, and says so in either place.
    let error = world.fails("sftp", "echo 'This service allows sftp connections only.'; exit 1");
    assert!(error.contains("This service allows sftp connections only."), "{error}");
    let error = world.fails("refused", "echo 'Access denied: ask the platform team.' >&2; exit 1");
    assert!(error.contains("Access denied: ask the platform team."), "{error}");
    let error = world.fails("loud", "yes 'no, and no again' | head -c 2000000 >&2; exit 1");
    assert!(error.contains("no, and no again"), "{error}");
    // Fetching works, pushing does not.
    let no_push = format!(
        "case $SSH_ORIGINAL_COMMAND in git-upload*) git-upload-pack '{dir}';; *) echo read only >&2; exit 1;; esac"
    );
    let error = world.fails("read-only", &no_push);
    assert!(error.contains("read only"), "{error}");
    // The push breaks off before its end.
    let cut = format!(
        "case $SSH_ORIGINAL_COMMAND in git-upload*) git-upload-pack '{dir}';; *) head -c 200 | git-receive-pack '{dir}'; kill -9 $PPID;; esac"
    );
    world.fails("cut", &cut);

    // All that did no harm to the mirror: the tips that were known and the new ones are there,
    // nothing was fetched twice.
    let ran = world.update(&world.good, 2);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(world.repo.show("main", "a.yaml"), marked(2).as_bytes());
    world.repo.fsck();
    let mirror = world.bench.mirror();
    mirror.fsck();
    assert_eq!(
        mirror.git(&["rev-list", "--count", "main"]),
        "4",
        "the first fetch had one commit"
    );
}

#[test]
fn a_server_that_only_says_hello_is_given_up_at_the_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n");
            held.push(stream);
        }
    });
    let bench = Bench::new();
    let url = format!("ssh://git@127.0.0.1:{port}/app.git");
    let key = bumpwright_testkit::sshd::keygen(&bench.path("key"), &["-t", "ed25519"]);
    let public = std::fs::read_to_string(key.with_extension("pub")).unwrap();
    let private = std::fs::read_to_string(&key).unwrap().replace('\n', "\n    ");
    let manifests = policy("fs", "app", "ghcr.io/o/app", "9")
        + &git_repository(
            "fs",
            "repo",
            &url,
            "  ref: {branch: main}\n  timeout: 500ms\n  secretRef: {name: login}\n",
        )
        + &format!(
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: login, namespace: fs}}\nstringData:\n  identity: |\n    {private}\n  known_hosts: |\n    [127.0.0.1]:{port} {public}\n"
        )
        + &automation("fs", "auto", "repo", "", "");
    bench.write("m.yaml", manifests);
    let ran = bench.run(&["update", "-f", "m.yaml"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(
        ran.err.contains(url.rsplit_once('@').unwrap().1) && ran.err.contains("no answer within 500ms"),
        "{}",
        ran.err
    );
}
