//! Manifests: objects of our kinds in multi-document YAML or JSON.

use std::fmt;
use std::rc::Rc;

use memchr::memmem;
use serde::Deserialize;

use super::check::{Definition, Strictness, UnknownFields, Violation, definition_of, violations};
use super::decode::{DecodeError, decode};
use crate::automation::spec::ImageUpdateAutomation;
use crate::git_repository::spec::GitRepository;
use crate::image_policy::spec::ImagePolicy;
use crate::image_repository::spec::ImageRepository;
use crate::object::config_map::{ConfigMap, TRUSTED_ROOT};
use crate::object::field_places::FieldPlaces;
use crate::object::meta::Metadata;
use crate::object::secret::Secret;
use crate::object::service_account::ServiceAccount;
use crate::schema::crd::CustomResource;
use crate::tree::Place;
use crate::tree::{Node, SyntaxError, parse};
use bumpwright_edit::{RULE_FILE, has_in_utf16};
use bumpwright_nearest::distance;
use bumpwright_text::Parts;

const IMAGE_GROUP: &str = "image.toolkit.fluxcd.io";
const SOURCE_GROUP: &str = "source.toolkit.fluxcd.io";
const KUSTOMIZE_GROUP: &str = "kustomize.toolkit.fluxcd.io";
/// Depth of `kind: List` inside `kind: List`; real files have one.
const MAX_LIST_DEPTH: usize = 8;

/// An object of one of our kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    ImagePolicy(ImagePolicy),
    ImageRepository(ImageRepository),
    ImageUpdateAutomation(ImageUpdateAutomation),
    GitRepository(GitRepository),
    Secret(Secret),
    ServiceAccount(ServiceAccount),
    ConfigMap(ConfigMap),
    /// Core `Namespace`, as far as its labels matter.
    Namespace(Namespace),
}

/// A core `Namespace`, of which only the metadata is read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Namespace {
    /// Its name and labels.
    pub metadata: Metadata,
}

impl Object {
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ImagePolicy(_) => "ImagePolicy",
            Self::ImageRepository(_) => "ImageRepository",
            Self::ImageUpdateAutomation(_) => "ImageUpdateAutomation",
            Self::GitRepository(_) => "GitRepository",
            Self::Secret(_) => "Secret",
            Self::ServiceAccount(_) => "ServiceAccount",
            Self::Namespace(_) => "Namespace",
            Self::ConfigMap(_) => "ConfigMap",
        }
    }

    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        match self {
            Self::ImagePolicy(object) => &object.metadata,
            Self::ImageRepository(object) => &object.metadata,
            Self::ImageUpdateAutomation(object) => &object.metadata,
            Self::GitRepository(object) => &object.metadata,
            Self::Secret(object) => &object.metadata,
            Self::ServiceAccount(object) => &object.metadata,
            Self::Namespace(object) => &object.metadata,
            Self::ConfigMap(object) => &object.metadata,
        }
    }

    /// The fields whose places are kept, and these places.
    fn places(&mut self) -> Option<(&'static [&'static str], &mut FieldPlaces)> {
        Some(match self {
            Self::ImagePolicy(object) => (ImagePolicy::PLACED, &mut object.places),
            Self::ImageRepository(object) => (ImageRepository::PLACED, &mut object.places),
            Self::ImageUpdateAutomation(object) => (ImageUpdateAutomation::PLACED, &mut object.places),
            Self::GitRepository(object) => (GitRepository::PLACED, &mut object.places),
            Self::Secret(_) | Self::ServiceAccount(_) | Self::Namespace(_) | Self::ConfigMap(_) => return None,
        })
    }

    /// The object with all its fields at one place, as one that was built from a manifest there.
    #[must_use]
    pub fn built_from(mut self, place: &str) -> Self {
        if let Some((_, places)) = self.places() {
            places.move_to(place);
        }
        self
    }
}

/// An object and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub path: String,
    /// Start of the object.
    pub place: Place,
    pub object: Object,
}

/// A manifest that cannot be used: `path:line:column: what is wrong`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{}:{}: {cause}", .place.line, .place.column)]
pub struct ManifestError {
    pub path: String,
    /// The place in the file.
    pub place: Place,
    pub cause: Cause,
}

