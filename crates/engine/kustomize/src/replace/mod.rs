//! Replacements: values copied from one object into others; and the older `vars`.
//!
//! * [`Replacement`] (`replacements:`): [`Replacement::read_field`] parses an entry, [`replace`] applies
//!   a list of them.
//! * [`Selector`], [`SelectorMatcher`]: selection of objects by regular expressions, labels and annotations; for
//!   patches too. [`LabelSelector`] alone is Kubernetes' language of label selectors.
//! * [`VarSet`], [`Var`] (`vars:`): collected over kustomizations; [`Expansion`] replaces `$(NAME)` by their values.
//! * [`lookup`], [`lookup_or_create`]: the node at a path such as `spec.containers.[name=x].image`.

mod error;
mod expand;
mod label_selector;
mod lookup;
mod matcher;
mod options;
mod replacement;
mod selector;
mod structured;
mod var;
mod yaml_text;

pub use error::{LabelError, ReplaceError, SelectorError, VarError};
pub use expand::{Expansion, VarValue, expand};
pub use label_selector::LabelSelector;
pub use lookup::{lookup, lookup_or_create};
pub use options::FieldOptions;
pub(crate) use replacement::replace_within;
pub use replacement::{Replacement, ReplacementSource, ReplacementTarget, replace};
pub use selector::{Selector, SelectorMatcher};
pub use var::{Var, VarSet, var_value};
