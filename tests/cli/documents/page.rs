//! A page of Markdown: headings, links and fenced blocks, with the notes before them.
//!
//! A note is an HTML comment on a line of its own, before a block or anywhere:
//!
//! - `<!-- unchecked: REASON -->` The block is not checked.
//! - `<!-- part of: KIND -->` The block is a part of an object of this kind.
//! - `<!-- file: NAME -->` The block is written to this file before the next one is run.
//! - `<!-- run -->` The block is run by a shell, in a folder of the page. A `sh` block has to succeed; a `console` block prints what
//!   it shows, where `…` is any text.
//! - `<!-- prepare: COMMAND -->` is run before the block; `REPOSITORY` is this repository.
//! - `<!-- tags: REPOSITORY TAG... -->` This repository of `registry.example.com` has these tags.
//! - `<!-- needs: PROGRAM... -->` Without these tools the page is not run.
//! - `<!-- Generated … -->` says what makes the page.

use std::collections::BTreeSet;

const NOTES: [&str; 7] = ["unchecked", "part of", "file", "run", "prepare", "tags", "needs"];

pub struct Page {
    /// From the root of the repository.
    pub path: String,
    pub blocks: Vec<Block>,
    pub links: Vec<Link>,
    /// The anchors of the headings, as GitHub and mdBook make them.
    pub anchors: BTreeSet<String>,
}

pub struct Link {
    pub line: usize,
    pub target: String,
}

pub struct Block {
    /// The line of its fence.
    pub line: usize,
    pub language: String,
    pub text: String,
    /// Name and value of the notes since the last block.
    pub notes: Vec<(String, String)>,
}

impl Block {
    /// The value of a note.
    pub fn note(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The values of all notes of this name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let of_name = move |(known, _): &&(String, String)| known == name;
        self.notes.iter().filter(of_name).map(|(_, value)| value.as_str())
    }

    pub fn unknown_notes(&self) -> impl Iterator<Item = &str> {
        let names = self.notes.iter().map(|(name, _)| name.as_str());
        names.filter(|name| !NOTES.contains(name) && !name.starts_with("Generated "))
    }
}

impl Page {
    pub fn read(path: String, text: &str) -> Self {
        let (blocks, links, anchors) = (Vec::new(), Vec::new(), BTreeSet::new());
        let mut page = Self {
            path,
            blocks,
            links,
            anchors,
        };
        let mut notes = Vec::new();
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
        while let Some((number, line)) = lines.next() {
            let indent = line.len() - line.trim_start().len();
            if let Some(language) = line.trim_start().strip_prefix("```") {
                let inner = lines.by_ref().take_while(|(_, line)| line.trim() != "```");
                let text = inner.fold(String::new(), |text, (_, line)| {
                    text + line.get(indent..).unwrap_or_default() + "\n"
                });
                page.blocks.push(Block {
                    line: number,
                    language: language.to_owned(),
                    text,
                    notes: std::mem::take(&mut notes),
                });
            } else if let Some(note) = line
                .trim()
                .strip_prefix("<!-- ")
                .and_then(|rest| rest.strip_suffix(" -->"))
            {
                let (name, value) = note.split_once(": ").unwrap_or((note, ""));
                notes.push((name.to_owned(), value.to_owned()));
            } else {
                page.prose(number, line);
            }
        }
        page
    }

    fn prose(&mut self, number: usize, line: &str) {
        if line.starts_with('#') {
            let anchor = anchor(line.trim_start_matches('#').trim());
            let numbered = (1..).map(|n| format!("{anchor}-{n}"));
            let free = std::iter::once(anchor.clone())
                .chain(numbered)
                .find(|anchor| !self.anchors.contains(anchor));
            self.anchors.extend(free);
        }
        let without_code: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = without_code.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        self.links.extend(targets.map(|(target, _)| Link {
            line: number,
            target: target.to_owned(),
        }));
    }
}

/// The anchor of a heading: letters and digits in lower case, `-` for spaces.
fn anchor(heading: &str) -> String {
    let text = match heading.split_once("](") {
        Some((before, after)) => before.replace('[', "") + after.split_once(')').map_or("", |(_, rest)| rest),
        None => heading.to_owned(),
    };
    let kept = text.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        _ => c.is_alphanumeric().then_some(c),
    });
    kept.collect::<String>().to_lowercase()
}
