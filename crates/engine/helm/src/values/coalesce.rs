//! The values of a chart under those of its parent or of the user.

use super::{Values, ValuesError, Weight};
use crate::chart::Chart;
use serde_json::Value as Json;

/// The key of the values that all charts share.
const GLOBAL: &str = "global";

/// The user's values over those of the chart and of its subcharts. With `merge`, null is kept; else it removes.
///
/// # Errors
/// Helm's, when a subchart's values are not table; and when copies of values are too many.
pub(crate) fn coalesce_values(
    chart: &Chart,
    mut values: Values,
    merge: bool,
    weight: &mut Weight,
) -> Result<Values, ValuesError> {
    coalesce(chart, &mut values, merge, weight)?;
    Ok(values)
}

fn coalesce(chart: &Chart, values: &mut Values, merge: bool, weight: &mut Weight) -> Result<(), ValuesError> {
    weight.table(&chart.values)?;
    weight.take(chart.dependencies.len())?;
    coalesce_own(chart, values, merge);
    for subchart in &chart.dependencies {
        let name = subchart.name();
        let mut inner = match values.remove(name) {
            None => Values::new(),
            Some(Json::Object(inner)) => inner,
            Some(value) => {
                let name = name.to_owned();
                return Err(ValuesError::NoTable { name, value });
            }
        };
        if let Some(shared) = values.get(GLOBAL) {
            // Once down and once up again.
            weight.value(shared)?;
            weight.value(shared)?;
        }
        coalesce_globals(&mut inner, values);
        let result = coalesce(subchart, &mut inner, merge, weight);
        share_globals(&inner, values);
        values.insert(name.to_owned(), Json::Object(inner));
        result?;
    }
    for subchart in &chart.dependencies {
        let shared = values.get(GLOBAL).cloned().unwrap_or_default();
        if let Some(Json::Object(inner)) = values.get_mut(subchart.name()) {
            give_globals(subchart, inner, &shared);
        }
    }
    Ok(())
}

/// In Helm a chart and its subcharts share the tables within the tables of their globals: what one adds to such a
/// table, all of them see.
fn share_globals(from: &Values, to: &mut Values) {
    let Some(Json::Object(from)) = from.get(GLOBAL) else {
        return;
    };
    let Some(Json::Object(to)) = to.get_mut(GLOBAL) else {
        return;
    };
    for (key, table) in to {
        let (Json::Object(table), Some(Json::Object(from))) = (table, from.get(key)) else {
            continue;
        };
        for (key, inner) in table {
            if let (Json::Object(inner), Some(Json::Object(from))) = (inner, from.get(key)) {
                inner.clone_from(from);
            }
        }
    }
}

/// The same from a chart down to all charts below it.
fn give_globals(chart: &Chart, values: &mut Values, shared: &Json) {
    let from = Values::from_iter([(GLOBAL.to_owned(), shared.clone())]);
    share_globals(&from, values);
    for subchart in &chart.dependencies {
        if let Some(Json::Object(inner)) = values.get_mut(subchart.name()) {
            give_globals(subchart, inner, shared);
        }
    }
}

/// The globals of the parent, which win over those of the subchart.
fn coalesce_globals(inner: &mut Values, outer: &Values) {
    let none = Values::new();
    let theirs = match outer.get(GLOBAL) {
        None => &none,
        Some(Json::Object(table)) => table,
        Some(_) => return,
    };
    let mut ours = match inner.get_mut(GLOBAL) {
        None => Values::new(),
        Some(Json::Object(table)) => std::mem::take(table),
        Some(_) => return,
    };
    for (key, value) in theirs {
        match (value, ours.get_mut(key)) {
            (Json::Object(table), Some(Json::Object(own))) => {
                let mut merged = table.clone();
                coalesce_tables(&mut merged, std::mem::take(own), true);
                ours.insert(key.clone(), Json::Object(merged));
            }
            (Json::Object(_), Some(_)) | (_, Some(Json::Object(_))) => {}
            (value, _) => drop(ours.insert(key.clone(), value.clone())),
        }
    }
    inner.insert(GLOBAL.to_owned(), Json::Object(ours));
}

/// The chart's own values under those of the user.
fn coalesce_own(chart: &Chart, values: &mut Values, merge: bool) {
    for (key, value) in &chart.values {
        match values.get_mut(key) {
            Some(Json::Null) if !merge => drop(values.remove(key)),
            Some(Json::Object(table)) => {
                if let Json::Object(defaults) = value {
                    let mut defaults = defaults.clone();
                    let merge = merge || chart.dependencies.iter().any(|chart| chart.name() == key);
                    if !merge {
                        without_null(&mut defaults);
                    }
                    coalesce_tables(table, defaults, merge);
                }
            }
            Some(_) => {}
            None if !merge && value.is_null() => {}
            None => {
                let mut value = value.clone();
                if let (false, Json::Object(table)) = (merge, &mut value) {
                    without_null(table);
                }
                values.insert(key.clone(), value);
            }
        }
    }
}

/// Puts `from` under `into`. With `merge`, null is kept; else null in `into` removes what `from` has.
pub(super) fn coalesce_tables(into: &mut Values, from: Values, merge: bool) {
    for (key, value) in from {
        match into.get_mut(&key) {
            None => drop(into.insert(key, value)),
            Some(Json::Null) if !merge && !value.is_null() => drop(into.remove(&key)),
            Some(Json::Object(table)) => {
                if let Json::Object(inner) = value {
                    coalesce_tables(table, inner, merge);
                }
            }
            Some(_) => {}
        }
    }
}

fn without_null(table: &mut Values) {
    table.retain(|_, value| !value.is_null());
    for value in table.values_mut() {
        if let Json::Object(inner) = value {
            without_null(inner);
        }
    }
}
