//! Fetches from the real git: the checked out commit, the cost, the recovery from damage.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use bumpwright_git::{Also, Checkout, GitError, Mirror, MirrorOptions, Remote, RemoteUrl, TransportError, open};
use bumpwright_testkit::git_http::{Fault, GitHttp};
use bumpwright_testkit::mirror::{
    Speaks, branch, bump, files, folder, id, mirror, mirror_with, packs, push, transport, try_files,
};
use bumpwright_testkit::repo::{Change, Repo, git};
use tempfile::TempDir;

const ALL: [Speaks; 3] = [Speaks::Two, Speaks::One, Speaks::Zero];

/// A repository, its server, and a place for mirrors.
struct World {
    root: TempDir,
    repo: Repo,
    http: GitHttp,
}

impl World {
    fn empty(arguments: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let repo = Repo::init_with(root.path().join("r.git"), arguments);
        repo.config("http.receivepack", "true");
        let http = GitHttp::start(root.path());
        Self { root, repo, http }
    }

    fn new() -> Self {
        let world = Self::empty(&[]);
        for n in 0..3 {
            world.file("main", "a.yaml", &format!("a: {n}\n"));
        }
        world
    }

    fn file(&self, branch: &str, path: &str, content: &str) -> String {
        self.repo
            .commit(branch, "change", &[Change::File(path, content.as_bytes())])
    }

    fn path(&self) -> String {
        self.repo.dir.to_str().unwrap().to_owned()
    }

    fn urls(&self) -> [String; 2] {
        [self.path(), self.http.url("r.git")]
    }

    fn storage(&self) -> TempDir {
        tempfile::tempdir_in(self.root.path()).unwrap()
    }

    /// A fresh mirror for each way to the server and each protocol.
    fn mirrors(&self) -> Vec<(TempDir, Mirror)> {
        let ways = self
            .urls()
            .into_iter()
            .flat_map(|url| ALL.map(|speaks| (url.clone(), speaks)));
        ways.map(|(url, speaks)| {
            let storage = self.storage();
            let mirror = mirror_with(storage.path(), &url, speaks, true);
            (storage, mirror)
        })
        .collect()
    }
}

fn commits(storage: &Path) -> usize {
    folder(storage).git(&["rev-list", "--all", "--count"]).parse().unwrap()
}

#[test]
fn each_protocol_gives_the_tip_and_then_only_what_is_new() {
    let world = World::new();
    let mirrors = world.mirrors();
    for (_, mirror) in &mirrors {
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        assert_eq!(fetched.tip.commit.to_string(), world.repo.rev("main").unwrap());
        assert_eq!(fetched.tip.reference, "refs/heads/main");
        assert!(fetched.transferred);
        assert_eq!(
            files(&fetched),
            BTreeMap::from([("a.yaml".to_owned(), "a: 2\n".to_owned())])
        );
    }
    world.file("main", "b.yaml", "b: 1\n");
    for (storage, mirror) in &mirrors {
        assert_eq!(commits(storage.path()), 1);
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        assert_eq!(files(&fetched).len(), 2);
        assert!(fetched.transferred);
        assert!(!mirror.fetch(&branch("main"), &[]).unwrap().transferred);
        assert_eq!(commits(storage.path()), 2);
        folder(storage.path()).fsck();
    }
}

#[test]
fn nothing_new_costs_one_request_and_one_commit_costs_two() {
    let world = World::new();
    let storage = world.storage();
    let mirror = mirror(storage.path(), &world.http.url("r.git"));
    let count = || {
        world.http.clear();
        mirror
            .fetch(
                &branch("main"),
                &[Also {
                    reference: "refs/heads/auto".into(),
                    fetch: true,
                }],
            )
            .unwrap();
        world.http.requests().len()
    };
    assert_eq!(count(), 3);
    assert_eq!(count(), 1);
    world.file("main", "a.yaml", "a: new\n");
    assert_eq!(count(), 2);
    assert_eq!(count(), 1);
}

