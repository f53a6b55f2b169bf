//! Comments read and written as go-yaml v3 does (`fixtures/yaml/comments.jsonl`), and whole documents
//! as kyaml does (`kept.jsonl`).
//!
//! `BUMPWRIGHT_YAML_COMMENTS=file` and `BUMPWRIGHT_YAML_KEPT=file` try the documents of other tables, as
//! `fixtures/yaml/generate/comments` makes them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

use bumpwright_corpora::{named_or_fixture, rows};
use bumpwright_yaml::{read_annotated, read_first_annotated, write_annotated, write_annotated_kyaml};
use serde_json::Value;

#[test]
fn comments_stay_where_go_yaml_has_them() {
    let table = rows(named_or_fixture("BUMPWRIGHT_YAML_COMMENTS", "yaml/comments.jsonl"));
    compared(&table, |text, step| {
        let documents = read_annotated(text.as_bytes()).unwrap();
        let mut got = String::new();
        write_annotated(&documents, step, &mut got);
        got
    });
}

#[test]
fn anchors_tags_and_brackets_stay_as_kyaml_has_them() {
    let table = rows(named_or_fixture("BUMPWRIGHT_YAML_KEPT", "yaml/kept.jsonl"));
    compared(&table, |text, _| {
        let document = read_first_annotated(text.as_bytes()).unwrap().unwrap();
        let mut got = String::new();
        write_annotated_kyaml(&document, &mut got);
        got
    });
}

fn compared(table: &[Value], written: impl Fn(&str, usize) -> String) {
    let mut wrong = Vec::new();
    for row in table {
        let (text, want) = (row["text"].as_str().unwrap(), row["want"].as_str().unwrap());
        let got = written(text, usize::try_from(row["step"].as_u64().unwrap()).unwrap());
        if got != want {
            wrong.push(format!("{text}\n--- want\n{want}\n--- got\n{got}"));
        }
    }
    println!("documents: {} of {}", table.len() - wrong.len(), table.len());
    assert!(
        wrong.is_empty() && !table.is_empty(),
        "{} differ; the first ones:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(5)].join("\n=====\n")
    );
}
