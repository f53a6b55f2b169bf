//! Kubernetes' language of label selectors: `a=b, c!=d, e in (f, g), h notin (i), j, !k, l>1`.

use super::error::{LabelError, SelectorError};
use bumpwright_gostd::parse_int;
use bumpwright_yaml::Node;

/// Requirements for labels (or annotations).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Exists,
    Missing,
    In(Vec<String>),
    NotIn(Vec<String>),
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Parses a selector. An empty one matches everything.
    ///
    /// # Errors
    /// It is malformed, or a key or value in it could not be that of a label.
    pub fn new(selector: &str) -> Result<Self, SelectorError> {
        let mut tokens = Tokens::of(selector);
        tokens.selector().map(Self).map_err(|reason| SelectorError::Labels {
            selector: selector.to_owned(),
            reason,
        })
    }

    /// Whether it matches everything.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it matches the labels of an object, or its annotations.
    #[must_use]
    pub fn matches(&self, object: &Node, field: &str) -> bool {
        if self.is_empty() {
            return true;
        }
        let labels = object.lookup(&["metadata", field]);
        let scalar = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Node::as_scalar);
        self.holds(|key| scalar(key).map(|scalar| scalar.text.as_str()))
    }

    /// Whether it matches the labels whose values `value` returns.
    pub fn holds<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|each| each.test.holds(value(&each.key)))
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let is_in = |values: &[String]| value.is_some_and(|value| values.iter().any(|each| value == each));
        let number = || parse_int(value?.as_bytes(), 10, 64).ok();
        match self {
            Self::Exists => value.is_some(),
            Self::Missing => value.is_none(),
            Self::In(values) => is_in(values),
            Self::NotIn(values) => !is_in(values),
            Self::Above(bound) => number().is_some_and(|number| number > *bound),
            Self::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// The tokens of a selector.
struct Tokens<'a>(std::iter::Peekable<std::vec::IntoIter<&'a str>>);

const SIGNS: [char; 7] = ['=', '!', '(', ')', ',', '>', '<'];
const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

impl<'a> Tokens<'a> {
    fn of(text: &'a str) -> Self {
        let mut tokens = Vec::new();
        let mut rest = text.trim_start_matches(SPACES);
        while !rest.is_empty() {
            let length = match rest {
                _ if rest.starts_with("==") || rest.starts_with("!=") => 2,
                _ if rest.starts_with(SIGNS) => 1,
                _ => rest
                    .find(|c| SIGNS.contains(&c) || SPACES.contains(&c))
                    .unwrap_or(rest.len()),
            };
            let (token, after) = rest.split_at(length);
            tokens.push(token);
            rest = after.trim_start_matches(SPACES);
        }
        Self(tokens.into_iter().peekable())
    }

