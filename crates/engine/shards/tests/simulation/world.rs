//! Time, the network, the faults, and what must hold.

use std::array;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::LazyLock;

use bumpwright_shards::{Verdict, bucket, id};

use super::process::{DURATION, MARGIN, Next, Process, RETRY, Run};
use super::server::{Answer, Request, Server};

pub const OBJECTS: usize = 12;
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const LENGTH: u64 = 100_000;
/// How long a process waits for an answer.
const TIMEOUT: u64 = 4_000;

/// How many keys there are for an object whose key follows a reference.
const KEYS: usize = 6;

/// Whether an object's key follows a reference.
pub fn follows(object: usize) -> bool {
    object >= 8
}

/// The bucket of an object with this key.
pub fn bucket_of(object: usize, key: usize) -> usize {
    static BUCKETS: LazyLock<[usize; OBJECTS + KEYS]> =
        LazyLock::new(|| array::from_fn(|n| bucket(&format!("key-{n}"))));
    BUCKETS[if follows(object) { OBJECTS + key } else { object }]
}

/// The number of an object.
pub fn number_of(object: usize) -> u64 {
    static NUMBERS: LazyLock<[u64; OBJECTS]> = LazyLock::new(|| array::from_fn(|n| id(&format!("object-{n}"))));
    NUMBERS[object]
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Late and lost messages, pauses, crashes.
    pub all: bool,
    /// Nothing in work is named.
    pub deaf: bool,
    /// Nothing stops a member whose time is over.
    pub no_fence: bool,
    /// Keys count at once.
    pub hasty: bool,
    /// A bucket is taken as soon as it is dealt.
    pub eager: bool,
}

impl Faults {
    pub const NONE: Self = Self {
        all: false,
        deaf: false,
        no_fence: false,
        hasty: false,
        eager: false,
    };
    pub const ALL: Self = Self {
        all: true,
        ..Self::NONE
    };
    pub const DEAF: Self = Self {
        deaf: true,
        ..Self::NONE
    };
    pub const NO_FENCE: Self = Self {
        no_fence: true,
        ..Self::ALL
    };
    pub const HASTY: Self = Self {
        hasty: true,
        ..Self::NONE
    };
    pub const EAGER: Self = Self {
        eager: true,
        ..Self::NONE
    };
}

#[derive(Debug)]
enum Event {
    Wake,
    Arrives {
        number: u64,
        request: Request,
        answers: bool,
    },
    Answered {
        number: u64,
        answer: Option<Answer>,
    },
    /// A worker looks for something to do.
    Work,
    Confirmed {
        object: usize,
        key: usize,
    },
    Write {
        object: usize,
        began: u64,
    },
    Learn {
        object: usize,
        key: usize,
        change: u64,
    },
    Trouble,
}

/// An event, when it happens, and the process that it is for.
struct Scheduled {
    at: (u64, u64),
    process: u64,
    event: Event,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at)
    }
}

pub struct World {
    random: fastrand::Rng,
    faults: Faults,
    pub now: u64,
    count: u64,
    queue: BinaryHeap<Reverse<Scheduled>>,
    server: Server,
    processes: BTreeMap<u64, Process>,
    paused: BTreeMap<u64, u64>,
    /// The request that a process waits for.
    waits: BTreeMap<u64, u64>,
    /// Who began last with an object, and when.
    last: Vec<(u64, u64)>,
    pub runs: u64,
    pub met: Option<String>,
    pub quiet: bool,
    troubles: bool,
    seed: u64,
}

impl World {
    pub fn new(seed: u64, faults: Faults) -> Self {
        let mut world = Self {
            random: fastrand::Rng::with_seed(seed),
            faults,
            now: 0,
            count: 0,
            queue: BinaryHeap::new(),
            server: Server::with(vec![0; OBJECTS]),
            processes: BTreeMap::new(),
            paused: BTreeMap::new(),
            waits: BTreeMap::new(),
            last: vec![(0, 0); OBJECTS],
            runs: 0,
            met: None,
            quiet: false,
            troubles: true,
            seed,
        };
        for name in &NAMES[..3] {
            world.start(name);
        }
        world.later(5_000, 0, Event::Trouble);
        world
    }

    fn start(&mut self, name: &str) {
        self.count += 1;
        let number = self.count;
        let identity = format!("{name}_{number}");
        let process = Process::new(name, identity, &self.server.keys, self.now, self.faults);
        self.processes.insert(number, process);
        let delay = self.random.u64(0..3_000);
        self.later(delay, number, Event::Wake);
        for _ in 0..2 {
            self.later(delay, number, Event::Work);
        }
    }

