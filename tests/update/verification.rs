//! The verification of a run's edits, with a verifier that says what it was given: once for each attempt, before the
//! message and the push. And previews of a push branch that is continued (C30), which only the controllers' gates have.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use bumpwright_api::ImagePolicy;
use bumpwright_build::GitTree;
use bumpwright_connect as connect;
use bumpwright_forge::{ForgeApi, Login, Repository};
use bumpwright_git::{Remote, RemoteUrl};
use bumpwright_kustomize::tree::Tree as _;
use bumpwright_policy::{LatestRef, PolicyName, Windows};
use bumpwright_testkit::forge::{Forge, ForgeKind};
use bumpwright_testkit::mirror;
use bumpwright_testkit::repo::{self, Change, Repo};
use bumpwright_update::{
    Ahead, Author, Base, ChangedWorkload, CommitMessage, ContainerImage, Edits, FolderJob, Hooks, Impact, Index,
    KustomizationName, ObjectIdentifier, OtherBranch, Place, Policies, Proposal, PullRequest, PushSettings, RemoteJob,
    Run, Start, Verify, VerifyError, run_all, run_folder, run_remote,
};
use parking_lot::Mutex;

const FILE: &str = "a: o/a:1 # {\"$imagepolicy\": \"fs:a\"}\nb: o/b:1 # {\"$imagepolicy\": \"fs:b\"}\n\
    c: o/c:1 # {\"$imagepolicy\": \"fs:c\"}\n";

/// What a verifier was given.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Given {
    automation: Option<String>,
    /// The file before the edits, read from the base itself.
    base: String,
    /// The file after them.
    new: String,
    changes: usize,
}

type Outcome = Box<dyn Fn(&Proposal<'_>) -> Result<Impact, VerifyError> + Send + Sync>;

/// A verifier that remembers what it was given.
struct Recorder {
    given: Mutex<Vec<Given>>,
    outcome: Outcome,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recorder")
    }
}

