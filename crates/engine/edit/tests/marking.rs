//! Markers put behind fields, and taken away again.

#![allow(clippy::unwrap_used, clippy::panic)]

use bumpwright_edit::{FileKind, Formats, field_in, is_same_image, kind_of, mark, unmark};
use bumpwright_policy::PolicyName;

const IMAGE: &str = "ghcr.io/acme/web";

fn policy() -> PolicyName {
    PolicyName::new("fs", "web")
}

/// Each `@PART` is a marker that is put there; without them the text is as before. Taking them away brings that back.
#[track_caller]
fn marks(text: &str) {
    let parts = ["@:tag", "@:name", "@:digest", "@"];
    let before = parts
        .iter()
        .fold(text.to_owned(), |text, part| text.replace(&format!(" {part}"), ""));
    let after = parts.iter().fold(text.to_owned(), |text, part| {
        let marker = format!(" # {{\"$imagepolicy\": \"fs:web{}\"}}", part.trim_start_matches('@'));
        text.replace(&format!(" {part}"), &marker)
    });
    let marking = mark(&before, IMAGE, &policy()).unwrap();
    assert_eq!(String::from_utf8(marking.new.clone().unwrap()).unwrap(), after);
    assert_eq!(marking.left, []);
    let again = mark(&after, IMAGE, &policy()).unwrap();
    assert_eq!((again.new, again.changed.len()), (None, 0));
    let back = unmark(FileKind::Yaml, &after, Some(&policy())).unwrap();
    assert_eq!(String::from_utf8(back.new.unwrap()).unwrap(), before);
    assert_eq!(back.changed.len(), marking.changed.len());
}

#[test]
fn fields_of_the_image_are_marked() {
    marks("kind: A\nimage: ghcr.io/acme/web:1.0.0 @\nother: ghcr.io/acme/api:1.0.0\n");
    marks("a:\n- image: \"ghcr.io/acme/web:1.0.0\" @\r\n  b: 1\r\n");
    marks("args:\n- ghcr.io/acme/web@sha256:aa @\n- x");
    marks(
        "images:\n- name: web\n  newName: ghcr.io/acme/web @:name\n  newTag: 1.0.0 @:tag\n- name: ghcr.io/acme/web\n  newTag: '1' @:tag",
    );
    marks("image:\n  repository: ghcr.io/acme/web @:name\n  tag: 1.0.0 @:tag\n  pullPolicy: Always\n");
    marks(
        "image:\n  registry: ghcr.io\n  repository: acme/web\n  tag: \"1.0.0\" @:tag\n  digest: sha256:aa @:digest\n",
    );
    marks("a: {}\n---\nb: ghcr.io/acme/web:1 @\n---\nc: [1]\n");
}

#[test]
fn names_of_one_image_are_the_same() {
    for (one, other, same) in [
        ("acme/web", "docker.io/acme/web", true),
        ("index.docker.io/library/web", "web", true),
        ("Not/A:Name", "Not/A:Name", true),
        ("acme/web", "ghcr.io/acme/web", false),
        ("Not/A", "web", false),
    ] {
        assert_eq!(is_same_image(one, other), same, "{one} {other}");
        assert_eq!(is_same_image(other, one), same, "{other} {one}");
    }
}

#[test]
fn others_are_left_alone() {
    for text in [
        "spec:\n  image: ghcr.io/acme/web\n",
        "images:\n- name: ghcr.io/acme/web\n  newName: ghcr.io/acme/other\n  newTag: 1\n",
        "repository: ghcr.io/acme/web\n",
        "# image: ghcr.io/acme/web:1\n",
        "image: ghcr.io/acme/webs:1\n",
    ] {
        assert_eq!(
            mark(text, IMAGE, &policy()).unwrap(),
            bumpwright_edit::Marking::default(),
            "{text}"
        );
    }
    for text in [
        "a: {image: ghcr.io/acme/web:1}\n",
        "image: ghcr.io/acme/web:1 # pinned\n",
        "image: |\n  ghcr.io/acme/web:1\n",
    ] {
        let marking = mark(text, IMAGE, &policy()).unwrap();
        assert_eq!((marking.new, marking.left.len()), (None, 1), "{text}");
    }
    assert!(mark("a: [", IMAGE, &policy()).is_err());
}

