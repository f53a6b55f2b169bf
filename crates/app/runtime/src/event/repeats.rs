//! Runs that found nothing new say so in an event, again and again. Flux's controllers have the API server count them,
//! which is most of what they write in a cluster at rest; here the event is written once, and again when something else
//! has been said meanwhile.

use super::cluster_event::ClusterEvent;
use super::correlator::{Key, key_of};
use super::recency::Recency;

/// How many objects are remembered.
const REMEMBERED: usize = 4096;

/// What was said last of each object.
#[derive(Debug)]
pub struct Repeats(Recency<Key, Key>);

impl Repeats {
    /// Nothing has been said.
    #[must_use]
    pub fn new() -> Self {
        Self(Recency::new(REMEMBERED))
    }

    /// Whether the event is a trace that says once more what was said last of its object. Takes note of it.
    pub fn has(&mut self, event: &ClusterEvent) -> bool {
        let object = key_of(event, &[]);
        let text = key_of(event, &[event.event_type, &event.reason, &event.message]);
        let is_same = self.0.get(&object).is_some_and(|last| *last == text);
        self.0.put(object, text);
        is_same && event.is_trace
    }
}

impl Default for Repeats {
    fn default() -> Self {
        Self::new()
    }
}
