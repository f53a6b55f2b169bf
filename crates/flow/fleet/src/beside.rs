//! Work on several threads.

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