#[test]
fn markers_are_taken_away() {
    let marker = "# {\"$imagepolicy\": \"fs:web\"}";
    for (before, after) in [
        (format!("image: |  {marker}\n  y\n"), "image: |\n  y\n".to_owned()),
        (
            format!("image: x   {marker}  \r\nb: 1\r\n"),
            "image: x\r\nb: 1\r\n".to_owned(),
        ),
    ] {
        let marking = unmark(FileKind::Yaml, &before, None).unwrap();
        assert_eq!(
            marking.new.map(|new| String::from_utf8(new).unwrap()),
            Some(after),
            "{before}"
        );
    }
    let other = PolicyName::new("fs", "api");
    assert_eq!(
        unmark(FileKind::Yaml, &format!("image: x {marker}\n"), Some(&other))
            .unwrap()
            .new,
        None
    );
    let above = format!("a = 1\n  {marker}\ntag = \"1\"\n");
    let marking = unmark(kind_of("a.tf", Formats::all()), &above, None).unwrap();
    assert_eq!(marking.new.unwrap(), b"a = 1\ntag = \"1\"\n");
    let terraform = "tag = \"1\" /* {\"$imagepolicy\": \"fs:web\"} */\n";
    let marking = unmark(kind_of("a.tf", Formats::all()), terraform, None).unwrap();
    assert_eq!(marking.new.unwrap(), b"tag = \"1\"\n");
}

/// Fields are marked by the byte where they begin; what cannot have the marker is reported.
#[test]
fn chosen_fields_are_marked() {
    let text = "a: 1.0\nb: 2.0 # why\nc: 3.0 # {\"$imagepolicy\": \"x:y:tag\"}\nd:\n";
    let setter = |part| bumpwright_edit::Setter { policy: policy(), part };
    let at = |needle: &str| text.find(needle).unwrap();
    let wanted = std::collections::BTreeMap::from([
        (at("1.0"), setter(bumpwright_edit::Part::Tag)),
        (at("2.0"), setter(bumpwright_edit::Part::Tag)),
        (at("3.0"), setter(bumpwright_edit::Part::Tag)),
        (at("d:") + 2, setter(bumpwright_edit::Part::Tag)),
    ]);
    let marking = bumpwright_edit::mark_at(text, &wanted).unwrap();
    let new = String::from_utf8(marking.new.unwrap()).unwrap();
    let marker = format!(
        "a: 1.0 # {{\"$imagepolicy\": \"{}\"}}\n",
        setter(bumpwright_edit::Part::Tag)
    );
    assert_eq!(new, text.replace("a: 1.0\n", &marker));
    let left: Vec<(usize, &str)> = marking.left.iter().map(|field| (field.line, field.why)).collect();
    assert_eq!(
        left,
        [
            (
                2,
                "it has a comment, and a marker has to be the only one: move that to a line of its own"
            ),
            (
                3,
                "it has the marker of another policy: take that away first (`bumpwright markers remove`)"
            ),
            (4, "it holds nothing: write a value there"),
        ]
    );
}

#[test]
fn a_field_is_found_by_its_place() {
    let yaml = "a: 1\nb: {c: 2, d: 3}\n";
    let toml = "a = 1\nb = [2, 3]\n";
    for (kind, text, starts) in [
        (FileKind::Yaml, yaml, [3, 12, 18]),
        (FileKind::Text(bumpwright_edit::Format::Toml), toml, [4, 11, 14]),
    ] {
        let [a, c, d] = starts;
        assert_eq!(field_in(kind, text, 1, None), Ok(a));
        let columns = [c, d].map(|start| start - text.find('\n').unwrap());
        for (column, start) in columns.into_iter().zip([c, d]) {
            assert_eq!(field_in(kind, text, 2, Some(column)), Ok(start));
        }
        let [first, _] = columns;
        let refused = [(2, None), (2, Some(1)), (3, None)].map(|(line, column)| field_in(kind, text, line, column));
        let refused = refused.map(|found| found.map_err(|error| error.to_string()));
        assert_eq!(
            refused,
            [
                Err(format!(
                    "several values are on line 2: add the column of one, as in :2:{first}"
                )),
                Err("no value begins at 2:1".to_owned()),
                Err("no value is on line 3".to_owned()),
            ]
        );
    }
}
