//! A process: what the controller does with the rules, one request at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bumpwright_shards::{Ack, Action, Joining, Member, Rules, SeenMember, Snapshot, Verdict, View};

use super::server::{Answer, Request};
use super::world::{Faults, OBJECTS, bucket_of, follows, number_of};

pub const RETRY: u64 = 2_000;
const DEADLINE: u64 = 10_000;
pub const DURATION: u64 = 15_000;
pub const MARGIN: u64 = 1_500;

/// What the process waits for.
enum Phase {
    Joining,
    Creating,
    Renewing { began: u64 },
    Listing,
    Acting,
}

/// A run of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// The object is read again.
    Confirming,
    /// Until then.
    Working(u64),
}

pub struct Process {
    pub name: String,
    identity: String,
    member: Member,
    phase: Phase,
    version: Option<String>,
    renewed: u64,
    pub view: View,
    actions: Vec<Action>,
    /// What its watch has said of each object: the key, and the round in which it was learned.
    pub known: Vec<(usize, u64)>,
    /// The change of each object that it knows.
    changes: Vec<u64>,
    pub running: BTreeMap<usize, Run>,
    pub alive: bool,
    pub leaving: bool,
    faults: Faults,
}

pub enum Next {
    Send(Request),
    Sleep,
    End,
}

