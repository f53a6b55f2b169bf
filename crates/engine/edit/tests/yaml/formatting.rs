//! The bytes of a file that an edit changes and keeps: before and after on one screen.
//!
//! `given(text).with("ns:name", "image").becomes(text)`. In the texts `@` stands for the comment
//! `# {"$imagepolicy": "fs:app"}`, `@tag`, `@name` and `@digest` for those parts. Which fields change is go-yaml's
//! and kyaml's doing; the cases were settled by running these.

use std::collections::BTreeMap;

use bumpwright_edit::{self as edit, Images, Plan, Reason, Verdict};
use bumpwright_policy::{LatestRef, PolicyName};

struct Given {
    path: String,
    bytes: Vec<u8>,
    images: BTreeMap<String, LatestRef>,
}

impl Images for Given {
    fn verdict(&self, policy: &PolicyName) -> Verdict<'_> {
        match self.images.get(&format!("{}:{}", policy.namespace, policy.name)) {
            Some(image) => Verdict::Image(image),
            None => Verdict::Skip(Reason::UnknownPolicy, format!("there is no policy {policy}")),
        }
    }

    /// The values of fields do not matter here.
    fn overwrites(&self) -> bool {
        true
    }
}

fn marked(text: &str) -> String {
    let marker = |part: &str| format!("# {{\"$imagepolicy\": \"fs:app{part}\"}}");
    text.replace("@tag", &marker(":tag"))
        .replace("@name", &marker(":name"))
        .replace("@digest", &marker(":digest"))
        .replace('@', &marker(""))
}

fn given(text: &str) -> Given {
    given_bytes(marked(text).into_bytes())
}

fn given_bytes(bytes: impl Into<Vec<u8>>) -> Given {
    Given {
        path: "app.yaml".to_owned(),
        bytes: bytes.into(),
        images: BTreeMap::new(),
    }
}

impl Given {
    fn named(mut self, path: &str) -> Self {
        self.path = path.to_owned();
        self
    }

    /// `image` is `name:tag` or `name:tag@digest`.
    fn with(mut self, policy: &str, image: &str) -> Self {
        let (image, digest) = image
            .split_once('@')
            .map_or((image, None), |(image, digest)| (image, Some(digest)));
        let (name, tag) = image.rsplit_once(':').unwrap();
        let image = LatestRef {
            name: name.to_owned(),
            tag: tag.to_owned(),
            digest: digest.map(str::to_owned),
        };
        self.images.insert(policy.to_owned(), image);
        self
    }

    /// The policy that the cases about places share.
    fn with_new(self) -> Self {
        self.with("fs:app", "new:2")
    }

    fn plan(&self) -> Plan {
        let scan = edit::scan(edit::file_kind(&self.path), &self.bytes);
        edit::plan(&self.path, &scan, self)
    }

    fn output(&self) -> String {
        String::from_utf8(edit::splice(&self.bytes, &self.plan()).unwrap()).unwrap()
    }

    fn becomes(self, text: &str) -> Self {
        self.becomes_exactly(&marked(text))
    }

    /// `@` is `@`.
    fn becomes_exactly(self, text: &str) -> Self {
        assert_eq!(self.output(), text);
        self
    }

    fn stays(self) -> Self {
        let plan = self.plan();
        assert_eq!(plan.changes, []);
        assert_eq!(edit::splice(&self.bytes, &plan).unwrap(), self.bytes);
        self
    }

    fn skips(self, reason: Reason, line: usize, column: usize) -> Self {
        let skips = self.plan().skips;
        let found = skips
            .iter()
            .any(|skip| (skip.reason, skip.line, skip.column) == (reason, line, column));
        assert!(found, "no {reason:?} at {line}:{column} in {skips:#?}");
        self
    }

    fn skips_nothing(self) -> Self {
        assert_eq!(self.plan().skips, []);
        self
    }

    /// The old values of the fields that change.
    fn changes(self, old: &[&str]) -> Self {
        let plan = self.plan();
        let found: Vec<&str> = plan.changes.iter().map(|change| change.old.as_str()).collect();
        assert_eq!(found, old, "in:\n{}", String::from_utf8_lossy(&self.bytes));
        self
    }
}

