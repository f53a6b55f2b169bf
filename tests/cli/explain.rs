//! `bumpwright explain`: every code that the program says has an explanation, and nothing else has one.
//!
//! Reasons of conditions and events are a type (`bumpwright_api::Reason`), so their list is complete. The code is read
//! for the kinds that use them, and for the codes of other types.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use bumpwright_api::Reason;
use bumpwright_findings::Rule;
use bumpwright_testkit::cli::Bench;

const TEXTS: &str = "src/cli/explain/texts";
const PAGE: &str = "docs/reference/reasons.md";

const IMAGES: [&str; 3] = ["ImageRepository", "ImagePolicy", "ImageUpdateAutomation"];
const SOURCES: [&str; 5] = [
    "GitRepository",
    "OCIRepository",
    "Bucket",
    "HelmRepository",
    "HelmChart",
];

/// The kinds whose objects get the reasons in a folder or file; the first prefix that fits counts.
const SAID_BY: [(&str, &[&str]); 20] = [
    ("crates/app/controllers/src/images/repository/", &["ImageRepository"]),
    ("crates/app/controllers/src/images/policy/", &["ImagePolicy"]),
    (
        "crates/app/controllers/src/images/automation/",
        &["ImageUpdateAutomation"],
    ),
    ("crates/flow/update/", &["ImageUpdateAutomation"]),
    ("crates/app/controllers/src/kustomizations/", &["Kustomization"]),
    ("crates/app/controllers/src/sources/git_repository/", &["GitRepository"]),
    ("crates/app/controllers/src/sources/oci_repository/", &["OCIRepository"]),
    ("crates/app/controllers/src/sources/bucket/", &["Bucket"]),
    (
        "crates/app/controllers/src/sources/helm_repository/",
        &["HelmRepository"],
    ),
    ("crates/app/controllers/src/sources/helm_chart/", &["HelmChart"]),
    ("crates/app/controllers/src/sources/", &SOURCES),
    ("crates/app/controllers/src/reviews/", &["GitRepository"]),
    ("crates/flow/connect/src/git/", &["GitRepository"]),
    ("crates/flow/connect/src/error.rs", &SOURCES),
    ("crates/engine/verify/src/git.rs", &["GitRepository"]),
    ("crates/engine/verify/src/cosign/", &["OCIRepository"]),
    ("crates/peer/object-store/", &["Bucket"]),
    ("crates/app/runtime/", &ALL),
    ("crates/app/controllers/src/tokens.rs", &ALL),
    ("crates/app/ui/src/", &ALL),
];

const ALL: [&str; 9] = [
    IMAGES[0],
    IMAGES[1],
    IMAGES[2],
    SOURCES[0],
    SOURCES[1],
    SOURCES[2],
    SOURCES[3],
    SOURCES[4],
    "Kustomization",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The source without tests and comments, by path.
fn source() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders: Vec<PathBuf> = vec![root().join("src"), root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() && !path.ends_with("tests") && !path.ends_with("benches") {
                folders.push(path);
            } else if name.ends_with(".rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let text = text.split("#[cfg(test)]").next().unwrap();
                let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
                found.insert(name, code.collect::<Vec<_>>().join("\n"));
            }
        }
    }
    assert!(found.len() > 500, "{}", found.len());
    found
}

/// Code and `Where:` of each section of a text.
fn sections(file: &str) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root().join(TEXTS).join(file)).unwrap();
    let sections = text.split("\n## ").skip(1).map(|section| {
        let (code, rest) = section.split_once("\n\nWhere: ").unwrap_or_else(|| panic!("{section}"));
        (code.to_owned(), rest.lines().next().unwrap().to_owned())
    });
    let sections: Vec<_> = sections.collect();
    assert!(sections.is_sorted(), "{file} is not in order");
    sections
}

fn codes(file: &str) -> BTreeSet<String> {
    sections(file).into_iter().map(|(code, _)| code).collect()
}

/// The kinds in a `Where:`, which come before the first semicolon.
fn kinds(place: &str) -> impl Iterator<Item = &str> {
    place.split(';').next().unwrap().split(", ")
}