#[test]
fn tags_are_peeled_and_versions_chosen() {
    let world = World::new();
    world.repo.git(&["tag", "light", "main~1"]);
    world.repo.git(&["tag", "-a", "-m", "one", "v1.0.0", "main~2"]);
    world.repo.git(&["tag", "-a", "-m", "two", "v1.1.0", "main"]);
    world.repo.git(&["tag", "-a", "-m", "of a tag", "nested", "v1.1.0"]);
    let rev = |name: &str| world.repo.rev(&format!("{name}^{{commit}}")).unwrap();
    let last = |tags: &[String]| tags.iter().filter(|tag| tag.starts_with('v')).max().cloned();
    let none = |_: &[String]| None;
    for (storage, mirror) in world.mirrors() {
        for name in ["light", "v1.0.0", "v1.1.0", "nested"] {
            let fetched = mirror.fetch(&Checkout::Tag(name.into()), &[]).unwrap();
            assert_eq!(
                (fetched.tip.commit.to_string(), fetched.tip.reference),
                (rev(name), format!("refs/tags/{name}"))
            );
            assert!(!mirror.fetch(&Checkout::Tag(name.into()), &[]).unwrap().transferred);
        }
        let fetched = mirror
            .fetch(
                &Checkout::Semver {
                    range: ">=1".into(),
                    choose: &last,
                },
                &[],
            )
            .unwrap();
        assert_eq!(fetched.tip.reference, "refs/tags/v1.1.0");
        let error = mirror
            .fetch(
                &Checkout::Semver {
                    range: ">=5".into(),
                    choose: &none,
                },
                &[],
            )
            .unwrap_err();
        assert_eq!(error.to_string(), "no match found for semver: >=5");
        folder(storage.path()).fsck();
    }
}

#[test]
fn head_leads_to_the_default_branch() {
    let world = World::new();
    world.file("trunk", "t.yaml", "t: 1\n");
    world.repo.git(&["symbolic-ref", "HEAD", "refs/heads/trunk"]);
    for (_, mirror) in world.mirrors() {
        assert_eq!(
            mirror.fetch(&Checkout::Default, &[]).unwrap().tip.reference,
            "refs/heads/trunk"
        );
    }
    // A HEAD that leads nowhere: main is what is usually meant.
    world.repo.git(&["symbolic-ref", "HEAD", "refs/heads/gone"]);
    for (_, mirror) in world.mirrors() {
        assert_eq!(
            mirror.fetch(&Checkout::Default, &[]).unwrap().tip.reference,
            "refs/heads/main"
        );
    }
}

#[test]
fn what_is_not_there_is_named() {
    let world = World::new();
    for (_, mirror) in world.mirrors() {
        let error = mirror.fetch(&branch("nope"), &[]).unwrap_err();
        assert_eq!(error.to_string(), "couldn't find remote ref \"refs/heads/nope\"");
        let error = mirror.fetch(&Checkout::Tag("nope".into()), &[]).unwrap_err();
        assert_eq!(error.to_string(), "couldn't find remote ref \"refs/tags/nope\"");
        let missing = "1".repeat(40);
        let error = mirror
            .fetch(
                &Checkout::Commit {
                    id: missing,
                    branch: Some("main".into()),
                },
                &[],
            )
            .unwrap_err();
        assert!(matches!(error, GitError::CommitNotFound { .. }), "{error}");
        // The mirror is not affected.
        mirror.fetch(&branch("main"), &[]).unwrap();
    }
}

#[test]
fn an_empty_repository_says_so() {
    for arguments in [&[][..], &["--object-format=sha256"]] {
        let world = World::empty(arguments);
        for (_, mirror) in world.mirrors() {
            for checkout in [Checkout::Default, branch("main")] {
                let error = mirror.fetch(&checkout, &[]).unwrap_err();
                assert!(matches!(error, GitError::EmptyRepository), "{error}");
            }
        }
    }
}

#[test]
fn commits_are_given_by_id() {
    let world = World::new();
    let (old, older) = (world.repo.rev("main~1").unwrap(), world.repo.rev("main~2").unwrap());
    for (storage, mirror) in world.mirrors() {
        mirror.fetch(&branch("main"), &[]).unwrap();
        let with = Checkout::Commit {
            id: old.clone(),
            branch: Some("main".into()),
        };
        let fetched = mirror.fetch(&with, &[]).unwrap();
        assert_eq!(
            (fetched.tip.commit.to_string(), fetched.tip.reference.as_str()),
            (old.clone(), "refs/heads/main")
        );
        assert_eq!(files(&fetched)["a.yaml"], "a: 1\n");
        assert!(!mirror.fetch(&with, &[]).unwrap().transferred);
        let without = Checkout::Commit {
            id: older.clone(),
            branch: None,
        };
        let fetched = mirror.fetch(&without, &[]).unwrap();
        assert_eq!(
            (fetched.tip.commit.to_string(), fetched.tip.reference.as_str()),
            (older.clone(), "")
        );
        folder(storage.path()).fsck();
    }
}

