//! Rollouts without a cluster: real repositories, and Kustomizations that are played. What is put back, to the byte,
//! whatever others did meanwhile; and a hundred rounds in compressed time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use bumpwright_git::{Checkout, GitError, ObjectId, Objects};
use bumpwright_policy::{FailedVersion, FailedVersions, LatestRef, PolicyName};
use bumpwright_rollout::{
    Follower, Handled, Holds, KustomizationState, Limits, Phase, Pushed, PutBack as Noted, Record, Seen,
};
use bumpwright_rules::Rules;
use bumpwright_testkit::mirror::{self, Speaks};
use bumpwright_testkit::repo::{Change, Repo};
use bumpwright_update::{
    Announce, AnnounceError, Announced, Author, CommitMessage, Edits, Index, Ours, Place, Policies, PushSettings,
    PutBack, RemoteJob, Run, Start, run_remote,
};
use parking_lot::Mutex;

const FILE: &str = "apps/app.yaml";

fn id(text: &str) -> ObjectId {
    ObjectId::from_hex(text.as_bytes()).unwrap()
}

fn marker(setter: &str) -> String {
    format!("# {{\"$imagepolicy\": \"fs:{setter}\"}}")
}

/// Remembers the commits that it is told of.
#[derive(Debug, Default)]
struct Told(Mutex<Vec<(ObjectId, ObjectId)>>);

impl Announce for Told {
    fn announce(&self, commit: &Announced<'_>) -> Result<(), AnnounceError> {
        self.0.lock().push((commit.base, commit.commit));
        Ok(())
    }
}

/// A repository, with a mirror of it.
struct Git {
    dir: tempfile::TempDir,
    repo: Repo,
    place: Place,
    /// Rules of the job, as of a ConfigMap.
    rules: Option<Rules>,
}

impl Git {
    fn new(text: &str) -> Self {
        Self::with(text, &[])
    }

    fn with(text: &str, arguments: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init_with(dir.path().join("app.git"), arguments);
        repo.commit("main", "first", &[Change::File(FILE, text.as_bytes())]);
        let url = format!("file://{}", repo.dir.display());
        let place = place(&dir.path().join("mirror"), &url);
        let rules = None;
        Self {
            dir,
            repo,
            place,
            rules,
        }
    }

    fn job(&self, images: &[(&str, &str)]) -> RemoteJob {
        let mut policies = Policies::default();
        for (name, image) in images {
            let (image, tag, digest) = LatestRef::split(image);
            let image = LatestRef {
                name: image.to_owned(),
                tag: tag.unwrap_or_default().to_owned(),
                digest: digest.map(str::to_owned),
            };
            policies.set(PolicyName::new("fs", *name), image);
        }
        RemoteJob {
            edits: Edits {
                automation: Some("fs/all".to_owned()),
                namespace: Some("fs".to_owned()),
                path: Some("./apps".to_owned()),
                policies: Arc::new(policies),
                rules: self.rules.clone(),
                ..Edits::default()
            },
            url: format!("file://{}", self.repo.dir.display()),
            start: Start::Branch("main".to_owned()),
            branch: None,
            sparse: false,
            push: PushSettings::default(),
            pull_request: None,
            agit: None,
            gerrit: None,
            author: Author {
                name: "Bot".to_owned(),
                email: "bot@example.com".to_owned(),
            },
            message: CommitMessage {
                template: "Bump".to_owned(),
                ..CommitMessage::default()
            },
            signer: None,
        }
    }

    /// Pushes images; the commit with its parent.
    fn push(&self, images: &[(&str, &str)]) -> (ObjectId, ObjectId) {
        self.push_to(None, images)
    }

    fn push_to(&self, branch: Option<&str>, images: &[(&str, &str)]) -> (ObjectId, ObjectId) {
        let mut job = self.job(images);
        let told = Arc::new(Told::default());
        job.edits.hooks.announce = Some(Arc::clone(&told) as Arc<dyn Announce>);
        job.push.branch = branch.map(str::to_owned);
        let run = run_remote(&job, &self.place);
        assert_eq!(run.error, None);
        let told = told.0.lock();
        assert_eq!(told.len(), 1);
        told[0]
    }