/// The codes and the kinds that use them, as explained.
fn explained() -> BTreeSet<(String, String)> {
    let files = [
        "every_kind.md",
        "image_repository.md",
        "image_policy.md",
        "image_update_automation.md",
        "sources.md",
        "kustomization.md",
    ];
    let mut found = BTreeSet::new();
    for (code, place) in files.into_iter().flat_map(sections) {
        for kind in kinds(&place) {
            assert!(ALL.contains(&kind), "{code}: {kind:?}");
            let is_first = found.insert((code.clone(), kind.to_owned()));
            assert!(is_first, "{code} of {kind} is explained twice");
        }
    }
    found
}

/// The words in the source after `before`.
fn words_after<'t>(text: &'t str, before: &'t str) -> impl Iterator<Item = &'t str> {
    let end = |rest: &'t str| rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    text.split(before)
        .skip(1)
        .map(str::trim_start)
        .map(move |rest| &rest[..end(rest).unwrap_or(rest.len())])
}

#[test]
fn each_reason_is_explained_for_each_kind_that_uses_it() {
    let known: BTreeSet<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    let mut said = BTreeSet::new();
    for (path, text) in source() {
        for reason in words_after(&text, "Reason::").filter(|word| known.contains(word)) {
            let kinds = SAID_BY.iter().find(|(prefix, _)| path.starts_with(prefix));
            let (_, kinds) = kinds.unwrap_or_else(|| panic!("{path} uses {reason}: add its kinds to SAID_BY"));
            said.extend(kinds.iter().map(|kind| (reason.to_owned(), (*kind).to_owned())));
        }
    }
    let reasons: BTreeSet<&str> = said.iter().map(|(reason, _)| reason.as_str()).collect();
    let unused: Vec<_> = known.difference(&reasons).collect();
    assert!(unused.is_empty(), "nothing uses {unused:?}");
    let explained = explained();
    let missing: Vec<_> = said.difference(&explained).collect();
    assert!(missing.is_empty(), "without explanation in {TEXTS}: {missing:#?}");
    let needless: Vec<_> = explained.difference(&said).collect();
    assert!(
        needless.is_empty(),
        "explained in {TEXTS}, but nothing says it: {needless:#?}"
    );
}

/// Conditions take the type. So do events, but for the function that takes the reason of a condition in the status.
#[test]
fn events_have_no_other_reasons() {
    let source = source();
    let users = |what: &str| -> Vec<&str> {
        let users = source.iter().filter(|(_, text)| text.contains(what));
        users.map(|(path, _)| path.as_str()).collect()
    };
    assert_eq!(
        users(".event_after("),
        ["crates/app/controllers/src/kustomizations/status.rs"]
    );
    assert_eq!(
        users("events::event("),
        [
            "crates/app/controllers/src/reviews/mod.rs",
            "crates/app/runtime/src/reconcile/driver.rs",
            "crates/app/ui/src/actions.rs"
        ]
    );
    assert_eq!(
        users(".recorder.record("),
        [
            "crates/app/controllers/src/reviews/mod.rs",
            "crates/app/runtime/src/reconcile/driver.rs"
        ]
    );
}

#[test]
fn each_skip_is_explained() {
    let source = source();
    let model = &source["crates/engine/edit/src/model.rs"];
    let (_, body) = model.split_once("pub enum Reason {\n").unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let variants = body.lines().filter_map(|line| line.trim().strip_suffix(','));
    let variants: BTreeSet<String> = variants.map(str::to_owned).collect();
    assert_eq!(variants, codes("skips.md"));

    let guard = names(&source["crates/engine/policy/src/guard.rs"]);
    assert!(!guard.is_empty() && guard.is_subset(&variants), "{guard:?}");
    assert_eq!(
        names(&source["crates/engine/policy/src/explain.rs"]),
        codes("verdicts.md")
    );
}

/// The texts of a function `name`.
fn names(text: &str) -> BTreeSet<String> {
    let (_, body) = text.split_once("pub fn name(&self) -> &'static str {").unwrap();
    let (body, _) = body.split_once("\n    }").unwrap();
    words_after(body, "=> \"").map(str::to_owned).collect()
}

