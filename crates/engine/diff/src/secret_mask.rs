//! Masking of values of Secrets in differences and messages.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::{self, Write as _};
use std::sync::Arc;

use super::fields::{Field, HIDDEN};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use bumpwright_gostd::{query_escape, quote};

/// Longer values, in bytes, are searched by their beginning, and everything after it is hidden, too.
const LONG: usize = 4096;
const BEGINNING: usize = 64;
/// Where a text was cut, as by `bumpwright_text::Excerpt`.
const CUT: char = '…';
/// Shorter values, in bytes, are recognised as they are alone: in other forms they are like ordinary words.
const SHORTEST: usize = 8;

/// Objects whose values are hidden, and texts that are hidden everywhere. Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretMask(Arc<Hidden>);

#[derive(Default, PartialEq, Eq)]
struct Hidden {
    /// Group, kind and name of objects.
    objects: BTreeSet<[String; 3]>,
    /// Texts, the longest first: one may be a part of another.
    texts: Vec<String>,
}

impl fmt::Debug for SecretMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretMask")
    }
}

impl SecretMask {
    /// Hides the values of objects, and texts, which are also recognised in quotes.
    #[must_use]
    pub fn new(objects: BTreeSet<[String; 3]>, texts: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> = Vec::new();
        for text in texts {
            let quoted = quote(&text);
            let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            secrets.extend(inside.filter(|inside| *inside != text).map(str::to_owned));
            secrets.push(text);
        }
        secrets.sort_by_key(|text| std::cmp::Reverse(text.len()));
        Self(Arc::new(Hidden {
            objects,
            texts: secrets,
        }))
    }

    /// A message with hidden texts replaced, also where only the beginning of one is left before a `…`.
    #[must_use]
    pub fn hide(&self, message: &str) -> String {
        self.without_beginnings(replaced(message, &self.texts_in(message)))
    }

    /// The same for a JSON document: in the names of its fields nothing is hidden.
    #[must_use]
    pub fn hide_json(&self, document: &str) -> String {
        let (strings, rest) = strings(document);
        let all: Vec<&str> = strings.iter().map(|string| &*string.text).collect();
        let all = all.join("\n");
        let texts = self.texts_in(&all);
        // Most strings that were cut end with nothing hidden: the hidden texts are walked for the others alone.
        let cut = all.rsplit_once(CUT).map(|(cut, _)| cut.split(CUT));
        let suspects = self.suspects(cut.into_iter().flatten());
        let is_suspect = |text: &str| text.split(CUT).filter_map(end).any(|end| suspects.contains(end));
        let mut shown = String::with_capacity(document.len());
        for string in &strings {
            shown.push_str(string.before);
            let text = replaced(&string.text, &texts);
            let text = if is_suspect(&text) {
                self.without_beginnings(text)
            } else {
                text
            };
            if !string.is_name && text != *string.text {
                shown.push_str(&json_string(&text));
            } else {
                shown.extend(["\"", string.written, "\""]);
            }
        }
        shown + rest
    }

    /// The text without the beginnings of hidden ones that were cut, of at least [`SHORTEST`] bytes. Each hidden text
    /// is walked once, however often something was cut.
    fn without_beginnings(&self, text: String) -> String {
        let Some((cut, rest)) = text.rsplit_once(CUT) else {
            return text;
        };
        let parts: Vec<&str> = cut.split(CUT).collect();
        let mut ends = HashMap::<&[u8], Vec<usize>>::new();
        for (at, part) in parts.iter().enumerate() {
            if let Some(end) = end(part) {
                ends.entry(end).or_default().push(at);
            }
        }
        let mut found = BTreeMap::<usize, usize>::new();
        for hidden in self.0.texts.iter().filter(|_| !ends.is_empty()) {
            let hidden = hidden.as_bytes().get(..LONG).unwrap_or(hidden.as_bytes());
            for (start, window) in hidden.windows(SHORTEST).enumerate() {
                let (beginning, _) = hidden.split_at(start + SHORTEST);
                for at in ends.get(window).into_iter().flatten() {
                    if parts.get(*at).is_some_and(|part| part.as_bytes().ends_with(beginning)) {
                        let longest = found.entry(*at).or_default();
                        *longest = (*longest).max(beginning.len());
                    }
                }
            }
        }
        if found.is_empty() {
            return text;
        }
        let mut shown = String::with_capacity(text.len());
        for (at, part) in parts.iter().enumerate() {
            match found.get(&at).and_then(|length| part.get(..part.len() - length)) {
                Some(before) => shown.extend([before, HIDDEN]),
                None => shown.push_str(part),
            }
            shown.push(CUT);
        }
        shown + rest
    }