    fn commit(&self, text: &str) -> String {
        self.repo
            .commit("main", "person", &[Change::File(FILE, text.as_bytes())])
    }

    fn put_back(&self, commits: &[(ObjectId, ObjectId)], good: ObjectId) -> Run {
        let mut job = self.job(&[]);
        job.edits.put_back = Some(Arc::new(PutBack {
            commits: commits.to_vec(),
            good,
            only: None,
            trailers: vec![("Reverted-Commit".to_owned(), commits[0].1.to_string())],
            earlier: None,
        }));
        run_remote(&job, &self.place)
    }

    fn text(&self) -> String {
        String::from_utf8(self.repo.show("main", FILE)).unwrap()
    }

    fn tip(&self) -> ObjectId {
        id(&self.repo.rev("main").unwrap())
    }

    /// The objects of the mirror, with the tip of the branch.
    fn objects(&self) -> Objects {
        let fetched = self.place.mirror.fetch(&Checkout::Branch("main".to_owned()), &[]);
        fetched.unwrap().objects
    }

    fn ours<T>(&self, commits: &[(ObjectId, ObjectId)], ask: impl Fn(&Ours<'_>) -> T) -> T {
        let objects = self.objects();
        let ours = Ours::of(&objects, &self.place.index, commits, self.rules.as_ref());
        ask(&ours.unwrap().unwrap())
    }
}

fn place(storage: &Path, url: &str) -> Place {
    Place {
        mirror: Arc::new(mirror::mirror(storage, url)),
        index: Arc::new(Index::default()),
        lanes: Arc::default(),
        now: || 1_800_000_000,
    }
}

/// A Deployment whose image is written so.
fn deployment(image: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\nspec:\n  replicas: 1\n  containers:\n  - image: {image}\n    name: a\n"
    )
}

/// What somebody else makes of a text.
type Edit = fn(&str) -> String;

#[test]
fn a_field_gets_back_what_it_held_whatever_others_did_elsewhere() {
    let untouched: Edit = str::to_owned;
    let moved: Edit = |text| {
        let text = text.replace("  replicas: 1", "  # more\n  paused: false\n  replicas: 2");
        format!("# a file\n\n---\n{text}---\nkind: B\n")
    };
    let (a, tag) = (marker("a"), marker("a:tag"));
    let plain = deployment(&format!("o/a:1 {a}"));
    let quoted = deployment(&format!("'o/a:1' {a}"));
    let double = deployment(&format!("\"o/a:1\"   {a}"));
    let crlf = plain.replace('\n', "\r\n");
    let block = format!("kind: A\n  replicas: 1\ntag: | {tag}\n  1\nend: 1\n").replace("  replicas", "replicas");
    let string = format!("kind: A\nreplicas: 1\ntag: !!str 1 {tag}\nend: 1\n");
    let number = format!("kind: A\nreplicas: 1\ntag: !!int 1 {tag}\nend: 1\n");
    let anchor = format!("kind: A\nreplicas: 1\ntag: !!int &x 1 {tag}\nend: *x\n");
    let float = format!("kind: A\nreplicas: 1\ntag: v1 {tag}\nend: 1\n");
    for (before, to) in [
        (&plain, "o/a:2"),
        (&quoted, "o/a:2"),
        (&double, "o/a:2"),
        (&crlf, "o/a:2"),
        (&block, "o/a:2"),
        (&string, "o/a:2"),
        (&number, "o/a:2"),
        (&anchor, "o/a:2"),
        (&float, "o/a:1.10"),
    ] {
        for others in [untouched, moved] {
            let git = Git::new(before);
            let good = git.tip();
            let ours = git.push(&[("a", to)]);
            assert_ne!(git.text(), *before);
            git.commit(&others(&git.text()));
            let run = git.put_back(&[ours], good);
            assert_eq!((run.error, run.changes.len()), (None, 1), "{before}");
            assert_eq!(git.text(), others(before));
            // Once.
            let commits = git.repo.log("main").len();
            let run = git.put_back(&[ours], good);
            assert_eq!((run.error, run.changes.len()), (None, 0));
            assert_eq!(git.repo.log("main").len(), commits);
        }
    }
}

