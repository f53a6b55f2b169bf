//! Documents from a grammar, and what a reader must find in them before and after an edit.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Debug;

use bumpwright_edit::{
    Change, Formats, Images, Reason, Scan, Setter, Verdict, kind_of, mark_in, plan, scan, splice, unmark,
};
use bumpwright_policy::{LatestRef, PolicyName};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{TestError, TestRunner};

/// A kind of line: one alternative of each part, one behind the other.
pub type Line = &'static [&'static [&'static str]];

/// What documents are made of. In texts `%` is the number of the line, `@` a marker of the tag and `&` one of the whole
/// reference, both of a policy that has the number of the line, and `~` the escape.
pub struct Grammar {
    /// A name of a file in the format.
    pub name: &'static str,
    /// What a document begins with.
    pub head: Line,
    pub lines: &'static [Line],
    pub breaks: &'static [&'static str],
    pub escapes: &'static [&'static str],
}

impl Grammar {
    /// What ends a document.
    fn tail(&self) -> &'static str {
        if self.name.ends_with(".json") {
            "\"end\": 0}"
        } else {
            ""
        }
    }
}

/// The values of a document, by what they are of; a name may have several.
pub type Values = Vec<(String, String)>;

const MOST_LINES: usize = 6;

fn line(parts: Line) -> impl Strategy<Value = String> {
    let parts: Vec<_> = parts.iter().map(|part| select(*part)).collect();
    parts.prop_map(|parts| parts.concat())
}

/// A document in lines that end as it does.
pub fn documents(grammar: &Grammar) -> impl Strategy<Value = String> + use<> {
    let kinds: Vec<_> = grammar.lines.iter().map(|parts| line(parts).boxed()).collect();
    let lines = vec(proptest::strategy::Union::new(kinds), 1..MOST_LINES);
    let head = line(grammar.head);
    let style = (
        select(grammar.breaks),
        select(grammar.escapes),
        prop::bool::weighted(0.9),
    );
    let (has_head, tail) = (!grammar.head.is_empty(), grammar.tail());
    (head, lines, style).prop_map(move |(head, lines, (end, escape, is_ended))| {
        let lines = has_head.then_some(head).into_iter().chain(lines).enumerate();
        let lines: Vec<String> = lines.map(|(n, line)| numbered(&line, n)).collect();
        let text = lines.join("\n") + tail + if is_ended { "\n" } else { "" };
        text.replace('~', escape).replace('\n', end)
    })
}

fn numbered(line: &str, n: usize) -> String {
    line.replace('@', r#"{"$imagepolicy": "fs:p%:tag"}"#)
        .replace('&', r#"{"$imagepolicy": "fs:p%"}"#)
        .replace('%', &n.to_string())
}

/// The policy of a number has the image and the tag of that number.
struct Newest(BTreeMap<PolicyName, LatestRef>);

impl Newest {
    fn new() -> Self {
        let image = |n| LatestRef {
            name: format!("ghcr.io/acme/w{n}"),
            tag: format!("2.0.{n}"),
            digest: None,
        };
        let numbers = 0..=MOST_LINES;
        Self(
            numbers
                .map(|n| (PolicyName::new("fs", format!("p{n}")), image(n)))
                .collect(),
        )
    }
}

impl Images for Newest {
    fn verdict(&self, policy: &PolicyName) -> Verdict<'_> {
        match self.0.get(policy) {
            Some(image) => Verdict::Image(image),
            None => Verdict::Skip(Reason::UnknownPolicy, String::new()),
        }
    }
}

/// The text after an edit, and its changes.
fn edited(name: &str, text: &str) -> (String, Vec<Change>) {
    let found = scan(kind_of(name, Formats::all()), text.as_bytes());
    let plan = plan(name, &found, &Newest::new());
    let after = splice(text.as_bytes(), &plan).unwrap();
    (String::from_utf8(after).unwrap(), plan.changes)
}

/// Reads documents before and after: what the edit says has changed is what the reader sees, and every marker is
/// followed or told. What the reader refuses is not looked at, but some is edited.
pub fn agree(grammar: &Grammar, cases: u32, read: impl Fn(&str) -> Option<Values>) {
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    };
    let changed = Cell::new(0);
    let outcome = TestRunner::new(config).run(&documents(grammar), |text| {
        let Some(before) = read(&text) else { return Ok(()) };
        let found = scan(kind_of(grammar.name, Formats::all()), text.as_bytes());
        let markers = text.matches("$imagepolicy").count();
        prop_assert_eq!(found.sites.len() + found.skips.len(), markers, "told: {:?}", found);
        let (after, changes) = edited(grammar.name, &text);
        let wanted = expected(before, &changes).map_err(TestCaseError::fail)?;
        prop_assert_eq!(
            read(&after).map(sorted),
            Some(sorted(wanted)),
            "after the edit:\n{}",
            after
        );
        prop_assert_eq!(edited(grammar.name, &after).0, after);
        changed.set(changed.get() + changes.len());
        Ok(())
    });
    told(outcome);
    assert!(changed.get() > cases as usize / 25, "{} edits", changed.get());
}

