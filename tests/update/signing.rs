//! Signed commits: keys made by gpg and ssh-keygen, signatures checked by git (issue 6,
//! ImageUpdateAutomation v1 *Signing Key*).

use std::path::Path;
use std::process::Command;

use bumpwright_testkit::cli::{Bench, Ran, automation, git_repository, policy, ran};
use bumpwright_testkit::gpg::{Gpg, file};
use bumpwright_testkit::repo::{self, Change, Repo};
use serde_json::{Value, json};

const MARKED: &str = "image: o/app:1.0.0 # {\"$imagepolicy\": \"fs:app\"}\n";

/// A repository with one marker that waits for 2.0.0.
struct Fleet {
    bench: Bench,
    repo: Repo,
}

fn fleet_with(arguments: &[&str]) -> Fleet {
    let bench = Bench::new();
    let repo = Repo::init_with(bench.path("app.git"), arguments);
    repo.commit("main", "first", &[Change::File("a.yaml", MARKED.as_bytes())]);
    Fleet { bench, repo }
}

fn fleet() -> Fleet {
    fleet_with(&[])
}

impl Fleet {
    fn url(&self) -> String {
        format!("file://{}", self.repo.dir.display())
    }

    /// Runs an automation whose signing key is in the Secret `key`, with these entries.
    fn automated(&self, kind: &str, entries: &Value, more: &[&str]) -> (i32, Value) {
        let signing = match kind {
            "" => "      signingKey: {secretRef: {name: key}}\n".to_owned(),
            kind => format!("      signingKey: {{secretRef: {{name: key}}, type: {kind}}}\n"),
        };
        let mut manifests = policy("fs", "app", "o/app", "2.0.0")
            + &git_repository("fs", "repo", &self.url(), "  ref: {branch: main}\n")
            + &automation("fs", "auto", "repo", &signing, "");
        if !entries.is_null() {
            let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": "fs"},
                "stringData": entries});
            manifests += &format!("---\n{secret}\n");
        }
        self.bench.write("m.yaml", manifests);
        self.bench.json(&[&["update", "-f", "m.yaml"], more].concat())
    }

    fn signed(&self, kind: &str, entries: &Value) {
        let (code, document) = self.automated(kind, entries, &[]);
        assert_eq!(code, 0, "{document:#}");
        let commit = &document["runs"][0]["commit"];
        assert_eq!(commit["signed"], true, "{document:#}");
        assert_eq!(commit["id"], json!(self.repo.rev("main")));
        self.repo.fsck();
    }

    fn error(&self, kind: &str, entries: &Value) -> String {
        let before = self.repo.refs();
        let (code, document) = self.automated(kind, entries, &[]);
        assert_eq!(code, 2, "{document:#}");
        assert_eq!(self.repo.refs(), before);
        let error = document["runs"][0]["error"].as_str().unwrap_or_default().to_owned();
        assert!(!error.contains("hunter"), "{error}");
        error
    }

    /// A plain run with flags.
    fn plain(&self, more: &[&str]) -> Ran {
        ran(self.plain_command(more).output().unwrap())
    }

    fn plain_command(&self, more: &[&str]) -> Command {
        let arguments = [
            "update",
            "--set",
            "fs:app=o/app:2.0.0",
            "--author",
            "gpg <gpg@example.com>",
        ];
        let mut command = self.bench.command(&[&arguments, more].concat());
        command.arg(self.url());
        command
    }
}

fn has_gpg() -> bool {
    bumpwright_testkit::has("gpg", "gnupg")
}

/// git's verification of a commit signed by an SSH key.
fn ssh_verified(repository: &Path, revision: &str, public: &Path) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("* {}", std::fs::read_to_string(public).unwrap());
    let signers = file(folder.path(), "signers", &line);
    let mut command = repo::git(repository);
    command
        .arg("-c")
        .arg(format!("gpg.ssh.allowedSignersFile={}", signers.display()));
    command
        .args(["verify-commit", revision])
        .output()
        .unwrap()
        .status
        .success()
}

