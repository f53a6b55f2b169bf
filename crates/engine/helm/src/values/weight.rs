//! A bound on what a chart's values and subcharts grow to: aliases and globals copy them.

use serde_json::Value as Json;

use super::bounds::MOST;
use super::{Values, ValuesError};
use crate::chart::Chart;

/// What is left of it.
pub(crate) struct Weight(usize);

impl Default for Weight {
    fn default() -> Self {
        Self(MOST)
    }
}

impl Weight {
    /// Counts a value that is about to be copied.
    ///
    /// # Errors
    /// Too much has been copied.
    pub(super) fn value(&mut self, value: &Json) -> Result<(), ValuesError> {
        self.take(1)?;
        match value {
            Json::Array(items) => items.iter().try_for_each(|item| self.value(item)),
            Json::Object(entries) => self.table(entries),
            _ => Ok(()),
        }
    }

    /// Counts the values of a table that is about to be copied.
    pub(super) fn table(&mut self, table: &Values) -> Result<(), ValuesError> {
        table.values().try_for_each(|value| self.value(value))
    }

    /// Counts a chart that is about to be copied, with its subcharts.
    pub(super) fn chart(&mut self, chart: &Chart) -> Result<(), ValuesError> {
        self.take(1 + chart.templates.len() + chart.files.len())?;
        self.table(&chart.values)?;
        chart.dependencies.iter().try_for_each(|chart| self.chart(chart))
    }

    /// Counts a look at as many subcharts.
    pub(super) fn take(&mut self, count: usize) -> Result<(), ValuesError> {
        self.0 = self.0.checked_sub(count).ok_or(ValuesError::TooMany)?;
        Ok(())
    }
}