#[test]
fn what_others_did_to_the_field_stays() {
    let before = deployment(&format!("o/a:1 {}", marker("a")));
    let edits: [Edit; 4] = [
        |text| text.replace("o/a:2", "o/a:3"),
        |text| text.replace(&format!(" {}", marker("a")), ""),
        |text| text.replace(&marker("a"), &marker("b")),
        |text| text.replace("containers", "template"),
    ];
    for (n, others) in edits.into_iter().enumerate() {
        let git = Git::new(&before);
        let good = git.tip();
        let ours = git.push(&[("a", "o/a:2")]);
        let changed = others(&git.text());
        git.commit(&changed);
        let run = git.put_back(&[ours], good);
        assert_eq!(run.error, None);
        // The last one only moves it.
        let is_there = n == 3;
        assert_eq!(git.text(), if is_there { others(&before) } else { changed });
        assert_eq!(git.ours(&[ours], |ours| ours.are_in(git.tip()).unwrap()), Some(false));
    }
}

/// Fields that no marker names, but a rule of the job, are found again and put back as marked ones.
#[test]
fn fields_of_rules_are_put_back() {
    let before = "a: {image: 'o/a:1'} # web\nreplicas: 2\n";
    let mut git = Git::new(before);
    let rule = format!("rules:\n- {{files: {FILE}, path: $.a.image, policy: 'fs:a'}}\n");
    git.rules = Some(Rules::read("ConfigMap", rule.as_bytes()).unwrap());
    let good = git.tip();
    let ours = git.push(&[("a", "o/a:2")]);
    let others = |text: &str| text.replace("replicas: 2", "replicas: 3");
    git.commit(&others(&git.text()));
    let is_in = |git: &Git| git.ours(&[ours], |ours| ours.are_in(git.tip()).unwrap());
    assert_eq!(is_in(&git), Some(true));
    let run = git.put_back(&[ours], good);
    assert_eq!((run.error, run.changes.len()), (None, 1));
    assert_eq!(git.text(), others(before));
    assert_eq!(is_in(&git), Some(false));
}

/// A new field of the same policy with the same value is not ours, wherever it stands.
#[test]
fn other_fields_with_the_same_marker_stay() {
    let a = marker("a");
    let before = deployment(&format!("o/a:1 {a}"));
    let git = Git::new(&before);
    let good = git.tip();
    let ours = git.push(&[("a", "o/a:2")]);
    let more = |text: &str| {
        let init = format!("  init:\n  - name: first\n    image: o/a:2 {a}\n  containers:\n");
        text.replace("  containers:\n", &init)
    };
    git.commit(&more(&git.text()));
    assert_eq!(git.ours(&[ours], |ours| ours.are_in(git.tip()).unwrap()), Some(true));
    assert_eq!(
        git.ours(&[ours], |ours| ours.are_all_between(good, git.tip()).unwrap()),
        Some(false)
    );
    assert_eq!(git.put_back(&[ours], good).error, None);
    assert_eq!(git.text(), more(&before));
    assert_eq!(git.ours(&[ours], |ours| ours.are_in(git.tip()).unwrap()), Some(false));
}

#[test]
fn renamed_and_deleted_files() {
    let before = deployment(&format!("o/a:1 {}", marker("a")));
    let git = Git::new(&before);
    let good = git.tip();
    let ours = git.push(&[("a", "o/a:2")]);
    let now = git.text();
    git.repo.commit(
        "main",
        "rename",
        &[Change::Delete(FILE), Change::File("apps/other.yaml", now.as_bytes())],
    );
    assert_eq!(git.ours(&[ours], |ours| ours.are_in(git.tip()).unwrap()), Some(true));
    assert_eq!(git.put_back(&[ours], good).error, None);
    assert_eq!(git.repo.show("main", "apps/other.yaml"), before.as_bytes());
    let delete = [
        Change::Delete("apps/other.yaml"),
        Change::File("apps/b.yaml", b"a: 1\n"),
    ];
    git.repo.commit("main", "delete", &delete);
    assert_eq!(git.ours(&[ours], |ours| ours.are_in(git.tip()).unwrap()), Some(false));
    let run = git.put_back(&[ours], good);
    assert_eq!((run.error, run.changes.len()), (None, 0));
}

