//! Remotes and repositories of all sorts, seen from the command: connection settings are in Secrets of manifests, for
//! each remote; contents are large, old, or have to stay untouched.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bumpwright_testkit::cli::{Bench, automation, git_repository, policy, ran};
use bumpwright_testkit::git_http::{GitHttp, Login, Options};
use bumpwright_testkit::packets::noise;
use bumpwright_testkit::proxy::Proxy;
use bumpwright_testkit::repo::{Change, Repo, git, run};
use bumpwright_testkit::sshd::Sshd;
use bumpwright_testkit::tls::Certificates;
use serde_json::Value;

const AUTHOR: [&str; 2] = ["--author", "Bot <bot@example.com>"];

fn marked(tag: &str) -> String {
    format!("image: ghcr.io/o/app:{tag} # {{\"$imagepolicy\": \"fs:app\"}}\n")
}

/// `name.git` with one marked file.
fn repository(bench: &Bench, name: &str) -> Repo {
    let repo = bench.repository(&format!("{name}.git"));
    repo.commit("main", "first", &[Change::File("a.yaml", marked("0").as_bytes())]);
    repo
}

/// A Secret with these values.
fn secret(name: &str, values: &[(&str, &[u8])]) -> String {
    let mut text = format!("---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: fs}}\ndata:\n");
    for (key, value) in values {
        writeln!(text, "  {key}: {}", STANDARD.encode(value)).unwrap();
    }
    text
}

/// What is at the remote afterwards, or the error.
fn updated(bench: &Bench, repo: &Repo, url: &str, spec: &str, secrets: &str, tag: &str) -> Result<(), String> {
    let manifests = policy("fs", "app", "ghcr.io/o/app", tag)
        + &git_repository("fs", "repo", url, &format!("  ref: {{branch: main}}\n{spec}"))
        + secrets
        + &automation("fs", "auto", "repo", "", "");
    bench.write("m.yaml", manifests);
    let (code, document) = bench.json(&["update", "-f", "m.yaml"]);
    match document["runs"][0]["error"].as_str() {
        None => {
            assert_eq!(code, 0, "{document:#}");
            assert_eq!(repo.show("main", "a.yaml"), marked(tag).as_bytes());
            Ok(())
        }
        Some(error) => {
            assert_eq!(code, 2);
            assert_ne!(repo.show("main", "a.yaml"), marked(tag).as_bytes());
            Err(error.to_owned())
        }
    }
}

#[test]
fn certificates_of_secrets_under_new_and_old_names() {
    let Some(certificates) = Certificates::make() else {
        return;
    };
    let bench = Bench::new();
    let repo = repository(&bench, "app");
    let options = |clients| Options {
        tls: Some(certificates.server_config(clients)),
        login: Login::Bearer("t0ken".to_owned()),
        ..Options::default()
    };
    let (ca, (cert, key)) = (&certificates.ca[..], &certificates.client);
    let (cert, key) = (&cert[..], &key[..]);
    let token: (&str, &[u8]) = ("bearerToken", b"t0ken");
    let by_secret = "  secretRef: {name: login}\n";
    let trusted = GitHttp::with(&bench.dir, options(false));
    let mutual = GitHttp::with(&bench.dir, options(true));
    let mut tag = 0;
    let mut with = |server: &GitHttp, values: &[(&str, &[u8])]| {
        tag += 1;
        let secret = secret("login", values);
        updated(
            &bench,
            &repo,
            &server.url("app.git"),
            by_secret,
            &secret,
            &tag.to_string(),
        )
    };
    for name in ["ca.crt", "caFile"] {
        with(&trusted, &[token, (name, ca)]).unwrap();
    }
    let error = with(&trusted, &[token]).unwrap_err();
    assert!(error.contains("UnknownIssuer"), "{error}");
    for names in [("ca.crt", "tls.crt", "tls.key"), ("caFile", "certFile", "keyFile")] {
        with(&mutual, &[token, (names.0, ca), (names.1, cert), (names.2, key)]).unwrap();
    }
    let error = with(&mutual, &[token, ("ca.crt", ca)]).unwrap_err();
    assert!(error.contains("client certificate"), "{error}");
    let error = with(&mutual, &[token, ("ca.crt", ca), ("tls.crt", cert)]).unwrap_err();
    assert!(error.contains("tls.key"), "{error}");
    let error = with(&trusted, &[("user", b"me"), ("pass", b"wr0ng"), ("ca.crt", ca)]).unwrap_err();
    let why =
        "no credentials were sent: secret 'fs/login' has neither username nor bearerToken (it has ca.crt, pass, user)";
    assert!(error.contains(why) && !error.contains("wr0ng"), "{error}");
    let error = with(&trusted, &[("bearerToken", b"wr0ng"), ("ca.crt", ca)]).unwrap_err();
    assert!(
        error.contains("authentication required") && !error.contains("wr0ng"),
        "{error}"
    );
}

