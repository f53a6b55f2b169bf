//! Parallel work on many items on all cores, with the outcome of sequential work.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bumpwright_secret::wipe_stack;

/// The number of items that justifies a thread.
const SHARE: usize = 4;

/// The results of `work` for the items, in their order, up to and including the first failure. Some items after that
/// may have been processed as well.
pub(super) fn each<T: Sync, R: Send, E: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R, E> + Sync,
) -> Vec<Result<R, E>> {
    let shares = items.len() / SHARE;
    // To ask for the cores reads files of the system.
    let cores = || thread::available_parallelism().map_or(1, usize::from);
    let threads = if shares < 2 { 1 } else { cores().min(shares) };
    let line = WorkQueue {
        items,
        next: AtomicUsize::new(0),
        failed: AtomicUsize::new(usize::MAX),
        work,
    };
    let mut done = match threads {
        0 | 1 => line.run(),
        threads => thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| line.run_and_wipe())).collect();
            let done = workers.into_iter().map(|worker| worker.join());
            done.flat_map(|done| done.unwrap_or_else(|panic| resume_unwind(panic)))
                .collect()
        }),
    };
    done.sort_by_key(|(at, _)| *at);
    let first = line.failed.into_inner();
    done.retain(|(at, _)| *at <= first);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

struct WorkQueue<'i, T, F> {
    items: &'i [T],
    next: AtomicUsize,
    /// The index of the first failure.
    failed: AtomicUsize,
    work: F,
}

impl<T, F> WorkQueue<'_, T, F> {
    /// As [`WorkQueue::run`], for a thread of its own: its stack is kept for other threads, with what
    /// decrypting has left there.
    fn run_and_wipe<R, E>(&self) -> Vec<(usize, Result<R, E>)>
    where
        F: Fn(&T) -> Result<R, E>,
    {
        let done = self.run();
        wipe_stack();
        done
    }

    /// Processes items until there are none, or one failed: items are taken in order, so all before that one
    /// have been taken then.
    fn run<R, E>(&self) -> Vec<(usize, Result<R, E>)>
    where
        F: Fn(&T) -> Result<R, E>,
    {
        let mut done = Vec::new();
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = self.items.get(at).filter(|_| at < self.failed.load(Ordering::Relaxed)) else {
                return done;
            };
            let outcome = (self.work)(item);
            if outcome.is_err() {
                self.failed.fetch_min(at, Ordering::Relaxed);
            }
            done.push((at, outcome));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bumpwright_corpora::stack::{is_there, leave};

    fn halves(items: &[usize]) -> Vec<Result<usize, usize>> {
        each(items, |item| match item % 2 {
            0 => Ok(item / 2),
            _ => Err(*item),
        })
    }

    #[test]
    fn outcomes_are_in_order() {
        for count in [0, 1, 3, 500] {
            let items: Vec<usize> = (0..count).map(|item| item * 2).collect();
            assert_eq!(halves(&items), (0..count).map(Ok).collect::<Vec<_>>());
        }
    }

    /// The C library keeps the first 16 KB of the stack of a thread that ended.
    #[test]
    fn what_work_leaves_on_its_stack_is_gone() {
        let addresses: Vec<Result<u64, ()>> = each(&[0; 16], |_| Ok(leave(1)));
        let left: Vec<u64> = addresses
            .into_iter()
            .flatten()
            .filter(|address| is_there(*address))
            .collect();
        assert!(left.is_empty(), "{} stacks have what was on them", left.len());
    }

    #[test]
    fn the_first_one_that_fails_is_the_last_one_told() {
        for first in [0, 3, 250] {
            let odd = |item: usize| item >= first && item % 3 == first % 3;
            let items: Vec<usize> = (0..500).map(|item| item * 2 + usize::from(odd(item))).collect();
            let wanted: Vec<_> = (0..first).map(Ok).chain([Err(first * 2 + 1)]).collect();
            assert_eq!(halves(&items), wanted);
        }
    }
}
