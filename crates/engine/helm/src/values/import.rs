//! Values that charts import from their subcharts.

use super::{
    Values, ValuesError, Weight,
    coalesce::{coalesce_tables, coalesce_values},
    dependencies::imported,
    lookup,
};
use crate::chart::Chart;
use serde_json::{Value as Json, json};

/// Imports values from the subcharts, the deepest first. They become defaults of the chart, under its own ones.
pub(super) fn import_values(chart: &mut Chart, weight: &mut Weight) -> Result<(), ValuesError> {
    for subchart in &mut chart.dependencies {
        import_values(subchart, weight)?;
    }
    if chart.metadata.dependencies.is_none() {
        return Ok(());
    }
    let mut values = coalesce_values(chart, Values::new(), true, weight)?;
    let mut tables = Values::new();
    for dependency in chart.metadata.dependencies.iter_mut().flatten().flatten() {
        let mut done = Vec::new();
        for (child, parent) in dependency.import_values.iter().filter_map(imported) {
            if let Some(table) = lookup::table(&values, &format!("{}.{child}", dependency.name)) {
                coalesce_tables(&mut tables, nested(&parent, table.clone()), true);
            }
            done.push(json!({ "child": child, "parent": parent }));
        }
        dependency.import_values = done;
    }
    coalesce_tables(&mut values, tables, true);
    chart.values = values;
    Ok(())
}

/// A table at a path.
fn nested(path: &str, table: Values) -> Values {
    if path == "." {
        return table;
    }
    path.rsplit('.').fold(table, |inner, key| {
        Values::from_iter([(key.to_owned(), Json::Object(inner))])
    })
}