#[test]
fn other_references_come_with_the_same_listing() {
    let world = World::new();
    let auto = world.file("auto", "c.yaml", "c: 1\n");
    for (storage, mirror) in world.mirrors() {
        let also = ["refs/heads/auto", "refs/heads/none"].map(|reference| Also {
            reference: reference.into(),
            fetch: true,
        });
        let fetched = mirror.fetch(&branch("main"), &also).unwrap();
        assert_eq!(fetched.also[0].commit, Some(id(&auto)));
        assert_eq!(fetched.also[1].commit, None);
        let commit = fetched.objects.commit(id(&auto)).unwrap();
        assert_eq!(commit.message, b"change");
        assert!(fetched.objects.find(commit.tree, b"c.yaml").unwrap().is_some());
        folder(storage.path()).fsck();
    }
    // A branch that is gone is forgotten, and a folder of branches can take its place.
    let (storage, mirror) = world.mirrors().remove(0);
    let also = |name: &str| {
        [Also {
            reference: format!("refs/heads/{name}"),
            fetch: true,
        }]
    };
    mirror.fetch(&branch("main"), &also("auto")).unwrap();
    world.repo.git(&["branch", "-D", "auto"]);
    world.file("auto/größe", "d.yaml", "d: 1\n");
    mirror.fetch(&branch("main"), &also("auto")).unwrap();
    let fetched = mirror.fetch(&branch("auto/größe"), &also("auto")).unwrap();
    assert_eq!(fetched.tip.reference, "refs/heads/auto/größe");
    folder(storage.path()).fsck();
}

#[test]
fn modes_links_and_submodules_are_what_they_are() {
    for arguments in [&[][..], &["--object-format=sha256"]] {
        let world = World::empty(arguments);
        let other = if arguments.is_empty() {
            "1".repeat(40)
        } else {
            "1".repeat(64)
        };
        let changes = [
            Change::File("a.yaml", b"a: 1\n"),
            Change::Executable("bin/run", b"#!/bin/sh\n"),
            Change::Symlink("link", "a.yaml"),
            Change::Submodule("module", &other),
            Change::File("bin.yaml", b"sorts after the folder\n"),
            Change::File("big", &[b'x'; 100_000]),
        ];
        world.repo.commit("main", "all sorts", &changes);
        let before = world.repo.tree("main");
        for url in world.urls() {
            let storage = world.storage();
            let mirror = mirror(storage.path(), &url);
            let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
            let big = fetched.objects.find(fetched.tip.tree, b"big").unwrap().unwrap();
            assert_eq!(fetched.objects.size(big.id).unwrap(), 100_000);
            let error = fetched.objects.blob(big.id, 99_999).unwrap_err();
            assert!(matches!(error, GitError::TooLarge { size: 100_000, .. }), "{error}");
            assert!(fetched.objects.find(fetched.tip.tree, b"a.yaml/x").unwrap().is_none());
            for path in ["module", "link", "bin", "none", "a.yaml/x"] {
                let edits = [(path.as_bytes().to_vec(), b"x".to_vec())].into();
                let error = fetched.objects.write_edits(fetched.tip.tree, &edits).unwrap_err();
                assert!(matches!(error, GitError::Invalid(_)), "{path}: {error}");
            }
            let (new, pack) = bump(&fetched, "bump", &[("bin/run", url.as_bytes())]);
            push(&mirror, &fetched, new, &pack).unwrap();
            let after = world.repo.tree("main");
            for (old, new) in before.iter().zip(&after) {
                assert_eq!(
                    (&old.mode, &old.path, old.id == new.id),
                    (&new.mode, &new.path, old.path != "bin/run")
                );
            }
            world.repo.fsck();
        }
    }
}

#[test]
fn edits_give_the_tree_that_git_gives() {
    let world = World::empty(&[]);
    let paths: Vec<String> = (0..4_000)
        .map(|n| format!("apps/d{}/e{}/f{n}.yaml", n / 30, n / 3))
        .collect();
    let contents =
        |round: usize| -> Vec<String> { (0..4_000).map(|n| format!("image: app:{}\n", n * round)).collect() };
    let commit = |branch: &str, contents: &[String]| {
        let files = paths
            .iter()
            .zip(contents)
            .map(|(path, content)| Change::File(path, content.as_bytes()));
        world.repo.commit(branch, "all", &files.collect::<Vec<_>>())
    };
    commit("main", &contents(1));
    let storage = world.storage();
    let mirror = mirror(storage.path(), &world.path());
    let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
    let after = contents(2);
    let edits: Vec<(&str, &[u8])> = paths
        .iter()
        .zip(&after)
        .map(|(p, c)| (p.as_str(), c.as_bytes()))
        .collect();
    let (new, pack) = bump(&fetched, "all", &edits);
    // Every blob and folder, and the commit.
    assert_eq!(pack.objects(), 4_000 + 1_334 + 134 + 2 + 1);
    push(&mirror, &fetched, new, &pack).unwrap();
    commit("git", &after);
    assert_eq!(world.repo.rev("main^{tree}"), world.repo.rev("git^{tree}"));
}

