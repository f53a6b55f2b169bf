//! The table of recorded statuses: what kstatus of fluxcd/cli-utils v1.2.2 made of some hundred objects.
//!
//! `BUMPWRIGHT_CORPORA` names the folder that has `oracles/kstatus.jsonl` (default `../shared` beside the project);
//! without it the suite says so and passes. `BUMPWRIGHT_FLOORS=off` prints the figure without failing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout, missing_docs)]

mod recorded;

use bumpwright_gostd::Time;
use bumpwright_health::compute;

#[test]
fn statuses_are_those_of_kstatus() {
    let rows = recorded::rows(&recorded::corpora().join("oracles/kstatus.jsonl"));
    if rows.is_empty() {
        println!("kstatus: absent");
        return;
    }
    // No recorded pod was created after this.
    let now = Time::unix(1_800_000_000, 0);
    let wrong = rows.iter().filter(|row| {
        let ours = recorded::shown(&compute(&row["object"], &now));
        let theirs = recorded::expected(row);
        let differs = ours != theirs;
        if differs {
            println!("{}: {ours}, not {theirs}", row["id"]);
        }
        differs
    });
    let right = rows.len() - wrong.count();
    println!("kstatus: {right} of {}", rows.len());
    let floors = std::env::var("BUMPWRIGHT_FLOORS").as_deref() != Ok("off");
    assert!(!floors || right == rows.len(), "kstatus: below the floor");
}
