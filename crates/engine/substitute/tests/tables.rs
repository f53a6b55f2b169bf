//! Every row of `fixtures/substitute`: the results of kustomize-controller v1.9.5 for random expressions and objects.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

mod recorded;

use bumpwright_corpora::{fixture, report, rows};

/// All rows of a table have to agree.
fn compare(table: &str, at_least: usize) {
    let rows = rows(fixture(&format!("substitute/{table}.jsonl")));
    assert!(rows.len() >= at_least, "{table} has {} rows", rows.len());
    let right = rows.iter().filter(|row| recorded::agrees(row)).count();
    report(table, right, rows.len(), rows.len());
}

/// K-085, K-090 to K-092.
#[test]
fn expressions() {
    compare("eval", 1400);
}

/// K-086, K-093, K-094, K-096, K-098.
#[test]
fn objects() {
    compare("objects", 600);
}
