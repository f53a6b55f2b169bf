//! Reports of commands: one file with its style in it, without a script, for the artifacts of a CI job.

use serde::Serialize;
use tera::Context;

use super::assets::STYLE;
use super::render::{RenderError, filled};
use super::view::{DiffLine, diff, is_safe};

/// What a command reports, to be rendered as one HTML page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What it is, such as `bumpwright update`.
    pub title: String,
    /// The version of the program.
    pub version: String,
    /// Its sections; none where there is nothing to say.
    pub sections: Vec<Section>,
}

/// A part of a report with a heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    pub title: String,
    /// What is in it.
    pub blocks: Vec<Block>,
}

/// Text, a table, a difference, or more of them behind a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    Text(Cell),
    /// A table: its headings, and rows of as many cells.
    Table(Vec<&'static str>, Vec<Vec<Cell>>),
    Diff(String),
    /// A line that can be opened, and what is behind it.
    Folded(Cell, Vec<Self>),
}

/// A text of a table or paragraph, with badges and a link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// The text; may be empty.
    pub text: String,
    /// Words before it that stand out, each with its tone.
    pub badges: Vec<(String, Tone)>,
    /// Whether it is code.
    pub is_code: bool,
    /// A page for it; only HTTPS is followed.
    pub link: Option<String>,
}

/// How good something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tone {
    /// As it should be.
    Good,
    Bad,
    Warn,
    Busy,
    Mute,
}

impl Cell {
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    #[must_use]
    pub fn code(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_code: true,
            ..Self::default()
        }
    }

    /// A word that stands out, before the text.
    #[must_use]
    pub fn badge(mut self, word: impl Into<String>, tone: Tone) -> Self {
        self.badges.push((word.into(), tone));
        self
    }

    #[must_use]
    pub fn linked(mut self, link: Option<String>) -> Self {
        self.link = link.filter(|link| is_safe(link));
        self
    }
}

impl Block {
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Cell::text(text))
    }
}

/// A block as its template gets it: one of these is set.
#[derive(Default, Serialize)]
struct Shown {
    text: Option<Cell>,
    head: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
    diff: Vec<DiffLine>,
    folded: Vec<Self>,
}

impl Shown {
    fn new(block: &Block) -> Self {
        match block {
            Block::Text(text) => Self {
                text: Some(text.clone()),
                ..Self::default()
            },
            Block::Table(head, rows) => Self {
                head: head.clone(),
                rows: rows.clone(),
                ..Self::default()
            },
            Block::Diff(text) => Self {
                diff: diff(text),
                ..Self::default()
            },
            Block::Folded(line, blocks) => Self {
                text: Some(line.clone()),
                folded: blocks.iter().map(Self::new).collect(),
                ..Self::default()
            },
        }
    }
}

impl Report {
    /// The HTML.
    ///
    /// # Errors
    /// [`RenderError`] for a fault of a template.
    pub fn html(&self) -> Result<String, RenderError> {
        let section = |section: &Section| {
            let blocks: Vec<Shown> = section.blocks.iter().map(Shown::new).collect();
            (section.title.clone(), blocks)
        };
        let sections: Vec<_> = self.sections.iter().map(section).collect();
        let mut context = Context::new();
        context.insert("title", &self.title);
        context.insert("version", &self.version);
        context.insert("style", STYLE);
        context.insert("sections", &sections);
        filled("report.html", &context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_one_file_and_its_texts_are_text() {
        let hostile = "<script>alert(1)</script>\u{202e}";
        let table = Block::Table(
            vec!["Old", "New"],
            vec![vec![
                Cell::code("1").badge("bad", Tone::Bad),
                Cell::code(hostile).linked(Some("javascript:x".to_owned())),
            ]],
        );
        let report = Report {
            title: "bumpwright update".to_owned(),
            version: "1".to_owned(),
            sections: vec![Section {
                title: hostile.to_owned(),
                blocks: vec![
                    Block::text(hostile),
                    table.clone(),
                    Block::Folded(
                        Cell::text("more"),
                        vec![Block::Diff(format!("-old\n+{hostile}\n")), table],
                    ),
                ],
            }],
        };
        let html = report.html().unwrap();
        for lacking in ["<script", "javascript:", "<link", "src=", "\u{202e}"] {
            assert!(!html.contains(lacking), "{lacking}\n{html}");
        }
        for wanted in [
            "<style>",
            "prefers-color-scheme: dark",
            "<th scope=\"col\">Old</th>",
            "<span class=\"badge bad\">bad</span>",
            "<span class=\"del\">-old</span>",
            "more</bdi></summary>",
            "&lt;script&gt;alert(1)&lt;/script&gt;\\u{202e}",
        ] {
            assert!(html.contains(wanted), "{wanted}\n{html}");
        }
    }
}
