//! The door of a server: a bound on the connections that are open at once, and the choice of the one that is closed when more come.
//!
//! Whoever opens connections and says nothing must not keep out those who have something to ask. So nobody who asks waits for
//! those who do not: the connection goes that has been idle for longest, of the peer that has most of them. A connection whose
//! request is being answered goes only to make room for a peer that has far fewer.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The door of one server. A clone is the same one.
#[derive(Clone, Debug)]
pub struct Door(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    guests: Mutex<Guests>,
    /// Somebody has left, or has become idle.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Guests {
    /// Counts what happens: less is longer ago.
    count: u64,
    inside: BTreeMap<u64, Inside>,
}

#[derive(Debug)]
struct Inside {
    peer: IpAddr,
    /// Since when, by the count; none while a request is answered.
    idle: Option<u64>,
    away: Arc<Notify>,
}

impl Door {
    /// A door that lets so many connections in, at least one.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Inner {
            most: most.max(1),
            guests: Mutex::default(),
            changed: Notify::new(),
        }))
    }

    /// Lets a connection in, which is idle at first. It waits only while all others are being answered.
    pub async fn enter(&self, peer: IpAddr) -> Guest {
        loop {
            let changed = self.0.changed.notified();
            if let Some(guest) = self.try_enter(peer.to_canonical()) {
                return guest;
            }
            changed.await;
        }
    }

    /// Sends one away that is idle: what connections take may be short although there is room for more.
    pub fn relieve(&self) {
        let mut guests = self.0.lock();
        if let Some(id) = guests.idlest() {
            guests.send_away(id);
        }
    }

    fn try_enter(&self, peer: IpAddr) -> Option<Guest> {
        let mut guests = self.0.lock();
        if guests.inside.len() >= self.0.most {
            let id = guests.idlest().or_else(|| guests.greediest(peer))?;
            guests.send_away(id);
        }
        guests.count += 1;
        let (id, away) = (guests.count, Arc::new(Notify::new()));
        let inside = Inside {
            peer,
            idle: Some(id),
            away: Arc::clone(&away),
        };
        guests.inside.insert(id, inside);
        Some(Guest {
            door: self.clone(),
            id,
            away,
        })
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guests {
    fn by_peer(&self) -> HashMap<IpAddr, usize> {
        let mut count = HashMap::new();
        for inside in self.inside.values() {
            *count.entry(inside.peer).or_default() += 1;
        }
        count
    }

    /// Of the peer that has most connections among those with idle ones: the one that has been idle for longest.
    fn idlest(&self) -> Option<u64> {
        let count = self.by_peer();
        let idle = self
            .inside
            .iter()
            .filter_map(|(id, inside)| Some((id, inside, inside.idle?)));
        let crowd = |peer: IpAddr| count.get(&peer).copied().unwrap_or_default();
        let idlest = idle.max_by_key(|(_, inside, since)| (crowd(inside.peer), std::cmp::Reverse(*since)))?;
        Some(*idlest.0)
    }

    /// The oldest of the peer that has most connections, when it has two more than another one.
    fn greediest(&self, other: IpAddr) -> Option<u64> {
        let count = self.by_peer();
        let own = count.get(&other).copied().unwrap_or_default();
        let (peer, _) = count
            .iter()
            .filter(|(_, count)| **count > own + 1)
            .max_by_key(|(_, count)| **count)?;
        let mut inside = self.inside.iter();
        inside.find(|(_, inside)| inside.peer == *peer).map(|(id, _)| *id)
    }

    fn send_away(&mut self, id: u64) {
        if let Some(inside) = self.inside.remove(&id) {
            inside.away.notify_one();
        }
    }
}

/// A connection that was let in. It leaves when it is dropped.
#[derive(Debug)]
pub struct Guest {
    door: Door,
    id: u64,
    away: Arc<Notify>,
}

impl Guest {
    /// Its request is being answered from now on.
    pub fn busy(&self) {
        if let Some(inside) = self.door.0.lock().inside.get_mut(&self.id) {
            inside.idle = None;
        }
    }

    /// It waits for a request, or for the rest of one.
    pub fn idle(&self) {
        let mut guests = self.door.0.lock();
        guests.count += 1;
        let now = guests.count;
        if let Some(inside) = guests.inside.get_mut(&self.id) {
            inside.idle = Some(now);
        }
        drop(guests);
        self.door.0.changed.notify_one();
    }

    /// Waits until its place is somebody else's: then it has to go.
    pub async fn sent_away(&self) {
        self.away.notified().await;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.door.0.lock().inside.remove(&self.id);
        self.door.0.changed.notify_one();
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn peer(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    async fn is_away(guest: &Guest) -> bool {
        tokio::time::timeout(Duration::from_millis(20), guest.sent_away())
            .await
            .is_ok()
    }

    async fn waits(door: &Door, from: u8) -> bool {
        tokio::time::timeout(Duration::from_millis(20), door.enter(peer(from)))
            .await
            .is_err()
    }

    #[tokio::test]
    async fn who_has_been_silent_for_longest_goes() {
        let door = Door::new(2);
        let (first, second) = (door.enter(peer(1)).await, door.enter(peer(1)).await);
        first.busy();
        first.idle();
        let third = door.enter(peer(1)).await;
        assert!(is_away(&second).await && !is_away(&first).await && !is_away(&third).await);
        drop(second);
        let fourth = door.enter(peer(1)).await;
        assert!(is_away(&first).await && !is_away(&fourth).await);
    }

    #[tokio::test]
    async fn a_peer_with_many_makes_room_for_one_with_few() {
        let door = Door::new(3);
        let few = door.enter(peer(1)).await;
        let many = [door.enter(peer(2)).await, door.enter(peer(2)).await];
        let other = door.enter(peer(3)).await;
        assert!(is_away(&many[0]).await && !is_away(&few).await && !is_away(&other).await);
    }

    #[tokio::test]
    async fn who_is_being_answered_stays_unless_it_is_one_of_many() {
        let door = Door::new(3);
        let mut all = Vec::new();
        for _ in 0..3 {
            let guest = door.enter(peer(1)).await;
            guest.busy();
            all.push(guest);
        }
        assert!(waits(&door, 1).await);
        let other = door.enter(peer(2)).await;
        other.busy();
        assert!(is_away(&all[0]).await && !is_away(&all[1]).await);
        assert!(waits(&door, 2).await, "two each is fair enough");
        all.remove(0);
        all.remove(0);
        assert!(!waits(&door, 2).await);
    }

    #[tokio::test]
    async fn who_waits_comes_in_when_somebody_falls_silent() {
        let door = Door::new(1);
        let first = door.enter(peer(1)).await;
        first.busy();
        let entering = tokio::spawn({
            let door = door.clone();
            async move { door.enter(peer(1)).await }
        });
        tokio::task::yield_now().await;
        first.idle();
        assert!(is_away(&first).await);
        drop(first);
        assert!(entering.await.is_ok());
    }
}
