//! The build of one Kustomization of a fleet.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::reads::{Answers, BuildFiles, Reads, Recorder};
use super::references::References;
use super::settings::Settings;
use super::view::{BuildFailure, FleetObject, ObjectTemplates, Problem, Product};
use bumpwright_api::{Kustomization, PostBuild, SubstituteReference};
use bumpwright_apply::{Settings as ApplySettings, as_applied};
use bumpwright_build::{
    Decryption, FindError, Redaction, Referred, SubstituteFromError, Substitution, add_referred, overlay,
};
use bumpwright_json::Texts as _;
use bumpwright_kustomize::tree::{Tree, World};
use bumpwright_overlay::{Built, Decrypt, OverlayError, SourceFile, StageError, Stages, Substitute, prepare_within};
use bumpwright_sops::{KeyService, MASK};
use bumpwright_substitute::Variables;
use bumpwright_text::between;

/// Builds a Kustomization from the files of its source. What these have answered is returned in any case: for a build
/// that fails it says when it may succeed.
pub(crate) fn build(
    kustomization: &Kustomization,
    references: &References,
    files: BuildFiles<'_>,
    world: &dyn World,
    settings: &Settings,
) -> (Result<Product, Problem>, Answers) {
    let recorder = Recorder::new(files);
    let built = built(kustomization, references, &recorder, world, settings);
    let answers = recorder.into_answers();
    let built = built.map_err(|error| Problem::Build(BuildFailure::from(&error)));
    let product = built.map(|built| product(kustomization, built, answers.reads(files.source)));
    (product, answers)
}

/// The objects of a build.
pub(crate) fn built(
    kustomization: &Kustomization,
    references: &References,
    tree: &dyn Tree,
    world: &dyn World,
    settings: &Settings,
) -> Result<Built, OverlayError> {
    let spec = &kustomization.spec;
    let substitution = spec.post_build.as_ref().map(|post_build| {
        let variables = variables(post_build, references);
        let substitution = Substitution::new(post_build, variables, settings.strict_substitute);
        let missing = post_build.substitute_from.iter().zip(references);
        let mut missing = missing.filter(|(_, found)| found.is_none()).peekable();
        match missing.peek() {
            None => substitution,
            Some(_) => substitution.keeping_undefined(missing.any(|(reference, _)| !reference.optional)),
        }
    });
    let decrypt = spec
        .decryption
        .as_ref()
        .map(|_| KeysOrMasks::new(settings.keys.clone()));
    let stages = Stages {
        decrypt: decrypt.as_ref().map(|one| one as &dyn Decrypt),
        substitute: substitution.as_ref().map(|one| one as &dyn Substitute),
    };
    let prepared = prepare_within(tree, &overlay(spec, false), Some(&settings.memory))?;
    prepared.build(world, &stages)
}

/// The variables of the objects that the fleet has.
fn variables(post_build: &PostBuild, references: &References) -> Result<Variables, SubstituteFromError> {
    let mut variables = Variables::default();
    for (reference, found) in post_build.substitute_from.iter().zip(references) {
        if let Some(object) = found {
            let (object, masked) = with_expressions(object);
            add_referred(&mut variables, reference, referred(reference, object))?;
            variables.mark_unknown(&masked);
        }
    }
    Ok(variables)
}

fn referred(reference: &SubstituteReference, object: Value) -> Result<Referred, FindError> {
    Ok(match reference.kind.as_str() {
        "Secret" => Referred::Secret(serde_json::from_value(object)?),
        _ => Referred::ConfigMap(object.value_at("/data").clone()),
    })
}

/// An object with an expression in place of each encrypted value, and the keys of these. SOPS leaves keys readable:
/// these variables exist, only their values are not known.
fn with_expressions(object: &Value) -> (Value, Vec<String>) {
    let is_secret = object.text_at("/kind") == "Secret";
    let (mut object, mut masked) = (object.clone(), Vec::new());
    for (field, is_encoded) in [("data", is_secret), ("stringData", false)] {
        let data = object.get_mut(field).and_then(Value::as_object_mut);
        for (key, value) in data.into_iter().flatten().filter(|(_, value)| is_mask(value)) {
            let expression = format!("${{{key}}}");
            *value = if is_encoded {
                STANDARD.encode(expression).into()
            } else {
                expression.into()
            };
            masked.push(key.clone());
        }
    }
    (object, masked)
}