#[test]
fn proxies_of_secrets_with_and_without_a_login() {
    let bench = Bench::new();
    let repo = repository(&bench, "app");
    let login = Login::Basic("bot".to_owned(), "pw".to_owned());
    let server = GitHttp::with(
        &bench.dir,
        Options {
            login,
            ..Options::default()
        },
    );
    let own = secret("login", &[("username", b"bot"), ("password", b"pw")]);
    let spec = "  secretRef: {name: login}\n  proxySecretRef: {name: proxy}\n";
    let mut tag = 0;
    for scheme in ["http", "socks5"] {
        for wanted in [None, Some(("me", "p@ss:w"))] {
            let proxy = Proxy::start(wanted);
            let address = format!("{scheme}://{}", proxy.address);
            let mut with = |given: Option<(&str, &str)>| {
                tag += 1;
                let (user, password) = given.unwrap_or_default();
                let mut values: Vec<(&str, &[u8])> = vec![("address", address.as_bytes())];
                if given.is_some() {
                    values.extend([("username", user.as_bytes()), ("password", password.as_bytes())]);
                }
                let secrets = own.clone() + &secret("proxy", &values);
                updated(&bench, &repo, &server.url("app.git"), spec, &secrets, &tag.to_string())
            };
            with(wanted).unwrap();
            assert!(proxy.targets().iter().all(|target| *target == server.host()));
            let through = proxy.targets().len();
            assert!(through > 0, "{scheme}: nothing went through the proxy");
            if wanted.is_some() {
                for wrong in [None, Some(("me", "hunter2"))] {
                    let error = with(wrong).unwrap_err();
                    assert!(
                        !error.contains("hunter2") && error.contains(&server.url("app.git")),
                        "{error}"
                    );
                }
                assert_eq!(proxy.targets().len(), through);
            }
        }
    }
}