#[test]
fn each_part_of_an_image_can_be_asked_for() {
    given("full: old @\nname: old @name\ntag: old @tag\ndigest: old @digest\n")
        .with("fs:app", "ghcr.io/o/app:1.1.0@sha256:61")
        .becomes_exactly(concat!(
            "full: ghcr.io/o/app:1.1.0@sha256:61 # {\"$imagepolicy\": \"fs:app\"}\n",
            "name: ghcr.io/o/app # {\"$imagepolicy\": \"fs:app:name\"}\n",
            "tag: 1.1.0 # {\"$imagepolicy\": \"fs:app:tag\"}\n",
            "digest: sha256:61 # {\"$imagepolicy\": \"fs:app:digest\"}\n",
        ));
}

#[test]
fn a_digest_that_is_not_there_is_a_skip() {
    given("digest: sha256:00 @digest\n")
        .with_new()
        .stays()
        .skips(Reason::NoDigest, 1, 9);
}

#[test]
fn an_unknown_policy_is_a_skip_and_does_not_stop_the_others() {
    given("a: x # {\"$imagepolicy\": \"fs:nope\"}\nb: x @\n")
        .with_new()
        .becomes("a: x # {\"$imagepolicy\": \"fs:nope\"}\nb: new:2 @\n")
        .skips(Reason::UnknownPolicy, 1, 4);
}

#[test]
fn all_other_bytes_stay() {
    given("\u{feff}---\r\na:   x   @\r\n\r\n\r\nb: [1,2 ,  3]\r\nlist:\r\n    -   'x'\t@\r\nc: \"\\u00e9\"\r\n...\r\n# end")
        .with_new()
        .becomes("\u{feff}---\r\na:   new:2   @\r\n\r\n\r\nb: [1,2 ,  3]\r\nlist:\r\n    -   'new:2'\t@\r\nc: \"\\u00e9\"\r\n...\r\n# end")
        .skips_nothing();
    given("a: x @").with_new().becomes("a: new:2 @");
    given("a: x @\n---\n\u{feff}b: x @\n")
        .with_new()
        .becomes("a: new:2 @\n---\n\u{feff}b: new:2 @\n");
    given("a: x @\n--- @\n\u{feff}b: x @\n")
        .with_new()
        .becomes("a: new:2 @\n--- @\n\u{feff}b: new:2 @\n");
}

#[test]
fn anchors_and_tags_in_front_stay() {
    given("a: &a x @\nb: !!str x @\nc: !c &c x @\nd: &d !!str 'x' @\n")
        .with_new()
        .becomes("a: &a new:2 @\nb: !!str new:2 @\nc: !c &c new:2 @\nd: &d !!str 'new:2' @\n");
}

#[test]
fn a_tag_that_would_make_another_type_goes() {
    given("a: !!int 3 @\nb: &b !!float  3 @\nc: !!int &c '3' @\n")
        .with_new()
        .becomes("a: new:2 @\nb: &b new:2 @\nc: &c 'new:2' @\n");
}

#[test]
fn quotes_stay_and_come_only_where_they_are_needed() {
    for tag in ["1.10", "true", "on", "12", "1_000", "0x1f", "1e3", "2026-11-21", "null"] {
        given("a: x @tag\nb: 'x' @tag\nc: \"x\" @tag\nd: !!str x @tag\n")
            .with("fs:app", &format!("i:{tag}"))
            .becomes(&format!(
                "a: \"{tag}\" @tag\nb: '{tag}' @tag\nc: \"{tag}\" @tag\nd: !!str {tag} @tag\n"
            ));
    }
    for tag in ["1.2.3", "v1", "main-1f2e", "1.0.0-rc.1"] {
        given("a: 1 @tag\n")
            .with("fs:app", &format!("i:{tag}"))
            .becomes(&format!("a: {tag} @tag\n"));
    }
    given("a: [x, @\n  y]\n").with_new().becomes("a: [new:2, @\n  y]\n");
}

#[test]
fn scalars_over_several_lines_become_one_line() {
    given("a: x\n  y @\nb: 'x\n\n  y' @\nc: \"x\\\n  y\" @\nd: 1\n")
        .with_new()
        .becomes("a: new:2 @\nb: 'new:2' @\nc: \"new:2\" @\nd: 1\n");
}

