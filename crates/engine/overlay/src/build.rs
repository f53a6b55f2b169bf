//! The build and the stages around it, in the order of kustomize-controller's `build`.

use super::error::OverlayError;
use super::hidden::Hidden;
use super::left_out::LeftOut;
use super::mount::{Mount, ROOT};
use super::not_text::{self, NotText};
use super::object::Object;
use super::prepare::{Prepared, of_manifests};
use super::sources::decrypt_sources;
use super::stages::{Decrypt, PlacedError, StageError, Stages, Substitute, Substituted};
use super::workers;
use bumpwright_budget::{Reservation, Share};
use bumpwright_kustomize::resource::Resource;
use bumpwright_kustomize::tree::{Command, LoadRestrictions, PluginFile, RepoUrl, Tree, World, WorldError};
use bumpwright_kustomize::{self as kustomize, Build, LostItems, Options, Order};
use bumpwright_text::between;
use bumpwright_yaml::{Files, Node, json_of_node, node_of_json, weight, write_sigs};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The value for `buildMetadata: [managedByLabel]`: the version of kustomize in Flux's controller.
const MANAGER: &str = "kustomize-(devel)";

/// The result of a build.
#[derive(Debug)]
pub struct Built {
    /// The objects in kustomize's order, lists expanded, kustomize's own kinds left out.
    pub objects: Vec<Object>,
    /// `sha256:…` of the YAML of all objects: `status.history[].digest`.
    pub digest: String,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Items of lists that merge patches have dropped; each is among the warnings.
    pub lost: Vec<LostItems>,
    /// Objects that variable substitution made invalid; each has its warning.
    pub left_out: Vec<LeftOut>,
    /// The memory reserved for the objects.
    pub reservation: Option<Reservation>,
    /// The confidential values in them.
    pub hidden: Hidden,
    /// Variables in them that have no value.
    pub undefined: Vec<UndefinedVariable>,
    /// Values in them where an API server takes nothing but texts.
    pub not_texts: Vec<NotText>,
}

impl Built {
    /// The same, unless its objects have faults of this kind.
    ///
    /// # Errors
    /// [`OverlayError::NotTexts`]
    pub fn without(mut self, is_fault: impl Fn(&NotText) -> bool) -> Result<Self, OverlayError> {
        self.not_texts.retain(is_fault);
        if self.not_texts.is_empty() {
            Ok(self)
        } else {
            Err(OverlayError::NotTexts(self.not_texts))
        }
    }
}

/// A variable of an object that is not set and has no default, or only this one because its value is not known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndefinedVariable {
    pub name: String,
    /// The place of the object, as `path:line:column`; `None` for a generated object.
    pub origin: Option<Box<str>>,
    /// `Kind namespace/name` of the object.
    pub object: String,
    /// Whether the object has the default of the variable.
    pub has_default: bool,
}

