//! Where the marked fields of policies were in the last runs of automations, for the pages of the browser.

use std::collections::BTreeMap;

use bumpwright_api::ObjectName;
use bumpwright_overview::FieldPlace;
use bumpwright_update::Run;
use parking_lot::Mutex;

/// The most fields of an automation that are kept.
const FIELDS: usize = 2_000;

/// The fields, by automation.
#[derive(Debug, Default)]
pub(crate) struct FieldBook(Mutex<BTreeMap<ObjectName, Vec<(ObjectName, FieldPlace)>>>);

impl FieldBook {
    /// Keeps what a run has found in a GitRepository.
    pub(crate) fn record(&self, automation: &ObjectName, repository: &ObjectName, run: &Run) {
        let written: BTreeMap<(&str, usize), &str> = run
            .changes
            .iter()
            .filter(|_| run.has_pushed())
            .map(|change| ((change.path.as_str(), change.line), change.new.as_str()))
            .collect();
        let fields = run.fields.iter().flat_map(|(policy, fields)| {
            let policy = ObjectName::new(&policy.namespace, &policy.name);
            fields.iter().map(move |field| (policy.clone(), field))
        });
        let places = fields.take(FIELDS).map(|(policy, field)| {
            let value = written.get(&(field.path.as_str(), field.line)).copied();
            let place = FieldPlace {
                repository: repository.to_string(),
                path: field.path.clone(),
                line: field.line,
                value: value.unwrap_or(&field.value).to_owned(),
                ..FieldPlace::default()
            };
            (policy, place)
        });
        self.0.lock().insert(automation.clone(), places.collect());
    }

    /// Drops the fields of a deleted automation.
    pub(crate) fn forget(&self, automation: &ObjectName) {
        self.0.lock().remove(automation);
    }

    /// All fields, by policy.
    pub(crate) fn by_policy(&self) -> BTreeMap<ObjectName, Vec<FieldPlace>> {
        let mut by_policy = BTreeMap::<ObjectName, Vec<FieldPlace>>::new();
        for (policy, place) in self.0.lock().values().flatten() {
            by_policy.entry(policy.clone()).or_default().push(place.clone());
        }
        for places in by_policy.values_mut() {
            places.sort();
            places.dedup();
        }
        by_policy
    }
}
