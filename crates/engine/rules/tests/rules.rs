//! Rules find fields in files of each format, and say what is wrong with themselves.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_edit::{Edit, FileKind, Formats, Part, Plan, Scan, kind_of, splice};
use bumpwright_rules::{Found, Rules, Work};

fn rules(text: &str) -> Rules {
    Rules::read(".bumpwright.yaml", text.as_bytes()).unwrap()
}

/// A file of one rule, whose fields after `files` and `policy` are given.
fn rule(files: &str, rest: &str) -> Rules {
    rules(&format!("rules:\n- files: {files}\n  policy: fs:web\n  {rest}\n"))
}

fn scan(rules: &Rules, path: &str, text: &str) -> Found {
    rules.scan(path, kind_of(path, Formats::all()), text.as_bytes())
}

/// What the fields hold, and the parts of the image that they are.
fn values(scan: &Scan) -> Vec<(&str, Part)> {
    let fields = scan.sites.iter();
    fields.map(|site| (site.value.as_str(), site.setter.part)).collect()
}

/// The numbers of the rules that found the fields.
fn numbers(scan: &Scan) -> Vec<Option<usize>> {
    let rules = scan.sites.iter().map(|site| site.rule.as_ref());
    rules.map(|rule| rule.map(|rule| rule.number)).collect()
}

/// The text with other values in all fields.
fn edited(scan: &Scan, text: &str, new: &str) -> String {
    let edits = scan.sites.iter().map(|site| {
        let quotes = site.text.len() - site.value.len();
        let (before, after) = (&site.text[..quotes / 2], &site.text[site.text.len() - quotes / 2..]);
        Edit {
            span: site.span.clone(),
            old: site.text.clone(),
            new: format!("{before}{new}{after}"),
        }
    });
    let plan = Plan {
        edits: edits.collect(),
        ..Plan::default()
    };
    String::from_utf8(splice(text.as_bytes(), &plan).unwrap()).unwrap()
}

#[test]
fn a_path_names_fields_of_each_format() {
    for (path, text, field, after) in [
        (
            "values.yaml",
            "# c\nimage: {tag: '1.0', other: 1.0} # d\nmore: 1.0\n",
            "$.image.tag",
            "# c\nimage: {tag: '2.0', other: 1.0} # d\nmore: 1.0\n",
        ),
        (
            "many.yaml",
            "spec:\n  containers:\n  - name: a\n    image: w:1\n  - name: b\n    image: \"w:1\"\n---\nspec: {containers: [{image: w:1}]}\n",
            "$.spec.containers[*].image",
            "spec:\n  containers:\n  - name: a\n    image: 2.0\n  - name: b\n    image: \"2.0\"\n---\nspec: {containers: [{image: 2.0}]}\n",
        ),
        (
            "filter.yaml",
            "images:\n- name: web\n  newTag: v1\n- name: api\n  newTag: v1\n",
            "$.images[?@.name == 'web'].newTag",
            "images:\n- name: web\n  newTag: 2.0\n- name: api\n  newTag: v1\n",
        ),
        (
            "a/b.json",
            "{\"a\": [1, {\"tag\": \"1\"}],\t\"tag\": \"x\"}\n",
            "$.a[1].tag",
            "{\"a\": [1, {\"tag\": \"2.0\"}],\t\"tag\": \"x\"}\n",
        ),
        (
            "Cargo.toml",
            "# c\n[image.web]\ntag = \"1\" # c\n[[list]]\ntag = '1'\n",
            "$..tag",
            "# c\n[image.web]\ntag = \"2.0\" # c\n[[list]]\ntag = '2.0'\n",
        ),
        (
            "main.tf",
            "module \"web\" {\n  tag = \"1\" # c\n}\nlocals {\n  images = { web = \"1\", \"api\" : \"1\" }\n}\nlocals {\n  list = [\"0\", \"1\"]\n}\n",
            "$.module.web.tag",
            "module \"web\" {\n  tag = \"2.0\" # c\n}\nlocals {\n  images = { web = \"1\", \"api\" : \"1\" }\n}\nlocals {\n  list = [\"0\", \"1\"]\n}\n",
        ),
        (
            "two.tf",
            "/* c */ locals {\n  images = { web = \"1\", \"api\" : \"1\" }\n}\nlocals {\n  list = [\"0\", f(\"x\"), \"1\"]\n}\n",
            "$.locals[1].list[2]",
            "/* c */ locals {\n  images = { web = \"1\", \"api\" : \"1\" }\n}\nlocals {\n  list = [\"0\", f(\"x\"), \"2.0\"]\n}\n",
        ),
        (
            "three.tf",
            "locals {\n  images = {\n    web = \"1\"\n    (var.x) = \"1\"\n    api : \"1\"\n  }\n}\n",
            "$.locals.images.api",
            "locals {\n  images = {\n    web = \"1\"\n    (var.x) = \"1\"\n    api : \"2.0\"\n  }\n}\n",
        ),
        (
            "four.tf",
            "a = 1 // not [ open\nb = f(x) /* nor { \n here */\nc = [y, # (\n]\ntag = \"1\"\n",
            "$.tag",
            "a = 1 // not [ open\nb = f(x) /* nor { \n here */\nc = [y, # (\n]\ntag = \"2.0\"\n",
        ),
    ] {
        let found = scan(&rule("'*'", &format!("path: {field:?}\n  part: tag")), path, text);
        assert_eq!(edited(&found.scan, text, "2.0"), after, "{path}: {:?}", found.scan);
        assert!(numbers(&found.scan).iter().all(|number| *number == Some(0)), "{path}");
        assert_eq!(
            (found.scan.skips.as_slice(), found.rules.as_slice()),
            (&[][..], &[0][..]),
            "{path}"
        );
        assert!(found.scan.sites.iter().all(|site| site.setter.part == Part::Tag));
    }
}