impl Prepared<'_> {
    /// Builds it.
    ///
    /// # Errors
    ///
    /// A source or an object cannot be decrypted, the build fails, variables cannot be replaced, or an object is
    /// invalid.
    pub fn build(mut self, world: &dyn World, stages: &Stages<'_>) -> Result<Built, OverlayError> {
        let built = self.run(world, stages);
        built.map_err(|error| {
            let error = if error.is_out_of_memory() {
                error
            } else {
                of_manifests(&self.mount, &self.manifests).unwrap_or(error)
            };
            error.for_tree(self.mount.below())
        })
    }

    fn run(&mut self, world: &dyn World, stages: &Stages<'_>) -> Result<Built, OverlayError> {
        let mut is_rewritten = true;
        let (mut hidden, mut undefined) = (Hidden::default(), Vec::new());
        if let Some(decrypt) = stages.decrypt {
            for (path, plain) in decrypt_sources(&self.mount, &self.directory, decrypt)? {
                is_rewritten &= path != self.file;
                // The text after substitution, and the one before.
                let _reservation = self.mount.reserve(2 * weight::of_text(&plain))?;
                if let Ok(cipher) = self.mount.read(&path) {
                    hidden.file(&cipher, &plain);
                }
                self.reservations.extend(self.mount.reserve(plain.len() as u64)?);
                self.mount.cover(&path, plain);
            }
        }
        let mut build = self.kustomize(world, is_rewritten).map_err(Box::new)?;
        let mut names = ChangedNames::default();
        let mut plain = match stages.decrypt {
            Some(decrypt) => {
                // A decrypted object as JSON and as a node again is never larger than the encrypted one.
                let weights = build.objects.iter().map(|resource| weight::of_json(&resource.node));
                self.reservations.extend(self.mount.reserve(2 * weights.sum::<u64>())?);
                Some(all_decrypted(&build, decrypt).into_iter())
            }
            None => None,
        };
        let memory = self.mount.memory().cloned();
        if !hidden.texts.is_empty() {
            build.objects.iter().for_each(|resource| hidden.look_at(resource));
        }
        for at in 0..build.objects.len() {
            let Some(resource) = build.objects.get_mut(at) else {
                break;
            };
            let plain = plain.as_mut().and_then(Iterator::next);
            let before = weight::of_node(&resource.node);
            let changed = change(resource, &build.files, plain, stages, memory.as_ref(), &mut hidden)?;
            undefined.extend(changed.undefined(resource, &build.files));
            if changed.is_other {
                let more = weight::of_node(&resource.node).saturating_sub(before);
                build
                    .reservation
                    .as_mut()
                    .map_or(Ok(()), |reservation| reservation.grow(more))?;
                names.check(&build, at)?;
            }
        }
        build.objects.iter().for_each(|resource| hidden.secret(resource));
        let texts = hidden.texts.iter().map(|text| 64 + 2 * text.len() as u64);
        self.reservations.extend(self.mount.reserve(texts.sum())?);
        let built = finish(&build, &self.mount, hidden)?;
        Ok(Built { undefined, ..built })
    }

    fn kustomize(&self, world: &dyn World, is_rewritten: bool) -> Result<Build, kustomize::BuildError> {
        let options = Options {
            restrictions: LoadRestrictions::None,
            shown_from: Some(ROOT.to_owned()),
            order: Some(Order::Fifo),
            manager: Some(MANAGER),
            // As Flux's kustomize does: a StatefulSet applied by Flux could not be updated otherwise.
            label_claim_templates: true,
            memory: self.mount.memory().cloned(),
            ..Options::default()
        };
        let world = RestrictedWorld {
            world,
            no_remote_bases: self.no_remote_bases,
        };
        let (tree, directory) = (&self.mount as &dyn Tree, &self.directory);
        if is_rewritten {
            kustomize::build_rewritten(tree, directory, &self.rewritten, &options, &world)
        } else {
            kustomize::build(tree, directory, &options, &world)
        }
    }
}

/// The world of a build: repositories and files behind URLs, but no programs.
struct RestrictedWorld<'w> {
    world: &'w dyn World,
    no_remote_bases: bool,
}

impl<'w> RestrictedWorld<'w> {
    /// The world, if remote bases are allowed.
    fn bases(&self) -> Result<&'w dyn World, WorldError> {
        if self.no_remote_bases {
            let problem = "remote bases are off (--no-remote-bases); put the files into the source itself";
            Err(WorldError::Other(problem.to_owned()))
        } else {
            Ok(self.world)
        }
    }
}

impl World for RestrictedWorld<'_> {
    fn repository(&self, url: &RepoUrl) -> Result<Arc<dyn Tree>, WorldError> {
        self.bases()?.repository(url)
    }

    fn fetch(&self, url: &str) -> Result<Vec<u8>, WorldError> {
        self.bases()?.fetch(url)
    }

    fn plugin(&self, _: &str, _: &str, _: &str) -> PluginFile {
        PluginFile::Impossible("a controller does not run plugins".to_owned())
    }

    fn run(&self, command: &Command<'_>) -> Result<Vec<u8>, WorldError> {
        Err(WorldError::Sealed(format!("the program {}", command.program)))
    }
}

/// An object after decryption; `None` where it was plain.
type Plain = Result<Option<Node>, OverlayError>;

/// All objects after decryption, up to the first error.
fn all_decrypted(build: &Build, decrypt: &dyn Decrypt) -> Vec<Plain> {
    let resources: Vec<&Resource> = build.objects.iter().collect();
    workers::each(&resources, |resource| {
        if is_nameless(resource) {
            Ok(None)
        } else {
            decrypted(resource, &build.files, decrypt)
        }
    })
}

