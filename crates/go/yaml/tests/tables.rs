//! Compares readers and writers with every row of `fixtures/yaml`: the results of Go's libraries
//! for some thousand texts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

use bumpwright_corpora::{fixture, rows};
use bumpwright_yaml::{
    Dialect, FileId, Node, ReadError, ReadOptions, SequenceIndent, WriteError, read_first, write_json, write_kyaml,
    write_sigs,
};
use serde_json::Value;

/// A text, or Go's error.
type Answer = Result<String, String>;

struct Score {
    agree: usize,
    /// The number of errors on both sides, and of those with Go's words.
    errors: usize,
    worded: usize,
    rows: usize,
    faults: Vec<String>,
}

fn text_error(error: ReadError) -> String {
    error.go().to_owned()
}

fn tree_error(error: WriteError) -> String {
    error.go().to_owned()
}

/// The first document. Without one, sigs.k8s.io/yaml returns null and kyaml the end of its input.
fn document(text: &str, options: &ReadOptions) -> Result<Node, String> {
    match (
        read_first(text.as_bytes(), options).map_err(text_error)?,
        options.dialect,
    ) {
        (Some(document), _) => Ok(document),
        (None, Dialect::V2) => Ok(Node::null()),
        (None, Dialect::V3) => Err("EOF".to_owned()),
    }
}

fn answer(text: &str, way: &str) -> Answer {
    let mut out = String::new();
    let options = match way {
        "v2" => ReadOptions::sigs(FileId::NONE),
        "strict" => ReadOptions::sigs_strict(FileId::NONE),
        _ => ReadOptions::kyaml(FileId::NONE),
    };
    let node = document(text, &options)?;
    match way {
        "sigs" => write_sigs(&node, &mut out).map_err(tree_error)?,
        "kyaml" => write_kyaml(&node, SequenceIndent::Compact, &mut out),
        _ => write_json(&node, &mut out).map_err(tree_error)?,
    }
    Ok(out)
}

fn score(table: &str) -> Score {
    let mut score = Score {
        agree: 0,
        errors: 0,
        worded: 0,
        rows: 0,
        faults: Vec::new(),
    };
    for row in rows(fixture(&format!("yaml/{table}.jsonl"))) {
        let text = row["in"].as_str().unwrap();
        for way in ["json", "sigs", "kyaml", "v2", "strict"] {
            if row[way].is_null() {
                continue;
            }
            score.rows += 1;
            let wanted = match &row[way] {
                Value::String(text) => Ok(text.as_str()),
                error => Err(error["error"].as_str().unwrap()),
            };
            match (wanted, answer(text, way)) {
                (Ok(wanted), Ok(got)) if wanted == got => score.agree += 1,
                (Err(wanted), Err(got)) => {
                    score.agree += 1;
                    score.errors += 1;
                    score.worded += usize::from(wanted == got);
                }
                (wanted, got) => score
                    .faults
                    .push(format!("{way} of {text:?}\n  Go   {wanted:?}\n  here {got:?}")),
            }
        }
    }
    score
}

/// Checks that all results agree; at least `least_worded` of the errors must have exactly Go's words.
fn check(table: &str, least_worded: usize) {
    let score = score(table);
    println!("yaml {table}: {} of {}", score.agree, score.rows);
    println!(
        "yaml {table}, errors in Go's words: {} of {}",
        score.worded, score.errors
    );
    for fault in score.faults.iter().take(10) {
        println!("{fault}");
    }
    assert!(score.rows > 500, "{} rows", score.rows);
    assert!(score.faults.is_empty(), "{} differ", score.faults.len());
    assert!(
        score.worded >= least_worded,
        "only {} errors in Go's words",
        score.worded
    );
}

#[test]
fn scalars_are_read_and_written_as_by_go() {
    check("scalars", 740);
}

#[test]
fn strings_are_written_as_by_go() {
    check("strings", 0);
}

#[test]
fn blocks_are_read_and_written_as_by_go() {
    check("blocks", 280);
}

#[test]
fn documents_are_read_and_written_as_by_go() {
    check("documents", 3200);
}
