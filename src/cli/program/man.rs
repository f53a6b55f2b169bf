//! `bumpwright man`: manual pages of all commands, generated from their flags and help texts.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_mangen::Man as Page;

use crate::cli::console;
use crate::cli::error::{Attempt as _, CliError};
use bumpwright_text::between;

/// Arguments of `man`.
#[derive(Debug, Args)]
#[command(after_long_help = MAN_HELP)]
pub struct Man {
    /// Print the page of this command [default: the page of bumpwright]
    #[arg(value_name = "COMMAND", conflicts_with = "export")]
    pub command: Option<String>,

    /// Write a page for each command into this folder instead
    #[arg(long, value_name = "DIR")]
    pub export: Option<PathBuf>,
}

const MAN_HELP: &str = "\
Examples:
  bumpwright man update | man -l -
  bumpwright man --export /usr/local/share/man/man1

Exit codes:
  0  printed or written
  2  an error

Documentation: docs/reference/commands.md";

/// Runs the command, for the commands of this command line.
#[must_use]
pub(crate) fn run(args: &Man, command_line: Command) -> ExitCode {
    let mut root = command_line.disable_help_subcommand(true);
    root.build();
    console::end(match &args.export {
        Some(folder) => export(&root, folder),
        None => print(&root, args.command.as_deref()),
    })
}

/// Writes a page for the command, and for each command below it.
fn export(command: &clap::Command, folder: &Path) -> Result<(), CliError> {
    fs::create_dir_all(folder).at(format_args!("cannot make the folder {}", folder.display()))?;
    let page = Page::new(command.clone());
    let path = folder.join(page.get_filename());
    let text = render(&page, command).at("cannot print the page")?;
    fs::write(&path, text).at(format_args!("cannot write {}", path.display()))?;
    let below = command.get_subcommands().filter(|command| !command.is_hide_set());
    below.into_iter().try_for_each(|command| export(command, folder))
}

fn print(root: &clap::Command, name: Option<&str>) -> Result<(), CliError> {
    let command = match name {
        None => root,
        Some(name) => root.find_subcommand(name).ok_or_else(|| {
            CliError::new(format!("there is no command {name}")).hint("`bumpwright --help` lists them")
        })?,
    };
    let text = render(&Page::new(command.clone()), command).at("cannot print the page")?;
    console::print(&text).at("cannot print the page")
}

/// The page: the sections of `clap_mangen`, and those of the text after the flags.
fn render(page: &Page, command: &clap::Command) -> io::Result<Vec<u8>> {
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    let after = between("", after, "").to_string();
    let (sections, notes): (Vec<&str>, Vec<&str>) = after.split("\n\n").partition(|part| heading(part).is_some());
    let mut text = Vec::new();
    text.extend(title(command).into_bytes());
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    text.extend(
        notes
            .into_iter()
            .flat_map(|note| format!(".PP\n{}\n", lines(note)).into_bytes()),
    );
    page.render_options_section(&mut text)?;
    if command.has_subcommands() {
        page.render_subcommands_section(&mut text)?;
    }
    text.extend(sections.into_iter().flat_map(|part| section(part).into_bytes()));
    Ok(text)
}

/// Without a date, which would be another one in each build.
fn title(command: &clap::Command) -> String {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let name = literal(&name.to_uppercase());
    format!(
        ".TH \"{name}\" \"1\" \"\" \"bumpwright {}\" \"bumpwright\"\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// The heading of a part of a help text, and what is below it.
fn heading(part: &str) -> Option<(&str, &str)> {
    match part.split_once(":\n") {
        Some((heading, below)) if !heading.contains('\n') => Some((heading, below)),
        _ => part.strip_prefix("Documentation: ").map(|pages| ("See also", pages)),
    }
}

/// A part with a heading (`Exit codes:`) as a section, in which lines stay as they are.
fn section(part: &str) -> String {
    let (heading, text) = heading(part).unwrap_or(("Notes", part));
    format!(".SH \"{}\"\n.nf\n{}\n.fi\n", heading.to_uppercase(), lines(text))
}

fn lines(text: &str) -> String {
    text.lines().map(literal).collect::<Vec<_>>().join("\n")
}

/// A line that roff prints as it is.
fn literal(line: &str) -> String {
    let line = line
        .trim_end()
        .replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('`', "\\`");
    if line.starts_with(['.', '\'']) {
        format!("\\&{line}")
    } else {
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_with_a_heading_are_sections_whose_lines_stay() {
        for (part, expected) in [
            (
                "Exit codes:\n  0  done\n  2  an error",
                ".SH \"EXIT CODES\"\n.nf\n  0  done\n  2  an error\n.fi\n",
            ),
            (
                "Examples:\n.hidden --a \\n\n'b",
                ".SH \"EXAMPLES\"\n.nf\n\\&.hidden \\-\\-a \\en\n\\&'b\n.fi\n",
            ),
            (
                "Documentation: docs/cli.md",
                ".SH \"SEE ALSO\"\n.nf\ndocs/cli.md\n.fi\n",
            ),
        ] {
            assert_eq!(section(part), expected);
        }
        assert_eq!(heading("Kinds: one,\ntwo:\nthree"), None);
    }
}
