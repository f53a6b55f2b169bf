//! Several automations side by side: a queue for each remote and reference, so that they never race each other.
//!
//! A command knows all its jobs in advance. Lanes (`lane`) alone would do less: the order of waiting runs is arbitrary
//! there, so the order of a command's commits would vary; every job would fetch, and all but one of them fetch again;
//! and automations with other credentials for the same remote have a mirror, and so lanes, of their own.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::earlier::Earlier;
use super::place::Place;
use super::run;
use crate::job::remote_job::RemoteJob;
use crate::report::run::Run;

/// The number of queues worked on at once.
const WORKERS: usize = 8;

/// Runs all jobs and returns their reports in the order of the jobs. Jobs of one queue run one after the
/// other, in order; a failure does not stop the others. A preview starts from what the previews before it in
/// its queue would have pushed.
#[must_use]
pub fn run_all(jobs: &[(RemoteJob, Place)]) -> Vec<Run> {
    let mut queues: BTreeMap<(&str, String), Vec<usize>> = BTreeMap::new();
    for (n, (job, _)) in jobs.iter().enumerate() {
        queues.entry((job.url.as_str(), job.queue())).or_default().push(n);
    }
    let queues: Vec<Vec<usize>> = queues.into_values().collect();
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<usize, Run>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..WORKERS.min(queues.len()) {
            scope.spawn(|| {
                while let Some(queue) = queues.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let runs = run_queue(jobs, queue);
                    done.lock().extend(runs);
                }
            });
        }
    });
    done.into_inner().into_values().collect()
}

/// Runs the jobs of one queue.
fn run_queue(jobs: &[(RemoteJob, Place)], queue: &[usize]) -> Vec<(usize, Run)> {
    let mut earlier = Earlier::default();
    let mut runs = Vec::with_capacity(queue.len());
    for n in queue {
        let Some((job, place)) = jobs.get(*n) else { continue };
        earlier.begin(*n, job.edits.dry_run);
        runs.push((*n, run::run_after(job, place, &mut earlier)));
    }
    for (n, run) in &mut runs {
        earlier.complete(*n, run);
    }
    runs
}
