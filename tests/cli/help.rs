//! The help of each command: examples that parse, exit codes, and where to read more.

use std::path::Path;

use bumpwright::cli::args::command as command_line;
use clap::Command;

fn program() -> Command {
    let mut program = command_line().disable_help_subcommand(true);
    program.build();
    program
}

/// The commands of the program, each followed by those below it.
fn all(program: &Command) -> Vec<&Command> {
    let commands = program.get_subcommands();
    commands
        .flat_map(|command| std::iter::once(command).chain(all(command)))
        .collect()
}

/// What a command prints after its flags with `--help`.
fn after_help(command: &Command) -> String {
    let help = command.get_after_long_help().or_else(|| command.get_after_help());
    help.map(ToString::to_string).unwrap_or_default()
}

/// The lines below a heading.
fn below<'h>(help: &'h str, heading: &str) -> Vec<&'h str> {
    let lines = help.lines().skip_while(|line| *line != heading).skip(1);
    lines.take_while(|line| line.starts_with("  ")).map(str::trim).collect()
}

/// The commands of the program in a line of a shell, as arguments.
fn commands(line: &str) -> Vec<Vec<String>> {
    // What is said about the command is in a column of its own.
    let line = line.split_once("  ").map_or(line, |(typed, _)| typed);
    let mut commands = vec![Vec::new()];
    let mut words = words(line).into_iter();
    while let Some(word) = words.next() {
        match &*word {
            "|" | "&&" => commands.push(Vec::new()),
            ">" | "<" => drop(words.next()),
            _ => commands.last_mut().unwrap().push(word),
        }
    }
    for command in &mut commands {
        let is_setting = |word: &String| {
            word.split_once('=')
                .is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
        };
        let settings = command.iter().take_while(|word| is_setting(word)).count();
        command.drain(..settings);
    }
    commands.retain(|command| command.first().is_some_and(|word| word == "bumpwright"));
    commands
}

fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if open == c => quote = None,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    assert_eq!(quote, None, "{line}");
    words.extend(word);
    words
}

#[test]
fn a_line_of_a_shell_is_read_as_a_shell_reads_it() {
    assert_eq!(
        commands("A_B=c bumpwright update --set 'a b' | kubectl apply -f - && bumpwright message > file   # so"),
        [
            vec!["bumpwright", "update", "--set", "a b"],
            vec!["bumpwright", "message"]
        ]
    );
}

#[test]
fn each_command_has_examples_that_parse() {
    let program = program();
    for command in all(&program).into_iter().chain([&program]) {
        let help = after_help(command);
        let examples = below(&help, "Examples:");
        // A line that a terminal has to wrap cannot be copied.
        let long = examples.iter().find(|line| line.len() > 78 && !line.starts_with('#'));
        assert_eq!(long, None, "{}", command.get_name());
        let whole = examples.join("\n").replace(" \\\n", " ");
        let lines: Vec<&str> = whole.lines().filter(|line| !line.starts_with('#')).collect();
        assert!((2..=5).contains(&lines.len()), "{}: {lines:?}", command.get_name());
        for line in lines {
            let commands = commands(line);
            assert!(!commands.is_empty(), "{line}");
            let is_of_command = |typed: &Vec<String>| {
                let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
                typed.join(" ").starts_with(name)
            };
            assert!(commands.iter().any(is_of_command), "{}: {line}", command.get_name());
            for typed in commands {
                if let Err(error) = command_line().try_get_matches_from(&typed) {
                    panic!("{line}: {error}");
                }
            }
        }
    }
}

#[test]
fn each_command_has_its_exit_codes_and_documents() {
    let program = program();
    for command in all(&program).into_iter().chain([&program]) {
        let (name, help) = (command.get_name(), after_help(command));
        let codes: Vec<&str> = below(&help, "Exit codes:")
            .into_iter()
            .filter_map(|line| line.split_once("  ").map(|(code, _)| code))
            .collect();
        assert!(codes.starts_with(&["0"]) && codes.contains(&"2"), "{name}: {codes:?}");
        let pages = help.lines().find_map(|line| line.strip_prefix("Documentation: "));
        for page in pages.unwrap_or_else(|| panic!("{name}: no documentation")).split(", ") {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
            assert!(path.exists(), "{name}: {page}");
        }
    }
}

/// `-h` has the flags alone, and says where the rest is.
#[test]
fn short_help_is_short() {
    let program = program();
    for command in all(&program) {
        let mut command = command.clone();
        let short = command.render_help().to_string();
        assert!(!short.contains("Examples:"), "{short}");
        assert!(short.contains("see more with '--help'"), "{short}");
        assert!(command.render_long_help().to_string().contains("Examples:"));
    }
}
