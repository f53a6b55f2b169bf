//! A kustomization file, its edits, and the check of what they make of it.

use std::ops::Range;
use std::rc::Rc;

use bumpwright_api::Place;
use bumpwright_api::tree::{Node, Value, parse_as_written};
use bumpwright_edit::{Edit, Plan, splice};
use bumpwright_text::Parts;
use serde_json::{Map, Value as Json};

use super::Refused;
use crate::lines::{line_break, line_start};

/// A file, with a line break at its end.
pub(super) struct File {
    pub(super) text: String,
    /// Whether the line break at the end was added.
    is_unended: bool,
    pub(super) root: Rc<Node>,
}

impl File {
    /// Reads a file with a mapping in block style.
    pub(super) fn read(text: &str) -> Result<Self, Refused> {
        let mut whole = text.to_owned();
        let is_unended = !text.is_empty() && !text.ends_with('\n');
        if is_unended {
            whole.push_str(line_break(text, 0));
        }
        let documents = parse_as_written(&whole).map_err(|error| Refused::new(error.place, error.message))?;
        let start = Place { line: 1, column: 1 };
        let [root] = documents.as_slice() else {
            return Err(Refused::new(start, "a kustomization file has one document"));
        };
        if root.entries().is_empty() || root.is_flow() {
            return Err(Refused::layout(root.place, "the kustomization"));
        }
        if let Some(bound) = root.all().into_iter().find(|node| node.bound) {
            let message = "there is an anchor, an alias or a tag; write the value out";
            return Err(Refused::new(bound.place, message));
        }
        Ok(Self {
            root: Rc::clone(root),
            text: whole,
            is_unended,
        })
    }

    pub(super) fn newline(&self) -> &'static str {
        line_break(&self.text, 0)
    }

    pub(super) fn written(&self, node: &Node) -> &str {
        self.text.part(node.span.clone())
    }

    /// The column where this file has the dashes of lists in its root.
    pub(super) fn dashes(&self) -> usize {
        let lists = self.root.entries().iter().filter(|entry| !entry.node.is_flow());
        let mut columns = lists.filter_map(|entry| self.dash(entry.node.items().first()?));
        columns.next().unwrap_or_default()
    }

    /// The column of the dash before an item. That of a block scalar is above its lines.
    pub(super) fn dash(&self, item: &Node) -> Option<usize> {
        let on_its_line = crate::lines::before(&self.text, item.span.start).find('-');
        on_its_line.or_else(|| crate::lines::before(&self.text, self.start(item)?).find('-'))
    }

    /// Where an item of a list begins: at its header, if it is a block scalar, whose span is its lines.
    pub(super) fn start(&self, item: &Node) -> Option<usize> {
        let mut line = line_start(&self.text, item.span.start);
        while !self
            .text
            .get(line..)?
            .trim_start_matches([' ', '\u{feff}'])
            .starts_with('-')
        {
            line = line_start(&self.text, line.checked_sub(1)?);
        }
        let dash = line + self.text.get(line..)?.find('-')? + 1;
        let rest = self.text.get(dash..)?;
        Some(dash + rest.len() - rest.trim_start_matches(' ').len())
    }

    /// The text after these edits, if its values are as wanted. None when nothing changes.
    pub(super) fn edited(
        &self,
        mut edits: Vec<(Range<usize>, String)>,
        wanted: &Json,
    ) -> Result<Option<String>, Refused> {
        if edits.is_empty() {
            return Ok(None);
        }
        edits.sort_by_key(|(span, _)| (span.start, span.end));
        let edits = edits.into_iter().map(|(span, new)| Edit {
            old: self.text.part(span.clone()).to_owned(),
            span,
            new,
        });
        let plan = Plan {
            edits: edits.collect(),
            ..Plan::default()
        };
        let unproven = || {
            let message = "the file is written in a way that cannot be rewritten without a change of other values; write it in plain block style";
            Refused::new(self.root.place, message)
        };
        let new = splice(self.text.as_bytes(), &plan).map_err(|_| unproven())?;
        let mut new = String::from_utf8(new).map_err(|_| unproven())?;
        let parsed = parse_as_written(&new).map_err(|_| unproven())?;
        if parsed.len() != 1 || parsed.first().map(|root| json(root)).as_ref() != Some(wanted) {
            return Err(unproven());
        }
        if self.is_unended {
            new.truncate(new.trim_end_matches(['\r', '\n']).len());
        }
        Ok(Some(new))
    }
}

/// The values below a node. Scalars other than null become texts.
pub(super) fn json(node: &Node) -> Json {
    match &node.value {
        _ if node.is_null() => Json::Null,
        Value::Scalar { text, .. } => Json::String(text.to_string()),
        Value::List { items, .. } => Json::Array(items.iter().map(|item| json(item)).collect()),
        Value::Map { entries, .. } => {
            let entries = entries.iter().map(|entry| (entry.name().to_owned(), json(&entry.node)));
            Json::Object(entries.collect::<Map<String, Json>>())
        }
        Value::Alias { .. } => Json::Null,
    }
}
