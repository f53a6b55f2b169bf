//! Documents of pieces in any order, edited; then other parsers read them: the marked value is the new one, and
//! nothing else has changed.

use std::fmt::Debug;

use bumpwright_edit::{Formats, Images, Verdict, kind_of, plan, scan, splice};
use bumpwright_policy::{LatestRef, PolicyName};
use proptest::prelude::*;
use proptest::sample::subsequence;

struct Newest(LatestRef);

impl Images for Newest {
    fn verdict(&self, _: &PolicyName) -> Verdict<'_> {
        Verdict::Image(&self.0)
    }
}

const MARKER: &str = r#"{"$imagepolicy": "fs:web:tag"}"#;

/// The text after an edit to 2.0.0, and how many fields that changed.
fn edited(name: &str, text: &str) -> (String, usize) {
    let newest = Newest(LatestRef {
        name: "ghcr.io/acme/web".to_owned(),
        tag: "2.0.0".to_owned(),
        digest: None,
    });
    let found = scan(kind_of(name, Formats::all()), text.as_bytes());
    let plan = plan(name, &found, &newest);
    (
        String::from_utf8(splice(text.as_bytes(), &plan).unwrap()).unwrap(),
        plan.changes.len(),
    )
}

/// Pieces in their order with marked ones among them, some left out; `#` of a piece stands for its number.
fn documents(
    pieces: &'static [&'static str],
    marked: &'static [&'static str],
) -> impl Strategy<Value = (String, usize)> {
    let some = subsequence(pieces, 0..=pieces.len()).prop_shuffle();
    (
        some,
        subsequence(marked, 1..=marked.len()),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(some, marked, at)| {
            let place = at.index(some.len() + 1);
            let (before, after) = some.split_at(place);
            let lines = before.iter().chain(&marked).chain(after).enumerate();
            let text: String = lines
                .map(|(n, line)| line.replace('%', &n.to_string()).replace('@', MARKER) + "\n")
                .collect();
            (text, marked.len())
        })
}

/// What a parser makes of the document before and after, with the new version in the place of the old one.
fn judged<T: PartialEq + Debug>(name: &str, text: &str, marked: usize, read: impl Fn(&str) -> T) {
    let (after, changed) = edited(name, text);
    assert_eq!(changed, marked, "{text}");
    // The old version is nowhere else, so this is what was meant.
    assert_eq!(read(&after), read(&text.replace("1.0.0", "2.0.0")), "{text}");
    assert_eq!(edited(name, &after), (after.clone(), 0));
}

const HCL: &[&str] = &[
    "a% = \"x # ${var.y} \\\" // z\"",
    "a% = <<-EOT\n  tag = \"9\" # @\n  ${x}\n  EOT",
    "a% = [for k, v in { a = \"b\" } : \"${k}-${upper(\"v\")}\" if v != \"c\"]",
    "/* tag = \"9\"\n # */ a% = 1",
    "a% = x ? \"y\" : \"z\"",
    "b% \"l\" \"m\" {\n  c = { \"k\" = \"v\", l : [1, \"2\"] }\n}",
    "a% = f(\"x\", [\"y\"], z...)",
    "a% = \"$${no} %%{no}\"",
    "// @ and more",
];

const HCL_MARKED: &[&str] = &[
    "t% = \"1.0.0\" # @",
    "b% \"l\" {\n  t = \"1.0.0\" // @\n}",
    "t% = [\n  \"1.0.0\", # @\n  \"x\"\n]",
    "# @\nt% = \"1.0.0\"",
    "t% = {\n  k = \"1.0.0\" /* @ */\n}",
];

const TOML: &[&str] = &[
    "a% = \"x # \\\" y\"",
    "a% = '''\ntag = '9' # @\n'''",
    "a% = \"\"\"\\\n  \"x\" # @ \\\"\"\"\"",
    "a% = [1, \"2\", ['3']] # x",
    "a% = 2026-11-26T01:02:03Z",
    "\"a #%\".'b' = { c = \"d\", e = [\"f\"] }",
    "# @ and more",
];

const TOML_MARKED: &[&str] = &[
    "t% = \"1.0.0\" # @",
    "t% = '1.0.0' # @",
    "# @\nt% = \"1.0.0\"",
    "t% = { k = \"1.0.0\" } # @",
    "t% = [\n  \"1.0.0\", # @\n  \"x\",\n]",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn hcl((text, marked) in documents(HCL, HCL_MARKED)) {
        judged("main.tf", &text, marked, |text| hcl::parse(text).unwrap());
    }

    #[test]
    fn toml((text, marked) in documents(TOML, TOML_MARKED)) {
        judged("x.toml", &text, marked, |text| text.parse::<toml::Table>().unwrap());
    }

    /// No bytes make a reader panic, and what is edited is edited once.
    #[test]
    fn any_text(text in "[ -~\n\té]{0,60}", marked in prop::bool::ANY, at in any::<prop::sample::Index>()) {
        for name in ["a.tf", "Dockerfile", ".env", "a.ini", "a.json", "Makefile", "a.properties", "a.sh", "a.tpl", "a.yaml", "a.toml"] {
            let mut text = text.clone();
            if marked {
                let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
                text.insert_str(places[at.index(places.len())], MARKER);
            }
            let (after, _) = edited(name, &text);
            prop_assert_eq!(edited(name, &after), (after.clone(), 0));
        }
    }
}