#[test]
fn a_block_scalar_gets_one_line_and_no_line_break_at_its_end() {
    given("a: | @\n  x\n  y\n\nb: 1\n")
        .with_new()
        .becomes("a: |- @\n  new:2\n\nb: 1\n");
    given("a: >- @\n\n  x\nb: 1\n")
        .with_new()
        .becomes("a: >- @\n  new:2\nb: 1\n");
    given("a: |2+ @\r\n    x\r\n\r\nb: 1\r\n")
        .with_new()
        .becomes("a: |2- @\r\n  new:2\r\n\r\nb: 1\r\n");
    given("a: | @\nb: 1\n").with_new().becomes("a: |- @\n  new:2\nb: 1\n");
    given("a: | @\n      x\nb: 1\n")
        .with_new()
        .becomes("a: |- @\n      new:2\nb: 1\n");
    given("a:\n  b: |1 @\nc: 1\n")
        .with_new()
        .becomes("a:\n  b: |1- @\n   new:2\nc: 1\n");
    given("a: | @").with_new().becomes("a: |- @\n  new:2");
    given("a:\n  - | @\n     \n")
        .with_new()
        .becomes("a:\n  - |- @\n    new:2\n");
    given("a: | @\n  x\n    \nb: 1\n")
        .with_new()
        .becomes("a: |- @\n  new:2\nb: 1\n");
    given("a: | @\n  new:2").with_new().stays();
}

#[test]
fn a_value_that_is_there_already_stays_as_it_is_spelled() {
    given("a: 'new:2' @\nb: \"new\\x3a2\" @\nc: >-\n  new:2\n")
        .with_new()
        .stays()
        .skips_nothing();
}

/// Line comments of go-yaml.
#[test]
fn line_comments_mark_the_scalar_before_them() {
    for (text, old) in [
        ("a: 1 @\n", "1"),
        ("a: 1 #{\"$imagepolicy\": \"fs:app\"}\n", "1"),
        ("a: 1 ##  {\"$imagepolicy\": \"fs:app\",\"x\":\"y\"} \n", "1"),
        ("a: ~ @\n", "~"),
        ("a: \"\" @\n", ""),
        ("a: \"x\"@\n", "x"),
        ("a:\n- x\n- y @\n- z\n", "y"),
        ("a:\n- - x @\n", "x"),
        ("a: &x @\n  y\n", "y"),
        ("a: &x @\n  - y\n", "y"),
        ("a: !!str @\n  y\n", "y"),
        ("a: | @\n  y\nb: 1\n", "y\n"),
        ("a: [x, @\n  y]\n", "x"),
        ("a: [x @\n  , y]\n", "x"),
        ("a: [x, y @\n]\n", "y"),
        ("a: [b: , @\n  c]\n", "c"),
        ("a: {x: y, @\n z: v}\n", "y"),
        ("a: {x: y, z: v, @\n}\n", "v"),
        ("? a\n: b @\n", "b"),
        ("a:\n  b: 1 @\n# foot\n  c: 1\n", "1"),
        ("a: \"x\n  y\" @\n", "x y"),
        ("a: \"x\ny\" @\n", "x y"),
    ] {
        given(text).with_new().changes(&[old]).skips_nothing();
    }
}

/// Comments above count on scalars unless they are a mapping's value on the line of the key.
#[test]
fn comments_above_an_item_or_a_value_of_its_own_line_mark_it() {
    for (text, old) in [
        ("a:\n- @\n  x\n", "x"),
        ("a:\n  @\n- x\n", "x"),
        ("a:\n- x\n@\n- y\n", "y"),
        ("a:\n- x\n\n@\n\n- y\n", "y"),
        ("a:\n  - @\n    - x\n", "x"),
        ("a:\n  - @\n  - x\n", "x"),
        ("a:\n  @\n  x\n", "x"),
        ("a:\n  @\n\n  x\n", "x"),
        ("a: [\n  @\n  x, y]\n", "x"),
        ("a:\n  - @\n  - >+\n    x\n", "x\n"),
        ("a:\n  - x\n  @\n  -\n    |\n     y\nb: 1\n", "y\n"),
    ] {
        given(text).with_new().changes(&[old]).skips_nothing();
    }
    // Below the first item, with a blank line behind, it is that item's foot.
    given("a:\n- x\n@\n\n- y\n")
        .with_new()
        .stays()
        .skips(Reason::NotAScalar, 3, 1);
    // A collection in the item takes the comment above it.
    given("a:\n  @\n  - - x\n")
        .with_new()
        .stays()
        .skips(Reason::NotAScalar, 2, 3);
    given("a:\n- # more\n  @\n  x\n")
        .with_new()
        .stays()
        .skips(Reason::NotAScalar, 3, 3);
}