    fn later(&mut self, delay: u64, process: u64, event: Event) {
        self.count += 1;
        self.queue.push(Reverse(Scheduled {
            at: (self.now + delay, self.count),
            process,
            event,
        }));
    }

    /// How long a message takes; none when it is lost.
    fn delay(&mut self) -> Option<u64> {
        let usual = self.random.u64(1..60);
        if !self.faults.all || !self.troubles {
            return Some(usual);
        }
        match self.random.u8(..) {
            0..6 => None,
            6..14 => Some(self.random.u64(1..25_000)),
            _ => Some(usual),
        }
    }

    pub fn run(&mut self) {
        self.until(LENGTH);
    }

    fn until(&mut self, end: u64) {
        while let Some(Reverse(mut next)) = self.queue.pop() {
            let (time, number) = next.at;
            if time > end || self.met.is_some() {
                self.queue.push(Reverse(next));
                break;
            }
            self.now = time;
            match self.paused.get(&next.process).copied() {
                // The server is not paused, nor what was sent to it.
                Some(until) if until > time && !matches!(next.event, Event::Arrives { .. } | Event::Trouble) => {
                    next.at = (until, number);
                    self.queue.push(Reverse(next));
                }
                _ => self.handle(next.process, next.event),
            }
        }
        self.now = end;
    }

    fn handle(&mut self, number: u64, event: Event) {
        match event {
            Event::Trouble => return self.trouble(),
            Event::Arrives {
                number: request,
                request: what,
                answers,
            } => {
                let answer = self.server.answer(what);
                if let Some(delay) = self.delay().filter(|_| answers) {
                    self.later(
                        delay,
                        number,
                        Event::Answered {
                            number: request,
                            answer: Some(answer),
                        },
                    );
                }
                return;
            }
            _ => {}
        }
        let Some(mut process) = self.processes.remove(&number) else {
            return;
        };
        self.processed(number, &mut process, event);
        if process.alive {
            self.processes.insert(number, process);
        }
    }

    fn processed(&mut self, number: u64, process: &mut Process, event: Event) {
        match event {
            Event::Wake => {
                let next = process.wake(self.now);
                self.follow(number, process, next);
            }
            Event::Answered {
                number: request,
                answer,
            } => {
                if self.waits.get(&number) == Some(&request) {
                    self.waits.remove(&number);
                    let next = process.answered(answer, self.now);
                    self.follow(number, process, next);
                }
            }
            Event::Learn { object, key, change } => process.learn(object, key, change),
            Event::Work => self.work(number, process),
            Event::Confirmed { object, key } => {
                let is_known = process.known[object].0 == key && process.verdict(object) == Verdict::Ours;
                if is_known {
                    self.begin(number, process, object)
                } else {
                    process.running.remove(&object);
                }
            }
            Event::Write { object, began } => self.write(number, process, object, began),
            Event::Arrives { .. } | Event::Trouble => {}
        }
    }

    fn follow(&mut self, number: u64, process: &mut Process, next: Next) {
        match next {
            Next::End => process.alive = false,
            Next::Sleep => {
                let pause = RETRY + self.random.u64(0..200);
                self.later(pause, number, Event::Wake);
            }
            Next::Send(request) => {
                self.count += 1;
                let id = self.count;
                self.waits.insert(number, id);
                if let Some(delay) = self.delay() {
                    self.later(
                        delay,
                        number,
                        Event::Arrives {
                            number: id,
                            request,
                            answers: true,
                        },
                    );
                }
                self.later(
                    TIMEOUT,
                    number,
                    Event::Answered {
                        number: id,
                        answer: None,
                    },
                );
            }
        }
    }

    /// A worker takes an object.
    fn work(&mut self, number: u64, process: &mut Process) {
        let pause = self.random.u64(200..3_000);
        self.later(pause, number, Event::Work);
        let wanted = process.wanted();
        let Some(object) = self.random.choice(wanted) else {
            return;
        };
        if !follows(object) {
            return self.begin(number, process, object);
        }
        process.running.insert(object, Run::Confirming);
        // Read at once, and answered later.
        let key = self.server.keys[object];
        let delay = self.random.u64(1..100);
        self.later(delay, number, Event::Confirmed { object, key });
    }

