//! A reader for the small XML documents of AWS and other object stores: elements and their texts, without prefixes and
//! attributes. A document type is skipped and its entities are not expanded, so nothing grows.

use bumpwright_text::Cuts;

/// The deepest nesting of elements.
const DEPTH: usize = 32;

/// An event of the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An element begins; its path is [`Events::path`]. An empty one (`<a/>`) ends at once.
    Begin,
    /// The element of [`Events::path`] ends, with the text between its last tag and this one.
    End(String),
}

/// Reads a document from its beginning to its end.
#[derive(Clone, Debug)]
pub struct Events<'d> {
    rest: &'d str,
    open: Vec<&'d str>,
    tag: &'d str,
    /// Whether the element of the last event still has to end.
    closing: bool,
    empty: bool,
}

impl<'d> Events<'d> {
    /// Starts at the beginning of the document.
    #[must_use]
    pub fn new(document: &'d str) -> Self {
        Self {
            rest: document,
            open: Vec::new(),
            tag: "",
            closing: false,
            empty: false,
        }
    }

    /// The names from the document's root to the element of the last event.
    pub fn path(&self) -> &[&'d str] {
        &self.open
    }

    /// The tag of the last [`Event::Begin`], attributes and all.
    pub fn tag(&self) -> &'d str {
        self.tag
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    /// None at the end, and at the first error.
    fn next(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.closing) {
            self.open.pop();
        }
        if std::mem::take(&mut self.empty) {
            self.closing = true;
            return Some(Event::End(String::new()));
        }
        loop {
            let (before, after) = self.rest.split_once('<')?;
            if let Some(comment) = after.strip_prefix("!--") {
                self.rest = comment.split_once("-->")?.1;
                continue;
            }
            let (tag, following) = after.split_once('>')?;
            if let Some(name) = tag.strip_prefix('/') {
                (*self.open.last()? == local(name)).then_some(())?;
                let text = decoded(before)?;
                self.rest = following;
                self.closing = true;
                return Some(Event::End(text));
            }
            self.rest = following;
            if !tag.starts_with(['?', '!']) {
                self.open.push(local(tag.trim_end_matches('/')));
                (self.open.len() <= DEPTH).then_some(())?;
                self.empty = tag.ends_with('/');
                self.tag = tag;
                return Some(Event::Begin);
            }
        }
    }
}

/// A part of the error that a document is, such as `Code`; empty if it has none.
#[must_use]
pub fn error_part(document: &str, name: &str) -> String {
    text(document, &["Error", name]).unwrap_or_default()
}

/// The text of the first element with this path at any depth, such as `["Error", "Code"]`. Prefixes
/// and attributes do not matter. `None` too when the document is not valid up to there.
pub fn text(document: &str, path: &[&str]) -> Option<String> {
    let mut events = Events::new(document);
    loop {
        match events.next()? {
            Event::End(text) if events.path().ends_with(path) => return Some(text),
            _ => {}
        }
    }
}

/// A tag's name without its prefix.
fn local(tag: &str) -> &str {
    let name = tag.split_ascii_whitespace().next();
    name.map_or("", |name| name.behind_last(':'))
}

/// Decodes the five entities of XML, and character references.
fn decoded(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        let (entity, following) = after.split_once(';')?;
        out.push_str(before);
        out.push(character(entity)?);
        rest = following;
    }
    out.push_str(rest);
    Some(out)
}

fn character(entity: &str) -> Option<char> {
    match (entity, entity.strip_prefix("#x"), entity.strip_prefix('#')) {
        ("lt", ..) => Some('<'),
        ("gt", ..) => Some('>'),
        ("amp", ..) => Some('&'),
        ("quot", ..) => Some('"'),
        ("apos", ..) => Some('\''),
        (_, Some(hexadecimal), _) => char::from_u32(u32::from_str_radix(hexadecimal, 16).ok()?),
        (_, _, Some(decimal)) => char::from_u32(decimal.parse().ok()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_by_path() {
        let document = "<?xml version=\"1.0\"?><!-- <Error> --><r:Response xmlns:r=\"x\"><Empty/>\
            <Error>\n <Type>Sender</Type><Code>AccessDenied</Code><Message>no &lt;role&gt; &#38; no &#x2603;</Message>\
            </Error><Code>other</Code></r:Response>";
        let rows = [
            (&["Error", "Code"][..], Some("AccessDenied")),
            (&["Response", "Code"], Some("other")),
            (&["Error", "Message"], Some("no <role> & no ☃")),
            (&["Empty"], Some("")),
            (&["Error", "Nothing"], None),
        ];
        for (path, expected) in rows {
            assert_eq!(text(document, path).as_deref(), expected, "{path:?}");
        }
    }

    #[test]
    fn broken_documents() {
        let deep = "<a>".repeat(1_000_000);
        for document in [
            "",
            "<a",
            "<a>x",
            "<a></b></a>",
            "</a>",
            "<!-- <a>x</a>",
            "<a>&bad;</a>",
            "<a>&#xD800;</a>",
            &deep,
        ] {
            assert_eq!(text(document, &["a"]), None, "{document:.20}");
        }
    }
}