#[test]
fn markers_on_anything_but_a_value_are_skips() {
    for (text, line, column) in [
        ("a: @\n  x\n", 1, 4),
        ("a: @\nb: 2\n", 1, 4),
        ("a: {x: y} @\n", 1, 11),
        ("a: [] @\n", 1, 7),
        ("a: [1, 2] @\nb: x\n", 1, 11),
        ("- {a: 1} @\n- x\n", 1, 10),
        ("- [1, 2] @\n- x\n", 1, 10),
        ("a:\n  # c\n  [1]\n  @\n", 4, 3),
        ("[[1] @\n, x]\n", 1, 6),
        ("a: &a 1\nb: *a @\n", 2, 7),
        ("? a @\n: b\n", 1, 5),
        ("? @\n  a\n: b\n", 1, 3),
        ("? a\n: @\n  b\n", 2, 3),
        ("--- @\na: 1\n", 1, 5),
        ("@\na: 1\n", 1, 1),
        ("a: 1\n@\n", 2, 1),
        ("a: 1\n# é\n  @\nb: 1\n", 3, 3),
        ("{a: 1} @\n", 1, 8),
        // One text of several comments, and a foot.
        ("- # c\n\n # f\n@\n    - b\n", 4, 1),
        ("    - b\n    @\n\n    - b\n# e\n\n # f\n", 2, 5),
    ] {
        given(text).with_new().stays().skips(Reason::NotAScalar, line, column);
    }
    // A comment above it that is a foot does not count.
    given("k:\n\n  k:\n  # d\n\n @\n    - b\n").with_new().changes(&["b"]);
}

#[test]
fn comments_that_only_look_like_markers_are_skips() {
    for comment in [
        r##"# {"$imagepolicy": "fs:app"} words"##,
        r##"# see {"$imagepolicy": "fs:app"}"##,
        r##"# {'$imagepolicy': 'fs:app'}"##,
        r##"# {"$imagepolicy": "fs:"}"##,
        r##"# {"$imagepolicy": ":app"}"##,
        r##"# {"$imagepolicy": "fs:app:repository"}"##,
        r##"# {"$imagepolicy": "app"}"##,
        r##"# {"$imagepolicy": 1}"##,
    ] {
        given(&format!("é: x {comment}\n"))
            .with_new()
            .stays()
            .skips(Reason::MalformedMarker, 1, 6);
    }
    given("a: &x @\n - y @\n")
        .with_new()
        .stays()
        .skips(Reason::MalformedMarker, 1, 7);
}

/// IUA-100: comments are kept, whatever they hold.
#[test]
fn markers_of_fields_that_are_commented_out_are_told_as_such() {
    for (text, line, column) in [
        ("a:\n  # image: old @\n  b: 1\n", 2, 3),
        ("a:\n  #image: old #{\"$imagepolicy\": \"fs:app\"}\n  b: 1\n", 2, 3),
        ("a:\n  # - old @\n  - x\n", 2, 3),
        ("# - image: old @\n", 1, 1),
        ("\u{feff}# image: old @\na: 1\n", 1, 1),
        ("a: 1\r\n# tag: 'old' @tag\r\nb: 1\r\n", 2, 1),
        ("a: {\n# b: x, @\n c: d}\n", 2, 1),
        ("a: 1\n# image: old\n# {\"$imagepolicy\": \"fs:app\"}\nb: 1\n", 3, 1),
        ("a: 1\n\n# image: old # since May\n  @\n\n---\nb: 1\n", 4, 3),
        ("a: 1\n# image: old # see {\"$imagepolicy\": \"fs:app\"}\n", 2, 1),
    ] {
        given(text).with_new().stays().skips(Reason::Commented, line, column);
    }
}

