//! The bound on connections that are open at once, and the choice of the one that is closed when more arrive.
//!
//! Connections that send nothing must not keep out those with a request. So a request never waits for idle connections:
//! of the peer that has most connections the one that has been idle for longest is closed. A connection that is busy
//! with a request is closed only to make room for a peer that has far fewer.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The bound of one server. A clone is the same one.
#[derive(Clone, Debug)]
pub(super) struct ConnectionLimit(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    open: Mutex<Open>,
    /// A connection was closed or has become idle.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Open {
    /// Counts events: less is longer ago.
    clock: u64,
    connections: BTreeMap<u64, Connection>,
}

#[derive(Debug)]
struct Connection {
    peer: IpAddr,
    /// Since when, by the clock; none while it is busy.
    idle: Option<u64>,
    evicted: Arc<Notify>,
}

impl ConnectionLimit {
    /// Allows so many connections, at least one.
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(Inner {
            most: most.max(1),
            open: Mutex::default(),
            changed: Notify::new(),
        }))
    }

    /// A slot for a new connection, which is idle at first. It is waited for only while all others are busy.
    pub(super) async fn acquire(&self, peer: IpAddr) -> Slot {
        loop {
            let changed = self.0.changed.notified();
            if let Some(slot) = self.try_acquire(peer.to_canonical()) {
                return slot;
            }
            changed.await;
        }
    }

    /// Evicts an idle connection: what connections need may be short although there are free slots.
    pub(super) fn evict_idle(&self) {
        let mut open = self.0.open.lock();
        if let Some(id) = open.idlest() {
            open.evict(id);
        }
    }

    fn try_acquire(&self, peer: IpAddr) -> Option<Slot> {
        let mut open = self.0.open.lock();
        if open.connections.len() >= self.0.most {
            let id = open.idlest().or_else(|| open.oldest_of_most(peer))?;
            open.evict(id);
        }
        open.clock += 1;
        let (id, evicted) = (open.clock, Arc::new(Notify::new()));
        let connection = Connection {
            peer,
            idle: Some(id),
            evicted: Arc::clone(&evicted),
        };
        open.connections.insert(id, connection);
        Some(Slot {
            limit: self.clone(),
            id,
            evicted,
        })
    }
}

impl Inner {}

impl Open {
    fn by_peer(&self) -> HashMap<IpAddr, usize> {
        let mut count = HashMap::new();
        for connection in self.connections.values() {
            *count.entry(connection.peer).or_default() += 1;
        }
        count
    }

    /// Of the peer with most connections among those with idle ones: the connection that has been idle for longest.
    fn idlest(&self) -> Option<u64> {
        let count = self.by_peer();
        let idle = self
            .connections
            .iter()
            .filter_map(|(id, connection)| Some((id, connection.peer, connection.idle?)));
        let idlest = idle.max_by_key(|(_, peer, since)| (count.get(peer), std::cmp::Reverse(*since)))?;
        Some(*idlest.0)
    }

    /// The oldest connection of the peer with most, if that has at least two more than another one.
    fn oldest_of_most(&self, other: IpAddr) -> Option<u64> {
        let count = self.by_peer();
        let own = count.get(&other).copied().unwrap_or_default();
        let (peer, _) = count
            .iter()
            .filter(|(_, count)| **count > own + 1)
            .max_by_key(|(_, count)| **count)?;
        let mut connections = self.connections.iter();
        connections
            .find(|(_, connection)| connection.peer == *peer)
            .map(|(id, _)| *id)
    }

    fn evict(&mut self, id: u64) {
        if let Some(connection) = self.connections.remove(&id) {
            connection.evicted.notify_one();
        }
    }
}

/// The slot of an open connection. It is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    limit: ConnectionLimit,
    id: u64,
    evicted: Arc<Notify>,
}

impl Slot {
    /// A request is being answered from now on.
    pub(super) fn busy(&self) {
        if let Some(connection) = self.limit.0.open.lock().connections.get_mut(&self.id) {
            connection.idle = None;
        }
    }

    /// The connection waits for a request, or for the rest of one.
    pub(super) fn idle(&self) {
        let mut open = self.limit.0.open.lock();
        open.clock += 1;
        let now = open.clock;
        if let Some(connection) = open.connections.get_mut(&self.id) {
            connection.idle = Some(now);
        }
        drop(open);
        self.limit.0.changed.notify_one();
    }

    /// Waits until another connection has the slot: then this one has to be closed.
    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.limit.0.open.lock().connections.remove(&self.id);
        self.limit.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn peer(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    async fn is_evicted(slot: &Slot) -> bool {
        tokio::time::timeout(Duration::from_millis(20), slot.evicted())
            .await
            .is_ok()
    }

    async fn waits(limit: &ConnectionLimit, from: u8) -> bool {
        tokio::time::timeout(Duration::from_millis(20), limit.acquire(peer(from)))
            .await
            .is_err()
    }

    #[tokio::test]
    async fn the_longest_idle_connection_is_evicted() {
        let limit = ConnectionLimit::new(2);
        let (first, second) = (limit.acquire(peer(1)).await, limit.acquire(peer(1)).await);
        first.busy();
        first.idle();
        let third = limit.acquire(peer(1)).await;
        assert!(is_evicted(&second).await && !is_evicted(&first).await && !is_evicted(&third).await);
        drop(second);
        let fourth = limit.acquire(peer(1)).await;
        assert!(is_evicted(&first).await && !is_evicted(&fourth).await);
    }

    #[tokio::test]
    async fn a_peer_with_many_makes_room_for_one_with_few() {
        let limit = ConnectionLimit::new(3);
        let few = limit.acquire(peer(1)).await;
        let many = [limit.acquire(peer(2)).await, limit.acquire(peer(2)).await];
        let other = limit.acquire(peer(3)).await;
        assert!(is_evicted(&many[0]).await && !is_evicted(&few).await && !is_evicted(&other).await);
    }

    #[tokio::test]
    async fn a_busy_connection_stays_unless_it_is_one_of_many() {
        let limit = ConnectionLimit::new(3);
        let mut all = Vec::new();
        for _ in 0..3 {
            let slot = limit.acquire(peer(1)).await;
            slot.busy();
            all.push(slot);
        }
        assert!(waits(&limit, 1).await);
        let other = limit.acquire(peer(2)).await;
        other.busy();
        assert!(is_evicted(&all[0]).await && !is_evicted(&all[1]).await);
        assert!(waits(&limit, 2).await, "two each is fair enough");
        all.remove(0);
        all.remove(0);
        assert!(!waits(&limit, 2).await);
    }

    #[tokio::test]
    async fn a_slot_that_is_waited_for_is_free_when_a_connection_falls_idle() {
        let limit = ConnectionLimit::new(1);
        let first = limit.acquire(peer(1)).await;
        first.busy();
        let acquiring = tokio::spawn({
            let limit = limit.clone();
            async move { limit.acquire(peer(1)).await }
        });
        tokio::task::yield_now().await;
        first.idle();
        assert!(is_evicted(&first).await);
        drop(first);
        assert!(acquiring.await.is_ok());
    }
}