impl Recorder {
    fn new(outcome: impl Fn(&Proposal<'_>) -> Result<Impact, VerifyError> + Send + Sync + 'static) -> Arc<Self> {
        let (given, outcome) = (Mutex::default(), Box::new(outcome));
        Arc::new(Self { given, outcome })
    }

    fn given(&self) -> Vec<Given> {
        std::mem::take(&mut self.given.lock())
    }
}

impl Verify for Recorder {
    fn verify(&self, proposal: &Proposal<'_>) -> Result<Impact, VerifyError> {
        let base = match proposal.base {
            Base::Git { objects, tree, .. } => {
                let tree = GitTree::new(objects.clone(), tree);
                String::from_utf8(tree.read("/apps/a.yaml").unwrap().into_owned()).unwrap()
            }
            Base::Folder { root, ahead } => {
                let path = root.join("apps/a.yaml");
                let earlier = ahead
                    .files()
                    .find(|(at, _)| *at == path)
                    .map(|(_, bytes)| bytes.to_vec());
                String::from_utf8(earlier.unwrap_or_else(|| std::fs::read(path).unwrap())).unwrap()
            }
        };
        assert_eq!(proposal.files[0].path, b"apps/a.yaml");
        assert_eq!(proposal.files[0].old, base.as_bytes());
        self.given.lock().push(Given {
            automation: proposal.automation.map(str::to_owned),
            base,
            new: String::from_utf8(proposal.files[0].new.clone()).unwrap(),
            changes: proposal.changes.len(),
        });
        (self.outcome)(proposal)
    }
}

/// Each changed field is the image of a Deployment.
fn deployments(proposal: &Proposal<'_>) -> Result<Impact, VerifyError> {
    let apps = KustomizationName {
        namespace: "flux-system".to_owned(),
        name: "apps".to_owned(),
        ..KustomizationName::default()
    };
    let workloads = proposal.changes.iter().map(|change| ChangedWorkload {
        object: ObjectIdentifier {
            kind: "Deployment".to_owned(),
            name: change.policy.name.clone(),
            namespace: "shop".to_owned(),
            ..ObjectIdentifier::default()
        },
        kustomization: apps.clone(),
        images: vec![ContainerImage {
            container: "main".to_owned(),
            old: change.old.clone(),
            new: change.new.clone(),
        }],
        restarts: true,
        ..ChangedWorkload::default()
    });
    Ok(Impact {
        kustomizations: vec![apps.clone()],
        workloads: workloads.collect(),
        ..Impact::default()
    })
}

/// Refuses `b`, after it has looked at all subsets of one field.
fn refuses_b(proposal: &Proposal<'_>) -> Result<Impact, VerifyError> {
    let breaks = |n: &usize| {
        let files = proposal.files_with(|kept| kept == *n).unwrap();
        assert_eq!(files.len(), 1);
        String::from_utf8(files[0].new.clone()).unwrap().contains("o/b:2")
    };
    Err(VerifyError {
        message: "apps/b.yaml:3:5: no such field".to_owned(),
        fields: (0..proposal.changes.len()).filter(breaks).collect(),
    })
}

fn edits(automation: &str, verify: &Arc<Recorder>, of: &[&str]) -> Edits {
    let mut policies = Policies::default();
    for name in of {
        let image = LatestRef {
            name: format!("o/{name}"),
            tag: "2".to_owned(),
            digest: None,
        };
        policies.set(PolicyName::new("fs", *name), image);
    }
    Edits {
        automation: Some(automation.to_owned()),
        namespace: Some("fs".to_owned()),
        policies: Arc::new(policies),
        hooks: Hooks {
            verify: Some(Arc::clone(verify) as Arc<dyn Verify>),
            ..Hooks::default()
        },
        ..Edits::default()
    }
}

fn author() -> Author {
    Author {
        name: "Bot".to_owned(),
        email: "bot@example.com".to_owned(),
    }
}

fn message() -> CommitMessage {
    CommitMessage {
        template: "bump{{ range .Impact.Restarts }} {{ .Kind }} {{ .Name }}{{ end }}\n\nwords\n".to_owned(),
        ..CommitMessage::default()
    }
}

fn job(url: &str, edits: Edits) -> RemoteJob {
    RemoteJob {
        edits,
        url: url.to_owned(),
        start: Start::Branch("main".to_owned()),
        branch: None,
        sparse: false,
        push: PushSettings::default(),
        pull_request: None,
        agit: None,
        gerrit: None,
        author: author(),
        message: message(),
        signer: None,
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

struct World {
    dir: tempfile::TempDir,
    repo: Repo,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::init(dir.path().join("o/app.git"));
        repo.commit("main", "first", &[Change::File("apps/a.yaml", FILE.as_bytes())]);
        Self { dir, repo }
    }

    fn url(&self) -> String {
        format!("file://{}", self.repo.dir.display())
    }

    fn place(&self) -> Place {
        place(&self.dir.path().join("mirror"), &self.url())
    }

    fn content(&self, branch: &str) -> String {
        String::from_utf8(self.repo.show(branch, "apps/a.yaml")).unwrap()
    }
}

fn names(run: &Run) -> Vec<&str> {
    let impact = run.impact.as_ref().unwrap();
    impact
        .workloads
        .iter()
        .map(|workload| workload.object.name.as_str())
        .collect()
}

#[test]
fn a_run_verifies_its_edits_once_and_tells_their_impact() {
    let world = World::new();
    let verify = Recorder::new(deployments);
    for dry_run in [true, false] {
        let mut job = job(&world.url(), edits("fs/all", &verify, &["a", "b"]));
        job.edits.dry_run = dry_run;
        let run = run_remote(&job, &world.place());
        assert_eq!(run.error, None);
        assert_eq!(names(&run), ["a", "b"]);
        let message = &run.commit.as_ref().unwrap().message;
        assert_eq!(message, "bump Deployment a Deployment b\n\nwords\n");
        let given = Given {
            automation: Some("fs/all".to_owned()),
            base: FILE.to_owned(),
            new: FILE.replace("o/a:1", "o/a:2").replace("o/b:1", "o/b:2"),
            changes: 2,
        };
        assert_eq!(verify.given(), [given]);
    }
    assert_eq!(world.repo.log("main").len(), 2);
    // Nothing to change, nothing to verify.
    let run = run_remote(&job(&world.url(), edits("fs/all", &verify, &["a"])), &world.place());
    assert_eq!((run.error, run.impact), (None, None));
    assert_eq!(verify.given(), []);
}

#[test]
fn refused_edits_are_not_pushed_and_the_fields_are_named() {
    let world = World::new();
    let verify = Recorder::new(refuses_b);
    let before = world.repo.refs();
    for dry_run in [true, false] {
        let mut job = job(&world.url(), edits("fs/all", &verify, &["a", "b", "c"]));
        job.edits.dry_run = dry_run;
        let run = run_remote(&job, &world.place());
        let expected = "apps/b.yaml:3:5: no such field; caused by apps/a.yaml:2:4 (fs:b: o/b:1 → o/b:2)";
        assert_eq!(run.error.as_deref(), Some(expected));
        let failure = run.failure.clone().unwrap();
        assert_eq!(failure.reason.as_str(), "VerifyFailed");
        assert_eq!(
            failure.message,
            format!("failed to verify the update, nothing was pushed: {expected}")
        );
        assert!(run.commit.is_none() && run.pushes.is_empty() && run.impact.is_none());
        assert_eq!(run.changes.len(), 3);
        assert_eq!(verify.given().len(), 1);
    }
    assert_eq!(world.repo.refs(), before);
}

#[test]
fn a_lost_race_verifies_again_on_the_new_base() {
    let world = World::new();
    let rival = FILE.replace("c: o/c:1", "c: o/c:9");
    world
        .repo
        .commit("rival", "rival", &[Change::File("apps/a.yaml", rival.as_bytes())]);
    // Somebody else pushes while the first attempt is verified.
    let (dir, first) = (world.repo.dir.clone(), AtomicBool::new(true));
    let verify = Recorder::new(move |proposal| {
        if first.swap(false, Ordering::SeqCst) {
            repo::run(repo::git(&dir).args(["update-ref", "refs/heads/main", "refs/heads/rival"]));
        }
        deployments(proposal)
    });
    let run = run_remote(&job(&world.url(), edits("fs/all", &verify, &["a"])), &world.place());
    assert_eq!(run.error, None);
    assert_eq!(run.races, 1);
    let bases: Vec<String> = verify.given().into_iter().map(|given| given.base).collect();
    assert_eq!(bases, [FILE.to_owned(), rival.clone()]);
    assert_eq!(world.content("main"), rival.replace("o/a:1", "o/a:2"));
}

#[test]
fn folders_are_verified_in_previews_and_before_files_are_written() {
    for refused in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("apps/a.yaml");
        std::fs::create_dir(dir.path().join("apps")).unwrap();
        std::fs::write(&file, FILE).unwrap();
        let verify = if refused {
            Recorder::new(refuses_b)
        } else {
            Recorder::new(deployments)
        };
        let run = |of: &[&str], dry_run: bool, ahead: &mut Ahead| {
            let mut edits = edits("fs/all", &verify, of);
            edits.dry_run = dry_run;
            let job = FolderJob {
                edits,
                root: dir.path().to_owned(),
                only: None,
                shown: ".".to_owned(),
                commit: None,
            };
            run_folder(&job, ahead)
        };
        let mut ahead = Ahead::default();
        let first = run(&["a"], true, &mut ahead);
        let second = run(&["b"], true, &mut ahead);
        let bases: Vec<String> = verify.given().into_iter().map(|given| given.base).collect();
        assert_eq!(first.error.is_some(), refused);
        if refused {
            assert_eq!(first.error.as_deref(), Some("apps/b.yaml:3:5: no such field"));
            assert!(second.error.unwrap().contains("caused by apps/a.yaml:2:4"));
            assert_eq!(bases, [FILE, FILE]);
        } else {
            assert_eq!([names(&first), names(&second)], [["a"], ["b"]]);
            assert_eq!(bases, [FILE.to_owned(), FILE.replace("o/a:1", "o/a:2")]);
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), FILE);
        let real = run(&["a", "b"], false, &mut ahead);
        assert_eq!(real.error.is_some(), refused);
        let written = std::fs::read_to_string(&file).unwrap();
        assert_eq!(written == FILE, refused, "{written}");
        assert_eq!(verify.given()[0].base, FILE);
    }
}

