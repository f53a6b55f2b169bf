//! The language of `--set`, `--set-string`, `--set-file` and `--set-json`: `a.b[0]=c,d={e,f}`.

use bumpwright_json::Float;
use serde_json::Value as Json;
use thiserror::Error;

use super::Values;
use crate::foreign_error::ForeignError;
use bumpwright_gostd::{NumError, atoi, parse_int, quote};

/// The largest index of a list.
const MAX_INDEX: i64 = 65_536;
/// The most names within names.
const MAX_NESTING: usize = 30;

/// Why an argument is not read, in Helm's words.
#[derive(Debug, Error)]
pub enum SetError {
    /// Nothing is set at a key.
    #[error("key {} has no value", quote(.0))]
    NoValue(String),
    /// A comma follows a key.
    #[error("key {} has no value (cannot end with ,)", quote(.0))]
    Comma(String),
    /// Nothing is set in the table at a key.
    #[error("key map {} has no value", quote(.0))]
    EmptyTable(String),
    /// An index is below zero.
    #[error("negative {0} index not allowed")]
    NegativeIndex(i64),
    /// An index is too large.
    #[error("index of {0} is greater than maximum supported index of {MAX_INDEX}")]
    LargeIndex(i64),
    /// An index is not a number.
    #[error("error parsing index: {0}")]
    Index(#[source] NumError<i64>),
    /// Text between an index and what comes after it.
    #[error("unexpected data at end of array index: {}", quote(.0))]
    AfterIndex(String),
    /// A value has another type than the path needs: Go's panic.
    #[error("unable to parse key: interface conversion: interface {{}} is {found}, not {wanted}")]
    Type {
        /// Its type.
        found: &'static str,
        /// That of the path.
        wanted: &'static str,
    },
    /// Names within names are too many.
    #[error("value name nested level is greater than maximum supported nested level of {MAX_NESTING}")]
    Nesting,
    /// The brace of a list is not closed.
    #[error("list must terminate with '}}'")]
    OpenList,
    /// A value is not JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The value is missing where JSON has to be.
    #[error("EOF")]
    NoJson,
    /// The file with the value cannot be read.
    #[error(transparent)]
    File(#[from] ForeignError),
}

/// What a value becomes: the text after `=`.
pub(super) type Convert<'r> = &'r mut dyn FnMut(&str) -> Result<Json, SetError>;

/// How values are read.
pub(super) enum Reading<'r> {
    /// Up to the next comma, or a list in braces.
    Text(Convert<'r>),
    Json,
}

/// Why a part was not read.
pub(super) enum Stop {
    /// The text has ended.
    End,
    Error(SetError),
}

impl From<SetError> for Stop {
    fn from(error: SetError) -> Self {
        Self::Error(error)
    }
}

/// A parser of one argument.
pub(super) struct Parser<'t, 'r> {
    rest: &'t str,
    reading: Reading<'r>,
}

type Parsing<T> = Result<T, Stop>;

/// Sets what an argument names.
pub(super) fn parse_into(text: &str, values: &mut Values, reading: Reading<'_>) -> Result<(), SetError> {
    let mut parser = Parser { rest: text, reading };
    loop {
        match parser.key(values, 0) {
            Ok(()) => {}
            Err(Stop::End) => return Ok(()),
            Err(Stop::Error(error)) => return Err(error),
        }
    }
}

/// The value of a text: a boolean, null, an integer or a string.
pub(super) fn typed(text: &str) -> Json {
    for (word, value) in [
        ("true", Json::Bool(true)),
        ("false", Json::Bool(false)),
        ("null", Json::Null),
    ] {
        if text.eq_ignore_ascii_case(word) {
            return value;
        }
    }
    if text == "0" {
        return Json::from(0_i64);
    }
    match parse_int(text, 10, 64) {
        Ok(number) if !text.starts_with('0') => Json::from(number),
        _ => Json::String(text.to_owned()),
    }
}

/// Sets a key, unless it is empty.
pub(super) fn set(values: &mut Values, key: &str, value: Json) {
    if !key.is_empty() {
        values.insert(key.to_owned(), value);
    }
}

pub(super) fn set_index(list: &mut Vec<Json>, index: i64, value: Json) -> Parsing<()> {
    if index > MAX_INDEX {
        return Err(SetError::LargeIndex(index).into());
    }
    let index = usize::try_from(index).map_err(|_| SetError::NegativeIndex(index))?;
    if list.len() <= index {
        list.resize(index + 1, Json::Null);
    }
    if let Some(place) = list.get_mut(index) {
        *place = value;
    }
    Ok(())
}

/// Go's panic when a value has another type than the path needs.
pub(super) fn conversion<T>(value: &Json, wanted: &'static str) -> Parsing<T> {
    let actual = match value {
        Json::Null => "nil",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_f64() => "float64",
        Json::Number(_) => "int64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    };
    Err(SetError::Type { found: actual, wanted }.into())
}

pub(super) fn deeper(nesting: usize) -> Parsing<usize> {
    if nesting < MAX_NESTING {
        Ok(nesting + 1)
    } else {
        Err(SetError::Nesting.into())
    }
}

/// The table under a key, taken out of the values for a while.
pub(super) fn table_at(values: &Values, key: &str) -> Parsing<Values> {
    match values.get(key) {
        None => Ok(Values::new()),
        Some(Json::Object(table)) => Ok(table.clone()),
        Some(other) => conversion(other, "map[string]interface {}"),
    }
}

pub(super) fn list_at(values: &Values, key: &str) -> Parsing<Vec<Json>> {
    match values.get(key) {
        None => Ok(Vec::new()),
        Some(Json::Array(list)) => Ok(list.clone()),
        Some(other) => conversion(other, "[]interface {}"),
    }
}

/// The table at an index; an empty one in the place of anything else.
pub(super) fn table_of(list: &[Json], index: i64) -> Values {
    let item = usize::try_from(index).ok().and_then(|index| list.get(index));
    item.and_then(Json::as_object).cloned().unwrap_or_default()
}

/// The list at an index.
pub(super) fn list_of(list: &[Json], index: i64) -> Parsing<Vec<Json>> {
    match usize::try_from(index).ok().and_then(|index| list.get(index)) {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Array(list)) => Ok(list.clone()),
        Some(other) => conversion(other, "[]interface {}"),
    }
}

impl Parser<'_, '_> {
    fn key(&mut self, values: &mut Values, nesting: usize) -> Parsing<()> {
        let (key, last) = self.until(&['=', '[', ',', '.']);
        match last {
            None if key.is_empty() => Err(Stop::End),
            None => Err(SetError::NoValue(key).into()),
            Some('[') => {
                let index = self.index()?;
                let mut list = list_at(values, &key)?;
                let result = self.item(&mut list, index, nesting);
                set(values, &key, Json::Array(list));
                result
            }
            Some('=') => self.value_of(values, &key),
            Some(',') => {
                set(values, &key, Json::from(""));
                Err(SetError::Comma(key).into())
            }
            Some(_) => {
                let nesting = deeper(nesting)?;
                let mut inner = table_at(values, &key)?;
                let result = self.key(&mut inner, nesting);
                if inner.is_empty() {
                    if result.is_ok() {
                        return Err(SetError::EmptyTable(key).into());
                    }
                } else {
                    set(values, &key, Json::Object(inner));
                }
                result
            }
        }
    }

    fn value_of(&mut self, values: &mut Values, key: &str) -> Parsing<()> {
        if matches!(self.reading, Reading::Json) {
            set(values, key, self.json()?);
            return Ok(());
        }
        if self.rest.is_empty() {
            set(values, key, Json::from(""));
            return Err(Stop::End);
        }
        let value = self.value()?;
        set(values, key, value);
        Ok(())
    }

    fn item(&mut self, list: &mut Vec<Json>, index: i64, nesting: usize) -> Parsing<()> {
        if index < 0 {
            return Err(SetError::NegativeIndex(index).into());
        }
        let (key, last) = self.until(&['[', '.', '=']);
        if !key.is_empty() {
            return Err(SetError::AfterIndex(key).into());
        }
        match last {
            None => Err(Stop::End),
            Some('=') if matches!(self.reading, Reading::Json) => {
                let value = self.json()?;
                set_index(list, index, value)
            }
            Some('=') if self.rest.is_empty() => set_index(list, index, Json::from("")),
            Some('=') => {
                let value = self.value()?;
                set_index(list, index, value)
            }
            Some('[') => {
                let next = self.index()?;
                let mut inner = list_of(list, index)?;
                self.item(&mut inner, next, nesting)?;
                set_index(list, index, Json::Array(inner))
            }
            Some(_) => {
                let mut inner = table_of(list, index);
                self.key(&mut inner, nesting)?;
                set_index(list, index, Json::Object(inner))
            }
        }
    }

    /// The index before a `]`.
    fn index(&mut self) -> Parsing<i64> {
        let (text, last) = self.until(&[']']);
        if last.is_none() {
            // Helm takes the end of the argument for its end here, too.
            return Err(Stop::End);
        }
        Ok(atoi(&text).map_err(SetError::Index)?)
    }

    /// The value up to the next comma, or a list in braces.
    fn value(&mut self) -> Parsing<Json> {
        if let Some(rest) = self.rest.strip_prefix('{') {
            self.rest = rest;
            return self.list();
        }
        let (text, _) = self.until(&[',']);
        self.convert(&text)
    }

    fn list(&mut self) -> Parsing<Json> {
        let mut list = Vec::new();
        loop {
            let (text, last) = self.until(&[',', '}']);
            match last {
                None => return Err(SetError::OpenList.into()),
                Some(_) => list.push(self.convert(&text)?),
            }
            if last == Some('}') {
                self.rest = self.rest.strip_prefix(',').unwrap_or(self.rest);
                return Ok(Json::Array(list));
            }
        }
    }

    fn convert(&mut self, text: &str) -> Parsing<Json> {
        match &mut self.reading {
            Reading::Text(convert) => Ok(convert(text)?),
            Reading::Json => Ok(Json::Null),
        }
    }

    /// A JSON value; null before a comma or the end.
    fn json(&mut self) -> Parsing<Json> {
        if self.is_blank() {
            return Ok(Json::Null);
        }
        let mut values = serde_json::Deserializer::from_str(self.rest).into_iter::<Json>();
        let value = values.next().ok_or(SetError::NoJson)?.map_err(SetError::Json)?;
        self.rest = self.rest.split_at(values.byte_offset()).1;
        self.is_blank();
        Ok(with_floats(value))
    }

    /// Whether only spaces stand before the next comma or the end, which are consumed then.
    fn is_blank(&mut self) -> bool {
        let rest = self.rest.trim_start();
        match rest.strip_prefix(',') {
            Some(after) => self.rest = after,
            None => self.rest = rest,
        }
        rest.is_empty() || rest.starts_with(',')
    }

    /// The text before one of the characters, which is consumed. A backslash makes the next character one of the text.
    fn until(&mut self, stops: &[char]) -> (String, Option<char>) {
        let mut text = String::new();
        let mut characters = self.rest.chars();
        while let Some(ch) = characters.next() {
            if stops.contains(&ch) {
                self.rest = characters.as_str();
                return (text, Some(ch));
            }
            match ch {
                '\\' => text.extend(characters.next()),
                ch => text.push(ch),
            }
        }
        self.rest = "";
        (text, None)
    }
}

/// JSON as encoding/json reads it: every number is a float.
pub(super) fn with_floats(value: Json) -> Json {
    match value {
        Json::Number(number) => Json::from(number.float64()),
        Json::Array(items) => Json::Array(items.into_iter().map(with_floats).collect()),
        Json::Object(entries) => {
            let entries = entries.into_iter();
            Json::Object(entries.map(|(key, value)| (key, with_floats(value))).collect())
        }
        other => other,
    }
}