fn is_nameless(resource: &Resource) -> bool {
    let text = |key| resource.node.text_at(&[key]);
    [text("apiVersion"), text("kind"), resource.name()].contains(&"")
}

/// What decryption and substitution did to an object.
struct Change {
    /// Whether it is another one now.
    is_other: bool,
    undefined: Vec<String>,
    guessed: Vec<String>,
}

impl Change {
    /// The variables with the object that they are in.
    fn undefined(&self, resource: &Resource, files: &Files) -> impl Iterator<Item = UndefinedVariable> {
        let undefined = self.undefined.iter().map(|name| (name, false));
        let guessed = self.guessed.iter().map(|name| (name, true));
        undefined
            .chain(guessed)
            .map(move |(name, has_default)| UndefinedVariable {
                name: name.clone(),
                origin: files.show(resource.node.place).map(Into::into),
                object: title(resource),
                has_default,
            })
    }
}

/// `Kind namespace/name`.
fn title(resource: &Resource) -> String {
    let kind = resource.node.text_at(&["kind"]);
    match resource.namespace() {
        "" => format!("{kind} {}", resource.name()),
        namespace => format!("{kind} {namespace}/{}", resource.name()),
    }
}

/// Puts a decrypted object into its place and replaces its variables.
fn change(
    resource: &mut Resource,
    files: &Files,
    plain: Option<Plain>,
    stages: &Stages<'_>,
    memory: Option<&Share>,
    hidden: &mut Hidden,
) -> Result<Change, OverlayError> {
    if is_nameless(resource) {
        return Err(OverlayError::Nameless(shown(resource, files)));
    }
    let place = resource.node.place;
    let mut changed = plain.transpose()?.flatten();
    let (mut undefined, mut guessed) = (Vec::new(), Vec::new());
    if let Some(node) = &mut changed {
        std::mem::swap(&mut resource.node, node);
        hidden.put_into(resource, node);
    }
    if let Some(substitute) = stages.substitute
        && let Some(substituted) = substituted(resource, substitute, memory)?
    {
        let before = std::mem::replace(&mut resource.node, substituted.node);
        (undefined, guessed) = (substituted.undefined, substituted.guessed);
        if substituted.has_secrets {
            hidden.put_into(resource, &before);
        }
        changed = Some(before);
    }
    resource.node.place = place;
    Ok(Change {
        is_other: changed.is_some(),
        undefined,
        guessed,
    })
}

/// `app/a.yaml:1:1: Kind name`, as far as known.
fn shown(resource: &Resource, files: &Files) -> String {
    let place = between("", files.show(resource.node.place), ": ");
    format!("{place}{}", label(resource))
}

/// Type and name, as `Secret.v1.[noGrp]/creds`.
fn label(resource: &Resource) -> String {
    format!("{}/{}", resource.id().gvk, resource.name())
}

fn decrypted(resource: &Resource, files: &Files, decrypt: &dyn Decrypt) -> Result<Option<Node>, OverlayError> {
    let failed = |error: StageError| OverlayError::Decryption {
        object: label(resource),
        place: files.show(resource.node.place).filter(|_| error.is::<PlacedError>()),
        error,
    };
    let value = json_of_node(&resource.node).map_err(|error| failed(error.go().to_owned().into()))?;
    let plain = decrypt.object(&value).map_err(failed)?;
    Ok(plain.as_ref().map(node_of_json))
}

const SUBSTITUTE: &str = "kustomize.toolkit.fluxcd.io/substitute";

fn substituted(
    resource: &Resource,
    substitute: &dyn Substitute,
    memory: Option<&Share>,
) -> Result<Option<Substituted>, OverlayError> {
    let failed = |error| OverlayError::Substitution {
        object: label(resource),
        error,
    };
    let opts_out = |field| {
        let mut pairs = resource.pairs(field);
        pairs.any(|(key, value)| key == SUBSTITUTE && value == "disabled")
    };
    if opts_out("labels") || opts_out("annotations") {
        return Ok(None);
    }
    substitute.object(&resource.node, memory).map_err(failed)
}