/// Whether a key of an object is encrypted, and no key of SOPS was at hand.
pub(crate) fn is_masked_key(object: &Value, key: &str) -> bool {
    let mut fields = ["data", "stringData"].into_iter();
    fields.any(|field| object.get(field).and_then(|data| data.get(key)).is_some_and(is_mask))
}

/// Whether some of an object's values were encrypted, and no key was at hand.
#[must_use]
pub fn is_masked(object: &Value) -> bool {
    let fields = ["data", "stringData"]
        .into_iter()
        .filter_map(|field| object.get(field)?.as_object());
    fields.flat_map(|data| data.values()).any(is_mask)
}

/// Whether kind or name of an object are encrypted: then nothing is known of it, not even which object it is.
#[must_use]
pub fn is_sealed(object: &Value) -> bool {
    let fields = [
        "/apiVersion",
        "/kind",
        "/metadata",
        "/metadata/name",
        "/metadata/namespace",
    ];
    fields.into_iter().any(|field| {
        let text = object.text_at(field);
        text.starts_with(MASK) || text.starts_with("ENC[")
    })
}

/// The mask as itself, or as a generator puts it into `data`; and what nothing has decrypted, since the Kustomization
/// that would is not known.
pub(crate) fn is_mask(value: &Value) -> bool {
    let is_encoded = |text: &str| STANDARD.decode(text).is_ok_and(|plain| plain == MASK.as_bytes());
    value
        .as_str()
        .is_some_and(|text| text.starts_with("ENC[") || text == MASK || is_encoded(text))
}

fn product(kustomization: &Kustomization, built: Built, reads: Reads) -> Product {
    let settings = ApplySettings::of(kustomization);
    let mut product = Product {
        objects: Vec::with_capacity(built.objects.len()),
        warnings: built.warnings,
        lost: built.lost,
        refused: Vec::new(),
        not_texts: built.not_texts,
        left_out: built.left_out,
        undefined: built.undefined,
        hidden: built.hidden,
        reads,
        unread: Vec::new(),
        unfetched_schemas: Vec::new(),
        chart_crds: None,
        unmatched: Vec::new(),
        templates: ObjectTemplates::new(),
    };
    // An entry that no known Kustomization reconciles has objects without an owner.
    let is_owned = !kustomization.metadata.name.is_empty();
    for mut object in built.objects {
        if is_owned && let Err(error) = as_applied(&mut object.value, &settings) {
            let place = between("", object.origin.as_ref(), ": ");
            product.refused.push(format!("{place}{error}"));
        }
        product.objects.push(FleetObject {
            value: object.value,
            origin: object.origin,
        });
    }
    product
}

/// Decrypts with the keys that there are, and masks what they do not open.
struct KeysOrMasks {
    keys: Option<Decryption>,
    masks: Redaction,
}

impl KeysOrMasks {
    fn new(keys: Option<Arc<dyn KeyService + Send + Sync>>) -> Self {
        Self {
            keys: keys.map(|keys| Decryption::new(Shared(keys))),
            masks: Redaction::default(),
        }
    }
}

impl Decrypt for KeysOrMasks {
    fn file(&self, file: &SourceFile<'_>) -> Result<Option<Zeroizing<Vec<u8>>>, StageError> {
        match self.keys.as_ref().map(|keys| keys.file(file)) {
            Some(Ok(plain)) => Ok(plain),
            Some(Err(_)) | None => self.masks.file(file),
        }
    }

    fn object(&self, object: &Value) -> Result<Option<Value>, StageError> {
        match self.keys.as_ref().map(|keys| keys.object(object)) {
            Some(Ok(plain)) => Ok(plain),
            Some(Err(_)) | None => Ok(self.masks.object(object)?.map(|masked| told_apart(masked, object))),
        }
    }
}

/// A masked object. If its name is masked, too, it gets a number of its own: a build refuses two objects with one name.
fn told_apart(mut masked: Value, object: &Value) -> Value {
    if let Some(name) = masked.pointer_mut("/metadata/name").filter(|name| **name == MASK) {
        let digest = Sha256::digest(object.to_string());
        let number: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        *name = format!("{MASK} {number}").into();
    }
    masked
}

/// Keys that several builds share.
struct Shared(Arc<dyn KeyService + Send + Sync>);

impl KeyService for Shared {
    fn decrypt(&self, key: &bumpwright_sops::MasterKey) -> Result<Zeroizing<Vec<u8>>, bumpwright_sops::KeyError> {
        self.0.decrypt(key)
    }
}
