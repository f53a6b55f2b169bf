//! Tables as kubectl prints them: columns three spaces apart, the last one as long as it is, or as
//! the terminal is wide.

use std::fmt::Display;

use anstyle::Style;

use crate::cli::words;
use bumpwright_text::between;

const GAP: usize = 3;
/// What an empty cell has.
const NOTHING: &str = "-";
/// The last column is never cut shorter.
const LEAST: usize = 20;
const BOLD: Style = Style::new().bold();

/// A text in a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// Text from a cluster, made safe for a terminal, in one line.
    pub(in crate::cli) fn new(text: impl AsRef<str>) -> Self {
        Self::styled(text, Style::new())
    }

    /// The same; nothing without a value.
    pub(in crate::cli) fn maybe(value: Option<impl Display>) -> Self {
        Self::new(between("", value, "").to_string())
    }

    /// The same with a colour. Colours are always included: the output stream removes them.
    pub(in crate::cli) fn styled(text: impl AsRef<str>, style: Style) -> Self {
        let text = match text.as_ref() {
            "" => NOTHING.to_owned(),
            text => words::inline(text).into_owned(),
        };
        Self { text, style }
    }
}

/// Rows below headings.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Table {
    pub headings: Vec<&'static str>,
    /// The rows, each as long as the headings.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// The width of each column.
    pub(in crate::cli) fn widths(&self) -> Vec<usize> {
        let columns = self.headings.iter().enumerate();
        let width = |(column, heading): (usize, &&str)| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| wide(&cell.text)).fold(heading.len(), usize::max)
        };
        columns.map(width).collect()
    }

    /// The table in so many columns of a terminal, each line after `indent` spaces.
    pub(in crate::cli) fn render(&self, has_headings: bool, indent: usize, columns: Option<usize>) -> String {
        let widths = self.widths();
        let mut out = String::new();
        if has_headings {
            let headings: Vec<Cell> = self
                .headings
                .iter()
                .map(|heading| Cell::styled(heading, BOLD))
                .collect();
            out.push_str(&line(&headings, &widths, indent, columns));
        }
        for row in &self.rows {
            out.push_str(&line(row, &widths, indent, columns));
        }
        out
    }
}

/// A row with columns of these widths.
pub(in crate::cli) fn line(row: &[Cell], widths: &[usize], indent: usize, columns: Option<usize>) -> String {
    let mut out = " ".repeat(indent);
    let mut used = indent;
    let mut cells = row.iter().zip(widths).peekable();
    while let Some((Cell { text, style }, width)) = cells.next() {
        if cells.peek().is_none() {
            let text = cut(text, columns.map(|columns| columns.saturating_sub(used).max(LEAST)));
            out.push_str(&format!("{style}{text}{style:#}"));
            break;
        }
        let gap = width.saturating_sub(wide(text)) + GAP;
        out.push_str(&format!("{style}{text}{style:#}{}", " ".repeat(gap)));
        used += width.max(&wide(text)) + GAP;
    }
    out.push('\n');
    out
}

/// The text in at most so many columns of a terminal.
pub(in crate::cli) fn cut(text: &str, columns: Option<usize>) -> String {
    match columns {
        Some(columns) => ::console::truncate_str(text, columns, "…").into_owned(),
        None => text.to_owned(),
    }
}

fn wide(text: &str) -> usize {
    ::console::measure_text_width(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn columns_are_three_spaces_apart_and_the_last_is_cut() {
        let table = Table {
            headings: vec!["NAME", "MESSAGE"],
            rows: vec![
                vec![Cell::new("a"), Cell::new("0123456789012345678901234")],
                vec![Cell::new("日本"), Cell::new("")],
            ],
        };
        let whole = "NAME   MESSAGE\na      0123456789012345678901234\n日本   -\n";
        assert_eq!(plain(&table.render(true, 0, None)), whole);
        let narrow = "a      0123456789012345678…\n日本   -\n";
        assert_eq!(plain(&table.render(false, 0, Some(27))), narrow);
    }

    #[test]
    fn a_cell_is_one_line_without_commands_for_the_terminal() {
        let cell = Cell::new("a\u{1b}[31m\nb\u{202e}");
        assert_eq!(cell.text, "a\\u{1b}[31m\\nb\\u{202e}");
    }
}
