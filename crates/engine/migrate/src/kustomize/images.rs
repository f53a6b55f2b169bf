//! Images of a kustomization, as `kustomize edit set image` has them: the entry of a name is replaced, or added.

use bumpwright_api::tree::{Entry, Node};
use bumpwright_edit::scalar;
use bumpwright_text::Parts;
use serde_json::{Map, Value as Json, json};

use super::Refused;
use super::text::{File, json as values};
use crate::lines::{Change, before, line_end, line_start, region, spaces};

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

/// An argument has none of the forms that there are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not an image; write NAME=NEWNAME[:TAG][@DIGEST], NAME:TAG[@DIGEST] or NAME@DIGEST")]
pub struct NoImage(String);

impl ImageChange {
    pub fn read(text: &str) -> Result<Self, NoImage> {
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
        let parsed = parsed.filter(|change| change.tag.iter().all(is_tag));
        parsed.ok_or_else(|| NoImage(text.to_owned()))
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

/// Sets images of a kustomization; none when it has them already. Of several changes of one image the last counts.
///
/// # Errors
/// The file cannot be rewritten: the place, and why.
pub fn set_images(text: &str, changes: &[ImageChange]) -> Result<Option<String>, Refused> {
    let file = File::read(text)?;
    let entry = |key| file.root.entry(key).filter(|entry: &&Entry| !entry.node.is_null());
    // The name that the list had once: kustomize writes today's.
    let old = entry("imageTags").filter(|_| file.root.entry("images").is_none());
    let images = entry("images").or(old);
    let mut setter = Setter {
        file: &file,
        edits: old
            .map(|entry| (entry.key.span.clone(), "images".to_owned()))
            .into_iter()
            .collect(),
        items: match images.map(|entry| values(&entry.node)) {
            Some(Json::Array(items)) => items.into_iter().map(Some).collect(),
            Some(_) => return Err(Refused::new(file.root.place, "images: expected a list")),
            None => Vec::new(),
        },
        added: Vec::new(),
    };
    let items = images.map_or(&[][..], |entry| entry.node.items());
    for (at, change) in changes.iter().enumerate() {
        let is_overruled = changes.iter().skip(at + 1).any(|later| later.name == change.name);
        if is_overruled {
            continue;
        }
        let mut found = items
            .iter()
            .enumerate()
            .filter(|(_, item)| item.field_text("name") == Some(change.name.as_str()));
        match found.next() {
            Some((n, item)) => setter.replace(n, item, change)?,
            None => setter.added.push(change),
        }
        for (n, item) in found {
            setter.remove(n, item, images)?;
        }
    }
    setter.finish(images)
}

struct Setter<'a> {
    file: &'a File,
    edits: Vec<Change>,
    /// The values that `images` is to have; none for an entry that goes.
    items: Vec<Option<Json>>,
    added: Vec<&'a ImageChange>,
}

/// The value of an entry, as kustomize reads it.
fn wanted(change: &ImageChange, fields: &[(&'static str, Option<String>)]) -> Json {
    let mut wanted = Map::new();
    wanted.insert("name".to_owned(), json!(change.name));
    for (key, value) in fields {
        if let Some(value) = value {
            wanted.insert((*key).to_owned(), json!(value));
        }
    }
    Json::Object(wanted)
}

impl Setter<'_> {
    fn replace(&mut self, n: usize, item: &Node, change: &ImageChange) -> Result<(), Refused> {
        let fields = change.fields(Some(item));
        if let Some(slot) = self.items.get_mut(n) {
            *slot = Some(wanted(change, &fields));
        }
        if item.is_flow() {
            self.replace_in_brackets(item, &fields)
        } else {
            self.replace_in_lines(item, &fields)
        }
    }

    /// The text that a field is to have; none where it goes, as all do that kustomize does not set.
    fn written(&self, entry: &Entry, fields: &[(&'static str, Option<String>)]) -> Option<String> {
        let old = self.file.written(&entry.node);
        if entry.is("name") {
            return Some(old.to_owned());
        }
        let (_, value) = fields.iter().find(|(key, _)| entry.is(key))?;
        // A number is not a tag: kustomize does not read it.
        value.as_ref().map(|value| scalar(old, value))
    }

    fn replace_in_lines(&mut self, item: &Node, fields: &[(&'static str, Option<String>)]) -> Result<(), Refused> {
        let text = &self.file.text;
        let entries = item.entries();
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            return Err(Refused::layout(item.place, "images"));
        };
        let ends = |entry: &Entry| line_end(text, entry.node.span.end.saturating_sub(1).max(entry.key.span.end));
        let mut is_head = true;
        for (at, entry) in entries.iter().enumerate() {
            let old = self.file.written(&entry.node);
            if let Some(new) = self.written(entry, fields) {
                if new != old {
                    self.edits.push((entry.node.span.clone(), new));
                }
                is_head = false;
                continue;
            }
            let next = entries.get(at + 1).filter(|_| is_head);
            match next {
                // The next one comes behind the dash; what is said above it stays above the entry.
                Some(next) => {
                    let above = text.get(ends(entry)..line_start(text, next.key.span.start));
                    let above = above.unwrap_or_default().to_owned();
                    let line = line_start(text, first.key.span.start);
                    self.edits
                        .push((entry.key.span.start..next.key.span.start, String::new()));
                    if !above.is_empty() {
                        self.edits.push((line..line, above));
                    }
                }
                None if before(text, entry.key.span.start).trim().is_empty() => {
                    let gone = line_start(text, entry.key.span.start)..ends(entry);
                    self.edits.push((gone, String::new()));
                }
                None => return Err(Refused::layout(entry.key.place, entry.name())),
            }
        }
        let at = ends(last);
        let column = spaces(first.key.column());
        for (key, value) in fields {
            if let Some(value) = value.as_ref().filter(|_| item.entry(key).is_none()) {
                let line = format!("{column}{key}: {}{}", scalar("", value), self.file.newline());
                self.edits.push((at..at, line));
            }
        }
        Ok(())
    }

    fn replace_in_brackets(&mut self, item: &Node, fields: &[(&'static str, Option<String>)]) -> Result<(), Refused> {
        let old = self.file.written(item);
        if old.contains(['\n', '#']) {
            return Err(Refused::layout(item.place, "the image"));
        }
        let unchanged = item.entries().iter().filter_map(|entry| {
            let value = self.written(entry, fields)?;
            let key = self.file.text.part(entry.key.span.clone());
            Some(format!("{key}: {value}"))
        });
        let more = fields.iter().filter_map(|(key, value)| {
            let value = value.as_ref().filter(|_| item.entry(key).is_none())?;
            Some(format!("{key}: {}", scalar("", value)))
        });
        let entries: Vec<String> = unchanged.chain(more).collect();
        let new = format!("{{{}}}", entries.join(", "));
        if new != old {
            self.edits.push((item.span.clone(), new));
        }
        Ok(())
    }

    /// Removes an entry whose name another one has: kustomize writes one for each name.
    fn remove(&mut self, n: usize, item: &Node, images: Option<&Entry>) -> Result<(), Refused> {
        let is_in_lines = images.is_some_and(|entry| !entry.node.is_flow());
        let text = &self.file.text;
        let dash = self.file.dash(item).filter(|_| is_in_lines);
        if dash.is_none() {
            return Err(Refused::new(
                item.place,
                "there are two images of this name; write them as one",
            ));
        }
        let end = line_end(text, item.span.end.saturating_sub(1));
        self.edits.push((line_start(text, item.span.start)..end, String::new()));
        if let Some(slot) = self.items.get_mut(n) {
            *slot = None;
        }
        Ok(())
    }

    /// New entries as lines of a list.
    fn lines(&self, column: usize) -> String {
        let (at, newline) = (spaces(column), self.file.newline());
        let mut lines = String::new();
        for change in &self.added {
            lines.push_str(&format!("{at}- name: {}{newline}", scalar("", &change.name)));
            for (key, value) in change.fields(None) {
                if let Some(value) = value {
                    lines.push_str(&format!("{at}  {key}: {}{newline}", scalar("", &value)));
                }
            }
        }
        lines
    }

    /// New entries as items in brackets.
    fn in_brackets(&self) -> String {
        let item = |change: &&ImageChange| {
            let name = format!("name: {}", scalar("", &change.name));
            let fields = change.fields(None).into_iter();
            let fields = fields.filter_map(|(key, value)| Some(format!("{key}: {}", scalar("", &value?))));
            let entries: Vec<String> = std::iter::once(name).chain(fields).collect();
            format!("{{{}}}", entries.join(", "))
        };
        let items: Vec<String> = self.added.iter().map(item).collect();
        items.join(", ")
    }

    fn add(&mut self, images: Option<&Entry>) -> Result<(), Refused> {
        let text = &self.file.text;
        let first = images.and_then(|entry| entry.node.items().first());
        let column = first
            .and_then(|item| self.file.dash(item))
            .unwrap_or_else(|| self.file.dashes());
        let Some(entry) = images else {
            if let Some(empty) = self.file.root.entry("images") {
                return Err(Refused::layout(empty.key.place, "images"));
            }
            let ends = self.file.root.entries().iter().map(|entry| entry.node.span.end);
            let end = line_end(text, ends.fold(0, usize::max).saturating_sub(1));
            let lines = format!("images:{}{}", self.file.newline(), self.lines(column));
            self.edits.push((end..end, lines));
            return Ok(());
        };
        let last = entry.node.items().last();
        match last.filter(|_| entry.node.is_flow()) {
            Some(last) => {
                let items = format!(", {}", self.in_brackets());
                self.edits.push((last.span.end..last.span.end, items));
            }
            None if entry.node.is_flow() => {
                let lines = self.lines(self.file.dashes());
                let lines = format!("{}{}", self.file.newline(), lines.trim_end_matches(['\r', '\n']));
                self.edits.push((entry.key.span.end + 1..entry.node.span.end, lines));
            }
            None => {
                let region = region(text, &self.file.root, entry.name());
                let end = region.ok_or_else(|| Refused::layout(entry.node.place, "images"))?.end;
                self.edits.push((end..end, self.lines(column)));
            }
        }
        Ok(())
    }

    fn finish(mut self, images: Option<&Entry>) -> Result<Option<String>, Refused> {
        if !self.added.is_empty() {
            self.add(images)?;
        }
        let mut items: Vec<Json> = self.items.into_iter().flatten().collect();
        items.extend(self.added.iter().map(|change| wanted(change, &change.fields(None))));
        let mut wanted = values(&self.file.root);
        if let Json::Object(map) = &mut wanted {
            if images.is_some_and(|entry| entry.is("imageTags")) {
                map.remove("imageTags");
            }
            map.insert("images".to_owned(), Json::Array(items));
        }
        self.file.edited(self.edits, &wanted)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use bumpwright_corpora::{named_or_fixture, rows};

    /// The images of a file by their names, without what quotes say.
    fn images(text: &str) -> Vec<Json> {
        let file = File::read(text).unwrap();
        let node = file.root.entry("images").map(|entry| values(&entry.node));
        let mut images = node.and_then(|images| images.as_array().cloned()).unwrap_or_default();
        images.sort_by_key(|image| image["name"].to_string());
        images
    }

    /// `fixtures/kustomize/images.jsonl`, or `BUMPWRIGHT_SET_IMAGE`.
    #[test]
    fn images_are_those_that_kustomize_writes() {
        let table = rows(named_or_fixture("BUMPWRIGHT_SET_IMAGE", "kustomize/images.jsonl"));
        let (mut refused, mut wrong) = (0, Vec::new());
        for row in &table {
            let text = row["file"].as_str().unwrap();
            let arguments = row["arguments"].as_array().unwrap().iter();
            let changes: Vec<_> = arguments
                .map(|one| ImageChange::read(one.as_str().unwrap()).unwrap())
                .collect();
            let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
            match set_images(text, &changes) {
                // Two of one name in brackets.
                Err(error) if error.message.contains("two images") => refused += 1,
                Err(error) => wrong.push(format!("{text}\n{names:?}: {error}")),
                Ok(new) => {
                    let new = new.as_deref().unwrap_or(text);
                    // Entries of one name that no argument names stay as they are; kustomize keeps the last of them.
                    let of = |all: &[Json]| -> Vec<Json> {
                        let is_named = |image: &&Json| names.contains(&image["name"].as_str().unwrap());
                        all.iter().filter(is_named).cloned().collect()
                    };
                    let theirs = of(row["images"].as_array().unwrap());
                    if of(&images(new)) != theirs {
                        wrong.push(format!("{text}\n{:?}\n--- got\n{new}", row["arguments"]));
                    }
                    let comments = |text: &str| text.matches("# above").count() + text.matches("# list").count();
                    if comments(new) != comments(text) {
                        wrong.push(format!("{text}\n--- lost a comment\n{new}"));
                    }
                }
            }
        }
        assert!(
            wrong.is_empty() && !table.is_empty() && refused * 20 < table.len(),
            "{} of {} differ, {refused} refused; the first ones:\n{}",
            wrong.len(),
            table.len(),
            wrong[..wrong.len().min(5)].join("\n=====\n")
        );
    }
}
