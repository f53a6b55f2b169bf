//! The language of `--set-literal`: everything after the first `=` is the value.

use super::{
    Values,
    set::{SetError, Stop, deeper, list_at, list_of, set, set_index, table_at, table_of},
};
use bumpwright_gostd::atoi;
use serde_json::Value as Json;

/// Sets what an argument names.
pub(super) fn parse_into(text: &str, values: &mut Values) -> Result<(), SetError> {
    let mut rest = text;
    match key(&mut rest, values, 0) {
        Ok(()) | Err(Stop::End) => Ok(()),
        Err(Stop::Error(error)) => Err(error),
    }
}

fn key(rest: &mut &str, values: &mut Values, nesting: usize) -> Result<(), Stop> {
    let (key, last) = until(rest, &['=', '[', '.']);
    match last {
        None if key.is_empty() => Err(Stop::End),
        None => Err(SetError::NoValue(key.to_owned()).into()),
        Some('=') => {
            set(values, key, Json::from(std::mem::take(rest)));
            Ok(())
        }
        Some('.') => {
            let mut inner = table_at(values, key)?;
            let result = self::key(rest, &mut inner, deeper(nesting)?);
            match (inner.is_empty(), &result) {
                (true, Ok(())) => return Err(SetError::EmptyTable(key.to_owned()).into()),
                (true, Err(_)) => {}
                (false, _) => set(values, key, Json::Object(inner)),
            }
            result
        }
        Some(_) => {
            let index = index(rest)?;
            let mut list = list_at(values, key)?;
            let result = item(rest, &mut list, index, nesting);
            set(values, key, Json::Array(list));
            result
        }
    }
}

fn item(rest: &mut &str, list: &mut Vec<Json>, index: i64, nesting: usize) -> Result<(), Stop> {
    if index < 0 {
        return Err(SetError::NegativeIndex(index).into());
    }
    let (key, last) = until(rest, &['[', '.', '=']);
    if !key.is_empty() {
        return Err(SetError::AfterIndex(key.to_owned()).into());
    }
    match last {
        None => Err(Stop::End),
        Some('=') => set_index(list, index, Json::from(std::mem::take(rest))),
        Some('.') => {
            let mut inner = table_of(list, index);
            self::key(rest, &mut inner, nesting)?;
            set_index(list, index, Json::Object(inner))
        }
        Some(_) => {
            let next = self::index(rest)?;
            let mut inner = list_of(list, index)?;
            item(rest, &mut inner, next, nesting)?;
            set_index(list, index, Json::Array(inner))
        }
    }
}

fn index(rest: &mut &str) -> Result<i64, Stop> {
    match until(rest, &[']']) {
        (_, None) => Err(Stop::End),
        (text, Some(_)) => Ok(atoi(text).map_err(SetError::Index)?),
    }
}

fn until<'t>(rest: &mut &'t str, stops: &[char]) -> (&'t str, Option<char>) {
    match rest.find(stops) {
        Some(at) => {
            let (text, after) = rest.split_at(at);
            let mut after = after.chars();
            let last = after.next();
            *rest = after.as_str();
            (text, last)
        }
        None => (std::mem::take(rest), None),
    }
}
