//! Commands in the image on a mounted repository, as in CI: `docker run -v "$PWD:/repo" -w /repo IMAGE update`.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::Image;
use super::container::Container;
use bumpwright_testkit::git_http::GitHttp;
use bumpwright_testkit::registry::Registry;
use bumpwright_testkit::repo::{Change, Repo, git, run};

/// The user whose repository it is; none of the image.
const OWNER: u32 = 1000;

/// An ImageRepository and an ImagePolicy, which a command asks the registry about.
fn policies(registry: &Registry) -> String {
    format!(
        "apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImageRepository\nmetadata: {{name: app, namespace: apps}}\n\
         spec: {{image: '{}/app', interval: 1h, insecure: true}}\n---\n\
         apiVersion: image.toolkit.fluxcd.io/v1\nkind: ImagePolicy\nmetadata: {{name: app, namespace: apps}}\n\
         spec: {{imageRepositoryRef: {{name: app}}, policy: {{semver: {{range: '*'}}}}}}\n",
        registry.host()
    )
}

fn marked(registry: &Registry, tag: &str) -> String {
    let marker = json!({"$imagepolicy": "apps:app"});
    format!("image: {}/app:{tag} # {marker}\n", registry.host())
}

/// A checkout of somebody else.
fn checkout(registry: &Registry, folder: &Path) {
    fs::create_dir(folder).unwrap();
    fs::write(folder.join("policies.yaml"), policies(registry)).unwrap();
    fs::write(folder.join("app.yaml"), marked(registry, "1.0.0")).unwrap();
    for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "first"]] {
        run(git(folder).args(arguments));
    }
    run(Command::new("chown")
        .arg("-R")
        .arg(format!("{OWNER}:{OWNER}"))
        .arg(folder));
}

/// git would refuse the repository of another user (`safe.directory`). An update in place has no need of git.
#[test]
fn a_mounted_repository_is_updated() {
    let (Some(image), Some(registry)) = (Image::shared(), Registry::start()) else {
        return;
    };
    registry.images().tags("app", &["1.0.0", "1.1.0"]);
    let folder = tempfile::tempdir().unwrap();
    let repo = folder.path().join("repo");
    checkout(&registry, &repo);
    let container = || {
        let container = Container::of(image)?.volume(&repo, "/repo", "rw");
        Some(container.empty(&folder.path().join("tmp"), "/tmp").folder("/repo"))
    };
    let (Some(stranger), Some(owner)) = (container(), container().map(|one| one.user(OWNER))) else {
        return;
    };
    let file = repo.join("app.yaml");
    for user in [&stranger, &owner] {
        let ran = user.run(&["update", "--dry-run", "--output", "diff"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
        let (old, new) = (marked(&registry, "1.0.0"), marked(&registry, "1.1.0"));
        assert!(ran.out.ends_with(&format!("-{old}+{new}")), "{}", ran.out);
        assert_eq!(fs::read_to_string(&file).unwrap(), old);
    }
    let ran = stranger.run(&["update"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(
        ran.err.contains("cannot write /repo/app.yaml: Permission denied"),
        "{}",
        ran.err
    );
    // What needs git says so.
    let ran = owner.run(&["update", "--commit", "--author=a <a@b>"]);
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("--commit needs it on the PATH"), "{}", ran.err);
    let ran = owner.run(&["update"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
    assert_eq!(fs::read_to_string(&file).unwrap(), marked(&registry, "1.1.0"));
    let after = fs::metadata(&file).unwrap();
    assert_eq!((after.uid(), after.gid()), (OWNER, OWNER));
}

/// Fetch, commit and push need no program but this one, and nothing that can be written but `/tmp`.
#[test]
fn a_repository_at_a_server_is_updated() {
    let (Some(image), Some(registry)) = (Image::shared(), Registry::start()) else {
        return;
    };
    registry.images().tags("app", &["1.0.0", "1.1.0"]);
    let folder = tempfile::tempdir().unwrap();
    let repo = Repo::init(folder.path().join("git/app.git"));
    repo.commit(
        "main",
        "first",
        &[Change::File("app.yaml", marked(&registry, "1.0.0").as_bytes())],
    );
    let server = GitHttp::start(&folder.path().join("git"));
    let objects = folder.path().join("policies.yaml");
    fs::write(&objects, policies(&registry)).unwrap();
    let Some(container) = Container::of(image) else { return };
    let container = container.volume(&objects, "/policies.yaml", "ro");
    let container = container.empty(&folder.path().join("tmp"), "/tmp");
    let url = server.url("app.git");
    let ran = container.run(&[
        "update",
        "-f",
        "/policies.yaml",
        &url,
        "--author",
        "Bot <bot@example.com>",
    ]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    assert_eq!(repo.show("main", "app.yaml"), marked(&registry, "1.1.0").as_bytes());
    assert_eq!(repo.log("main")[0].author, "Bot <bot@example.com>");
}
