//! Defaults that differ from Flux: of gates and flags as the program has them, of behaviour as decided. Flags are held
//! against the real controllers.

use std::fmt::Write;
use std::process::Command;

use bumpwright_api::GoDuration;
use bumpwright_controllers::Gates;

use super::commands::program;
use super::markdown::generated;

/// Flags of a controller of Flux with another default here: the controller, the flag, its default there,
/// and why it differs.
const FLAGS: [(&str, &str, &str, &str); 1] = [(
    "source-controller",
    "concurrent",
    "2",
    "one flag for all kinds, 4 in Flux's other controllers",
)];

/// Flags whose default is the same by other means: the help of ours has it in words.
const IN_WORDS: [&str; 2] = ["kube-api-qps", "kube-api-burst"];

/// What differs in behaviour: in Flux, here, how to have Flux's, and the decision.
const BEHAVIOUR: [[&str; 5]; 16] = [
    [
        "an existing push branch",
        "is continued",
        "is the checkout and one commit",
        "gate `GitForcePushBranch=false`",
        "C30",
    ],
    [
        "`push.refspec` without `push.branch`",
        "pushes the branch, too",
        "pushes the refspec only",
        "gate `RefspecAlsoPushesBranch=true`",
        "C31",
    ],
    [
        "push options without support",
        "dropped in silence",
        "an error before the push",
        "gate `AllowDroppedPushOptions=true`",
        "*push options unsupported*",
    ],
    [
        "unknown fields, built-in kinds",
        "dropped in silence",
        "dropped, and a warning event",
        "–",
        "*unknown fields in built-in kinds*",
    ],
    [
        "files that are edited",
        "parsed and printed again",
        "keep all other bytes",
        "–",
        "*formatting*",
    ],
    [
        "a number becomes a version",
        "gets a YAML tag",
        "is quoted where needed",
        "–",
        "*new value's type*",
    ],
    [
        "`:digest` without a digest",
        "writes an empty value",
        "leaves the field, and reports it",
        "–",
        "*`:digest` without a digest*",
    ],
    [
        "markers that cannot be followed",
        "ignored in silence",
        "reported with place and reason",
        "–",
        "*silence*",
    ],
    [
        "fields of message templates",
        "those of one API version",
        "those of all versions",
        "–",
        "C32",
    ],
    [
        "status of ImagePolicies",
        "`latestRef`",
        "`latestRef` and `latestImage`",
        "–",
        "C36",
    ],
    [
        "commits for Gerrit (`refs/for/*`)",
        "have the time of the run",
        "have the time of their base",
        "–",
        "*Gerrit*",
    ],
    [
        "encrypted Secret, no `decryption`",
        "`stringData` is applied",
        "refused",
        "–",
        "*SOPS Secret without `decryption`*",
    ],
    [
        "inventory",
        "written after applying",
        "written before each stage",
        "–",
        "*inventory*",
    ],
    [
        "a stage that is refused",
        "names one object",
        "names all",
        "–",
        "*dry-run failures*",
    ],
    [
        "empty `strategy`, `resources`",
        "added and owned",
        "not added",
        "–",
        "*other effects of Flux's round trip*",
    ],
    [
        "`validation` of older versions",
        "not in v1",
        "`none` skips the dry run",
        "–",
        "C05",
    ],
];

/// Bounds that Flux does not have, by flag.
const BOUNDS: [&str; 8] = [
    "fetch-memory",
    "build-memory",
    "max-entries",
    "max-content-size",
    "spool-size",
    "mirrors-size",
    "tags-size",
    "artifacts-size",
];

