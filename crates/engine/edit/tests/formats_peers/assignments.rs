//! Makefiles as GNU make reads them, `.env` as Docker Compose does, INI as Python's configparser, properties as Java.

use std::path::Path;
use std::process::Command;

use crate::grammar::{Grammar, Values, agree, keeps};
use crate::peer::{Peer, run};
use crate::tool::tool;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/formats_peers");

const MAKE: Grammar = Grammar {
    name: "Makefile",
    head: &[],
    lines: &[
        &[
            &["", "", "# @\n", " # @\n", "# note\n", "# @ \\\n", "# note \\\n"],
            &["", "", "export ", "override ", "  "],
            &["k%", "k.%-x"],
            &[" = ", ":=", " ?= ", "=", "::= ", " += "],
            &["1.0.%"],
            &[
                "",
                " ",
                " # @",
                "# @",
                "\t# @",
                " # note",
                " # @ \\",
                " \\\n  more",
                "\\",
                "\\#@",
            ],
        ],
        &[
            &["", "# @\n"],
            &["k% = "],
            &[
                "\"1.0.%\"",
                "$(x)1.0.%",
                "1.0.% more",
                "1.0.%\\#",
                "'1.0.%'",
                "1.0.%/x",
                "$$1.0.%",
                "1.0.%\\\\",
            ],
            &["", " # @", "# @"],
        ],
        &[&[
            "",
            "\t",
            "all:\n\techo k = 1.0.0 # @",
            "all: ; echo \\\nk% = 1.0.% # @",
            "all: x \\\nk% = 1.0.% # @",
            "all%: k% = 1.0.% # @",
            "define d%\nk% = 1.0.% # @\nendef",
            "override define d% =\nk% = 1.0.% # @\nendef # note",
            "define d%\ndefine e\nendef\nk% = 1.0.% # @\nendef",
            "ifeq (a,a)\nk% = 1.0.% # @\nendif",
            "ifeq (a,b)\nelse\n  k% = 1.0.% # @\nendif # @",
            "# note \\\nk% = 1.0.% # @",
            "# note \\\\\nk% = 1.0.% # @",
            "d% = x \\\n  k% = 1.0.% # @",
            "d% = x # y \\\nk% = 1.0.% # @",
            "-include none%.mk # @",
            "undefine q%",
            "export k% # @",
            "x%: y z # @",
        ]],
    ],
    breaks: &["\n", "\r\n"],
    escapes: &["\\"],
};

/// A recipe that is nothing but what it prints as make expands it, so that no shell runs.
const PRINT: &str = "peer: ; $(foreach v,$(filter k%,$(.VARIABLES)),$(info <<$(v)=$($(v))>>))";

/// The variables that make has, with the blanks at their ends.
fn variables(make: &Path, text: &str) -> Option<Values> {
    let arguments = ["-rR", "--eval", PRINT, "-f", "-", "peer"];
    let out = run(Command::new(make).env_clear().args(arguments), text);
    let printed = String::from_utf8(out.stdout).unwrap();
    let values = printed.split("<<").skip(1).map(|value| {
        let (name, value) = value.split_once(">>").unwrap().0.split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    });
    out.status.success().then(|| values.collect())
}

#[test]
fn make() {
    let Some(make) = tool("make") else { return };
    // Blanks before a comment belong to the value.
    let trimmed = |(name, value): (String, String)| (name, value.trim_end_matches([' ', '\t']).to_owned());
    agree(&MAKE, 150, |text| {
        Some(variables(&make, text)?.into_iter().map(trimmed).collect())
    });
    keeps(&MAKE, 100, |text| variables(&make, text));
}

const ENV: Grammar = Grammar {
    name: ".env",
    head: &[],
    lines: &[
        &[
            &["", "", "# @\n", "#@\n", "  # @\n", "# note\n"],
            &["k%", "export k%", " k%", "K_%"],
            &["=", "=", " = ", ": ", "= ", ":"],
            &["1.0.%", "\"1.0.%\"", "'1.0.%'"],
            &["", "", " ", " # @", "# @", " # note", " #@", "x"],
        ],
        &[
            &["", "# @\n"],
            &["k%="],
            &[
                "1.0.%\"",
                "1.0.%#x",
                "\"1.0.%\\n\"",
                "'1.0.%$x'",
                "1.0.% x",
                "$x1.0.%",
                "1.0.%'",
                "\"1.0.%\nmore\"",
                "'it\\'s 1.0.%'",
                "\"\\\"1.0.%\"",
                "\"1.0.% # @\"",
                "'\\1.0.%'",
                "1.0.%\\",
            ],
            &["", " # @"],
        ],
        &[&[
            "",
            " ",
            "# note",
            "# @ \\",
            "o%",
            "o%=\"\n# @\n\"",
            "o%='\n x # @\n'",
            "o%=it's # @",
            "k%=1.0.% # it's @",
            "o%=\"x\" # it's",
        ]],
    ],
    breaks: &["\n", "\r\n"],
    escapes: &["\\"],
};

#[test]
fn env() {
    let Some(dotenv) = tool("compose-dotenv") else { return };
    let peer = Peer::start(&mut Command::new(dotenv));
    agree(&ENV, 1000, |text| peer.read(text));
    keeps(&ENV, 500, |text| peer.read(text));
}