/// The previews of a queue are verified on top of each other, too.
#[test]
fn previews_of_one_branch_are_verified_one_after_the_other() {
    let world = World::new();
    let verify = Recorder::new(deployments);
    let place = world.place();
    let jobs: Vec<(RemoteJob, Place)> = [["a"], ["b"]]
        .iter()
        .map(|of| {
            let mut job = job(&world.url(), edits("fs/all", &verify, of));
            job.edits.dry_run = true;
            (job, place.clone())
        })
        .collect();
    let runs = run_all(&jobs);
    assert_eq!([names(&runs[0]), names(&runs[1])], [["a"], ["b"]]);
    let bases: Vec<String> = verify.given().into_iter().map(|given| given.base).collect();
    assert_eq!(bases, [FILE.to_owned(), FILE.replace("o/a:1", "o/a:2")]);
    assert_eq!(world.repo.log("main").len(), 1);
}

#[test]
fn a_pull_request_tells_the_impact() {
    let world = World::new();
    world.repo.config("http.receivepack", "true");
    let forge = Forge::start(ForgeKind::Gitea, world.dir.path(), "token t");
    let url = forge.server.url("o/app.git");
    let remote = Remote::new(RemoteUrl::parse(&url).unwrap());
    let address = connect::git_address(&remote).unwrap();
    let repository = Repository::locate(ForgeApi::Gitea, address, None).unwrap();
    let client = connect::forge(ForgeApi::Gitea, repository, Login::Token("t".into()), &remote).unwrap();
    let mut job = job(&url, edits("fs/all", &Recorder::new(deployments), &["a"]));
    job.push.branch = Some("auto".to_owned());
    job.pull_request = Some(PullRequest {
        base: None,
        forge: Arc::new(client),
        overwrite: false,
        setup: bumpwright_api::PullRequestSetup::default(),
    });
    let run = run_remote(&job, &place(&world.dir.path().join("mirror"), &url));
    assert_eq!(run.error, None);
    let body = forge.pulls()[0].body.clone();
    let expected = "\n### Impact\n\n1 Kustomization changes: 1 workload; 1 workload restarts\n\nKustomizations: `flux-system/apps`\n\n\
        | Workload | Kustomization | Container | Old | New | |\n|---|---|---|---|---|---|\n\
        | `Deployment shop/a` | `flux-system/apps` | `main` | `o/a:1` | `o/a:2` | restarts |\n\n```text\nwords\n```\n";
    assert!(body.contains(expected), "{body}");
}