#[test]
fn a_pattern_names_fields_of_any_text() {
    let text = "WEB=1.0\nAPI=1.0\r\nWEB=1.1";
    let found = scan(
        &rule("VERSIONS", "pattern: '(?m)^WEB=(?P<v>\\S+)'\n  part: tag"),
        "a/VERSIONS",
        text,
    );
    assert_eq!(values(&found.scan), [("1.0", Part::Tag), ("1.1", Part::Tag)]);
    assert_eq!(edited(&found.scan, text, "2"), "WEB=2\nAPI=1.0\r\nWEB=2");
    assert_eq!((found.scan.sites[1].line, found.scan.sites[1].column), (3, 5));
    assert_eq!(numbers(&found.scan), [Some(0), Some(0)]);
}

#[test]
fn images_and_values_are_known_by_their_names() {
    let text =
        "images:\n- name: w\n  newTag: v1\n- name: x\n  newName: ghcr.io/o/w\n  digest: sha256:0\n- name: y\n- z\n";
    let found = scan(
        &rule("kustomization.yaml", "images: auto"),
        "a/kustomization.yaml",
        text,
    );
    let wanted = |site: &bumpwright_edit::Site| site.rule.as_ref().unwrap().image.clone().unwrap();
    let images: Vec<String> = found.scan.sites.iter().map(wanted).collect();
    assert_eq!(images, ["w", "ghcr.io/o/w", "ghcr.io/o/w"]);
    assert_eq!(
        values(&found.scan),
        [
            ("v1", Part::Tag),
            ("ghcr.io/o/w", Part::Name),
            ("sha256:0", Part::Digest)
        ]
    );

    let text = "web:\n  image: {registry: ghcr.io, repository: o/w, tag: 1}\nlist:\n- repository: o/x\n  tag: '1'\n  digest: ''\ntag: 1\n";
    let found = scan(&rule("values.yaml", "values: auto"), "values.yaml", text);
    let images: Vec<String> = found.scan.sites.iter().map(wanted).collect();
    assert_eq!(images, ["ghcr.io/o/w", "o/x", "o/x"]);
    assert_eq!(
        values(&found.scan),
        [("1", Part::Tag), ("o/x", Part::Name), ("1", Part::Tag)]
    );
    let keys = rule("values.yaml", "values: {repository: image, tag: version}");
    let found = scan(&keys, "values.yaml", "web: {image: o/w, version: '1', tag: 0}\n");
    assert_eq!(values(&found.scan), [("o/w", Part::Name), ("1", Part::Tag)]);
}

