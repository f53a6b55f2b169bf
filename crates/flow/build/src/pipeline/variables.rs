//! The variables of a Kustomization (`spec.postBuild`; K-082 ff.), as the build asks for them.

use bumpwright_api::PostBuild;
use bumpwright_budget::Share;
use bumpwright_overlay::{StageError, Substitute, Substituted};
use bumpwright_substitute::{Options, Variables, substitute_within};
use bumpwright_yaml::Node;

/// Variables and how they are put in. Where some could not be read, the first object that could use them fails.
#[derive(Debug)]
pub struct Substitution {
    variables: Result<Variables, String>,
    options: Options,
}

impl Substitution {
    /// That of `post_build`. `referenced`: the variables of all objects that `substituteFrom` names, in its order; its own ones
    /// win over them. `strict`: variables that nobody sets are errors (C17).
    #[must_use]
    pub fn new(post_build: &PostBuild, referenced: Result<Variables, String>, strict: bool) -> Self {
        let variables = referenced.map(|mut variables| {
            variables.add_inline(&post_build.substitute);
            variables
        });
        let always = post_build.substitute_strategy.as_deref() == Some("Always");
        Self {
            variables,
            options: Options { strict, always },
        }
    }
}

impl Substitute for Substitution {
    fn object(&self, object: &Node, memory: Option<&Share>) -> Result<Option<Substituted>, StageError> {
        let variables = self
            .variables
            .as_ref()
            .map_err(|error| StageError::from(error.clone()))?;
        let done = substitute_within(object, variables, self.options, memory)?;
        Ok(done.map(|done| Substituted {
            node: done.node,
            has_secrets: done.has_secrets,
        }))
    }
}
