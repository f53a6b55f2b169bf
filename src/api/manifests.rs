//! Manifests: objects of our kinds out of multi-document YAML or JSON.

use std::fmt;
use std::rc::Rc;

use memchr::memmem;

use super::automation::ImageUpdateAutomation;
use super::decode::{DecodeError, decode};
use super::git_repository::GitRepository;
use super::image_policy::ImagePolicy;
use super::image_repository::ImageRepository;
use super::meta::Metadata;
use super::secret::Secret;
use super::service_account::ServiceAccount;
use super::tree::{Node, SyntaxError, Value, parse};

const IMAGE_GROUP: &str = "image.toolkit.fluxcd.io";
const SOURCE_GROUP: &str = "source.toolkit.fluxcd.io";
/// `kind: List` inside `kind: List`; nobody writes more than one.
const MAX_LIST_DEPTH: usize = 8;

/// A place in a file; lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

/// An object of one of our kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// `image.toolkit.fluxcd.io` `ImagePolicy`.
    ImagePolicy(ImagePolicy),
    /// `image.toolkit.fluxcd.io` `ImageRepository`.
    ImageRepository(ImageRepository),
    /// `image.toolkit.fluxcd.io` `ImageUpdateAutomation`.
    ImageUpdateAutomation(ImageUpdateAutomation),
    /// `source.toolkit.fluxcd.io` `GitRepository`.
    GitRepository(GitRepository),
    /// Core `Secret`.
    Secret(Secret),
    /// Core `ServiceAccount`.
    ServiceAccount(ServiceAccount),
}

impl Object {
    /// The object's kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ImagePolicy(_) => "ImagePolicy",
            Self::ImageRepository(_) => "ImageRepository",
            Self::ImageUpdateAutomation(_) => "ImageUpdateAutomation",
            Self::GitRepository(_) => "GitRepository",
            Self::Secret(_) => "Secret",
            Self::ServiceAccount(_) => "ServiceAccount",
        }
    }

    /// The object's metadata.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        match self {
            Self::ImagePolicy(object) => &object.metadata,
            Self::ImageRepository(object) => &object.metadata,
            Self::ImageUpdateAutomation(object) => &object.metadata,
            Self::GitRepository(object) => &object.metadata,
            Self::Secret(object) => &object.metadata,
            Self::ServiceAccount(object) => &object.metadata,
        }
    }
}

/// An object and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The file.
    pub path: String,
    /// Where the object starts.
    pub place: Place,
    /// The object.
    pub object: Object,
}

/// A manifest that cannot be used: `path:line:column: what is wrong`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{}:{}: {cause}", .place.line, .place.column)]
pub struct ManifestError {
    /// The file.
    pub path: String,
    /// Where in it.
    pub place: Place,
    /// What is wrong.
    pub cause: Cause,
}

/// What is wrong with a manifest.
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
        /// The kind.
        kind: String,
        /// The version as written.
        api_version: String,
        /// What to do.
        way_out: &'static str,
    },
    /// An object of ours that does not fit its schema.
    #[error("{object}: {field}")]
    Field {
        /// Kind and name.
        object: String,
        /// The field and its fault.
        field: String,
    },
}

/// What could be read of a file, and what could not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lenient {
    /// The objects that fit.
    pub documents: Vec<Document>,
    /// The ones that do not, and the file's syntax error if it has one.
    pub problems: Vec<ManifestError>,
}

/// Whether the bytes of a file can hold an image policy at all: false spares parsing it.
#[must_use]
pub fn could_hold(text: &[u8]) -> bool {
    memmem::find(text, IMAGE_GROUP.as_bytes()).is_some()
}

/// Reads a file that was given as manifests (`-f`): whatever does not fit is an error. `kind: List` is unwrapped;
/// objects of other kinds are passed over.
///
/// # Errors
/// The first fault, with its place and field.
pub fn read(path: &str, text: &[u8]) -> Result<Vec<Document>, ManifestError> {
    let read = read_wanted(path, text, kind_of);
    match read.problems.into_iter().next() {
        None => Ok(read.documents),
        Some(problem) => Err(problem),
    }
}

/// Reads the image policies and image repositories of a file that happens to be in a repository: what does not fit is a problem to report.
///
/// Nothing else is looked at. Automations in a repository are never run (CLI.md, *TARGET*, rule 5), and
/// a Secret that is committed there must never become a credential.
#[must_use]
pub fn read_leniently(path: &str, text: &[u8]) -> Lenient {
    read_wanted(path, text, |node| {
        kind_of(node).filter(|kind| matches!(kind, Kind::ImagePolicy | Kind::ImageRepository))
    })
}

/// Our kinds, told by group and kind.
#[derive(Clone, Copy)]
enum Kind {
    ImagePolicy,
    ImageRepository,
    ImageUpdateAutomation,
    GitRepository,
    Secret,
    ServiceAccount,
}