/// The fault of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// The file does not parse.
    #[error("not valid YAML: {0}")]
    Syntax(String),
    /// The file is not text.
    #[error("not UTF-8 text")]
    NotText,
    /// An object of ours whose version is too old or unknown.
    #[error("{kind} of {api_version} is not read here; {way_out}")]
    Version {
        kind: String,
        /// The version as written.
        api_version: String,
        way_out: String,
    },
    /// An object of one of our groups whose kind the group does not have, but nearly.
    #[error("kind {kind} is unknown in {group}: did you mean {near}?")]
    Kind {
        kind: String,
        group: String,
        /// The kind that is meant.
        near: &'static str,
    },
    /// An object of ours that does not fit its schema.
    #[error("{object}: {field}")]
    Field {
        object: String,
        /// The field and its fault.
        field: String,
    },
}

/// All faults of a file, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestErrors(pub Vec<ManifestError>);

impl fmt::Display for ManifestErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.0.iter().enumerate() {
            let gap = if n > 0 { "\n" } else { "" };
            write!(f, "{gap}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ManifestErrors {}

/// The valid objects of a file, and the faults of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lenient {
    pub documents: Vec<Document>,
    /// The faults of the others, unknown fields of these, and the file's syntax error if it has one.
    pub problems: Vec<ManifestError>,
    /// Which of the valid objects have unknown fields, and the first of each: they do not say what was meant.
    pub doubts: Vec<(usize, ManifestError)>,
}

/// Whether a file may contain an image policy; a file that cannot is not parsed.
#[must_use]
pub fn could_hold(text: &[u8]) -> bool {
    memmem::find(text, IMAGE_GROUP.as_bytes()).is_some() || has_in_utf16(text, IMAGE_GROUP)
}

/// Reads a file that was given as manifests (`-f`): violations of the schemas of our kinds are errors. `kind: List` is
/// unwrapped; objects of other kinds are ignored.
///
/// # Errors
/// All faults, each with its place and field.
pub fn read(path: &str, text: &[u8], unknown: UnknownFields) -> Result<Vec<Document>, ManifestErrors> {
    read_strictly(
        path,
        text,
        Strictness {
            unknown,
            complete: true,
        },
    )
}

/// Reads a file of a folder of manifests: its objects may be bases of a kustomization, and may lack
/// fields that patches add.
pub fn read_in_folder(path: &str, text: &[u8], unknown: UnknownFields) -> Result<Vec<Document>, ManifestErrors> {
    read_strictly(
        path,
        text,
        Strictness {
            unknown,
            complete: false,
        },
    )
}

fn read_strictly(path: &str, text: &[u8], strictness: Strictness) -> Result<Vec<Document>, ManifestErrors> {
    let read = read_wanted(path, text, Some(strictness), kind_of);
    if read.problems.is_empty() {
        Ok(read.documents)
    } else {
        Err(ManifestErrors(read.problems))
    }
}

/// Violations of the schema in those Kustomizations of a file that are `wanted` by namespace, if they
/// have one, and name.
#[must_use]
pub fn check_kustomizations(
    path: &str,
    text: &[u8],
    unknown: UnknownFields,
    wanted: impl Fn(Option<&str>, &str) -> bool,
) -> Vec<ManifestError> {
    let Some(definition) = definition_of(KUSTOMIZE_GROUP, "Kustomization") else {
        return Vec::new();
    };
    // The build reports syntax errors.
    let documents = std::str::from_utf8(text).map_or_else(|_| Vec::new(), |text| parse(text).0);
    let (mut faults, strictness) = (
        Vec::new(),
        Strictness {
            unknown,
            complete: true,
        },
    );
    walk(&documents, 0, &mut |node| {
        let is_of_kind = node.field_text("kind") == Some(definition.resource.kind)
            && group_version(node.text_of("apiVersion")).0 == definition.resource.group;
        let name = |field| node.field("metadata").and_then(|metadata| metadata.field_text(field));
        if is_of_kind && wanted(name("namespace"), name("name").unwrap_or_default()) {
            faults.extend(faults_of(path, node, definition, strictness));
        }
        is_of_kind
    });
    faults
}

/// Violations of the schema in every object of a file whose kind has one, and the file's syntax error. Only a
/// `complete` object has to have all fields that its kind requires.
#[must_use]
pub fn check_all(path: &str, text: &str, complete: bool) -> Vec<ManifestError> {
    let strictness = Strictness {
        unknown: UnknownFields::Refuse,
        complete,
    };
    let (documents, error) = parse(text);
    let syntax = error.map(|SyntaxError { place, message }| ManifestError {
        path: path.to_owned(),
        place,
        cause: Cause::Syntax(message),
    });
    let mut faults: Vec<ManifestError> = syntax.into_iter().collect();
    walk(&documents, 0, &mut |node| {
        let (group, _) = group_version(node.text_of("apiVersion"));
        let definition = node.field_text("kind").and_then(|kind| definition_of(group, kind));
        faults.extend(definition.map_or_else(Vec::new, |definition| faults_of(path, node, definition, strictness)));
        definition.is_some()
    });
    faults
}

fn faults_of(path: &str, node: &Node, definition: &Definition, strictness: Strictness) -> Vec<ManifestError> {
    if let Some(cause) = unserved(node, &definition.resource) {
        let (path, place) = (path.to_owned(), node.place);
        return vec![ManifestError { path, place, cause }];
    }
    let violations = violations(node, definition, strictness).into_iter();
    violations.map(|violation| fault(path, node, violation)).collect()
}

/// A violation as an error of its file.
fn fault(path: &str, node: &Node, violation: Violation) -> ManifestError {
    ManifestError {
        path: path.to_owned(),
        place: violation.place,
        cause: Cause::Field {
            object: Title(node).to_string(),
            field: violation.text,
        },
    }
}

/// Reads the image policies and image repositories of a file in a repository: violations of the schemas
/// are problems to report.
///
/// Other kinds are ignored: automations in a repository are never run (docs/cli.md, *TARGET*, rule 5), and
/// a Secret that is committed there must never become a credential.
#[must_use]
pub fn read_leniently(path: &str, text: &[u8]) -> Lenient {
    read_wanted(path, text, None, |node| {
        kind_of(node).filter(|kind| matches!(kind, ReadKind::ImagePolicy | ReadKind::ImageRepository))
    })
}

/// The kinds that are read.
#[derive(Clone, Copy)]
enum ReadKind {
    ImagePolicy,
    ImageRepository,
    ImageUpdateAutomation,
    GitRepository,
    Secret,
    ServiceAccount,
    Namespace,
    ConfigMap,
}

fn kind_of(node: &Node) -> Option<ReadKind> {
    let (group, _) = group_version(node.field_text("apiVersion")?);
    match (group, node.field_text("kind")?) {
        (IMAGE_GROUP, "ImagePolicy") => Some(ReadKind::ImagePolicy),
        (IMAGE_GROUP, "ImageRepository") => Some(ReadKind::ImageRepository),
        (IMAGE_GROUP, "ImageUpdateAutomation") => Some(ReadKind::ImageUpdateAutomation),
        (SOURCE_GROUP, "GitRepository") => Some(ReadKind::GitRepository),
        ("", "Secret") => Some(ReadKind::Secret),
        ("", "ServiceAccount") => Some(ReadKind::ServiceAccount),
        ("", "Namespace") if node.field_text("apiVersion") == Some("v1") => Some(ReadKind::Namespace),
        // Others are for workloads.
        ("", "ConfigMap") => {
            let data = node.field("data")?;
            let entry = data.field(TRUSTED_ROOT).or_else(|| data.field(RULE_FILE));
            entry.map(|_| ReadKind::ConfigMap)
        }
        _ => None,
    }
}

/// Letters by which a kind that is misspelt differs from the one that is meant.
const SLIP: usize = 2;

/// An object whose kind is nearly one of its group.
fn misspelt(path: &str, node: &Node) -> Option<ManifestError> {
    let (group, _) = group_version(node.field_text("apiVersion")?);
    let kinds: &[&'static str] = match group {
        IMAGE_GROUP => &["ImagePolicy", "ImageRepository", "ImageUpdateAutomation"],
        SOURCE_GROUP => &[
            "GitRepository",
            "OCIRepository",
            "Bucket",
            "HelmRepository",
            "HelmChart",
            "ExternalArtifact",
        ],
        _ => return None,
    };
    let field = node.field("kind")?;
    let kind = field.text()?;
    // A list of objects of a known kind is known, too.
    let is_known = kinds
        .iter()
        .any(|known| kind.strip_suffix("List").unwrap_or(kind) == *known);
    let near = kinds
        .iter()
        .find(|known| distance(kind, known) <= SLIP)
        .filter(|_| !is_known)?;
    Some(ManifestError {
        path: path.to_owned(),
        place: field.place,
        cause: Cause::Kind {
            kind: kind.to_owned(),
            group: group.to_owned(),
            near,
        },
    })
}

/// The place of the field of a JSON pointer, or of the innermost one of those around it that are there.
fn place_at(node: &Node, pointer: &str) -> Place {
    let mut place = node.place;
    let mut at = Some(node);
    for name in pointer.split('/').skip(1) {
        at = at.and_then(|node| node.field(name));
        place = at.map_or(place, |field| field.place);
    }
    place
}

fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

fn read_wanted(
    path: &str,
    text: &[u8],
    strict: Option<Strictness>,
    wanted: impl Fn(&Node) -> Option<ReadKind>,
) -> Lenient {
    let mut reader = ManifestReader {
        path,
        strict,
        wanted,
        read: Lenient::default(),
    };
    match std::str::from_utf8(text) {
        Ok(text) => {
            let (documents, error) = parse(text);
            walk(&documents, 0, &mut |node| reader.take(node));
            reader
                .read
                .problems
                .extend(error.map(|SyntaxError { place, message }| ManifestError {
                    path: path.to_owned(),
                    place,
                    cause: Cause::Syntax(message),
                }));
        }
        Err(error) => {
            let place = place_of_byte(text, error.valid_up_to());
            reader.problem(place, Cause::NotText);
        }
    }
    reader.read
}

/// Calls `take` for each object, and for the items of lists that it does not take itself.
fn walk(nodes: &[Rc<Node>], depth: usize, take: &mut impl FnMut(&Node) -> bool) {
    for node in nodes {
        let is_list = node.field_text("kind").is_some_and(|kind| kind.ends_with("List"));
        if take(node) || depth >= MAX_LIST_DEPTH || !is_list {
            continue;
        }
        let items = node.items_of("items");
        walk(items, depth + 1, take);
    }
}

struct ManifestReader<'a, F> {
    path: &'a str,
    /// Whether, and how strictly, objects are checked against their schema.
    strict: Option<Strictness>,
    wanted: F,
    read: Lenient,
}

