//! Charts of somebody who means harm: each ends in an error, within its bound, and never in a panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use bumpwright_helm::{Capabilities, Chart, File, HelmError, Release, Rendered, Settings, Values, read_values, render};
use bumpwright_template::World;
use std::time::{Duration, Instant};

/// No clock and no chance.
struct Still;

impl World for Still {
    fn now(&self) -> (i64, u32) {
        (0, 0)
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }
}

/// What takes longer is not bounded, even on a busy machine, without optimisation.
const LONGEST: Duration = Duration::from_secs(300);

const METADATA: &str = "apiVersion: v2\nname: hostile\nversion: 1.0.0\n";

fn rendered(files: &[(&str, String)], values: &Values) -> Result<Rendered, HelmError> {
    let file = |(name, text): &(&str, String)| File {
        name: (*name).to_owned(),
        data: text.clone().into_bytes(),
    };
    let mut all: Vec<File> = files.iter().map(file).collect();
    if !files.iter().any(|(name, _)| *name == "Chart.yaml") {
        all.push(file(&("Chart.yaml", METADATA.to_owned())));
    }
    let chart = Chart::from_files(all)?;
    let release = Release {
        name: "rel".to_owned(),
        namespace: "ns".to_owned(),
        is_upgrade: false,
    };
    render(
        &chart,
        values,
        &release,
        &Capabilities::default(),
        Settings::default(),
        &Still,
    )
}

/// The error of a chart, which comes within [`LONGEST`].
fn refused(files: &[(&str, String)]) -> String {
    let start = Instant::now();
    let error = rendered(files, &Values::new()).unwrap_err().to_string();
    assert!(start.elapsed() < LONGEST, "takes {:?}", start.elapsed());
    error
}

fn template(text: &str) -> String {
    refused(&[("templates/x.yaml", text.to_owned())])
}

#[test]
fn templates_stop_at_their_limits() {
    for (text, expected) in [
        (
            r#"{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}"#,
            "nested reference name: x",
        ),
        (r#"{{ tpl .Values.t . }}"#, "levels deep"),
        (
            r#"{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"#,
            "steps",
        ),
        (r#"{{ range until 1000 }}{{ repeat 10000000 "x" }}{{ end }}"#, "bytes"),
        (
            r#"{{ $l := list 1 }}{{ range until 60 }}{{ $l = concat $l $l }}{{ end }}{{ len $l }}"#,
            "",
        ),
        (
            r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toYaml $d }}{{ fail "no end" }}"#,
            "",
        ),
        (r#"{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ mustToJson $d }}"#, ""),
        (
            r#"{{ range until 100000 }}{{ regexMatch "^(a|aa)+$" (repeat 40000 "a") }}{{ end }}"#,
            "",
        ),
        (
            r#"{{ genPrivateKey "rsa" }}{{ range until 10000 }}{{ genPrivateKey "rsa" }}{{ end }}"#,
            "steps",
        ),
        (
            r#"{{ range until 100000 }}{{ derivePassword 1 "long" "p" "u" "s" }}{{ end }}"#,
            "steps",
        ),
        (r#"{{ range until 100000 }}{{ htpasswd "u" "p" }}{{ end }}"#, "steps"),
    ] {
        let files = [
            ("templates/x.yaml", text.to_owned()),
            ("values.yaml", "t: '{{ tpl .Values.t . }}'\n".to_owned()),
        ];
        let error = refused(&files);
        assert!(error.contains(expected), "{text}: {error}");
    }
}

/// What all templates together put out is bounded, not each of them alone.
#[test]
fn many_outputs_are_bounded_together() {
    let text = format!("# {}\n", "x".repeat(20_000));
    let templates: Vec<(String, String)> = (0..200)
        .map(|index| {
            (
                format!("templates/{index}.yaml"),
                format!("{{{{ range until 1000 }}}}{text}{{{{ end }}}}"),
            )
        })
        .collect();
    let files: Vec<(&str, String)> = templates.iter().map(|(name, text)| (&**name, text.clone())).collect();
    let error = refused(&files);
    assert!(error.contains("bytes"), "{error}");
}

#[test]
fn deep_texts_are_refused() {
    let deep = |open: &str, close: &str| format!("a: {}{}", open.repeat(200_000), close.repeat(200_000));
    refused(&[("values.yaml", deep("[", "]"))]);
    refused(&[("values.yaml", deep("{a: ", "}"))]);
    refused(&[("templates/x.yaml", deep("[", "]"))]);
    let schema = format!("{}{}", r#"{"not":"#.repeat(10_000), "}".repeat(10_000));
    refused(&[("values.schema.json", schema)]);
    template(&format!("{{{{ {}1{} }}}}", "(".repeat(200_000), ")".repeat(200_000)));
    template(&"{{ if 1 }}".repeat(200_000));
}

#[test]
fn aliases_of_yaml_are_bounded() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{items}]\n"));
    }
    refused(&[("values.yaml", text.clone())]);
    refused(&[("templates/x.yaml", text)]);
}

