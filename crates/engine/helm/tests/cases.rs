//! What Helm 4.3.2 made of recorded charts (`../shared/helm`), in process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod case;
mod decisive;

use bumpwright_corpora::{corpora, report, rows};
use std::collections::BTreeMap;

/// As many as have been reached; it only rises.
const FLOOR: usize = 1099;

/// `HELM_CASES` names a part of an id: those cases alone are run, and what differs is printed.
#[test]
fn charts_render_as_in_helm() {
    let only = std::env::var("HELM_CASES").ok();
    let rows = rows(corpora().join("helm/cases.jsonl"));
    let (mut passed, mut total) = (0, 0);
    let mut families: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for row in &rows {
        let id = row["id"].as_str().unwrap();
        if only.as_ref().is_some_and(|only| !id.contains(only.as_str())) {
            continue;
        }
        let family = families.entry(id.split('/').next().unwrap().to_owned()).or_default();
        let fault = case::run(row);
        total += 1;
        family.1 += 1;
        match fault {
            None => {
                passed += 1;
                family.0 += 1;
            }
            Some(fault) if only.is_some() => println!("── {id}\n{fault}"),
            Some(_) => println!("differs: {id}"),
        }
    }
    for (family, (passed, total)) in families {
        println!("  {family}: {passed} of {total}");
    }
    let floor = if only.is_some() { 0 } else { FLOOR };
    report("helm cases", passed, total, floor);
}
