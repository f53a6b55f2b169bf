//! The places of turns: a few at desks, where work is done, and many in the waiting room, for those that a slow peer keeps waiting.
//!
//! A turn begins at a desk and loses it after some seconds, so that a server that answers slowly costs a thread and no worker. A
//! namespace has no more turns at once than there are desks, wherever they are; a thread that goes on after its turn counts too.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::queue::Queue;
use bumpwright_http::Job;

/// How long a turn keeps its desk.
const AT_DESK: Duration = Duration::from_secs(3);

/// How soon the waiting room is tried again when it was full.
const AGAIN: Duration = Duration::from_secs(1);

/// How long a turn may go on whose object is deleted.
const LAST_STEPS: Duration = Duration::from_secs(5);

/// How many turns of all kinds wait there at most: each may hold a thread.
const WAITING_ROOM: usize = 512;

/// How many turns of how many kinds have desks.
const KINDS: usize = 7;

/// Threads that servers of pages and artifacts need besides.
const SERVERS: usize = 64;

/// The most threads that block at once, with so many desks for each kind: enough that no turn waits for a thread that another
/// one holds, and no probe for a turn.
#[must_use]
pub fn threads(concurrent: usize) -> usize {
    let desks = concurrent.max(1).saturating_mul(KINDS);
    desks.saturating_add(WAITING_ROOM + SERVERS).min(1 << 16)
}

/// Where turns of all kinds wait that have lost their desks.
#[derive(Clone, Debug)]
pub struct WaitingRoom(Arc<Semaphore>);

impl Default for WaitingRoom {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(WAITING_ROOM)))
    }
}

impl WaitingRoom {
    /// Whether it is half full: then many namespaces are kept waiting, and none of them gets more than one turn at a time.
    pub fn is_crowded(&self) -> bool {
        self.0.available_permits() <= WAITING_ROOM / 2
    }
}

/// The place of one turn, and of the threads that work for it. It is free when the last of them is done.
#[derive(Debug)]
pub struct Place {
    /// What its threads work for.
    pub job: Job,
    off: watch::Sender<bool>,
    room: WaitingRoom,
    seat: Mutex<Option<Seat>>,
    /// Held by threads whose work leaves something behind.
    keeping: Arc<()>,
}

/// Where a turn is.
#[derive(Debug)]
struct Seat {
    at_desk: bool,
    queue: Arc<Queue>,
    namespace: String,
    /// Of the desks, or of the waiting room.
    permit: OwnedSemaphorePermit,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.at_desk {
            self.queue.stood_up(&self.namespace);
        }
        self.queue.ended(&self.namespace);
    }
}

impl Place {
    /// A place at a desk, for an object of the namespace that the queue gave out.
    pub fn at_desk(desk: OwnedSemaphorePermit, room: &WaitingRoom, queue: &Arc<Queue>, namespace: &str) -> Self {
        let seat = Seat {
            at_desk: true,
            queue: Arc::clone(queue),
            namespace: namespace.to_owned(),
            permit: desk,
        };
        Self {
            job: Job::new(),
            off: watch::Sender::new(false),
            room: room.clone(),
            seat: Mutex::new(Some(seat)),
            keeping: Arc::default(),
        }
    }

    /// Needs no place any more: the turn only waits from now on, and without a thread.
    pub fn leave(&self) {
        let seat = self.seat().take();
        drop(seat);
    }

    /// The turn does not end before what this gives is dropped.
    pub fn keep(self: &Arc<Self>) -> Arc<()> {
        Arc::clone(&self.keeping)
    }

