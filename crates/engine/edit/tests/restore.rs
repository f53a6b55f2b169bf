//! Fields that are followed through other people's edits, and what they held before.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_edit::{Content, FileKind, Plan, Scan, carried, restored, scan, splice};

/// `@` stands for a marker.
fn written(text: &str) -> String {
    text.replace('@', r#"# {"$imagepolicy": "fs:web:tag"}"#)
}

fn scanned(text: &str) -> Scan {
    let scan = scan(FileKind::Yaml, text.as_bytes());
    assert_eq!(scan.skips, [], "{text}");
    scan
}

#[track_caller]
fn carries(from: &str, to: &str, expected: &[Option<usize>]) {
    let (from, to) = (written(from), written(to));
    let (before, after) = (scanned(&from), scanned(&to));
    let from = Content {
        bytes: from.as_bytes(),
        scan: Some(&before),
    };
    let to = Content {
        bytes: to.as_bytes(),
        scan: Some(&after),
    };
    assert_eq!(carried(from, to), expected);
}

#[test]
fn a_field_stays_where_its_line_does() {
    carries("a: 1.0.0 @\n", "# new\na: 1.0.0 @\n", &[Some(0)]);
    carries("a: 1.0.0 @\nb: 1.0.0 @\n", "b: 1.0.0 @\n", &[None, Some(0)]);
}

#[test]
fn changed_lines_are_paired_if_as_many_are_left() {
    carries(
        "a: 1.0.0 @\nb: 1.0.0 @\n",
        "c: 2.0.0 @\nd: 2.0.0 @\n",
        &[Some(0), Some(1)],
    );
    carries("a: 1.0.0 @\nb: 1.0.0 @\n", "c: 2.0.0 @\n", &[None, None]);
    carries("x: 1\na: 1.0.0 @\nb: 1.0.0 @\n", "x: 1\nc: 2.0.0 @\n", &[None, None]);
}

#[test]
fn an_object_may_be_renamed_or_moved() {
    let object = |name: &str, key: &str| format!("kind: A\nmetadata: {{name: {name}}}\n{key}: 1.0.0 @\n");
    let (a, b) = (object("a", "one"), object("b", "other"));
    let renamed = object("c", "one");
    carries(&a, &renamed, &[Some(0)]);
    carries(&format!("{a}---\n{b}"), &renamed, &[Some(0), None]);
    carries(&format!("{a}---\n{b}"), &format!("{b}---\n{a}"), &[Some(1), Some(0)]);
}

/// What `now` becomes when its field gets back what `then` held, after `wrote` was written.
fn put_back(now: &str, then: &str, wrote: &str) -> String {
    let texts = [now, then, wrote].map(written);
    let scans = texts.each_ref().map(|text| scanned(text));
    let [site, was, written] = scans.each_ref().map(|scan| &scan.sites[0]);
    let edits = restored(site, texts[0].as_bytes(), was, texts[1].as_bytes(), written);
    let plan = Plan {
        edits,
        ..Plan::default()
    };
    String::from_utf8(splice(texts[0].as_bytes(), &plan).unwrap()).unwrap()
}

#[test]
fn what_was_written_last_is_taken_back_to_the_byte() {
    let then = "a: \"1.0.0\" @\n";
    assert_eq!(put_back("a: 2.0.0 @\n", then, "a: 2.0.0 @\n"), written(then));
    // Since somebody wrote another value in a style of his own, that style stays.
    assert_eq!(put_back("a: 2.1.0 @\n", then, "a: 2.0.0 @\n"), written("a: 1.0.0 @\n"));
    assert_eq!(
        put_back("a: '2.0.0' @\n", then, "a: 2.0.0 @\n"),
        written("a: '1.0.0' @\n")
    );
}
