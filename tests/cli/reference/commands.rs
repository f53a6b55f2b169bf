//! Every command and flag, as clap has them.

use std::fmt::Write;

use bumpwright::cli::args::command;
use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, Command};

use super::markdown::{generated, help, item, names, paragraph, sentence};

/// The program with its commands, in the order of `--help`; `help` is clap's own.
pub fn program() -> Command {
    let mut program = command().disable_help_subcommand(true);
    program.build();
    program
}

/// The commands of the program, each followed by those below it.
pub fn all(program: &Command) -> Vec<&Command> {
    let commands = program.get_subcommands();
    commands
        .flat_map(|command| std::iter::once(command).chain(all(command)))
        .collect()
}

/// The name of a command as it is typed: `fleet check`.
pub fn name(command: &Command) -> &str {
    let typed = command.get_bin_name().unwrap_or_else(|| command.get_name());
    typed.strip_prefix("bumpwright ").unwrap_or(typed)
}

/// What a command prints after its flags.
pub fn after_help(command: &Command) -> String {
    let help = command.get_after_long_help().or_else(|| command.get_after_help());
    help.map(ToString::to_string).unwrap_or_default()
}

/// `commands.md`.
pub fn page() -> String {
    let program = program();
    let mut page = "# Commands\n\n".to_owned();
    page.push_str(&generated("the flags of the program"));
    page.push_str(
        "`bumpwright COMMAND --help` prints the same. The rules beyond the flags are in [cli.md](../cli.md).\n\n",
    );
    page.push_str(&help(&after_help(&program)));
    for command in all(&program) {
        page.push_str(&section(command));
    }
    page
}

/// `controller-flags.md`.
pub fn controller_flags() -> String {
    let program = program();
    let command = program.find_subcommand("controller").unwrap();
    let mut page = "# Flags of `controller`\n\n".to_owned();
    page.push_str(&generated("the flags of the program"));
    page.push_str(&paragraph(
        "The flags of Flux's controllers under their names, and those of bumpwright's own. Defaults that differ are in `defaults.md`.",
    ));
    page.push_str(&flags(command));
    page
}

fn section(command: &Command) -> String {
    let mut text = format!("## `{}`\n\n", name(command));
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    text.push_str(&paragraph(&sentence(&about)));
    let usage = command.clone().render_usage().to_string();
    writeln!(
        text,
        "```text\n{}\n```\n",
        usage.trim_start_matches("Usage: ").trim_end()
    )
    .unwrap();
    match command.get_name() {
        "controller" => {
            text.push_str("Its flags have a page of their own: [controller-flags.md](controller-flags.md).\n\n")
        }
        _ => text.push_str(&flags(command)),
    }
    text.push_str(&help(&after_help(command)));
    text
}

/// All flags by their headings, those that `--help` does not show at the end.
fn flags(command: &Command) -> String {
    let mut groups: Vec<(String, Vec<&Arg>)> = Vec::new();
    for argument in command.get_arguments().filter(|argument| argument.get_id() != "help") {
        let heading = match (
            argument.is_hide_set(),
            argument.get_help_heading(),
            argument.is_positional(),
        ) {
            (true, _, _) => "Not shown by --help",
            (false, Some(heading), _) => heading,
            (false, None, true) => "Arguments",
            (false, None, false) => "Flags",
        };
        match groups.iter_mut().find(|(known, _)| known == heading) {
            Some((_, arguments)) => arguments.push(argument),
            None => groups.push((heading.to_owned(), vec![argument])),
        }
    }
    let is_hidden = |group: &(String, Vec<&Arg>)| group.1.iter().all(|argument| argument.is_hide_set());
    groups.sort_by_key(|group| (is_hidden(group), group.0 != "Arguments", group.0 != "Flags"));
    let mut text = String::new();
    for (heading, arguments) in groups {
        writeln!(text, "{heading}:\n").unwrap();
        for argument in arguments {
            text.push_str(&item(&typed(argument), &meaning(argument)));
        }
        text.push('\n');
    }
    text
}

/// `-o, --output <OUTPUT>`
fn typed(argument: &Arg) -> String {
    match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(_)) => format!("-{short}, {argument}"),
        _ => argument.to_string(),
    }
}

fn meaning(argument: &Arg) -> String {
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let mut text = sentence(&help.map(ToString::to_string).unwrap_or_default());
    let takes_values = argument.get_num_args().is_some_and(|number| number.takes_values());
    let values: Vec<PossibleValue> = argument.get_possible_values();
    if takes_values && !values.is_empty() && !argument.is_hide_possible_values_set() {
        let value = |value: &PossibleValue| match value.get_help() {
            Some(help) => format!("`{}` ({help})", value.get_name()),
            None => format!("`{}`", value.get_name()),
        };
        let values: Vec<String> = values.iter().filter(|value| !value.is_hide_set()).map(value).collect();
        write!(text, " Values: {}.", values.join(", ")).unwrap();
    }
    let defaults: Vec<_> = argument
        .get_default_values()
        .iter()
        .filter_map(|value| value.to_str())
        .collect();
    if takes_values && defaults.iter().any(|value| !value.is_empty()) {
        write!(text, " Default: {}.", names(defaults)).unwrap();
    }
    if let Some(variable) = argument.get_env().and_then(|variable| variable.to_str()) {
        write!(text, " Environment: `{variable}`.").unwrap();
    }
    let is_said = text.contains("may be repeated");
    if matches!(argument.get_action(), ArgAction::Append) && !argument.is_positional() && !is_said {
        text.push_str(match argument.get_value_delimiter() {
            Some(',') => " May be repeated, or a list with commas.",
            _ => " May be repeated.",
        });
    }
    text
}