/// A chart whose dependencies have a thousand aliases at each of three levels would be a thousand million charts.
#[test]
fn aliases_of_charts_are_bounded() {
    let chart = |name: &str, dependency: Option<&str>| {
        let mut text = format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n");
        for index in 0..dependency.map_or(0, |_| 1000) {
            let separator = if index == 0 { "dependencies:\n" } else { "" };
            let dependency = dependency.unwrap();
            text.push_str(&format!(
                "{separator}- {{name: {dependency}, version: 1.0.0, alias: a{index}}}\n"
            ));
        }
        text
    };
    let error = refused(&[
        ("Chart.yaml", chart("top", Some("b"))),
        ("charts/b/Chart.yaml", chart("b", Some("c"))),
        ("charts/b/charts/c/Chart.yaml", chart("c", Some("d"))),
        ("charts/b/charts/c/charts/d/Chart.yaml", chart("d", None)),
    ]);
    assert!(error.contains("too many"), "{error}");
}

#[test]
fn schemas_stop_at_their_limits() {
    let chain = |count: usize, of: &dyn Fn(usize) -> String| {
        let definitions: Vec<String> = (0..count).map(|index| format!("\"d{index}\": {}", of(index))).collect();
        format!(
            "{{\"$ref\": \"#/$defs/d0\", \"$defs\": {{{}}}}}",
            definitions.join(", ")
        )
    };
    let next = |index: usize| format!("\"#/$defs/d{}\"", index + 1);
    for (schema, expected) in [
        (r##"{"$ref": "#"}"##.to_owned(), "reference cycle"),
        (
            r##"{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}"##.to_owned(),
            "reference cycle",
        ),
        (
            chain(10_000, &|index| format!("{{\"$ref\": {}}}", next(index % 9_999))),
            "steps",
        ),
        (
            chain(41, &|index| match index {
                40 => "{\"type\": \"string\"}".to_owned(),
                index => format!("{{\"anyOf\": [{{\"$ref\": {0}}}, {{\"$ref\": {0}}}]}}", next(index)),
            }),
            "steps",
        ),
        (
            r#"{"$ref": "https://example.com/x.json"}"#.to_owned(),
            "--skip-schema-validation",
        ),
        (
            r#"{"$ref": "file:///etc/passwd"}"#.to_owned(),
            "--skip-schema-validation",
        ),
        (
            r#"{"properties": {"s": {"pattern": "^(a|aa)+$", "allOf": [{"pattern": "((a{1,100}){1,10}b)"}]}}}"#
                .to_owned(),
            "",
        ),
    ] {
        let files = [
            ("values.schema.json", schema.clone()),
            ("values.yaml", format!("s: {}\n", "a".repeat(1_000_000))),
        ];
        let error = refused(&files);
        assert!(
            error.contains(expected),
            "{}: {error}",
            &schema[..schema.len().min(100)]
        );
    }
}

/// A folder may have no more bytes than an archive.
#[test]
fn a_chart_has_a_size() {
    let file = |name: &str, size: usize| File {
        name: name.to_owned(),
        data: vec![b'#'; size],
    };
    let files = (0..11).map(|index| file(&format!("files/{index}"), 10 << 20)).collect();
    let error = Chart::from_files(files).unwrap_err().to_string();
    assert_eq!(error, "decompressed chart is larger than the maximum size 104857600");
}

/// `.Files` has what is in the chart, whatever a pattern or a name says.
#[test]
fn files_outside_of_the_chart_are_not_there() {
    let text = r#"x: {{ .Files.Get "../../etc/passwd" | quote }}{{ range $name, $_ := .Files.Glob "../**" }}{{ $name }}{{ end }}"#;
    let files = [("templates/x.yaml", text.to_owned()), ("a.txt", "a".to_owned())];
    let rendered = rendered(&files, &read_values(b"{}").unwrap()).unwrap();
    assert_eq!(rendered.documents[0].content, "x: \"\"");
}