#[test]
fn all_parts_of_an_image_go_back_and_two_commits_of_ours() {
    let digest = |n: u8| format!("sha256:{}", n.to_string().repeat(64));
    let text = |name: &str, tag: &str, sum: &str, b: &str| {
        format!(
            "image:\n  repository: {name} {}\n  tag: \"{tag}\" {}\n  digest: {sum} {}\nother: o/b:{b} {}\n",
            marker("a:name"),
            marker("a:tag"),
            marker("a:digest"),
            marker("b")
        )
    };
    let before = text("o/a", "1.0", &digest(1), "1");
    let git = Git::new(&before);
    let good = git.tip();
    let first = git.push(&[("a", &format!("new/a:1.1@{}", digest(2)))]);
    let second = git.push(&[("a", &format!("new/a:1.2@{}", digest(3))), ("b", "o/b:2")]);
    assert_eq!(git.text(), text("new/a", "1.2", &digest(3), "2"));
    let all = [first, second];
    assert_eq!(
        git.ours(&all, |ours| ours.are_all_between(good, git.tip()).unwrap()),
        Some(true)
    );
    // The second one alone does not explain it; with a commit that nobody knows it is as without it.
    for some in [&[second][..], &[(id(&"1".repeat(40)), id(&"2".repeat(40))), second]] {
        assert_eq!(
            git.ours(some, |ours| ours.are_all_between(good, git.tip()).unwrap()),
            Some(false)
        );
    }
    let run = git.put_back(&all, good);
    assert_eq!((run.error, run.changes.len()), (None, 4));
    assert_eq!(git.text(), before);
    let newest = &git.repo.log("main")[0].message;
    assert!(newest.contains(&format!("Reverted-Commit: {}", first.1)), "{newest}");
}

/// A branch of ours is merged in each style, after a commit of somebody else that moves the field.
#[test]
fn merges_of_all_styles() {
    let before = deployment(&format!("o/a:1 {}", marker("a")));
    let more = |text: &str| format!("first: o/a:1 {}\n---\n{text}", marker("a"));
    for style in ["squash", "merge", "rebase"] {
        let git = Git::new(&before);
        let ours = git.push_to(Some("bot"), &[("a", "o/a:2")]);
        assert_eq!(git.ours(&[ours], |ours| ours.are_in(git.tip()).unwrap()), Some(false));
        git.commit(&more(&before));
        let good = git.tip();
        let merged = more(&before.replace("o/a:1", "o/a:2"));
        match style {
            "merge" => {
                let tree = git.repo.git(&["merge-tree", "--write-tree", "main", "bot"]);
                let parents = ["commit-tree", &tree, "-p", "main", "-p", "bot", "-m", "Merge"];
                let commit = git.repo.git(&parents);
                git.repo.git(&["update-ref", "refs/heads/main", &commit]);
            }
            "rebase" => {
                git.repo.commit("main", "other", &[Change::File("apps/else.txt", b"1")]);
                git.repo.commit("main", "other", &[Change::Delete("apps/else.txt")]);
                git.commit(&merged);
            }
            _ => {
                git.commit(&merged);
            }
        }
        assert_eq!(git.text(), merged, "{style}");
        let bad = git.tip();
        git.ours(&[ours], |ours| {
            assert_eq!(ours.are_in(good).unwrap(), Some(false));
            assert_eq!(ours.are_in(bad).unwrap(), Some(true));
            assert_eq!(ours.are_all_between(good, bad).unwrap(), Some(true), "{style}");
        });
        assert!(git.place.mirror.is_ancestor(good, bad).unwrap());
        assert_eq!(git.put_back(&[ours], good).error, None);
        assert_eq!(git.text(), more(&before));
        // Somebody else's file.
        git.repo
            .commit("main", "else", &[Change::File("apps/else.yaml", b"a: 1\n")]);
        let mixed = git.ours(&[ours], |ours| ours.are_all_between(good, git.tip()).unwrap());
        assert_eq!(mixed, Some(false));
    }
}

