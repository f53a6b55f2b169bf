//! Which of a chart's subcharts take part: versions, aliases, conditions and tags.

use std::collections::HashSet;

use super::{Values, ValuesError, Weight, coalesce::coalesce_values, import::import_values, lookup};
use crate::chart::{Chart, Dependency};
use bumpwright_semver::{Constraint, Version};
use serde_json::Value as Json;

/// Removes subcharts that are off, names those with an alias, and imports values from them.
pub(crate) fn process_dependencies(chart: &mut Chart, values: &Values, weight: &mut Weight) -> Result<(), ValuesError> {
    enable(chart, values, "", weight)?;
    import_values(chart, weight)
}

/// Whether a version is in a range; no for what cannot be read.
pub(crate) fn is_in_range(range: &str, version: &str) -> bool {
    let (version, range) = (Version::parse(version), Constraint::parse(range));
    matches!((version, range), (Ok(version), Ok(range)) if range.check(&version))
}

fn enable(chart: &mut Chart, values: &Values, path: &str, weight: &mut Weight) -> Result<(), ValuesError> {
    let Some(wanted) = chart.metadata.dependencies.take() else {
        return Ok(());
    };
    let mut wanted: Vec<Dependency> = wanted.into_iter().flatten().collect();
    let fits = |chart: &Chart, dependency: &Dependency| {
        chart.name() == dependency.name && is_in_range(&dependency.version, &chart.metadata.version)
    };
    let found = std::mem::take(&mut chart.dependencies);
    let undeclared = found.iter().filter(|chart| !wanted.iter().any(|one| fits(chart, one)));
    let mut charts: Vec<Chart> = undeclared.cloned().collect();
    for dependency in &mut wanted {
        if let Some(found) = found.iter().find(|chart| fits(chart, dependency)) {
            weight.chart(found)?;
            let mut found = found.clone();
            if !dependency.alias.is_empty() {
                found.metadata.name.clone_from(&dependency.alias);
            }
            charts.push(found);
        }
        if !dependency.alias.is_empty() {
            dependency.name.clone_from(&dependency.alias);
        }
        dependency.enabled = true;
    }
    chart.dependencies = charts;
    weight.table(values)?;
    let values = coalesce_values(chart, values.clone(), false, weight)?;
    apply_tags(&mut wanted, &values);
    apply_conditions(&mut wanted, &values, path);
    let off = wanted.iter().filter(|one| !one.enabled);
    let off: HashSet<String> = off.map(|one| one.name.clone()).collect();
    chart.dependencies.retain(|chart| !off.contains(chart.name()));
    wanted.retain(|one| !off.contains(&one.name));
    for subchart in &mut chart.dependencies {
        let path = format!("{path}{}.", subchart.name());
        enable(subchart, &values, &path, weight)?;
    }
    // Helm's list is nil again when nothing is left.
    chart.metadata.dependencies = (!wanted.is_empty()).then(|| wanted.into_iter().map(Some).collect());
    Ok(())
}

fn apply_tags(wanted: &mut [Dependency], values: &Values) {
    let Some(tags) = lookup::table(values, "tags") else {
        return;
    };
    for dependency in wanted {
        let mut truths = dependency
            .tags
            .iter()
            .filter_map(|tag| tags.get(tag)?.as_bool())
            .peekable();
        dependency.enabled = truths.peek().is_none() || truths.any(|truth| truth);
    }
}

/// The first of the conditions that is a boolean decides, over the tags.
fn apply_conditions(wanted: &mut [Dependency], values: &Values, path: &str) {
    for dependency in wanted {
        let conditions = dependency
            .condition
            .trim()
            .split(',')
            .filter(|condition| !condition.is_empty());
        let mut truths =
            conditions.filter_map(|condition| lookup::value(values, &format!("{path}{condition}"))?.as_bool());
        if let Some(truth) = truths.next() {
            dependency.enabled = truth;
        }
    }
}

/// The import of one dependency: the path in its values, and the path in those of its parent.
pub(super) fn imported(import: &Json) -> Option<(String, String)> {
    let text = |value: Option<&Json>| match value {
        Some(Json::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "<nil>".to_owned(),
    };
    match import {
        Json::String(name) => Some((format!("exports.{name}"), ".".to_owned())),
        Json::Object(pair) => Some((text(pair.get("child")), text(pair.get("parent")))),
        _ => None,
    }
}
