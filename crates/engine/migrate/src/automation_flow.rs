//! The same as `automation` for a `spec` in flow style, as in JSON: the text is reassembled from pieces.

use super::automation::moves;
use super::lines::{Change, changed, distance, line_break, moved_below, spaces};
use super::outcome::Reason;
use super::planned::{Object, ObjectError, Planned};
use super::removal::{is_tall, removal};
use bumpwright_api::tree::{Entry, Node};
use bumpwright_text::Parts;

/// The style of mappings in braces.
pub(super) struct Braces<'a> {
    text: &'a str,
    /// Whether each field is on a line of its own.
    tall: bool,
    unit: usize,
    /// The text between a key and its value.
    colon: &'a str,
    newline: &'static str,
}

impl<'a> Braces<'a> {
    /// The style of this mapping; `unit` is the indentation of a level.
    pub(super) fn of(text: &'a str, map: &Node, unit: usize) -> Self {
        let colon = map.entries().first().and_then(|entry| {
            let between = text.get(entry.key.span.end..entry.node.span.start)?;
            (between == ":").then_some(between)
        });
        Self {
            text,
            tall: is_tall(text, map),
            unit,
            colon: colon.unwrap_or(": "),
            newline: line_break(text, map.span.start),
        }
    }

    /// Fields in braces; `column` is that of the line with the opening brace.
    fn nest(&self, fields: &[String], column: usize) -> String {
        if !self.tall {
            let between = if self.colon == ":" { "," } else { ", " };
            return format!("{{{}}}", fields.join(between));
        }
        let (newline, inner) = (self.newline, spaces(column + self.unit));
        let fields = fields.join(&format!(",{newline}{inner}"));
        format!("{{{newline}{inner}{fields}{newline}{}}}", spaces(column))
    }

    /// A field with a new key in the quotes of another entry's key.
    fn field(&self, like: &Entry, key: &str, value: &str) -> String {
        format!("{}{}{value}", quoted_like(self.text, like, key), self.colon)
    }

    /// The bytes of an entry with changes, moved by `delta` columns.
    fn entry(&self, entry: &Entry, changes: &[Change], delta: isize) -> String {
        let text = changed(self.text, entry.key.span.start..entry.node.span.end, changes);
        moved_below(&text, if self.tall { delta } else { 0 })
    }

    /// The changes that put the author's fields of a commit in braces into `author`.
    pub(super) fn author(&self, commit: &Node) -> Vec<Change> {
        let mut authors = commit
            .entries()
            .iter()
            .enumerate()
            .filter_map(|(n, entry)| Some((n, entry, author_field(entry)?)));
        let Some((_, first, name)) = authors.next() else {
            return Vec::new();
        };
        let second = authors.next();
        let renamed = |entry: &Entry, name: &str| {
            let rename = [(entry.key.span.clone(), quoted_like(self.text, entry, name))];
            self.entry(entry, &rename, distance(0, self.unit))
        };
        let mut fields = vec![renamed(first, name)];
        fields.extend(second.as_ref().map(|(_, entry, name)| renamed(entry, name)));
        let author = self.field(first, "author", &self.nest(&fields, first.key.column()));
        let mut changes = vec![(first.key.span.start..first.node.span.end, author)];
        if let Some((n, second, _)) = second
            && let Some(previous) = n.checked_sub(1).and_then(|n| commit.entries().get(n))
        {
            changes.push((previous.node.span.end..second.node.span.end, String::new()));
        }
        changes
    }
}

