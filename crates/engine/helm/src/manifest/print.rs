//! The text of a release, as `helm template` prints it.

use super::{Hook, Rendered, split_documents};
use bumpwright_gostd::{glob::path_match, unicode::is_space};
use std::fmt::Write as _;

/// Nothing was rendered from a selected template: its path or pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not find template {0} in chart")]
pub struct TemplateNotFound(pub String);

/// What is printed of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// `--include-crds`
    pub crds: bool,
    pub no_hooks: bool,
    pub skip_tests: bool,
    /// `--show-only`: paths or patterns of templates.
    pub show_only: Vec<String>,
}

impl Selection {
    /// Whether a hook is among what is printed.
    #[must_use]
    pub fn has(&self, hook: &Hook) -> bool {
        !(self.no_hooks || self.skip_tests && hook.is_test())
    }
}

impl Rendered {
    /// The text of the selected documents.
    ///
    /// # Errors
    /// Nothing was rendered from a selected template.
    pub fn text(&self, selection: &Selection) -> Result<String, TemplateNotFound> {
        let documents = self
            .documents
            .iter()
            .chain(self.hooks.iter().map(|hook| &hook.document));
        let room = documents.map(|document| document.path.len() + document.content.len() + 32);
        let mut text = String::with_capacity(room.sum());
        let crds = self.crds.iter().filter(|_| selection.crds);
        for (path, file) in crds {
            push(&mut text, path, &file.text());
        }
        for document in &self.documents {
            push(&mut text, &document.path, &document.content);
        }
        text.truncate(text.trim_end_matches(is_space).len());
        text.drain(..text.len() - text.trim_start_matches(is_space).len());
        text.push('\n');
        for hook in self.hooks.iter().filter(|hook| selection.has(hook)) {
            push(&mut text, &hook.document.path, &hook.document.content);
        }
        if selection.show_only.is_empty() {
            Ok(text)
        } else {
            shown_only(&text, &selection.show_only)
        }
    }
}

fn push(text: &mut String, path: &str, content: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "---\n# Source: {path}\n{content}");
}

/// The documents of a text that the templates with these paths rendered.
///
/// # Errors
/// Nothing is of one of them.
pub fn shown_only(text: &str, patterns: &[String]) -> Result<String, TemplateNotFound> {
    let documents = split_documents(text);
    let mut shown = String::new();
    for pattern in patterns {
        let matching = |document: &&&str| source(document).is_some_and(|path| path_match(pattern, path) == Some(true));
        let mut selected = documents.iter().filter(matching).peekable();
        if selected.peek().is_none() {
            return Err(TemplateNotFound(pattern.clone()));
        }
        for document in selected {
            let _ = writeln!(shown, "---\n{document}");
        }
    }
    Ok(shown)
}

/// The path of a document's template, without the name of the chart.
fn source(document: &str) -> Option<&str> {
    let (_, after) = document.split_once("# Source: ")?;
    let line = after.lines().next()?;
    line.split_once('/').map(|(_, path)| path)
}