#[test]
fn files_are_those_of_the_patterns() {
    let rules = rule(
        "[charts/*/values.yaml, '!charts/old/values.yaml', Makefile]",
        "path: $.tag",
    );
    for path in ["charts/web/values.yaml", "Makefile", "a/Makefile"] {
        assert!(rules.are_for(path), "{path}");
    }
    for path in [
        "charts/old/values.yaml",
        "charts/a/b/values.yaml",
        "values.yaml",
        ".gitignore",
        "x/charts/web/values.yaml",
    ] {
        assert!(!rules.are_for(path), "{path}");
    }
    let below = rules.in_folder("charts/web");
    assert!(below.are_for("values.yaml") && !below.are_for("charts/web/values.yaml"));
}

#[test]
fn the_first_rule_of_a_field_counts() {
    let both = rules(
        "rules:\n- {files: a.yaml, path: $.tag, policy: 'fs:web', part: tag}\n- {files: a.yaml, path: $..tag, policy: 'fs:api', part: tag}\n",
    );
    let found = scan(&both, "a.yaml", "tag: 1\nb: {tag: 1}\n");
    let policies: Vec<String> = found
        .scan
        .sites
        .iter()
        .map(|site| site.setter.policy.to_string())
        .collect();
    assert_eq!(policies, ["fs/web", "fs/api"]);
    assert_eq!(found.rules, [0, 1]);
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    for (path, text, place, words) in [
        ("a.yaml", "a: [1\n", (1, 4), "no rule read it"),
        ("a.json", "{\"a\": x}", (1, 7), "JSON"),
        ("a.toml", "a = \n", (1, 5), "TOML"),
        ("a.tf", "a {\n", (2, 1), "within a block"),
        ("a.tf", "x\n", (1, 2), "neither"),
        ("a.tf", "x = { a = 1, b ] }\n", (1, 16), "closes what is not open"),
        ("a.tf", "x = [ 1, b } ]\n", (1, 12), "closes what is not open"),
        ("a.txt", "tag 1\n", (1, 1), "pattern"),
        ("a.tf", "tag = \"${x}\"\n", (1, 7), "variables"),
        ("a.json", "{\"tag\": 1}", (1, 9), "not a string"),
        ("a.toml", "tag = 1", (1, 7), "not a string"),
        ("a.toml", "tag = \"a\\u0041\"", (1, 7), "escapes"),
        ("a.toml", "tag = \"\"\"1\"\"\"", (1, 7), "several lines"),
        ("a.toml", "tag = '''1'''", (1, 7), "several lines"),
    ] {
        let found = scan(&rule("a.*", "path: $.tag"), path, text);
        assert_eq!(found.scan.sites, [], "{path} {text}");
        let [skip] = found.scan.skips.as_slice() else {
            panic!("{path} {text}: {:?}", found.scan.skips);
        };
        assert_eq!((skip.line, skip.column), place, "{path} {text}: {}", skip.message);
        assert!(skip.message.contains(words), "{path} {text}: {}", skip.message);
    }
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for path in ["a.yaml", "a.json"] {
        let found = scan(&rule("a.*", "path: $.tag"), path, &deep);
        assert!(found.scan.skips[0].message.contains("nests"), "{:?}", found.scan.skips);
    }
    let many = |count: usize| format!("[{}]", vec!["1"; count].join(","));
    for (path, count, words) in [
        ("a.yaml", 10_001, "more than 10000 fields"),
        ("a.yaml", 100_001, "more than 100,000 values"),
        ("a.json", 100_001, "more than 100000 values"),
    ] {
        let found = scan(&rule("a.*", "path: $[*]"), path, &many(count));
        assert_eq!(found.scan.sites.len(), 0, "{path} {count}");
        assert!(found.scan.skips[0].message.contains(words), "{:?}", found.scan.skips);
    }
    let found = rule("a.*", "path: $.tag").scan("a.yaml", FileKind::Yaml, &[0xff, b'\n']);
    assert!(found.scan.skips[0].message.contains("UTF-8"));
}

