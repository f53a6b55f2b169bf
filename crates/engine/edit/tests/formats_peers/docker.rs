//! Dockerfiles as BuildKit reads them.

use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

use crate::grammar::{Grammar, Values, agree, keeps};
use crate::peer::run;
use crate::tool::tool;

const FILES: Grammar = Grammar {
    name: "Dockerfile",
    head: &[
        &[
            "",
            "# escape=~\n",
            "# syntax=x\n# Escape = ~\n",
            "# note\n# escape=~\n",
            "\n# escape=~\n",
        ],
        &["", "# &\n", "#&\n", "  # &\n", "# &\n\n", "ARG none\n"],
        &[
            "FROM ",
            "from ",
            "FROM\t",
            "FROM --platform=linux/amd64 ",
            "FROM ~\n",
            "FROM ~\n# &\n  ",
        ],
        &[
            "ghcr.io/acme/w%:1.0.%",
            "\"ghcr.io/acme/w%:1.0.%\"",
            "ghcr.io/acme/w%:1.0.%@sha256:0123456789012345678901234567890123456789012345678901234567890123",
        ],
        &["", " ", " AS s%", " as s%", " ~\n AS s%"],
    ],
    lines: &[
        &[
            &["", "# @\n", "#@\n", "  # @\n", "# note\n", "# @ ~\n"],
            &[
                "ENV ",
                "env\t",
                "ENV ~\n",
                "ENV ~\n# @\n  ",
                "LABEL ",
                "ENV q%=x% ~\n  # @\n  ",
                "ENV q%=x% ~\n\n  ",
            ],
            &["k%=", "k%=", "k% ", "\"k%\"="],
            &["1.0.%", "\"1.0.%\"", "'1.0.%'"],
            &[
                "",
                "",
                " ",
                " # @",
                " o%=y%",
                " ~\n  o%=z%",
                " ~\n# @\n  o%=z%",
                "~\n",
                " ~ \n",
                "#x",
            ],
        ],
        &[
            &["", "# @\n"],
            &["ENV k%=", "LABEL k%=", "ENV k% "],
            &[
                "1.0.%-\"x\"",
                "\"1.0.% x\"",
                "1.0.%~ x",
                "$x1.0.%",
                "~1.0.%",
                "${x:-1.0.%}",
                "'$x1.0.%'",
                "\"~\"1.0.%\"",
                "1.0.~\n%",
                "\"1.0.%",
                "'1.0.%~'",
                "1.0.%\\\\",
                "=1.0.%",
                "\"1.0.%\"\"\"",
                "x 1.0.%",
            ],
            &["", " "],
        ],
        &[
            &["", "# @\n", "# note\n"],
            &["ARG ", "arg "],
            &[
                "a%=1.0.%",
                "a%=\"1.0.%\"",
                "a%='1.0.%'",
                "a%=1.0.% b=x%",
                "b a%=1.0.%",
                "a%",
                "a%=$x1.0.%",
            ],
            &["\nLABEL k%=$a%", "\nLABEL k%=\"${a%}\" "],
        ],
        &[
            &["", "# &\n", "  #&\n"],
            &["COPY ", "copy --chown=1 ", "COPY --link ~\n# &\n  "],
            &[
                "--from=ghcr.io/acme/w%:1.0.%",
                "--from=\"ghcr.io/acme/w%:1.0.%\"",
                "--chmod=600",
            ],
            &[" /a /b", " ~\n  /a /b", " [\"/a\", \"/b\"]"],
        ],
        &[
            &["", "# &\n"],
            &["RUN "],
            &[
                "--mount=type=bind,from=ghcr.io/acme/w%:1.0.%,target=/x",
                "--mount=type=cache,target=/y --mount=from=ghcr.io/acme/w%:1.0.%,target=/x",
                "--mount=type=bind,target=/x",
                "--network=none",
            ],
            &[" make", " ~\n  make", " ENV k%=1.0.%", " --from=ghcr.io/acme/w%:1.0.%"],
        ],
        &[&[
            "",
            "# note",
            "RUN <<EOF\n# @\nENV k%=1.0.%\nEOF",
            "RUN 3<<EOF\n# @\nENV k%=1.0.%\nEOF",
            "RUN <<-\"E F\" cat\n# @\n\tE F\nENV q%=1\nE F",
            "RUN <<EOF\n\tEOF\n# @\nENV k%=1.0.%\nEOF",
            "RUN cat <<A <<B\n# @\nA\n# @\nENV k%=1.0.%\nB",
            "RUN cat <<EOF > /x\n# @\nEOF",
            "COPY <<EOF /x\n# @\nENV k%=1.0.%\nEOF",
            "RUN echo \"<<EOF\"\n# @\nENV k%=1.0.%",
            "RUN echo '<<EOF'\n# @\nENV k%=1.0.%",
            "RUN echo $((1<<2))\n# @\nENV k%=1.0.%",
            "RUN echo a<<EOF\n# @\nENV k%=1.0.%",
            "RUN cat <<<x\n# @\nENV k%=1.0.%",
            "RUN echo x ~\n# @\nENV k%=1.0.%",
            "RUN [\"a\", \"<<EOF\"]\n# @\nENV k%=1.0.%",
            "CMD <<EOF\n# @\nENV k%=1.0.%",
            "LABEL o%=<<EOF\n# @\nENV k%=1.0.%",
            "WORKDIR /x\n# @\nENV k%=1.0.%",
            "ONBUILD ENV k%=1.0.%",
        ]],
    ],
    breaks: &["\n", "\r\n"],
    escapes: &["\\", "\\", "`"],
};

/// What BuildKit makes of a file.
fn built(containerfile: &Path, text: &str) -> Option<Values> {
    // It remembers bases as they are asked for, from several threads.
    let mut command = Command::new(containerfile);
    let out = run(command.env_clear().arg("/dev/stdin").env("GOMAXPROCS", "1"), text);
    let image = out
        .status
        .success()
        .then(|| serde_json::from_slice(&out.stdout).unwrap());
    image.as_ref().map(values)
}

#[test]
fn docker() {
    let Some(containerfile) = tool("containerfile") else {
        return;
    };
    agree(&FILES, 150, |text| built(&containerfile, text));
    keeps(&FILES, 80, |text| built(&containerfile, text));
}

/// The values of the image that would be built.
fn values(image: &Json) -> Values {
    let texts = |list: &Json| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        items.map(|item| item.as_str().unwrap().to_owned()).collect()
    };
    let variables = texts(&image["config"]["Env"]).into_iter().map(|pair| {
        let (name, value) = pair.split_once('=').unwrap();
        (format!("variable {name}"), value.to_owned())
    });
    let variables: Values = variables.collect();
    let labels = image["config"]["Labels"].as_object().into_iter().flatten();
    // The label `k1` shows the argument `a1`, unless an `ENV` of several lines made that a variable,
    // which is seen itself.
    let is_copy = |name: &str| {
        let variable = name.replace('k', "variable a");
        variables.iter().any(|(name, _)| *name == variable)
    };
    let labels = labels.filter(|(name, _)| !is_copy(name));
    let labels = labels.map(|(name, value)| (format!("label {name}"), value.as_str().unwrap().to_owned()));
    let labels: Values = labels.collect();
    let bases = texts(&image["bases"]).into_iter().map(|base| ("base".to_owned(), base));
    labels.into_iter().chain(variables).chain(bases).collect()
}