    /// The next token, if it is a word: a key or a value.
    fn word(&mut self) -> Option<&'a str> {
        self.0.next_if(|token| !token.starts_with(SIGNS))
    }

    fn sign(&mut self, sign: &str) -> bool {
        self.0.next_if(|token| *token == sign).is_some()
    }

    fn found(&mut self, expected: &'static str) -> LabelError {
        let token = self.0.peek().map_or_else(String::new, |token| (*token).to_owned());
        LabelError::Unexpected { found: token, expected }
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, LabelError> {
        let mut requirements = Vec::new();
        if self.0.peek().is_none() {
            return Ok(requirements);
        }
        loop {
            requirements.push(self.requirement()?);
            if self.0.peek().is_none() {
                return Ok(requirements);
            }
            if !self.sign(",") {
                return Err(self.found("',' or 'end of string'"));
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, LabelError> {
        let is_negated = self.sign("!");
        let Some(key) = self.word() else {
            return Err(self.found("!, identifier, or 'end of string'"));
        };
        check_key(key)?;
        let ends = self.0.peek().is_none_or(|token| *token == ",");
        let test = match (is_negated, ends) {
            (true, _) => Test::Missing,
            (false, true) => Test::Exists,
            (false, false) => self.test()?,
        };
        Ok(Requirement {
            key: key.to_owned(),
            test,
        })
    }

    fn test(&mut self) -> Result<Test, LabelError> {
        let number = |value: Vec<String>| {
            let value = value.first().and_then(|value| parse_int(value, 10, 64).ok());
            value.ok_or(LabelError::NotANumber)
        };
        match self.0.next().unwrap_or("") {
            "=" | "==" => Ok(Test::In(self.value()?)),
            "!=" => Ok(Test::NotIn(self.value()?)),
            "in" => Ok(Test::In(self.values()?)),
            "notin" => Ok(Test::NotIn(self.values()?)),
            ">" => Ok(Test::Above(number(self.value()?)?)),
            "<" => Ok(Test::Below(number(self.value()?)?)),
            other => Err(LabelError::Unexpected {
                found: other.to_owned(),
                expected: "'=', '!=', '==', 'in', notin'",
            }),
        }
    }

    /// One value; empty where the requirement ends.
    fn value(&mut self) -> Result<Vec<String>, LabelError> {
        if self.0.peek().is_none_or(|token| *token == ",") {
            return Ok(vec![String::new()]);
        }
        let Some(value) = self.word() else {
            return Err(self.found("identifier"));
        };
        check_value(value)?;
        Ok(vec![value.to_owned()])
    }

    /// Values in parentheses. A missing one between commas is the empty string.
    fn values(&mut self) -> Result<Vec<String>, LabelError> {
        if !self.sign("(") {
            return Err(self.found("'('"));
        }
        let mut values = Vec::new();
        loop {
            let value = self.word().unwrap_or("");
            check_value(value)?;
            values.push(value.to_owned());
            if self.sign(")") {
                return Ok(values);
            }
            if !self.sign(",") {
                return Err(self.found("',' or ')'"));
            }
        }
    }
}

/// Rejects an invalid label key: an optional DNS name and a slash, then a name.
fn check_key(key: &str) -> Result<(), LabelError> {
    let (prefix, name) = key
        .rsplit_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let prefix_is_wrong = prefix.is_some_and(|prefix| !is_dns_name(prefix));
    if prefix_is_wrong || !is_name(name) {
        return Err(LabelError::Key(key.to_owned()));
    }
    Ok(())
}

fn check_value(value: &str) -> Result<(), LabelError> {
    if value.is_empty() || is_name(value) {
        return Ok(());
    }
    Err(LabelError::Value(value.to_owned()))
}

fn is_name(text: &str) -> bool {
    let is_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && is_end(text.chars().next())
        && is_end(text.chars().next_back())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

fn is_dns_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_label = |label: &str| {
        label.starts_with(is_letter) && label.ends_with(is_letter) && label.chars().all(|c| is_letter(c) || c == '-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::node;

    fn holds(selector: &str) -> bool {
        let object = node(r#"{"metadata":{"labels":{"app":"web","tier":"","n":"7","x.io/y":"z"}}}"#);
        LabelSelector::new(selector).unwrap().matches(&object, "labels")
    }

    #[test]
    fn requirements_hold_as_kubernetes_has_them() {
        for selector in [
            "",
            " ",
            "app=web",
            "app == web",
            "app!=db",
            "other!=db",
            "app in (db, web)",
            "app notin (db)",
            "app",
            "!other",
            "other notin (a)",
            "n>6",
            "n<8",
            "x.io/y=z",
            "app=web,tier=",
            "tier in ()",
            "tier in (a,,b)",
            "app = web , n",
        ] {
            assert!(holds(selector), "{selector}");
        }
        for selector in [
            "app=db",
            "app!=web",
            "other",
            "!app",
            "other=",
            "other in (a)",
            "app>1",
            "n>7",
            "app,other",
        ] {
            assert!(!holds(selector), "{selector}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for selector in [
            "=",
            "app=(",
            "app in web",
            "app in (web",
            "a,",
            ",a",
            "a b",
            "!",
            "n>x",
            "-a=b",
            "a=-",
            "A.io_/x",
            "a=b=c",
        ] {
            assert!(LabelSelector::new(selector).is_err(), "{selector}");
        }
    }
}
