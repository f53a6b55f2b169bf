//! Markers in YAML: the laws of an edit (tests/update/edit_laws.rs), and go-yaml's reader as the judge of what was changed.

use bumpwright_edit::{Content, Edit, FileKind, Images, Plan, Scan, Verdict, carried, plan, restored, scan, splice};
use bumpwright_policy::{LatestRef, PolicyName};
use bumpwright_yaml::{FileId, Node, ReadOptions, Value, read};

struct All(LatestRef);

impl Images for All {
    fn verdict(&self, _: &PolicyName) -> Verdict<'_> {
        Verdict::Image(&self.0)
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

fn image(choice: usize) -> All {
    All(LatestRef {
        name: "ghcr.io/o/app".to_owned(),
        tag: TAGS[choice % TAGS.len()].to_owned(),
        digest: choice.is_multiple_of(2).then(|| "sha256:0a".to_owned()),
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

/// The texts of all scalars in their order, keys too; `None` for the bounds of collections.
fn scalars(node: &Node, out: &mut Vec<Option<String>>) {
    match &node.value {
        Value::Scalar(scalar) => out.push(Some(scalar.text.to_string())),
        Value::Mapping(mapping) => {
            out.push(None);
            for entry in &mapping.entries {
                out.push(Some(entry.key.text.to_string()));
                scalars(&entry.value, out);
            }
        }
        Value::Sequence(sequence) => {
            out.push(None);
            sequence.items.iter().for_each(|item| scalars(item, out));
        }
    }
}

fn values(bytes: &[u8]) -> Option<Vec<Option<String>>> {
    let mut out = Vec::new();
    for document in read(bytes, &ReadOptions::kyaml(FileId::NONE)).ok()? {
        scalars(&document, &mut out);
    }
    Some(out)
}

/// What another reader finds changed is what was planned.
fn judged(before: &[u8], after: &[u8], plan: &Plan) {
    let Some(old) = values(before) else { return };
    let new = values(after).expect("an edit made YAML that go-yaml does not read");
    assert_eq!(old.len(), new.len(), "an edit changed the structure");
    // The other reader folds the line breaks of Unicode too.
    const BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];
    let trimmed = |text: &str| {
        if text.contains(BREAKS) {
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        } else {
            text.trim_end_matches('\n').to_owned()
        }
    };
    let planned: Vec<(String, String)> = plan
        .changes
        .iter()
        .map(|change| (trimmed(&change.old), change.new.clone()))
        .collect();
    for (old, new) in old.iter().zip(&new).filter(|(old, new)| old != new) {
        let (Some(old), Some(new)) = (old, new) else {
            panic!("an edit changed the structure")
        };
        assert!(
            planned.contains(&(trimmed(old), new.clone())),
            "{old:?} became {new:?}, which was not planned: {planned:?}"
        );
    }
}

/// What was there before an edit comes back to the byte.
fn undone(before: &[u8], old: &Scan, after: &[u8], new: &Scan) {
    assert_eq!(old.sites.len(), new.sites.len(), "an edit made or lost a marked field");
    // Blanks in place of an empty block scalar do not come back.
    if old.sites.iter().any(|site| site.value.is_empty()) {
        return;
    }
    let (was, now) = (
        Content {
            bytes: before,
            scan: Some(old),
        },
        Content {
            bytes: after,
            scan: Some(new),
        },
    );
    assert_eq!(carried(now, was).len(), new.sites.len());
    let mut edits: Vec<Edit> = Vec::new();
    for (was, now) in old
        .sites
        .iter()
        .zip(&new.sites)
        .filter(|(was, now)| was.text != now.text)
    {
        let back = restored(now, after, was, before, now);
        if back.is_empty() {
            return;
        }
        edits.extend(back);
    }
    let back = splice(
        after,
        &Plan {
            edits,
            ..Plan::default()
        },
    )
    .unwrap();
    assert!(back == before, "undone:\n{}", String::from_utf8_lossy(&back));
}

/// Any bytes as a YAML file.
pub fn check(input: &[u8]) {
    drop(scan(FileKind::Other, input));
    let found = scan(FileKind::Yaml, input);
    for choice in [input.len(), input.len() + 3] {
        let images = image(choice);
        let planned = plan("x.yaml", &found, &images);
        let out = splice(input, &planned).unwrap();
        assert!(
            outside(input, &planned, false) == outside(&out, &planned, true),
            "other bytes differ"
        );
        let again = scan(FileKind::Yaml, &out);
        let twice = plan("x.yaml", &again, &images);
        assert_eq!(twice.edits, [], "twice is not once:\n{}", String::from_utf8_lossy(&out));
        if !planned.changes.is_empty() {
            judged(input, &out, &planned);
            undone(input, &found, &out, &again);
        }
        let some = planned.only(|n| n % 2 == 1);
        let out = splice(input, &some).unwrap();
        if !some.changes.is_empty() {
            judged(input, &out, &some);
        }
    }
}
