//! Images of a kustomization, as `kustomize edit set image` has them: the entry of a name is replaced, or added.

use bumpwright_api::Place;
use bumpwright_api::tree::{Entry, Node};
use bumpwright_edit::scalar;
use serde_json::{Map, Value as Json, json};

use super::Refused;
use super::text::{File, json as values};
use crate::lines::{Change, line_end, region, spaces};

/// What `edit set image` retains: `*`.
const RETAINED: &str = "*";

/// An argument: `NAME=NEWNAME[:TAG][@DIGEST]`, `NAME[:TAG][@DIGEST]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageChange {
    name: String,
    new_name: Option<String>,
    tag: Option<String>,
    digest: Option<String>,
}

impl ImageChange {
    /// Reads an argument.
    ///
    /// # Errors
    /// The forms that there are.
    pub fn read(text: &str) -> Result<Self, String> {
        let parsed = match text.split_once('=') {
            Some((name, new)) => {
                let (new_name, tag, digest) = parts(new);
                (!name.is_empty() && !new_name.is_empty()).then(|| Self {
                    name: name.to_owned(),
                    new_name: Some(new_name.to_owned()),
                    tag,
                    digest,
                })
            }
            None => {
                let (name, tag, digest) = parts(text);
                (!name.is_empty() && (tag.is_some() || digest.is_some())).then(|| Self {
                    name: name.to_owned(),
                    new_name: None,
                    tag,
                    digest,
                })
            }
        };
        let is_tag = |tag: &String| {
            let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            tag == RETAINED || (!tag.is_empty() && tag.chars().all(is_fit))
        };
        parsed.filter(|change| change.tag.iter().all(is_tag)).ok_or_else(|| {
            format!("{text:?} is no image; write NAME=NEWNAME[:TAG][@DIGEST], NAME:TAG[@DIGEST] or NAME@DIGEST")
        })
    }

    /// The fields of its entry, where `*` is what the entry has; none are without a value.
    fn fields(&self, entry: Option<&Node>) -> [(&'static str, Option<String>); 3] {
        let of = |key: &str, given: &Option<String>| match given.as_deref() {
            Some(RETAINED) => entry.and_then(|entry| entry.field_text(key)).map(str::to_owned),
            _ => given.clone(),
        };
        let fields = [
            ("newName", &self.new_name),
            ("newTag", &self.tag),
            ("digest", &self.digest),
        ];
        fields.map(|(key, given)| (key, of(key, given).filter(|value| !value.is_empty())))
    }
}

/// Name, tag and digest.
fn parts(text: &str) -> (&str, Option<String>, Option<String>) {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest.to_owned())),
        None => (text, None),
    };
    // A colon before a slash is that of a port.
    match rest.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag.to_owned()), digest),
        _ => (rest, None, digest),
    }
}

/// Sets images of a kustomization; none when it has them already.
///
/// # Errors
/// The file cannot be rewritten: the place, and why.
pub fn set_images(text: &str, changes: &[ImageChange]) -> Result<Option<String>, Refused> {
    let file = File::read(text)?;
    let images = file.root.entry("images").filter(|entry| !entry.node.is_null());
    let mut setter = Setter {
        file: &file,
        edits: Vec::new(),
        items: match images.map(|entry| values(&entry.node)) {
            Some(Json::Array(items)) => items,
            Some(_) => return Err(Refused::new(file.root.place, "images is no list")),
            None => Vec::new(),
        },
        added: String::new(),
    };
    for change in changes {
        let items = images.map(|entry| entry.node.items()).unwrap_or_default();
        let found = items
            .iter()
            .position(|item| item.field_text("name") == Some(change.name.as_str()));
        match found.and_then(|n| Some((n, items.get(n)?))) {
            Some((n, item)) => setter.replace(n, item, change)?,
            None => setter.add(change, images),
        }
    }
    setter.finish(images)
}

struct Setter<'a> {
    file: &'a File,
    edits: Vec<Change>,
    /// The values that `images` is to have.
    items: Vec<Json>,
    /// Lines of new entries.
    added: String,
}