/// Plans the edits for a `spec` in braces.
pub(super) fn rewrite(object: &Object<'_>, spec: &Node, planned: &mut Planned) -> Result<(), ObjectError> {
    let text = object.text;
    let of = |field: &str| spec.entry(field);
    let (checkout, commit, push) = (of("checkout"), of("commit"), of("push"));
    let Some(like) = checkout.or(commit).or(push) else {
        return Ok(());
    };
    for entry in [checkout, commit].into_iter().flatten() {
        let inner = text.part(entry.node.span.clone());
        if !entry.node.is_flow() || inner.contains('#') && inner.contains('\n') {
            return Err((entry.key.place, Reason::Layout(format!("spec.{}", entry.name()))));
        }
    }
    let column = like.key.column();
    let parent = object.node.entry("spec").map_or(0, |entry| entry.key.column());
    let unit = column.checked_sub(parent).filter(|unit| *unit > 0).unwrap_or(2);
    let style = Braces::of(text, spec, unit);
    let plain = quoted_like(text, like, "").is_empty();
    moves(object, spec, plain, planned);

    let source = checkout.and_then(|entry| entry.node.entry("gitRepositoryRef"));
    let source = source.map(|entry| source_ref(&style, entry, column));
    let mut fields = Vec::new();
    if let Some(branch) = checkout.and_then(|entry| entry.node.entry("branch")) {
        let branch = style.entry(branch, &[], distance(branch.key.column(), column + 3 * unit));
        let reference = style.field(like, "ref", &style.nest(&[branch], column + 2 * unit));
        fields.push(style.field(like, "checkout", &style.nest(&[reference], column + unit)));
    }
    let further = distance(0, unit);
    fields.extend(commit.map(|entry| {
        let changes = Braces::of(text, &entry.node, unit).author(&entry.node);
        style.entry(entry, &changes, further)
    }));
    fields.extend(push.map(|entry| style.entry(entry, &[], further)));
    let git = (!fields.is_empty()).then(|| style.field(like, "git", &style.nest(&fields, column)));
    place(object, spec, [source, git], planned)
}

/// Puts `sourceRef` in place of `checkout`, and `git` in place of `commit`, else of `push`, else after `sourceRef`.
fn place(
    object: &Object<'_>,
    spec: &Node,
    fields: [Option<String>; 2],
    planned: &mut Planned,
) -> Result<(), ObjectError> {
    let [source, git] = fields;
    let host = ["commit", "push", "checkout"]
        .into_iter()
        .find(|field| spec.entry(field).is_some());
    for field in ["checkout", "commit", "push"] {
        let Some(entry) = spec.entry(field) else { continue };
        let source = source.as_deref().filter(|_| field == "checkout");
        let git = git.as_deref().filter(|_| host == Some(field));
        let new = [source, git].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let edit = if new.is_empty() {
            removal(object.text, spec, field).map(|gone| (gone, new))
        } else {
            Some((entry.key.span.start..entry.node.span.end, new))
        };
        let edit = edit.ok_or_else(|| (entry.key.place, Reason::Layout(format!("spec.{field}"))))?;
        planned.edits.push(edit);
    }
    Ok(())
}

/// `sourceRef` with its `kind`.
fn source_ref(style: &Braces<'_>, entry: &Entry, column: usize) -> String {
    let mut changes = vec![(entry.key.span.clone(), quoted_like(style.text, entry, "sourceRef"))];
    if let Some(first) = entry.node.entries().first() {
        let inner = Braces::of(style.text, &entry.node, style.unit);
        let kind = style.field(first, "kind", &quoted_like(style.text, entry, "GitRepository"));
        let between = match (inner.tall, style.colon) {
            (true, _) => format!(",{}{}", style.newline, spaces(first.key.column())),
            (false, ":") => ",".to_owned(),
            (false, _) => ", ".to_owned(),
        };
        let at = first.key.span.start;
        changes.push((at..at, kind + &between));
    }
    style.entry(entry, &changes, distance(entry.key.column(), column))
}

/// The field of `author` for a field of v1alpha1's `commit`.
pub(super) fn author_field(entry: &Entry) -> Option<&'static str> {
    match entry.name() {
        "authorName" => Some("name"),
        "authorEmail" => Some("email"),
        _ => None,
    }
}

/// A word in the quotes of an entry's key.
pub(super) fn quoted_like(text: &str, entry: &Entry, word: &str) -> String {
    match text.get(entry.key.span.clone()).and_then(|key| key.chars().next()) {
        Some(quote @ ('"' | '\'')) => format!("{quote}{word}{quote}"),
        _ => word.to_owned(),
    }
}