fn ssh_keygen(folder: &Path, name: &str, passphrase: &str, more: &[&str]) -> String {
    let path = folder.join(name);
    repo::run(
        Command::new("ssh-keygen")
            .args(["-q", "-N", passphrase, "-C", "test", "-f"])
            .arg(&path)
            .args(more),
    );
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn openpgp_keys_of_every_kind_sign() {
    if !has_gpg() {
        return;
    }
    let gpg = Gpg::new();
    for (algorithm, passphrase) in [
        ("ed25519", ""),
        ("ed25519", "hunter2"),
        ("rsa2048", ""),
        ("rsa3072", "hunter2"),
        ("nistp256", ""),
        ("nistp384", "hunter2"),
        ("nistp521", ""),
    ] {
        let name = format!("{algorithm}x{}", passphrase.len());
        gpg.make(&name, passphrase, algorithm, "sign", "0", &[]);
        let key = gpg.export(passphrase, &[&format!("{name}@example.com")]);
        let fleet = fleet();
        match passphrase {
            "" => fleet.signed("", &json!({"git.asc": key})),
            passphrase => fleet.signed("gpg", &json!({"git.asc": key, "passphrase": passphrase})),
        }
        let (good, said) = gpg.verify(&fleet.repo.dir, "main");
        assert!(good, "{name}: {said}");
        assert!(said.contains(&format!("{name}@example.com")), "{said}");
        let sha512 = said
            .lines()
            .any(|line| line.contains(" VALIDSIG ") && line.contains(" 10 00 "));
        assert!(sha512, "{said}");
    }
}

#[test]
fn repositories_with_sha256_are_signed_too() {
    if !has_gpg() {
        return;
    }
    let gpg = Gpg::new();
    gpg.make("gpg", "", "ed25519", "sign", "0", &[]);
    let fleet = fleet_with(&["--object-format=sha256"]);
    fleet.signed("", &json!({"git.asc": gpg.export("", &["gpg@example.com"])}));
    let commit = fleet.repo.git(&["cat-file", "commit", "main"]);
    assert!(
        commit.contains("\ngpgsig-sha256 -----BEGIN PGP SIGNATURE-----\n"),
        "{commit}"
    );
    let (good, said) = gpg.verify(&fleet.repo.dir, "main");
    assert!(good, "{said}");
}

#[test]
fn the_subkey_is_taken_that_gpg_would_take() {
    if !has_gpg() {
        return;
    }
    let gpg = Gpg::new();
    let key = gpg.make(
        "sub",
        "",
        "rsa2048",
        "cert,sign",
        "0",
        &["--faked-system-time", "20240101T000000"],
    );
    for (time, usage, expires) in [
        ("20240201T000000", "encr", "0"),
        ("20240301T000000", "sign", "0"),
        ("20240401T000000", "sign", "0"),
        ("20240501T000000", "sign", "2d"),
    ] {
        let algorithm = if usage == "encr" { "cv25519" } else { "ed25519" };
        gpg.run(
            "",
            &[
                "--faked-system-time",
                time,
                "--quick-add-key",
                &key,
                algorithm,
                usage,
                expires,
            ],
        );
    }
    let parts = gpg.signing_parts("sub");
    assert_eq!(parts.len(), 4, "{parts:?}");
    let fleet = fleet();
    fleet.signed("", &json!({"git.asc": gpg.export("", &["sub@example.com"])}));
    let (good, said) = gpg.verify(&fleet.repo.dir, "main");
    assert!(
        good && said.contains(&format!("GOODSIG {}", parts[2])),
        "{parts:?} {said}"
    );
    // gpg's own choice.
    let message = file(fleet.bench.dir.as_path(), "message", "x");
    let status = gpg.run(
        "",
        &[
            "--status-fd=1",
            "--local-user",
            &key,
            "--output",
            "-",
            "--detach-sign",
            "--armor",
            message.to_str().unwrap(),
        ],
    );
    let made = status.lines().find(|line| line.contains("SIG_CREATED")).unwrap();
    assert!(made.contains(&parts[2]), "{parts:?} {made}");

    // A laptop's key: the primary one is elsewhere.
    let laptop = gpg.run("", &["--armor", "--export-secret-subkeys", "sub@example.com"]);
    let fleet = self::fleet();
    fleet.signed("", &json!({"git.asc": laptop}));
    assert!(gpg.verify(&fleet.repo.dir, "main").0);
}

#[test]
fn keys_that_must_not_be_used_are_refused_and_the_next_one_serves() {
    if !has_gpg() {
        return;
    }
    let gpg = Gpg::new();
    // The `!` holds gpg's clock still: a slow machine makes the key a second later.
    let past = ["--faked-system-time", "20240101T000000!"];
    let old = gpg.make("old", "", "ed25519", "sign", "10d", &past);
    let taken = gpg.make("taken", "", "ed25519", "sign", "0", &[]);
    gpg.revoke(&taken);
    let early = gpg.make(
        "early",
        "",
        "ed25519",
        "sign",
        "0",
        &["--faked-system-time", "20990101T000000!"],
    );
    gpg.make("good", "", "ed25519", "sign", "0", &[]);
    let export = |keys: &[&str]| json!({"git.asc": gpg.export("", keys)});
    let fleet = fleet();
    for (key, why) in [
        (&old, "has expired on 2024-01-11T00:00:00Z"),
        (&taken, "was revoked on 20"),
        (&early, "is not valid before 2099-01-01T00:00:00Z"),
    ] {
        let error = fleet.error("", &export(&[key]));
        let expected = format!(
            "could not read signing key from secret 'key': OpenPGP key {} {why}",
            &key[24..]
        );
        assert!(error.contains(&expected), "{error}");
    }
    fleet.signed("", &export(&[&old, "good@example.com"]));
    let (good, said) = gpg.verify(&fleet.repo.dir, "main");
    assert!(good && said.contains("good@example.com"), "{said}");
}

#[test]
fn ssh_keys_of_every_kind_sign() {
    let folder = tempfile::tempdir().unwrap();
    for (n, (passphrase, more)) in [
        ("", &["-t", "ed25519"][..]),
        ("hunter2", &["-t", "ed25519"]),
        ("", &["-t", "rsa", "-b", "2048"]),
        ("hunter2", &["-t", "rsa", "-b", "3072", "-m", "PEM"]),
        ("", &["-t", "rsa", "-b", "2048", "-m", "PKCS8"]),
        ("", &["-t", "ecdsa", "-b", "256"]),
        ("hunter2", &["-t", "ecdsa", "-b", "384", "-m", "PEM"]),
        ("", &["-t", "ecdsa", "-b", "521", "-m", "PEM"]),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("key{n}");
        let key = ssh_keygen(folder.path(), &name, passphrase, more);
        let fleet = fleet();
        fleet.signed("ssh", &json!({"identity": key, "password": passphrase}));
        let public = folder.path().join(format!("{name}.pub"));
        assert!(ssh_verified(&fleet.repo.dir, "main", &public), "{more:?}");
        let other = folder.path().join(format!("key{}.pub", if n == 0 { 0 } else { n - 1 }));
        assert_eq!(ssh_verified(&fleet.repo.dir, "main", &other), n == 0, "{more:?}");
    }
}

#[test]
fn what_is_wrong_with_a_secret_is_said_as_flux_says_it() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = ssh_keygen(folder.path(), "locked", "hunter2", &["-t", "ed25519"]);
    let dsa = "-----BEGIN DSA PRIVATE KEY-----\nMA==\n-----END DSA PRIVATE KEY-----\n";
    let fleet = fleet();
    for (kind, entries, text) in [
        (
            "",
            Value::Null,
            "could not find signing key secret 'key': secrets \"key\" not found",
        ),
        (
            "",
            json!({"x": "y"}),
            "signing key secret 'key' does not contain a 'git.asc' key",
        ),
        (
            "ssh",
            json!({"git.asc": "y"}),
            "signing key secret 'key' does not contain an 'identity' key",
        ),
        (
            "",
            json!({"git.asc": "hunter"}),
            "could not read signing key from secret 'key': openpgp: invalid argument: no armored data found",
        ),
        (
            "ssh",
            json!({"identity": "hunter"}),
            "could not parse SSH signing key from secret 'key': could not parse SSH signing key: ssh: no key found",
        ),
        (
            "ssh",
            json!({"identity": ssh}),
            "can not use passphrase protected signing key without 'password' field present in secret key",
        ),
        (
            "ssh",
            json!({"identity": ssh, "password": "hunter3"}),
            "could not parse SSH signing key from secret 'key': could not parse SSH signing key: x509: decryption password incorrect",
        ),
        (
            "ssh",
            json!({"identity": dsa}),
            "could not parse SSH signing key from secret 'key': SSH keys of type ssh-dss cannot sign commits",
        ),
    ] {
        let error = fleet.error(kind, &entries);
        assert!(error.starts_with(text), "{error}");
    }
    // Other kinds are refused as the API server refuses them (N-009).
    let (code, document) = fleet.automated("x509", &json!({"git.asc": ""}), &[]);
    let error = document["runs"][0]["error"].as_str().unwrap();
    assert!(
        code == 2 && error.contains("x509") && error.contains("signingKey"),
        "{error}"
    );
    if !has_gpg() {
        return;
    }
    let gpg = Gpg::new();
    gpg.make("locked", "hunter2", "ed25519", "sign", "0", &[]);
    let locked = gpg.export("hunter2", &["locked@example.com"]);
    let public = gpg.run("", &["--armor", "--export"]);
    for (entries, text) in [
        (
            json!({"git.asc": locked}),
            "can not use passphrase protected signing key without 'passphrase' field present in secret key",
        ),
        (
            json!({"git.asc": locked, "passphrase": "hunter3"}),
            "could not decrypt private key of the signing key present in secret key: openpgp: invalid data: private key checksum failure",
        ),
        (
            json!({"git.asc": public}),
            "could not read signing key from secret 'key': it has only the public half of a key",
        ),
    ] {
        let error = fleet.error("gpg", &entries);
        assert!(error.starts_with(text), "{error}");
    }
}

