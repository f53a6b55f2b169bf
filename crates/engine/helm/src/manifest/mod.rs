//! Rendered documents: split, sorted, separated from hooks, and printed.

mod head;
mod kinds;
mod print;

use std::sync::Arc;

use super::chart::File;
use super::error::HelmError;
use bumpwright_gostd::unicode::is_space;
use bumpwright_text::Parts;
use head::Head;
pub use print::{Selection, TemplateNotFound, shown_only};

/// A document of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The path of its template.
    pub path: String,
    pub content: String,
    /// Its kind; empty if it has none.
    pub kind: String,
}

/// A document that Helm applies at an event of the release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    pub document: Document,
    /// The events, as written in its annotation.
    pub events: Vec<String>,
    /// Its place among the hooks of an event.
    pub weight: i64,
}

/// All that a chart renders to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// Custom resource definitions of `crds/`, with their paths from the root chart.
    pub crds: Vec<(String, Arc<File>)>,
    /// The documents in the order in which they are installed.
    pub documents: Vec<Document>,
    pub hooks: Vec<Hook>,
    /// Addresses of schemas that values were not compared with.
    pub unfetched: Vec<String>,
}

const EVENTS: [&str; 10] = [
    "pre-install",
    "post-install",
    "pre-delete",
    "post-delete",
    "pre-upgrade",
    "post-upgrade",
    "pre-rollback",
    "post-rollback",
    "test",
    "test-success",
];

impl Hook {
    /// Whether it is a test.
    #[must_use]
    pub fn is_test(&self) -> bool {
        self.events.iter().any(|event| event.starts_with("test"))
    }
}

/// The documents of a text: split at lines of `---`, without blank ones. Spaces before a document are left out,
/// those after it stay.
#[must_use]
fn split_documents(text: &str) -> Vec<&str> {
    let text = text.trim_start_matches(is_space);
    let mut documents = Vec::new();
    let mut start = 0;
    let mut line = 0;
    while line < text.len() {
        let rest = text.part(line..);
        if let Some(after) = rest.strip_prefix("---") {
            documents.push(text.part(start..line));
            let spaces = after.len() - after.trim_start_matches([' ', '\t']).len();
            start = line + 3 + spaces;
        }
        line = rest.find('\n').map_or(text.len(), |end| line + end + 1);
    }
    documents.push(text.tail(start));
    let documents = documents
        .into_iter()
        .map(|document| document.trim_start_matches(is_space));
    documents.filter(|document| !document.is_empty()).collect()
}

/// The documents of all templates, by path and kind.
pub(crate) fn sort_documents(mut files: Vec<(String, String)>) -> Result<Rendered, HelmError> {
    files.retain(|(path, _)| !path.ends_with("NOTES.txt"));
    files.sort();
    let mut rendered = Rendered::default();
    for (path, text) in &files {
        for content in split_documents(text) {
            let head = Head::read(content).map_err(|problem| HelmError::Document {
                path: path.clone(),
                problem: Box::new(problem),
                partial: files.clone(),
            })?;
            place(&mut rendered, path, content, head);
        }
    }
    rendered.documents.sort_by(|a, b| kinds::order(&a.kind, &b.kind));
    rendered
        .hooks
        .sort_by(|a, b| kinds::order(&a.document.kind, &b.document.kind));
    Ok(rendered)
}

fn place(rendered: &mut Rendered, path: &str, content: &str, head: Head) {
    let document = Document {
        path: path.to_owned(),
        content: content.to_owned(),
        kind: head.kind,
    };
    let annotation = |name: &str| {
        let mut found = head.annotations.iter().rev();
        found.find(|(key, _)| key == name).map(|(_, value)| value)
    };
    let Some(events) = annotation("helm.sh/hook") else {
        rendered.documents.push(document);
        return;
    };
    let events: Vec<String> = events.split(',').map(|event| event.trim().to_lowercase()).collect();
    if !events.iter().all(|event| EVENTS.contains(&event.as_str())) {
        return;
    }
    let weight = annotation("helm.sh/hook-weight").and_then(|weight| bumpwright_gostd::atoi(weight).ok());
    rendered.hooks.push(Hook {
        document,
        events,
        weight: weight.unwrap_or_default(),
    });
}

#[cfg(test)]
mod tests {
    use super::split_documents;

    #[test]
    fn documents_are_split_at_lines_of_dashes() {
        assert_eq!(
            split_documents("\n--- \na: 1\n\n---\n---  b: 2\n--- \n\n"),
            ["a: 1\n\n", "b: 2\n"]
        );
        assert_eq!(split_documents("a: x---y\n"), ["a: x---y\n"]);
    }
}