/// C30, gates off: edits go on top of the push branch's own tip, or are refused when it is not an ancestor.
#[test]
fn previews_continue_a_push_branch_as_the_runs_do() {
    for other_branch in [OtherBranch::Continued, OtherBranch::Forwarded] {
        for exists in [true, false] {
            let world = World::new();
            if exists {
                world.repo.git(&["branch", "auto", "main"]);
            }
            let verify = Recorder::new(deployments);
            let place = world.place();
            let runs = |dry_run: bool| {
                let jobs: Vec<(RemoteJob, Place)> = [["a"], ["b"]]
                    .iter()
                    .map(|of| {
                        let mut job = job(&world.url(), edits("fs/all", &verify, of));
                        job.edits.dry_run = dry_run;
                        job.push.branch = Some("auto".to_owned());
                        job.push.other_branch = other_branch;
                        (job, place.clone())
                    })
                    .collect();
                run_all(&jobs)
            };
            let previews = runs(true);
            let bases: Vec<String> = verify.given().into_iter().map(|given| given.base).collect();
            let real = runs(false);
            let real_bases: Vec<String> = verify.given().into_iter().map(|given| given.base).collect();
            assert_eq!(bases, real_bases, "{other_branch:?}");
            for (preview, real) in previews.iter().zip(&real) {
                assert_eq!(preview.files, real.files, "{other_branch:?}");
                assert_eq!(preview.changes, real.changes);
            }
            let lands = real.iter().map(|run| run.error.is_none());
            let shown = previews.iter().map(|run| !run.superseded);
            assert!(lands.eq(shown), "{other_branch:?} {exists} {real:#?}");
            assert_eq!(
                world.content("auto"),
                String::from_utf8(last(&previews).to_vec()).unwrap()
            );
        }
    }
}

