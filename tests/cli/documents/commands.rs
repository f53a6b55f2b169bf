//! The commands of a block: those of `bumpwright` have to parse.

use bumpwright::cli::args::command;
use bumpwright_api::tree::{Value, parse};
use clap::error::ErrorKind;

use super::page::Block;

/// The faults of the commands in a block.
pub fn faults(block: &Block) -> Vec<String> {
    ours(block).filter_map(|words| fault(&words)).collect()
}

/// How many commands of ours a block has.
pub fn count(block: &Block) -> usize {
    ours(block).count()
}

fn fault(words: &[String]) -> Option<String> {
    let error = command().try_get_matches_from(words).err()?;
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    (!is_help).then(|| format!("{}: {first}", words.join(" ")))
}

fn ours(block: &Block) -> impl Iterator<Item = Vec<String>> {
    let scripts = match block.language.as_str() {
        "sh" => vec![block.text.clone()],
        "console" => typed(&block.text).into_iter().map(|(command, _)| command).collect(),
        "yaml" => scalars(&block.text),
        _ => Vec::new(),
    };
    let all = scripts.into_iter().flat_map(|script| commands(&script));
    let without_variables = all.map(|words| words.into_iter().skip_while(|word| word.contains('=')).collect());
    without_variables.filter(|words: &Vec<String>| words.len() > 1 && words[0] == "bumpwright")
}

/// The commands of a session, each with what it printed.
pub fn typed(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        match (line.strip_prefix("$ "), found.last_mut()) {
            (Some(command), _) => found.push((command.to_owned(), String::new())),
            (None, Some((command, printed))) if printed.is_empty() && command.ends_with("\\\n") => {
                command.push_str(line)
            }
            (None, Some((_, printed))) => printed.push_str(line),
            (None, None) => {}
        }
    }
    found
}

/// All texts of a YAML block: a pipeline's steps are among them.
fn scalars(text: &str) -> Vec<String> {
    let (documents, _) = parse(text);
    let nodes = documents.iter().flat_map(|document| document.all());
    let texts = nodes.filter_map(|node| match &node.value {
        Value::Scalar { text, .. } => Some(text.to_string()),
        _ => None,
    });
    texts.collect()
}

/// The words of each simple command of a shell script, as far as documents need it.
fn commands(script: &str) -> Vec<Vec<String>> {
    let mut reader = Reader {
        rest: script,
        done: Vec::new(),
        words: Vec::new(),
        word: None,
        here: Vec::new(),
    };
    while let Some(c) = reader.next() {
        reader.take(c);
    }
    reader.end_command();
    reader.done
}

struct Reader<'a> {
    rest: &'a str,
    done: Vec<Vec<String>>,
    words: Vec<String>,
    word: Option<String>,
    /// Ends of here-documents whose texts begin with the next line.
    here: Vec<String>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn take(&mut self, c: char) {
        match c {
            '\\' => match self.next() {
                Some('\n') | None => {}
                Some(c) => self.push(c),
            },
            '\'' | '"' => self.quoted(c),
            '$' if self.rest.starts_with('(') => self.substitution(),
            '#' if self.word.is_none() => self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]),
            '\n' => {
                self.end_command();
                self.skip_here_documents();
            }
            ';' | '|' | '&' | '(' | ')' => self.end_command(),
            '<' | '>' => self.redirection(),
            ' ' | '\t' => self.end_word(),
            c => self.push(c),
        }
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn quoted(&mut self, quote: char) {
        self.word.get_or_insert_default();
        while let Some(c) = self.next() {
            match c {
                c if c == quote => return,
                '\\' if quote == '"' => {
                    let escaped = self.next();
                    escaped.into_iter().for_each(|c| self.push(c));
                }
                '$' if quote == '"' && self.rest.starts_with('(') => self.substitution(),
                c => self.push(c),
            }
        }
    }

    /// `$(…)`: its commands count, and its place is a word.
    fn substitution(&mut self) {
        let mut depth = 0;
        let end = self.rest.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        let (inner, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.done.extend(commands(&inner[1..]));
        self.rest = rest.strip_prefix(')').unwrap_or(rest);
        self.push('_');
    }

    fn redirection(&mut self) {
        let is_here = self.rest.starts_with('<');
        self.end_word();
        let name = self.rest.trim_start_matches(['<', '>', '&', '-', ' ']);
        let end = name.find([' ', '\n', ';', '|', ')']).unwrap_or(name.len());
        let (name, rest) = name.split_at(end);
        self.rest = rest;
        if is_here {
            self.here.push(name.replace(['\'', '"'], ""));
        }
    }

    fn skip_here_documents(&mut self) {
        for end in std::mem::take(&mut self.here) {
            let marker = format!("\n{end}\n");
            let text = format!("\n{}", self.rest);
            let at = text.find(&marker).map_or(self.rest.len(), |at| at + marker.len() - 1);
            self.rest = &self.rest[at..];
        }
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            self.done.push(words);
        }
    }
}