#[test]
fn files_and_folders_with_the_same_content_are_one_object() {
    let world = World::empty(&[]);
    // The strictest way to take a pack.
    world.repo.config("receive.fsckObjects", "true");
    world.repo.config("receive.unpackLimit", "1");
    let paths = ["a/x.yaml", "a/y.yaml", "b/x.yaml", "b/y.yaml"];
    world.repo.commit(
        "main",
        "twins",
        &paths.map(|path| Change::File(path, b"image: app:1\n")),
    );
    for (round, url) in world.urls().iter().enumerate() {
        let storage = world.storage();
        let mirror = mirror(storage.path(), url);
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        let content = format!("image: app:{}\n", round + 2);
        let (new, pack) = bump(&fetched, "twins", &paths.map(|path| (path, content.as_bytes())));
        // A blob, a folder, the root, the commit.
        assert_eq!(pack.objects(), 4);
        push(&mirror, &fetched, new, &pack).unwrap();
        assert_eq!(world.repo.show("main", "b/y.yaml"), content.as_bytes());
        folder(storage.path()).fsck();
    }
}

#[test]
fn a_branch_from_before_the_boundary_does_not_drag_history_in() {
    let world = World::new();
    for n in 0..40 {
        world.file("main", &format!("f{n}.yaml"), "x: 1\n");
    }
    let mirrors = world.mirrors();
    for (_, mirror) in &mirrors {
        mirror.fetch(&branch("main"), &[]).unwrap();
    }
    world.repo.git(&["branch", "side", "main~20"]);
    let side = world.file("side", "side.yaml", "x: 1\n");
    for (n, (storage, mirror)) in mirrors.iter().enumerate() {
        let fetched = mirror.fetch(&branch("side"), &[]).unwrap();
        assert_eq!(fetched.tip.commit.to_string(), side);
        // A server of version 2 tells that the branches are not related; older ones send what is little anyway.
        assert!(ALL[n % 3] != Speaks::Two || commits(storage.path()) == 2);
        folder(storage.path()).fsck();
    }
    // A rewritten branch.
    world.repo.git(&["update-ref", "refs/heads/main", &side]);
    world.file("main", "again.yaml", "x: 1\n");
    for (n, (storage, mirror)) in mirrors.iter().enumerate() {
        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
        assert_eq!(files(&fetched).len(), 23);
        assert!(ALL[n % 3] != Speaks::Two || commits(storage.path()) <= 3);
        folder(storage.path()).fsck();
    }
}

#[test]
fn an_annotated_tag_says_what_a_push_has_to_expect() {
    let world = World::new();
    world.repo.git(&["tag", "-a", "-m", "one", "v1", "main~1"]);
    let (commit, object) = (world.repo.rev("v1^{commit}").unwrap(), world.repo.rev("v1").unwrap());
    for (_, mirror) in world.mirrors() {
        let also = [Also {
            reference: "refs/tags/v1".into(),
            fetch: false,
        }];
        let fetched = mirror.fetch(&branch("main"), &also).unwrap();
        assert_eq!(
            (fetched.also[0].commit, fetched.also[0].object),
            (Some(id(&commit)), Some(id(&object)))
        );
        assert!(!fetched.objects.contains(id(&object)));
    }
}

