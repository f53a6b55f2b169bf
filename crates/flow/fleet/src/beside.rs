//! Work on several threads.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Does work for each item, on at most so many threads; each of them begins with something of its own. Results
/// come in no order.
pub(super) fn beside<'t, T: Sync, S, R: Send>(
    threads: usize,
    items: &'t [T],
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &'t T) -> R + Sync,
) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(items.len())));
    let run = || {
        let mut own = begin();
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = work(&mut own, item);
            done.lock().push(result);
        }
    };
    match threads.min(items.len()) {
        0 => {}
        1 => run(),
        threads => std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(run);
            }
        }),
    }
    done.into_inner()
}

/// Does two things, at the same time where there may be two threads; the second one on this thread.
pub(super) fn two<A: Send, B>(threads: usize, first: impl FnOnce() -> A + Send, second: impl FnOnce() -> B) -> (A, B) {
    if threads < 2 {
        return (first(), second());
    }
    std::thread::scope(|scope| {
        let first = scope.spawn(first);
        let second = second();
        (first.join().unwrap_or_else(|panic| resume_unwind(panic)), second)
    })
}

#[cfg(test)]
mod tests {
    use std::thread::{ThreadId, current};

    use super::two;

    #[test]
    fn two_things_are_done_on_two_threads_where_there_are_so_many() {
        let on = |threads| -> (ThreadId, ThreadId) { two(threads, || current().id(), || current().id()) };
        let own = current().id();
        assert_eq!(on(1), (own, own));
        let (first, second) = on(2);
        assert_ne!(first, own);
        assert_eq!(second, own);
    }
}
