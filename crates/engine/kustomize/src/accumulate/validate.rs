//! Validators: transformers that may not change resources.

use super::error::{BuildError, Cause};
use super::target::{Accumulated, Target};
use crate::resource::{ResMap, Resource};
use bumpwright_yaml::write_sigs;

const VALIDATED_BY: &str = "validated-by";

impl Target<'_, '_> {
    /// Runs the validators; the only change that one may make is the label `validated-by`.
    pub(super) fn run_validators(&self, accumulated: &mut Accumulated) -> Result<(), BuildError> {
        let configs = self.configs(&self.kustomization.validators)?;
        if configs.is_empty() {
            return Ok(());
        }
        let schema = self.context.schema();
        let mut errors = Vec::new();
        let mut before = contents(&accumulated.map)?;
        for mut step in self.configured_steps(&configs, &schema)? {
            step.origin = None;
            let place = step.place;
            errors.extend(self.run_steps(&mut accumulated.map, vec![step]).err());
            let after = contents(&accumulated.map)?;
            if let Some(id) = changed(&before, &after) {
                errors.push(BuildError::from(Cause::Validator(id.to_owned())).at(place));
            }
            before = after;
        }
        BuildError::all(errors)
    }
}

/// The id of a resource that differs between two lists.
fn changed<'a>(before: &'a [(String, String)], after: &'a [(String, String)]) -> Option<&'a str> {
    if before == after {
        return None;
    }
    let lost = before.iter().find(|content| !after.contains(content));
    let content = lost.or_else(|| after.iter().find(|content| !before.contains(content)));
    content.map(|(id, _)| id.as_str())
}

/// Ids and texts of all resources, sorted, without the label of a validator.
fn contents(map: &ResMap) -> Result<Vec<(String, String)>, BuildError> {
    let content = |resource: &Resource| {
        let mut copy = resource.clone();
        let labels = copy.pairs("labels").filter(|(key, _)| *key != VALIDATED_BY);
        let labels: Vec<_> = labels.map(|(key, value)| (key.into(), value.into())).collect();
        copy.set_pairs("labels", labels);
        let mut text = String::new();
        write_sigs(&copy.node, &mut text)?;
        Ok((resource.id().to_string(), text))
    };
    let mut contents = map.list().iter().map(content).collect::<Result<Vec<_>, BuildError>>()?;
    contents.sort();
    Ok(contents)
}