fn at(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

impl Process {
    pub fn new(name: &str, identity: String, keys: &[usize], now: u64, faults: Faults) -> Self {
        let rules = Rules {
            duration: at(DURATION),
            margin: at(MARGIN),
            expected: 2,
        };
        Self {
            name: name.to_owned(),
            member: Member::new(name, &identity, rules, at(now)),
            identity,
            phase: Phase::Joining,
            version: None,
            renewed: now,
            view: View::nothing(),
            actions: Vec::new(),
            changes: vec![0; keys.len()],
            known: keys.iter().map(|key| (*key, 0)).collect(),
            running: BTreeMap::new(),
            alive: true,
            leaving: false,
            faults,
        }
    }

    /// Until when it may write.
    pub fn fence(&self) -> u64 {
        let fence = self
            .member
            .fence()
            .map_or(0, |fence| u64::try_from(fence.as_millis()).unwrap());
        if self.faults.no_fence { u64::MAX } else { fence }
    }

    pub fn verdict(&self, object: usize) -> Verdict {
        let (key, learned) = self.known[object];
        match self.view.verdict(bucket_of(object, key), number_of(object)) {
            Verdict::Ours if follows(object) && !self.faults.hasty && !self.view.settled(learned) => Verdict::Later,
            Verdict::Later if self.faults.eager => Verdict::Ours,
            verdict => verdict,
        }
    }

    /// What is said with each renewal.
    fn ack(&self) -> Ack {
        let named = |object: &&usize| follows(**object) || self.verdict(**object) != Verdict::Ours;
        let busy: BTreeSet<u64> = self.running.keys().filter(named).copied().map(number_of).collect();
        self.member.ack(if self.faults.deaf { BTreeSet::new() } else { busy })
    }

    fn lease(&self) -> SeenMember {
        SeenMember {
            version: self.version.clone().unwrap_or_default(),
            identity: self.identity.clone(),
            duration: at(DURATION),
            ack: self.ack(),
        }
    }

    /// The next request, when it wakes up.
    pub fn wake(&mut self, now: u64) -> Next {
        if let Phase::Joining = self.phase {
            return Next::Send(Request::List);
        }
        if self.is_late(now) {
            return Next::End;
        }
        self.renew(now)
    }

    fn is_late(&self, now: u64) -> bool {
        self.member.fence().is_some() && now >= self.renewed + DEADLINE && !self.faults.no_fence
    }

    fn renew(&mut self, now: u64) -> Next {
        if self.leaving {
            self.member.leave();
            self.view = self.member.view();
            if self.running.is_empty() {
                // Its work is done: the Lease goes, and then the process.
                self.phase = Phase::Acting;
                return match self.version.take() {
                    Some(version) => Next::Send(Request::Delete {
                        name: self.name.clone(),
                        version,
                    }),
                    None => Next::End,
                };
            }
        }
        self.phase = Phase::Renewing { began: now };
        Next::Send(Request::Renew {
            name: self.name.clone(),
            lease: self.lease(),
        })
    }

    /// Continues with an answer; none when none came in time.
    pub fn answered(&mut self, answer: Option<Answer>, now: u64) -> Next {
        if self.is_late(now) {
            return Next::End;
        }
        match (&self.phase, answer) {
            (Phase::Joining, Some(Answer::Listed(snapshot))) => match self.member.join(&snapshot, at(now)) {
                Joining::Create => {
                    self.phase = Phase::Creating;
                    Next::Send(Request::Create {
                        name: self.name.clone(),
                        lease: self.lease(),
                    })
                }
                Joining::Evict(version) => {
                    self.phase = Phase::Creating;
                    Next::Send(Request::Delete {
                        name: self.name.clone(),
                        version,
                    })
                }
                Joining::Wait => Next::Sleep,
                Joining::Joined(version) => {
                    self.version = Some(version);
                    self.renew(now)
                }
            },
            (Phase::Joining, _) => Next::Sleep,
            // The list says what came of it.
            (Phase::Creating, _) => {
                self.phase = Phase::Joining;
                Next::Send(Request::List)
            }
            (Phase::Renewing { began }, Some(Answer::Written)) => {
                let began = *began;
                if self.member.renewed(at(began), at(now)).is_err() && !self.faults.no_fence {
                    return Next::End;
                }
                self.renewed = began;
                self.phase = Phase::Listing;
                Next::Send(Request::List)
            }
            (Phase::Renewing { .. }, _) => {
                self.phase = Phase::Listing;
                Next::Send(Request::List)
            }
            (Phase::Listing, Some(Answer::Listed(snapshot))) => self.observe(&snapshot, now),
            (Phase::Listing, _) => Next::Sleep,
            (Phase::Acting, _) if self.leaving && self.version.is_none() => Next::End,
            (Phase::Acting, _) => self.act(),
        }
    }

    fn observe(&mut self, snapshot: &Snapshot, now: u64) -> Next {
        if self.member.fence().is_none() {
            // Not renewed yet.
            self.version = snapshot.members.get(&self.name).map(|own| own.version.clone());
            return Next::Sleep;
        }
        let mut weights = [0; bumpwright_shards::BUCKETS];
        for (object, (key, _)) in self.known.iter().enumerate() {
            weights[bucket_of(object, *key)] += 1;
        }
        let Ok(actions) = self.member.observe(snapshot, at(now), || weights) else {
            return Next::End;
        };
        let before = self.view.epoch;
        self.view = self.member.view();
        self.version = snapshot.members.get(&self.name).map(|own| own.version.clone());
        self.actions = actions;
        if self.view.epoch != before {
            return self.renew(now);
        }
        self.act()
    }

    fn act(&mut self) -> Next {
        match self.actions.pop() {
            Some(action) => {
                self.phase = Phase::Acting;
                Next::Send(match action {
                    Action::Evict { name, version } => Request::Delete { name, version },
                    Action::Deal { version, deal } => Request::Deal { version, deal },
                })
            }
            None => {
                self.phase = Phase::Listing;
                Next::Sleep
            }
        }
    }

    /// Learns the key of an object from its watch.
    pub fn learn(&mut self, object: usize, key: usize, change: u64) {
        if change > self.changes[object] {
            self.changes[object] = change;
            self.known[object] = (key, self.view.round());
        }
    }

    /// The objects that it would begin with.
    pub fn wanted(&self) -> Vec<usize> {
        (0..OBJECTS)
            .filter(|object| self.verdict(*object) == Verdict::Ours && !self.running.contains_key(object))
            .collect()
    }
}