/// `defaults.md`.
pub fn page() -> String {
    let mut page = "# Defaults that differ from Flux\n\n".to_owned();
    page.push_str(&generated("the gates, flags and decisions of the program"));
    page.push_str(
        "Compared with image-automation-controller and image-reflector-controller v1.2.4, source-controller v1.9.3 and\n\
         kustomize-controller v1.9.5. What is not here is as in Flux. Reasons: [decisions](../decisions.md).\n\n\
         | what | Flux | bumpwright | to have Flux's | decision |\n|---|---|---|---|---|\n",
    );
    for gate in Gates::describe() {
        let word = |on: bool| if on { "on" } else { "off" };
        let Some(flux) = gate.flux.filter(|flux| *flux != gate.default) else {
            continue;
        };
        let (name, here, there) = (gate.name, word(gate.default), word(flux));
        let decision = gate
            .effect
            .rsplit_once('(')
            .map_or("", |(_, rest)| rest.trim_end_matches([')', '.']));
        writeln!(
            page,
            "| gate `{name}` | {there} | {here} | gate `{name}={flux}` | {decision} |"
        )
        .unwrap();
    }
    for (controller, flag, flux, why) in FLAGS {
        let here = default_of(flag);
        writeln!(
            page,
            "| `--{flag}` | {controller}: {flux} | {here} | `--{flag}={flux}` | {why} |"
        )
        .unwrap();
    }
    for row in BEHAVIOUR {
        writeln!(page, "| {} |", row.join(" | ")).unwrap();
    }
    page.push_str(
        "\n## Bounds\n\nFlux has none of these; see [security](../how/security.md). Beyond one a job fails, and the error names the flag.\n\n\
         | flag | default |\n|---|---|\n",
    );
    for flag in BOUNDS {
        writeln!(page, "| `--{flag}` | {} |", default_of(flag)).unwrap();
    }
    page.push_str(
        "\n## One process for several controllers\n\n\
         - `--default-service-account` is the account that Kustomizations apply as. For images, Git and buckets it is\n  \
         `--default-workload-service-account`.\n\
         - There is one `--storage-path`, one `--metrics-addr` and one `--health-addr`.\n\
         - `bumpwright install` installs the image controllers alone: `--controllers=image-reflector,image-automation`.\n",
    );
    page
}

/// The default of one of our flags.
fn default_of(flag: &str) -> String {
    let program = program();
    let controller = program.find_subcommand("controller").unwrap();
    let argument = controller
        .get_arguments()
        .find(|argument| argument.get_long() == Some(flag));
    let argument = argument.unwrap_or_else(|| panic!("there is no --{flag}"));
    let values: Vec<_> = argument
        .get_default_values()
        .iter()
        .filter_map(|value| value.to_str())
        .collect();
    values.join(",")
}

/// The flags of Flux's controllers are flags here, with the defaults that the real ones print, except for
/// those on the page.
#[test]
fn flags_have_the_defaults_of_the_real_controllers() {
    let program = program();
    let ours = program.find_subcommand("controller").unwrap();
    let mut different = Vec::new();
    for controller in [
        "image-automation-controller",
        "image-reflector-controller",
        "source-controller",
        "kustomize-controller",
    ] {
        let Some(tool) = bumpwright_testkit::tool(controller) else {
            return;
        };
        let help = Command::new(tool).arg("--help").output().unwrap();
        let help = String::from_utf8([help.stdout, help.stderr].concat()).unwrap();
        let flags: Vec<(String, String)> = help.lines().filter_map(flag_of).collect();
        assert!(flags.len() > 15, "{help}");
        for (flag, flux) in flags {
            let known = ours.get_arguments().find(|argument| argument.get_long() == Some(&flag));
            let known = known.unwrap_or_else(|| panic!("{controller} has --{flag}, which is unknown here"));
            // Flags without effect have no default.
            if known.is_hide_set() || IN_WORDS.contains(&&*flag) {
                continue;
            }
            if !is_same(&flux, &default_of(&flag)) {
                different.push((controller, flag, flux));
            }
        }
    }
    let expected: Vec<_> = FLAGS
        .iter()
        .map(|(controller, flag, flux, _)| (*controller, (*flag).to_owned(), (*flux).to_owned()))
        .collect();
    assert_eq!(different, expected);
}

/// A line of pflag's help: the name, and the default, which for a zero value is empty.
fn flag_of(line: &str) -> Option<(String, String)> {
    let rest = line.trim_start().strip_prefix("--")?;
    let name = rest.split_whitespace().next()?;
    let default = line
        .rsplit_once("(default ")
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    Some((
        name.to_owned(),
        default.unwrap_or_default().trim_matches('"').to_owned(),
    ))
}

fn is_same(flux: &str, here: &str) -> bool {
    let zero = |text: &str| matches!(text, "" | "false" | "0");
    let duration = |text: &str| text.parse::<GoDuration>().ok();
    flux == here || (zero(flux) && zero(here)) || (duration(flux).is_some() && duration(flux) == duration(here))
}