/// Two tenants in one process: neither certificate authority nor proxy nor login of one is used for the other.
#[test]
fn what_one_remote_trusts_and_goes_through_is_its_own() {
    let (Some(one), Some(two)) = (Certificates::make(), Certificates::make()) else {
        return;
    };
    let bench = Bench::new();
    let (first, second) = (repository(&bench, "one"), repository(&bench, "two"));
    let serve = |certificates: &Certificates, token: &str| {
        let tls = Some(certificates.server_config(false));
        let login = Login::Bearer(token.to_owned());
        GitHttp::with(
            &bench.dir,
            Options {
                tls,
                login,
                ..Options::default()
            },
        )
    };
    let (server_one, server_two) = (serve(&one, "t1"), serve(&two, "t2"));
    let (proxy_one, proxy_two) = (Proxy::start(None), Proxy::start(Some(("me", "pw"))));
    let run = |tag: &str, cas: (&[u8], &[u8])| -> Vec<Option<String>> {
        let address = |proxy: &Proxy, scheme: &str| format!("{scheme}://{}", proxy.address);
        let secrets = secret("l1", &[("bearerToken", b"t1"), ("ca.crt", cas.0)])
            + &secret("l2", &[("bearerToken", b"t2"), ("ca.crt", cas.1)])
            + &secret("p1", &[("address", address(&proxy_one, "socks5").as_bytes())])
            + &secret(
                "p2",
                &[
                    ("address", address(&proxy_two, "http").as_bytes()),
                    ("username", b"me"),
                    ("password", b"pw"),
                ],
            );
        let spec =
            |n| format!("  ref: {{branch: main}}\n  secretRef: {{name: l{n}}}\n  proxySecretRef: {{name: p{n}}}\n");
        let manifests = policy("fs", "app", "ghcr.io/o/app", tag)
            + &git_repository("fs", "r1", &server_one.url("one.git"), &spec(1))
            + &git_repository("fs", "r2", &server_two.url("two.git"), &spec(2))
            + &secrets
            + &automation("fs", "a1", "r1", "", "")
            + &automation("fs", "a2", "r2", "", "");
        bench.write("m.yaml", manifests);
        let (_, document) = bench.json(&["update", "-f", "m.yaml"]);
        let error = |run: &Value| run["error"].as_str().map(str::to_owned);
        document["runs"].as_array().unwrap().iter().map(error).collect()
    };
    assert_eq!(run("1", (&one.ca, &two.ca)), [None, None]);
    for repo in [&first, &second] {
        assert_eq!(repo.show("main", "a.yaml"), marked("1").as_bytes());
    }
    assert!(proxy_one.targets().iter().all(|target| *target == server_one.host()));
    assert!(proxy_two.targets().iter().all(|target| *target == server_two.host()));
    assert!(!proxy_one.targets().is_empty() && !proxy_two.targets().is_empty());
    let seen = |server: &GitHttp, token: &str| {
        let wanted = format!("Bearer {token}");
        let requests = server.requests();
        assert!(
            requests
                .iter()
                .all(|seen| seen.header("authorization") == Some(&wanted))
        );
        !requests.is_empty()
    };
    assert!(seen(&server_one, "t1") && seen(&server_two, "t2"));
    // Only the second one has the wrong authority; the right one of the first does not apply.
    let errors = run("2", (&one.ca, &one.ca));
    assert_eq!(errors[0], None);
    assert!(
        errors[1].as_ref().unwrap().contains("invalid peer certificate"),
        "{errors:?}"
    );
    assert_eq!(second.show("main", "a.yaml"), marked("1").as_bytes());
}

#[test]
fn ssh_secrets_hold_the_public_key_and_a_password_too() {
    let Some(server) = Sshd::start() else { return };
    let bench = Bench::new();
    let repo = repository(&bench, "app");
    let url = server.url(&repo.dir);
    let known = server.host_line("ed25519");
    let spec = "  secretRef: {name: login}\n";
    let mut tag = 0;
    for (name, arguments) in [
        ("ed25519", &["-t", "ed25519"][..]),
        ("ecdsa", &["-t", "ecdsa", "-b", "384", "-m", "PEM"]),
        ("rsa", &["-t", "rsa", "-b", "2048", "-m", "PKCS8"]),
    ] {
        let key = server.key(name, arguments);
        run(Command::new("ssh-keygen")
            .args(["-q", "-p", "-P", "", "-N", "hunter2"])
            .args(&arguments[arguments.len() - 2..])
            .arg("-f")
            .arg(&key));
        let read = |path: &std::path::Path| std::fs::read(path).unwrap();
        let (private, public) = (read(&key), read(&key.with_extension("pub")));
        let mut with = |known: &str, password: &[u8]| {
            tag += 1;
            let values: [(&str, &[u8]); 4] = [
                ("identity", &private),
                ("identity.pub", &public),
                ("known_hosts", known.as_bytes()),
                ("password", password),
            ];
            updated(&bench, &repo, &url, spec, &secret("login", &values), &tag.to_string())
        };
        with(&known, b"hunter2").unwrap_or_else(|error| panic!("{name}: {error}\n{}", server.log()));
        let error = with(&known, b"wr0ng").unwrap_err();
        assert!(
            error.contains("passphrase") && !error.contains("wr0ng"),
            "{name}: {error}"
        );
        // A host key that is not known, or is another one, is never accepted.
        let error = with("", b"hunter2").unwrap_err();
        assert!(error.contains("known_hosts"), "{name}: {error}");
    }
    let error = updated(&bench, &repo, &url, spec, &secret("login", &[("identity", b"x")]), "99").unwrap_err();
    assert!(error.contains("'known_hosts' is required"), "{error}");
}

