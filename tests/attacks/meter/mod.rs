//! The meter: each reader of foreign bytes gets the largest answer that its bounds allow, for eight objects of
//! one tenant at once. The peak of the controller's memory stays below what a pod has room for, and the innocent
//! tenant is served meanwhile.
//!
//! A row of the table is a reader: what a hostile server answers, and the objects that make the controller ask for it.
//! A new reader of foreign bytes gets a row here. Objects of the cluster's own API server, which can bear few large
//! ones, are in [`crate::swell_objects`].

mod buckets;
mod clusters;
mod git;
mod registries;
mod services;
mod signatures;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value as Json, json};

use crate::siege::{METERED, MOST_MEMORY, Plan, Siege};
use bumpwright_testkit::hostile::Hostile;
use bumpwright_testkit::ports::free_port;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::world::{GIT_REPOSITORY, ObjectKind, SECRET, World, condition_of, git_repository};

/// How many objects ask at once.
const CROWD: usize = 8;

/// How many rows are measured at once, each with a namespace of its own, where not each is measured alone.
const ABREAST: usize = 6;

/// The time limit of each object, and how long all of a row may take: its objects may have to take turns.
pub const TIMEOUT: &str = "10s";
const LONGEST: Duration = Duration::from_secs(90);

/// The bytes that a server sends at most where a reader has no bound of its own.
pub const ENDLESS: u64 = 1 << 30;

/// The spec of the object with this number, or all of its fields if they have a `spec`.
pub type Specs = Box<dyn Fn(usize) -> Json>;

/// A reader.
pub struct Row {
    name: &'static str,
    kind: ObjectKind,
    /// Prepares the servers.
    lay: fn(&Place) -> Specs,
}

impl Row {
    pub const fn new(name: &'static str, kind: ObjectKind, lay: fn(&Place) -> Specs) -> Self {
        Self { name, kind, lay }
    }
}

/// Where the objects of a row are, and what they ask.
pub struct Place {
    pub world: World<'static>,
    pub hostile: Hostile,
    /// The server that the controller's environment names for clouds; all rows have the same.
    pub clouds: Arc<Hostile>,
    /// The port of the controller's webhooks.
    pub webhooks: u16,
}

impl Place {
    /// With the scheme.
    pub fn url(&self, path: &str) -> String {
        self.hostile.url(path)
    }

    /// A repository with this file, and a source for it.
    pub fn source(&self, name: &str, file: &str, text: &str) {
        // As forges have it: owner and name.
        let path = format!("acme/{name}.git");
        let repo = self.world.repository(&path);
        repo.commit("main", "first", &[Change::File(file, text.as_bytes())]);
        let spec = git_repository(&self.world.git.url(&path));
        self.world.add(GIT_REPOSITORY, name, spec);
        self.world.ready(GIT_REPOSITORY, name, "True", |_, _| true);
    }

    /// A text that is read as it stands.
    pub fn secret(&self, name: &str, data: &[(&str, &str)]) {
        let data: BTreeMap<&str, &str> = data.iter().copied().collect();
        self.world.put(SECRET, name, json!({ "stringData": data }));
    }
}

/// What was measured, in KiB.
struct Measured {
    name: &'static str,
    before: u64,
    /// None when the controller was killed.
    peak: Option<u64>,
    took: Duration,
    /// The message of the first object; none if it was not done in time.
    said: Option<String>,
}

struct Meter {
    siege: Siege,
    clouds: Arc<Hostile>,
    webhooks: u16,
    /// Each row is measured alone.
    is_alone: bool,
}

impl Meter {
    fn begin(is_alone: bool) -> Option<Self> {
        let (clouds, webhooks) = (Arc::new(Hostile::start()), free_port());
        let selector = format!("siege={METERED}");
        let webhook_addr = format!("--webhook-addr=127.0.0.1:{webhooks}");
        let siege = Siege::begin(&Plan {
            selector: &selector,
            innocent: "innocent-beside-the-meter",
            label: METERED,
            // What is only large is refused soon.
            flags: &["--spool-size=256Mi", &webhook_addr, "--webhook-secret=webhooks"],
            variables: &[
                ("STORAGE_EMULATOR_HOST", clouds.host()),
                ("AWS_ENDPOINT_URL_KMS", clouds.url("aws")),
                ("SOPS_GCP_KMS_ENDPOINT", clouds.url("google")),
            ],
        })?;
        Some(Self {
            siege,
            clouds,
            webhooks,
            is_alone,
        })
    }