/// The values after these changes.
fn expected(mut values: Values, changes: &[Change]) -> Result<Values, String> {
    for change in changes {
        let value = values.iter_mut().find(|(_, value)| *value == change.old);
        let (_, value) = value.ok_or_else(|| format!("the reader has no such value: {change:?}"))?;
        value.clone_from(&change.new);
    }
    Ok(values)
}

fn sorted(mut values: Values) -> Values {
    values.sort();
    values
}

/// The sites of a scan.
fn sites(scan: &Scan) -> Vec<(Setter, String)> {
    let sites = scan.sites.iter();
    sites.map(|site| (site.setter.clone(), site.value.clone())).collect()
}

/// Puts markers on the fields of an image: they are read beside those that were there, the reader finds the same values
/// as before, and taking them away brings back the bytes.
pub fn keeps(grammar: &Grammar, cases: u32, read: impl Fn(&str) -> Option<Values>) {
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    };
    let marked = Cell::new(0);
    let outcome = TestRunner::new(config).run(&documents(grammar), |text| {
        let text = with_references(&text);
        let Some(before) = read(&text) else { return Ok(()) };
        let Some((new, count)) = marked_and_back(grammar.name, &text)? else {
            return Ok(());
        };
        prop_assert_eq!(read(&new).map(sorted), Some(sorted(before)), "{}", new);
        marked.set(marked.get() + count);
        Ok(())
    });
    told(outcome);
    assert!(marked.get() > cases as usize / 25, "{} markers", marked.get());
}

/// A document with the markers of an image, and how many they are.
fn marked_and_back(name: &str, text: &str) -> Result<Option<(String, usize)>, TestCaseError> {
    let kind = kind_of(name, Formats::all());
    let policy = PolicyName::new("new", "web");
    let mark = |text: &str| mark_in(kind, text, "ghcr.io/acme/web", &policy);
    let Ok(marking) = mark(text) else { return Ok(None) };
    let Some(new) = marking.new else { return Ok(None) };
    let new = String::from_utf8(new).unwrap();
    let (old, found) = (scan(kind, text.as_bytes()), scan(kind, new.as_bytes()));
    let changed = marking.changed.iter();
    let mut wanted = sites(&old);
    wanted.extend(changed.map(|field| (field.setter.clone(), field.value.clone())));
    let mut sites = sites(&found);
    wanted.sort();
    sites.sort();
    prop_assert_eq!(sites, wanted, "{}", new);
    prop_assert_eq!(old.skips.len(), found.skips.len(), "{}", new);
    prop_assert_eq!(mark(&new).unwrap().new, None, "{}", new);
    let back = unmark(kind, &new, Some(&policy)).unwrap();
    let back = back.new.map(|back| String::from_utf8(back).unwrap());
    prop_assert_eq!(back.as_deref(), Some(text), "{}", new);
    Ok(Some((new, marking.changed.len())))
}

/// The same document with references of one image in the place of versions.
fn with_references(text: &str) -> String {
    let bare = (0..=MOST_LINES).fold(text.to_owned(), |text, n| {
        text.replace(&format!("ghcr.io/acme/w{n}:"), "")
    });
    bare.replace("1.0.", "ghcr.io/acme/web:1.0.")
}

pub fn told<T: Debug>(outcome: Result<(), TestError<T>>) {
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, text)) => panic!("{why}\n{text:?}"),
        Err(error) => panic!("{error:?}"),
    }
}
