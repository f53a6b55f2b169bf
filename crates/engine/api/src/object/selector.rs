//! Label selectors, as apimachinery reads them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// `LabelSelector`: all of `matchLabels` and all of `matchExpressions` must hold; the empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LabelSelector {
    /// Labels and the values that they must have.
    #[serde(default)]
    pub match_labels: BTreeMap<String, String>,
    #[serde(default)]
    pub match_expressions: Vec<Requirement>,
}

/// One requirement (`LabelSelectorRequirement`).
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Requirement {
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values of `In` and `NotIn`.
    #[serde(default)]
    pub values: Vec<String>,
}

/// An invalid selector, with apimachinery's message (`LabelSelectorAsSelector`, `labels.NewRequirement`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSelector {
    #[error("{0:?} is not a valid label selector operator")]
    Operator(String),
    /// `In` or `NotIn` without values.
    #[error("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")]
    NoValues,
    /// `Exists` or `DoesNotExist` with values.
    #[error("values: Invalid value: {0}: values set must be empty for exists and does not exist")]
    Values(String),
    #[error("key: Invalid value: {key:?}: {why}")]
    Key {
        key: String,
        /// The rule that it breaks.
        why: &'static str,
    },
    #[error("values[{index}][{key}]: Invalid value: {value:?}: {why}")]
    Value {
        /// Its place among the values.
        index: usize,
        key: String,
        value: String,
        /// The rule that it breaks.
        why: &'static str,
    },
}

const KEY_NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
    with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const KEY_EMPTY: &str = "name part must be non-empty";
const KEY_LONG: &str = "name part must be no more than 63 bytes";
const KEY_PREFIX: &str = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
    characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used \
    for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const KEY_PARTS: &str = "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start \
    and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation \
    is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
    'example.com/MyName')";
const VALUE_LONG: &str = "must be no more than 63 bytes";
const VALUE_CHARACTERS: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', \
    '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
    regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

impl LabelSelector {
    /// Whether an object with these labels is selected. A selector that is not valid is an error whatever the labels.
    ///
    /// # Errors
    /// [`InvalidSelector`], for the first requirement that is not valid.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> Result<bool, InvalidSelector> {
        self.validate()?;
        let by_labels = self
            .match_labels
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value));
        Ok(by_labels
            && self
                .match_expressions
                .iter()
                .all(|requirement| requirement.holds(labels)))
    }

    /// Checks operators, keys and values.
    ///
    /// # Errors
    /// [`InvalidSelector`], for the first requirement that is not valid.
    pub fn validate(&self) -> Result<(), InvalidSelector> {
        for (key, value) in &self.match_labels {
            check_key(key)?;
            check_value(key, 0, value)?;
        }
        self.match_expressions.iter().try_for_each(Requirement::validate)
    }
}

impl Requirement {
    fn validate(&self) -> Result<(), InvalidSelector> {
        let has_values = !self.values.is_empty();
        match self.operator.as_str() {
            "In" | "NotIn" | "Exists" | "DoesNotExist" => check_key(&self.key)?,
            operator => return Err(InvalidSelector::Operator(operator.to_owned())),
        }
        match self.operator.as_str() {
            "In" | "NotIn" if !has_values => return Err(InvalidSelector::NoValues),
            "Exists" | "DoesNotExist" if has_values => {
                let values: Vec<String> = self.values.iter().map(|value| format!("{value:?}")).collect();
                return Err(InvalidSelector::Values(format!("[{}]", values.join(","))));
            }
            _ => {}
        }
        self.values
            .iter()
            .enumerate()
            .try_for_each(|(index, value)| check_value(&self.key, index, value))
    }

    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match self.operator.as_str() {
            "In" => value.is_some_and(|value| self.values.contains(value)),
            // NotIn selects an object without the label, as in apimachinery.
            "NotIn" => value.is_none_or(|value| !self.values.contains(value)),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    }
}