    /// The ends of these texts that are somewhere in hidden ones.
    fn suspects<'t>(&self, texts: impl Iterator<Item = &'t str>) -> HashSet<&'t [u8]> {
        let ends: HashSet<&[u8]> = texts.filter_map(end).collect();
        let mut suspects = HashSet::new();
        for hidden in self.0.texts.iter().filter(|_| !ends.is_empty()) {
            let windows = hidden.as_bytes().windows(SHORTEST).take(LONG);
            suspects.extend(windows.filter_map(|window| ends.get(window).copied()));
        }
        suspects
    }

    /// What a text has of the hidden ones, the longest first.
    fn texts_in(&self, text: &str) -> Vec<&str> {
        let hidden = self.0.texts.iter().map(String::as_str);
        hidden.filter(|hidden| text.contains(sought(hidden))).collect()
    }

    /// Hides the values of an object's fields: all of a hidden object, else both values of a field if either has a
    /// hidden text, since the other may have been one at another time.
    pub fn hide_fields(&self, (group, kind, name): (&str, &str, &str), fields: &mut [Field]) {
        let object = [group, kind, name].map(str::to_owned);
        let is_hidden = self.0.objects.contains(&object);
        let holds = |value: &Option<String>| value.as_ref().is_some_and(|value| self.hide(value) != *value);
        for field in fields {
            if is_hidden || holds(&field.old) || holds(&field.new) {
                for value in [&mut field.old, &mut field.new].into_iter().flatten() {
                    HIDDEN.clone_into(value);
                }
                field.path = self.hide(&field.path);
            }
        }
    }
}

/// The last bytes of a text that may be the beginning of a hidden one.
fn end(text: &str) -> Option<&[u8]> {
    let (_, end) = text.as_bytes().split_last_chunk::<SHORTEST>()?;
    Some(end)
}

/// What is searched for in the place of a text.
fn sought(text: &str) -> &str {
    if text.len() > LONG {
        text.get(..text.floor_char_boundary(BEGINNING)).unwrap_or(text)
    } else {
        text
    }
}

fn replaced(message: &str, texts: &[&str]) -> String {
    let mut shown = message.to_owned();
    for text in texts {
        let (sought, is_long) = (sought(text), text.len() > LONG);
        if !shown.contains(sought) {
            continue;
        }
        shown = match shown.split_once(sought).filter(|_| is_long) {
            Some((before, _)) => format!("{before}{HIDDEN}"),
            None => shown.replace(sought, HIDDEN),
        };
    }
    shown
}

/// A string of a JSON document.
struct JsonString<'d> {
    /// What is between it and the one before.
    before: &'d str,
    /// As it is written, without its quotes.
    written: &'d str,
    text: Cow<'d, str>,
    /// Whether it is the name of a field.
    is_name: bool,
}

/// The strings of a JSON document, and what is behind the last one.
fn strings(document: &str) -> (Vec<JsonString<'_>>, &str) {
    let (mut strings, mut rest) = (Vec::new(), document);
    while let Some((before, after)) = rest.split_once('"') {
        let (written, behind) = after.split_at(end_of_string(after));
        let behind = behind.strip_prefix('"').unwrap_or(behind);
        let is_escaped = written.contains('\\');
        let text = is_escaped.then(|| serde_json::from_str::<String>(&format!("\"{written}\"")).ok());
        strings.push(JsonString {
            before,
            written,
            text: text.flatten().map_or(Cow::Borrowed(written), Cow::Owned),
            is_name: behind.trim_start().starts_with(':'),
        });
        rest = behind;
    }
    (strings, rest)
}

/// A text as a JSON string, with its quotes: whatever is not ASCII is escaped, since it may be what
/// turns a terminal around.
fn json_string(text: &str) -> String {
    let mut ascii = String::new();
    for c in serde_json::Value::from(text).to_string().chars() {
        if matches!(c, ' '..='~') {
            ascii.push(c);
            continue;
        }
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units).iter() {
            // Writing to a text does not fail.
            let _ = write!(ascii, "\\u{unit:04x}");
        }
    }
    ascii
}

/// Where a JSON string ends, of which the text behind its first quote is given.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.find(|c: char| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    end.unwrap_or(text.len())
}

/// What is hidden in texts that leave the machine: of eight bytes to 4 KiB the values, and these in base64, hexadecimal
/// digits, percent-encoding, capital and small letters; longer ones as they are. Hashes and other derivations are not
/// recognised.
#[must_use]
pub fn secret_forms<'t>(texts: impl IntoIterator<Item = &'t String>) -> BTreeSet<String> {
    let texts = texts.into_iter().filter(|text| text.len() >= SHORTEST);
    texts.flat_map(|text| forms(text)).collect()
}

