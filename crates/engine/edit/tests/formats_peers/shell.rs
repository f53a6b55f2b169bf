//! Shell scripts of assignments, as `sh` and Bash read them. No script that is made here runs a program.

use std::path::Path;
use std::process::Command;

use crate::grammar::{Grammar, Values, agree, keeps};
use crate::peer::run;
use crate::tool::tool;

const SCRIPTS: Grammar = Grammar {
    name: "build.sh",
    head: &[],
    lines: &[
        &[
            &["", "", "# @\n", "#@\n", "  # @\n", "# note \\\n"],
            &["", "", "export ", "readonly ", "  "],
            &["k%="],
            &["1.0.%", "\"1.0.%\"", "'1.0.%'"],
            &[
                "",
                "",
                " ",
                " # @",
                "\t# @",
                "# @",
                "; # @",
                ";# @",
                " y%=1% # @",
                " && y%=1% # @",
                " x='\n' # @",
                " \\\n # @",
            ],
        ],
        &[
            &["", "# @\n"],
            &["k%="],
            &[
                "1.0.\"%\"",
                "1.0.%\\ x",
                "\"1.0.%\\\"\"",
                "${x:-1.0.%}",
                "$((1))1.0.%",
                "\"${x:-\"1.0.%\"}\"",
                "1.0.%#x",
                "'1.0.%\nmore'",
                "\"1.0.%\\\nx\"",
                "1.0.\\\n%",
                "1.0.%*",
                "\"1.0.%'\"",
                "1.0.%\\",
            ],
            &["", " # @"],
        ],
        &[&[
            "",
            "# note",
            ": <<EOF\nk% = 1.0.% # @\nEOF",
            ": <<-'E F'\n\tx # @\n\tE F",
            ": <<EOF; k%=1.0.% # @\nx\nEOF",
            ": <<A <<B\nx # @\nA\ny # @\nB",
            ": <<A\n\tA\nk%=1.0.% # @\nA",
            "if :; then k%=1.0.%; fi # @",
            "case x in x) k%=1.0.% ;; esac # @",
            "f%() { k%=1.0.%; }; f% # @",
            "o%=\"a\n# @\nb\"",
            ": \"<<EOF\" # @",
            "o%=$((1<<2)); k%=1.0.% # @",
            "o%=$((1 << 2))\nk%=1.0.% # @",
            ": \"${x#y}\" # @",
            "o%=${x:-'}'}; k%=1.0.% # @",
            "k%=x; k%=1.0.% # @",
            "{ k%=1.0.%; } # @",
            "k%=1.0.% # @ \\",
            "for x in a; do k%=1.0.%; done # @",
            ": a#b; k%=1.0.% # @",
            ": \\# ; k%=1.0.% # @",
            "! : ; k%=1.0.% # @",
            ": $# ; k%=1.0.% # @",
            ": ${#x} ; k%=1.0.% # @",
            "((:); : <<A\nx # @\nA\n); k%=1.0.% # @",
        ]],
    ],
    breaks: &["\n"],
    escapes: &["\\"],
};

/// What only Bash reads so.
const BASH: Grammar = Grammar {
    lines: &[
        &[
            &["", "# @\n"],
            &["declare ", "typeset -r ", "export -n ", "declare -x o%=1 "],
            &["k%=1.0.%"],
            &["", " # @"],
        ],
        &[
            &["", "# @\n"],
            &["k%="],
            &[
                "$'1.0.%'",
                "$'\\'1.0.%'",
                "{1.0.%,x}",
                "$\"1.0.%\"",
                "(1.0.%)",
                "1.0.%",
                "$[1]1.0.%",
            ],
            &["", " # @"],
        ],
        &[&[
            "[[ a == b ]] || k%=1.0.% # @",
            "o%=${x/#a/b} # @",
            ": $'it\\'s # ' ; k%=1.0.% # @",
            "((o%=1)); k%=1.0.% # @",
            "((o%=1<<2))\nk%=1.0.% # @",
            "((o%=(1 << 2) + 1)); k%=1.0.% # @",
            "[[ a < b ]] ; k%=1.0.% # @",
            ": <<<\"x # \" ; k%=1.0.% # @",
            "o%=(a # @\nk%=1.0.% # @\n)",
            "k%+=1.0.% # @",
            "function f% { k%=1.0.%; }; f% # @",
        ]],
    ],
    ..SCRIPTS
};

/// The variables that a script makes.
fn variables(shell: &Path, text: &str) -> Option<Values> {
    let print = ". /dev/stdin || exit 3; for k in k0 k1 k2 k3 k4 k5 y0 y1 y2 y3 y4 y5; do \
                 eval \"[ -z \\\"\\${$k+x}\\\" ] || printf '%s\\0%s\\0' $k \\\"\\$$k\\\"\"; done";
    let out = run(Command::new(shell).env_clear().args(["-c", print]), text);
    let printed = String::from_utf8(out.stdout).unwrap();
    let words: Vec<&str> = printed.split_terminator('\0').collect();
    let values = words.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned()));
    (out.status.success() && out.stderr.is_empty()).then(|| values.collect())
}

fn agree_with(shell: &str, grammar: &Grammar) {
    let Some(shell) = tool(shell) else { return };
    agree(grammar, 150, |text| variables(&shell, text));
    keeps(grammar, 100, |text| variables(&shell, text));
}

#[test]
fn sh() {
    agree_with("sh", &SCRIPTS);
}

#[test]
fn bash() {
    agree_with("bash", &SCRIPTS);
    agree_with("bash", &BASH);
}
