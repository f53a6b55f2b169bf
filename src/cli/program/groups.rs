//! The list of commands in `--help`, by what they are for.

use clap::Command;

use crate::cli::args;

/// The groups, and the commands of each.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Images", &["update", "init", "policy", "markers", "message", "demo"]),
    (
        "Fleets and manifests",
        &["fleet", "build", "diff", "helm", "kustomize", "envsubst", "migrate"],
    ),
    (
        "A cluster",
        &[
            "status",
            "get",
            "tree",
            "trace",
            "events",
            "reconcile",
            "suspend",
            "resume",
            "ui",
        ],
    ),
    ("Controllers", &["install", "check", "uninstall", "controller", "crds"]),
    ("More", &["explain", "completions", "man", "version", "help"]),
];

/// What `help` is for, which clap adds when it builds the command line.
const HELP: &str = "Print this message or the help of the given subcommand(s)";

/// The command line with its commands in groups.
pub(crate) fn command() -> Command {
    // Not built: that would make the flags of all commands, for each run of one.
    let command = args::command();
    let widths = command.get_subcommands().map(|one| one.get_name().len());
    let width = widths.fold(0, usize::max);
    let heading = |text: &str| {
        let style = command.get_styles().get_header();
        format!("{style}{text}:{style:#}\n")
    };
    let mut commands = String::new();
    for (group, names) in GROUPS {
        commands += &heading(group);
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map_or_else(|| HELP.to_owned(), ToString::to_string);
            let style = command.get_styles().get_literal();
            commands += &format!("  {style}{name:width$}{style:#}  {about}\n");
        }
        commands.push('\n');
    }
    let options = heading("Options");
    let template =
        format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{commands}{options}{{options}}{{after-help}}");
    command.help_template(template)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_command_is_in_one_group_and_fits_a_line() {
        let mut built = args::command();
        built.build();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let all: BTreeSet<&str> = built.get_subcommands().map(Command::get_name).collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), all);
        assert_eq!(grouped.len(), all.len());
        let help = command().render_help().to_string();
        let listed = help.lines().take_while(|line| *line != "Options:");
        for line in listed.filter(|line| line.starts_with("  ")) {
            assert!(line.len() <= 80, "{line}");
        }
    }
}
