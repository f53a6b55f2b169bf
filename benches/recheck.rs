//! Checks a fleet again after a change of one file, in a process that has built it before.
//!
//! `recheck ROOT ENTRY FILE ROUNDS` prints one line: wall ms of the first view and check, median wall ms of those after a change of FILE,
//! and the objects of the fleet. FILE is given another content in each round, in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bumpwright_budget::{BUILD_MEMORY, Memory, SINGLE};
use bumpwright_build::FolderTree;
use bumpwright_fleet::{
    Changed, CheckSettings, Memo, Outside, Repository, Settings, SourceError, SourceObject, check, view,
};
use bumpwright_kustomize::tree::{Sealed, World};
use bumpwright_schemas::Schemas;

/// The fleet has one source.
struct Nothing;

impl Outside for Nothing {
    fn world(&self) -> Box<dyn World + '_> {
        Box::new(Sealed)
    }

    fn source(&self, source: &SourceObject, _: &[serde_json::Value]) -> Result<Arc<dyn Repository>, Arc<SourceError>> {
        Err(Arc::new(SourceError::NotFetched(source.shown())))
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let [root, entry, file, rounds] = &arguments[..] else {
        return println!("usage: recheck ROOT ENTRY FILE ROUNDS");
    };
    let repository = FolderTree::new(Path::new(root)).unwrap();
    let content = std::fs::read_to_string(Path::new(root).join(file)).unwrap();
    let settings = Settings::new(Memory::single(SINGLE, BUILD_MEMORY).of(""));
    let checks = CheckSettings {
        strict_substitute: true,
        schemas: Schemas::bundled(None).unwrap(),
        identity: settings.identity.clone(),
        threads: settings.threads,
        deadline: None,
        registries: None,
    };
    let seen = |repository: &dyn Repository, memo: &Memo| {
        let started = Instant::now();
        let fleet = view(repository, entry, &Nothing, &settings, memo).unwrap();
        let objects = fleet.len();
        std::hint::black_box(check(&[fleet], repository, &checks));
        (started.elapsed().as_secs_f64() * 1000.0, objects)
    };
    let memo = Memo::default();
    let (first, objects) = seen(&repository, &memo);
    let mut times: Vec<f64> = (0..rounds.parse().unwrap())
        .map(|round: u32| {
            let changed = Changed {
                repository: &repository,
                files: [(file.clone(), format!("{content}# {round}\n").into_bytes())].into(),
            };
            seen(&changed, &memo.after(std::slice::from_ref(file))).0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{first:.1} {:.1} {objects}", times[times.len() / 2]);
}