/// Only fields below the automation's path, and of policies in its namespace: a record may be anybody's.
#[test]
fn a_made_up_record_reaches_no_further_than_the_automation() {
    let text = |n: &str| {
        format!(
            "a: o/a:{n} {}\nb: o/b:{n} # {{\"$imagepolicy\": \"other:b\"}}\nc: {n}\n",
            marker("a")
        )
    };
    let git = Git::new(&text("1"));
    let outside = |n: &str| format!("a: o/a:{n} {}\n", marker("a"));
    let files = |n: &str| [text(n), outside(n)];
    let commit = |n: &str| {
        let [text, outside] = files(n);
        let changes = [
            Change::File(FILE, text.as_bytes()),
            Change::File("other/app.yaml", outside.as_bytes()),
        ];
        id(&git.repo.commit("main", "person", &changes))
    };
    let (good, bad) = (commit("1"), commit("2"));
    git.objects();
    let fetch = |commit: ObjectId| {
        let checkout = Checkout::Commit {
            id: commit.to_string(),
            branch: None,
        };
        git.place.mirror.fetch(&checkout, &[]).unwrap();
    };
    fetch(good);
    // They are said to be ours, in this or the other direction, and neither is.
    let run = git.put_back(&[(good, bad)], good);
    assert_eq!((run.error, run.changes.len()), (None, 1));
    assert_eq!(git.text(), text("2").replacen("o/a:2", "o/a:1", 1));
    assert_eq!(git.repo.show("main", "other/app.yaml"), outside("2").as_bytes());
    let between = git.ours(&[(good, bad)], |ours| ours.are_all_between(good, bad).unwrap());
    assert_eq!(between, Some(false));
    // Ids of nothing, of a tree, and of another hash function.
    let tree = id(&git.repo.rev("main^{tree}").unwrap());
    for wrong in [id(&"0".repeat(40)), tree, id(&"1".repeat(64))] {
        for (commits, good) in [([(wrong, bad)], good), ([(good, wrong)], good), ([(good, bad)], wrong)] {
            let tip = git.tip();
            let run = git.put_back(&commits, good);
            assert!(run.error.is_some() || run.changes.is_empty(), "{wrong}");
            assert_eq!(git.tip(), tip);
        }
    }
}

#[test]
fn a_lost_mirror_asks_for_commits_by_id() {
    let before = deployment(&format!("o/a:1 {}", marker("a")));
    let git = Git::new(&before);
    let good = git.tip();
    let ours = git.push(&[("a", "o/a:2")]);
    git.repo.commit("main", "more", &[Change::File("more.txt", b"1")]);
    let url = format!("file://{}", git.repo.dir.display());
    let by_id = |id: ObjectId| Checkout::Commit {
        id: id.to_string(),
        branch: None,
    };
    let new = place(&git.dir.path().join("new"), &url);
    let objects = new
        .mirror
        .fetch(&Checkout::Branch("main".to_owned()), &[])
        .unwrap()
        .objects;
    assert!(Ours::of(&objects, &new.index, &[ours], None).unwrap().is_none());
    for id in [ours.0, ours.1] {
        new.mirror.fetch(&by_id(id), &[]).unwrap();
    }
    let objects = new.mirror.objects().unwrap().unwrap();
    let ours_now = Ours::of(&objects, &new.index, &[ours], None).unwrap().unwrap();
    assert_eq!(ours_now.are_in(ours.1).unwrap(), Some(true));
    assert!(new.mirror.is_ancestor(good, git.tip()).unwrap());
    // A commit that is gone at the server.
    let lost = git.repo.commit("lost", "lost", &[Change::File("lost.txt", b"1")]);
    git.repo.git(&["update-ref", "-d", "refs/heads/lost"]);
    git.repo.git(&["gc", "-q", "--prune=now"]);
    let old = mirror::mirror_with(&git.dir.path().join("old"), &url, Speaks::Zero, true);
    for mirror in [&*new.mirror, &old] {
        let refused = mirror.fetch(&by_id(id(&lost)), &[]).err().unwrap();
        assert!(matches!(refused, GitError::CommitNotFound { .. }), "{refused}");
    }
}