impl<F: Fn(&Node) -> Option<ReadKind>> ManifestReader<'_, F> {
    fn take(&mut self, node: &Node) -> bool {
        let kind = (self.wanted)(node);
        match kind {
            Some(kind) => self.object(node, kind),
            None => self.read.problems.extend(misspelt(self.path, node)),
        }
        kind.is_some()
    }

    /// Violations of the schema of the object's kind, if there is one.
    fn faults(&self, node: &Node) -> Vec<ManifestError> {
        let (group, _) = group_version(node.text_of("apiVersion"));
        let definition = definition_of(group, node.text_of("kind"));
        match (self.strict, definition) {
            (Some(strictness), Some(definition)) => faults_of(self.path, node, definition, strictness),
            _ => Vec::new(),
        }
    }

    /// Fields that the schema does not have, where that is not enforced: the object does not say what its author meant.
    fn unknown(&self, node: &Node) -> Vec<ManifestError> {
        let (group, _) = group_version(node.text_of("apiVersion"));
        let definition = definition_of(group, node.text_of("kind"));
        let Some(definition) = definition.filter(|_| self.strict.is_none()) else {
            return Vec::new();
        };
        let strictness = Strictness {
            unknown: UnknownFields::Refuse,
            complete: false,
        };
        let violations = violations(node, definition, strictness).into_iter();
        let unknown = violations.filter(|violation| violation.is_unknown);
        unknown.map(|violation| fault(self.path, node, violation)).collect()
    }

    /// An object with the places of its fields: an error of a run can name the one that is not valid.
    fn placed(&self, mut object: Object, node: &Node) -> Object {
        if let Some((fields, places)) = object.places() {
            *places = FieldPlaces::new(fields, |pointer| {
                let Place { line, column } = place_at(node, pointer);
                format!("{}:{line}:{column}", self.path)
            });
        }
        object
    }

    fn object(&mut self, node: &Node, kind: ReadKind) {
        if let Some(cause) = version_fault(node, kind) {
            return self.problem(node.place, cause);
        }
        let object = match kind {
            ReadKind::Namespace => return self.namespace(node),
            ReadKind::ImagePolicy => decode(node).map(Object::ImagePolicy),
            ReadKind::ImageRepository => decode(node).map(Object::ImageRepository),
            ReadKind::ImageUpdateAutomation => decode(node).map(Object::ImageUpdateAutomation),
            ReadKind::GitRepository => decode(node).map(Object::GitRepository),
            ReadKind::Secret => decode(node).map(Object::Secret),
            ReadKind::ServiceAccount => decode(node).map(Object::ServiceAccount),
            ReadKind::ConfigMap => decode(node).map(Object::ConfigMap),
        };
        let mut faults = self.faults(node);
        let unknown = self.unknown(node);
        let object = object.map(|object| self.placed(object, node));
        match object.and_then(named) {
            Ok(object) if faults.is_empty() => {
                let doubt = unknown.first().map(|doubt| (self.read.documents.len(), doubt.clone()));
                self.read.doubts.extend(doubt);
                self.read.documents.push(Document {
                    path: self.path.to_owned(),
                    place: node.place,
                    object,
                });
            }
            Ok(_) => {}
            Err(error) => {
                let place = error.place.unwrap_or(node.place);
                // The decoder's message about a value is more specific than the schema's pattern.
                faults.retain(|fault| fault.place != place);
                faults.push(ManifestError {
                    path: self.path.to_owned(),
                    place,
                    cause: Cause::Field {
                        object: Title(node).to_string(),
                        field: error.to_string(),
                    },
                });
                faults.sort_by_key(|fault| fault.place);
            }
        }
        self.read.problems.extend(unknown);
        self.read.problems.append(&mut faults);
    }

    /// Only the labels matter, and only to policies that ask for them: what is not valid is left out.
    fn namespace(&mut self, node: &Node) {
        let object = decode(node).map(Object::Namespace);
        let document = object.and_then(named).map(|object| Document {
            path: self.path.to_owned(),
            place: node.place,
            object,
        });
        self.read.documents.extend(document);
    }

    fn problem(&mut self, place: Place, cause: Cause) {
        self.read.problems.push(ManifestError {
            path: self.path.to_owned(),
            place,
            cause,
        });
    }
}

