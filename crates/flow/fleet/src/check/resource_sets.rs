//! ResourceSets of flux-operator, whose templates are not rendered: what is not seen of a fleet.

use std::fmt;

use serde_json::Value;

use super::cluster::{Cluster, select, text};
use crate::build::view::{Fleet, FleetObject, Node};
use bumpwright_findings::{Finding, Rule};

/// The lists of templates of a ResourceSet.
const TEMPLATES: [&str; 2] = ["/spec/resources/*", "/spec/steps/*/resources/*"];
/// Its templates that are one text, of which nobody knows how many objects it makes.
const TEXTS: [&str; 2] = ["/spec/resourcesTemplate", "/spec/steps/*/resourcesTemplate"];

/// The objects of a fleet that ResourceSets make, which no check looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnseenObjects {
    /// The ResourceSets; one at least.
    pub sets: usize,
    /// The objects of their templates, for each of their inputs.
    pub objects: usize,
    /// Whether there may be more: inputs of providers, or a template that is one text.
    pub is_open: bool,
}

impl fmt::Display for UnseenObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let verb = if self.sets == 1 { "makes" } else { "make" };
        write!(f, "{} ResourceSet{} {verb} ", self.sets, plural(self.sets))?;
        match (self.objects, self.is_open) {
            (0, true) => f.write_str("objects, of an unknown number")?,
            (objects, is_open) => {
                let least = if is_open { "at least " } else { "" };
                write!(f, "{least}{objects} object{}", plural(objects))?;
            }
        }
        f.write_str(", which are not looked at")
    }
}

/// What ResourceSets of these nodes make; none without a ResourceSet.
#[must_use]
pub fn unseen_objects(fleet: &Fleet, is_wanted: &dyn Fn(&Node) -> bool) -> Option<UnseenObjects> {
    let wanted = sets(fleet).filter(|(node, _)| is_wanted(node));
    let unseen = wanted.fold(UnseenObjects::default(), |all, (_, set)| {
        let (objects, is_open) = made_by(&set.value);
        UnseenObjects {
            sets: all.sets + 1,
            objects: all.objects.saturating_add(objects),
            is_open: all.is_open || is_open,
        }
    });
    (unseen.sets > 0).then_some(unseen)
}

fn sets(fleet: &Fleet) -> impl Iterator<Item = (&Node, &FleetObject)> {
    fleet.of_kind("fluxcd.controlplane.io", "ResourceSet")
}

/// The objects that a set makes of the inputs that it has itself, and whether there may be more.
fn made_by(set: &Value) -> (usize, bool) {
    let templates: usize = TEMPLATES.iter().map(|pattern| select(set, pattern).len()).sum();
    let inputs = select(set, "/spec/inputs/*").len();
    let times = match (inputs, has_providers(set)) {
        // Without inputs the templates are rendered once.
        (0, false) => 1,
        (inputs, _) => inputs,
    };
    let mut texts = TEXTS.iter().flat_map(|pattern| select(set, pattern));
    let has_texts = texts.any(|(_, template)| template.as_str().is_some_and(|template| !template.is_empty()));
    (templates.saturating_mul(times), has_texts || has_providers(set))
}

fn has_providers(set: &Value) -> bool {
    !select(set, "/spec/inputsFrom/*").is_empty()
}

/// A text of a template for each input of its set, in their order; once more as it is, if there may be other inputs.
pub(super) fn filled(set: &Value, template: &str) -> Vec<String> {
    let inputs = select(set, "/spec/inputs/*");
    let mut texts: Vec<String> = inputs.iter().map(|(_, input)| with_input(template, input)).collect();
    if texts.is_empty() || has_providers(set) {
        texts.push(template.to_owned());
    }
    texts
}

/// A text with the fields of an input in it. What needs more than a field stays as it is.
fn with_input(template: &str, input: &Value) -> String {
    let mut filled = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("<<") {
        let Some((expression, behind)) = after.split_once(">>") else {
            break;
        };
        let name = expression.trim_matches(|c: char| c == '-' || c.is_whitespace());
        let field = name.strip_prefix("inputs.").and_then(|key| scalar(input.get(key)?));
        filled.push_str(before);
        filled.push_str(&field.unwrap_or_else(|| format!("<<{expression}>>")));
        rest = behind;
    }
    filled.push_str(rest);
    filled
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// One note for all ResourceSets of a cluster, at the first.
pub(super) fn check(cluster: &Cluster<'_>, found: &mut Vec<Finding>) {
    let (Some(unseen), Some((node, set))) = (unseen_objects(cluster.fleet, &|_| true), sets(cluster.fleet).next())
    else {
        return;
    };
    let field = if text(&set.value, "/spec/resourcesTemplate").is_empty() {
        "/spec/resources"
    } else {
        "/spec/resourcesTemplate"
    };
    let finding = cluster.at_key(Rule::UnseenObjects, node, set, field, unseen.to_string());
    // Inputs come and go.
    found.push(finding.identity("ResourceSets"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_are_counted_by_templates_and_inputs() {
        for (spec, wanted) in [
            (
                json!({"inputs": [{"t": "a"}, {"t": "b"}], "resources": [{}, {}, {}]}),
                (6, false),
            ),
            (json!({"resources": [{}, {}]}), (2, false)),
            (
                json!({"inputs": [{"t": "a"}], "inputsFrom": [{"name": "x"}], "resources": [{}]}),
                (1, true),
            ),
            (json!({"inputsFrom": [{"name": "x"}], "resources": [{}]}), (0, true)),
            (json!({"resourcesTemplate": "kind: A"}), (0, true)),
            (
                json!({"inputs": [{}, {}], "steps": [{"name": "a", "resources": [{}, {}]}]}),
                (4, false),
            ),
        ] {
            assert_eq!(made_by(&json!({"spec": spec})), wanted, "{spec}");
        }
    }

    #[test]
    fn texts_are_filled_by_each_input() {
        let set = json!({"spec": {"inputs": [{"t": "a", "n": 1}, {"t": "b"}]}});
        assert_eq!(
            filled(&set, "x-<< inputs.t >>-<< inputs.n >>"),
            ["x-a-1", "x-b-<< inputs.n >>"]
        );
        assert_eq!(filled(&json!({"spec": {}}), "<<- inputs.t ->>"), ["<<- inputs.t ->>"]);
        let open = json!({"spec": {"inputs": [{"t": "a"}], "inputsFrom": [{"name": "x"}]}});
        assert_eq!(filled(&open, "<<inputs.t>>"), ["a", "<<inputs.t>>"]);
        assert_eq!(filled(&set, "<< open"), ["<< open", "<< open"]);
    }

    #[test]
    fn what_is_not_seen_is_said_with_its_number() {
        let said = |sets, objects, is_open| UnseenObjects { sets, objects, is_open }.to_string();
        assert_eq!(
            said(1, 4, false),
            "1 ResourceSet makes 4 objects, which are not looked at"
        );
        assert_eq!(
            said(2, 1, true),
            "2 ResourceSets make at least 1 object, which are not looked at"
        );
        assert_eq!(
            said(1, 0, true),
            "1 ResourceSet makes objects, of an unknown number, which are not looked at"
        );
    }
}