#[test]
fn repositories_with_sha_256() {
    let before = deployment(&format!("o/a:1 {}", marker("a")));
    let git = Git::with(&before, &["--object-format=sha256"]);
    let good = git.tip();
    let ours = git.push(&[("a", "o/a:2")]);
    assert_eq!(
        git.ours(&[ours], |ours| ours.are_all_between(good, git.tip()).unwrap()),
        Some(true)
    );
    assert_eq!(git.put_back(&[ours], good).error, None);
    assert_eq!(git.text(), before);
}

/// A controller and a cluster, played: the clock jumps from look to look.
struct Played {
    git: Git,
    now: i64,
    record: Arc<Mutex<Record>>,
    held: FailedVersions,
    broken: BTreeSet<String>,
    /// The last commit that was healthy.
    applied: String,
}

/// Keeps the record of a run's commits, as the controller does: before the push.
#[derive(Debug)]
struct Writer {
    record: Arc<Mutex<Record>>,
    good: String,
    now: i64,
    puts_back: bool,
}

impl Announce for Writer {
    fn announce(&self, commit: &Announced<'_>) -> Result<(), AnnounceError> {
        let mut record = self.record.lock();
        let image = |policy: &PolicyName| commit.policies.image(policy).unwrap().to_string();
        let images: BTreeMap<String, String> = commit
            .changes
            .iter()
            .map(|change| (change.policy.to_string(), image(&change.policy)))
            .collect();
        if self.puts_back {
            record.put_back = Some(Noted {
                commit: commit.commit.to_string(),
                branch: commit.branch.to_owned(),
                images: record
                    .images()
                    .into_iter()
                    .map(|(a, b)| (a.to_owned(), b.to_owned()))
                    .collect(),
                ..Noted::default()
            });
            return Ok(());
        }
        let pushed = Pushed {
            commit: commit.commit.to_string(),
            base: commit.base.to_string(),
            branch: commit.branch.to_owned(),
            at: self.now,
            images,
            appeared: None,
        };
        let follower = Follower {
            good: self.good.clone(),
            ..Follower::default()
        };
        *record = record.with(pushed, [("fs/apps".to_owned(), follower)].into(), BTreeSet::new());
        Ok(())
    }
}

impl Played {
    fn writer(&self, puts_back: bool) -> Arc<dyn Announce> {
        Arc::new(Writer {
            record: Arc::clone(&self.record),
            good: self.applied.clone(),
            now: self.now,
            puts_back,
        })
    }

    /// The policy chooses a tag.
    fn choose(&mut self, tag: &str) {
        let image = LatestRef {
            name: "o/a".to_owned(),
            tag: tag.to_owned(),
            digest: None,
        };
        if self.held.get(&image).is_none() {
            let mut job = self.git.job(&[("a", &image.to_string())]);
            job.edits.hooks.announce = Some(self.writer(false));
            assert_eq!(run_remote(&job, &self.git.place).error, None);
        }
    }

