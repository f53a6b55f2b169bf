//! Bumps one image again and again in one process with a warm mirror, as a controller does.
//!
//! `warm URL POLICIES ROUNDS` prints one line: median wall ms of a bump, own CPU ms of a bump, median wall ms of a run without
//! changes, its own CPU ms. The harness (`update.py`) counts the requests. POLICIES has the policy `flux-system:app-0000`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bumpwright_api::{Objects, UnknownFields, read};
use bumpwright_git::{Mirror, MirrorOptions, Remote, RemoteUrl, open};
use bumpwright_policy::{LatestRef, PolicyName};
use bumpwright_update::{
    Author, CommitMessage, Edits, Index, Place, Policies, PushSettings, RemoteJob, Run, Start, run_remote,
};

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let [url, policies, rounds] = arguments.as_slice() else {
        println!("usage: warm URL POLICIES ROUNDS");
        return;
    };
    let rounds: usize = rounds.parse().unwrap();
    let storage = tempfile::tempdir().unwrap();
    let place = place(url, storage.path());
    let policies = load(policies);
    insist(&run_remote(&job(url, &policies, 0), &place), true);

    let bump = measure(rounds, |round| {
        insist(&run_remote(&job(url, &policies, round), &place), true)
    });
    let idle = measure(rounds, |_| {
        insist(&run_remote(&job(url, &policies, rounds), &place), false)
    });
    println!("{:.1} {:.1} {:.1} {:.1}", bump.0, bump.1, idle.0, idle.1);
}

fn place(url: &str, storage: &Path) -> Place {
    let remote = Remote::new(RemoteUrl::parse(url).unwrap());
    let transport = Arc::from(open(&remote).unwrap());
    Place {
        mirror: Arc::new(Mirror::open(storage, "mirror", transport, MirrorOptions::default()).unwrap()),
        index: Arc::new(Index::open(&storage.join("index"))),
        lanes: Arc::default(),
        now: || 1_800_000_000,
    }
}

fn load(file: &str) -> Policies {
    let mut objects = Objects::default();
    objects
        .insert_all(read(file, &std::fs::read(file).unwrap(), UnknownFields::Refuse).unwrap())
        .unwrap();
    let mut policies = Policies::default();
    objects.image_policies().for_each(|policy| policies.add(policy));
    policies
}

/// Sets one policy to a tag that changes with each round.
fn job(url: &str, policies: &Policies, round: usize) -> RemoteJob {
    let mut policies = policies.clone();
    let image = LatestRef {
        name: "registry.example.com/warm".into(),
        tag: format!("2.0.{round}"),
        digest: None,
    };
    policies.set(PolicyName::new("flux-system", "app-0000"), image);
    RemoteJob {
        edits: Edits {
            policies: Arc::new(policies),
            ..Edits::default()
        },
        url: url.to_owned(),
        start: Start::Branch("main".into()),
        branch: None,
        sparse: false,
        push: PushSettings::default(),
        pull_request: None,
        agit: None,
        gerrit: None,
        author: Author {
            name: "Bench".into(),
            email: "bench@example.com".into(),
        },
        message: CommitMessage {
            template: "bump".into(),
            ..CommitMessage::default()
        },
        signer: None,
    }
}

fn insist(run: &Run, pushed: bool) {
    assert_eq!(run.error, None);
    assert_eq!(!run.pushes.is_empty(), pushed);
}

/// Median wall ms and mean own CPU ms of `work`, which is called with 1, 2, …
fn measure(rounds: usize, work: impl Fn(usize)) -> (f64, f64) {
    let (mut walls, before) = (Vec::new(), cpu());
    for round in 1..=rounds {
        let started = Instant::now();
        work(round);
        walls.push(started.elapsed());
    }
    walls.sort();
    let ms = |duration: Duration| duration.as_secs_f64() * 1000.0;
    let spent = (cpu() - before).as_secs_f64() * 1000.0;
    (ms(walls[rounds / 2]), spent / f64::from(u32::try_from(rounds).unwrap()))
}

/// CPU time of this process so far, in the kernel's ticks of 10 ms; children are not in it.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}