/// Rejects an object without a name.
fn named(object: Object) -> Result<Object, DecodeError> {
    match object.metadata().name.as_str() {
        "" => Err(<DecodeError as serde::de::Error>::custom("metadata.name is required")),
        _ => Ok(object),
    }
}

/// A version that an API server does not serve.
fn unserved(node: &Node, definition: &CustomResource) -> Option<Cause> {
    let api_version = node.text_of("apiVersion");
    let (_, version) = group_version(api_version);
    let served: Vec<&str> = definition.versions().collect();
    let way_out = if version.starts_with("v1alpha") {
        MIGRATE.to_owned()
    } else {
        format!("write it as {}", served.join(" or "))
    };
    (!served.contains(&version)).then(|| Cause::Version {
        kind: definition.kind.to_owned(),
        api_version: api_version.to_owned(),
        way_out,
    })
}

/// Hint for removed versions.
const MIGRATE: &str = "`bumpwright migrate` rewrites it as v1";

/// The fault of a version that is not read. All versions that share the schema are (IUA-006: `v1alpha2` of the image
/// kinds is `v1beta1` by another name).
fn version_fault(node: &Node, kind: ReadKind) -> Option<Cause> {
    let api_version = node.text_of("apiVersion");
    let (_, version) = group_version(api_version);
    let versions: &[&str] = match kind {
        ReadKind::ImagePolicy | ReadKind::ImageRepository | ReadKind::ImageUpdateAutomation => {
            &["v1", "v1beta2", "v1beta1", "v1alpha2"]
        }
        ReadKind::GitRepository => &["v1", "v1beta2", "v1beta1"],
        ReadKind::Secret | ReadKind::ServiceAccount | ReadKind::Namespace | ReadKind::ConfigMap => &["v1"],
    };
    let way_out = match (kind, version) {
        (ReadKind::Secret | ReadKind::ServiceAccount | ReadKind::ConfigMap, _) => "write it as v1",
        (_, "v1alpha1" | "v1alpha2") => MIGRATE,
        _ => "write it as v1, v1beta2 or v1beta1",
    };
    (!versions.contains(&version)).then(|| Cause::Version {
        kind: node.text_of("kind").to_owned(),
        api_version: api_version.to_owned(),
        way_out: way_out.to_owned(),
    })
}

/// Kind and name of an object for an error: `ImagePolicy flux-system/app`.
struct Title<'a>(&'a Node);

impl fmt::Display for Title<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.text_of("kind"))?;
        let Some(metadata) = self.0.field("metadata") else {
            return Ok(());
        };
        match (metadata.field_text("namespace"), metadata.field_text("name")) {
            (Some(namespace), Some(name)) => write!(f, " {namespace}/{name}"),
            (None, Some(name)) => write!(f, " {name}"),
            _ => Ok(()),
        }
    }
}

fn place_of_byte(text: &[u8], offset: usize) -> Place {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let line = before.part(line_start..);
    Place {
        line: memchr::memchr_iter(b'\n', before).count() + 1,
        column: String::from_utf8_lossy(line).chars().count() + 1,
    }
}
