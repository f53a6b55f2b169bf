//! Ways to the server: SSH, signatures that it verifies, accounts with a second factor.

use std::process::Command;

use super::{Fleet, MARKED, forge};
use bumpwright_testkit::gitea::Forge;
use bumpwright_testkit::gpg::Gpg;
use bumpwright_testkit::repo::{git, run_text};
use bumpwright_testkit::sshd::keygen;
use serde_json::{Value, json};

#[test]
fn a_signed_commit_that_comes_over_ssh_is_verified_and_its_request_kept() {
    let Some(fleet) = Fleet::new("sshd") else { return };
    if !bumpwright_testkit::has("gpg", "gnupg") {
        return;
    }
    let (gitea, owner) = (fleet.hosted.gitea, &fleet.owner);
    let key = keygen(&fleet.bench.path("key"), &["-t", "ed25519"]);
    let public = fleet.bench.read("key.pub");
    let added = gitea.api(
        owner,
        "POST",
        "user/keys",
        &json!({"title": "bot", "key": public.trim()}),
    );
    assert_eq!(added.status, 201, "{added:?}");
    let gpg = Gpg::new();
    let fingerprint = gpg.make("sshd", "", "ed25519", "sign", "0", &[]);
    let armoured = gpg.run("", &["--armor", "--export", &fingerprint]);
    let added = gitea.api(owner, "POST", "user/gpg_keys", &json!({"armored_public_key": armoured}));
    assert_eq!(added.status, 201, "{added:?}");
    fleet.bench.write("sign", gpg.export("", &[&fingerprint]));

    let port = gitea.ssh_port().to_string();
    let hosts = run_text(Command::new("ssh-keyscan").args(["-p", &port, "127.0.0.1"]));
    fleet.bench.write("hosts", hosts + "\n");
    let url = format!("ssh://git@127.0.0.1:{port}/{}.git", fleet.hosted.path);
    let api = gitea.url("api/v1");
    let key = key.to_str().unwrap();
    let flags = |author: &'static str| {
        let mut flags = vec!["update", "-f", "p.yaml", &url, "--author", author, "--offline"];
        flags.extend(["--ssh-key", key, "--known-hosts", "hosts", "--sign-key", "sign"]);
        flags.extend([
            "--push-branch",
            "auto",
            "--pull-request=gitea",
            "--pull-request-api",
            &api,
        ]);
        flags.extend(["--pull-request-token-file", "token"]);
        flags
    };
    for (image, state) in [("2.0.0", "opened"), ("3.0.0", "updated")] {
        fleet.image(image);
        let (code, document) = fleet.bench.json(&flags("Bot <sshd@example.com>"));
        let run = &document["runs"][0];
        assert_eq!((code, &run["pullRequest"]["state"]), (0, &json!(state)), "{run:#}");
        let commit = fleet.hosted.api(owner, "GET", "/git/commits/auto", &Value::Null);
        let verification = &commit["commit"]["verification"];
        assert_eq!(verification["verified"], true, "{verification:#}");
    }
    // Words of a hook over SSH.
    let rule = json!({"rule_name": "auto", "enable_push": false});
    fleet.hosted.api(owner, "POST", "/branch_protections", &rule);
    fleet.image("4.0.0");
    let told = fleet.bench.run(&flags("Bot <sshd@example.com>"));
    assert!(
        told.code == 2 && told.err.contains("branch auto is protected from force push"),
        "{}",
        told.err
    );
    assert!(!told.err.lines().any(|line| line.trim() == "error:"), "{}", told.err);
    fleet.hosted.repo.fsck();
}

/// With a second factor passwords are refused, by Git and by the API; tokens are not.
#[test]
fn accounts_with_a_second_factor_use_tokens() {
    let Some(fleet) = Fleet::new("factors") else { return };
    fleet.hosted.gitea.require_second_factor(&fleet.owner);
    // The token for Git is that for the API as well.
    let url = fleet.hosted.url();
    let mut flags = vec!["update", "-f", "p.yaml", &url, "--author", super::BOT, "--offline"];
    flags.extend(["--push-branch", "auto", "--pull-request=gitea"]);
    let with = |file| [&flags[..], &["--username", "factors", "--password-file", file]].concat();
    fleet.bench.write("secret", bumpwright_testkit::gitea::PASSWORD);
    let told = fleet.bench.run(&with("secret"));
    let words = match forge() {
        Forge::Gitea => "authentication required",
        // It compares the factor with that of the account, and fails for want of a real one.
        Forge::Forgejo => "unexpected status 500",
    };
    assert!(told.code == 2 && told.err.contains(words), "{}", told.err);
    assert_eq!(fleet.rev("auto"), None);
    let told = fleet.bench.ok(&with("password"));
    assert!(told.out.contains("pull request #1 opened"), "{}", told.out);
}

/// Submodules, files of LFS and everything else that is not marked stay what they are.
#[test]
fn what_is_not_marked_is_not_touched() {
    let Some(fleet) = Fleet::new("untouched") else { return };
    let clone = fleet.bench.path("clone");
    let address = fleet
        .hosted
        .url()
        .replacen("://", &format!("://bot:{}@", fleet.owner.token), 1);
    let here = |arguments: &[&str]| run_text(git(&clone).args(arguments));
    run_text(git(&fleet.bench.dir).args(["clone", "-q", &address, "clone"]));
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n",
        "1".repeat(64)
    );
    std::fs::write(clone.join("big.bin"), pointer).unwrap();
    std::fs::write(
        clone.join(".gitattributes"),
        "*.bin filter=lfs diff=lfs merge=lfs -text\n",
    )
    .unwrap();
    std::fs::write(
        clone.join(".gitmodules"),
        "[submodule \"lib\"]\n\tpath = lib\n\turl = ../lib.git\n",
    )
    .unwrap();
    here(&["add", "."]);
    here(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{},lib", "2".repeat(40)),
    ]);
    here(&["commit", "-q", "-m", "by hand"]);
    here(&["push", "-q", "origin", "main"]);
    let before = fleet.hosted.repo.tree("main");
    fleet.kept(&[]);
    let after = fleet.hosted.repo.tree("auto");
    let changed: Vec<_> = after.iter().filter(|entry| !before.contains(entry)).collect();
    assert_eq!((changed.len(), after.len()), (1, before.len()), "{changed:?}");
    assert_eq!(changed[0].path, "a.yaml");
    assert_eq!(fleet.file("auto"), MARKED.replace("1.0.0", "2.0.0"));
}