#[test]
fn each_type_of_condition_is_explained() {
    let source = source();
    let lines = || source.values().flat_map(|text| text.lines());
    let mut constants = BTreeMap::<&str, BTreeSet<String>>::new();
    for (name, value) in lines().filter_map(|line| line.split_once(": &str = \"")) {
        let value = value.trim_end_matches("\";");
        if name.contains("const ") && value.chars().all(char::is_alphanumeric) {
            let name = name.rsplit(' ').next().unwrap();
            constants.entry(name).or_default().insert(value.to_owned());
        }
    }
    let mut said = BTreeSet::new();
    for (at, line) in lines().flat_map(|line| line.match_indices(", ConditionStatus::").map(move |(at, _)| (at, line)))
    {
        let name = line[..at].rsplit(['(', ' ', '&']).next().unwrap();
        assert!(!name.ends_with('"'), "a type of condition as a text: {line}");
        // Others are arguments of functions that are called with constants.
        if !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
            said.extend(constants[name].iter().cloned());
        }
    }
    assert_eq!(said, codes("conditions.md"));
}

#[test]
fn each_answer_to_a_webhook_is_explained() {
    let source = source();
    let rejection = &source["crates/engine/webhook/src/rejection.rs"];
    let receiver = &source["crates/app/controllers/src/webhooks/receiver.rs"];
    let numbers = words_after(rejection, "=> ").chain(words_after(receiver, "Reply::new("));
    let numbers = numbers.filter(|word| word.len() == 3 && word.parse::<u16>().is_ok());
    let numbers: BTreeSet<String> = numbers.map(str::to_owned).collect();
    assert_eq!(numbers, codes("webhooks.md"));
}

#[test]
fn the_page_is_what_the_command_prints() {
    let printed = Bench::new().ok(&["explain", "--output", "markdown"]).out;
    let path = root().join(PAGE);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &printed).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(page == printed, "{PAGE} is out of date: run this test with BLESS=1");
    for line in page.lines().filter(|line| !line.starts_with(['|', '<', '*'])) {
        assert!(line.chars().count() <= 150, "{line}");
    }
}

#[test]
fn the_links_of_the_page_lead_somewhere() {
    let page = Bench::new().ok(&["explain", "--output", "markdown"]).out;
    let links = |before: &str| -> Vec<String> {
        let links = page.split(before).skip(1);
        links.map(|rest| rest.split(')').next().unwrap().to_owned()).collect()
    };
    let (own, others) = (links("](#"), links("](../"));
    assert!(own.len() > 100 && others.len() > 50, "{} {}", own.len(), others.len());
    let anchors_here = anchors(&page);
    for link in own {
        assert!(anchors_here.contains(&link), "{link}");
    }
    for link in others {
        let (file, part) = link.split_once('#').unwrap_or((&link, ""));
        let text = std::fs::read_to_string(root().join("docs").join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert!(part.is_empty() || anchors(&text).contains(part), "{link}");
    }
}

/// The pages that explanations, messages and helps name are there, with the parts that they name.
#[test]
fn pages_that_are_named_exist() {
    let mut texts = source();
    for file in std::fs::read_dir(root().join(TEXTS)).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        texts.insert(path.display().to_string(), text);
    }
    let mut count = 0;
    for (file, text) in &texts {
        for (at, _) in text.match_indices("docs/") {
            let rest = &text[at..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"/-_.#".contains(c));
            let named = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
            let (page, part) = named.split_once('#').unwrap_or((named, ""));
            if !page.ends_with(".md") {
                continue;
            }
            count += 1;
            let page = std::fs::read_to_string(root().join(page)).unwrap_or_else(|e| panic!("{file}: {named}: {e}"));
            assert!(part.is_empty() || anchors(&page).contains(part), "{file}: {named}");
        }
    }
    assert!(count > 150, "{count}");
}

