//! A YAML writer for readable definitions: block style, keys in insertion order, quotes only where a plain scalar would
//! be read as something else.
//!
//! It supports what definitions of kinds contain: maps, lists, texts, whole numbers, booleans.

/// A value to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Yaml {
    Text(String),
    Number(i64),
    Flag(bool),
    List(Vec<Yaml>),
    Map(Vec<(String, Yaml)>),
}

/// Words that YAML 1.1 does not read as texts; what begins with a digit or a sign is quoted anyway.
const NO_TEXT: &[&str] = &["y", "n", "yes", "no", "on", "off", "true", "false", "null"];

impl Yaml {
    /// A map with its keys in this order.
    pub(crate) fn map<'a>(entries: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        Self::Map(
            entries
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        )
    }

    /// A list of texts.
    pub(crate) fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self::List(texts.into_iter().map(Self::from).collect())
    }

    /// The value as a document of its own, without `---`, with a line break at the end.
    pub(crate) fn document(&self) -> String {
        let mut text = String::new();
        self.write(0, &mut text);
        text
    }

    /// Writes the value where a line of its own begins.
    fn write(&self, indent: usize, text: &mut String) {
        match self {
            Self::Map(entries) if !entries.is_empty() => {
                for (key, value) in entries {
                    begin_line(indent, text);
                    text.push_str(&scalar(key));
                    text.push(':');
                    value.write_after_key(indent, text);
                }
            }
            Self::List(items) if !items.is_empty() => {
                for item in items {
                    begin_line(indent, text);
                    text.push_str("- ");
                    item.write(indent + 2, text);
                }
            }
            _ => {
                text.push_str(&self.inline());
                text.push('\n');
            }
        }
    }

    /// Writes the value of a key; a list is not indented further, as Kubernetes' own tools write it.
    fn write_after_key(&self, indent: usize, text: &mut String) {
        let (below, indent) = match self {
            Self::Map(entries) => (!entries.is_empty(), indent + 2),
            Self::List(items) => (!items.is_empty(), indent),
            _ => (false, indent),
        };
        text.push(if below { '\n' } else { ' ' });
        self.write(indent, text);
    }

    fn inline(&self) -> String {
        match self {
            Self::Text(value) => scalar(value),
            Self::Number(value) => value.to_string(),
            Self::Flag(value) => value.to_string(),
            Self::List(_) => "[]".to_owned(),
            Self::Map(_) => "{}".to_owned(),
        }
    }
}

impl From<&str> for Yaml {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Writes the indentation of a line, unless the dash of a list has already begun it.
fn begin_line(indent: usize, text: &mut String) {
    if text.is_empty() || text.ends_with('\n') {
        text.extend(std::iter::repeat_n(' ', indent));
    }
}

/// The text plain where that reads back as the same text, else in single quotes, else in double ones.
fn scalar(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else if text.chars().any(char::is_control) {
        // JSON's escapes are YAML's.
        serde_json::Value::from(text).to_string()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// Whether the text can be plain, stricter than YAML: a letter, `^`, `/` or `.` and a letter first, and nothing that
/// could end a plain scalar.
fn is_plain(text: &str) -> bool {
    let mut chars = text.chars();
    let begins = match chars.next() {
        Some('.') => chars.next().is_some_and(|c| c.is_ascii_lowercase()) && ![".inf", ".nan"].contains(&text),
        Some(first) => first.is_ascii_alphabetic() || matches!(first, '^' | '/'),
        None => false,
    };
    let ends = text.contains(": ") || text.contains(" #") || text.ends_with([':', ' ']);
    let is_word = !NO_TEXT.contains(&text.to_ascii_lowercase().as_str());
    begins && is_word && !ends && !text.chars().any(char::is_control)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order_and_lists_stand_below_their_key() {
        let value = Yaml::map([
            ("zeta", Yaml::texts(["b", "a"])),
            (
                "alpha",
                Yaml::map([("n", Yaml::Number(-1)), ("status", Yaml::Map(Vec::new()))]),
            ),
            (
                "list",
                Yaml::List(vec![
                    Yaml::map([("a", Yaml::Flag(true)), ("b", Yaml::texts(["x"]))]),
                    Yaml::List(vec![Yaml::Number(1), Yaml::List(Vec::new())]),
                ]),
            ),
        ]);
        let expected =
            "zeta:\n- b\n- a\nalpha:\n  'n': -1\n  status: {}\nlist:\n- a: true\n  b:\n  - x\n- - 1\n  - []\n";
        assert_eq!(value.document(), expected);
    }

    #[test]
    fn a_text_is_quoted_where_it_would_read_as_something_else() {
        for (text, written) in [
            ("v1", "v1"),
            (".spec.image", ".spec.image"),
            (r"^.*\.sig$", r"^.*\.sig$"),
            ("/a", "/a"),
            ("How often: always", "'How often: always'"),
            ("a #b", "'a #b'"),
            ("a#b:c", "a#b:c"),
            ("it's", "it's"),
            ("'it'", "'''it'''"),
            ("True", "'True'"),
            ("n", "'n'"),
            (".inf", "'.inf'"),
            ("60s", "'60s'"),
            ("1.10", "'1.10'"),
            ("!has(self.a)", "'!has(self.a)'"),
            ("", "''"),
            ("ends:", "'ends:'"),
            ("two\nlines", r#""two\nlines""#),
        ] {
            assert_eq!(scalar(text), written);
            let read: serde_json::Value = serde_saphyr::from_str(&format!("key: {written}\n")).unwrap();
            assert_eq!(read["key"], text, "{written}");
        }
    }
}