/// The content that the last preview that lands leaves.
fn last(previews: &[Run]) -> &[u8] {
    let landing = previews.iter().rfind(|run| !run.superseded);
    &landing.unwrap().files[0].new
}

/// The clock of [`a_window_that_closes_during_the_verification_is_kept`].
static CLOCK: AtomicI64 = AtomicI64::new(0);

/// 2026-11-26, a Thursday, at 15:59 and 16:01 UTC.
#[test]
fn a_window_that_closes_during_the_verification_is_kept() {
    const OPEN: i64 = 1_795_708_740;
    let late = |_: &Proposal<'_>| {
        CLOCK.store(OPEN + 120, Ordering::SeqCst);
        Ok(Impact::default())
    };
    let policy = |name: &str, window: &str| -> ImagePolicy {
        serde_json::from_value(serde_json::json!({
            "apiVersion": "image.toolkit.fluxcd.io/v1", "kind": "ImagePolicy",
            "metadata": {"name": name, "namespace": "fs", "annotations": {"bumpwright.dev/window": window}},
            "spec": {"imageRepositoryRef": {"name": name}, "policy": {"semver": {"range": "*"}}},
            "status": {"latestRef": {"name": format!("o/{name}"), "tag": "2"}},
        }))
        .unwrap()
    };
    for (automation, windows, pushed) in [
        (Some("Thu 09:00-16:00"), ["daily 00:00-24:00"; 2], [false; 2]),
        (None, ["Thu 09:00-16:00", "Thu 09:00-17:00"], [false, true]),
        (None, ["Thu 09:00-16:00"; 2], [false; 2]),
        (Some("Thu 09:00-17:00"), ["Thu 09:00-17:00"; 2], [true; 2]),
    ] {
        let world = World::new();
        CLOCK.store(OPEN, Ordering::SeqCst);
        let verify = Recorder::new(late);
        let mut job = job(&world.url(), edits("fs/all", &verify, &[]));
        let mut policies = Policies::default();
        policies.add(&policy("a", windows[0]));
        policies.add(&policy("b", windows[1]));
        job.edits.policies = Arc::new(policies);
        job.edits.windows = automation.map(|text| Windows::parse(text).unwrap());
        let mut place = world.place();
        place.now = || CLOCK.load(Ordering::SeqCst);
        let run = run_remote(&job, &place);
        assert_eq!(run.error, None);
        let content = world.content("main");
        assert_eq!(
            ["o/a:2", "o/b:2"].map(|image| content.contains(image)),
            pushed,
            "{windows:?}"
        );
        assert_eq!(world.repo.log("main").len(), if pushed == [false; 2] { 1 } else { 2 });
        assert_eq!(run.outside.is_some(), automation.is_some() && !pushed[0]);
        let skips: Vec<String> = run.skips.iter().map(|skip| format!("{:?}", skip.reason)).collect();
        assert_eq!(skips.iter().filter(|reason| *reason == "OutsideWindow").count(), {
            let closed = windows.iter().filter(|window| window.ends_with("16:00"));
            if automation.is_none() { closed.count() } else { 0 }
        });
        if run.outside.is_some() {
            assert!(run.commit.is_none() && run.changes.is_empty() && run.files.is_empty());
        }
    }
}