/// An explanation of logins leads to the page about logins, of each kind of server.
#[test]
fn a_login_that_fails_leads_to_the_pages_about_logins() {
    let out = Bench::new().ok(&["explain", "AuthenticationFailed"]).out;
    let pages: Vec<&str> = out
        .lines()
        .filter_map(|line| line.strip_prefix("See: docs/guides/"))
        .collect();
    assert_eq!(
        pages,
        [
            "registries.md",
            "private-git.md#in-a-cluster",
            "registries.md#in-a-cluster"
        ]
    );
}

/// A branch that takes no pushes is a usual cause, so the way around it is part of the explanation.
#[test]
fn a_protected_branch_leads_to_a_branch_of_its_own() {
    let out = Bench::new().ok(&["explain", "GitOperationFailed"]).out;
    assert!(
        out.contains("push to another one (`spec.git.push.branch`, `--push-branch` of `update`)")
            && out.contains("\nSee: docs/guides/pull-requests.md\n"),
        "{out}"
    );
}

/// The anchors of headings as renderers make them: equal ones are numbered.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts = BTreeMap::<String, usize>::new();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchors = headings.map(|line| {
        let heading = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        let anchor: String = heading.chars().filter(|c| c.is_alphanumeric() || *c == '-').collect();
        let count = counts.entry(anchor.clone()).or_default();
        *count += 1;
        if *count == 1 {
            anchor
        } else {
            format!("{anchor}-{}", *count - 1)
        }
    });
    anchors.collect()
}

#[test]
fn without_a_code_all_are_listed_by_group() {
    let out = Bench::new().ok(&["explain"]).out;
    let listed: Vec<&str> = out
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .collect();
    let files = std::fs::read_dir(root().join(TEXTS)).unwrap();
    let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut wanted: Vec<String> = files.flat_map(|file| sections(&file)).map(|(code, _)| code).collect();
    wanted.extend(Rule::ALL.iter().map(|rule| rule.id().to_owned()));
    wanted.sort();
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, wanted);
    assert!(out.starts_with("Skipped markers\n  BranchEdited"), "{out}");
    assert!(out.contains("\nKustomization\n  AccessDenied"), "{out}");
}

#[test]
fn a_code_is_explained_for_each_group_in_any_case() {
    let bench = Bench::new();
    let out = bench.ok(&["explain", "unknownpolicy"]).out;
    assert!(
        out.starts_with("UnknownPolicy (Skipped markers)\n`update`\n\nThere is no ImagePolicy"),
        "{out}"
    );
    assert!(
        out.contains("bumpwright update --dry-run") && out.ends_with("See: docs/start/markers.md\n"),
        "{out}"
    );

    let out = bench.ok(&["explain", "AuthenticationFailed"]).out;
    let heads: Vec<&str> = out
        .lines()
        .filter(|line| line.starts_with("AuthenticationFailed ("))
        .collect();
    assert_eq!(
        heads,
        [
            "AuthenticationFailed (ImageRepository)",
            "AuthenticationFailed (Sources)"
        ]
    );

    let out = bench.ok(&["explain", "Missing-Source"]).out;
    assert!(
        out.starts_with(
            "missing-source (Findings)\n`fleet check`\n\nA source is not in the fleet.\n\n`spec.sourceRef`"
        ),
        "{out}"
    );

    let out = bench.ok(&["explain", "Stalled", "-o", "markdown"]).out;
    assert!(out.starts_with("## Stalled (Types of conditions)\n"), "{out}");
}

#[test]
fn an_unknown_code_has_suggestions() {
    let bench = Bench::new();
    for (code, hint) in [
        ("UnknwonPolicy", "; did you mean UnknownPolicy?"),
        ("prune", "; did you mean PruneFailed or PruneRefused?"),
        (
            "artifact",
            "; did you mean ArtifactFailed or ArtifactInStorage or ArtifactOutdated or ArtifactUpToDate or",
        ),
        ("missing-soruce", "; did you mean missing-source?"),
        ("ImageMissing", "; did you mean missing-image or "),
        ("xyzzy", "\n"),
    ] {
        let ran = bench.run(&["explain", code]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{code}");
        assert!(
            ran.err.starts_with(&format!(
                "error: there is no code {code:?}: `bumpwright explain` lists all{hint}"
            )),
            "{}",
            ran.err
        );
    }
}