#[test]
fn a_preview_tries_the_key_and_signs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let key = ssh_keygen(folder.path(), "key", "hunter2", &["-t", "ed25519"]);
    let fleet = fleet();
    let entries = |passphrase: &str| json!({"identity": key, "password": passphrase});
    let (code, document) = fleet.automated("ssh", &entries("hunter3"), &["--dry-run"]);
    assert_eq!(code, 2, "{document:#}");
    let (code, document) = fleet.automated("ssh", &entries("hunter2"), &["--dry-run"]);
    assert_eq!(code, 0, "{document:#}");
    let run = &document["runs"][0];
    assert_eq!(
        (&run["commit"]["id"], &run["commit"]["signed"]),
        (&Value::Null, &json!(true))
    );
    let ran = fleet.bench.ok(&["update", "-f", "m.yaml", "--dry-run"]);
    let said = format!("{}{}", ran.out, ran.err);
    assert!(said.contains("would be signed with SSH key SHA256:"), "{said}");
    assert!(said.contains("as fluxbot <flux@example.com>, signed: "), "{said}");
}

#[test]
fn an_unsigned_commit_on_the_push_branch_is_replaced_and_a_signed_one_kept() {
    let folder = tempfile::tempdir().unwrap();
    let key = ssh_keygen(folder.path(), "key", "", &["-t", "ed25519"]);
    let path = folder.path().join("key");
    let fleet = fleet();
    let branch = ["--push-branch", "auto"];
    assert_eq!(fleet.plain(&branch).code, 0);
    let unsigned = fleet.repo.rev("auto");
    let with = ["--push-branch", "auto", "--sign-key", path.to_str().unwrap()];
    assert_eq!(fleet.plain(&with).code, 0);
    let signed = fleet.repo.rev("auto");
    assert_ne!(unsigned, signed);
    assert!(ssh_verified(&fleet.repo.dir, "auto", &folder.path().join("key.pub")));
    let again = fleet.plain(&with);
    assert!(
        again
            .out
            .contains("nothing had to be pushed: the remote has it at refs/heads/auto already\n")
            && again.out.contains(", signed"),
        "{}",
        again.out
    );
    assert_eq!(fleet.repo.rev("auto"), signed);
    drop(key);
}