const INI: Grammar = Grammar {
    name: "app.ini",
    head: &[&["[s]", "; note\n[s]", "[s] ; @", "\n[s]"]],
    lines: &[
        &[
            &["", "", "; @\n", "# @\n", "  ; @\n", "# note\n"],
            &["k%", "k %", "k.%"],
            &[" = ", "=", ": ", ":", " : "],
            &["1.0.%", "1.0.%", "\"1.0.%\"", "'1.0.%'"],
            &[
                "",
                "",
                " ",
                " ; @",
                " # @",
                "\t;@",
                "; @",
                " # note",
                "\n  more",
                "\n\n  more",
                "\n# @\n  more",
                " ; @\n more",
            ],
        ],
        &[
            &["", "; @\n"],
            &["k% = "],
            &[
                "1.0.%;x",
                "1.0.% x",
                "\"1.0.%\" x",
                "1.0.%\\",
                "a=1.0.%",
                "a:1.0.%",
                "${x}1.0.%",
                "\"1.0.%",
                "\"\"1.0.%\"\"",
            ],
            &["", " ; @"],
        ],
        &[&[
            "",
            " ",
            "# note",
            "[t%]",
            "[u%] ; note",
            "o%",
            "  # @",
            "o%\n  k% # @",
            "[v%]\n  k% = 1.0.% ; @",
        ]],
    ],
    breaks: &["\n", "\r\n"],
    escapes: &["\\"],
};

#[test]
fn ini() {
    let Some(python) = tool("python3") else { return };
    let program = format!("{FOLDER}/ini.py");
    let inline = Peer::start(Command::new(&python).args([program.as_str(), "inline"]));
    agree(&INI, 1000, |text| {
        Some(inline.read(text)?.into_iter().map(unquoted).collect())
    });
    // Where comments may stand behind values, and where they are a part of them.
    let usual = Peer::start(Command::new(&python).arg(&program));
    keeps(&INI, 500, |text| Some([inline.read(text)?, usual.read(text)?].concat()));
}

/// To Python quotes are a part of the value; to many others they are not.
fn unquoted((name, value): (String, String)) -> (String, String) {
    let inside = ['"', '\'']
        .into_iter()
        .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    let inside = inside.unwrap_or(&value).to_owned();
    (name, inside)
}

const PROPERTIES: Grammar = Grammar {
    name: "app.properties",
    head: &[],
    lines: &[
        &[
            &["", "# @\n", "! @\n", "  #@\n", "#@ \\\n", "# note\n"],
            &["k%", "  k%", "k\\ %", "k\\=%", "k\\u0041%", "k\\\n  %"],
            &["=", " = ", ": ", " ", "\t:", " =\\\n  "],
            &["1.0.%"],
            &["", "", "", " ", " # @", "\t", "\x0c", "\\", " \\\n"],
        ],
        &[
            &["", "# @\n"],
            &["k%="],
            &[
                "1.0.% x",
                "\"1.0.%\"",
                "1\\\n  .0.%",
                "\\1.0.%",
                "=1.0.%",
                "${x}1.0.%",
                "\\u00311.0.%",
                "1.0.%\\\\",
            ],
            &["", "\\\n"],
        ],
        &[&[
            "",
            "   ",
            "# note",
            "! \\",
            "o%",
            "o% = x \\\n  k% = 1.0.% \\\n# @",
            "o% = x \\\n\\\n# @",
            "# @\n\nk% = 1.0.%",
        ]],
    ],
    breaks: &["\n", "\r\n", "\r"],
    escapes: &["\\"],
};

#[test]
fn properties() {
    let Some(java) = tool("java") else { return };
    let peer = Peer::start(Command::new(java).arg(format!("{FOLDER}/Properties.java")));
    agree(&PROPERTIES, 1000, |text| peer.read(text));
    keeps(&PROPERTIES, 1000, |text| peer.read(text));
}

/// The readers read: else nothing above could fail.
#[test]
fn readers_see_what_is_there() {
    let values = |values: &[(&str, &str)]| -> Option<Values> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Some(values.iter().map(owned).collect())
    };
    if let Some(python) = tool("python3") {
        let peer = Peer::start(Command::new(python).arg(format!("{FOLDER}/ini.py")));
        assert_eq!(peer.read("[s]\nk = 1 ; c\n"), values(&[("s.k", "1 ; c")]));
        assert_eq!(peer.read("k = 1\n"), None);
    }
    if let Some(java) = tool("java") {
        let peer = Peer::start(Command::new(java).arg(format!("{FOLDER}/Properties.java")));
        assert_eq!(
            peer.read("k\\u0041 = \"1\" \\\r\n  # c\n"),
            values(&[("kA", "\"1\" # c")])
        );
        assert_eq!(peer.read("k = \\u00zz"), None);
    }
    if let Some(dotenv) = tool("compose-dotenv") {
        let peer = Peer::start(&mut Command::new(dotenv));
        assert_eq!(peer.read("A='1' # c\n"), values(&[("A", "1")]));
        assert_eq!(peer.read("A B=1\n"), None);
    }
}
