//! The rules that an automation's annotation names: those of a ConfigMap of its own namespace.

use super::context::AutomationContext;
use super::error::Error;
use bumpwright_api::{AutomationAnnotations, ConfigMap, ImageUpdateAutomation, ObjectName};
use bumpwright_kube::CONFIG_MAP;
use bumpwright_rules::Rules;

pub(super) async fn of(
    context: &AutomationContext,
    automation: &ImageUpdateAutomation,
    annotations: &AutomationAnnotations,
) -> Result<Option<Rules>, Error> {
    let Some(name) = &annotations.rules else {
        return Ok(None);
    };
    let name = ObjectName::new(automation.metadata.namespace_or_default(), name.as_str());
    let failed = |error: &dyn std::fmt::Display| Error::Failed(format!("the rules of ConfigMap {name}: {error}"));
    let object = context.shared.configs.config_map(&name).await;
    let object = object.map_err(|error| failed(&error))?;
    let config: ConfigMap = object.read(&CONFIG_MAP).map_err(|error| failed(&error))?;
    let rules = bumpwright_rules::of_config_map(&name.to_string(), config.data.get(bumpwright_rules::FILE));
    rules.map(Some).map_err(|error| Error::Failed(error.to_string()))
}