#[test]
fn a_rule_file_says_what_is_wrong_with_it() {
    let with = |rest: &str| format!("rules:\n- files: a.yaml\n  policy: fs:web\n  {rest}\n");
    for (text, told) in [
        ("a: 1\n".to_owned(), "x:1:1: unknown field \"a\""),
        ("rules: {}\n".to_owned(), "x:1:8: rules: expected a list"),
        ("rules:\n- a\n".to_owned(), "x:2:3: a rule is a mapping"),
        ("rules:\n- files: a\n".to_owned(), "x:2:3: the rule has no policy"),
        (
            "accept:\n- rule: schema\n".to_owned(),
            "x:2:3: the entry needs files or object: what is accepted everywhere would never be found again",
        ),
        (
            "accept:\n- files: a\n  reason: b\n".to_owned(),
            "x:2:3: the entry has no rule",
        ),
        (
            "accept:\n- rule: schema\n  files: a\n".to_owned(),
            "x:2:3: the entry has no reason",
        ),
        (
            "accept:\n- rules: schema\n".to_owned(),
            "x:2:3: unknown field \"rules\"; did you mean rule?",
        ),
        ("accept: schema\n".to_owned(), "x:1:9: accept: expected a list"),
        (
            "rules:\n- policy: fs:web\n  path: $.a\n".to_owned(),
            "x:2:3: the rule has no files",
        ),
        (
            with("path: $.a\n  file: b"),
            "x:5:3: unknown field \"file\"; did you mean files?",
        ),
        (with("part: tag"), "x:2:3: the rule needs one of"),
        (with("path: $.a\n  images: auto"), "x:2:3: the rule needs one of"),
        (with("path: a"), "x:4:9: the path is no JSONPath"),
        (with("path: $..a..b"), "x:4:9: the path has several"),
        (with("path: $.a\n  part: version"), "x:5:9: part is"),
        (with("pattern: a"), "x:4:12: the pattern needs one named group"),
        (
            with("pattern: '(?P<a>'"),
            "x:4:12: the pattern is no regular expression",
        ),
        (with("images: all"), "x:4:11: images is"),
        (
            with("values: {tags: a}"),
            "x:4:12: unknown field \"tags\"; did you mean tag?",
        ),
        (with("images: auto\n  part: tag"), "x:5:9: part:"),
        (
            "rules:\n- {files: a, policy: web, path: $.a}\n".to_owned(),
            "x:2:22: policy: \"web\" is not NAMESPACE:NAME",
        ),
        ("rules: [\n".to_owned(), "x:"),
    ] {
        let error = Rules::read("x", text.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with(told), "{text}{error}");
    }
    for text in ["", "# none yet\n", "rules:\n", "rules: []\n"] {
        assert_eq!(rules(text).rules().len(), 0, "{text:?}");
    }
}

/// Patterns that take many steps for each byte: an alternation of texts that all go on.
const SLOW: &str = r"'(?:(?:a?){100}){9}(?P<version>b)'";

#[test]
fn all_searches_of_a_run_are_on_one_account_and_the_end_names_rule_and_file() {
    let text = "a".repeat(20_000);
    let rules = rule("'*.txt'", &format!("pattern: {SLOW}")).on_account_of(Work::new(50_000_000));
    let mut asked = 0;
    while rules.check().is_ok() && asked < 100 {
        scan(&rules, &format!("{asked}.txt"), &text);
        asked += 1;
    }
    assert!(asked < 100, "a hundred files at the most of each");
    let overrun = rules.check().unwrap_err();
    assert_eq!(
        (overrun.path, overrun.source_name.as_str(), overrun.line),
        (format!("{}.txt", asked - 1), ".bumpwright.yaml", 2)
    );
    // Nothing is looked at any more, and nobody takes that for an answer.
    let found = scan(&rules, "other.txt", "b");
    assert!(found.scan.sites.is_empty() && rules.check().is_err());
}

#[test]
fn paths_conventions_and_names_of_files_are_on_the_account_too() {
    let many: Vec<String> = (0..1_000).map(|n| format!("k{n}: v")).collect();
    for (files, rest, path) in [
        ("'*.yaml'", "path: \"$..[?@.a == 'b']\"", "a.yaml"),
        ("'*.yaml'", "values: auto", "a.yaml"),
        ("[a, b, c, d, e, f]", "path: $.a", "x/y/z"),
    ] {
        let rules = rule(files, rest).on_account_of(Work::new(10_000));
        for _ in 0..1_000 {
            scan(&rules, path, &many.join("\n"));
        }
        assert!(rules.check().is_err(), "{rest}");
        // The account of a run alone.
        assert!(rules.on_account_of(Work::default()).check().is_ok());
    }
}
