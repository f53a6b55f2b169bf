//! Builds that are known already: of another cluster with the same Kustomization, or of the same one before a change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::build::References;
use super::repository::Reads;
use super::source::Source;
use super::view::{Problem, Product};
use bumpwright_api::{Kustomization, ObjectName};

/// Builds by what they depend on: the Kustomization, its source, its variables, and the files.
#[derive(Debug, Default)]
pub struct Memo {
    known: Mutex<HashMap<ObjectName, Vec<Known>>>,
}

#[derive(Clone, Debug)]
struct Known {
    kustomization: Kustomization,
    source: Source,
    /// What the files depend on.
    files: String,
    references: References,
    product: Result<Arc<Product>, Problem>,
    reads: Arc<Reads>,
}

impl Memo {
    /// Those builds that a change of these files of the repository does not affect: paths from its root, without a leading slash.
    #[must_use]
    pub fn after(&self, changed: &[String]) -> Self {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Builds of other sources have read nothing of the repository.
        let stays = |known: &&Known| !changed.iter().any(|path| known.reads.is_affected_by(path));
        let kept = known.iter().map(|(name, all)| {
            let all: Vec<Known> = all.iter().filter(stays).cloned().collect();
            (name.clone(), all)
        });
        Self {
            known: Mutex::new(kept.collect()),
        }
    }

    /// Whether a change of these files may change a build of a Kustomization, one that fails included.
    #[must_use]
    pub fn is_affected(&self, name: &ObjectName, changed: &[String]) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = known.get(name).into_iter().flatten();
        all.any(|known| changed.iter().any(|path| known.reads.is_affected_by(path)))
    }

    /// A build of the same input.
    pub(super) fn get(
        &self,
        kustomization: &Kustomization,
        (source, files): (&Source, &str),
        references: &References,
    ) -> Option<Result<Arc<Product>, Problem>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let all = known.get(&kustomization.metadata.object_name())?;
        let same = |known: &&Known| {
            known.kustomization == *kustomization
                && known.source == *source
                && known.files == files
                && known.references == *references
        };
        all.iter().find(same).map(|known| known.product.clone())
    }

    pub(super) fn put(
        &self,
        kustomization: &Kustomization,
        (source, files): (&Source, &str),
        references: &References,
        product: &Result<Arc<Product>, Problem>,
        reads: Reads,
    ) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let all = known.entry(kustomization.metadata.object_name()).or_default();
        all.push(Known {
            kustomization: kustomization.clone(),
            source: source.clone(),
            files: files.to_owned(),
            references: references.clone(),
            product: product.clone(),
            reads: Arc::new(reads),
        });
    }
}