/// The rules of `content.IsLabelKey`.
fn check_key(key: &str) -> Result<(), InvalidSelector> {
    let invalid = |why| {
        Err(InvalidSelector::Key {
            key: key.to_owned(),
            why,
        })
    };
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if name.contains('/') {
        return invalid(KEY_PARTS);
    }
    if prefix.is_some_and(|prefix| prefix.len() > 253 || !prefix.split('.').all(is_dns_label)) {
        return invalid(KEY_PREFIX);
    }
    match name {
        "" => invalid(KEY_EMPTY),
        name if name.len() > 63 => invalid(KEY_LONG),
        name if !is_label_text(name) => invalid(KEY_NAME),
        _ => Ok(()),
    }
}

/// The rules of `content.IsLabelValue`.
fn check_value(key: &str, index: usize, value: &str) -> Result<(), InvalidSelector> {
    let why = match value {
        value if value.len() > 63 => VALUE_LONG,
        value if !value.is_empty() && !is_label_text(value) => VALUE_CHARACTERS,
        _ => return Ok(()),
    };
    Err(InvalidSelector::Value {
        index,
        key: key.to_owned(),
        value: value.to_owned(),
        why,
    })
}

fn is_label_text(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    edge(text.bytes().next())
        && edge(text.bytes().next_back())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn is_dns_label(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.bytes().next().is_some_and(alphanumeric)
        && text.bytes().next_back().is_some_and(alphanumeric)
        && text.bytes().all(|byte| alphanumeric(byte) || byte == b'-')
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn expression(key: &str, operator: &str, values: &[&str]) -> LabelSelector {
        LabelSelector {
            match_labels: BTreeMap::new(),
            match_expressions: vec![Requirement {
                key: key.to_owned(),
                operator: operator.to_owned(),
                values: values.iter().map(|value| (*value).to_owned()).collect(),
            }],
        }
    }

    #[test]
    fn an_empty_selector_selects_everything() {
        assert_eq!(LabelSelector::default().matches(&labels(&[])), Ok(true));
        assert_eq!(LabelSelector::default().matches(&labels(&[("a", "b")])), Ok(true));
    }

    #[test]
    fn labels_must_all_match() {
        let selector = LabelSelector {
            match_labels: labels(&[("app", "web"), ("example.com/tier", "")]),
            match_expressions: Vec::new(),
        };
        assert_eq!(
            selector.matches(&labels(&[("app", "web"), ("example.com/tier", ""), ("x", "y")])),
            Ok(true)
        );
        assert_eq!(selector.matches(&labels(&[("app", "web")])), Ok(false));
        assert_eq!(
            selector.matches(&labels(&[("app", "db"), ("example.com/tier", "")])),
            Ok(false)
        );
    }

    #[test]
    fn operators_follow_apimachinery() {
        let (web, db, none) = (labels(&[("app", "web")]), labels(&[("app", "db")]), labels(&[]));
        for (selector, expected) in [
            (expression("app", "In", &["web", "api"]), [true, false, false]),
            (expression("app", "NotIn", &["web"]), [false, true, true]),
            (expression("app", "Exists", &[]), [true, true, false]),
            (expression("app", "DoesNotExist", &[]), [false, false, true]),
        ] {
            let got = [&web, &db, &none].map(|labels| selector.matches(labels).unwrap());
            assert_eq!(got, expected, "{selector:?}");
        }
    }

    #[test]
    fn errors_speak_as_apimachinery_does() {
        for (selector, words) in [
            (
                expression("app", "Like", &["w"]),
                "\"Like\" is not a valid label selector operator",
            ),
            (
                expression("app", "In", &[]),
                "for 'in', 'notin' operators, values set can't be empty",
            ),
            (
                expression("app", "Exists", &["x"]),
                "values set must be empty for exists and does not exist",
            ),
            (
                expression("", "Exists", &[]),
                "key: Invalid value: \"\": name part must be non-empty",
            ),
            (
                expression("a b", "Exists", &[]),
                "key: Invalid value: \"a b\": name part must consist of",
            ),
            (
                expression("A.com/x", "Exists", &[]),
                "prefix part a lowercase RFC 1123 subdomain",
            ),
            (expression("a/b/c", "Exists", &[]), "a qualified name must consist of"),
            (
                expression("app", "In", &["ok", "not ok"]),
                "values[1][app]: Invalid value: \"not ok\": a valid label",
            ),
        ] {
            let error = selector.matches(&labels(&[])).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
