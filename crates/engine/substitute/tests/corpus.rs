//! The table of recorded substitutions: fluxcd/pkg/envsubst v1.7.0 and `SubstituteVariables` of fluxcd/pkg/kustomize.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

mod recorded;

use bumpwright_corpora::{corpora, report, rows};
use serde_json::Value;

#[test]
fn substitutions_are_those_of_flux() {
    let rows = rows(corpora().join("oracles/envsubst.jsonl"));
    // What panics there is an error in no release: v1.7.1 counts a negative length from the end. Our own table has it.
    let (panics, rows): (Vec<Value>, Vec<Value>) = rows.into_iter().partition(|row| row.get("panic").is_some());
    for group in ["eval", "resource"] {
        let rows: Vec<_> = rows.iter().filter(|row| row["group"] == group).collect();
        let right = rows.iter().filter(|row| recorded::agrees(row)).count();
        report(&format!("envsubst {group}"), right, rows.len(), rows.len());
    }
    for row in &panics {
        let ours = recorded::answer(row);
        assert!(ours.is_ok(), "{}: {ours:?} where v1.7.1 gives a value", row["id"]);
    }
    println!("envsubst apart: {} (v1.7.0 panics)", panics.len());
}