    /// Waits until a turn that was called off has had the time to end by itself. What it does to a cluster is kept track of before
    /// it is done, as for the case that this process ends; what threads leave behind is known when they are done.
    pub async fn outlived(&self) {
        self.called_off().await;
        tokio::time::sleep(LAST_STEPS).await;
        while Arc::strong_count(&self.keeping) > 1 {
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Nobody wants the turn any more.
    pub fn call_off(&self) {
        self.job.call_off();
        self.off.send_replace(true);
    }

    /// Waits until nobody wants the turn any more.
    pub async fn called_off(&self) {
        let mut off = self.off.subscribe();
        if off.wait_for(|off| *off).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Gives the desk away when it was held for long enough; others need it.
    pub async fn move_over(self: Arc<Self>) {
        let place = Arc::downgrade(&self);
        drop(self);
        tokio::time::sleep(AT_DESK).await;
        while let Some(place) = place.upgrade() {
            if place.try_move() {
                return;
            }
            drop(place);
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// True when it has no desk any more.
    fn try_move(&self) -> bool {
        let mut place = self.seat();
        let Some(seat) = place.as_mut().filter(|seat| seat.at_desk) else {
            return true;
        };
        let Ok(permit) = Arc::clone(&self.room.0).try_acquire_owned() else {
            return false;
        };
        seat.at_desk = false;
        let desk = std::mem::replace(&mut seat.permit, permit);
        seat.queue.stood_up(&seat.namespace);
        drop(desk);
        true
    }

    fn seat(&self) -> MutexGuard<'_, Option<Seat>> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::queue::{Backoff, Share};
    use super::*;
    use crate::Metrics;
    use bumpwright_api::ObjectName;

    async fn place(queue: &Arc<Queue>, desks: &Arc<Semaphore>, room: &WaitingRoom) -> Arc<Place> {
        let desk = Arc::clone(desks).acquire_owned().await.unwrap();
        let (name, _) = queue.next().await.unwrap();
        Arc::new(Place::at_desk(desk, room, queue, &name.namespace))
    }

    #[tokio::test]
    async fn who_waits_gives_the_desk_away_and_still_counts() {
        let room = WaitingRoom::default();
        let share = Share {
            most: 1,
            room: room.clone(),
        };
        let backoff = Backoff {
            least: AGAIN,
            most: AGAIN,
        };
        let queue = Arc::new(Queue::new(backoff, share, Metrics::new().controller("test", 1)));
        let desks = Arc::new(Semaphore::new(1));
        for (namespace, name) in [("slow", "a"), ("slow", "b"), ("tenant", "c")] {
            queue.add(ObjectName::new(namespace, name));
        }
        let slow = place(&queue, &desks, &room).await;
        assert_eq!(desks.available_permits(), 0);
        assert!(slow.try_move() && slow.try_move());
        assert_eq!(desks.available_permits(), 1);
        assert_eq!(room.0.available_permits(), WAITING_ROOM - 1);
        let other = place(&queue, &desks, &room).await;
        other.leave();
        let next = tokio::time::timeout(Duration::from_millis(50), place(&queue, &desks, &room)).await;
        assert!(next.is_err(), "the namespace has its turn");
        // A thread that goes on after its turn.
        let thread = Arc::clone(&slow);
        drop(slow);
        assert_eq!(room.0.available_permits(), WAITING_ROOM - 1);
        drop(thread);
        assert_eq!(room.0.available_permits(), WAITING_ROOM);
        place(&queue, &desks, &room).await;
    }

    #[tokio::test]
    async fn a_full_room_leaves_turns_at_their_desks() {
        let room = WaitingRoom::default();
        assert!(!room.is_crowded());
        let all = Arc::clone(&room.0).acquire_many_owned(512).await.unwrap();
        assert!(room.is_crowded());
        let queue = Arc::new(Queue::new(
            Backoff {
                least: AGAIN,
                most: AGAIN,
            },
            Share::default(),
            Metrics::new().controller("test", 1),
        ));
        queue.add(ObjectName::new("a", "a"));
        let desks = Arc::new(Semaphore::new(1));
        let place = place(&queue, &desks, &room).await;
        assert!(!place.try_move());
        drop(all);
        assert!(place.try_move());
    }
}
