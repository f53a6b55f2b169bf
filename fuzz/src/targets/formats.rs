//! Markers in other formats than YAML, and rules: the laws of an edit, for whatever is found.

use bumpwright_edit::{FileKind, Formats, Images, Scan, Verdict, kind_of, plan, scan, splice};
use bumpwright_policy::{LatestRef, PolicyName};
use bumpwright_rules::Rules;

struct All(LatestRef);

impl Images for All {
    fn verdict(&self, _: &PolicyName) -> Verdict<'_> {
        Verdict::Image(&self.0)
    }
}

const NAMES: [&str; 12] = [
    "a.tf",
    "Dockerfile",
    ".env",
    "a.ini",
    "a.json",
    "Makefile",
    "a.properties",
    "a.sh",
    "a.tpl",
    "a.toml",
    "a.yaml",
    "a.txt",
];

/// Plans what was found, and finds again what was edited.
fn edited(input: &[u8], mut found: Scan, again: impl Fn(&[u8]) -> Scan) {
    let images = All(LatestRef {
        name: "ghcr.io/o/app".to_owned(),
        tag: "2.0.0".to_owned(),
        digest: Some("sha256:0a".to_owned()),
    });
    // Where several rules name a field, a run takes the first one.
    found.sites.dedup_by(|later, first| later.span == first.span);
    let planned = plan("x", &found, &images);
    let out = splice(input, &planned).expect("what was found can be replaced");
    let mut after = again(&out);
    after.sites.dedup_by(|later, first| later.span == first.span);
    assert_eq!(after.sites.len(), found.sites.len(), "an edit made or lost a field");
    assert_eq!(plan("x", &after, &images).edits, [], "twice is not once");
}

/// A byte that says which format, and a file.
pub fn formats(input: &[u8]) {
    let Some((first, text)) = input.split_first() else {
        return;
    };
    let kind = kind_of(NAMES[usize::from(*first) % NAMES.len()], Formats::all());
    edited(text, scan(kind, text), |text| scan(kind, text));
}

/// A rule file, and a file that begins with a byte that says which format.
pub fn rules(input: &[u8]) {
    let (written, file) = super::halves(input);
    let (Ok(rules), Some((first, text))) = (Rules::read("x", written), file.split_first()) else {
        return;
    };
    // A filter may look at what was edited.
    let has_filter = written.contains(&b'?');
    let name = NAMES[usize::from(*first) % NAMES.len()];
    let kind = match kind_of(name, Formats::all()) {
        FileKind::YamlTemplate => FileKind::Yaml,
        kind => kind,
    };
    // What a pattern matches may be anything, so only paths have the laws.
    let found = rules.scan(name, kind, text).scan;
    if !has_filter
        && found.sites.iter().all(|site| !text[site.span.clone()].is_empty())
        && !is_by_pattern(&rules, &found)
    {
        edited(text, found, |text| rules.scan(name, kind, text).scan);
    }
}

fn is_by_pattern(rules: &Rules, found: &Scan) -> bool {
    let by = |number: usize| rules.rules().get(number).is_some_and(|rule| rule.is_by_pattern());
    found
        .sites
        .iter()
        .any(|site| site.rule.as_ref().is_some_and(|rule| by(rule.number)))
}