#[test]
fn a_marker_beside_a_comment_that_is_no_field_stays_what_it_was() {
    for (text, reason, line, column) in [
        // Below a live field, by mistake.
        ("image: old\n@\n", Reason::NotAScalar, 2, 1),
        ("# image: x\nimage: old\n@\n", Reason::NotAScalar, 3, 1),
        ("image: old # image: x\n@\n", Reason::NotAScalar, 2, 1),
        ("# image: x\n\n@\nimage: old\n", Reason::NotAScalar, 3, 1),
        ("# the image\n@\nimage: old\n", Reason::NotAScalar, 2, 1),
        ("a: |\n  # image: x\n@\nb: 1\n", Reason::NotAScalar, 3, 1),
        // On the line of a live field.
        ("image: old # tag: x @\n", Reason::MalformedMarker, 1, 12),
    ] {
        given(text).with_new().stays().skips(reason, line, column);
    }
    // A marker of its own right counts, whatever stands above it.
    given("a:\n- x # - y\n@\n- old\n")
        .with_new()
        .changes(&["old"])
        .skips_nothing();
}

#[test]
fn marker_text_that_is_content_is_told() {
    given("a: |\n  image: old @\nb: 'image: old @'\nc: \"old # {\\\"$imagepolicy\\\": \\\"fs:app\\\"}\"\n")
        .with_new()
        .stays()
        .skips(Reason::NotAScalar, 2, 14)
        .skips(Reason::NotAScalar, 3, 4)
        .skips(Reason::NotAScalar, 4, 4);
    // A program, what is commented out, and a page about markers.
    given("a: |\n  grep '@' x\n  # image: old @\nREADME.md: |\n  image: old @\n")
        .with_new()
        .stays()
        .skips_nothing();
}

#[test]
fn words_about_markers_are_nothing() {
    for text in [
        "# note: set by hand @\nimage: old\n",
        "# all images have @, and no other marker\nimage: old\n",
        "image: old\n# Fields are marked so:\n#   @\nother: x\n",
        "# The comment\n# @ marks a field.\nimage: old\n",
    ] {
        given(text).with_new().stays().skips_nothing();
    }
}

#[test]
fn what_is_almost_a_marker_is_told() {
    for (marker, column) in [
        ("{\"$imagePolicy\": \"fs:app\"}", 12),
        ("{\"imagepolicy\": \"fs:app\"}", 12),
        ("$imagepolicy: fs:app", 12),
        ("{$imagepolicy: fs:app}", 12),
        ("{\"$imagepolicy\": \"fs/app:tag\"}", 12),
        // As a word processor writes quotes.
        ("{\u{201c}$imagepolicy\u{201d}: \u{201c}fs:app\u{201d}}", 12),
    ] {
        given(&format!("image: old # {marker}\n"))
            .with_new()
            .stays()
            .skips(Reason::MalformedMarker, 1, column);
        given(&format!("# {marker}\nimage: old\n"))
            .with_new()
            .stays()
            .skips(Reason::MalformedMarker, 1, 1);
        given(&format!("# image: old # {marker}\n")).with_new().stays();
    }
}

#[test]
fn lists_directives_duplicates_and_templates_are_edited() {
    given("- a: 1 @\n- x @\n")
        .with_new()
        .becomes("- a: new:2 @\n- new:2 @\n");
    given("%YAML 1.2\n---\na: 1 @\n")
        .with_new()
        .becomes("%YAML 1.2\n---\na: new:2 @\n");
    given("a: 1 @\nb: 1\nb: 2\n")
        .with_new()
        .becomes("a: new:2 @\nb: 1\nb: 2\n");
    // kyaml looks a field up by its key, so Flux changes only the first of two; both are marked, both change here.
    given("a: 1 @\na: 2 @\n").with_new().changes(&["1", "2"]);
    given("a: 1 @\nns: {{ .Values.ns }}\n")
        .with_new()
        .becomes("a: new:2 @\nns: {{ .Values.ns }}\n");
    // Flux drops a document after `...` that has no `---`.
    given("a: 1\n...\nb: 2 @\n")
        .with_new()
        .becomes("a: 1\n...\nb: new:2 @\n");
}

