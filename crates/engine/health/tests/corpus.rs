//! Recorded statuses: the results of kstatus of fluxcd/cli-utils v1.2.2 for some hundred objects.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

mod recorded;

use bumpwright_corpora::{corpora, report, rows};
use bumpwright_gostd::Time;
use bumpwright_health::compute;

#[test]
fn statuses_are_those_of_kstatus() {
    let rows = rows(corpora().join("oracles/kstatus.jsonl"));
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
    report("kstatus", right, rows.len(), rows.len());
}
