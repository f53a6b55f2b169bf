//! The recorded builds of kustomize: what it printed is read and printed alike, byte for byte.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

use bumpwright_corpora::{corpora, report, rows};
use bumpwright_yaml::{FileId, read_resources, write_sigs};

#[test]
fn what_kustomize_printed_is_printed_alike() {
    let (mut agree, mut all) = (0, 0);
    let mut faults = Vec::new();
    for case in rows(corpora().join("kustomize/cases.jsonl")) {
        let Some(expected) = case["expected"].as_str().filter(|_| case["expect"] == "output") else {
            continue;
        };
        // What stands for the folder of the build has no spelling in YAML.
        let expected = &expected.replace("@ROOT@", "/root");
        all += 1;
        let mut printed = String::new();
        let objects =
            read_resources(expected.as_bytes(), FileId::NONE).unwrap_or_else(|error| panic!("{error}: {expected}"));
        for (number, object) in objects.iter().enumerate() {
            if number > 0 {
                printed.push_str("---\n");
            }
            write_sigs(object, &mut printed).unwrap();
        }
        if printed == *expected {
            agree += 1
        } else {
            faults.push(format!("{}\n{expected}\n=======\n{printed}", case["id"]))
        }
    }
    for fault in faults.iter().take(3) {
        println!("{fault}");
    }
    report("yaml of kustomize", agree, all, all);
}