/// A history of `count` commits, made by one process.
fn deep(repo: &Repo, count: usize) {
    let mut input = String::new();
    for n in 0..count {
        let (time, content) = (1_600_000_000 + n, format!("n: {n}\n"));
        input.push_str(&format!(
            "commit refs/heads/main\ncommitter T <t@x> {time} +0000\ndata 1\nx\n"
        ));
        input.push_str(&format!(
            "M 100644 inline f{}.yaml\ndata {}\n{content}\n",
            n % 50,
            content.len()
        ));
    }
    let mut child = git(&repo.dir);
    let child = child
        .args(["fast-import", "--quiet", "--date-format=raw"])
        .stdin(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_merge_of_an_old_branch_does_not_drag_history_in() {
    let world = World::empty(&[]);
    deep(&world.repo, 6_000);
    let mirrors = world.mirrors();
    for (_, mirror) in &mirrors {
        mirror.fetch(&branch("main"), &[]).unwrap();
    }
    for (round, base) in ["main~3000", "main~2000"].into_iter().enumerate() {
        let side = format!("side{round}");
        world.repo.git(&["branch", &side, base]);
        let side = world.file(&side, &format!("side{round}.yaml"), "x: 1\n");
        let tree = world.repo.rev("main^{tree}").unwrap();
        let merge = world
            .repo
            .git(&["commit-tree", &tree, "-p", "main", "-p", &side, "-m", "merge"]);
        world.repo.git(&["update-ref", "refs/heads/main", &merge]);
        for (storage, mirror) in &mirrors {
            let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
            assert_eq!(fetched.tip.commit.to_string(), merge);
            assert_eq!(files(&fetched).len(), 50);
            assert!(commits(storage.path()) <= 3, "{}", commits(storage.path()));
            folder(storage.path()).fsck();
        }
    }
}

#[test]
fn all_of_history_is_fetched_when_that_is_wanted() {
    let world = World::new();
    for url in world.urls() {
        for speaks in ALL {
            let storage = world.storage();
            mirror_with(storage.path(), &url, speaks, true)
                .fetch(&branch("main"), &[])
                .unwrap();
            assert_eq!(commits(storage.path()), 1);
            let mirror = mirror_with(storage.path(), &url, speaks, false);
            let tip = world.file("main", "more.yaml", &format!("{speaks:?} {url}"));
            mirror.fetch(&branch("main"), &[]).unwrap();
            let count = world.repo.git(&["rev-list", "--count", "main"]);
            assert_eq!(commits(storage.path()).to_string(), count);
            assert!(!storage.path().join("m/shallow").exists());
            assert_eq!(folder(storage.path()).rev("refs/heads/main").unwrap(), tip);
            folder(storage.path()).fsck();
        }
    }
}

#[test]
fn twenty_thousand_references_cost_one_line() {
    let world = World::new();
    let tip = world.repo.rev("main").unwrap();
    let lines: String = (0..20_000).map(|n| format!("{tip} refs/heads/b{n:05}\n")).collect();
    fs::write(
        world.repo.dir.join("packed-refs"),
        format!("# pack-refs with: peeled fully-peeled sorted \n{lines}"),
    )
    .unwrap();
    for (_, mirror) in world.mirrors() {
        for name in ["main", "b19999"] {
            assert_eq!(mirror.fetch(&branch(name), &[]).unwrap().tip.commit.to_string(), tip);
        }
    }
}

/// Breaks a mirror in some way; the next fetch has to work all the same.
fn heals(break_it: impl Fn(&Path)) {
    let world = World::new();
    for url in world.urls() {
        for reopen in [true, false] {
            let storage = world.storage();
            let first = mirror(storage.path(), &url);
            first.fetch(&branch("main"), &[]).unwrap();
            break_it(&storage.path().join("m"));
            let second = if reopen { mirror(storage.path(), &url) } else { first };
            let tip = world.file("main", "heal.yaml", &format!("{url}{reopen}"));
            let fetched = second.fetch(&branch("main"), &[]).unwrap();
            assert_eq!(fetched.tip.commit.to_string(), tip);
            // Cached objects of this process may hide the damage from it, but not from the next one.
            let third = mirror(storage.path(), &url);
            let again = third.fetch(&branch("main"), &[]).unwrap();
            let found = try_files(&again).or_else(|error| {
                assert!(matches!(error, GitError::Damaged(_)), "{error}");
                try_files(&third.fetch(&branch("main"), &[])?)
            });
            assert_eq!(found.unwrap().len(), 2);
            folder(storage.path()).fsck();
        }
    }
}

fn each_pack(mirror: &Path, extension: &str, change: impl Fn(&Path)) {
    for entry in fs::read_dir(mirror.join("objects/pack")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|found| found == extension) {
            change(&path);
        }
    }
}

fn overwrite(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn heals_when_packs_are_gone() {
    heals(|mirror| each_pack(mirror, "pack", |path| fs::remove_file(path).unwrap()));
}

#[test]
fn heals_when_indexes_are_gone() {
    heals(|mirror| each_pack(mirror, "idx", |path| fs::remove_file(path).unwrap()));
}

#[test]
fn heals_when_everything_is_gone() {
    heals(|mirror| fs::remove_dir_all(mirror.join("objects")).unwrap());
}

#[test]
fn heals_when_the_folder_is_gone() {
    heals(|mirror| fs::remove_dir_all(mirror).unwrap());
}

#[test]
fn heals_when_the_folder_is_full_of_garbage() {
    heals(|mirror| {
        for name in ["HEAD", "config", "packed-refs", "shallow"] {
            fs::write(mirror.join(name), b"\0garbage\xff").unwrap();
        }
    });
}

#[test]
fn heals_when_packs_are_empty_or_cut() {
    heals(|mirror| each_pack(mirror, "pack", |path| overwrite(path, b"")));
    heals(|mirror| {
        each_pack(mirror, "pack", |path| {
            let bytes = fs::read(path).unwrap();
            overwrite(path, &bytes[..bytes.len() / 2]);
        });
    });
    heals(|mirror| each_pack(mirror, "idx", |path| overwrite(path, b"\xfftOc")));
    // Damage that no checksum at an end tells.
    heals(|mirror| {
        each_pack(mirror, "pack", |path| {
            let mut bytes = fs::read(path).unwrap();
            let end = bytes.len() - 20;
            bytes[12..end].fill(0xff);
            overwrite(path, &bytes);
        });
    });
}

#[test]
fn an_interruption_between_pack_and_reference_leaves_a_sound_mirror() {
    let world = World::new();
    for url in world.urls() {
        let storage = world.storage();
        let opened = mirror(storage.path(), &url);
        opened.fetch(&branch("main"), &[]).unwrap();
        let root = storage.path().join("m");
        let before: Vec<Vec<u8>> = ["packed-refs", "shallow"]
            .iter()
            .map(|name| fs::read(root.join(name)).unwrap())
            .collect();
        world.repo.git(&["branch", "-f", "side", "main~2"]);
        world.file("side", "s.yaml", &url);
        opened.fetch(&branch("side"), &[]).unwrap();
        // As if the process had died after the pack, and again after the boundary.
        fs::write(root.join("packed-refs"), &before[0]).unwrap();
        for shallow in [true, false] {
            if shallow {
                fs::write(root.join("shallow"), &before[1]).unwrap();
            }
            let again = mirror(storage.path(), &url);
            again.fetch(&branch("side"), &[]).unwrap();
            folder(storage.path()).fsck();
            fs::write(root.join("packed-refs"), &before[0]).unwrap();
        }
    }
}

#[test]
fn a_stream_that_breaks_leaves_nothing_behind() {
    let world = World::new();
    let content: String = (0..20_000).map(|n| format!("{}\n", n * 7919)).collect();
    world.file("main", "big.yaml", &content);
    let storage = world.storage();
    let mirror = mirror(storage.path(), &world.http.url("r.git"));
    for bytes in [0, 4, 60, 300, 2_000, 20_000] {
        // Greeting and listing come first, but only once.
        let nth = if bytes == 0 { 3 } else { 2 };
        world.http.fault(nth, Fault::CloseAfter(bytes));
        let error = mirror.fetch(&branch("main"), &[]).unwrap_err();
        assert!(matches!(error, GitError::Transport(_)), "{bytes}: {error}");
        assert_eq!(packs(storage.path()), 0);
    }
    world.http.fault(
        2,
        Fault::Page(
            200,
            "application/x-git-upload-pack-result".into(),
            b"0010packfil".to_vec(),
        ),
    );
    assert!(mirror.fetch(&branch("main"), &[]).is_err());
    world
        .http
        .fault(2, Fault::Zeros("application/x-git-upload-pack-result".into(), 100_000));
    let error = mirror.fetch(&branch("main"), &[]).unwrap_err();
    assert!(matches!(error, GitError::Protocol(_)), "{error}");
    let mut nothing = b"000dpackfile\n0025\x01PACK\0\0\0\x02\0\0\0\0".to_vec();
    let trailer = "029d08823bd8a8eab510ad6ac75c823cfd3ed31e";
    nothing.extend(id(trailer).as_bytes());
    nothing.extend(b"0000");
    let page = Fault::Page(200, "application/x-git-upload-pack-result".into(), nothing);
    world.http.fault(2, page);
    let error = mirror.fetch(&branch("main"), &[]).unwrap_err();
    assert!(error.to_string().contains("did not send"), "{error}");
    let corrupt = b"000dpackfile\n0025\x01PACK\0\0\0\x02\0\0\0\x01garbage, garbage!!0000".to_vec();
    world.http.fault(
        2,
        Fault::Page(200, "application/x-git-upload-pack-result".into(), corrupt),
    );
    let error = mirror.fetch(&branch("main"), &[]).unwrap_err();
    assert!(matches!(error, GitError::Protocol(_)), "{error}");
    let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
    assert_eq!(files(&fetched)["big.yaml"].len(), content.len());
    let left = fs::read_dir(storage.path().join("m/objects/pack")).unwrap().count();
    assert_eq!(left, 2, "a pack and its index");
}

#[test]
fn a_server_that_changed_its_protocol_is_greeted_again() {
    let world = World::new();
    let storage = world.storage();
    let mirror = mirror(storage.path(), &world.http.url("r.git"));
    mirror.fetch(&branch("main"), &[]).unwrap();
    world.http.fault(1, Fault::Status(400, "no such command".into()));
    assert!(!mirror.fetch(&branch("main"), &[]).unwrap().transferred);
    // The same address serves a repository of another object format now.
    fs::remove_dir_all(&world.repo.dir).unwrap();
    let repo = Repo::init_with(&world.repo.dir, &["--object-format=sha256"]);
    let tip = repo.commit("main", "anew", &[Change::File("n.yaml", b"n: 1\n")]);
    let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
    assert_eq!(fetched.tip.commit.to_string(), tip);
}

#[test]
fn fifty_rounds_with_somebody_else_stay_sound() {
    let world = World::new();
    for url in world.urls() {
        let storage = world.storage();
        let mirror = mirror(storage.path(), &url);
        for round in 0..25 {
            world.file("main", &format!("their/{}.yaml", round % 7), &format!("{round} {url}"));
            let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
            let (new, pack) = bump(
                &fetched,
                "bump",
                &[("a.yaml", format!("ours: {round} {url}\n").as_bytes())],
            );
            push(&mirror, &fetched, new, &pack).unwrap();
        }
        assert_eq!(world.repo.rev("main"), folder(storage.path()).rev("refs/heads/main"));
        folder(storage.path()).fsck();
        world.repo.fsck();
    }
}

#[test]
fn two_hundred_rounds_leave_few_packs() {
    for shallow in [true, false] {
        let world = World::new();
        let storage = world.storage();
        let mirror = mirror_with(storage.path(), &world.http.url("r.git"), Speaks::Two, shallow);
        world.repo.git(&["tag", "-a", "-m", "kept", "v1", "main"]);
        mirror.fetch(&Checkout::Tag("v1".into()), &[]).unwrap();
        let config = fs::read(storage.path().join("m/config")).unwrap();
        let mut most = 0;
        let rounds = if shallow { 100 } else { 50 };
        for round in 0..rounds {
            world.file("main", "theirs.yaml", &format!("{round}"));
            let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
            let (new, pack) = bump(&fetched, "bump", &[("a.yaml", format!("ours: {round}\n").as_bytes())]);
            push(&mirror, &fetched, new, &pack).unwrap();
            most = most.max(packs(storage.path()));
        }
        assert_eq!(
            fs::read(storage.path().join("m/config")).unwrap(),
            config,
            "it was rebuilt"
        );
        // One more than the limit, the two of a round, and some for when a child that another test is just starting
        // holds a copy of the lock.
        assert!(most <= 45, "{most}");
        fs::write(storage.path().join("m/objects/pack/.tmp-left"), b"x").unwrap();
        folder(storage.path()).fsck();
        assert!(!mirror.fetch(&Checkout::Tag("v1".into()), &[]).unwrap().transferred);
        let tip = mirror.fetch(&branch("main"), &[]).unwrap();
        assert_eq!(files(&tip)["a.yaml"], format!("ours: {}\n", rounds - 1));
    }
}

#[test]
fn several_mirrors_on_one_folder_do_not_disturb_each_other() {
    let world = World::new();
    let storage = world.storage();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (world, storage) = (&world, storage.path());
            scope.spawn(move || {
                // Each as another process would: nothing shared but the folder.
                let mirror = mirror(storage, &world.urls()[thread % 2]);
                for round in 0..15 {
                    loop {
                        let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
                        let content = format!("{thread}: {round}\n");
                        let (new, pack) = bump(&fetched, "bump", &[("a.yaml", content.as_bytes())]);
                        match push(&mirror, &fetched, new, &pack) {
                            Ok(()) => break,
                            Err(GitError::Moved { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(world.repo.git(&["rev-list", "--count", "main"]), "63");
    mirror(storage.path(), &world.path())
        .fetch(&branch("main"), &[])
        .unwrap();
    folder(storage.path()).fsck();
    world.repo.fsck();
}

#[test]
fn damage_that_shows_while_packs_are_merged_is_healed() {
    let world = World::new();
    let storage = world.storage();
    let first = mirror(storage.path(), &world.path());
    let fetched = first.fetch(&branch("main"), &[]).unwrap();
    for round in 0..40 {
        let (_, pack) = bump(&fetched, "lost", &[("a.yaml", format!("{round}").as_bytes())]);
        first.store(&fetched.objects, &pack).unwrap();
    }
    // While somebody reads, nothing is merged.
    let again = first.fetch(&branch("main"), &[]).unwrap();
    assert_eq!(packs(storage.path()), 41);
    drop((fetched, again));
    each_pack(&storage.path().join("m"), "pack", |path| {
        let mut bytes = fs::read(path).unwrap();
        let end = bytes.len() - 20;
        bytes[12..end].fill(0xff);
        overwrite(path, &bytes);
    });
    let fetched = mirror(storage.path(), &world.path())
        .fetch(&branch("main"), &[])
        .unwrap();
    assert_eq!((files(&fetched).len(), packs(storage.path())), (1, 1));
    folder(storage.path()).fsck();
}

#[test]
fn what_lost_races_leave_behind_is_dropped() {
    let world = World::new();
    let storage = world.storage();
    let mirror = mirror(storage.path(), &world.path());
    let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
    let mut lost = None;
    for round in 0..40 {
        let (new, pack) = bump(&fetched, "lost", &[("a.yaml", format!("{round}").as_bytes())]);
        mirror.store(&fetched.objects, &pack).unwrap();
        lost = Some(new);
    }
    drop(fetched);
    // A child that another test is just starting may hold a copy of the lock for a moment.
    for _ in 0..50 {
        drop(mirror.fetch(&branch("main"), &[]).unwrap());
        if packs(storage.path()) == 1 {
            break;
        }
    }
    let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
    assert!(!fetched.transferred);
    assert!(!fetched.objects.contains(lost.unwrap()));
    assert_eq!(
        (files(&fetched)["a.yaml"].as_str(), packs(storage.path())),
        ("a: 2\n", 1)
    );
    folder(storage.path()).fsck();
}

#[test]
fn a_reader_of_what_was_rebuilt_does_not_have_it_rebuilt_again() {
    let world = World::new();
    let storage = world.storage();
    let (one, two) = (
        mirror(storage.path(), &world.path()),
        mirror(storage.path(), &world.path()),
    );
    let old = two.fetch(&branch("main"), &[]).unwrap();
    each_pack(&storage.path().join("m"), "idx", |path| fs::remove_file(path).unwrap());
    // The first sees the damage and rebuilds; the second still reads what is gone.
    let three = mirror(storage.path(), &world.path());
    three.fetch(&branch("main"), &[]).unwrap();
    let config = fs::read(storage.path().join("m/config")).unwrap();
    let edits = [(b"a.yaml".to_vec(), b"x".to_vec())].into();
    let missing = id(&"7".repeat(40));
    assert!(old.objects.write_edits(missing, &edits).is_err());
    for mirror in [&two, &one, &three] {
        assert_eq!(files(&mirror.fetch(&branch("main"), &[]).unwrap()).len(), 1);
    }
    assert_eq!(fs::read(storage.path().join("m/config")).unwrap(), config);
}

#[test]
fn branches_that_come_and_go_do_not_pile_up() {
    let world = World::new();
    let storage = world.storage();
    let mirror = mirror(storage.path(), &world.http.url("r.git"));
    let tip = world.repo.rev("main").unwrap();
    let lines: String = (0..300).map(|n| format!("{tip} refs/heads/b{n:03}\n")).collect();
    fs::write(
        world.repo.dir.join("packed-refs"),
        format!("# pack-refs with: peeled fully-peeled sorted \n{lines}"),
    )
    .unwrap();
    for n in 0..300 {
        let fetched = mirror.fetch(&branch(&format!("b{n:03}")), &[]).unwrap();
        assert_eq!(fetched.transferred, n == 0);
    }
    assert!(folder(storage.path()).refs().len() <= 257);
}

#[test]
fn errors_of_the_transport_come_through() {
    let world = World::new();
    let url = world.http.url("r.git");
    let storage = world.storage();
    let mirror = mirror(storage.path(), &url);
    mirror.fetch(&branch("main"), &[]).unwrap();
    for (status, wanted) in [
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (503, "Status"),
    ] {
        world.http.intercept(move |_| Some(Fault::Status(status, "no".into())));
        let error = mirror.fetch(&branch("main"), &[]).unwrap_err();
        assert!(
            format!("{error:?}").starts_with(&format!("Transport({wanted}")),
            "{error:?}"
        );
    }
    world.http.intercept(|_| None);
    // In the middle of a pack, below everything that reads it.
    world.file("main", "b.yaml", "b: 1\n");
    world
        .http
        .intercept(|seen| (seen.body.len() > 150).then_some(Fault::Delay(std::time::Duration::from_secs(9))));
    let remote = Remote {
        timeout: std::time::Duration::from_millis(400),
        ..Remote::new(RemoteUrl::parse(&url).unwrap())
    };
    let hasty = mirror.with_transport(std::sync::Arc::from(open(&remote).unwrap()));
    let error = hasty.fetch(&branch("main"), &[]).unwrap_err();
    assert!(
        matches!(error, GitError::Transport(TransportError::Timeout { .. })),
        "{error:?}"
    );
    world.http.intercept(|_| None);
    assert!(mirror.fetch(&branch("main"), &[]).unwrap().transferred);
}

#[test]
fn threads_may_hold_what_they_need() {
    fn sent<T: Send>() {}
    fn shared<T: Send + Sync>() {}
    shared::<Mirror>();
    sent::<bumpwright_git::Fetched>();
    sent::<bumpwright_git::Objects>();
    shared::<GitError>();
}

#[test]
fn one_mirror_serves_several_threads() {
    let world = World::new();
    let storage = world.storage();
    let transport = transport(&world.http.url("r.git"), Speaks::Two);
    let mirror = Mirror::open(storage.path(), "m", transport, MirrorOptions::default()).unwrap();
    for round in 0..5 {
        let tip = world.file("main", "a.yaml", &format!("{round}"));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let fetched = mirror.fetch(&branch("main"), &[]).unwrap();
                    assert_eq!(
                        (fetched.tip.commit.to_string(), files(&fetched).len()),
                        (tip.clone(), 1)
                    );
                });
            }
        });
        assert_eq!(packs(storage.path()), round + 1);
    }
}
