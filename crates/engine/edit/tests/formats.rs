//! Markers outside of YAML: what is edited, and what is reported and left alone.

#![allow(clippy::unwrap_used, clippy::panic)]

use bumpwright_edit::{Formats, Images, Reason, Scan, Verdict, kind_of, mark_in, plan, scalar, scan, splice};
use bumpwright_policy::{LatestRef, PolicyName};

struct Newest(LatestRef);

impl Images for Newest {
    fn verdict(&self, _: &PolicyName) -> Verdict<'_> {
        Verdict::Image(&self.0)
    }
}

fn newest() -> Newest {
    Newest(LatestRef {
        name: "ghcr.io/acme/web".to_owned(),
        tag: "2.0.0".to_owned(),
        digest: Some(format!("sha256:{}", "0a".repeat(32))),
    })
}

/// `@` stands for a marker of the whole reference, `@tag` for one of its tag.
fn written(text: &str) -> String {
    text.replace("@tag", r#"{"$imagepolicy": "fs:web:tag"}"#)
        .replace("@digest", r#"{"$imagepolicy": "fs:web:digest"}"#)
        .replace("@json", r#""{\"$imagepolicy\": \"fs:web:tag\"}""#)
        .replace('@', r#"{"$imagepolicy": "fs:web"}"#)
}

/// A digest beside a tag that nothing sets, in the same table, block or object.
#[test]
fn tags_do_not_leave_the_digest_beside_them() {
    let digest = format!("sha256:{}", "0a".repeat(32));
    for (name, text) in [
        (".env", format!("WEB_TAG=1.0.0 # MARKER\nWEB_DIGEST={digest}\n")),
        (
            "a.toml",
            format!("[web]\ntag = \"1.0.0\" # MARKER\ndigest = \"{digest}\"\n"),
        ),
        (
            "a.tf",
            format!("locals {{\n  digest = \"{digest}\"\n  tag    = \"1.0.0\" # MARKER\n}}\n"),
        ),
        ("Makefile", format!("TAG := 1.0.0 # MARKER\nDIGEST := {digest}\n")),
    ] {
        let text = text.replace("MARKER", "{\"$imagepolicy\": \"fs:app:tag\"}");
        let scan = scanned(name, &text);
        assert_eq!(scan.neighbours.len(), 1, "{name}: {scan:#?}");
        let apart = text
            .replace("[web]\ntag", "[web]\ndigest = \"\"\n[api]\ntag")
            .replace("digest = \"sha", "checksum = \"sha")
            .replace("DIGEST", "CHECKSUM");
        assert_eq!(scanned(name, &apart).neighbours, [], "{name}: {apart}");
    }
}

fn scanned(name: &str, text: &str) -> Scan {
    scan(kind_of(name, Formats::all()), text.as_bytes())
}

fn edited(name: &str, text: &str) -> String {
    let plan = plan(name, &scanned(name, text), &newest());
    assert_eq!(plan.skips, [], "{name}: {text}");
    String::from_utf8(splice(text.as_bytes(), &plan).unwrap()).unwrap()
}

/// Each `OLD` of the text becomes the new tag or reference, and nothing else changes; a second run changes nothing.
#[track_caller]
fn edits(name: &str, text: &str) {
    let has_old = text.contains("OLD") || text.contains("REF");
    assert!(has_old, "{text}");
    let before = written(text)
        .replace("OLD", "1.0.0")
        .replace("REF", "ghcr.io/acme/web:1.0.0");
    let reference = format!("ghcr.io/acme/web:2.0.0@sha256:{}", "0a".repeat(32));
    let after = written(text).replace("OLD", "2.0.0").replace("REF", &reference);
    assert_eq!(edited(name, &before), after, "{name}");
    assert_eq!(edited(name, &after), after, "{name}, again");
}

#[track_caller]
fn skips(name: &str, text: &str, reason: Reason) {
    let found = scanned(name, &written(text));
    assert_eq!(found.sites, [], "{name}: {text}");
    let reasons: Vec<Reason> = found.skips.iter().map(|skip| skip.reason).collect();
    assert_eq!(reasons, [reason], "{name}: {text}");
}

#[test]
fn hcl() {
    for text in [
        "tag = \"OLD\" # @tag\n",
        "tag = \"OLD\" // @tag",
        "tag = \"OLD\" /* @tag */\nother = \"1.0.0\"\n",
        "# @tag\ntag = \"OLD\"\n",
        "module \"web\" {\n  source = \"./web\"\n  tag    = \"OLD\" # @tag\n}\n",
        "module \"web\" { tag = \"OLD\" } # @tag\n",
        "images = {\n  \"web\" = \"REF\" # @\n  api : \"x\"\n}\n",
        "images = [\n  \"REF\", # @\n  \"b\",\n]\n",
        "images = [\"REF\"] # @\n",
        "images = [\n  lower(x),\n  \"REF\", # @\n]\n",
        "a = <<-EOT\n  tag = \"1.0.0\" \n  EOT\ntag = \"OLD\" # @tag\n",
        "a = \"${lookup(var.a, \"b\")}\"\ntag = \"OLD\" # @tag\r\n",
        "x = \"a # b\" \ntag = \"OLD\" # @tag\n",
        "on = var.a == \"b\" ? 1 : 2\ntag = \"OLD\" # @tag\n",
        "m = { for k, v in x : k => v }\ntag = \"OLD\" # @tag\n",
    ] {
        edits("main.tf", text);
    }
    for text in [
        "tag = \"1.0.0-${var.suffix}\" # @tag\n",
        "tag = \"%{ if x }1%{ endif }\" # @tag\n",
        "tag = \"${f(\"}\")}\" # @tag\n",
    ] {
        skips("main.tf", text, Reason::Interpolated);
    }
    for text in [
        "tag = var.tag # @tag\n",
        "tag = lower(\"1.0.0\") # @tag\n",
        "tag = coalesce(\"1\", \"2\", x) # @tag\n",
        "tag = x ? \"1.0.0\" : \"2.0.0\" # @tag\n",
        "module \"web\" {\n  on = var.tag == \"1.0.0\" # @tag\n}\n",
        "module \"web\" { # @tag\n}\n",
        "a = [\"1\", \"2\"] # @tag\n",
        "tag = \"1\\\"\" # @tag\n",
        "tag = \"1.0.0$${x}\" # @tag\n",
        "a = <<EOT\ntag = \"1\" # @tag\nEOT\n",
        "a = \"# @tag\n",
        "tag = \"1.0.0\"\n\n# @tag\n",
    ] {
        skips("main.tf", text, Reason::NotAScalar);
    }
    skips("main.tf", "# tag = \"1.0.0\" # @tag\n", Reason::Commented);
    skips("main.tf", "tag = \"1.0.0\" # see @tag\n", Reason::MalformedMarker);
    skips(
        "main.tf",
        "# @tag\ntag = \"1.0.0\" # @tag\n"
            .replacen("tag = \"1.0.0\" # @tag", "tag = 1 # no", 1)
            .as_str(),
        Reason::NotAScalar,
    );
}

#[test]
fn dockerfiles() {
    for text in [
        "# @\nFROM REF\n",
        "# @\nFROM --platform=$BUILDPLATFORM REF AS build\n",
        "# @\nFROM --platform=a\\ b REF\n",
        "# @tag\nARG VERSION=OLD\n",
        "# @tag\nARG VERSION=\"OLD\"\n",
        "# @tag\nENV VERSION='OLD'\n",
        "# @tag\nENV VERSION OLD\n",
        "# @\nCOPY --from=REF /a /b\n",
        "# @\nRUN --mount=type=bind,from=REF,target=/x make\n",
        "ENV A=1 \\\n  # @tag\n  B=OLD \\\n  C=3\n",
        "ENV A=\"1 2\" \\\n# @tag\nB=OLD\n",
        "# @\nONBUILD COPY --from=REF /a /b\n",
        "# escape=`\nENV A=1 `\n# @tag\n  B=OLD\n",
        "RUN <<EOF\n# FROM x\nEOF\n# @\nFROM REF\n",
        "# @tag\nLABEL org.opencontainers.image.version=OLD\r\n",
    ] {
        for name in ["Dockerfile", "a/Containerfile", "web.dockerfile", "Dockerfile.web"] {
            edits(name, text);
        }
    }
    for (text, reason) in [
        ("FROM x # @\n", Reason::NotAScalar),
        ("# @\n\nFROM x\n", Reason::NotAScalar),
        ("# @\nFROM x:$TAG\n", Reason::Interpolated),
        ("# @tag\nARG VERSION\n", Reason::NotAScalar),
        ("# @tag\nENV A=1 B=2\n", Reason::NotAScalar),
        ("# @tag\nENV A a b\n", Reason::NotAScalar),
        ("# @tag\nRUN echo 1.0.0\n", Reason::NotAScalar),
        ("RUN <<EOF\n# @\nFROM x\nEOF\n", Reason::NotAScalar),
        ("RUN <<EOF\n\tEOF\n# @\nFROM x\nEOF\n", Reason::NotAScalar),
        ("# # @\n", Reason::Commented),
        ("# @tag\nARG VERSION=1.0\\\n.0\n", Reason::NotAScalar),
        ("# @tag\nARG VERSION=1.0\\\n# a note\n\n.0\n", Reason::NotAScalar),
        // Two escapes do not go on on the next line.
        (
            "ENV A=1\\\\\n# @\nRUN --mount=type=bind,target=/x make\n",
            Reason::NotAScalar,
        ),
    ] {
        skips("Dockerfile", text, reason);
    }
}

#[test]
fn lines_of_assignments() {
    for text in [
        "TAG=OLD # @tag\n",
        "export TAG=OLD # @tag\n",
        "TAG=\"OLD\" # @tag\n",
        "TAG='OLD' # @tag\n",
        "# @tag\nTAG=OLD\n",
        "A=\"x\ny # z\"\nTAG=OLD # @tag\n",
        "A=it's\nTAG=OLD # @tag\n",
        "WEB_IMAGE=REF # @\n",
    ] {
        edits("deploy/.env", text);
        edits("web.env", text);
    }
    skips(".env", "TAG=${A:-1.0.0} # @tag\n", Reason::Interpolated);
    skips(".env", "TAG=1.0.0#@tag\n", Reason::NotAScalar);
    skips(".env", "A=\"x # @tag\ny\"\n", Reason::NotAScalar);
    skips(".env", "A=\"x\\\"\nTAG=1.0.0 # @tag\n\"\n", Reason::NotAScalar);
    for text in [
        "[web]\ntag = OLD ; @tag\n",
        "[web]\ntag: OLD # @tag\n",
        "; @tag\ntag=OLD\n",
        "tag = \"OLD\" ; @tag\r\n",
    ] {
        edits("app.ini", text);
    }
    edits("app.ini", "tag = OLD ; @tag\n  # a note\nother = 1\n");
    for text in [
        "tag = 1.0.0 ; @tag\n  more\n",
        "tag = 1.0.0 ; @tag\n\n  more\n",
        "tag = 1.0.0 ; @tag\n# a note\n  more\n",
    ] {
        skips("app.ini", text, Reason::NotAScalar);
    }
    skips("app.ini", "[web] ; @tag\n", Reason::NotAScalar);
    // Only INI files have comments that begin so.
    edits("app.ini", "; @tag\ntag = OLD\n");
    for name in [".env", "Makefile"] {
        skips(name, "; @tag\nTAG=1.0.0\n", Reason::NotAScalar);
    }
    skips("app.ini", "tag = ${a} ; @tag\n", Reason::Interpolated);
    for text in [
        "TAG := OLD # @tag\n",
        "TAG ?= OLD# @tag\nall:\n\techo TAG = 1.0.0\n",
        "export TAG = OLD # @tag\n",
        "# @\nIMAGE = REF\n",
        "A = x \\\n  y\nTAG = OLD # @tag\n",
        "all: ; A=1\nTAG = OLD # @tag\n",
    ] {
        edits("Makefile", text);
        edits("images.mk", text);
    }
    skips("Makefile", "TAG = $(A) # @tag\n", Reason::Interpolated);
    skips("Makefile", "all:\n\tTAG=1.0.0 make # @tag\n", Reason::NotAScalar);
    skips("Makefile", "define A\nTAG = 1 # @tag\nendef\n", Reason::NotAScalar);
    skips("Makefile", "ARGS = --tag 1.0.0 # @tag\n", Reason::NotAScalar);
    for text in [
        "# @tag\ntag=OLD\n",
        "! @tag\ntag: OLD\n",
        "a = x \\\n  y\n# @tag\n  tag   OLD\r\n",
        "# @\nimage=REF",
    ] {
        edits("app.properties", text);
    }
    skips("app.properties", "tag=1.0.0 # @tag\n", Reason::NotAScalar);
    skips("app.properties", "# @tag\ntag=${a}\n", Reason::Interpolated);
    skips("app.properties", "# @tag\ntag\n", Reason::NotAScalar);
}

#[test]
fn shell() {
    for text in [
        "TAG=OLD # @tag\n",
        "export TAG=\"OLD\" # @tag\n",
        "readonly IMAGE='REF' # @\n",
        "# @tag\nTAG=OLD make\n",
        "cat <<EOF\nTAG=1.0.0 # no\nEOF\nTAG=OLD # @tag\n",
        "cat <<-'E F'\n\tx\n\tE F\nTAG=OLD # @tag\n",
        "a=$(echo \"$(b)\" # c\n)\nTAG=OLD # @tag\n",
        "echo ${#a} 'x\n# y'\nTAG=OLD # @tag\n",
        "if x; then TAG=OLD; fi # @tag\n",
        "local -r TAG=OLD # @tag\n",
        "A=(1 B=2)\nTAG=OLD # @tag\n",
        "((a = (1 << 2) + 1))\nTAG=OLD # @tag\n",
        "((:); cat <<EOF\n)) # x\nEOF\n)\nTAG=OLD # @tag\n",
    ] {
        edits("build.sh", text);
    }
    skips("build.sh", "TAG=${TAG:-1.0.0} # @tag\n", Reason::Interpolated);
    skips("build.sh", "TAG=\"$(x)\" # @tag\n", Reason::Interpolated);
    skips("build.sh", "TAG=`x y` # @tag\n", Reason::Interpolated);
    for text in [
        "docker pull web:1.0.0 # @\n",
        "echo TAG=1.0.0 # @tag\n",
        "TAG=(1.0.0) # @tag\n",
        "TAG=1.\"0\".0 # @tag\n",
        "TAG=1.0.0#@tag\n",
        "cat <<EOF\nTAG=1.0.0 # @tag\nEOF\n",
        "cat <<EOF\n\tEOF\nTAG=1.0.0 # @tag\nEOF\n",
        "A=1 B=2 # @tag\n",
    ] {
        let found = scanned("build.sh", &written(text));
        assert_eq!(found.sites, [], "{text}");
        assert!(!found.skips.is_empty(), "{text}");
    }
    skips("build.sh", "# TAG=1.0.0 # @tag\n", Reason::Commented);
}

#[test]
fn toml() {
    for text in [
        "tag = \"OLD\" # @tag\n",
        "tag = 'OLD' # @tag\n",
        "# @tag\ntag = \"OLD\"\n",
        "[images.\"a # b\"]\nweb = \"REF\" # @\n",
        "a = \"\"\"\nb = \"1.0.0\" # no\n\"\"\"\ntag = \"OLD\" # @tag\n",
        "web = { tag = \"OLD\" } # @tag\n",
        "images = [\n  \"REF\", # @\n  \"x\",\n]\n",
        "images = [\n  \"x\",\n  \"REF\", # @\n]\n",
        "images = [\n  \"x\\\"\",\n  \"REF\", # @\n]\n",
        "d = 2026-01-01\ntag = \"OLD\" # @tag\r\n",
        "a = \"\"\"\n\\\"\"\" # no\n\"\"\"\ntag = \"OLD\" # @tag\n",
        "a = '''\n\\'''\ntag = \"OLD\" # @tag\n",
        "a = '''\nx'''\nb = '''\nxy'''\ntag = \"OLD\" # @tag\n",
    ] {
        edits("Cargo.toml", text);
    }
    for text in ["tag = 1.10 # @tag\n", "[web]\ntag = 1.10 # @tag\n"] {
        let found = scanned("x.toml", &written(text));
        let message = &found.skips.first().unwrap().message;
        assert!(message.contains("put it in quotes"), "{text}: {message}");
    }
    for text in [
        "tag = 1.10 # @tag\n",
        "[web] # @tag\n",
        "[\"1.0.0\"] # @tag\n",
        "web = { a = \"1\", b = \"2\" } # @tag\n",
        "tag = \"1\\u0041\" # @tag\n",
        "a = '''\ntag = \"1\" # @tag\n'''\n",
        "tag = \"\"\"1\"\"\" # @tag\n",
    ] {
        skips("x.toml", text, Reason::NotAScalar);
    }
}

#[test]
fn templates() {
    for text in [
        "tag: OLD {{/* @tag */}} # note\n",
        "image: \"OLD\" # @tag\n",
        "image: OLD {{/* @tag */}}\n",
        "{{- if .Values.x }}\nimage: REF # @\n{{- end }}\n",
        "{{- /* @tag */ -}}\nimage: OLD\n",
        "{{- $tag := \"OLD\" -}} {{/* @tag */}}\n",
        "args:\n- OLD # @tag\n",
    ] {
        edits("_helpers.tpl", text);
    }
    edits("templates/web.yaml", "{{- if .x }}\nimage: REF # @\n{{- end }}\n");
    edits("plain.yaml", "image: REF # @\n");
    skips(
        "_helpers.tpl",
        "image: web:{{ .Values.tag }} # @\n",
        Reason::Interpolated,
    );
    skips(
        "web.yaml",
        "image: web:{{ .Values.tag }} # @\n{{ end }}\n",
        Reason::Interpolated,
    );
    skips("_helpers.tpl", "{{ $a := 1 }} # @\n", Reason::NotAScalar);
}

#[test]
fn json() {
    for text in [
        "{\"//tag\": @json, \"tag\": \"OLD\"}\n",
        "{\n  \"tag\": \"OLD\",\n  \"//tag\": @json\n}",
        "[{\"a\": {\"tag\": \"OLD\", \"//tag\": @json, \"b\": [1, true, null, -1.5e3, \"x\\\"y\"]}}]",
    ] {
        edits("package.json", text);
    }
    for (text, reason) in [
        ("{\"//tag\": @json}", Reason::NotAScalar),
        ("{\"//tag\": @json, \"tag\": 1}", Reason::NotAScalar),
        ("{\"//tag\": @json, \"tag\": \"a\", \"tag\": \"b\"}", Reason::NotAScalar),
        ("{\"//tag\": @json, \"tag\": \"\\u0041\"}", Reason::NotAScalar),
        ("{\"note\": @json}", Reason::NotAScalar),
        ("[@json]", Reason::NotAScalar),
        ("{\"//tag\": @json, \"tag\": \"1\"", Reason::Unparsable),
        ("{\"//tag\": @json, \"tag\": \"1\"]", Reason::Unparsable),
        (
            "{\"//tag\": \"see {\\\"$imagepolicy\\\": \\\"a:b\\\"}\", \"tag\": \"1\"}",
            Reason::MalformedMarker,
        ),
    ] {
        skips("package.json", text, reason);
    }
}

/// A recorded file in a text of JSON.
#[test]
fn a_text_that_mentions_a_marker_is_none() {
    let text = "{\"diff\": \"image: a # {\\\"$imagepolicy\\\": \\\"fs:web\\\"}\\n\"}";
    let found = scanned("expected.json", text);
    assert_eq!((found.sites.len(), found.skips.len()), (0, 0));
}

#[test]
fn formats_are_off_unless_they_are_asked_for() {
    let text = written("tag = \"1.0.0\" # @tag\n");
    let found = scan(kind_of("main.tf", Formats::default()), text.as_bytes());
    assert_eq!((found.sites.len(), found.skips.len()), (0, 1));
    let hcl: Formats = "yaml, hcl".parse().unwrap();
    assert_eq!(scan(kind_of("main.tf", hcl), text.as_bytes()).sites.len(), 1);
    assert_eq!(scan(kind_of("x.toml", hcl), text.as_bytes()).skips.len(), 1);
    assert!(
        "hcl,xml"
            .parse::<Formats>()
            .unwrap_err()
            .to_string()
            .contains("\"xml\" is no format")
    );
    assert_eq!("all".parse::<Formats>().unwrap(), Formats::all());
}

/// A value that a format would have to quote is not written.
#[test]
fn values_with_other_characters_are_refused() {
    let text = written("tag = \"1.0.0\" # @tag\n");
    let odd = Newest(LatestRef {
        tag: "a\"b".to_owned(),
        ..newest().0
    });
    let plan = plan("main.tf", &scanned("main.tf", &text), &odd);
    assert_eq!((plan.edits.len(), plan.skips.len()), (0, 1));
}

/// As much as is read of a file, and all of it markers: work grows with the size of the file, not with its square.
#[test]
fn files_full_of_markers() {
    const MANY: usize = 20_000;
    let marker = r#"{"$imagepolicy":"a:b"}"#;
    let lines = format!("a=\"1\"#{marker}\n").repeat(MANY);
    let one_line = format!("a=\"1\"{}\n", format!("/*{marker}*/").repeat(MANY));
    let loose = format!("{marker} ").repeat(MANY);
    for (name, text, found) in [
        ("a.tf", lines.as_str(), (MANY, 0)),
        ("a.tf", &one_line, (1, MANY - 1)),
        ("a.tf", &loose, (0, MANY)),
        ("a.properties", &loose, (0, MANY)),
        ("a.toml", &lines, (MANY, 0)),
    ] {
        let scan = scanned(name, text);
        assert_eq!((scan.sites.len(), scan.skips.len()), found, "{name}");
    }
    let member = |n: usize| format!(r#""//{n}":"{{\"$imagepolicy\":\"a:b\"}}","{n}":"1""#);
    let members: Vec<String> = (0..MANY).map(member).collect();
    let scan = scanned("a.json", &format!("{{{}}}", members.join(",")));
    assert_eq!((scan.sites.len(), scan.skips.len()), (MANY, 0));
}

/// Depth is bounded, as the stack is.
#[test]
fn files_that_nest_without_end() {
    for (name, start, part) in [
        ("a.sh", "a=", "\"$("),
        ("a.sh", "a=", "$("),
        ("a.sh", "a=", "${a"),
        ("main.tf", "a=", "\"${"),
        ("main.tf", "a=", "[{"),
        ("a.json", "", "[{\"a\":"),
        ("a.toml", "a=", "["),
        ("a.tpl", "a: ", "{{ ("),
        ("Dockerfile", "RUN ", "<<A "),
    ] {
        let text = format!("{start}{}\n", part.repeat(100_000));
        assert_eq!(scanned(name, &text).sites, [], "{name} {part}");
    }
}

/// A value that is not there yet stays apart from the comment behind it, which would be a part of it.
#[test]
fn empty_values() {
    for name in ["a.env", "a.ini", "Makefile", "a.sh"] {
        for (before, after) in [
            ("TAG= # @tag\n", "TAG=2.0.0 # @tag\n"),
            ("TAG=  # @tag\n", "TAG= 2.0.0 # @tag\n"),
            ("TAG=\t# @tag\nB=1\n", "TAG=2.0.0\t# @tag\nB=1\n"),
        ] {
            let (before, after) = (written(before), written(after));
            let after = if name == "a.sh" {
                after.replace("= 2.0.0 ", "=2.0.0  ")
            } else {
                after
            };
            assert_eq!(edited(name, &before), after, "{name}");
            assert_eq!(edited(name, &after), after, "{name}, again");
        }
    }
}

#[test]
fn characters_that_a_format_would_quote_are_not_written() {
    let mut images = newest();
    for (tag, is_written) in [
        ("2.0.0_a-b+c", true),
        ("2.0.0 # x", false),
        ("2\"", false),
        ("2$x", false),
    ] {
        images.0.tag = tag.to_owned();
        let plan = plan(
            "a.toml",
            &scanned("a.toml", &written("tag = \"1.0.0\" # @tag\n")),
            &images,
        );
        assert_eq!(plan.edits.is_empty(), !is_written, "{tag}");
        for skip in plan.skips {
            let message = format!("{tag:?} has characters that are not written outside of YAML");
            assert_eq!((skip.reason, skip.message), (Reason::PolicyNotReady, message));
        }
    }
}

#[test]
fn lines_end_as_on_windows_too() {
    let text = written("a\r\nb\r\n@\r\n@\n@\r@");
    let found = scan(kind_of("notes", Formats::default()), text.as_bytes());
    let places: Vec<_> = found.skips.iter().map(|skip| (skip.line, skip.column)).collect();
    assert_eq!(places, [(3, 1), (4, 1), (5, 1), (6, 1)]);
}

#[test]
fn yaml_is_read_as_a_template_only_if_it_is_one() {
    // Broken, and without an action.
    skips(
        "templates/web.yaml",
        "a: [\nimage: ghcr.io/acme/web:1.0.0 # @\n",
        Reason::Unparsable,
    );
    // An action in a comment, and YAML all the same: the marker belongs to no field, as in YAML.
    skips("templates/web.yaml", "# {{ x }}\na: 1\n\n# @\n", Reason::NotAScalar);
}

#[test]
fn characters_that_yaml_does_not_print_are_escaped() {
    let old = "\"1\"";
    for (value, new) in [
        ("\u{7}", r#""\x07""#),
        ("\u{85}", r#""\x85""#),
        ("\u{2028}", r#""\u2028""#),
        ("\u{feff}é\n", r#""\ufeffé\n""#),
    ] {
        assert_eq!(scalar(old, value), new);
    }
}

/// A comment would end a line that continues on the next one.
#[test]
fn no_marker_is_put_between_lines_that_are_one() {
    let text = "A=1 \\\nIMAGE=ghcr.io/acme/web:1.0.0 \\\nmake\n";
    let policy = PolicyName::new("fs", "web");
    let marking = mark_in(kind_of("a.sh", Formats::all()), text, "ghcr.io/acme/web", &policy).unwrap();
    assert_eq!(marking.new, None);
    assert!(
        marking
            .left
            .iter()
            .any(|left| left.why.contains("the line above goes on here")),
        "{:?}",
        marking.left
    );
}

#[test]
fn the_way_out_is_one_that_the_format_has() {
    let behind = "put it behind the value, on the same line, or alone on the line above";
    let above = "put it alone on the line above the value";
    for (name, way_out) in [
        ("main.tf", behind),
        (".env", behind),
        ("Dockerfile", above),
        ("app.properties", above),
    ] {
        let found = scanned(name, &written("# @\n"));
        let messages: Vec<&str> = found.skips.iter().map(|skip| skip.message.as_str()).collect();
        assert_eq!(
            messages,
            [format!("the marker fs:web is not on a value; {way_out}")],
            "{name}"
        );
    }
}