impl Setter<'_> {
    fn replace(&mut self, n: usize, item: &Node, change: &ImageChange) -> Result<(), Refused> {
        let fields = change.fields(Some(item));
        let mut wanted = Map::new();
        wanted.insert("name".to_owned(), json!(change.name));
        let last = item.entries().last().map_or(item.span.end, |entry| entry.node.span.end);
        for (key, value) in fields {
            if let Some(value) = &value {
                wanted.insert(key.to_owned(), json!(value));
            }
            match (item.entry(key), value) {
                (Some(entry), Some(value)) if entry.node.text() == Some(value.as_str()) => {}
                (Some(entry), Some(value)) => {
                    let old = self.file.written(&entry.node);
                    self.edits.push((entry.node.span.clone(), scalar(old, &value)));
                }
                (Some(entry), None) => {
                    let gone = crate::removal::removal(&self.file.text, item, key);
                    let gone = gone.ok_or_else(|| Refused::layout(entry.key.place, key))?;
                    self.edits.push((gone, String::new()));
                }
                (None, Some(value)) => {
                    let value = scalar("", &value);
                    let column = item.entries().first().map_or(0, |entry| entry.key.column());
                    self.edits.push(match item.is_flow() {
                        true => (last..last, format!(", {key}: {value}")),
                        false => {
                            let at = line_end(&self.file.text, last.saturating_sub(1));
                            (
                                at..at,
                                format!("{}{key}: {value}{}", spaces(column), self.file.newline()),
                            )
                        }
                    });
                }
                (None, None) => {}
            }
        }
        if let Some(item) = self.items.get_mut(n) {
            *item = Json::Object(wanted);
        }
        Ok(())
    }

    fn add(&mut self, change: &ImageChange, images: Option<&Entry>) {
        let first = images.and_then(|entry| entry.node.items().first());
        let column = first
            .and_then(|item| self.file.dash(item))
            .unwrap_or_else(|| self.file.dashes());
        let newline = self.file.newline();
        self.added.push_str(&format!(
            "{}- name: {}{newline}",
            spaces(column),
            scalar("", &change.name)
        ));
        let mut wanted = Map::new();
        wanted.insert("name".to_owned(), json!(change.name));
        for (key, value) in change.fields(None) {
            if let Some(value) = value {
                self.added
                    .push_str(&format!("{}  {key}: {}{newline}", spaces(column), scalar("", &value)));
                wanted.insert(key.to_owned(), json!(value));
            }
        }
        self.items.push(Json::Object(wanted));
    }

    fn finish(mut self, images: Option<&Entry>) -> Result<Option<String>, Refused> {
        if !self.added.is_empty() {
            let added = std::mem::take(&mut self.added);
            let refused = |place: Place| Refused::layout(place, "images");
            match images {
                Some(entry) if entry.node.is_flow() && entry.node.items().is_empty() => {
                    let lines = format!("{}{}", self.file.newline(), added.trim_end_matches(['\r', '\n']));
                    self.edits.push((entry.key.span.end + 1..entry.node.span.end, lines));
                }
                Some(entry) if entry.node.is_flow() => return Err(refused(entry.node.place)),
                Some(entry) => {
                    let region = region(&self.file.text, &self.file.root, "images");
                    let end = region.ok_or_else(|| refused(entry.node.place))?.end;
                    self.edits.push((end..end, added));
                }
                None => {
                    let end = self
                        .file
                        .root
                        .entries()
                        .iter()
                        .map(|entry| entry.node.span.end)
                        .max()
                        .unwrap_or_default();
                    let end = line_end(&self.file.text, end.saturating_sub(1));
                    let head = match self.file.root.entry("images") {
                        Some(empty) => return Err(refused(empty.key.place)),
                        None => format!("images:{}", self.file.newline()),
                    };
                    self.edits.push((end..end, head + &added));
                }
            }
        }
        let mut wanted = values(&self.file.root);
        if let Json::Object(map) = &mut wanted {
            map.insert("images".to_owned(), Json::Array(self.items));
        }
        self.file.edited(self.edits, &wanted)
    }
}