fn kind_of(node: &Node) -> Option<Kind> {
    let (group, _) = group_version(node.text("apiVersion")?);
    match (group, node.text("kind")?) {
        (IMAGE_GROUP, "ImagePolicy") => Some(Kind::ImagePolicy),
        (IMAGE_GROUP, "ImageRepository") => Some(Kind::ImageRepository),
        (IMAGE_GROUP, "ImageUpdateAutomation") => Some(Kind::ImageUpdateAutomation),
        (SOURCE_GROUP, "GitRepository") => Some(Kind::GitRepository),
        ("", "Secret") => Some(Kind::Secret),
        ("", "ServiceAccount") => Some(Kind::ServiceAccount),
        _ => None,
    }
}

fn group_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

fn read_wanted(path: &str, text: &[u8], wanted: impl Fn(&Node) -> Option<Kind>) -> Lenient {
    let mut reader = Reader {
        path,
        wanted,
        read: Lenient::default(),
    };
    match std::str::from_utf8(text) {
        Ok(text) => {
            let (documents, error) = parse(text);
            documents.iter().for_each(|node| reader.take(node, 0));
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

struct Reader<'a, F> {
    path: &'a str,
    wanted: F,
    read: Lenient,
}

impl<F: Fn(&Node) -> Option<Kind>> Reader<'_, F> {
    fn take(&mut self, node: &Rc<Node>, depth: usize) {
        if let Some(kind) = (self.wanted)(node) {
            return self.object(node, kind);
        }
        if depth >= MAX_LIST_DEPTH || !node.text("kind").is_some_and(|kind| kind.ends_with("List")) {
            return;
        }
        if let Some(Value::List(items)) = node.get("items").map(|items| &items.value) {
            items.iter().for_each(|item| self.take(item, depth + 1));
        }
    }

    fn object(&mut self, node: &Node, kind: Kind) {
        if let Some(cause) = version_fault(node, kind) {
            return self.problem(node.place, cause);
        }
        let object = match kind {
            Kind::ImagePolicy => decode(node).map(Object::ImagePolicy),
            Kind::ImageRepository => decode(node).map(Object::ImageRepository),
            Kind::ImageUpdateAutomation => decode(node).map(Object::ImageUpdateAutomation),
            Kind::GitRepository => decode(node).map(Object::GitRepository),
            Kind::Secret => decode(node).map(Object::Secret),
            Kind::ServiceAccount => decode(node).map(Object::ServiceAccount),
        };
        match object.and_then(named) {
            Ok(object) => self.read.documents.push(Document {
                path: self.path.to_owned(),
                place: node.place,
                object,
            }),
            Err(error) => self.problem(
                error.place.unwrap_or(node.place),
                Cause::Field {
                    object: Title(node).to_string(),
                    field: error.to_string(),
                },
            ),
        }
    }

    fn problem(&mut self, place: Place, cause: Cause) {
        self.read.problems.push(ManifestError {
            path: self.path.to_owned(),
            place,
            cause,
        });
    }
}

/// An object without a name could be found by nobody.
fn named(object: Object) -> Result<Object, DecodeError> {
    match object.metadata().name.as_str() {
        "" => Err(<DecodeError as serde::de::Error>::custom("metadata.name is required")),
        _ => Ok(object),
    }
}

/// Which versions are read: all that share the schema (IUA-006: `v1alpha2` of the image kinds is `v1beta1` by
/// another name).
fn version_fault(node: &Node, kind: Kind) -> Option<Cause> {
    let api_version = node.text("apiVersion").unwrap_or_default();
    let (_, version) = group_version(api_version);
    let (known, way_out): (&[&str], _) = match kind {
        Kind::ImagePolicy | Kind::ImageRepository | Kind::ImageUpdateAutomation => (
            &["v1", "v1beta2", "v1beta1", "v1alpha2"],
            "write it as v1, v1beta2 or v1beta1",
        ),
        Kind::GitRepository => (&["v1", "v1beta2", "v1beta1"], "write it as v1, v1beta2 or v1beta1"),
        Kind::Secret | Kind::ServiceAccount => (&["v1"], "write it as v1"),
    };
    (!known.contains(&version)).then(|| Cause::Version {
        kind: node.text("kind").unwrap_or_default().to_owned(),
        api_version: api_version.to_owned(),
        way_out,
    })
}

/// Kind and name of an object for an error: `ImagePolicy flux-system/app`.
struct Title<'a>(&'a Node);

impl fmt::Display for Title<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.text("kind").unwrap_or_default())?;
        let Some(metadata) = self.0.get("metadata") else {
            return Ok(());
        };
        match (metadata.text("namespace"), metadata.text("name")) {
            (Some(namespace), Some(name)) => write!(f, " {namespace}/{name}"),
            (None, Some(name)) => write!(f, " {name}"),
            _ => Ok(()),
        }
    }
}

fn place_of_byte(text: &[u8], offset: usize) -> Place {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    let line = before.get(line_start..).unwrap_or_default();
    Place {
        line: memchr::memchr_iter(b'\n', before).count() + 1,
        column: String::from_utf8_lossy(line).chars().count() + 1,
    }
}