/// A text in the forms that templates give it, itself the first.
fn forms(text: &str) -> Vec<String> {
    let mut forms = vec![text.to_owned()];
    if text.len() <= LONG {
        let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        forms.extend([
            STANDARD_NO_PAD.encode(text),
            URL_SAFE_NO_PAD.encode(text),
            hex.to_uppercase(),
            hex,
            query_escape(text.as_bytes()),
            text.to_uppercase(),
            text.to_lowercase(),
        ]);
        forms.sort();
        forms.dedup();
    }
    forms
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn mask() -> SecretMask {
        let texts = ["s3cret", "s3cret-and-more", "two\nlines"];
        let texts = texts.map(str::to_owned);
        let object = ["", "ConfigMap", "app"].map(str::to_owned);
        SecretMask::new(BTreeSet::from([object]), texts)
    }

    fn field(old: &str, new: &str) -> Field {
        Field {
            path: "data.x".to_owned(),
            old: Some(old.to_owned()),
            new: Some(new.to_owned()),
        }
    }

    #[test]
    fn values_are_hidden_wherever_they_stand() {
        let mask = mask();
        for (message, shown) in [
            ("Invalid value: \"s3cret\"", "Invalid value: \"**\""),
            ("a s3cret-and-more b s3cret", "a ** b **"),
            ("Invalid value: \"two\\nlines\"", "Invalid value: \"**\""),
            ("nothing", "nothing"),
        ] {
            assert_eq!(mask.hide(message), shown);
        }
        assert_eq!(format!("{mask:?}"), "SecretMask");
    }

    #[test]
    fn values_are_hidden_in_other_forms() {
        let texts = ["s3cret/ Word".to_owned(), "word".to_owned()];
        let mask = SecretMask::new(BTreeSet::new(), secret_forms(&texts));
        for (message, shown) in [
            ("s3cret/ Word, S3CRET/ WORD, s3cret/ word", "**, **, **"),
            ("czNjcmV0LyBXb3Jk", "**"),
            ("7333637265742f20576f7264", "**"),
            ("s3cret%2F+Word", "**"),
            ("a word, d29yZA==", "a word, d29yZA=="),
        ] {
            assert_eq!(mask.hide(message), shown);
        }
    }

    /// What is too long for an output is cut before it is known which texts are hidden.
    #[test]
    fn a_beginning_is_hidden_where_it_was_cut() {
        let mask = SecretMask::new(
            BTreeSet::new(),
            ["correct horse battery".to_owned(), "horse power".to_owned()],
        );
        for (message, shown) in [
            ("a correct horse ba… and more", "a **… and more"),
            ("correct … correct horse… é…", "**… **… é…"),
            ("correct…", "correct…"),
            ("a horse po… correct horse battery…", "a **… **…"),
            ("horse battery…", "horse battery…"),
            ("correct horse ba", "correct horse ba"),
            ("…", "…"),
        ] {
            assert_eq!(mask.hide(message), shown);
        }
        assert_eq!(
            mask.hide_json(r#"{"correct …": "x correct h…"}"#),
            "{\"correct …\": \"x **\\u2026\"}"
        );
    }

    #[test]
    fn names_of_fields_of_a_document_are_left() {
        let mask = SecretMask::new(BTreeSet::new(), ["password".to_owned(), "a\"b-secret".to_owned()]);
        let document = r#"{"password" : {"a": ["password", "x password", 1], "b\"": "a\"b-secret"}, "c": "\\"}"#;
        let shown = r#"{"password" : {"a": ["**", "x **", 1], "b\"": "**"}, "c": "\\"}"#;
        assert_eq!(mask.hide_json(document), shown);
        assert_eq!(mask.hide_json("{}"), "{}");
    }

    /// A quotation mark at the end, or one in a message that has the value in quotes, is not left over.
    #[test]
    fn a_document_is_one_without_its_hidden_texts() {
        let secrets = ["\"in quotes\"", "back\\", "bell\u{7}bell", "pass\"word"].map(str::to_owned);
        let mask = SecretMask::new(BTreeSet::new(), secrets);
        for (text, shown) in [
            ("\"in quotes\"", "**"),
            ("a back\\ b", "a ** b"),
            ("back\"", "back\""),
            ("bell\u{7}bell → é", "** → é"),
            ("Invalid value: \"pass\\\"word\"", "Invalid value: \"**\""),
        ] {
            let document = serde_json::json!({ "text": text, "é": 1 });
            let hidden = mask.hide_json(&document.to_string());
            let read: serde_json::Value = serde_json::from_str(&hidden).unwrap();
            assert_eq!(read, serde_json::json!({ "text": shown, "é": 1 }), "{hidden}");
        }
    }

    #[test]
    fn a_long_value_hides_what_follows_it() {
        let long = "0123456789".repeat(1000);
        let mask = SecretMask::new(BTreeSet::new(), [long.clone()]);
        assert_eq!(mask.hide(&format!("got {long} and {long}")), "got **");
    }

    #[test]
    fn of_an_object_with_such_a_value_no_value_is_told() {
        let mask = mask();
        let mut fields = vec![field("\"the one before\"", "\"x\""), field("1", "2")];
        mask.hide_fields(("", "ConfigMap", "app"), &mut fields);
        assert!(
            fields
                .iter()
                .all(|field| field.old.as_deref() == Some(HIDDEN) && field.new.as_deref() == Some(HIDDEN))
        );
        let mut fields = vec![field("1", "2"), field("1", "\"s3cret\"")];
        mask.hide_fields(("", "ConfigMap", "other"), &mut fields);
        assert_eq!(fields, [field("1", "2"), field(HIDDEN, HIDDEN)]);
    }
}
