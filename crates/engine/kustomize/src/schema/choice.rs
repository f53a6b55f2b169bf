//! Which schema a build uses: the first `openapi:` field that it meets counts, on top of what is already known.
//!
//! kustomize keeps one schema for the whole program and adds to it, so that what is known depends on the order in
//! which kustomizations are read. This keeps that order, per build.

use super::{Schema, SchemaError};
use bumpwright_yaml::Node;
use std::sync::atomic::{AtomicBool, Ordering};

/// The version of Kubernetes whose schema is built in.
pub const VERSION: &str = "v1.21.2";

/// The schema of one build.
#[derive(Debug, Default)]
pub struct SchemaChoice {
    /// Whether a field `openapi` has been read: later ones do not count.
    chosen: bool,
    /// The schema after a custom one was added; `None` where the built-in schema is in use.
    custom: Option<Schema>,
    /// Whether a type of the built-in schema was looked up. A custom schema that comes later is then laid over it.
    used: AtomicBool,
    /// Whether a scope was looked up that the built-in schema does not have. It is then laid over a custom schema.
    missed_scope: AtomicBool,
}

impl SchemaChoice {
    /// Takes the `openapi:` field of a kustomization, in the order in which kustomizations are read: the root, then its
    /// bases. `file` is the content of the file under `path:`. The first field that is not empty counts; the others are
    /// ignored.
    ///
    /// # Errors
    ///
    /// When both are given, the version is not built in, or the file is not a schema.
    pub fn choose(&mut self, version: Option<&str>, file: Option<&Node>) -> Result<(), SchemaError> {
        if self.chosen {
            return Ok(());
        }
        match (version, file) {
            (Some(_), Some(_)) => return Err(SchemaError::Both),
            (None | Some(""), None) => return Ok(()),
            (Some(VERSION), None) => {}
            (Some(other), None) => return Err(SchemaError::Version(other.to_owned())),
            (None, Some(file)) => self.custom = Some(self.with(file)?),
        }
        self.chosen = true;
        Ok(())
    }

    fn with(&self, file: &Node) -> Result<Schema, SchemaError> {
        let used = self.used.load(Ordering::Relaxed);
        let mut schema = if used {
            Schema::builtin().clone()
        } else {
            Schema::default()
        };
        schema.add_swagger(file)?;
        if !used && self.missed_scope.load(Ordering::Relaxed) {
            schema.add_kubernetes();
        }
        schema.add_kustomization();
        Ok(schema)
    }

    /// The schema now in use.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        if let Some(custom) = &self.custom {
            return custom;
        }
        self.used.store(true, Ordering::Relaxed);
        Schema::builtin()
    }

    /// Whether objects of a kind are namespaced; `None` where that is not known. Built-in kinds keep their scope
    /// whatever a custom schema says.
    #[must_use]
    pub fn namespaced(&self, api_version: &str, kind: &str) -> Option<bool> {
        if let Some(known) = Schema::builtin().namespaced(api_version, kind) {
            return Some(known);
        }
        match &self.custom {
            Some(custom) => custom.namespaced(api_version, kind),
            None => {
                self.missed_scope.store(true, Ordering::Relaxed);
                None
            }
        }
    }
}