#[test]
fn ssh_algorithms_are_given_by_flags_as_with_flux() {
    let Some(server) = Sshd::start() else { return };
    let bench = Bench::new();
    let repo = repository(&bench, "app");
    let url = server.url(&repo.dir);
    let key = server.key("id", &["-t", "ed25519"]);
    let hosts = bench.write("hosts", server.host_line("ed25519") + &server.host_line("rsa"));
    let update = |tag: &str, more: &[&str]| {
        let set = format!("--set=fs:app=ghcr.io/o/app:{tag}");
        let own = [
            "--ssh-key",
            key.to_str().unwrap(),
            "--known-hosts",
            hosts.to_str().unwrap(),
        ];
        bench.run(&[&["update", &url, &set], &own[..], &AUTHOR, more].concat())
    };
    let ran = update(
        "1",
        &[
            "--ssh-kex-algos",
            "ecdh-sha2-nistp256,curve25519-sha256",
            "--ssh-hostkey-algos",
            "rsa-sha2-256",
        ],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let asked = server.connections();
    for (flag, name, known) in [
        ("--ssh-kex-algos", "rot13", "curve25519-sha256"),
        ("--ssh-hostkey-algos", "ssh-dss", "rsa-sha2-512"),
    ] {
        let ran = update("2", &[flag, name]);
        assert_eq!(ran.code, 2);
        assert!(
            ran.err.contains(&format!("`{name}` is not known; there are")),
            "{}",
            ran.err
        );
        assert!(ran.err.contains(known), "{}", ran.err);
    }
    assert_eq!(
        server.connections(),
        asked,
        "nothing was asked of the server\n{}",
        server.log()
    );
    // Known, and not what the server has.
    let ran = update("3", &["--ssh-kex-algos", "diffie-hellman-group1-sha1"]);
    assert_eq!(ran.code, 2);
    // Addresses are shown without the user.
    assert!(ran.err.contains(url.rsplit_once('@').unwrap().1), "{}", ran.err);
    assert_eq!(repo.show("main", "a.yaml"), marked("1").as_bytes());
}

/// The bytes of a plain run's fetch and the number of its requests.
fn cost(bench: &Bench, server: &GitHttp, name: &str, tag: u32, more: &[&str]) -> (usize, usize) {
    server.clear();
    let (url, set) = (server.url(name), format!("--set=fs:app=ghcr.io/o/app:{tag}"));
    bench.ok(&[&["update", &url, &set], &AUTHOR[..], more].concat());
    (server.requests().len(), server.sent())
}

fn fast_import(repo: &Repo, input: &[u8]) {
    let mut child = git(&repo.dir)
        .args([
            "-c",
            "core.compression=0",
            "fast-import",
            "--quiet",
            "--date-format=raw",
            "--force",
        ])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn ten_thousand_references_cost_no_more_than_one() {
    let bench = Bench::new();
    let repo = repository(&bench, "app");
    let tip = repo.rev("main").unwrap();
    let mut refs = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
    for kind in ["heads/b", "tags/v1.0."] {
        for n in 0..5_000 {
            writeln!(refs, "{tip} refs/{kind}{n:04}").unwrap();
        }
    }
    std::fs::write(repo.dir.join("packed-refs"), refs).unwrap();
    let server = GitHttp::start(&bench.dir);
    let (requests, bytes) = cost(&bench, &server, "app.git", 1, &[]);
    // Greeting, listing, objects, and a push, whose greeting has no way to list less.
    assert_eq!(requests, 5);
    let pushes = bytes;
    assert!(pushes < 900_000, "{pushes} bytes");
    let upload: usize = {
        server.clear();
        let url = server.url("app.git");
        bench.ok(&["update", &url, "--set=fs:app=ghcr.io/o/app:1", AUTHOR[0], AUTHOR[1]]);
        server.sent()
    };
    assert_eq!(server.requests().len(), 1);
    assert!(upload < 1_000, "{upload} bytes for a listing of one branch");
    // A range of versions needs the tags, and nothing else.
    let spec = "  ref: {semver: \">=1.0.0 <1.0.100\"}\n  interval: 1h\n";
    let manifests = policy("fs", "app", "ghcr.io/o/app", "7")
        + &git_repository(
            "fs",
            "repo",
            &server.url("app.git"),
            &spec.replace("  interval: 1h\n", ""),
        )
        + &automation("fs", "auto", "repo", "    push: {branch: main}\n", "");
    bench.write("m.yaml", manifests);
    server.clear();
    bench.ok(&["update", "-f", "m.yaml", "--dry-run"]);
    assert!(server.requests().len() <= 3, "{}", server.requests().len());
    assert!(server.sent() < 500_000, "{} bytes", server.sent());
}

#[test]
fn a_hundred_thousand_commits_cost_no_more_than_one() {
    let bench = Bench::new();
    let repo = repository(&bench, "app");
    let mut input = String::new();
    for n in 0..100_000 {
        let from = if n == 0 { "from refs/heads/main^0\n" } else { "" };
        writeln!(
            input,
            "commit refs/heads/main\ncommitter T <t@example.com> {} +0000\ndata 1\n.\n{from}",
            1_700_100_000 + n
        )
        .unwrap();
    }
    fast_import(&repo, input.as_bytes());
    assert_eq!(repo.git(&["rev-list", "--count", "main"]), "100001");
    let server = GitHttp::start(&bench.dir);
    let (requests, bytes) = cost(&bench, &server, "app.git", 1, &[]);
    assert_eq!(requests, 5);
    assert!(bytes < 5_000, "{bytes} bytes");
    let objects = || bench.mirror().git(&["rev-list", "--all", "--objects"]).lines().count();
    assert_eq!(objects(), 6, "two commits, each with a tree and a file");
    // A foreign commit is fetched as a difference, and a branch from far behind the edge without the history between.
    repo.commit("main", "theirs", &[Change::File("b.txt", b"b")]);
    let (requests, bytes) = cost(&bench, &server, "app.git", 2, &[]);
    assert_eq!((requests, bytes < 5_000), (4, true), "{bytes} bytes");
    repo.git(&["branch", "old", "main~50000"]);
    let (_, bytes) = cost(&bench, &server, "app.git", 3, &["--branch", "old"]);
    assert!(bytes < 5_000, "{bytes} bytes");
    bench.mirror().fsck();
}

#[test]
fn a_large_file_passes_through_without_filling_memory() {
    const SIZE: usize = 100 << 20;
    let bench = Bench::new();
    let repo = repository(&bench, "app");
    let import = |path: &str, bytes: &[u8]| {
        let head = format!(
            "commit refs/heads/main\ncommitter T <t@example.com> 1700200000 +0000\ndata 1\n.\nfrom refs/heads/main^0\nM 644 inline {path}\ndata {}\n",
            bytes.len()
        );
        fast_import(&repo, &[head.as_bytes(), bytes, b"\n"].concat());
    };
    let some = noise(1 << 20);
    let large = some.repeat(SIZE >> 20);
    import("model.bin", &large);
    import(
        "huge.yaml",
        &[marked("0").as_bytes(), &b"# long\n".repeat(5 << 20)].concat(),
    );
    let before = repo.tree("main");
    let server = GitHttp::start(&bench.dir);
    let url = server.url("app.git");
    let update = |tag: u32| {
        let set = format!("--set=fs:app=ghcr.io/o/app:{tag}");
        let (ran, peak) = bench.weighed(&[&["update", &url, &set, "--output", "json"], &AUTHOR[..]].concat());
        assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
        println!("100 MB file, run {tag}: {peak} KiB at most");
        assert!(peak < 64 << 10, "{peak} KiB for a file of 100 MB");
        serde_json::from_str::<Value>(&ran.out).unwrap()
    };
    let document = update(1);
    let skips = document["runs"][0]["skips"].as_array().unwrap();
    assert_eq!(skips.len(), 1, "{document:#}");
    assert_eq!(
        (skips[0]["path"].as_str(), skips[0]["reason"].as_str()),
        (Some("huge.yaml"), Some("TooLarge"))
    );
    // Another one comes in a thin pack, which is completed on disk and not in memory.
    import("second.bin", &noise(SIZE / 2 + 7).repeat(2));
    update(2);
    assert_eq!(repo.show("main", "a.yaml"), marked("2").as_bytes());
    let after = repo.tree("main");
    let of = |tree: &[bumpwright_testkit::repo::Entry], path: &str| {
        tree.iter().find(|entry| entry.path == path).unwrap().id.clone()
    };
    assert_eq!(of(&after, "huge.yaml"), of(&before, "huge.yaml"));
}

#[test]
fn what_is_not_ours_survives_untouched() {
    let bench = Bench::new();
    let repo = bench.repository("app.git");
    let elsewhere = "1".repeat(40);
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    let other = marked("0");
    let files = [
        Change::File("apps/a.yaml", other.as_bytes()),
        Change::File("apps/A.yaml", other.as_bytes()),
        Change::File("Apps/a.yaml", other.as_bytes()),
        Change::File("apps/pointer.yaml", pointer),
        Change::File(".gitattributes", b"*.bin filter=lfs\n"),
        Change::File(".gitmodules", b"[submodule \"sub\"]\n\tpath = apps/sub\n\turl = ../x\n"),
        Change::Submodule("apps/sub", &elsewhere),
        Change::Submodule("vendored.yaml", &elsewhere),
        Change::Symlink("apps/link.yaml", "a.yaml"),
        Change::Symlink("inner", "apps"),
        Change::Executable("apps/run.sh", b"#!/bin/sh\n"),
    ];
    repo.commit("main", "first", &files);
    let before = repo.tree("main");
    let url = format!("file://{}", repo.dir.display());
    let update = |tag: &str, more: &[&str]| {
        let set = format!("--set=fs:app=ghcr.io/o/app:{tag}");
        let (code, document) = bench.json(&[&["update", &url, &set], &AUTHOR[..], more].concat());
        assert_eq!(code, 0, "{document:#}");
        let run = document["runs"][0].clone();
        assert_eq!(run["skips"].as_array().unwrap().len(), 0, "{document:#}");
        let changes = run["changes"].as_array().unwrap().clone();
        changes
            .iter()
            .map(|change| change["path"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    // The root, however it is spelt; names that differ in case only are different files.
    assert_eq!(
        update("1", &["--path", "../../.."]),
        ["Apps/a.yaml", "apps/A.yaml", "apps/a.yaml"]
    );
    // One file; a folder through a link; below it no link is followed.
    assert_eq!(update("2", &["--path", "/apps/A.yaml"]), ["apps/A.yaml"]);
    assert_eq!(update("3", &["--path", "inner"]), ["apps/A.yaml", "apps/a.yaml"]);
    let after = repo.tree("main");
    let ours = ["apps/a.yaml", "apps/A.yaml", "Apps/a.yaml"];
    let rest = |tree: &[bumpwright_testkit::repo::Entry]| -> Vec<_> {
        tree.iter()
            .filter(|entry| !ours.contains(&entry.path.as_str()))
            .cloned()
            .collect()
    };
    assert_eq!(rest(&after), rest(&before));
    assert_eq!(after.len(), before.len());
    for (path, tag) in [("apps/a.yaml", "3"), ("apps/A.yaml", "3"), ("Apps/a.yaml", "1")] {
        assert_eq!(repo.show("main", path), marked(tag).as_bytes(), "{path}");
    }
    repo.fsck();
}

#[test]
fn references_of_all_kinds_are_started_from() {
    for format in ["sha1", "sha256"] {
        let bench = Bench::new();
        let repo = Repo::init_with(bench.path("app.git"), &[&format!("--object-format={format}")]);
        let old = repo.commit("trunk", "first", &[Change::File("a.yaml", marked("0").as_bytes())]);
        repo.git(&["symbolic-ref", "HEAD", "refs/heads/trunk"]);
        repo.git(&["tag", "-a", "-m", "one", "v1.2.0"]);
        repo.git(&["update-ref", "refs/pull/7/head", &old]);
        repo.commit("trunk", "second", &[Change::File("b.txt", b"b")]);
        repo.git(&["tag", "v2.0.0"]);
        let server = GitHttp::start(&bench.dir);
        let url = server.url("app.git");
        let from = |reference: &str, branch: &str| {
            let manifests = policy("fs", "app", "ghcr.io/o/app", "7")
                + &git_repository("fs", "repo", &url, reference)
                + &automation("fs", "auto", "repo", &format!("    push: {{branch: {branch}}}\n"), "");
            bench.write("m.yaml", manifests);
            let (code, document) = bench.json(&["update", "-f", "m.yaml"]);
            assert_eq!(code, 0, "{reference}: {document:#}");
            repo.log(branch)[0].parents[0].clone()
        };
        let tip = repo.rev("trunk").unwrap();
        for (reference, parent) in [
            ("  ref: {tag: v1.2.0}\n".to_owned(), &old),
            ("  ref: {semver: \"1.x\"}\n".to_owned(), &old),
            ("  ref: {semver: \">=1.0.0\"}\n".to_owned(), &tip),
            ("  ref: {name: refs/pull/7/head}\n".to_owned(), &old),
            (format!("  ref: {{branch: trunk, commit: {old}}}\n"), &old),
        ] {
            let branch = format!(
                "from-{}",
                reference.bytes().map(u64::from).fold(7, |n, b| n * 31 % 99_991 + b)
            );
            assert_eq!(from(&reference, &branch), *parent, "{format} {reference}");
        }
        // Without a reference a plain run starts from the remote's own branch, whatever its name.
        bench.ok(&[&["update", &url, "--set=fs:app=ghcr.io/o/app:8"], &AUTHOR[..]].concat());
        assert_eq!(repo.show("trunk", "a.yaml"), marked("8").as_bytes());
        repo.fsck();
    }
}

/// `url.….insteadOf`, `~/.netrc`, and the header that `actions/checkout` writes into the clone of a job.
#[test]
fn the_user_s_git_says_how_a_repository_is_reached() {
    let bench = Bench::new();
    let repo = repository(&bench, "app");
    let options = Options {
        login: Login::Basic("bot".to_owned(), "s3cret".to_owned()),
        ..Options::default()
    };
    let server = GitHttp::with(&bench.dir, options);
    let base = server.url("");
    let config = bench.write("gitconfig", format!("[url \"{base}\"]\n\tinsteadOf = fleet:\n"));
    let update = |tag: &str| {
        let set = format!("--set=fs:app=ghcr.io/o/app:{tag}");
        let mut command = bench.command(&[&["update", "fleet:app.git", &*set], &AUTHOR[..]].concat());
        ran(command.env("GIT_CONFIG_GLOBAL", &config).output().unwrap())
    };
    let first = update("1");
    assert_eq!(first.code, 2, "{}", first.out);
    let refused = "neither git's credential helpers nor ~/.netrc have a login that the server accepts";
    assert!(first.err.contains(refused), "{}", first.err);

    let netrc = |password: &str| {
        let host = server.host();
        let (name, _) = host.split_once(':').unwrap();
        let text = format!("machine {name} login bot password {password}\n");
        std::fs::write(bench.home.path().join(".netrc"), text).unwrap();
    };
    netrc("s3cret");
    assert_eq!(update("1").code, 0);
    assert_eq!(repo.show("main", "a.yaml"), marked("1").as_bytes());

    netrc("wrong");
    assert_eq!(update("2").code, 2);
    // In the folder of a clone; a header for another server is not sent.
    run(git(&bench.dir).args(["init", "--quiet"]));
    let header = |url: &str| {
        let value = format!("AUTHORIZATION: basic {}", STANDARD.encode("bot:s3cret"));
        run(git(&bench.dir).args(["config", &format!("http.{url}.extraheader"), &value]));
    };
    header("https://github.com/");
    assert_eq!(update("2").code, 2);
    header(&base);
    let last = update("2");
    assert_eq!(last.code, 0, "{}", last.err);
    assert_eq!(repo.show("main", "a.yaml"), marked("2").as_bytes());
}
