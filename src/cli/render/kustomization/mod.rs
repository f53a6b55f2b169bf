//! The build of a Flux Kustomization (`-k`) from local files, as its controller would do it.

pub(super) mod build;
pub(super) mod diff;
mod objects;

use std::path::Path;

use super::args::{Building, Flux};
use crate::cli::error::CliError;
use crate::cli::{key_files, load};
use bumpwright_api::{Kustomization, KustomizationAnnotations, ObjectName, PostBuild, Secret, SubstituteReference};
use bumpwright_apply::{Desired, Settings};
use bumpwright_build::{
    self as pipeline, Decryption, FindError, FolderTree, Redaction, Referred, SubstituteFromError, Substitution,
};
use bumpwright_diff::SecretMask;
use bumpwright_json::Texts as _;
use bumpwright_kube::ClusterError;
use bumpwright_overlay::{self as overlay, Built, Decrypt, Stages, Substitute};
use bumpwright_sops::{LocalKeys, read_secret};
use bumpwright_substitute::Variables;
use objects::Configs;

/// A Kustomization and its build.
pub(super) struct BuiltKustomization {
    pub(super) kustomization: Kustomization,
    pub(super) built: Built,
}

impl BuiltKustomization {
    /// The settings by which a controller with Flux's defaults applies its objects.
    pub(super) fn settings(&self) -> Settings {
        let hidden = self.built.hidden.clone();
        Settings {
            mask: SecretMask::new(hidden.objects, hidden.texts),
            ..Settings::of(&self.kustomization)
        }
    }

    /// Its objects in the form in which they are applied.
    pub(super) fn into_desired(self) -> impl Iterator<Item = Desired> {
        self.built.objects.into_iter().map(|object| Desired {
            object: object.value,
            origin: object.origin.map(String::from),
        })
    }
}

/// Builds the Kustomization of `-k`; None without that flag. `redact`: encrypted values are masked instead of
/// decrypted, where the Kustomization decrypts at all.
///
/// # Errors
/// Errors of the build, in the controller's words where it has some.
pub(super) fn build(flags: &Flux, building: &Building, redact: bool) -> Result<Option<BuiltKustomization>, CliError> {
    let Some(file) = &flags.kustomization else {
        return Ok(None);
    };
    let unknown = load::unknown_fields(flags.allow_unknown_fields);
    let kustomization = objects::kustomization(file, flags.name.as_deref(), unknown)?;
    KustomizationAnnotations::read(&kustomization.metadata.annotations)?;
    let configs = Configs::load(&flags.filenames)?;
    let root = flags.path.as_deref().unwrap_or(Path::new("."));
    let tree = FolderTree::new(root)?;
    let spec = &kustomization.spec;
    let substitution = spec.post_build.as_ref().map(|post_build| {
        let variables = variables(&kustomization, post_build, &configs);
        Substitution::new(post_build, variables, flags.strict_substitute.unwrap_or(true))
    });
    let (decryption, has_keys) = decryption(flags, &kustomization, &configs)?;
    let decrypt: Option<Box<dyn Decrypt>> = match (redact, decryption) {
        (true, Some(decryption)) => {
            let decryption = has_keys.then_some(decryption);
            Some(Box::new(Redaction { decryption }))
        }
        (false, Some(decryption)) => Some(Box::new(decryption)),
        (_, None) => None,
    };
    let stages = Stages {
        decrypt: decrypt.as_deref(),
        substitute: substitution.as_ref().map(|one| one as &dyn Substitute),
    };
    let overlay = pipeline::overlay(spec, false);
    let prepared = overlay::prepare_within(&tree, &overlay, Some(&building.memory()))?;
    let built = prepared.build(&super::building::world(&flags.bounds), &stages);
    let built = built.and_then(|built| built.without(|_| true))?;
    Ok(Some(BuiltKustomization { kustomization, built }))
}

/// The variables of all objects that `substituteFrom` names, in its order.
fn variables(
    kustomization: &Kustomization,
    post_build: &PostBuild,
    configs: &Configs,
) -> Result<Variables, SubstituteFromError> {
    let namespace = kustomization.metadata.namespace_or_default();
    let mut variables = Variables::default();
    for reference in &post_build.substitute_from {
        let name = ObjectName::new(namespace, &reference.name);
        pipeline::add_referred(&mut variables, reference, find(reference, &name, configs))?;
    }
    Ok(variables)
}

fn find(reference: &SubstituteReference, name: &ObjectName, configs: &Configs) -> Result<Referred, FindError> {
    Ok(match configs.get(&reference.kind, name) {
        Some(secret) if reference.kind == "Secret" => Referred::Secret(serde_json::from_value(secret.clone())?),
        Some(map) => Referred::ConfigMap(map.value_at("/data").clone()),
        None => {
            let missing = ClusterError::NotFound {
                plural: format!("{}s", reference.kind.to_lowercase()),
                group: String::new(),
                name: reference.name.clone(),
            };
            Referred::Missing(format!("{missing} (give {} {name} with -f)", reference.kind).into())
        }
    })
}

/// The decryption with the keys of the flags and of the Kustomization's Secret, if that is in `-f`; and whether
/// there are any keys.
fn decryption(
    flags: &Flux,
    kustomization: &Kustomization,
    configs: &Configs,
) -> Result<(Option<Decryption>, bool), CliError> {
    let wanted = kustomization.spec.decryption.as_ref();
    let mut keys = LocalKeys::default();
    let mut has_keys = !flags.age_key_files.is_empty() || !flags.pgp_key_files.is_empty();
    if let Some(reference) = wanted.and_then(|wanted| wanted.secret_ref.as_ref()) {
        let name = ObjectName::new(kustomization.metadata.namespace_or_default(), &reference.name);
        if let Some(secret) = configs.get("Secret", &name) {
            keys = keys_of(secret, &name)?;
            has_keys = true;
        }
    }
    // A file without keys is an error even if nothing is decrypted.
    key_files::import(&flags.age_key_files, &flags.pgp_key_files, &mut keys)?;
    Ok((wanted.map(|_| Decryption::new(keys)), has_keys))
}

fn keys_of(secret: &serde_json::Value, name: &ObjectName) -> Result<LocalKeys, CliError> {
    let secret: Secret = serde_json::from_value(secret.clone())?;
    let entries = secret.entries()?;
    read_secret(entries, &name.to_string()).map_err(CliError::from)
}
