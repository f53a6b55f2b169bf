//! Markdown: text wrapped and made safe, items of lists, and the parts of help texts.

use std::fmt::Write;

const WIDTH: usize = 130;

/// The line below the title of each page.
pub fn generated(from: &str) -> String {
    format!("<!-- Generated from {from}: BLESS=1 cargo test --test cli reference -->\n\n")
}

/// An entry of a list: what it is, and its text.
pub fn item(head: &str, text: &str) -> String {
    let wrapped = wrap(&format!("**`{head}`** {}", safe(text)), WIDTH - 2);
    format!("- {}\n", wrapped.replace('\n', "\n  "))
}

/// A paragraph of plain text.
pub fn paragraph(text: &str) -> String {
    format!("{}\n\n", wrap(&safe(text), WIDTH))
}

/// A sentence ends with a full stop.
pub fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', '!', '?']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// Names in backticks, separated by commas.
pub fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted = names.into_iter().map(|name| format!("`{name}`"));
    quoted.collect::<Vec<_>>().join(", ")
}

/// Characters with a meaning in Markdown are escaped, but not in backticks.
fn safe(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split('`').enumerate() {
        if index > 0 {
            out.push('`');
        }
        match index % 2 {
            0 => out.push_str(&part.replace('<', "\\<").replace('*', "\\*")),
            _ => out.push_str(part),
        }
    }
    out
}

/// Lines of at most this width. No line begins with what would be a list, a heading or a quotation.
fn wrap(text: &str, width: usize) -> String {
    let begins_a_block = |word: &str| {
        let number = word.trim_end_matches(['.', ')']);
        let is_number = number != word && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number || word.starts_with(['#', '>']) || word.bytes().all(|byte| b"-+=".contains(&byte))
    };
    let mut out = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let wanted = word.chars().count();
        if length > 0 && length + 1 + wanted > width && !begins_a_block(word) {
            out.push('\n');
            length = 0;
        } else if length > 0 {
            out.push(' ');
            length += 1;
        }
        out.push_str(word);
        length += wanted;
    }
    out
}

/// The parts of a help text, each with its heading.
pub fn parts(help: &str) -> Vec<(Option<&str>, &str)> {
    fn part(part: &str) -> (Option<&str>, &str) {
        match part.split_once(":\n") {
            Some((heading, below)) if !heading.contains('\n') => (Some(heading), below.trim_end()),
            _ => match part.strip_prefix("Documentation: ") {
                Some(pages) => (Some("Documentation"), pages),
                None => (None, part.trim_end()),
            },
        }
    }
    help.split("\n\n").map(part).collect()
}

/// A help text after the flags, for a page in `docs/reference`.
pub fn help(text: &str) -> String {
    let mut out = String::new();
    for (heading, text) in parts(text) {
        match heading {
            None => out.push_str(&paragraph(text)),
            Some("Documentation") => {
                let links = text.split(',').map(|page| link(page.trim())).collect::<Vec<_>>();
                writeln!(out, "{}\n", wrap(&format!("See {}.", links.join(", ")), WIDTH)).unwrap();
            }
            Some(heading) => {
                let language = if heading == "Examples" { "sh" } else { "text" };
                let lines: Vec<&str> = text
                    .lines()
                    .map(|line| line.strip_prefix("  ").unwrap_or(line))
                    .collect();
                writeln!(out, "{heading}:\n\n```{language}\n{}\n```\n", lines.join("\n")).unwrap();
            }
        }
    }
    out
}

/// A link to a page below `docs`, from `docs/reference`.
fn link(page: &str) -> String {
    match page.strip_prefix("docs/reference/") {
        Some(here) => format!("[{here}]({here})"),
        None => format!("[{page}](../{})", page.trim_start_matches("docs/")),
    }
}

#[test]
fn no_wrapped_line_begins_a_block() {
    assert_eq!(wrap("aaa bbb - ccc 1. ddd", 7), "aaa bbb -\nccc 1.\nddd");
    assert_eq!(safe("a <b> `<c>*` *"), "a \\<b> `<c>*` \\*");
    let help = "Kinds: none.\n\nExit codes:\n  0  done\n\nDocumentation: docs/cli.md";
    assert_eq!(
        parts(help),
        [
            (None, "Kinds: none."),
            (Some("Exit codes"), "  0  done"),
            (Some("Documentation"), "docs/cli.md")
        ]
    );
}