    fn begin(&mut self, number: u64, process: &mut Process, object: usize) {
        let now = self.now;
        if now >= process.fence() {
            process.running.remove(&object);
            return;
        }
        self.runs += 1;
        for (other, theirs) in &self.processes {
            let is_at_it = matches!(theirs.running.get(&object), Some(Run::Working(_)));
            if *other != number && is_at_it && now < theirs.fence() {
                let text = format!("{} begins with {object} while {} is at it", process.name, theirs.name);
                self.met.get_or_insert(text);
            }
        }
        let length = if self.random.u8(..) < 20 { 20_000 } else { 800 };
        let end = now + self.random.u64(1..length);
        process.running.insert(object, Run::Working(end));
        self.last[object] = (number, now);
        self.write(number, process, object, now);
    }

    /// A write of a run, and the time of the next one.
    fn write(&mut self, number: u64, process: &mut Process, object: usize, began: u64) {
        if self.now < process.fence() && self.last[object] != (number, began) {
            let text = format!("{} writes {object} after another one has begun", process.name);
            self.met.get_or_insert(text);
        }
        if let Some(met) = self.met.as_ref().filter(|_| !self.quiet) {
            panic!("SEED={} at {}: {met}", self.seed, self.now);
        }
        let Some(Run::Working(end)) = process.running.get(&object).copied() else {
            return;
        };
        // What is not ours any more is cancelled, and ends soon.
        let is_over = self.now >= end || (process.verdict(object) == Verdict::Others && self.random.u8(..) < 60);
        if is_over {
            process.running.remove(&object);
            return;
        }
        let delay = self.random.u64(1..=600.min(end - self.now));
        self.later(delay, number, Event::Write { object, began });
    }

    /// Something happens to a process, or to an object.
    fn trouble(&mut self) {
        if !self.troubles {
            return;
        }
        let pause = self.random.u64(500..6_000);
        self.later(pause, 0, Event::Trouble);
        let numbers: Vec<u64> = self.processes.keys().copied().collect();
        let chosen = self.random.choice(numbers);
        match (self.random.u8(0..12), chosen) {
            (0..4, _) => self.change_key(),
            (4, Some(number)) if self.faults.all => drop(self.processes.remove(&number)),
            (5 | 6, Some(number)) if self.faults.all => {
                let until = self.now + self.random.u64(100..40_000);
                self.paused.insert(number, until);
            }
            (7, _) if self.faults.all && self.random.u8(..) < 60 => self.server.deal = None,
            (8, Some(number)) => {
                if let Some(process) = self.processes.get_mut(&number) {
                    process.leaving = true;
                }
            }
            _ => {
                let name = self.random.choice(NAMES).unwrap();
                if !self.processes.values().any(|process| process.name == name) {
                    self.start(name);
                }
            }
        }
    }

    fn change_key(&mut self) {
        let (object, key) = (self.random.usize(8..OBJECTS), self.random.usize(0..KEYS));
        self.server.keys[object] = key;
        self.count += 1;
        let change = self.count;
        let numbers: Vec<u64> = self.processes.keys().copied().collect();
        for number in numbers {
            // Watches lag, each by its own time.
            let lag = if self.random.u8(..) < 30 { 12_000 } else { 300 };
            let delay = self.random.u64(1..lag);
            self.later(delay, number, Event::Learn { object, key, change });
        }
    }

    /// Ends all faults, and waits until everything is settled: each object has one owner.
    pub fn heal(&mut self) {
        self.troubles = false;
        let now = self.now;
        self.paused.retain(|_, until| *until > now);
        let longest = self.paused.values().max().copied().unwrap_or_default().max(now);
        self.until(longest + 30_000);
        for name in &NAMES[..3] {
            if !self.processes.values().any(|process| process.name == *name) {
                self.start(name);
            }
        }
        self.until(longest + 30_000 + 3 * (DURATION + MARGIN) + 20_000);
        let keys = self.server.keys.clone();
        for process in self.processes.values_mut() {
            for (object, key) in keys.iter().enumerate() {
                if process.known[object].0 != *key {
                    process.learn(object, *key, u64::MAX);
                }
            }
        }
        self.until(self.now + 20_000 + 8 * RETRY);
        for object in 0..OBJECTS {
            let verdicts = self.processes.values().map(|process| process.verdict(object));
            let owners = verdicts.filter(|verdict| *verdict == Verdict::Ours).count();
            assert_eq!(owners, 1, "SEED={}: the owners of {object}", self.seed);
        }
    }
}