/// Finds objects whose new name is taken.
#[derive(Default)]
struct ChangedNames {
    counts: std::collections::HashMap<[String; 5], usize>,
    of: Vec<[String; 5]>,
}

impl ChangedNames {
    fn key(resource: &Resource) -> [String; 5] {
        let text = |key| resource.node.text_at(&[key]).to_owned();
        let namespace = if resource.id().cluster_scoped {
            String::new()
        } else if resource.namespace().is_empty() {
            "default".to_owned()
        } else {
            resource.namespace().to_owned()
        };
        let group = text("apiVersion");
        [
            group,
            text("kind"),
            resource.name().to_owned(),
            namespace,
            String::new(),
        ]
    }

    /// Checks that the name of a changed object is unique.
    fn check(&mut self, build: &Build, at: usize) -> Result<(), OverlayError> {
        if self.of.is_empty() {
            self.of = build.objects.iter().map(Self::key).collect();
            for key in &self.of {
                *self.counts.entry(key.clone()).or_default() += 1;
            }
        }
        let Some((resource, old)) = build.objects.get(at).zip(self.of.get_mut(at)) else {
            return Ok(());
        };
        let key = Self::key(resource);
        if key != *old {
            if let Some(count) = self.counts.get_mut(old) {
                *count -= 1;
            }
            *self.counts.entry(key.clone()).or_default() += 1;
            old.clone_from(&key);
        }
        match self.counts.get(&key) {
            Some(count) if *count > 1 => Err(OverlayError::Twice {
                object: shown(resource, &build.files),
                count: *count,
            }),
            _ => Ok(()),
        }
    }
}

/// Digest and objects of a build.
fn finish(build: &Build, mount: &Mount<'_>, hidden: Hidden) -> Result<Built, OverlayError> {
    let all = build.objects.iter().map(|resource| weight::of_json(&resource.node));
    let printed = build.objects.iter().map(|resource| weight::printed(&resource.node));
    let reservation = mount.reserve(all.sum())?;
    // The text of one object at a time.
    let _texts = mount.reserve(printed.fold(0, u64::max))?;
    let mut built = Built {
        objects: Vec::with_capacity(build.objects.len()),
        digest: String::new(),
        warnings: build.warnings.clone(),
        lost: build.lost.clone(),
        left_out: Vec::new(),
        reservation,
        hidden,
        undefined: Vec::new(),
        not_texts: Vec::new(),
    };
    let mut hasher = Sha256::new();
    let mut text = Zeroizing::new(String::new());
    for (at, resource) in build.objects.iter().enumerate() {
        text.clear();
        if at > 0 {
            text.push_str("---\n");
        }
        let unprintable =
            |problem: &str| OverlayError::Unprintable(format!("{}: {problem}", shown(resource, &build.files)));
        write_sigs(&resource.node, &mut text).map_err(|error| unprintable(&error.show(&build.files)))?;
        hasher.update(text.as_bytes());
        let object = Object {
            value: json_of_node(&resource.node).map_err(|error| unprintable(&error.show(&build.files)))?,
            origin: build.files.show(resource.node.place).map(Into::into),
        };
        not_text::find(&resource.node, &object.value, &build.files, &mut built.not_texts);
        add(&mut built, object)?;
    }
    built.digest.push_str("sha256:");
    for byte in hasher.finalize() {
        // Writing to a string does not fail.
        let _ = write!(built.digest, "{byte:02x}");
    }
    Ok(built)
}

/// Adds an object, or the items of a list of objects, as fluxcd/pkg's `ReadObjects` does.
fn add(built: &mut Built, object: Object) -> Result<(), OverlayError> {
    let Object { mut value, origin } = object;
    if let Some(Value::Array(items)) = value.get_mut("items") {
        for item in std::mem::take(items) {
            if !item.is_object() {
                let list = Object { value, origin };
                return Err(OverlayError::Item(list.shown()));
            }
            built.objects.push(Object {
                value: item,
                origin: origin.clone(),
            });
        }
        return Ok(());
    }
    let object = Object { value, origin };
    if object.is_kustomization() {
        return Ok(());
    }
    if object.is_named() {
        built.objects.push(object);
    } else {
        let left_out = LeftOut::of(&object);
        built.warnings.push(left_out.to_string());
        built.left_out.push(left_out);
    }
    Ok(())
}