#[test]
fn flags_take_keys_of_both_kinds() {
    let folder = tempfile::tempdir().unwrap();
    ssh_keygen(folder.path(), "key", "hunter2", &["-t", "ed25519"]);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let right = file(folder.path(), "right", "hunter2\n").display().to_string();
    let wrong = file(folder.path(), "wrong", "hunter3\n").display().to_string();
    let nothing = file(folder.path(), "nothing", "hunter\n").display().to_string();
    let fleet = fleet();
    let (key, public) = (path("key"), path("key.pub"));
    for (flags, text) in [
        (
            vec!["--sign-key", key.as_str()],
            "the key is protected by a passphrase, and none was given: --sign-passphrase-file FILE",
        ),
        (
            vec!["--sign-key", &key, "--sign-passphrase-file", &wrong],
            "the passphrase does not unlock the SSH key",
        ),
        (
            vec!["--sign-key", &nothing],
            "it holds no private key, neither of OpenPGP (armoured) nor of SSH",
        ),
        (vec!["--sign-key", &public], "it holds no private key"),
        (vec!["--sign-key", "/nowhere"], "No such file"),
        (vec!["--sign-passphrase-file", &right], "--sign-key"),
    ] {
        let ran = fleet.plain(&flags);
        assert!(
            ran.code == 2 && ran.err.contains(text) && !ran.err.contains("hunter"),
            "{}",
            ran.err
        );
    }
    let ran = fleet.plain(&["--sign-key", &key, "--sign-passphrase-file", &right]);
    assert!(
        ran.code == 0 && ran.out.contains("by gpg <gpg@example.com>, signed: "),
        "{}{}",
        ran.out,
        ran.err
    );
    assert!(ssh_verified(&fleet.repo.dir, "main", &folder.path().join("key.pub")));
    if !has_gpg() {
        return;
    }
    let gpg = Gpg::new();
    gpg.make("gpg", "hunter2", "ed25519", "sign", "0", &[]);
    let armoured = file(folder.path(), "git.asc", &gpg.export("hunter2", &["gpg@example.com"]))
        .display()
        .to_string();
    let fleet = self::fleet();
    let ran = fleet.plain(&[
        "--output",
        "markdown",
        "--sign-key",
        &armoured,
        "--sign-passphrase-file",
        &right,
    ]);
    assert!(
        ran.code == 0 && ran.out.contains(", signed: "),
        "{}{}",
        ran.out,
        ran.err
    );
    assert!(gpg.verify(&fleet.repo.dir, "main").0);
}