    fn place(&self, row: &Row) -> Place {
        let namespace = format!("metered-{}", row.name);
        Place {
            world: World::new(self.siege.cluster, &namespace).labelled("siege", METERED),
            hostile: Hostile::start(),
            clouds: Arc::clone(&self.clouds),
            webhooks: self.webhooks,
        }
    }

    fn measure(&self, row: &Row) -> Measured {
        let (place, controller) = (self.place(row), &self.siege.controller);
        let world = &place.world;
        if self.is_alone {
            controller.forget_peak();
        }
        let before = controller.memory("VmRSS");
        let specs = (row.lay)(&place);
        let began = Instant::now();
        let names: Vec<String> = (0..CROWD).map(|number| format!("{}-{number}", row.name)).collect();
        for (number, name) in names.iter().enumerate() {
            match specs(number) {
                whole if whole.get("spec").is_some() => world.put(row.kind, name, whole),
                spec => world.add(row.kind, name, spec),
            }
        }
        // A refused one is soon tried again, and says then that it is.
        let said = |name: &String| {
            let object = world.get(row.kind, name);
            let ready = condition_of(&object, "Ready").filter(|ready| ready["status"] != "Unknown");
            ready.map(|ready| ready["message"].to_string())
        };
        let (mut waiting, mut first) = (names.clone(), None);
        while began.elapsed() < LONGEST && controller.is_running() && !waiting.is_empty() {
            waiting.retain(|name| match said(name) {
                Some(said) => {
                    first.get_or_insert(said);
                    false
                }
                None => true,
            });
            std::thread::sleep(Duration::from_millis(200));
        }
        let mut measured = Measured {
            name: row.name,
            before,
            peak: None,
            took: began.elapsed(),
            said: None,
        };
        if controller.is_running() {
            measured.peak = Some(controller.memory("VmHWM"));
            measured.said = first.filter(|_| waiting.is_empty());
            names.iter().for_each(|name| drop(world.delete(row.kind, name)));
            names.iter().for_each(|name| world.gone(row.kind, name));
        }
        measured
    }

    /// Measures all rows, and returns those that went wrong.
    fn measure_all(&self, rows: Vec<&Row>) -> Vec<String> {
        let (rows, wrong) = (Mutex::new(VecDeque::from(rows)), Mutex::default());
        std::thread::scope(|scope| {
            for _ in 0..if self.is_alone { 1 } else { ABREAST } {
                scope.spawn(|| {
                    while let Some(row) = next(&rows).filter(|_| self.siege.controller.is_running()) {
                        let measured = self.measure(row);
                        println!("meter: {}", measured.shown());
                        if !measured.is_right() {
                            let mut wrong: parking_lot::MutexGuard<'_, Vec<String>> = wrong.lock();
                            wrong.push(measured.shown());
                        }
                    }
                });
            }
        });
        wrong.into_inner()
    }
}

fn next<'r>(rows: &Mutex<VecDeque<&'r Row>>) -> Option<&'r Row> {
    rows.lock().pop_front()
}

impl Measured {
    fn is_right(&self) -> bool {
        self.peak.is_some_and(|peak| peak < MOST_MEMORY) && self.said.is_some()
    }

    fn shown(&self) -> String {
        let said: String = match (&self.peak, &self.said) {
            (None, _) => "the controller has ended".to_owned(),
            (_, None) => "not done in time".to_owned(),
            (_, Some(said)) => said.chars().take(220).collect(),
        };
        let (name, took) = (self.name, self.took.as_secs_f64());
        let peak = self.peak.unwrap_or_default();
        format!("{name:18} {:7} → {peak:7} KiB {took:5.1} s  {said}", self.before)
    }
}

/// `BUMPWRIGHT_METER=tags,packs` measures these rows alone.
fn measure(is_alone: bool) {
    let Some(meter) = Meter::begin(is_alone) else { return };
    let only = std::env::var("BUMPWRIGHT_METER").unwrap_or_default();
    let is_wanted = |row: &&Row| only.is_empty() || only.split(',').any(|name| name == row.name);
    let rows = [
        registries::ROWS,
        signatures::ROWS,
        git::ROWS,
        buckets::ROWS,
        clusters::ROWS,
        services::ROWS,
    ];
    let wrong = meter.measure_all(rows.into_iter().flatten().filter(is_wanted).collect());
    assert!(wrong.is_empty(), "too much memory or time:\n{}", wrong.join("\n"));
    meter.siege.stands();
}

#[test]
fn no_reader_takes_more_memory_than_there_is() {
    measure(false);
}

/// What one reader takes is seen here, as what it takes from its account is not refused for the sake of others.
#[test]
#[ignore = "takes ten minutes: `make test-long` runs it"]
fn no_reader_takes_more_memory_when_it_is_alone() {
    measure(true);
}
