//! Properties of every text: writing is stable, places are right, and no text takes more than its share of time or
//! stack.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_yaml::{
    Duplicates, FileId, Files, Node, ReadOptions, SequenceIndent, Value, read, read_first, read_resources, write_json,
    write_kyaml, write_sigs,
};

fn kyaml(text: &str) -> Result<Node, String> {
    let options = ReadOptions::kyaml(FileId::NONE);
    let node = read_first(text.as_bytes(), &options).map_err(|error| error.to_string())?;
    node.ok_or_else(|| "empty".to_owned())
}

fn texts() -> Vec<String> {
    let folder = format!("{}/../../../fixtures/yaml", env!("CARGO_MANIFEST_DIR"));
    let tables = ["scalars", "strings", "blocks", "documents"];
    let read = |table| std::fs::read_to_string(format!("{folder}/{table}.jsonl")).unwrap();
    let rows: Vec<String> = tables.into_iter().map(read).collect();
    let row = |row: &str| {
        serde_json::from_str::<serde_json::Value>(row).unwrap()["in"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    rows.iter().flat_map(|rows| rows.lines()).map(row).collect()
}

#[test]
fn what_was_written_is_read_and_written_alike() {
    let mut checked = 0;
    for text in texts() {
        let Ok(node) = kyaml(&text) else { continue };
        let mut first = String::new();
        if write_sigs(&node, &mut first).is_err() {
            continue;
        }
        // It is written for readers like v2; v3 parses `0o-7` as a number.
        let options = ReadOptions::sigs_strict(FileId::NONE);
        let again = read_first(first.as_bytes(), &options)
            .unwrap_or_else(|error| panic!("{text:?} was written as {first:?}: {error}"));
        let mut second = String::new();
        write_sigs(&again.unwrap(), &mut second).unwrap();
        // Numbers lose digits once, dates become text once: both in the first writing.
        assert_eq!(first, second, "{text:?}");
        checked += 1;
    }
    assert!(checked > 4000, "{checked}");
}

#[test]
fn kyaml_s_form_says_the_same() {
    let mut checked = 0;
    // go-yaml v3 does not write all folded text so that it reads it alike.
    for text in texts().into_iter().filter(|text| !text.contains('>')) {
        let Ok(node) = kyaml(&text) else { continue };
        for indent in [SequenceIndent::Compact, SequenceIndent::Wide] {
            let (mut form, mut json, mut again) = (String::new(), String::new(), String::new());
            write_kyaml(&node, indent, &mut form);
            if write_json(&node, &mut json).is_err() {
                continue;
            }
            let node = kyaml(&form).unwrap_or_else(|error| panic!("{text:?} as {form:?}: {error}"));
            write_json(&node, &mut again).unwrap();
            assert_eq!(json, again, "{text:?} as {form:?}");
            checked += 1;
        }
    }
    assert!(checked > 8000, "{checked}");
}

/// The text at a line and a column, found by counting lines and characters.
fn at(text: &str, line: u32, column: u32) -> &str {
    let row = text.split('\n').nth(line as usize - 1).unwrap_or("");
    let from = row
        .char_indices()
        .nth(column as usize - 1)
        .map_or(row.len(), |(at, _)| at);
    &row[from..]
}

/// Checks that every node of a tree without escapes is at its place.
fn check_places(text: &str, node: &Node, checked: &mut usize) {
    let here = at(text, node.place.line, node.place.column);
    match &node.value {
        Value::Scalar(scalar) => {
            *checked += 1;
            assert!(
                here.starts_with(scalar.text.as_str()),
                "{:?} is not at {here:?} of {text:?}",
                scalar.text
            );
        }
        Value::Sequence(sequence) => {
            assert!(here.starts_with(if sequence.flow { '[' } else { '-' }), "{here:?}");
            sequence.items.iter().for_each(|item| check_places(text, item, checked));
        }
        Value::Mapping(mapping) => {
            if mapping.flow {
                assert!(here.starts_with('{'), "{here:?}");
            }
            for entry in &mapping.entries {
                let key = at(text, entry.place.line, entry.place.column);
                assert!(key.starts_with(entry.key.text.as_str()), "{key:?} of {text:?}");
                check_places(text, &entry.value, checked);
            }
        }
    }
}

#[test]
fn places_are_where_things_stand() {
    let words = ["a", "bc", "é", "ünï", "x1"];
    let mut random = fastrand::Rng::with_seed(7);
    let mut pick = |count: usize| random.usize(..count);
    let mut checked = 0;
    for _ in 0..500 {
        let mut text = "# é\n".repeat(pick(3));
        let mut number = 0;
        grow(&mut text, 0, &mut number, &mut pick, &words);
        let node = kyaml(&text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        check_places(&text, &node, &mut checked);
    }
    assert!(checked > 2000, "{checked}");
}

/// Adds a block mapping whose keys are all different, and sets below it.
fn grow(text: &mut String, depth: usize, number: &mut u32, pick: &mut dyn FnMut(usize) -> usize, words: &[&str]) {
    let pad = " ".repeat(depth * 2);
    for _ in 0..1 + pick(3) {
        *number += 1;
        let word = words[pick(words.len())];
        text.push_str(&format!("{pad}{word}{number}:"));
        match if depth > 3 { pick(3) } else { pick(5) } {
            0 => text.push_str(&format!("  {word}\n")),
            1 => text.push_str(&format!(" [{word}, {{{word}: {word}}}, {word}] # c\n")),
            2 => text.push_str(&format!("\n{pad}- {word}\n{pad}-   {word}\n\n{pad}- {word}: {word}\n")),
            _ => {
                text.push('\n');
                grow(text, depth + 1, number, pick, words);
            }
        }
    }
}

#[test]
fn errors_say_where() {
    let mut files = Files::default();
    let file = files.add("overlay/patch.yaml");
    let options = ReadOptions::kyaml(file);
    let shown = |text: &str| read(text.as_bytes(), &options).unwrap_err().show(&files);
    assert_eq!(
        shown("a: 1\nb: [1, 2\nc: 3\n"),
        "overlay/patch.yaml:3:2: did not find expected ',' or ']', while parsing a flow sequence"
    );
    assert_eq!(
        shown("a:\n  b: 1\n  c: 2\n  b: 3\n"),
        "overlay/patch.yaml:4:3: mapping key \"b\" already defined at line 2"
    );
    assert_eq!(
        shown("a: *x\n"),
        "overlay/patch.yaml:1:4: unknown anchor 'x' referenced"
    );
    assert_eq!(
        shown("a: &x [*x]\n"),
        "overlay/patch.yaml:1:8: anchor 'x' value contains itself"
    );
    assert_eq!(
        shown("a: é\u{7f}\n"),
        "overlay/patch.yaml:1:5: control characters are not allowed"
    );
    let node = read(b"a:\n- b: .inf\n", &options).unwrap().remove(0);
    let error = write_sigs(&node, &mut String::new()).unwrap_err();
    assert_eq!(
        error.show(&files),
        "overlay/patch.yaml:2:6: .inf is not a valid JSON number"
    );
    assert_eq!(error.go(), "json: unsupported value: +Inf");
}

#[test]
fn resources_are_parted_as_kyaml_parts_them() {
    let mut files = Files::default();
    let file = files.add("all.yaml");
    let text = "# head\r\na: 1\r\n--- # second\n---\n\nb: |\n  x\n---\nc: 3\n...\nd: 4\n---\nnull\n";
    let documents = read_resources(text.as_bytes(), file).unwrap();
    let json: Vec<String> = documents.iter().map(json_of).collect();
    assert_eq!(json, [r#"{"a":1}"#, r#"{"b":"x\n"}"#, r#"{"c":3}"#]);
    let places: Vec<_> = documents.iter().map(|node| files.show(node.place).unwrap()).collect();
    assert_eq!(places, ["all.yaml:2:1", "all.yaml:6:1", "all.yaml:9:1"]);
    let error = read_resources(b"a: 1\n--- b: 2\n", file).unwrap_err();
    assert_eq!(error.show(&files), "all.yaml:2:1: invalid document separator: --- b: 2");
}

fn json_of(node: &Node) -> String {
    let mut json = String::new();
    write_json(node, &mut json).unwrap();
    json
}

#[test]
fn encodings_are_told_by_their_mark() {
    let bytes = |units: Vec<u16>, little: bool| -> Vec<u8> {
        let unit = |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
        units.into_iter().flat_map(unit).collect()
    };
    let units: Vec<u16> = "\u{feff}a: é😀\n".encode_utf16().collect();
    let options = ReadOptions::kyaml(FileId::NONE);
    for text in [
        bytes(units.clone(), true),
        bytes(units, false),
        "\u{feff}a: é😀\n".as_bytes().to_vec(),
        "a: é😀\n".as_bytes().to_vec(),
    ] {
        let node = read_first(&text, &options).unwrap().unwrap();
        assert_eq!(json_of(&node), "{\"a\":\"é😀\"}");
    }
    let error = read_first(b"a: \xff", &options).unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.go()),
        ("1:4: invalid leading UTF-8 octet", "yaml: invalid leading UTF-8 octet")
    );
}

#[test]
fn nothing_nests_without_end() {
    for text in [
        "[".repeat(100_000),
        "- ".repeat(100_000),
        "{a: ".repeat(50_000),
        "? ".repeat(50_000),
    ] {
        assert!(kyaml(&text).unwrap_err().contains("nested more than 1000 levels deep"));
    }
    // The targets of aliases count too.
    let nested = |inside: &str| format!("{}{inside}{}", "[".repeat(600), "]".repeat(600));
    let text = format!("a: &a {}\nb: {}\n", nested("x"), nested("*a"));
    assert!(kyaml(&text).unwrap_err().contains("nested more than 1000 levels deep"));
    let fine = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let node = kyaml(&fine).unwrap();
    assert_eq!(json_of(&node), fine);
    let (mut printed, mut form) = (String::new(), String::new());
    write_sigs(&node, &mut printed).unwrap();
    write_kyaml(&node, SequenceIndent::Wide, &mut form);
    assert_eq!((printed.matches('-').count(), form.trim_end()), (999, fine.as_str()));
}

/// go-yaml v2 merges by a key `<<`, kyaml by the tag, and removes only a key `<<`.
#[test]
fn other_keys_with_the_tag_of_merge_keys() {
    let v2 = |text: &str| {
        let node = read_first(text.as_bytes(), &ReadOptions::sigs(FileId::NONE)).unwrap();
        json_of(&node.unwrap())
    };
    for (text, by_v2, by_kyaml) in [
        ("!!merge a: {b: 1}", r#"{"a":{"b":1}}"#, r#"{"a":{"b":1},"b":1}"#),
        (r#"!!merge "<<": {b: 1}"#, r#"{"b":1}"#, r#"{"b":1}"#),
        (
            r#"{"<<": 1, !!merge a: {b: 1}}"#,
            r#"{"\u003c\u003c":1,"a":{"b":1}}"#,
            r#"{"a":{"b":1},"b":1}"#,
        ),
    ] {
        assert_eq!(v2(text), by_v2, "{text}");
        assert_eq!(json_of(&kyaml(text).unwrap()), by_kyaml, "{text}");
    }
    assert_eq!(v2("!!merge a: 1"), r#"{"a":1}"#);
    assert!(kyaml("!!merge a: 1").unwrap_err().contains("map merge requires map"));
    // What merges and stays is there twice, and in each mapping around it again.
    let nested = format!("{}{{x: 1}}{}", "{!!merge a: ".repeat(60), "}".repeat(60));
    assert!(kyaml(&nested).unwrap_err().contains("excessive aliasing"));
}

#[test]
fn aliases_do_not_multiply_without_end() {
    let mut text = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..9 {
        let items = vec![format!("*a{}", level - 1); 10].join(",");
        text.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    assert!(kyaml(&text).unwrap_err().contains("excessive aliasing"));
    let base: String = (0..2000).map(|key| format!("  k{key}: v\n")).collect();
    let users: String = (0..2000).map(|user| format!("u{user}:\n  <<: *b\n")).collect();
    assert!(
        kyaml(&format!("b: &b\n{base}{users}"))
            .unwrap_err()
            .contains("excessive aliasing")
    );
    let modest = format!(
        "b: &b {{x: 1}}\n{}",
        (0..500).map(|n| format!("u{n}: *b\n")).collect::<String>()
    );
    assert!(kyaml(&modest).is_ok());
}

/// Texts so long that only linear time can parse them.
#[test]
fn time_grows_with_the_text_only() {
    let long = "word ".repeat(400_000);
    let many: String = (0..100_000).map(|key| format!("k{key}: {key}\n")).collect();
    let flow = format!("a: [{}]\n", "x, ".repeat(300_000));
    let quoted = format!("a: \"{}\"\n", "\\n ".repeat(300_000));
    let block = format!("a: |\n{}", "  line\n\n".repeat(200_000));
    for text in [
        format!("a: {long}\n"),
        format!("a: '{long}'\n"),
        many,
        flow,
        quoted,
        block,
    ] {
        let node = kyaml(&text).unwrap();
        let mut out = String::new();
        write_sigs(&node, &mut out).unwrap();
        assert!(out.len() > 300_000);
    }
}

#[test]
fn duplicates_are_handled_as_asked() {
    let text = b"a: 1\nb: 2\na: 3\n";
    let read = |duplicates| {
        let options = ReadOptions {
            duplicates,
            ..ReadOptions::kyaml(FileId::NONE)
        };
        read_first(text, &options).map(|node| node.unwrap())
    };
    assert!(read(Duplicates::Refuse).is_err());
    assert_eq!(json_of(&read(Duplicates::Last).unwrap()), r#"{"a":3,"b":2}"#);
    let both = read(Duplicates::Keep).unwrap();
    assert_eq!(both.as_mapping().unwrap().entries.len(), 3);
    assert!(write_json(&both, &mut String::new()).is_err());
}