    /// Each look is one of a new process: with the record as it is written. `is_killed` after a push.
    fn look(&mut self, is_killed: bool) {
        self.now += 400;
        let tip = self.git.tip().to_string();
        let text = self.git.text();
        let is_broken = self.broken.iter().any(|tag| text.contains(&format!("o/a:{tag} ")));
        if !is_broken {
            self.applied.clone_from(&tip);
        }
        let state = KustomizationState {
            ready: Some(!is_broken),
            reason: if is_broken {
                "HealthCheckFailed"
            } else {
                "ReconciliationSucceeded"
            }
            .to_owned(),
            message: "Deployment/fs/a".to_owned(),
            attempted: tip.clone(),
            applied: self.applied.clone(),
            is_current: true,
            suspended: false,
            succeeded: !is_broken,
            releases: BTreeMap::new(),
        };
        let seen = Seen {
            now: self.now,
            tip: tip.clone(),
            source: tip,
            kustomizations: [("fs/apps".to_owned(), state)].into(),
        };
        let mut record = Record::parse(&self.record.lock().text().unwrap()).unwrap();
        let commits: Vec<_> = record
            .commits
            .iter()
            .map(|one| (id(&one.base), id(&one.commit)))
            .collect();
        let mirror = &self.git.place.mirror;
        let mut objects = mirror.objects().unwrap().unwrap();
        // The mirror keeps what references lead to, and may have dropped others.
        let ours = commits.iter().flat_map(|(base, commit)| [*base, *commit]);
        for id in ours.chain([id(&self.applied)]) {
            if !objects.contains(id) {
                let checkout = Checkout::Commit {
                    id: id.to_string(),
                    branch: None,
                };
                objects = mirror.fetch(&checkout, &[]).unwrap().objects;
            }
        }
        let ours = Ours::of(&objects, &self.git.place.index, &commits, None).unwrap();
        let holds = |commit: &str| match ours.as_ref().and_then(|ours| ours.are_in(id(commit)).unwrap()) {
            Some(true) => Holds::Yes,
            Some(false) => Holds::No,
            None => Holds::Unknown,
        };
        let step = record.step(&seen, &holds, Limits { failure_after: 600 });
        *self.record.lock() = record.clone();
        for failure in step.failures {
            assert_eq!(failure.not_ours, None);
            let good = id(&failure.good);
            let between = ours.as_ref().unwrap().are_all_between(good, id(&failure.commit));
            assert_eq!(between.unwrap(), Some(true));
            for image in record.images().values() {
                let (name, tag, _) = LatestRef::split(image);
                let image = LatestRef {
                    name: name.to_owned(),
                    tag: tag.unwrap().to_owned(),
                    digest: None,
                };
                assert!(!record.was_reverted("fs/a", &image.to_string()), "{image} twice");
                self.held.add(
                    &image,
                    FailedVersion {
                        image: image.name.clone(),
                        at: self.now,
                        ..FailedVersion::default()
                    },
                );
            }
            let mut job = self.git.job(&[]);
            job.edits.hooks.announce = Some(self.writer(true));
            job.edits.put_back = Some(Arc::new(PutBack {
                commits: commits.clone(),
                good,
                only: None,
                trailers: commits
                    .iter()
                    .map(|(_, commit)| ("Reverted-Commit".to_owned(), commit.to_string()))
                    .collect(),
                earlier: None,
            }));
            assert_eq!(run_remote(&job, &self.git.place).error, None);
            if is_killed {
                return;
            }
            let mut record = self.record.lock();
            let images = record.put_back.as_ref().unwrap().images.clone();
            record.put_back.as_mut().unwrap().pushed = true;
            record.remember_reverted(images.iter().map(|(a, b)| (a.as_str(), b.as_str())));
            record.handled("fs/apps", Handled::PutBack, "");
        }
    }

    fn phase(&self) -> Phase {
        self.record.lock().summary().unwrap().phase
    }
}

/// A broken and a mended tag in turns: three commits in each round, each broken one put back once.
#[test]
fn a_hundred_rounds_push_three_commits_each() {
    let git = Git::new(&deployment(&format!("o/a:1.0.1 {}", marker("a"))));
    let mut played = Played {
        applied: git.tip().to_string(),
        git,
        now: 1_700_000_000,
        record: Arc::default(),
        held: FailedVersions::default(),
        broken: BTreeSet::new(),
    };
    for round in 1..=100 {
        let (broken, mended) = (format!("1.{round}.0"), format!("1.{round}.1"));
        played.broken.insert(broken.clone());
        played.choose(&broken);
        for n in 0..4 {
            played.look(round % 3 == 0 && n == 2);
            played.choose(&broken);
        }
        assert_eq!(played.phase(), Phase::Failed, "{round}");
        assert!(
            played.git.text().contains(&format!("o/a:1.{}.1 ", round - 1)),
            "{round}"
        );
        played.choose(&mended);
        played.look(false);
        played.look(false);
        assert_eq!(played.phase(), Phase::Succeeded, "{round}");
        assert!(!played.record.lock().is_open());
    }
    let log = played.git.repo.log("main");
    assert_eq!(log.len(), 1 + 3 * 100);
    let reverted: Vec<&str> = log
        .iter()
        .flat_map(|commit| commit.message.lines())
        .filter_map(|line| line.strip_prefix("Reverted-Commit: "))
        .collect();
    assert_eq!(reverted.iter().collect::<BTreeSet<_>>().len(), 100);
    assert_eq!(reverted.len(), 100);
}
