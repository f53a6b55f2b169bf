//! client-go's protection of a cluster from floods of events (`tools/record/events_cache.go`, `EventCorrelator`): a
//! repeated event is counted in the existing one, many that differ only by their message are combined, and the events
//! of one object are rate limited.
//!
//! It is a value without clock and client. One difference: of ten messages client-go forgets a random one, so it is
//! random whether a repeated older message is combined. Here the newest is forgotten: the first
//! nine keep their own events.

use std::collections::BTreeSet;
use std::time::SystemTime;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::cluster_event::ClusterEvent;
use super::recency::Recency;
use super::token_bucket::TokenBucket;
use crate::logging::timestamp::unix_nanos;

/// How many objects, reasons and messages are remembered, each.
const REMEMBERED: usize = 4096;
/// After so many different messages, further ones are combined.
const MESSAGES: usize = 10;
/// How long an object and reason has to be quiet for a reset, in nanoseconds: ten minutes.
const QUIET: i64 = 600 * 1_000_000_000;

/// The action for an event.
///
/// client-go retries after ten seconds (at first, a random part of it), twelve times at most, while the server is
/// unreachable; a refused event is dropped.
#[derive(Clone, Debug, PartialEq)]
pub enum Correlated {
    /// `POST` this Event to the namespace.
    Create { namespace: String, event: Value },
    /// `PATCH` the Event of that name (as `application/strategic-merge-patch+json` in client-go); on 404, after the
    /// Event has expired, `POST` `event` instead.
    Patch {
        namespace: String,
        name: String,
        patch: Value,
        event: Value,
    },
    /// Nothing: the rate limit of the object is exhausted.
    Drop,
}

/// Remembers written events. Memory is bounded: texts are kept as hashes.
#[derive(Debug)]
pub struct Correlator {
    similar: Recency<Key, SimilarEvents>,
    written: Recency<Key, WrittenEvent>,
    paces: Recency<Key, TokenBucket>,
}

/// The hash of the parts that have to be equal.
pub(crate) type Key = [u8; 32];

/// Events that differ only by their message.
#[derive(Debug)]
struct SimilarEvents {
    messages: BTreeSet<Key>,
    last: i64,
}

/// An Event in the cluster.
#[derive(Debug)]
struct WrittenEvent {
    name: String,
    first: i64,
    count: u32,
}

impl Correlator {
    /// Creates an empty correlator.
    #[must_use]
    pub fn new() -> Self {
        Self {
            similar: Recency::new(REMEMBERED),
            written: Recency::new(REMEMBERED),
            paces: Recency::new(REMEMBERED),
        }
    }

    /// Decides the action for an event at this moment.
    pub fn observe(&mut self, event: ClusterEvent, now: SystemTime) -> Correlated {
        let now = unix_nanos(now);
        let (event, key) = self.combine(event, now);
        let event = self.count(event, key);
        let pace = key_of(&event, &[event.event_type]);
        let mut bucket = self.paces.get(&pace).copied().unwrap_or_else(TokenBucket::full);
        let may = bucket.take(now);
        self.paces.put(pace, bucket);
        if !may {
            return Correlated::Drop;
        }
        let (namespace, json) = (event.namespace.clone(), event.to_json());
        match event.count {
            0 | 1 => Correlated::Create { namespace, event: json },
            _ => Correlated::Patch {
                namespace,
                patch: event.patch(),
                name: event.name,
                event: json,
            },
        }
    }

    /// Returns the event, or the one that combines all similar ones, with its key.
    fn combine(&mut self, event: ClusterEvent, now: i64) -> (ClusterEvent, Key) {
        let reporting = if event.reporting { event.component.as_str() } else { "" };
        let group = key_of(&event, &[event.event_type, "similar", &event.reason, reporting]);
        let message: Key = Sha256::digest(event.message.as_bytes()).into();
        let fresh = |similar: &&mut SimilarEvents| now.saturating_sub(similar.last) <= QUIET;
        let mut messages = match self.similar.get(&group).filter(fresh) {
            Some(similar) => std::mem::take(&mut similar.messages),
            None => BTreeSet::new(),
        };
        messages.insert(message);
        let many = messages.len() >= MESSAGES;
        if many {
            messages.remove(&message);
        }
        self.similar.put(group, SimilarEvents { messages, last: now });
        if many {
            (event.combined(now), group)
        } else {
            let key = key_of(&event, &[event.event_type, "same", &event.reason, &event.message]);
            (event, key)
        }
    }

    /// Returns the event with the name and count of the one that it repeats.
    fn count(&mut self, mut event: ClusterEvent, key: Key) -> ClusterEvent {
        if let Some(written) = self.written.get(&key) {
            event.name.clone_from(&written.name);
            event.first = written.first;
            event.count = written.count.saturating_add(1);
        }
        let written = WrittenEvent {
            name: event.name.clone(),
            first: event.first,
            count: event.count,
        };
        self.written.put(key, written);
        event
    }
}

impl Default for Correlator {
    fn default() -> Self {
        Self::new()
    }
}

/// Hashes source and object of an event, and more parts. Lengths separate parts.
pub(crate) fn key_of(event: &ClusterEvent, more: &[&str]) -> Key {
    let object = &event.object;
    let parts = [
        event.component.as_str(),
        &object.kind,
        &object.namespace,
        &object.name,
        &object.uid,
        &object.api_version,
    ];
    let mut hash = Sha256::new();
    for part in parts.iter().chain(more) {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}
