//! Label selectors as they are written for `kubectl -l`: `a=b, c!=d, e in (f, g), h notin (i), j, !k`.

use super::selector::{InvalidSelector, LabelSelector, Requirement};

/// Why a text is not a label selector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorTextError {
    #[error("{0:?} is no requirement of a label selector, as in env=prod,team in (a,b),!old")]
    Requirement(String),
    /// A key or a value is not valid.
    #[error(transparent)]
    Selector(#[from] InvalidSelector),
}

impl LabelSelector {
    /// Reads a selector. Unlike an absent one, an empty text is an error.
    pub fn parse(text: &str) -> Result<Self, SelectorTextError> {
        let match_expressions = split(text).map(requirement).collect::<Result<_, _>>()?;
        let selector = Self {
            match_expressions,
            ..Self::default()
        };
        selector.validate()?;
        Ok(selector)
    }
}

/// The requirements: commas in parentheses are between values.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    let parts = text.split(move |c| {
        is_inside = if is_inside { c != ')' } else { c == '(' };
        c == ',' && !is_inside
    });
    parts.map(str::trim)
}

fn requirement(text: &str) -> Result<Requirement, SelectorTextError> {
    let of = |key: &str, operator: &str, values: Vec<&str>| Requirement {
        key: key.trim().to_owned(),
        operator: operator.to_owned(),
        values: values.into_iter().map(|value| value.trim().to_owned()).collect(),
    };
    let invalid = || SelectorTextError::Requirement(text.to_owned());
    if text.is_empty() {
        return Err(invalid());
    }
    if let Some((words, values)) = text.split_once('(').filter(|(words, _)| !words.contains(['=', '!'])) {
        let values = values.strip_suffix(')').ok_or_else(invalid)?;
        let mut words = words.split_ascii_whitespace();
        let (key, operator) = match (words.next(), words.next(), words.next()) {
            (Some(key), Some("in"), None) => (key, "In"),
            (Some(key), Some("notin"), None) => (key, "NotIn"),
            _ => return Err(invalid()),
        };
        return Ok(of(key, operator, values.split(',').collect()));
    }
    Ok(
        match (text.strip_prefix('!'), text.split_once("!="), text.split_once('=')) {
            (Some(key), ..) => of(key, "DoesNotExist", Vec::new()),
            (_, Some((key, value)), _) => of(key, "NotIn", vec![value]),
            (_, _, Some((key, value))) => of(key, "In", vec![value.strip_prefix('=').unwrap_or(value)]),
            (None, None, None) => of(text, "Exists", Vec::new()),
        },
    )
}
