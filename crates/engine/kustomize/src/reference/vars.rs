//! Variables: the objects that they read, and the replacement of their references.

use crate::fields::{FieldError, FieldSpecs};
use crate::replace::{Expansion, Var, VarError, VarSet, var_value};
use crate::resource::{ResId, ResMap, Resource};
use crate::schema::SchemaChoice;
use bumpwright_yaml::Place;

/// A variable without a value, or whose value does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VarsError {
    #[error("found {count} resId matches for var {name} (unable to disambiguate); give its objref a namespace")]
    Ambiguous {
        name: String,
        count: usize,
        /// The place of the variable.
        place: Place,
    },
    #[error("var '{name}' cannot be mapped to a field in the set of known resources: there is no {object}")]
    NoObject {
        name: String,
        /// The object that it reads.
        object: String,
        /// The place of the variable.
        place: Place,
    },
    /// The object has no such field.
    #[error(transparent)]
    Value(#[from] VarError),
    /// A value does not fit its field.
    #[error("{object}: {error}")]
    Field { object: String, error: FieldError },
}

impl VarsError {
    /// The place of the error.
    #[must_use]
    pub const fn place(&self) -> Place {
        match self {
            Self::Ambiguous { place, .. } | Self::NoObject { place, .. } => *place,
            Self::Value(error) => error.place(),
            Self::Field { error, .. } => error.place(),
        }
    }
}

/// Records at each object which variables read it: ids may change later.
///
/// # Errors
///
/// Several objects match one variable.
pub fn mark_vars(map: &mut ResMap, vars: &[Var], schema: &SchemaChoice) -> Result<(), VarsError> {
    for var in vars {
        let object = &var.object;
        let wanted = ResId {
            gvk: object.gvk.clone(),
            name: object.name.clone(),
            namespace: object.namespace.clone(),
            cluster_scoped: schema.namespaced(&object.gvk.api_version(), &object.gvk.kind) == Some(false),
        };
        let any_namespace = wanted.namespace.is_empty() && !wanted.cluster_scoped;
        let fits = |resource: &Resource| {
            !resource.is_gone()
                && resource.all_ids().any(|id| {
                    id.name == wanted.name && id.gvk == wanted.gvk && (any_namespace || id.same_namespace(&wanted))
                })
        };
        let named = map.named(&wanted.name).iter().copied();
        let matches: Vec<usize> = named.filter(|at| map.list().get(*at).is_some_and(fits)).collect();
        match *matches.as_slice() {
            [] => {}
            [at] => {
                map.update(at, |resource| resource.variables.push(var.name.clone()));
            }
            ref several => {
                return Err(VarsError::Ambiguous {
                    name: var.name.to_string(),
                    count: several.len(),
                    place: var.place,
                });
            }
        }
    }
    Ok(())
}

/// Inserts the values of variables into the fields that may hold them; returns the variables that no field used.
///
/// # Errors
///
/// A variable has no value, or a field that may hold one is malformed.
pub fn resolve_vars(
    map: &mut ResMap,
    vars: &VarSet,
    fields: &FieldSpecs,
    schema: &SchemaChoice,
) -> Result<Vec<String>, VarsError> {
    if vars.is_empty() {
        return Ok(Vec::new());
    }
    let mut values = Vec::new();
    for var in vars.iter() {
        let reads = |resource: &&Resource| resource.variables.contains(&var.name);
        let object = map.list().iter().find(reads).ok_or_else(|| VarsError::NoObject {
            name: var.name.to_string(),
            object: var.object.to_string(),
            place: var.place,
        })?;
        values.push((var.name.clone(), var_value(var, &object.node)?));
    }
    let mut expansion = Expansion::new(values);
    for resource in map.list_mut() {
        let result = expansion.apply(&mut resource.node, &mut resource.shared, fields);
        result.map_err(|error| VarsError::Field {
            object: resource.id().to_string(),
            error,
        })?;
        resource.refresh(schema);
    }
    Ok(expansion.unused().map(str::to_owned).collect())
}