#[test]
fn the_users_own_settings_sign_what_the_user_commits() {
    let folder = tempfile::tempdir().unwrap();
    ssh_keygen(folder.path(), "key", "", &["-t", "ed25519"]);
    let key = folder.path().join("key");
    let settings = |text: String| file(folder.path(), "gitconfig", &text);
    let ssh = |key: &Path| {
        format!(
            "[commit]\ngpgsign = true\n[gpg]\nformat = ssh\n[user]\nsigningkey = {}\n",
            key.display()
        )
    };
    let run = |fleet: &Fleet, config: &Path, home: Option<&Path>, more: &[&str]| {
        let mut command = fleet.plain_command(more);
        command.env("GIT_CONFIG_GLOBAL", config);
        if let Some(home) = home {
            command.env("GNUPGHOME", home);
        }
        ran(command.output().unwrap())
    };
    let fleet = fleet();
    let config = settings(ssh(&key));
    let ran = run(&fleet, &config, None, &["--dry-run"]);
    assert!(
        ran.code == 0 && ran.err.contains("would sign") || ran.out.contains("would sign"),
        "{}{}",
        ran.out,
        ran.err
    );
    let ran = run(&fleet, &config, None, &[]);
    assert!(ran.code == 0 && ran.out.contains(", signed"), "{}{}", ran.out, ran.err);
    assert!(ssh_verified(&fleet.repo.dir, "main", &folder.path().join("key.pub")));

    // Without a usable key nothing is pushed.
    let fleet = self::fleet();
    let before = fleet.repo.refs();
    let config = settings(ssh(Path::new("/nowhere/key")));
    let ran = run(&fleet, &config, None, &[]);
    assert!(
        ran.code == 2 && ran.err.contains("could not be signed"),
        "{}{}",
        ran.out,
        ran.err
    );
    assert_eq!(fleet.repo.refs(), before);
    let ran = run(&fleet, &config, None, &["--no-sign"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(!fleet.repo.git(&["cat-file", "commit", "main"]).contains("gpgsig"));

    if !has_gpg() {
        return;
    }
    let gpg = Gpg::new();
    gpg.make("gpg", "", "ed25519", "sign", "0", &[]);
    for setting in ["", "[user]\nsigningkey = gpg@example.com\n"] {
        let fleet = self::fleet();
        let config = settings(format!("[commit]\ngpgsign = true\n{setting}"));
        let ran = run(&fleet, &config, Some(gpg.home()), &[]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let (good, said) = gpg.verify(&fleet.repo.dir, "main");
        assert!(good, "{said}");
    }
    let fleet = self::fleet();
    let config = settings("[commit]\ngpgsign = true\n[user]\nsigningkey = nobody@example.com\n".to_owned());
    let ran = run(&fleet, &config, Some(gpg.home()), &[]);
    assert!(ran.code == 2 && ran.err.contains("No secret key"), "{}", ran.err);
}

#[test]
fn commits_in_a_folder_are_signed_by_git_or_by_the_key_that_was_given() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["own", "given"] {
        ssh_keygen(folder.path(), name, "", &["-t", "ed25519"]);
    }
    let public = |name: &str| folder.path().join(format!("{name}.pub"));
    let given = folder.path().join("given").display().to_string();
    let bench = Bench::new();
    let git = |arguments: &[&str]| repo::run_text(repo::git(&bench.dir).args(arguments));
    git(&["init", "-q", "--initial-branch=main"]);
    git(&["config", "commit.gpgsign", "true"]);
    git(&["config", "gpg.format", "ssh"]);
    git(&["config", "user.signingkey", folder.path().join("own").to_str().unwrap()]);
    let commit = |tag: &str, more: &[&str]| {
        let set = format!("fs:app=o/app:{tag}");
        let arguments = [
            "update",
            "--set",
            &set,
            "--commit",
            "--author",
            "Ada <ada@acme.example>",
        ];
        bench.run(&[&arguments[..], more].concat())
    };
    bench.write("a.yaml", MARKED);
    git(&["add", "."]);
    git(&["commit", "-q", "--no-gpg-sign", "-m", "first"]);

    let ran = commit("2.0.0", &[]);
    assert!(ran.code == 0 && ran.out.contains(", signed"), "{}{}", ran.out, ran.err);
    assert!(ssh_verified(&bench.dir, "HEAD", &public("own")));
    let ran = commit("3.0.0", &["--sign-key", &given]);
    assert!(ran.code == 0 && ran.out.contains(", signed"), "{}{}", ran.out, ran.err);
    assert!(ssh_verified(&bench.dir, "HEAD", &public("given")));
    let ran = commit("4.0.0", &["--no-sign"]);
    assert!(ran.code == 0 && !ran.out.contains("signed"), "{}{}", ran.out, ran.err);
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(git(&["rev-list", "--count", "HEAD"]), "4");
    git(&["fsck", "--strict", "--no-dangling"]);

    let set = ["update", "--set", "fs:app=o/app:5.0.0"];
    let ran = bench.run(&[&set[..], &["--sign-key", &given]].concat());
    assert!(
        ran.code == 2 && ran.err.contains("--sign-key needs --commit"),
        "{}",
        ran.err
    );
}
