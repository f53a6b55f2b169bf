//! The meter: each reader of foreign bytes gets the largest answer that its bounds allow, for eight objects of one tenant at once. The peak of
//! the controller's memory stays below what a pod has room for, and the innocent tenant is served meanwhile.
//!
//! A row of the table is a reader: what a hostile server answers, and the objects that make the controller ask for it. A new reader of
//! foreign bytes gets a row here.

mod buckets;
mod clusters;
mod git;
mod registries;
mod services;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::siege::{METERED, MOST_MEMORY, Plan, Siege};
use bumpwright_testkit::hostile::Hostile;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::world::{GIT_REPOSITORY, ObjectKind, World, condition_of, git_repository};

/// How many objects ask at once.
const CROWD: usize = 8;

/// The time limit of each object, and how long all of a row may take: its objects may have to take turns.
pub const TIMEOUT: &str = "10s";
const LONGEST: Duration = Duration::from_secs(60);

/// The bytes that a server sends at most where a reader has no bound of its own.
pub const ENDLESS: u64 = 1 << 30;

const NAMESPACE: &str = "mallory-is-metered";

/// The spec of the object with this number, or all of its fields if they have a `spec`.
pub type Specs = Box<dyn Fn(usize) -> Json>;

/// A reader.
pub struct Row {
    pub name: &'static str,
    pub kind: ObjectKind,
    /// Prepares the server.
    pub lay: fn(&Place) -> Specs,
    /// What it keeps is on nobody's account yet: it is measured by [`what_is_on_nobodys_account`] alone.
    is_open: bool,
}

impl Row {
    pub const fn new(name: &'static str, kind: ObjectKind, lay: fn(&Place) -> Specs) -> Self {
        let is_open = false;
        Self {
            name,
            kind,
            lay,
            is_open,
        }
    }

    pub const fn open(name: &'static str, kind: ObjectKind, lay: fn(&Place) -> Specs) -> Self {
        let mut row = Self::new(name, kind, lay);
        row.is_open = true;
        row
    }
}

/// Where the objects of a row are, and what they ask.
pub struct Place {
    pub world: World<'static>,
    pub hostile: Hostile,
}

impl Place {
    /// With the scheme.
    pub fn url(&self, path: &str) -> String {
        self.hostile.url(path)
    }

    /// A repository with this file, made by the first row that needs it, and a source for it.
    pub fn source(&self, name: &str, file: &str, text: &str) {
        let path = format!("{name}.git");
        if !self.world.folder.path().join("git").join(&path).exists() {
            let repo = self.world.repository(&path);
            repo.commit("main", "first", &[Change::File(file, text.as_bytes())]);
        }
        let spec = git_repository(&self.world.git.url(&path));
        self.world.add(GIT_REPOSITORY, name, spec);
        self.world.ready(GIT_REPOSITORY, name, "True", |_, _| true);
    }

    /// A text that is read as it stands.
    pub fn secret(&self, name: &str, data: &[(&str, &str)]) {
        let data: BTreeMap<&str, &str> = data.iter().copied().collect();
        let kind = bumpwright_testkit::world::SECRET;
        self.world.put(kind, name, json!({ "stringData": data }));
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
    place: Place,
}

impl Meter {
    fn begin() -> Option<Self> {
        let hostile = Hostile::start();
        let selector = format!("siege={METERED}");
        let siege = Siege::begin(&Plan {
            selector: &selector,
            innocent: "innocent-beside-the-meter",
            label: METERED,
            // What is only large is refused soon.
            flags: &["--spool-size=256Mi"],
            variables: &[("STORAGE_EMULATOR_HOST", hostile.host())],
        })?;
        let world = World::new(siege.cluster, NAMESPACE).labelled("siege", METERED);
        let place = Place { world, hostile };
        Some(Self { siege, place })
    }

    fn measure(&self, row: &Row) -> Measured {
        let Place { world, .. } = &self.place;
        let specs = (row.lay)(&self.place);
        let controller = &self.siege.controller;
        controller.forget_peak();
        let (before, began) = (controller.memory("VmRSS"), Instant::now());
        let names: Vec<String> = (0..CROWD).map(|number| format!("{}-{number}", row.name)).collect();
        for (number, name) in names.iter().enumerate() {
            match specs(number) {
                whole if whole.get("spec").is_some() => world.put(row.kind, name, whole),
                spec => world.add(row.kind, name, spec),
            }
        }
        let is_done = |name: &String| {
            let object = world.get(row.kind, name);
            let status = condition_of(&object, "Ready").map(|ready| ready["status"] != "Unknown");
            status == Some(true)
        };
        while began.elapsed() < LONGEST && controller.is_running() && !names.iter().all(is_done) {
            std::thread::sleep(Duration::from_millis(200));
        }
        let took = began.elapsed();
        let mut measured = Measured {
            name: row.name,
            before,
            peak: None,
            took,
            said: None,
        };
        if !controller.is_running() {
            return measured;
        }
        measured.peak = Some(controller.memory("VmHWM"));
        let first = world.get(row.kind, &names[0]);
        let said = condition_of(&first, "Ready").map(|ready| ready["message"].to_string());
        measured.said = said.filter(|_| took < LONGEST);
        names.iter().for_each(|name| drop(world.delete(row.kind, name)));
        names.iter().for_each(|name| world.gone(row.kind, name));
        measured
    }
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
fn measure(is_open: bool) {
    let Some(meter) = Meter::begin() else { return };
    let only = std::env::var("BUMPWRIGHT_METER").unwrap_or_default();
    let is_wanted =
        |row: &&Row| row.is_open == is_open && (only.is_empty() || only.split(',').any(|name| name == row.name));
    let rows = [
        registries::ROWS,
        git::ROWS,
        buckets::ROWS,
        clusters::ROWS,
        services::ROWS,
    ];
    let mut wrong = Vec::new();
    for row in rows.into_iter().flatten().filter(is_wanted) {
        let measured = meter.measure(row);
        println!("meter: {}", measured.shown());
        if !measured.is_right() {
            wrong.push(measured.shown());
        }
        if !meter.siege.controller.is_running() {
            break;
        }
    }
    assert!(wrong.is_empty(), "too much memory or time:\n{}", wrong.join("\n"));
    meter.siege.stands();
}

#[test]
fn no_reader_takes_more_memory_than_there_is() {
    measure(false);
}

/// Lists of tags, references and keys, and objects of the API server.
#[test]
#[ignore = "these readers keep what has no account: with eight objects they take more than half of a pod's memory"]
fn what_is_on_nobodys_account() {
    measure(true);
}