#[test]
fn what_does_not_parse_is_one_skip_with_its_place() {
    for (text, line, column) in [
        ("a: 1 @\nb: {\n", 2, 4),
        ("a: x\n\ty @\n", 1, 4),
        ("{{ if x }}\na: 1 @\n{{ end }}\n", 2, 1),
        ("a: 1 @\n\tb: 2\n", 2, 1),
        ("a: 1 @\n\t\nb: 2\n", 2, 1),
        ("-\ta: 1 @\n", 1, 2),
        ("? a\n:\tb @\n", 2, 2),
        ("a: \"x\\/y\" @\n", 1, 6),
        ("a: *b @\n", 1, 4),
        ("a: 1 @\nb: é\u{1}\n", 2, 5),
    ] {
        let given = given(text).with_new().stays();
        assert_eq!(given.plan().skips.len(), 1);
        given.skips(Reason::Unparsable, line, column);
    }
}

#[test]
fn tabs_that_go_yaml_takes_are_taken() {
    for text in [
        "a:\t1\t@\nb: 2\n",
        "a: 1 @\nb: [1,\n\t2]\n",
        "a: 1 @\nb: \"x\n\ty\"\n",
        "a: 1 @\n# c\n\t# d\nb: 2\n",
    ] {
        given(text).with_new().changes(&["1"]).skips_nothing();
    }
}

#[test]
fn other_files_are_only_reported() {
    given("{\"a\": \"x\"} @\n")
        .named("a.json")
        .with_new()
        .stays()
        .skips(Reason::NotYaml, 1, 12);
    given("é=1\nTAG=1.0 @tag\n")
        .named("a/.env")
        .with_new()
        .stays()
        .skips(Reason::NotYaml, 2, 9);
    given("x {\"$imagepolicy\": 1} \"$imagepolicy\"")
        .named("x")
        .with_new()
        .skips(Reason::NotYaml, 1, 3)
        .skips(Reason::NotYaml, 1, 23);
    given("\u{0} @").named("x.bin").with_new().stays().skips_nothing();
    given("a: 1 @\n")
        .named("Kustomization")
        .with_new()
        .becomes("a: new:2 @\n");
    given("a: 1 @\n")
        .named("x.YAML")
        .with_new()
        .stays()
        .skips(Reason::NotYaml, 1, 6);
}

#[test]
fn the_object_is_the_document_or_the_item_of_a_list() {
    let objects = |text: &str| -> Vec<String> {
        let plan = given(text).with_new().plan();
        let object = |change: &edit::Change| {
            let object = &change.object;
            format!(
                "{} {} {}/{}",
                object.api_version, object.kind, object.namespace, object.name
            )
        };
        plan.changes.iter().map(object).collect()
    };
    let one = "spec: {a: x, @\n}\nkind: D\nmetadata: {name: n, namespace: s, labels: {name: no}}\napiVersion: v1\n";
    assert_eq!(objects(one), ["v1 D s/n"]);
    let odd = "x: 1 @\nkind: true\nmetadata:\n  name: 5\n  namespace: ~\n";
    assert_eq!(objects(odd), [" true /5"]);
    let two = "kind: A\nkind: B\nx: 1 @\n---\nkind: C\nx: 1 @\n---\n- kind: D\n  x: 1 @\n";
    assert_eq!(objects(two), [" A /", " C /", "  /"]);
    let list = "items:\n- kind: A\n  metadata: {name: a}\n  x: {y: 1, @\n }\n- metadata:\n    name: b\n  x: [1] # c\n  z: 1 @\nkind: List\n";
    assert_eq!(objects(list), [" A /a", "  /b"]);
    let no_list = "kind: K\nitems:\n- kind: A\n  x: 1 @\n";
    assert_eq!(objects(no_list), [" K /"]);
}

#[test]
fn splice_refuses_bytes_that_were_not_scanned() {
    let given = given("a: x @\nb: y @\n").with_new();
    let plan = given.plan();
    assert!(matches!(
        edit::splice(b"a: z # other\nb: y # bytes\n", &plan),
        Err(edit::SpliceError::Moved { .. })
    ));
    assert!(edit::splice(b"", &plan).is_err());
}
