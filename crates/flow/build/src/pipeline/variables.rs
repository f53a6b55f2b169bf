//! The variables of a Kustomization (`spec.postBuild`; K-082 ff.) as a step of the build.

use std::collections::BTreeMap;
use std::sync::Arc;

use bumpwright_api::{InvalidSecret, PostBuild, Secret, SubstituteReference};
use bumpwright_budget::Share;
use bumpwright_overlay::{StageError, Substitute, Substituted};
use bumpwright_substitute::{Options, Undefined, Variables, substitute_within};
use bumpwright_yaml::Node;
use serde_json::Value;

/// Variables and their substitution. If some could not be read, the first object that could use them fails.
#[derive(Debug)]
pub struct Substitution {
    variables: Result<Variables, Arc<SubstituteFromError>>,
    options: Options,
}

impl Substitution {
    /// The substitution of `post_build`. `referenced`: the variables of all objects that `substituteFrom` names, in its
    /// order; inline ones win over them. `strict`: undefined variables are errors (C17).
    #[must_use]
    pub fn new(post_build: &PostBuild, referenced: Result<Variables, SubstituteFromError>, strict: bool) -> Self {
        let variables = referenced.map_err(Arc::new).map(|mut variables| {
            variables.add_inline(&post_build.substitute);
            variables
        });
        let always = post_build.substitute_strategy.as_deref() == Some("Always");
        Self {
            variables,
            options: Options {
                undefined: if strict { Undefined::Refused } else { Undefined::Empty },
                always,
            },
        }
    }

    /// The same, with the defaults of variables that are missing, or else their expressions left as they are:
    /// something gives them that is not known here. If it is `needed`, it gives some, so that variables are replaced
    /// although none is known.
    #[must_use]
    pub fn keeping_undefined(mut self, needed: bool) -> Self {
        self.options.undefined = Undefined::Kept;
        self.options.always |= needed;
        self
    }
}

impl Substitute for Substitution {
    fn object(&self, object: &Node, memory: Option<&Share>) -> Result<Option<Substituted>, StageError> {
        let variables = self.variables.as_ref().map_err(Arc::clone)?;
        let done = substitute_within(object, variables, self.options, memory)?;
        Ok(done.map(|done| Substituted {
            node: done.node,
            has_secrets: done.has_secrets,
            undefined: done.undefined,
            guessed: done.guessed,
        }))
    }
}

/// The object that an entry of `substituteFrom` refers to.
#[derive(Debug)]
pub enum Referred {
    /// A ConfigMap's `data`.
    ConfigMap(Value),
    Secret(Secret),
    /// Missing, with the error for entries that are not optional.
    Missing(FindError),
}

/// Why an object is not there or cannot be read, as its reader says.
pub type FindError = Box<dyn std::error::Error + Send + Sync>;

/// The variables of an object cannot be had; in Flux's words.
#[derive(Debug, thiserror::Error)]
#[error("substitute from '{kind}/{name}' error: {cause}")]
pub struct SubstituteFromError {
    /// The kind of the object.
    pub kind: String,
    pub name: String,
    #[source]
    pub cause: Box<ReferredError>,
}

/// What is wrong with an object of `substituteFrom`.
#[derive(Debug, thiserror::Error)]
pub enum ReferredError {
    #[error(transparent)]
    Find(#[from] FindError),
    /// The `data` of a ConfigMap are not texts.
    #[error(transparent)]
    Data(#[from] serde_json::Error),
    #[error(transparent)]
    Secret(#[from] InvalidSecret),
}

/// Adds the variables of an object of `substituteFrom`; optional ones may be missing. A malformed object is an error:
/// its variables would silently be empty.
///
/// # Errors
/// [`SubstituteFromError`], also when the object could not be read.
pub fn add_referred(
    variables: &mut Variables,
    reference: &SubstituteReference,
    found: Result<Referred, FindError>,
) -> Result<(), SubstituteFromError> {
    let added = match found {
        Ok(Referred::ConfigMap(data)) => add_config_map(variables, data),
        Ok(Referred::Secret(secret)) => add_secret(variables, &secret),
        Ok(Referred::Missing(_)) if reference.optional => Ok(()),
        Ok(Referred::Missing(error)) | Err(error) => Err(error.into()),
    };
    added.map_err(|cause| SubstituteFromError {
        kind: reference.kind.clone(),
        name: reference.name.clone(),
        cause: Box::new(cause),
    })
}

fn add_config_map(variables: &mut Variables, data: Value) -> Result<(), ReferredError> {
    let data: Option<BTreeMap<String, String>> = serde_json::from_value(data)?;
    if let Some(data) = data {
        variables.add_config_map(&data);
    }
    Ok(())
}

fn add_secret(variables: &mut Variables, secret: &Secret) -> Result<(), ReferredError> {
    variables.add_secret(secret.entries()?);
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn added(kind: &str, optional: bool, found: Result<Referred, FindError>) -> Result<Substitution, String> {
        let reference = json!({"kind": kind, "name": "vars", "optional": optional});
        let post_build = json!({"substituteFrom": [reference]});
        let post_build: PostBuild = serde_json::from_value(post_build).unwrap();
        let mut variables = Variables::default();
        add_referred(&mut variables, post_build.substitute_from.first().unwrap(), found)
            .map_err(|error| error.to_string())?;
        Ok(Substitution::new(&post_build, Ok(variables), true))
    }

    fn secret(data: &Value) -> Referred {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vars"}, "data": data});
        Referred::Secret(serde_json::from_value(secret).unwrap())
    }

    /// K-082: variables of ConfigMaps and Secrets are substituted.
    #[test]
    fn variables_are_taken_from_objects() {
        let object = bumpwright_yaml::node_of_json(&json!({"kind": "A", "metadata": {"name": "${city}"}}));
        for found in [
            Referred::ConfigMap(json!({"city": "Rome"})),
            secret(&json!({"city": "Um9tZQ=="})),
        ] {
            let substitution = added("ConfigMap", false, Ok(found)).unwrap();
            let done = substitution.object(&object, None).unwrap().unwrap();
            assert_eq!(done.node.lookup(&["metadata", "name"]).unwrap().as_str(), Some("Rome"));
        }
        assert!(added("ConfigMap", false, Ok(Referred::ConfigMap(Value::Null))).is_ok());
    }

    #[test]
    fn only_what_is_optional_may_be_missing() {
        let missing = || Ok(Referred::Missing("not found".into()));
        assert!(added("Secret", true, missing()).is_ok());
        assert_eq!(
            added("Secret", false, missing()).unwrap_err(),
            "substitute from 'Secret/vars' error: not found"
        );
        assert_eq!(
            added("Secret", true, Err("forbidden".into())).unwrap_err(),
            "substitute from 'Secret/vars' error: forbidden"
        );
    }

    #[test]
    fn an_object_that_is_malformed_is_no_object_without_variables() {
        let error = added("ConfigMap", true, Ok(Referred::ConfigMap(json!({"port": 80})))).unwrap_err();
        assert_eq!(
            error,
            "substitute from 'ConfigMap/vars' error: invalid type: integer `80`, expected a string"
        );
        for (value, fault) in [
            ("%", "data.key is not base64"),
            ("ENC[AES256_GCM,data:", "the value of key is encrypted by SOPS"),
        ] {
            let error = added("Secret", true, Ok(secret(&json!({"key": value})))).unwrap_err();
            let begin = format!("substitute from 'Secret/vars' error: Secret default/vars: {fault}");
            assert!(error.starts_with(&begin), "{error}");
        }
    }
}
