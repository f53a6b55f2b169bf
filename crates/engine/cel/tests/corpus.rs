//! Recorded results of fluxcd/pkg/runtime/cel, with the texts of errors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

use bumpwright_cel::{Expression, Health, HealthCheck, HealthChecks, HealthExprs, Ready};
use bumpwright_corpora::{corpora, fixture, report, rows};
use serde_json::Value as Json;

/// The outcome of a row: a result, or an error under the key of its phase.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Bool(bool),
    Health(String),
    Accepted,
    NewError(String),
    Error(String),
}

fn text(json: &Json, key: &str) -> String {
    json[key].as_str().unwrap_or_default().to_owned()
}

fn expected(row: &Json) -> Outcome {
    let new = row["group"] == "parse" || row["group"] == "reader";
    if let Some(error) = row["error"].as_str() {
        return if new {
            Outcome::NewError(error.to_owned())
        } else {
            Outcome::Error(error.to_owned())
        };
    }
    if let Some(error) = row["new_error"].as_str() {
        return Outcome::NewError(error.to_owned());
    }
    if let Some(status) = row["status"].as_str() {
        return Outcome::Health(status.to_owned());
    }
    row["result"].as_bool().map_or(Outcome::Accepted, Outcome::Bool)
}

fn bool_outcome<E: ToString>(result: Result<bool, E>) -> Outcome {
    match result {
        Ok(value) => Outcome::Bool(value),
        Err(error) => Outcome::Error(error.to_string()),
    }
}

fn ours(row: &Json) -> Outcome {
    let expr = text(row, "expr");
    let new_error = |error: bumpwright_cel::CompileError| Outcome::NewError(error.to_string());
    match row["group"].as_str().unwrap() {
        "parse" | "eval" => match Expression::parse(&expr) {
            Ok(expression) => bool_outcome(expression.evaluate_object(&row["object"])),
            Err(error) => new_error(error),
        },
        "compile" => match Expression::compile(&expr, &["self", "dep"]) {
            Ok(expression) => bool_outcome(expression.evaluate_object(&row["object"])),
            Err(error) => new_error(error),
        },
        "readyExpr" => match Ready::new(&expr) {
            Ok(ready) => bool_outcome(ready.evaluate(&row["self"], &row["dep"])),
            Err(error) => new_error(error),
        },
        "health" => {
            let exprs = &row["exprs"];
            match HealthExprs::new(
                &text(exprs, "current"),
                &text(exprs, "inProgress"),
                &text(exprs, "failed"),
            ) {
                Ok(exprs) => match exprs.status(&row["object"]) {
                    Ok(Health::Current) => Outcome::Health("Current".to_owned()),
                    Ok(Health::Failed) => Outcome::Health("Failed".to_owned()),
                    Ok(Health::InProgress) => Outcome::Health("InProgress".to_owned()),
                    Err(error) => Outcome::Error(error.to_string()),
                },
                Err(error) => new_error(error),
            }
        }
        "reader" => {
            let checks = row["healthCheckExprs"].as_array().unwrap().iter();
            let checks = checks.map(|check| HealthCheck {
                api_version: text(check, "apiVersion"),
                kind: text(check, "kind"),
                current: text(check, "current"),
                in_progress: text(check, "inProgress"),
                failed: text(check, "failed"),
            });
            match HealthChecks::new(&checks.collect::<Vec<_>>()) {
                Ok(_) => Outcome::Accepted,
                Err(error) => new_error(error),
            }
        }
        group => panic!("no such group: {group}"),
    }
}

/// Compares all rows of a table; returns the number of matches.
fn right(name: &str, rows: &[Json]) -> usize {
    let is_right = |row: &&Json| {
        let (ours, theirs) = (ours(row), expected(row));
        if ours != theirs {
            println!("{name}: {}: {ours:?} instead of {theirs:?}", row["id"]);
        }
        ours == theirs
    };
    rows.iter().filter(is_right).count()
}

/// Results and errors, word for word, of the recorded expressions (K-052 to K-057, K-066).
#[test]
fn the_recorded_answers_come_out() {
    let rows = rows(corpora().join("oracles/cel.jsonl"));
    report("cel", right("cel", &rows), rows.len(), rows.len());
}

/// Recorded cases of the real library: mutilated texts, and random expressions over two objects.
#[test]
fn the_frozen_cases_come_out() {
    let rows = rows(fixture("cel/cases.jsonl"));
    assert!(rows.len() > 500, "only {} rows", rows.len());
    report("cel, frozen", right("cel, frozen", &rows), rows.len(), rows.len());
}
