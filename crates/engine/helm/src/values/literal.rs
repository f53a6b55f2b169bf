//! The language of `--set-literal`: everything after the first `=` is the value.

use super::{
    Values,
    set::{Stop, deeper, error, list_at, list_of, set, set_index, table_at, table_of},
};
use bumpwright_gostd::{atoi, quote};
use serde_json::Value as Json;

/// Sets what an argument names.
///
/// # Errors
/// Helm's text.
pub(super) fn parse_into(text: &str, values: &mut Values) -> Result<(), String> {
    let mut rest = text;
    match key(&mut rest, values, 0) {
        Ok(()) | Err(Stop::End) => Ok(()),
        Err(Stop::Error(text)) => Err(text),
    }
}

fn key(rest: &mut &str, values: &mut Values, nesting: usize) -> Result<(), Stop> {
    let (key, last) = until(rest, &['=', '[', '.']);
    match last {
        None if key.is_empty() => Err(Stop::End),
        None => error(format!("key {} has no value", quote(key))),
        Some('=') => {
            set(values, key, Json::from(std::mem::take(rest)));
            Ok(())
        }
        Some('.') => {
            let mut inner = table_at(values, key)?;
            let result = self::key(rest, &mut inner, deeper(nesting)?);
            match (inner.is_empty(), &result) {
                (true, Ok(())) => return error(format!("key map {} has no value", quote(key))),
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
        return error(format!("negative {index} index not allowed"));
    }
    let (key, last) = until(rest, &['[', '.', '=']);
    if !key.is_empty() {
        return error(format!("unexpected data at end of array index: {}", quote(key)));
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
        (text, Some(_)) => atoi(text).or_else(|fault| error(format!("error parsing index: {}", fault))),
    }
}

fn until<'t>(rest: &mut &'t str, stops: &[char]) -> (&'t str, Option<char>) {
    match rest.find(stops) {
        Some(at) => {
            let (text, after) = rest.split_at(at);
            let last = after.chars().next();
            *rest = after.get(last.map_or(0, char::len_utf8)..).unwrap_or_default();
            (text, last)
        }
        None => (std::mem::take(rest), None),
    }
}
