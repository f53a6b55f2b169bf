//! Markers put into HCL, TOML, JSON and templates, as other parsers see them. `parsers` has what is edited there.

use serde_json::Value as Json;

use crate::grammar::{Grammar, Values, keeps};

fn shown(value: impl std::fmt::Debug) -> Values {
    vec![(String::new(), format!("{value:?}"))]
}

const HCL: Grammar = Grammar {
    name: "main.tf",
    head: &[],
    lines: &[
        &[
            &["", "", "# note\n", "/* note\n*/ ", "  "],
            &["k%"],
            &[" = ", "="],
            &[
                "\"1.0.%\"",
                "\"1.0.%\"",
                "\"1.0.%-${x}\"",
                "[\"1.0.%\"]",
                "[\n  \"1.0.%\",\n  \"x\"\n]",
                "{ a = \"1.0.%\" }",
                "{\n  a : \"1.0.%\",\n}",
                "f(\"1.0.%\")",
                "\"1.0.%\\\"\"",
            ],
            &["", "", " ", " # note", " // @", " /* @ */", " /* note\n*/"],
        ],
        &[&[
            "",
            "# @",
            "k% = <<-E\n  a = \"1.0.%\"\n  E",
            "k% = x ? \"1.0.%\" : \"y\"",
            "b% \"1.0.%\" { k = \"1.0.%\" }",
            "k% = [\"1.0.%\", \"1.0.%\"]",
        ]],
    ],
    breaks: &["\n", "\r\n"],
    escapes: &["\\"],
};

#[test]
fn hcl_is_marked() {
    keeps(&HCL, 1000, |text| hcl::parse(text).ok().map(shown));
}

const TOML: Grammar = Grammar {
    name: "x.toml",
    head: &[],
    lines: &[
        &[
            &["", "", "# note\n", "[t%]\n", "  ", "# @\n"],
            &["k% = "],
            &[
                "\"1.0.%\"",
                "'1.0.%'",
                "\"\"\"1.0.%\"\"\"",
                "\"1.0.%\\n\"",
                "[\"1.0.%\"]",
                "[\n  \"1.0.%\",\n  'x'\n]",
                "{ a = \"1.0.%\" }",
                "[ { a = \"1.0.%\" } ]",
                "'''\nk = \"1.0.%\"'''",
            ],
            &["", "", " ", " # note", " # @", "\t"],
        ],
        &[&["", "# @", "[u%.\"1.0.%\"]", "k% = [\"1.0.%\", \"1.0.%\"]", "k% = 1.0"]],
    ],
    breaks: &["\n", "\r\n"],
    escapes: &["\\"],
};

#[test]
fn toml_is_marked() {
    keeps(&TOML, 1000, |text| text.parse::<toml::Table>().ok().map(shown));
}

/// Members of an object, whose end is added.
const JSON: Grammar = Grammar {
    name: "x.json",
    head: &[&["{", "{\n", " {\"x\": 1,"]],
    lines: &[
        &[
            &[
                "",
                "  ",
                "\t",
                "\"o%\": 1, ",
                "\"//k%\": \"{\\\"$imagepolicy\\\": \\\"fs:p\\\"}\",\n",
                "\"//k%\": \"note\",",
            ],
            &["\"k%\"", "\"k\\u0041%\"", "\"//%\""],
            &[": ", ":", " :\n "],
            &[
                "\"1.0.%\"",
                "\"1.0.%\"",
                "\"1.0.%\\n\"",
                "[\"1.0.%\", {\"a\": \"1.0.%\"}]",
                "{ \"a\": \"1.0.%\" }",
                "{\n  \"a\": \"1.0.%\"\n}",
                "{\"a\":\"1.0.%\",\"a\":\"x\"}",
                "[1, null]",
            ],
            &[",", " ,", ",  "],
        ],
        &[&["", "\"z%\": 0,"]],
    ],
    breaks: &["\n", "\r\n"],
    escapes: &["\\"],
};

/// The values without the members that are comments.
fn bare(value: Json) -> Json {
    match value {
        Json::Array(items) => items.into_iter().map(bare).collect(),
        Json::Object(members) => {
            let members = members.into_iter().filter(|(name, _)| !name.starts_with("//"));
            members.map(|(name, value)| (name, bare(value))).collect()
        }
        other => other,
    }
}

#[test]
fn json_is_marked() {
    keeps(&JSON, 1000, |text| Some(shown(bare(serde_json::from_str(text).ok()?))));
}

const TEMPLATE: Grammar = Grammar {
    name: "_helpers.tpl",
    head: &[],
    lines: &[
        &[
            &["", "  ", "- ", "{{- if .x }}\n", "# note\n", "{{/* @ */}}\n"],
            &["k%: "],
            &[
                "1.0.%",
                "\"1.0.%\"",
                "'1.0.%'",
                "1.0.%{{ .x }}",
                "\"1.0.%",
                "1.0.% x",
                "[1.0.%]",
            ],
            &["", "", " ", " # note", " # @", " {{/* @ */}}"],
        ],
        &[&[
            "{{ $k := \"1.0.%\" }}",
            "{{- $k = \"1.0.%\" -}}",
            "{{ $k := \"1.0.%\" | quote }}",
            "{{ end }}",
            "",
            "- 1.0.%",
        ]],
    ],
    breaks: &["\n", "\r\n"],
    escapes: &["\\"],
};

#[test]
fn templates_are_marked() {
    keeps(&TEMPLATE, 1000, |_| Some(Values::new()));
}
