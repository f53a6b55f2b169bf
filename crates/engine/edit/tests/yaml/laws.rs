//! The laws of an edit, over generated documents.

use std::sync::atomic::{AtomicUsize, Ordering};

use bumpwright_edit::{self as edit, FileKind, Images, Plan, Reason, Verdict};
use bumpwright_policy::{LatestRef, PolicyName};
use granit_parser::{Event, Parser};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

struct All(LatestRef);

impl Images for All {
    fn verdict(&self, _: &PolicyName) -> Verdict<'_> {
        Verdict::Image(&self.0)
    }

    /// The values of fields do not matter here.
    fn overwrites(&self) -> bool {
        true
    }
}

struct Nothing;

impl Images for Nothing {
    fn verdict(&self, policy: &PolicyName) -> Verdict<'_> {
        Verdict::Skip(Reason::UnknownPolicy, format!("there is no policy {policy}"))
    }
}

const TAGS: [&str; 8] = [
    "2.0.0",
    "1.10",
    "true",
    "0x1f",
    "1_000",
    "v3.0.0-rc.1",
    "2026-11-21",
    "~",
];

fn image(choice: u8) -> All {
    All(LatestRef {
        name: "ghcr.io/o/app".to_owned(),
        tag: TAGS[usize::from(choice) % TAGS.len()].to_owned(),
        digest: (choice & 1 == 0).then(|| "sha256:0a".to_owned()),
    })
}

/// The bytes outside the edits: of the input by their old length, of the output by their new one.
fn outside(bytes: &[u8], plan: &Plan, is_output: bool) -> Vec<u8> {
    let (mut kept, mut done, mut shift) = (Vec::new(), 0, 0_isize);
    for edit in &plan.edits {
        let moved = if is_output { shift } else { 0 };
        let start = edit.span.start.checked_add_signed(moved).unwrap();
        kept.extend_from_slice(&bytes[done..start]);
        done = start + if is_output { edit.new.len() } else { edit.span.len() };
        shift += edit.new.len() as isize - edit.span.len() as isize;
    }
    kept.extend_from_slice(&bytes[done..]);
    kept
}

/// The events of a YAML parser for a file, without places and comments.
fn tree(text: &str) -> Vec<(String, Option<String>)> {
    let mut events = Vec::new();
    for next in Parser::new_from_str(text) {
        match next.unwrap().0 {
            Event::Comment(..) => {}
            Event::Scalar(value, _, anchor, _) => events.push((format!("scalar {anchor}"), Some(value.into_owned()))),
            Event::DocumentEnd => {}
            other => events.push((format!("{other:?}"), None)),
        }
    }
    events
}

fn check_tree(before: &str, after: &str, plan: &Plan) {
    let (before, after) = (tree(before), tree(after));
    assert_eq!(before.len(), after.len());
    let mut changes = plan.changes.iter();
    for (old, new) in before.iter().zip(&after) {
        if old == new {
            continue;
        }
        let change = changes.next().expect("a scalar changed that is not in the plan");
        assert_eq!(old.0, new.0);
        // At the end of a file without line break the parser still gives a block scalar one.
        assert_eq!(
            old.1.as_deref().map(|old| old.trim_end_matches('\n')),
            Some(change.old.trim_end_matches('\n'))
        );
        assert_eq!(new.1.as_deref(), Some(change.new.as_str()));
    }
    assert_eq!(changes.next(), None, "a planned change is not in the tree");
}

fn check_laws(text: &str, images: &All) -> usize {
    let bytes = text.as_bytes();
    let scan = edit::scan(FileKind::Yaml, bytes);
    let stored: edit::Scan = postcard::from_bytes(&postcard::to_stdvec(&scan).unwrap()).unwrap();
    assert_eq!(stored, scan);

    let idle = edit::plan("x.yaml", &scan, &Nothing);
    assert_eq!(edit::splice(bytes, &idle).unwrap(), bytes, "no plan, same bytes");

    let plan = edit::plan("x.yaml", &scan, images);
    let out = edit::splice(bytes, &plan).unwrap();
    assert_eq!(
        outside(bytes, &plan, false),
        outside(&out, &plan, true),
        "only marked scalars differ"
    );

    let again = edit::scan(FileKind::Yaml, &out);
    let twice = edit::plan("x.yaml", &again, images);
    assert_eq!(twice.edits, [], "twice is once:\n{}", String::from_utf8_lossy(&out));

    if !plan.changes.is_empty() {
        check_tree(text, std::str::from_utf8(&out).unwrap(), &plan);
    }
    // Any of the changes can be made alone.
    let some = plan.only(|n| n % 2 == 1);
    let out = edit::splice(bytes, &some).unwrap();
    if !some.changes.is_empty() {
        check_tree(text, std::str::from_utf8(&out).unwrap(), &some);
    }
    // Also once they are taken out, to be reported elsewhere.
    let bare = edit::Plan {
        changes: Vec::new(),
        ..plan.clone()
    };
    assert_eq!(bare.only(|n| n % 2 == 1).edits, some.edits);
    plan.changes.len()
}

/// 12,000 documents; most of them parse and hold changes, or the generator is worth nothing.
#[test]
fn an_edit_keeps_its_laws() {
    let (documents, edited, changes) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let mut runner = TestRunner::new(Config {
        cases: 12_000,
        failure_persistence: None,
        ..Config::default()
    });
    let choices = proptest::collection::vec(any::<u8>(), 20..500);
    runner
        .run(&(choices, any::<u8>()), |(choices, tag)| {
            let text = bumpwright_corpora::ugly_yaml::document(&choices);
            let count = check_laws(&text, &image(tag));
            documents.fetch_add(1, Ordering::Relaxed);
            edited.fetch_add(usize::from(count > 0), Ordering::Relaxed);
            changes.fetch_add(count, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
    let (documents, edited, changes) = (documents.into_inner(), edited.into_inner(), changes.into_inner());
    assert!(documents >= 12_000);
    assert!(
        edited * 2 > documents,
        "only {edited} of {documents} documents were edited"
    );
    assert!(changes > documents, "only {changes} changes in {documents} documents");
}

/// Documents with random damage: nothing panics, and what is edited keeps the laws.
#[test]
fn damaged_documents_keep_the_laws() {
    let mut runner = TestRunner::new(Config {
        cases: 4_000,
        failure_persistence: None,
        ..Config::default()
    });
    let choices = proptest::collection::vec(any::<u8>(), 20..300);
    let damage = proptest::collection::vec(
        (
            any::<prop::sample::Index>(),
            0..bumpwright_corpora::ugly_yaml::DAMAGE.len(),
        ),
        1..4,
    );
    runner
        .run(&(choices, damage), |(choices, damage)| {
            let mut text = bumpwright_corpora::ugly_yaml::document(&choices);
            for (place, what) in damage {
                let mut at = place.index(text.len() + 1);
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                text.insert_str(at, bumpwright_corpora::ugly_yaml::DAMAGE[what]);
            }
            let bytes = text.as_bytes();
            let scan = edit::scan(FileKind::Yaml, bytes);
            let plan = edit::plan("x.yaml", &scan, &image(0));
            let out = edit::splice(bytes, &plan).unwrap();
            assert_eq!(outside(bytes, &plan, false), outside(&out, &plan, true));
            let twice = edit::plan("x.yaml", &edit::scan(FileKind::Yaml, &out), &image(0));
            assert_eq!(twice.edits, []);
            Ok(())
        })
        .unwrap();
}
