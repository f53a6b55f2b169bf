//! `fixtures/health`: the results of kustomize-controller v1.9.5 for random objects and waits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

mod recorded;

use bumpwright_api::{ObjectId, ObjectName};
use bumpwright_corpora::{fixture, report, rows};
use bumpwright_gostd::Time;
use bumpwright_health::{Health, HealthError, Observed, Progress, Status, Unready, Wait, assess, compute};
use serde_json::{Value, json};

/// All rows of a table have to agree.
fn compare(table: &str, at_least: usize, agrees: impl Fn(&Value) -> Result<(), String>) {
    let rows = rows(fixture(&format!("health/{table}.jsonl")));
    assert!(rows.len() >= at_least, "{table} has {} rows", rows.len());
    let mut right = 0;
    for row in &rows {
        match agrees(row) {
            Ok(()) => right += 1,
            Err(ours) => println!("{ours}\n  of {row}"),
        }
    }
    report(table, right, rows.len(), rows.len());
}

/// Neither just created nor long ago for any row.
fn now() -> Time {
    Time::unix(1_800_000_000, 0)
}

fn same(ours: Value, theirs: Value) -> Result<(), String> {
    if ours == theirs {
        Ok(())
    } else {
        Err(format!("{ours} instead of {theirs}"))
    }
}

#[test]
fn statuses() {
    compare("compute", 1500, |row| {
        let ours = recorded::shown(&compute(&row["object"], &now()));
        same(ours, recorded::expected(row))
    });
}

fn without_conditions(health: Result<Health, HealthError>) -> Value {
    match health {
        Ok(health) => json!({ "status": health.status.as_str(), "message": health.message }),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

fn observation(row: &Value) -> Value {
    let mut told = json!({});
    for key in ["status", "message", "error"] {
        if let Some(value) = row.get(key) {
            told[key] = value.clone();
        }
    }
    told
}

#[test]
fn jobs() {
    compare("jobs", 200, |row| {
        same(
            without_conditions(assess(&row["object"], &[], &now())),
            observation(row),
        )
    });
}

#[test]
fn owners_of_pods() {
    compare("owners", 300, |row| {
        let pods = row["pods"].as_array().cloned().unwrap_or_default();
        same(
            without_conditions(assess(&row["object"], &pods, &now())),
            observation(row),
        )
    });
}

fn ids(list: &Value) -> Vec<ObjectId> {
    let list = list.as_array().cloned().unwrap_or_default();
    let text = |id: &Value, key: &str| id[key].as_str().unwrap().to_owned();
    let id = |id: &Value| ObjectId {
        group: text(id, "group"),
        kind: text(id, "kind"),
        name: ObjectName::new(text(id, "namespace"), text(id, "name")),
    };
    list.iter().map(id).collect()
}

fn observed(seen: &Value) -> Observed {
    let all = [
        Status::InProgress,
        Status::Failed,
        Status::Current,
        Status::Terminating,
        Status::NotFound,
        Status::Unknown,
    ];
    let status = all
        .into_iter()
        .find(|status| seen["status"] == status.as_str())
        .unwrap();
    Observed {
        status,
        error: seen["error"].as_str().map(str::to_owned),
    }
}

/// Rounds are observed until the wait ends; after the last one it times out.
fn wait(row: &Value) -> Result<(), Unready> {
    let objects = ids(&row["objects"]);
    let mut wait = Wait::new(objects.clone(), row["failFast"] == true, ids(&row["jobsWithTTL"]));
    for round in row["rounds"].as_array().unwrap() {
        for (id, seen) in objects.iter().zip(round.as_array().unwrap()) {
            match wait.observe(id, observed(seen)) {
                Progress::Waiting => {}
                Progress::Done => return Ok(()),
                Progress::Failed(unready) => return Err(unready),
            }
        }
    }
    wait.time_out()
}

#[test]
fn waits() {
    compare("waits", 250, |row| {
        let ours = wait(row).err().map(|mut unready| {
            // Go's order is that of a map; the table has it sorted.
            unready.objects.sort();
            unready.to_string()
        });
        same(json!(ours), row["error"].clone())
    });
}
